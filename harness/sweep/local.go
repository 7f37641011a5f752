package sweep

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/exchange"
)

// inputs are the files of a plan, read for replays.
type inputs struct {
	traces   []*recorded.Trace
	costs    []*calibration.Calibration // of each trace
	given    *calibration.Calibration   // for all of them; may be nil
	modelled bool
}

// Load reads the traces of the plan's replays, and refuses what the plan asks for that they do not have.
func (p *Plan) Load(ctx context.Context) error {
	_, err := load(ctx, p, p.Replays)
	return err
}

// load reads the files of a plan, each once. What a file has must still be what it had when the plan
// was made. Traces that are in no replay of todo are not read.
func load(ctx context.Context, p *Plan, todo []Replay) (*inputs, error) {
	if p.in == nil {
		in := &inputs{
			traces: make([]*recorded.Trace, len(p.Traces)), costs: make([]*calibration.Calibration, len(p.Traces)),
			modelled: p.Calibration != nil,
		}
		if in.modelled {
			if err := p.Calibration.check(); err != nil {
				return nil, err
			}
			var err error
			if in.given, err = calibration.Read(p.Calibration.Path); err != nil {
				return nil, err
			}
		}
		p.in = in
	}
	in := p.in
	for i := range todo {
		at := todo[i].Trace
		if in.traces[at] != nil {
			continue
		}
		t, err := loadTrace(ctx, &p.Traces[at])
		if err == nil {
			err = p.fits(t)
		}
		if err != nil {
			return nil, err
		}
		if in.costs[at] = in.given; in.given == nil {
			if in.costs[at], err = replay.CalibrateOne(t, false); err != nil {
				return nil, err
			}
		}
		in.traces[at] = t
	}
	return in, nil
}

// fits refuses figures of jobs, and keys of node labels, that a trace has none of.
func (p *Plan) fits(t *recorded.Trace) error {
	f := &measure.Figures{}
	add := func(id traces.JobID, name, queue, user string) {
		f.JobList = append(f.JobList, &measure.Job{Name: cmp.Or(name, string(id)), Queue: queue, User: user})
	}
	for _, j := range t.Jobs {
		add(j.Job, j.Name, j.Queue, j.User)
	}
	for i := range t.List {
		j := &t.List[i]
		add(j.Job, j.Name, j.Queue, j.User)
	}
	metrics, err := measure.Find(p.Metrics)
	for i := range p.Thresholds {
		metrics = append(metrics, p.Thresholds[i].Metric)
	}
	for _, m := range metrics {
		if err := m.Lacks(f); err != nil {
			return fmt.Errorf("%s: %s has %w", m.Name, t.Name, err)
		}
	}
	for _, axis := range p.Axes {
		if strings.Contains(axis, "node-label") && !slices.ContainsFunc(t.Nodes, func(n traces.NodeFacts) bool { return n.Label != "" }) {
			return fmt.Errorf("%s: the nodes of %s have no labels", axis, t.Name)
		}
	}
	return err
}

func (f *Input) check() error {
	sum, err := hashOf(f.Path)
	if err == nil && sum != f.SHA256 {
		err = fmt.Errorf("%s has changed since the sweep began: its SHA-256 is %.12s, and was %.12s; a sweep's results are of one and the "+
			"same input", f.Path, sum, f.SHA256)
	}
	return err
}

func loadTrace(ctx context.Context, f *Input) (*recorded.Trace, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	r, imported, err := exchange.Any(ctx, f.Path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := recorded.Read(filepath.Base(f.Path), r, func(traces.Event) {})
	if err != nil {
		return nil, err
	}
	if imported != nil {
		for _, text := range imported.LeftOut {
			t.Warnings = append(t.Warnings, strings.ReplaceAll(text, f.Path, f.Label))
		}
	}
	t.Name = f.Label // a path would make results differ between machines
	return t, nil
}

// config returns the configuration of a replay.
func (in *inputs) config(ctx context.Context, p *Plan, r *Replay) (replay.Config, error) {
	s := &p.Settings[r.Setting]
	change, behaviour, err := changed(s.Behaviour, s.Cluster)
	model := s.Model
	model.Label = s.name()
	return replay.Config{
		Trace: in.traces[r.Trace], Model: model, Behaviour: behaviour, Seed: r.Seed, Change: change,
		Calibration: in.costs[r.Trace], Modelled: in.modelled, WithoutEvents: true, Sanity: true, Interrupted: ctx.Err,
	}, err
}

// row returns the row of a replay's outcome.
func (p *Plan) row(r *Replay, o *replay.Outcome) (Row, error) {
	held, err := p.keep(o)
	if err != nil {
		return Row{}, err
	}
	t := experiment.Row(o, p.workload(r), p.Settings[r.Setting].Label, r.Repeat)
	t.Held = held
	return newRow(r.Key, t)
}

// Local runs replays of a plan on this machine, one on each core. It calls done with
// each row, from one goroutine at a time, in the order in which they end.
func Local(ctx context.Context, p *Plan, todo []Replay, done func(Row) error) error {
	if len(todo) == 0 {
		return nil
	}
	in, err := load(ctx, p, todo)
	if err != nil {
		return err
	}
	return replay.Each(len(todo), func(i int) (replay.Config, error) { return in.config(ctx, p, &todo[i]) },
		func(i int, o *replay.Outcome) error {
			o.Warnings = append(o.Warnings, in.traces[todo[i].Trace].Warnings...)
			row, err := p.row(&todo[i], o)
			if err != nil {
				return err
			}
			return done(row)
		})
}
