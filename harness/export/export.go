// Package export writes runs as one table for other tools: a row for each trial,
// job or task attempt. Every row says of which run and trial it is.
package export

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces"
	"heddle/traces/parquet"
	"heddle/traces/table"
	"heddle/traces/tracefile"
)

// Kinds of rows.
const (
	Trials   = "trials"
	Jobs     = "jobs"
	Attempts = "attempts"
)

// Kinds returns all kinds of rows.
func Kinds() []string { return []string{Trials, Jobs, Attempts} }

// ErrNoTraces is the error for rows that only the traces of trials have, and a run
// without traces.
var ErrNoTraces = errors.New("it keeps no traces, of which jobs and attempts are read")

// ErrSameName is the error for two runs that a table could not tell apart.
var ErrSameName = errors.New("rows are told apart by the names of run folders: rename one")

// Columns returns for a kind of rows the names of the columns, each with what it
// is. The columns that say whose row it is are listed for trials only.
func Columns(kind string) (list [][2]string) {
	switch kind {
	case Trials:
		list = slices.Concat(table.Texts(trialColumns), table.Texts(metricColumns()), table.Texts(readingColumns))
	case Jobs:
		list = table.Texts(with(parquet.JobColumns)[len(trialColumns):])
	case Attempts:
		list = table.Texts(with(parquet.AttemptColumns)[len(trialColumns):])
	}
	return list
}

// trial is what the first columns of every row say.
type trial struct {
	run    *results.Run
	result *results.Trial
	header traces.Header // of the trial's trace; empty if the run keeps no traces
}

// row is a row of a table: P is what it says besides its trial.
type row[P any] struct {
	of   *trial
	part *P
}

var trialColumns = []table.Column[trial]{
	table.Text("run", "name of the run folder", func(t *trial) string { return nameOf(t.run) }),
	table.Text("workload", "label of the workload in the experiment", func(t *trial) string { return t.result.Workload }),
	table.Text("model", "label of the scheduler model in the experiment", func(t *trial) string { return t.result.Model }),
	table.Text("parameters", "the model's parameters, as NAME=VALUE with spaces between; empty if nothing says them",
		func(t *trial) string { return cmp.Or(paramsOf(t.result.Params), paramsOf(t.header.Params)) }),
	table.Whole("repeat", "number of the repeat, from 1", func(t *trial) int { return t.result.Repeat }),
	table.Seed("seed", "seed of the trial's random numbers", func(t *trial) uint64 { return cmp.Or(t.result.Seed, t.run.Manifest().Seed) }),
	table.Text("world", "cluster or simulated", func(t *trial) string { return t.run.World(t.result) }),
	table.Text("trial", "name of the trial in its run", func(t *trial) string { return t.result.Name }),
}

// readingColumns are those that only rows of trials have, since papers keep no traces.
var readingColumns = []table.Column[trial]{
	table.Text("reading", "reading of the paper that the run is of; empty for other runs", func(t *trial) string { return t.result.Reading }),
}

// metricColumns returns a column for each metric of the list, with its unit in the
// name.
func metricColumns() []table.Column[[]*measure.Figures] {
	var list []table.Column[[]*measure.Figures]
	for _, m := range measure.Metrics() {
		name := m.Name
		switch m.Unit {
		case "s":
			name += "_s"
		case "%":
			name += "_pct"
		}
		list = append(list, table.Number(name, m.Text, func(f *[]*measure.Figures) float64 { return m.Of(*f...) }))
	}
	return list
}

// with returns the columns of a table: those of the trial, then the others. A
// column that has the name of an earlier one is left out.
func with[P any](others []table.Column[P]) []table.Column[row[P]] {
	list := table.Of(trialColumns, func(r *row[P]) *trial { return r.of })
	for _, c := range table.Of(others, func(r *row[P]) *P { return r.part }) {
		if !slices.ContainsFunc(list, func(x table.Column[row[P]]) bool { return x.Name == c.Name }) {
			list = append(list, c)
		}
	}
	return list
}

// Write writes a new file, Parquet or CSV by the end of its name, with a row for
// each trial, job or attempt of the runs. It returns warnings about what the table
// lacks.
func Write(list []*results.Run, kind, path string) (warnings []string, err error) {
	for i, run := range list {
		if slices.ContainsFunc(list[:i], func(r *results.Run) bool { return nameOf(r) == nameOf(run) }) {
			return nil, fmt.Errorf("two are named %s: %w", nameOf(run), ErrSameName)
		}
		if n := len(run.Manifest().Trials); n > 0 && len(run.Trials) == 0 {
			warnings = append(warnings, fmt.Sprintf("%s has no trial that is done", run.Dir))
		}
	}
	switch kind {
	case Trials:
		columns := with(metricColumns())
		reading := table.Of(readingColumns, func(r *row[[]*measure.Figures]) *trial { return r.of })
		err = table.Create(path, append(columns, reading...), func(add func(*row[[]*measure.Figures]) error) error {
			return each(list, func(t *trial) error {
				stages, warning, err := t.run.Stages(t.result)
				if err != nil {
					return err
				}
				if warning != "" {
					warnings = append(warnings, warning)
				}
				return add(&row[[]*measure.Figures]{t, &stages})
			})
		})
	case Jobs:
		err = table.Create(path, with(parquet.JobColumns), traced(list, func(path string, _ *traces.Header) table.Rows[parquet.Job] {
			return parquet.JobRows(path)
		}))
	case Attempts:
		err = table.Create(path, with(parquet.AttemptColumns), traced(list, func(path string, h *traces.Header) table.Rows[parquet.Attempt] {
			return parquet.AttemptRows(path, h.Cluster.Racks())
		}))
	default:
		err = fmt.Errorf("unknown rows %q: want %s", kind, strings.Join(Kinds(), ", "))
	}
	return warnings, err
}

// traced gives the rows of the traces of all trials.
func traced[P any](list []*results.Run, rowsOf func(path string, h *traces.Header) table.Rows[P]) table.Rows[row[P]] {
	return func(add func(*row[P]) error) error {
		return each(list, func(t *trial) error {
			if t.result.Figures != nil {
				return fmt.Errorf("%s: %w", t.run.Dir, ErrNoTraces)
			}
			return rowsOf(t.run.TracePath(t.result), &t.header)(func(p *P) error { return add(&row[P]{t, p}) })
		})
	}
}

// each calls the function do with each finished trial.
func each(list []*results.Run, do func(*trial) error) error {
	for _, run := range list {
		for i := range run.Trials {
			t := &trial{run: run, result: &run.Trials[i]}
			if t.result.Figures == nil {
				in, err := tracefile.Open(run.TracePath(t.result))
				if err != nil {
					return err
				}
				t.header = in.Header()
				if err := in.Close(); err != nil {
					return err
				}
			}
			if err := do(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func paramsOf(params map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		list = append(list, name+"="+params[name])
	}
	return strings.Join(list, " ")
}

func nameOf(run *results.Run) string { return filepath.Base(run.Dir) }
