package parquet

import (
	"cmp"

	"heddle/traces"
	"heddle/traces/byjob"
)

func (w *writer) job(j *byjob.Job) {
	if s := j.Submitted; s != nil {
		row := jobRow{
			Job: string(j.ID), Name: s.Name, User: s.User, Queue: s.Queue, Workload: s.Workload, SubmitMs: ms(s.T), Maps: s.Maps, Reduces: s.Reduces,
			Outcome: traces.Unfinished.String(),
		}
		if j.Started != nil {
			row.StartMs = some(ms(j.Started.T))
		}
		if f := j.Finished; f != nil {
			row.FinishMs, row.Outcome = some(ms(f.T)), f.Outcome.String()
			row.InputBytes, row.Shuffle, row.Output = known(f.Counters.HDFSReadBytes), known(f.Counters.ShuffleBytes), known(f.Counters.HDFSWrittenBytes)
		}
		w.jobs.add(row)
	}
	for _, t := range j.Tasks {
		w.task(t)
		for _, a := range t.Attempts {
			w.attempt(a)
		}
	}
}

func (w *writer) task(t *byjob.Task) {
	s := t.Scheduled
	if s == nil {
		return
	}
	row := taskRow{
		Job: string(t.ID.Job), Kind: t.ID.Kind.String(), Index: t.ID.Index, ScheduledMs: ms(s.T), Path: s.Path,
		OffsetBytes: s.OffsetBytes, LengthBytes: s.LengthBytes, Outcome: traces.Unfinished.String(),
	}
	for _, h := range s.SplitHosts {
		row.SplitHosts = append(row.SplitHosts, string(h))
	}
	if f := t.Finished; f != nil {
		row.FinishMs, row.Outcome, row.Winner = some(ms(f.T)), f.Outcome.String(), known(f.Winner)
	}
	w.tasks.add(row)
}

func (w *writer) attempt(a *byjob.Attempt) {
	row := attemptRow{
		Job: string(a.ID.Job), Kind: a.ID.Kind.String(), Index: a.ID.Index, Number: a.ID.Number, Outcome: traces.Unfinished.String(),
		SplitLocality: traces.LevelUnknown.String(), ReplicaLocality: traces.LevelUnknown.String(),
	}
	if s := a.Started; s != nil {
		row.Node, row.Rack, row.StartMs, row.Speculative = string(s.Node), cmp.Or(s.Rack, w.racks[s.Node]), some(ms(s.T)), s.Speculative
		row.SplitLocality, row.ReplicaLocality = s.SplitLocality.String(), s.ReplicaLocality.String()
	}
	if f := a.Finished; f != nil {
		if f.Unlaunched {
			row.Node, row.Rack, row.SplitLocality = string(f.Node), w.racks[f.Node], f.SplitLocality.String()
		}
		c := &f.Counters
		row.FinishMs, row.Outcome, row.Error = some(ms(f.T)), f.Outcome.String(), f.Error
		row.MapDoneMs, row.ShuffleDoneMs, row.SortDoneMs = phase(f.MapDone), phase(f.ShuffleDone), phase(f.SortDone)
		row.HDFSRead, row.HDFSWritten, row.FileRead, row.FileWritten = known(c.HDFSReadBytes), known(c.HDFSWrittenBytes), known(c.FileReadBytes), known(c.FileWrittenBytes)
		row.Shuffle, row.MapOutput, row.InputRecords, row.OutputRecords = known(c.ShuffleBytes), known(c.MapOutputBytes), known(c.InputRecords), known(c.OutputRecords)
		row.SpilledRecords, row.CPUMs, row.GCMs, row.PhysicalBytes = known(c.SpilledRecords), known(c.CPUMs), known(c.GCMs), known(c.PhysicalBytes)
	}
	w.attempts.add(row)
}

// The method event adds rows to the tables. A node sample gives a row at once.
// A scheduler model's decision gives a row when its outcome is known.
func (w *writer) event(e traces.Event) {
	switch e := e.(type) {
	case *traces.NodeSample:
		w.samples.add(sampleRow{
			AtMs: ms(e.T), Node: string(e.Node), CPUUser: known(e.CPUUser), CPUSystem: known(e.CPUSystem), CPUIOWait: known(e.CPUIOWait),
			MemoryUsed: known(e.MemoryUsedBytes), DiskRead: known(e.DiskReadBytesPerSec), DiskWrite: known(e.DiskWriteBytesPerSec),
			NetReceived: known(e.NetRecvBytesPerSec), NetSent: known(e.NetSentBytesPerSec), Containers: e.ContainersRunning,
		})
	case *traces.Decision:
		w.pending[e.ID] = &decisionRow{
			ID: e.ID, AtMs: ms(e.T), Job: string(e.Job), Kind: e.What.String(), Node: string(e.Node),
			Task: known(e.TaskIndex), Predicted: known(e.BindIndex), Reason: e.Reason,
		}
	case *traces.Actuation:
		d := w.pending[e.Decision]
		if d == nil {
			return
		}
		d.Outcome, d.AskedMs, d.GrantedMs = e.Outcome, some(ms(e.AskedAt)), phase(e.GrantedAt)
		if e.Bound.Job != "" {
			d.BoundTask = some(e.Bound.Index)
		}
		w.decisions.add(*d)
		delete(w.pending, e.Decision)
	}
}

func ms(t traces.Time) float64 { return float64(t) / 1e6 }

func some[T any](v T) *T { return &v }

// known returns nil for a negative value, which means "not known", and a
// pointer to any other value. The Parquet library writes nil as null.
func known[T int32 | int64 | float64](v T) *T {
	if v < 0 {
		return nil
	}
	return &v
}

// phase returns the time, in ms, at which a phase of an attempt (map, shuffle,
// sort) ended. For the time 0, which means "not reported", it returns nil.
func phase(t traces.Time) *float64 {
	if t == 0 {
		return nil
	}
	return some(ms(t))
}
