package cmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/export"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/outfile"
	"heddle/traces/table"
)

func runsExport() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write runs as one table for pandas, R, DuckDB or a spreadsheet",
		ArgsUsage: "RUN [RUN …]",
		Description: `Writes a row for each finished trial, or each job or task attempt of the trials; no
warm-ups. The end of FILE's name says the format: .parquet or .csv. The first columns say
whose row it is: run, workload, model, parameters (of the model), repeat, seed, world
(cluster or simulated), trial. What is not known is null in Parquet and empty in CSV. A
Parquet file explains its columns: in pandas DataFrame.attrs, in DuckDB
parquet_kv_metadata. For example:

   heddle runs export -o trials.parquet 20261121-153601-first
   heddle runs export --rows jobs -o jobs.csv runs/first runs/second
   heddle runs export --rows attempts -o attempts.parquet runs/first

` + columnLines(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`.parquet or .csv, which must not exist"},
			&cli.StringFlag{Name: "rows", Value: export.Trials, Usage: "what a `ROW` is of: " + strings.Join(export.Kinds(), ", ")},
			runsFlag(nil), unverifiedFlag(),
		},
		Action: withRuns(runRunsExport),
	}
}

func runRunsExport(c *cli.Context, found []*runs.Run) error {
	path, kind := c.String("output"), c.String("rows")
	switch {
	case len(found) == 0:
		return withCode(exitUsage, errors.New("want one RUN or more; 'heddle runs list' lists them"))
	case path == "":
		return withCode(exitUsage, errors.New("runs export needs --output FILE.parquet or FILE.csv"))
	case !slices.Contains(export.Kinds(), kind):
		return withCode(exitUsage, fmt.Errorf("--rows %q: want one of %s", kind, strings.Join(export.Kinds(), ", ")))
	}
	if err := errors.Join(table.CheckName(path), outfile.Absent(path)); err != nil {
		return withCode(exitUsage, fmt.Errorf("--output: %w", err))
	}
	var list []*results.Run
	for _, run := range found {
		finished, err := results.Open(run.Dir, c.Bool("unverified"))
		if err != nil {
			return withCode(exitUsage, fmt.Errorf("runs export: %w", err))
		}
		warn(finished.Warnings()...)
		list = append(list, finished)
	}
	warnings, err := export.Write(list, kind, path)
	warn(warnings...)
	if errors.Is(err, os.ErrExist) || errors.Is(err, export.ErrNoTraces) || errors.Is(err, export.ErrSameName) {
		return withCode(exitUsage, fmt.Errorf("runs export: %w", err))
	} else if err != nil {
		return exportError(fmt.Errorf("runs export: %w", err))
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
