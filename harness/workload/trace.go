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
	"heddle/harness/replay"
	"heddle/harness/sim"
	"heddle/harness/workload/traceplan"
	"heddle/traces"
	"heddle/traces/exchange"
)

// traced is a workload whose jobs are those of a trace.
type traced struct{ config.Workload }

// On returns an error: jobs of a trace run in virtual time only so far.
func (w traced) On(Place) (Live, error) {
	return nil, fmt.Errorf("workload %s: jobs of a trace run in virtual time only so far; add --simulate", w.Label)
}

// Twin returns the simulated counterpart of the workload: the jobs of the plan
// at their times, with the work of each task. Files that were in the HDFS cache
// in the trace are cached, besides those that the experiment wants cached.
func (w traced) Twin(cache config.Cache) (*Twin, error) {
	p, err := w.plan(context.Background())
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Label, err)
	}
	t := &Twin{Workload: w.Label, Costs: replay.Workload{Workload: w.Label}, Warnings: p.Warnings}
	lengths := make([]int64, len(p.Files))
	for i, f := range p.Files {
		lengths[i] = f.Bytes
		t.Files = append(t.Files, File{Path: path.Join("/heddle", w.Label, f.Path), Bytes: f.Bytes, Cached: f.Cached})
	}
	if cache.Fraction > 0 {
		for _, i := range ChooseFiles(lengths, cache.Fraction, cache.Seed) {
			t.Files[i].Cached = true
		}
	}
	for i := range p.Jobs {
		job := jobOf(&p.Jobs[i])
		for _, name := range slices.Sorted(maps.Keys(w.Settings)) {
			if err := job.set(name, w.Settings[name]); err != nil {
				return nil, fmt.Errorf("workload %s: %w", w.Label, err)
			}
		}
		t.Jobs = append(t.Jobs, job)
	}
	return t, nil
}

// plan reads the trace and makes a plan of it, with the part and the changes
// that the experiment file says.
func (w traced) plan(ctx context.Context) (*traceplan.Plan, error) {
	r, imported, err := exchange.Any(ctx, w.Trace)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h := r.Header()
	p, err := traceplan.New(&h, r.All(), traceplan.Options{
		First: w.First, From: time.Duration(w.From), Until: time.Duration(w.Until), Speed: w.Speed, Scale: w.Scale,
		MaxTasks: w.MaxTasks, CPUMsPerMiB: float64(time.Duration(w.CPU)) / 1e6,
		Queues: w.Queues, Users: w.Users, Priorities: w.Priorities,
	})
	if err := errors.Join(r.Err(), err); err != nil {
		return nil, fmt.Errorf("trace %s: %w", w.Trace, err)
	}
	if imported != nil && len(imported.Mended) > 0 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(imported.Mended)) {
			kinds = append(kinds, fmt.Sprintf("%d times %s", imported.Mended[kind], kind))
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("the import mended defects of %s: %s", w.Trace, strings.Join(kinds, "; ")))
	}
	return p, nil
}

// jobOf returns the simulated counterpart of a job of a plan.
func jobOf(j *traceplan.Job) Job {
	x := Job{
		Name: string(j.ID), At: j.At, User: j.User, Queue: j.Queue, Priority: int32(j.Priority), Reduces: int32(len(j.Reduces)),
		SlowStart: hadoopSlowStart, Maps: []Split{}, Asked: askedOf(j),
	}
	for _, m := range j.Maps {
		x.Maps = append(x.Maps, Split{File: m.File, OffsetBytes: m.OffsetBytes, LengthBytes: m.LengthBytes})
		x.Work.Maps = append(x.Work.Maps, sim.Work{InputBytes: m.LengthBytes, OutputBytes: m.EmitBytes, ComputeMs: milliseconds(m.CPUMs)})
	}
	for _, r := range j.Reduces {
		x.Work.Reduces = append(x.Work.Reduces, sim.Work{OutputBytes: r.OutputBytes, ComputeMs: milliseconds(r.CPUMs)})
	}
	return x
}

func milliseconds(n int64) int32 { return int32(min(n, math.MaxInt32/2)) }

// askedOf returns what a job of a plan is asked to do.
func askedOf(j *traceplan.Job) *Asked {
	b := j.Asked()
	a := &Asked{
		Job: string(j.ID), SubmitMs: j.At.Milliseconds(), Maps: len(j.Maps), Reduces: len(j.Reduces),
		InputBytes: b.Input, ShuffleBytes: b.Shuffle, OutputBytes: b.Output, FlooredInput: j.Floors.InputBytes,
		Recorded: &Recorded{CompletionMs: j.Recorded.CompletionMs, Locality: j.Recorded.Locality},
	}
	for i := range j.Maps {
		a.CPUMs = traces.AddCount(a.CPUMs, j.Maps[i].CPUMs)
	}
	for i := range j.Reduces {
		a.CPUMs = traces.AddCount(a.CPUMs, j.Reduces[i].CPUMs)
	}
	return a
}
