package cmd

import (
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/workload/synthetic"
)

// taskCommand is what the tasks of heddle's own Hadoop jobs run. It is hidden,
// since only Hadoop Streaming calls it.
func taskCommand() *cli.Command {
	return &cli.Command{
		Name:        "task",
		Usage:       "a map or reduce of a Hadoop Streaming job that heddle submitted",
		Hidden:      true,
		Description: "Hadoop Streaming runs this, in a folder with the job's spec. It is of no use elsewhere.",
		Subcommands: []*cli.Command{
			command(&cli.Command{Name: "map", Usage: "run a map"}, &struct{}{}, runTask(synthetic.Map)),
			command(&cli.Command{Name: "reduce", Usage: "run a reduce"}, &struct{}{}, runTask(synthetic.Reduce)),
		},
	}
}

func runTask(run func(*synthetic.Spec, int, synthetic.Streams) error) func(*cli.Context, *struct{}, []string) error {
	return func(*cli.Context, *struct{}, []string) error {
		index, err := synthetic.Index(os.Getenv)
		if err != nil {
			return usage(err)
		}
		f, err := os.Open(synthetic.SpecFile)
		if err != nil {
			return usagef("open job spec: %w", err)
		}
		spec, err := synthetic.ReadSpec(f)
		f.Close()
		if err != nil {
			return usage(err)
		}
		return run(spec, index, synthetic.Streams{In: os.Stdin, Out: os.Stdout, Report: os.Stderr})
	}
}
