package cmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/traces/exchange"
	"heddle/traces/parquet"
	"heddle/traces/tracefile"
)

func traceExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a trace in another format", ArgsUsage: "TRACE",
		Description: `Writes one of these formats:

` + exchange.About(exchange.CanWrite) + `
A list of jobs has no tasks that ran, which all but jsonl and swim hold: heddle replay
--out makes a trace with tasks of it. For example:

   heddle trace export --to sls -o jobs.json --topology nodes.json run.trace
   heddle trace export --to perfetto -o timeline.json run.trace
   heddle trace export --to parquet --table attempts -o attempts.parquet run.trace
   heddle trace export --jsonl run.trace | jq 'select(.kind == "attemptStarted")'`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "the `FORMAT`: " + exchange.Names(exchange.CanWrite)},
			&cli.BoolFlag{Name: "jsonl", Usage: "the same as --to jsonl"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, which must not exist; - is stdout", DefaultText: "-"},
			&cli.StringFlag{Name: "table", Usage: "for parquet, the `TABLE` to write: " + strings.Join(parquet.Format.Tables, ", ")},
			&cli.StringFlag{Name: "topology", Usage: "write the nodes to `FILE`, if the format has such a file"},
		},
		Action: withTrace(func(c *cli.Context, path string) error {
			o := exchange.ExportOptions{Input: path, Format: exchange.Find(c.String("to")), Table: c.String("table"), Output: c.String("output"), Topology: c.String("topology")}
			if c.Bool("jsonl") && !c.IsSet("to") {
				o.Format = exchange.Find("jsonl")
			}
			if o.Output == "-" {
				o.Output = ""
			}
			switch {
			case c.IsSet("to") && (o.Format == nil || !exchange.CanWrite(o.Format)):
				return withCode(exitUsage, fmt.Errorf("--to %s is no format that can be exported; known are %s", c.String("to"), exchange.Names(exchange.CanWrite)))
			case c.Bool("jsonl") && o.Format != nil && o.Format.Name != "jsonl":
				return withCode(exitUsage, fmt.Errorf("both --jsonl and --to %s; want one of them", o.Format.Name))
			case o.Format == nil:
				return withCode(exitUsage, fmt.Errorf("trace export needs a format: --to %s", exchange.Names(exchange.CanWrite)))
			case o.Table != "" && o.Format.Tables == nil:
				return withCode(exitUsage, fmt.Errorf("trace export --to %s takes no --table: a file has all of the trace", o.Format.Name))
			case o.Format.Tables != nil && !slices.Contains(o.Format.Tables, o.Table):
				return withCode(exitUsage, fmt.Errorf("trace export --to %s needs --table %s: a file has one table", o.Format.Name, strings.Join(o.Format.Tables, ", ")))
			case o.Format.Tables != nil && o.Output == "":
				return withCode(exitUsage, fmt.Errorf("trace export --to %s needs --output FILE", o.Format.Name))
			case o.Topology != "" && o.Format.Topology == nil:
				return withCode(exitUsage, fmt.Errorf("trace export --to %s takes no --topology: the format has no such file", o.Format.Name))
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
		}),
	}
}

// exportError gives an error of "heddle trace export" the exit code for bad
// input if the user can mend the cause: the trace cannot be read or has no
// tasks, or the output file exists.
func exportError(err error) error {
	var damage *tracefile.DamageError
	if errors.As(err, &damage) || errors.Is(err, exchange.ErrList) || errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
		return withCode(exitUsage, err)
	}
	return err
}
