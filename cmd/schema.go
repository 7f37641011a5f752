package cmd

import (
	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/option"
)

func runSchema(c *cli.Context, _ *struct{}, args []string) error {
	of := map[string]func() []byte{
		"experiment": config.ExperimentSchema, "cluster": config.ClusterSchema, "sweep": config.SweepSchema,
	}[args[0]]
	if of == nil {
		return usagef("schema %w", option.OneOf(args[0], schemas))
	}
	_, err := c.App.Writer.Write(of())
	return failed(err)
}

var schemas = []string{"experiment", "cluster", "sweep"}
