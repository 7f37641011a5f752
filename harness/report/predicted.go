package report

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

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
		p.warnings = append(far(r), p.warnings...)
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

// farPct is from how many percent on the page warns of a prediction's error.
const farPct = 20

// far returns a warning for each workload whose mean job completion time is predicted
// much too short or too long. A replay under another model than the recorded one may
// differ for that reason alone.
func far(r *fidelity.Report) (list []string) {
	byWorkload := map[string][]string{}
	var workloads []string
	for _, x := range r.Own {
		if !(math.Abs(float64(x.BiasPct)) > farPct) {
			continue
		}
		if byWorkload[x.Workload] == nil {
			workloads = append(workloads, x.Workload)
		}
		byWorkload[x.Workload] = append(byWorkload[x.Workload], fmt.Sprintf("%s under %s", doc.Signed(x.BiasPct, 1, "%"), x.Model))
	}
	for _, w := range workloads {
		list = append(list, fmt.Sprintf("%s: the simulated mean job completion time is far from the real one: %s; unless another scheduler is "+
			"the reason, trust no difference that is smaller", w, strings.Join(byWorkload[w], ", ")))
	}
	return list
}
