package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/replay/calibration"
	"heddle/harness/sim"
	"heddle/harness/workload/generate"
	"heddle/harness/workload/synthetic"
	"heddle/harness/workload/traceplan"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

// traced is a workload whose jobs are those of a trace, or those that a function makes as
// if they were of a trace.
type traced struct{ config.Workload }

// On returns the workload, ready to run on a cluster: its jobs become Hadoop
// Streaming jobs of synthetic tasks.
func (w traced) On(ctx context.Context, place Place) (Live, error) {
	p, err := w.plan(ctx)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Label, err)
	}
	for i := range p.Jobs {
		if u := p.Jobs[i].User; u != "" && u != place.User {
			return nil, fmt.Errorf("workload %s: users: job %s is to run as %s, but jobs can only run as the cluster's user %s", w.Label,
				p.Jobs[i].ID, u, place.User)
		}
	}
	program, err := programOf(place)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Label, err)
	}
	return &traceLive{workload: w, place: place, program: program, plan: p}, nil
}

// CheckJobs returns an error if w is a trace, or made by a function, whose jobs cannot be
// run, as when a file is no trace or has no job in the part that w names. Other workloads
// pass.
func CheckJobs(ctx context.Context, w config.Workload) error {
	t, ok := Of(w).(traced)
	if !ok {
		return nil
	}
	if _, err := t.plan(ctx); err != nil {
		return fmt.Errorf("workload %s: %w", w.Label, err)
	}
	return nil
}

// Twin returns the simulated counterpart of the workload: the jobs of the plan
// at their times, with the work of each task. Files that were in the HDFS cache
// in the trace are cached, besides those that the experiment wants cached.
func (w traced) Twin(ctx context.Context, cache config.Cache) (*Twin, error) {
	p, err := w.plan(ctx)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Label, err)
	}
	t := twinOf(w.Workload)
	t.Warnings = p.Warnings
	for _, f := range p.Files {
		t.Files = append(t.Files, File{Path: path.Join("/heddle", w.Label, f.Path), Bytes: f.Bytes, Cached: f.Cached})
	}
	if err := t.cache(cache); err != nil {
		return nil, err
	}
	for i := range p.Jobs {
		job := jobOf(&p.Jobs[i], time.Duration(w.Sleep).Milliseconds())
		job.Terms = w.termsOf(&p.Jobs[i])
		if err := job.setAll(w.Label, w.Settings); err != nil {
			return nil, err
		}
		t.Jobs = append(t.Jobs, job)
	}
	return t, nil
}

// plan makes a plan of the jobs, with the part and the changes that the experiment file
// says.
func (w traced) plan(ctx context.Context) (*traceplan.Plan, error) {
	o := traceplan.Options{
		First: w.First, From: time.Duration(w.From), Until: time.Duration(w.Until), Speed: w.Speed, Scale: w.Scale,
		MaxTasks: w.MaxTasks, CPUMsPerMiB: float64(time.Duration(w.CPU)) / 1e6,
		Queues: w.Queues, Users: w.Users, Priorities: w.Priorities,
	}
	if g, ok := config.Generated(w.Name); ok {
		jobs, err := g.Make(w.Params)
		if err != nil {
			return nil, err
		}
		return traceplan.New(&traces.Header{}, generate.Events(jobs), o)
	}
	return w.planTrace(ctx, o)
}

// planTrace reads the trace and makes a plan of it.
func (w traced) planTrace(ctx context.Context, o traceplan.Options) (*traceplan.Plan, error) {
	r, imported, err := exchange.Any(ctx, w.Trace, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h := r.Header()
	possible, wrong := tracefile.NewPossible(h)
	events := func(yield func(traces.Event) bool) {
		for wrong == nil && r.Next() {
			if wrong = possible.Add(r.Event()); wrong == nil && !yield(r.Event()) {
				return
			}
		}
	}
	p, err := traceplan.New(&h, events, o)
	if wrong != nil { // the plan of the events before it is not used
		err = wrong
	}
	if err := errors.Join(r.Err(), err); err != nil {
		return nil, fmt.Errorf("trace %s: %w", w.Trace, err)
	}
	if w.Deadline.Recorded {
		unknown := 0
		for i := range p.Jobs {
			if p.Jobs[i].Recorded.CompletionMs <= 0 {
				unknown++
			}
		}
		if unknown > 0 {
			p.Warnings = append(p.Warnings,
				fmt.Sprintf("trace %s: %d of %d jobs have no deadline, since it does not say how long they took", w.Trace, unknown,
					len(p.Jobs)))
		}
	}
	if text := possible.Warning(); text != "" {
		p.Warnings = append(p.Warnings, fmt.Sprintf("trace %s: %s", w.Trace, text))
	}
	if imported != nil && len(imported.Mended) > 0 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(imported.Mended)) {
			kinds = append(kinds, fmt.Sprintf("%s %s", printable.Count(imported.Mended[kind], "time"), kind))
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("the import mended defects of %s: %s", w.Trace, strings.Join(kinds, "; ")))
	}
	return p, nil
}

// termsOf returns the terms of a job: those of the trace, with what the experiment
// file says in their place.
func (w traced) termsOf(j *traceplan.Job) traces.Terms {
	terms, own := j.Terms, w.Terms(time.Duration(max(0, j.Recorded.CompletionMs))*time.Millisecond)
	if own.DeadlineMs != 0 {
		terms.DeadlineMs = own.DeadlineMs
	}
	if own.Price != 0 {
		terms.Price = own.Price
	}
	if own.Hints != (traces.JobHints{}) {
		terms.Hints = own.Hints
	}
	return terms
}

// jobOf returns the simulated counterpart of a job of a plan, whose maps sleep besides.
func jobOf(j *traceplan.Job, sleepMs int64) Job {
	x := Job{
		Name: string(j.ID), At: j.At, User: j.User, Queue: j.Queue, Pool: j.Pool,
		Priority: int32(j.Priority), Reduces: int32(len(j.Reduces)),
		SlowStart: hadoopSlowStart, Maps: []Split{}, Asked: askedOf(j, specOf(j, 0, sleepMs)),
	}
	for _, m := range j.Maps {
		x.Maps = append(x.Maps, Split{File: m.File, OffsetBytes: m.OffsetBytes, LengthBytes: m.LengthBytes})
		x.Work.Maps = append(x.Work.Maps, sim.Work{
			InputBytes: m.LengthBytes, OutputBytes: m.EmitBytes,
			ComputeMs: milliseconds(m.CPUMs + sleepMs),
		})
		if p := (calibration.Phase{FixedMs: float64(m.CPUMs), SleepMs: float64(sleepMs)}); sleepMs > 0 {
			x.Work.Maps[len(x.Work.Maps)-1].CoresPercent = p.CoresPercent(0)
		}
	}
	floored := x.Asked.FlooredShuffle
	if len(j.Reduces) == 0 {
		floored = x.Asked.FlooredOutput
	}
	for i := range x.Work.Maps { // what floors add or take is divided among all maps
		share := floored*int64(i+1)/int64(len(j.Maps)) - floored*int64(i)/int64(len(j.Maps))
		x.Work.Maps[i].OutputBytes = max(0, x.Work.Maps[i].OutputBytes+share)
	}
	shuffled := j.Asked().Shuffle > 0
	for _, r := range j.Reduces {
		if shuffled {
			x.Work.Shares = append(x.Work.Shares, r.ShuffleBytes)
		}
		x.Work.Reduces = append(x.Work.Reduces, sim.Work{OutputBytes: synthetic.FileBytes(r.OutputBytes), ComputeMs: milliseconds(r.CPUMs)})
	}
	return x
}

func milliseconds(n int64) int32 { return int32(min(n, math.MaxInt32/2)) }

// specOf returns what the synthetic tasks of a job are to do.
func specOf(j *traceplan.Job, seed uint64, sleepMs int64) *synthetic.Spec {
	column := func(n int, value func(int) int64) synthetic.Column {
		values := make([]int64, n)
		for i := range values {
			values[i] = value(i)
		}
		return synthetic.Each(values)
	}
	s := &synthetic.Spec{Seed: seed}
	s.Maps = synthetic.MapTasks{
		Count:     len(j.Maps),
		ReadBytes: column(len(j.Maps), func(i int) int64 { return j.Maps[i].LengthBytes }),
		EmitBytes: column(len(j.Maps), func(i int) int64 { return j.Maps[i].EmitBytes }),
		CPUMs:     column(len(j.Maps), func(i int) int64 { return j.Maps[i].CPUMs }),
		SleepMs:   synthetic.Same(sleepMs),
	}
	n := len(j.Reduces)
	s.Reduces = synthetic.ReduceTasks{
		Count:      n,
		WriteBytes: column(n, func(i int) int64 { return j.Reduces[i].OutputBytes }),
		CPUMs:      column(n, func(i int) int64 { return j.Reduces[i].CPUMs }),
	}
	if j.Asked().Shuffle > 0 {
		s.Reduces.Shares = column(n, func(i int) int64 { return j.Reduces[i].ShuffleBytes })
	}
	return s
}

// askedOf returns what a job of a plan is asked to do, with the floors of
// synthetic tasks.
func askedOf(j *traceplan.Job, s *synthetic.Spec) *Asked {
	b, t := j.Asked(), s.Totals()
	return &Asked{
		Job: string(j.ID), SubmitMs: j.At.Milliseconds(), Maps: len(j.Maps), Reduces: len(j.Reduces),
		InputBytes: b.Input, ShuffleBytes: t.ShuffleBytes, OutputBytes: t.OutputBytes, CPUMs: t.CPUMs,
		FlooredInput: j.Floors.InputBytes, FlooredShuffle: t.ShuffleBytes - b.Shuffle, FlooredOutput: t.OutputBytes - b.Output,
		Recorded: &Recorded{CompletionMs: j.Recorded.CompletionMs, Locality: j.Recorded.Locality},
	}
}
