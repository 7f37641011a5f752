package cmd

import (
	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/option"
)

func schemaCommand() *cli.Command {
	return reader(&cli.Command{
		Name:      "schema",
		Usage:     "the JSON Schema of experiment, cluster or sweep files, for editors",
		ArgsUsage: "experiment|cluster|sweep",
		Description: `Prints a JSON Schema, by which an editor completes keys, explains them and marks
wrong ones. For example, for editors with yaml-language-server:

   heddle schema experiment > experiment.schema.json
   sed -i '1i # yaml-language-server: $schema=experiment.schema.json' first.yaml

A schema cannot see everything: heddle itself also refuses, for example, two models
with one label.`,
	}, &struct{}{}, func(c *cli.Context, _ *struct{}, args []string) error {
		of := map[string]func() []byte{
			"experiment": config.ExperimentSchema, "cluster": config.ClusterSchema, "sweep": config.SweepSchema,
		}[args[0]]
		if of == nil {
			return usagef("schema %w", option.OneOf(args[0], schemas))
		}
		_, err := c.App.Writer.Write(of())
		return failed(err)
	})
}

var schemas = []string{"experiment", "cluster", "sweep"}
