package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/nearest"
	"heddle/harness/newmodel"
	"heddle/harness/sched"
)

func modelsCommand() *cli.Command {
	c := reader("models", &printed{}, runModels)
	c.Subcommands = []*cli.Command{
		reader("models new", &newModelOptions{}, modelsNew),
		reader("models show", &printed{}, modelsShow),
	}
	return c
}

type newModelOptions struct {
	Dir    string `flag:"dir" text:"new folder DIR" of:"DIR" without:"NAME, in the current folder"`
	Heddle string `flag:"heddle" text:"checkout DIR of heddle's source" of:"DIR" without:"the one that this program was built from, or the one around the current folder"`
}

func modelsNew(c *cli.Context, o *newModelOptions, names []string) error {
	name := names[0]
	m, err := newmodel.New(name, cmp.Or(o.Dir, name), o.Heddle)
	if err != nil {
		return err
	}
	if err := m.Write(); err != nil {
		return failed(err)
	}
	_, err = fmt.Fprintf(c.App.Writer, `in %[1]s, a Go module of its own:
  %[2]s/model.go
      the model: its rule, parameters and Choose; change them
  %[3]s
      what it does, step by step; change it too
  %[2]s/model_test.go
      its test: that scenario, and what every model must keep
  main.go
      heddle with this model
  go.mod
      its line "replace" has it built with heddle's source in
      %[4]s

then, in that folder:
  go test ./...
      its test
  go test ./%[2]s -run Scenarios -rewrite
      writes what the model does now into its scenario: read what changed
  go run . models %[5]s
      the model, as all of heddle's commands know it
  go run . replay TRACE --model yarn --model %[5]s
      a trace's jobs under YARN and under the model
`, m.Dir, m.Package, m.Scenario, m.Checkout, name)
	return failed(err)
}

func runModels(c *cli.Context, _ *printed, names []string) error {
	models := sched.List()
	if len(names) == 1 {
		name := names[0]
		switch i := slices.IndexFunc(models, func(m sched.Info) bool { return m.Name == name }); {
		case name == config.ModelExternal:
			return errors.New("external is a program of anybody's that decides: it has the parameters that the program knows")
		case name == config.ModelYARN:
			return errors.New("yarn is the cluster's own scheduler: it is no model of heddle's and has no parameters")
		case i < 0:
			return fmt.Errorf("no model %q; %s", name, nearest.Hint(name, ownModels()))
		default:
			return printDoc(c, models[i:i+1], describeModel(models[i]))
		}
	}
	var d doc.Doc
	for _, use := range sched.Uses() {
		t := doc.NewTable(cmp.Or(use, "of your own"), cmp.Or(use, "of your own"), "what it does")
		for _, m := range models {
			if m.Use == use || use == "" && !slices.Contains(sched.Uses(), m.Use) {
				t.Add(m.Name, m.Summary)
			}
		}
		d = append(d, t)
	}
	return printDoc(c, models, d)
}

// ownModels returns the names of heddle's own models: all but the cluster's
// scheduler and programs.
func ownModels() []string {
	return slices.DeleteFunc(config.ModelNames(),
		func(name string) bool { return name == config.ModelYARN || name == config.ModelExternal })
}

func describeModel(m sched.Info) doc.Doc {
	d := doc.Doc{doc.Heading(m.Name + ": " + m.Summary), doc.Text("from: " + m.Source)}
	if len(m.Params) == 0 {
		return append(d, doc.Text("no parameters"))
	}
	t := doc.NewTable("parameters", "parameter", "values", "default", "unit", "meaning")
	for _, p := range m.Params {
		t.Add(p.Name, p.Values(), orDash(p.Default), orDash(p.Unit), p.Doc)
	}
	return append(d, t)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
