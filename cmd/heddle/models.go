package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"heddle/harness/sched"
)

func modelsCommand() *cli.Command {
	return &cli.Command{
		Name:      "models",
		Usage:     "the models, their parameters, where each comes from",
		ArgsUsage: "[NAME]",
		Description: `Lists the scheduler models, or the parameters of one. For example:

   heddle models
   heddle models acl
   heddle models --json | jq '.[] | {name, params: [.params[].name]}'`,
		Flags:  []cli.Flag{jsonFlag()},
		Action: runModels,
	}
}

func runModels(c *cli.Context) error {
	names, err := arguments(c)
	if err != nil {
		return err
	}
	models := sched.List()
	switch len(names) {
	case 0:
	case 1:
		i := slices.IndexFunc(models, func(m sched.Info) bool { return m.Name == names[0] })
		if i < 0 {
			return withCode(exitUsage, fmt.Errorf("no model %q; heddle models lists them", names[0]))
		}
		models = models[i : i+1]
	default:
		return withCode(exitUsage, fmt.Errorf("models takes one NAME at most, found %d", len(names)))
	}
	switch {
	case c.Bool("json"):
		return printJSON(c.App.Writer, models)
	case len(names) == 1:
		return describeModel(c.App.Writer, models[0])
	}
	return listModels(c.App.Writer, models)
}

func listModels(out io.Writer, models []sched.Info) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range models {
		fmt.Fprintf(table, "%s\t%s\n", m.Name, m.Summary)
	}
	return table.Flush()
}

func describeModel(out io.Writer, m sched.Info) error {
	fmt.Fprintf(out, "%s: %s\nfrom: %s\n", m.Name, m.Summary, m.Source)
	if len(m.Params) == 0 {
		_, err := fmt.Fprintln(out, "no parameters")
		return err
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PARAMETER\tVALUES\tDEFAULT\tUNIT\tMEANING")
	for _, p := range m.Params {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.Name, values(p), orDash(p.Default), orDash(p.Unit), p.Doc)
	}
	return table.Flush()
}

// values is what a parameter may be, in words.
func values(p sched.Param) string {
	switch p.Type {
	case sched.Choice:
		return strings.Join(p.Choices, "|")
	case sched.Int, sched.Float:
		text := string(p.Type) + " >= " + strconv.FormatFloat(p.Min, 'g', -1, 64)
		if p.Max != 0 {
			text += ", <= " + strconv.FormatFloat(p.Max, 'f', -1, 64)
		}
		return text
	}
	return string(p.Type)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
