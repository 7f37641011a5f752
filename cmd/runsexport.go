package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/export"
	"heddle/harness/results"
	"heddle/traces/outfile"
	"heddle/traces/table"
)

type exportOptions struct {
	Output string `flag:"output,o" text:"write to FILE.parquet or .csv, which must not exist" of:"FILE"`
	Rows   string `flag:"rows" values:"{rows}" text:"what a ROW is of" of:"ROW"`
	inRuns
	verified
}

func exportRuns(_ *cli.Context, o *exportOptions, args []string) error {
	if o.Output == "" {
		return errors.New("runs export needs --output FILE.parquet or FILE.csv")
	}
	if err := errors.Join(table.CheckName(o.Output), outfile.Absent(o.Output)); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	found, err := openRuns(o.Runs, args)
	if err != nil {
		return err
	}
	var list []*results.Run
	for _, run := range found {
		finished, err := results.Open(run.Dir, o.Unverified)
		if err != nil {
			return fmt.Errorf("runs export: %w", err)
		}
		warn(finished.Warnings()...)
		list = append(list, finished)
	}
	warnings, err := export.Write(list, o.Rows, o.Output)
	warn(warnings...)
	if err != nil {
		return fmt.Errorf("runs export: %w", err)
	}
	return nil
}

// columnLines explains the columns of the tables.
func columnLines() string {
	var text strings.Builder
	for _, kind := range export.Kinds() {
		fmt.Fprintf(&text, "Columns of %s:\n", kind)
		for _, line := range export.Columns(kind) {
			fmt.Fprintf(&text, "   %-20s %s\n", line[0], line[1])
		}
	}
	return strings.TrimSuffix(text.String(), "\n")
}
