package paper

import (
	"bufio"
	"fmt"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/fidelity"
	"heddle/harness/runs"
	"heddle/harness/stats"
)

// Live is a paper's experiment on a real cluster, at a size that a small test
// cluster can run.
type Live struct {
	Experiment []byte // content of the experiment file, as for the command "heddle run"
	// Files are files that the experiment names, such as a trace, by their names
	// beside it.
	Files map[string][]byte
}

// LiveTable contains the results of a run on a cluster, and what replays
// predict for the same run. Other programs may rely on its JSON keys.
type LiveTable struct {
	Run      string    `json:"run"`
	Rows     []LiveRow `json:"rows"`
	Warnings []string  `json:"warnings"`
}

// LiveRow contains the figures of one workload under one scheduler model. Each
// is a mean over the repeats.
type LiveRow struct {
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Runs     int    `json:"runs"`
	// CompletionS is the mean time of the jobs from submission to end, in
	// seconds. SavesPct is by how many percent this time is below that of the
	// first model in the table, compared within each repeat.
	CompletionS Cell `json:"completionS"`
	SavesPct    Cell `json:"savesPct"`
	// CachePct, LocalPct and AdherencePct are in percent. CachePct is the share
	// of successful maps that ran on a node with their block in its cache.
	// LocalPct is the share that ran on a node with their block in its cache or
	// on its disk. AdherencePct is the share of the model's decisions that were
	// carried out.
	CachePct     Cell `json:"cachePct"`
	LocalPct     Cell `json:"localPct"`
	AdherencePct Cell `json:"adherencePct"`
	// PredictedS is CompletionS as simulated replays predict it. The replay of
	// a trial is calibrated on the other repeats. ErrorPct is the mean, over
	// trials, of the prediction's error in percent.
	PredictedS Cell `json:"predictedS"`
	ErrorPct   Cell `json:"errorPct"`
}

// measured contains the figures of one finished trial on a cluster.
type measured struct {
	experiment.Result
	seconds                 float64
	cache, local, adherence stats.Share
}

// Read returns the table of results for the finished trials in the run folder
// dir. Its models are in the order of the paper's experiment. A file that has
// changed since the run recorded its hash is an error. If unverified is true, it
// is a warning instead.
func (l *Live) Read(dir string, unverified bool) (*LiveTable, error) {
	run, err := experiment.Read(dir, unverified)
	if err != nil {
		return nil, fmt.Errorf("read live run: %w", err)
	}
	results := run.Results
	if len(results) == 0 {
		return nil, fmt.Errorf("read live run %s: it has no finished trial yet; heddle run --resume %s continues it", dir, dir)
	}
	t := &LiveTable{Run: filepath.Base(run.Dir), Warnings: append([]string{}, run.Warnings()...)}
	if left := len(run.Manifest().Trials) - len(results); left > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d of %d trials are not finished and left out", left, len(run.Manifest().Trials)))
	}
	var trials []measured
	for _, r := range results {
		m := measured{Result: r}
		if err := m.read(run); err != nil {
			return nil, fmt.Errorf("read live run: %w", err)
		}
		trials = append(trials, m)
	}
	predicted, err := fidelity.OfRun(run, fidelity.Options{})
	if err != nil { // if replays cannot predict anything, the table still has the measured figures
		t.Warnings = append(t.Warnings, "no prediction: "+err.Error())
	} else {
		t.Warnings = append(t.Warnings, predicted.Warnings...)
	}
	t.fill(trials, predicted, l.models())
	return t, nil
}

// models returns the labels of the experiment's models, in its order.
func (l *Live) models() []string {
	e, err := config.ParseExperiment("live.yaml", l.Experiment)
	if err != nil {
		return nil // it is parsed, and its errors are shown, where it is run
	}
	var labels []string
	for _, m := range e.Models {
		labels = append(labels, m.Label)
	}
	return labels
}

// place returns the index of a label in a list, or the list's length.
func place(list []string, label string) int {
	if i := slices.Index(list, label); i >= 0 {
		return i
	}
	return len(list)
}

// The method read reads a trial's trace and computes the trial's figures from
// it.
func (m *measured) read(run *experiment.Finished) error {
	s, warning, err := run.Figures(&m.Result)
	if err == nil && warning != "" { // if the end of the trace is missing, its figures must not be compared with a paper
		err = fmt.Errorf("%w: %s", runs.ErrDamaged, warning)
	}
	if err != nil {
		return err
	}
	for _, j := range m.Jobs {
		m.seconds += float64(j.CompletionMs) / 1000 / float64(len(m.Jobs))
	}
	l := s.Locality
	known := int64(l.Known())
	m.cache, m.local = stats.Share{Part: int64(l.Cache), Of: known}, stats.Share{Part: int64(l.Cache + l.Node), Of: known}
	m.adherence = stats.Share{Part: int64(s.Decisions.Honoured), Of: int64(s.Decisions.Made)}
	return nil
}

// fill adds a row to the table for each workload and scheduler model. Models
// are in the given order; others come after them.
func (t *LiveTable) fill(trials []measured, predicted *fidelity.Report, order []string) {
	none := CellOf(stats.Mean(nil))
	var workloads, models []string
	for _, m := range trials {
		if !slices.Contains(workloads, m.Workload) {
			workloads = append(workloads, m.Workload)
		}
		if !slices.Contains(models, m.Model) {
			models = append(models, m.Model)
		}
	}
	slices.SortStableFunc(models, func(a, b string) int { return place(order, a) - place(order, b) })
	for _, workload := range workloads {
		of := func(model string) []measured {
			var list []measured
			for _, m := range trials {
				if m.Workload == workload && m.Model == model {
					list = append(list, m)
				}
			}
			return list
		}
		first := of(models[0])
		for _, model := range models {
			list := of(model)
			if len(list) == 0 {
				continue
			}
			rate := func(of func(*measured) stats.Share) Cell {
				// A repeat in which no map read blocks has no cache rate, and
				// one in which no decision was made has no adherence. Such
				// repeats are left out of the mean.
				known := slices.DeleteFunc(each(list, of), func(s stats.Share) bool { return s.Of == 0 })
				return CellOf(stats.MeanShare(known))
			}
			row := LiveRow{
				Workload: workload, Model: model, Runs: len(list), SavesPct: none, PredictedS: none, ErrorPct: none,
				CompletionS:  CellOf(stats.Mean(each(list, func(m *measured) float64 { return m.seconds }))),
				CachePct:     rate(func(m *measured) stats.Share { return m.cache }),
				LocalPct:     rate(func(m *measured) stats.Share { return m.local }),
				AdherencePct: rate(func(m *measured) stats.Share { return m.adherence }),
			}
			if model != models[0] {
				row.SavesPct = saved(first, list)
			}
			row.predict(predicted)
			t.Rows = append(t.Rows, row)
		}
	}
}

// saved returns by how many percent the jobs of trials b took less time than
// those of trials a. It compares trials of the same repeat, and leaves out
// repeats without a trial of both.
func saved(a, b []measured) Cell {
	var x, y []float64
	for _, m := range b {
		if i := slices.IndexFunc(a, func(n measured) bool { return n.Repeat == m.Repeat }); i >= 0 {
			x, y = append(x, a[i].seconds), append(y, m.seconds)
		}
	}
	r := stats.PairedRatio(x, y).Estimate
	r.Value, r.Lo, r.Hi = 100*(1-r.Value), 100*(1-r.Hi), 100*(1-r.Lo)
	return CellOf(r)
}

// predict adds to a row of the table the mean of the completion times that
// replays predict for the row's workload and scheduler model.
func (r *LiveRow) predict(p *fidelity.Report) {
	if p == nil {
		return
	}
	for _, own := range p.Own {
		if own.Workload != r.Workload || own.Model != r.Model {
			continue
		}
		var seconds []float64
		for _, t := range own.Trials {
			seconds = append(seconds, t.PredictedMs/1000)
		}
		r.PredictedS = CellOf(stats.Mean(seconds))
		r.ErrorPct = Cell{own.MeanAbsErrorPct, own.CI95Pct}
	}
}

func (t *LiveTable) writeText(w *bufio.Writer) {
	fmt.Fprintf(w, "live  %s, means over repeats with their 95 %% interval\n", t.Run)
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tabs, "  workload\tmodel\tn\tcompletion s\tsaves %\tcache %\tlocal %\tadherence %\tpredicted s\terror %")
	for _, r := range t.Rows {
		fmt.Fprintf(tabs, "  %s\t%s\t%d", r.Workload, r.Model, r.Runs)
		for _, v := range []Cell{r.CompletionS, r.SavesPct, r.CachePct, r.LocalPct, r.AdherencePct, r.PredictedS, r.ErrorPct} {
			fmt.Fprintf(tabs, "\t%s", v)
		}
		fmt.Fprintln(tabs)
	}
	tabs.Flush()
	wrap(w, "  note: ", "saves: against the first model of the workload, repeat by repeat. cache, local: where the map's block was when it started. adherence: decisions that were carried out. predicted: replays calibrated on the other repeats.")
	for _, warning := range t.Warnings {
		wrap(w, "  warning: ", warning)
	}
}
