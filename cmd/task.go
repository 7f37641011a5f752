package cmd

import (
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/workload/synthetic"
)

// taskCommand is what the tasks of heddle's own Hadoop jobs run. It is hidden,
// since only Hadoop Streaming calls it.
func taskCommand() *cli.Command {
	return parent("task", command("task map", &struct{}{}, runTask(synthetic.Map)),
		command("task reduce", &struct{}{}, runTask(synthetic.Reduce)))
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
