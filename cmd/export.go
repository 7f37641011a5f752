package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/traces/exchange"
)

type traceExportOptions struct {
	To    string `flag:"to" suggest:"exports" text:"the FORMAT" of:"FORMAT"`
	JSONL bool   `flag:"jsonl" text:"the same as --to jsonl"`
	exchange.ExportOptions
}

func exportTrace(c *cli.Context, given *traceExportOptions, path string) error {
	o, to := given.ExportOptions, given.To
	if given.JSONL && to == "" {
		to = "jsonl"
	}
	o.Input, o.Format = path, exchange.Find(to)
	if o.Output == "-" {
		o.Output = ""
	}
	switch {
	case to == "":
		return fmt.Errorf("trace export needs a format: --to %s", exchange.Names(exchange.CanWrite))
	case o.Format == nil || !exchange.CanWrite(o.Format):
		return fmt.Errorf("--to %s is no format that can be exported; known are %s", to, exchange.Names(exchange.CanWrite))
	case given.JSONL && to != "jsonl":
		return fmt.Errorf("both --jsonl and --to %s; want one of them", to)
	case o.Table != "" && o.Format.Tables == nil:
		return fmt.Errorf("trace export --to %s takes no --table: a file has all of the trace", to)
	case o.Format.Tables != nil && !slices.Contains(o.Format.Tables, o.Table):
		return fmt.Errorf("trace export --to %s needs --table %s: a file has one table", to, strings.Join(o.Format.Tables, ", "))
	case o.Format.Tables != nil && o.Output == "":
		return fmt.Errorf("trace export --to %s needs --output FILE", to)
	case o.Topology != "" && o.Format.Topology == nil:
		return fmt.Errorf("trace export --to %s takes no --topology: the format has no such file", to)
	}
	out := c.App.Writer
	if !isTerminal(out) {
		out = asIs(out)
	}
	notes, err := exchange.Export(o, out)
	for _, n := range notes {
		fmt.Fprintln(c.App.ErrWriter, "note:", n)
	}
	return err
}
