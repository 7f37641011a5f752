package report

import (
	"errors"
	"path/filepath"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/fidelity"
	"heddle/harness/measure"
	"heddle/traces/printable"
)

// predicted compares what was measured with what replays predict: measured trials with
// replays that are made for it, and a recorded trace with the replays of it that the runs
// have.
func (p *page) predicted() (d doc.Doc, err error) {
	if p.compared == nil {
		return nil, nil
	}
	metrics, err := measure.Find(p.Metrics)
	if err != nil {
		return nil, err
	}
	for _, run := range p.compared.Runs() {
		r, err := fidelity.OfReplays(slices.DeleteFunc(p.compared.AllTrials(), func(c compare.Chosen) bool { return c.Run != run }), metrics)
		if errors.Is(err, fidelity.ErrNothing) && p.Fidelity {
			p.Progress("replay the trials of " + run.Dir)
			r, err = fidelity.OfRun(run, fidelity.Options{Interrupted: p.ctx.Err})
		}
		switch {
		case errors.Is(err, fidelity.ErrNothing):
			continue
		case err != nil:
			p.warnings = append(p.warnings, printable.OneLine(err.Error()))
			continue
		}
		if len(d) == 0 {
			d = doc.Doc{doc.Heading("Measured against predicted")}
		}
		if len(p.compared.Runs()) > 1 {
			d = append(d, doc.Subheading(filepath.Base(run.Dir)))
		}
		d = append(d, doc.List(r.Sentences()), r.Forest(), &doc.Fold{Title: "Errors as tables", Parts: r.Doc()[1:]})
	}
	return d, nil
}
