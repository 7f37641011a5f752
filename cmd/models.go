package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/nearest"
	"heddle/harness/newmodel"
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
		Flags:       []cli.Flag{tableFlag(), jsonFlag()},
		Action:      runModels,
		Subcommands: []*cli.Command{modelsNew()},
	}
}

func modelsNew() *cli.Command {
	var dir string
	return &cli.Command{
		Name:      "new",
		Usage:     "begin a model of one's own, in a checkout of heddle",
		ArgsUsage: "NAME",
		Description: `Writes a model that compiles and runs, to be changed: its rule in a file of
package sched, a scenario that tests it, and its line in the registry. The tests
of all models are then its tests too. NAME is of a-z, 0-9 and hyphens. Nothing is
overwritten. For example, in the checkout:

   heddle models new my-model
   go test -short ./harness/sched
   go run ./cmd/heddle replay TRACE --model my-model`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Destination: &dir, Value: ".", Usage: "`DIR` in the checkout"},
		},
		Action: func(c *cli.Context) error {
			names, err := arguments(c)
			if err != nil {
				return err
			}
			if len(names) != 1 {
				return withCode(exitUsage, fmt.Errorf("models new takes one NAME, found %d", len(names)))
			}
			p, err := newmodel.New(dir, names[0])
			if err != nil {
				return withCode(exitUsage, err)
			}
			if err := p.Write(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, `in %s:
  %s
      the model: its rule, parameters and Choose; change them
  %s
      its scenario: what it does, step by step; change it too
  %s
      its line in the list of models

then, in that folder:
  go test ./harness/sched -run Scenarios -rewrite
      writes what the model does now into its scenario: read what changed
  go test -short ./harness/sched
      its scenario, and what is tested of all models
  go run ./cmd/heddle replay TRACE --model yarn --model %[5]s
      a trace's jobs under YARN and under the model
  go test ./harness/sim -run Digests -update
      once its rule stands: from then on a test says when its schedules change
`, p.Root, p.Model, p.Scenario, p.Registry, names[0])
			return err
		},
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
		if names[0] == config.ModelYARN {
			return withCode(exitUsage, errors.New("yarn is the cluster's own scheduler: it is no model of heddle's and has no parameters"))
		}
		if i < 0 {
			return withCode(exitUsage, fmt.Errorf("no model %q; %s", names[0], nearest.Hint(names[0], ownModels())))
		}
		models = models[i : i+1]
	default:
		return withCode(exitUsage, fmt.Errorf("models takes one NAME at most, found %d", len(names)))
	}
	if len(names) == 1 {
		return printDoc(c, models, describeModel(models[0]))
	}
	t := &doc.Table{Name: "models", Columns: []string{"model", "what it does"}}
	for _, m := range models {
		t.Add(doc.Words(m.Name), doc.Words(m.Summary))
	}
	return printDoc(c, models, doc.Doc{t})
}

// ownModels returns the names of heddle's own models: all but the cluster's
// scheduler.
func ownModels() []string {
	return slices.DeleteFunc(config.ModelNames(), func(name string) bool { return name == config.ModelYARN })
}

func describeModel(m sched.Info) doc.Doc {
	d := doc.Doc{doc.Heading(m.Name + ": " + m.Summary), doc.Text("from: " + m.Source)}
	if len(m.Params) == 0 {
		return append(d, doc.Text("no parameters"))
	}
	t := &doc.Table{Name: "parameters", Columns: []string{"parameter", "values", "default", "unit", "meaning"}}
	for _, p := range m.Params {
		t.Add(doc.Words(p.Name), doc.Words(values(p)), doc.Words(orDash(p.Default)), doc.Words(orDash(p.Unit)), doc.Words(p.Doc))
	}
	return append(d, t)
}

// The function values returns a text for help and tables that says which values
// a parameter of a scheduler model may have.
func values(p sched.Param) string {
	switch p.Type {
	case sched.Choice:
		return strings.Join(p.Choices, "|")
	case sched.Set:
		return strings.Join(p.Choices, "+")
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
