package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

func traceExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a trace in another form", ArgsUsage: "TRACE",
		Description: `Forms: jsonl (the header, then one event a line), rumen and sls (as Hadoop's tools read
them), swim (a list of jobs), parquet (a folder of tables), perfetto (a timeline for the
Perfetto UI).
A list of jobs has no tasks that ran, which all but jsonl and swim hold: heddle replay
--out makes a trace with tasks of it. For example:

   heddle trace export --to sls -o jobs.json --topology nodes.json run.trace
   heddle trace export --to perfetto -o timeline.json run.trace
   heddle trace export --jsonl run.trace | jq 'select(.kind == "attemptStarted")'`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "the `FORM`: " + forms(exchange.Exports)},
			&cli.BoolFlag{Name: "jsonl", Usage: "the same as --to jsonl"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE` (parquet: a folder), which must not exist (default: stdout)"},
			&cli.StringFlag{Name: "topology", Usage: "rumen, sls: write the nodes to `FILE`"},
		},
		Action: func(c *cli.Context) error {
			path, err := traceArgument(c)
			if err != nil {
				return err
			}
			o := exchange.ExportOptions{Input: path, Form: exchange.Form(c.String("to")), Output: c.String("output"), Topology: c.String("topology")}
			switch {
			case c.Bool("jsonl") && (o.Form == "" || o.Form == exchange.Lines):
				o.Form = exchange.Lines
			case c.Bool("jsonl") || !o.Form.Known(exchange.Exports):
				return withCode(exitUsage, fmt.Errorf("trace export needs a form: --to %s", forms(exchange.Exports)))
			case o.Form == exchange.Parquet && o.Output == "":
				return withCode(exitUsage, errors.New("trace export --to parquet needs --output FOLDER"))
			}
			out := c.App.Writer
			if !isTerminal(out) {
				out = asIs(out)
			}
			notes, err := exchange.Export(o, out)
			for _, n := range notes {
				fmt.Fprintln(c.App.ErrWriter, "note:", n)
			}
			return exportError(err)
		},
	}
}

// exportError tells files that cannot be read, have no tasks, or are there already, from those
// that cannot be written.
func exportError(err error) error {
	var damage *tracefile.DamageError
	if errors.As(err, &damage) || errors.Is(err, exchange.ErrList) || errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
		return withCode(exitUsage, err)
	}
	return err
}
