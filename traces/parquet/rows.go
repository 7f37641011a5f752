package parquet

import (
	"cmp"
	"maps"
	"slices"

	"heddle/traces"
)

// writer keeps the rows that more events may belong to.
type writer struct {
	jobs      map[traces.JobID]*jobRow
	tasks     map[traces.Task]*taskRow
	attempts  map[traces.Attempt]*attemptRow
	decisions map[int64]*decisionRow
	racks     map[traces.Node]string

	jobTable      *table[jobRow]
	taskTable     *table[taskRow]
	attemptTable  *table[attemptRow]
	sampleTable   *table[sampleRow]
	decisionTable *table[decisionRow]
}

func (w *writer) event(e traces.Event) {
	switch e := e.(type) {
	case *traces.JobSubmitted:
		w.jobs[e.Job] = &jobRow{
			Job: string(e.Job), Name: e.Name, User: e.User, Queue: e.Queue, Workload: e.Workload, SubmitMs: ms(e.T), Maps: e.Maps, Reduces: e.Reduces,
			Outcome: traces.Unfinished.String(),
		}
	case *traces.JobStarted:
		if j := w.jobs[e.Job]; j != nil {
			j.StartMs = some(ms(e.T))
		}
	case *traces.JobFinished:
		w.jobFinished(e)
	case *traces.TaskScheduled:
		t := &taskRow{
			Job: string(e.Task.Job), Kind: e.Task.Kind.String(), Index: e.Task.Index, ScheduledMs: ms(e.T), Path: e.Path,
			OffsetBytes: e.OffsetBytes, LengthBytes: e.LengthBytes, Outcome: traces.Unfinished.String(),
		}
		for _, h := range e.SplitHosts {
			t.SplitHosts = append(t.SplitHosts, string(h))
		}
		w.tasks[e.Task] = t
	case *traces.TaskFinished:
		if t := w.tasks[e.Task]; t != nil {
			t.FinishMs, t.Outcome = some(ms(e.T)), e.Outcome.String()
			if e.Winner >= 0 {
				t.Winner = some(e.Winner)
			}
			w.taskTable.add(*t)
			delete(w.tasks, e.Task)
		}
	case *traces.AttemptStarted:
		a := w.attempt(e.Attempt)
		a.Node, a.Rack, a.StartMs, a.Speculative = string(e.Node), cmp.Or(e.Rack, w.racks[e.Node]), some(ms(e.T)), e.Speculative
		a.SplitLocality, a.ReplicaLocality = e.SplitLocality.String(), e.ReplicaLocality.String()
	case *traces.AttemptFinished:
		w.attemptFinished(e)
	case *traces.NodeSample:
		w.sampleTable.add(sampleRow{
			AtMs: ms(e.T), Node: string(e.Node), CPUUser: known(e.CPUUser), CPUSystem: known(e.CPUSystem), CPUIOWait: known(e.CPUIOWait),
			MemoryUsed: known(e.MemoryUsedBytes), DiskRead: known(e.DiskReadBytesPerSec), DiskWrite: known(e.DiskWriteBytesPerSec),
			NetReceived: known(e.NetRecvBytesPerSec), NetSent: known(e.NetSentBytesPerSec), Containers: e.ContainersRunning,
		})
	case *traces.Decision:
		w.decisions[e.ID] = &decisionRow{
			ID: e.ID, AtMs: ms(e.T), Job: string(e.Job), Kind: e.What.String(), Node: string(e.Node),
			Task: known(e.TaskIndex), Predicted: known(e.BindIndex), Reason: e.Reason,
		}
	case *traces.Actuation:
		w.actuation(e)
	}
}

func (w *writer) jobFinished(e *traces.JobFinished) {
	j := w.jobs[e.Job]
	if j == nil {
		return
	}
	j.FinishMs, j.Outcome = some(ms(e.T)), e.Outcome.String()
	j.InputBytes, j.Shuffle, j.Output = known(e.Counters.HDFSReadBytes), known(e.Counters.ShuffleBytes), known(e.Counters.HDFSWrittenBytes)
	w.jobTable.add(*j)
	delete(w.jobs, e.Job)
}

func (w *writer) attempt(id traces.Attempt) *attemptRow {
	a := w.attempts[id]
	if a == nil {
		a = &attemptRow{
			Job: string(id.Job), Kind: id.Kind.String(), Index: id.Index, Number: id.Number, Outcome: traces.Unfinished.String(),
			SplitLocality: traces.LevelUnknown.String(), ReplicaLocality: traces.LevelUnknown.String(),
		}
		w.attempts[id] = a
	}
	return a
}

func (w *writer) attemptFinished(e *traces.AttemptFinished) {
	a := w.attempt(e.Attempt)
	if e.Unlaunched {
		a.Node, a.Rack, a.SplitLocality = string(e.Node), w.racks[e.Node], e.SplitLocality.String()
	}
	c := &e.Counters
	a.FinishMs, a.Outcome, a.Error = some(ms(e.T)), e.Outcome.String(), e.Error
	a.MapDoneMs, a.ShuffleDoneMs, a.SortDoneMs = phase(e.MapDone), phase(e.ShuffleDone), phase(e.SortDone)
	a.HDFSRead, a.HDFSWritten, a.FileRead, a.FileWritten = known(c.HDFSReadBytes), known(c.HDFSWrittenBytes), known(c.FileReadBytes), known(c.FileWrittenBytes)
	a.Shuffle, a.MapOutput, a.InputRecords, a.OutputRecords = known(c.ShuffleBytes), known(c.MapOutputBytes), known(c.InputRecords), known(c.OutputRecords)
	a.SpilledRecords, a.CPUMs, a.GCMs, a.PhysicalBytes = known(c.SpilledRecords), known(c.CPUMs), known(c.GCMs), known(c.PhysicalBytes)
	w.attemptTable.add(*a)
	delete(w.attempts, e.Attempt)
}

func (w *writer) actuation(e *traces.Actuation) {
	d := w.decisions[e.Decision]
	if d == nil {
		return
	}
	d.Outcome, d.AskedMs, d.GrantedMs = e.Outcome, some(ms(e.AskedAt)), phase(e.GrantedAt)
	if e.Bound.Job != "" {
		d.BoundTask = some(e.Bound.Index)
	}
	w.decisionTable.add(*d)
	delete(w.decisions, e.Decision)
}

// rest writes what never ended.
func (w *writer) rest() {
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		w.jobTable.add(*w.jobs[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.tasks), compareTasks) {
		w.taskTable.add(*w.tasks[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.attempts), func(a, b traces.Attempt) int {
		return cmp.Or(compareTasks(a.Task, b.Task), cmp.Compare(a.Number, b.Number))
	}) {
		w.attemptTable.add(*w.attempts[id])
	}
	for _, id := range slices.Sorted(maps.Keys(w.decisions)) {
		w.decisionTable.add(*w.decisions[id])
	}
}

func compareTasks(a, b traces.Task) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index))
}

func ms(t traces.Time) float64 { return float64(t) / 1e6 }

func some[T any](v T) *T { return &v }

// known is nil for what is negative, which stands for not known.
func known[T int32 | int64 | float64](v T) *T {
	if v < 0 {
		return nil
	}
	return &v
}

// phase is nil for 0, which stands for not reported.
func phase(t traces.Time) *float64 {
	if t == 0 {
		return nil
	}
	return some(ms(t))
}
