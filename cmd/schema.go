package cmd

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "the JSON Schema of experiment, cluster or sweep files, for editors",
		ArgsUsage: "experiment|cluster|sweep",
		Description: `Prints a JSON Schema, by which an editor completes keys, explains them and marks
wrong ones. For example, for editors with yaml-language-server:

   heddle schema experiment > experiment.schema.json
   sed -i '1i # yaml-language-server: $schema=experiment.schema.json' first.yaml

A schema cannot see everything: heddle itself also refuses, for example, two models
with one label.`,
		Action: withArguments(func(c *cli.Context, kinds []string) error {
			var schema []byte
			switch strings.Join(kinds, " ") {
			case "experiment":
				schema = config.ExperimentSchema()
			case "cluster":
				schema = config.ClusterSchema()
			case "sweep":
				schema = config.SweepSchema()
			default:
				return withCode(exitUsage, fmt.Errorf("schema %q: want experiment, cluster or sweep", strings.Join(kinds, " ")))
			}
			_, err := c.App.Writer.Write(schema)
			return err
		}),
	}
}
