// Package report makes one document of runs and traces, for a page that people look
// at: who was faster and whether the trials tell it, what to distrust, the figures,
// and where all of it is from. It computes no figure: packages compare, measure and
// results do.
package report

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

// Options say what a page is about.
type Options struct {
	Runs   []string // run folders with results of trials
	Traces []string // files of traces, in any format that can be imported
	// Metrics are those by which models are compared; by default the usual ones.
	Metrics []string
	// Unverified allows to read files that differ from their recorded hashes.
	Unverified bool
	// Progress is told what is being read.
	Progress func(doing string)
}

// Of returns the document of a page.
func Of(ctx context.Context, o Options) (doc.Doc, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	var d, sources doc.Doc
	if len(o.Runs) > 0 {
		o.Progress("comparing the trials")
		c, err := compare.Runs(o.Runs, compare.Options{Metrics: o.Metrics, Unverified: o.Unverified})
		if err != nil {
			return nil, err
		}
		d = append(d, c.Doc()...)
		for _, dir := range o.Runs {
			run, err := runs.Open(dir)
			if err != nil {
				return nil, err
			}
			sources = append(sources, results.Provenance(run)...)
		}
	}
	for _, path := range o.Traces {
		o.Progress("reading " + path)
		figures, warnings, err := ofTrace(ctx, path)
		if err != nil {
			return nil, err
		}
		d = append(d, doc.Heading("Trace "+filepath.Base(path)), doc.Warnings(warnings))
		d = append(d, figures.Doc()...)
	}
	return append(append(doc.Doc{doc.Heading(title(&o))}, d...), sources...), nil
}

// ofTrace reads a trace and returns its figures.
func ofTrace(ctx context.Context, path string) (*measure.Figures, []string, error) {
	r, imported, err := exchange.Any(ctx, path, nil)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var warnings []string
	if imported != nil {
		warnings = append(warnings, fmt.Sprintf("imported from %s", imported.Format))
	}
	figures := measure.Of(r.Header(), r.All())
	var damage *tracefile.DamageError
	if err := r.Err(); errors.As(err, &damage) {
		warnings = append(warnings, fmt.Sprintf("%v: only the part of the trace before that is used", err))
	} else if err != nil {
		return nil, nil, err
	}
	return figures, warnings, results.Classify(path, figures)
}

// title names what the page is about.
func title(o *Options) string {
	name := ""
	for i, path := range append(append([]string{}, o.Runs...), o.Traces...) {
		if i > 0 {
			name += ", "
		}
		name += filepath.Base(path)
	}
	return name
}
