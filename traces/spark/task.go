package spark

import (
	"cmp"
	"slices"

	"heddle/traces"
	"heddle/traces/format"
)

func (a *application) taskStarted(e *event) error {
	_, err := a.task(e)
	return err
}

// task returns the task that an event is about.
func (a *application) task(e *event) (*traces.SparkTask, error) {
	i := &e.Task
	if t := a.tasks[i.ID]; t != nil {
		return t, nil
	}
	t := &traces.SparkTask{
		T: a.time(i.Launched), App: a.App, ID: max(0, a.count(i.ID)), Stage: a.small(e.StageID), StageAttempt: a.small(e.StageAttempt),
		Index: a.small(i.Index), Attempt: a.small(i.Attempt), Executor: i.Executor, Node: traces.Node(a.Racks.Name(i.Host)),
		Locality: traces.SparkLocality(max(0, slices.Index(localities, i.Locality))), Speculative: i.Speculative,
		SparkCounters: traces.NoSparkCounters,
	}
	a.tasks[i.ID] = t
	if a.executors[i.Executor] != nil || a.gone[i.Executor] {
		return t, nil
	}
	a.executors[i.Executor] = &traces.SparkExecutor{T: t.T, App: a.App, Executor: i.Executor, Node: t.Node}
	if !isWorker(i.Executor) { // a local application of Spark 1 or 2 does not say that its driver runs tasks
		return t, nil
	}
	return t, a.mend(bareTask, i.Executor)
}

// localities are Spark's names of traces.SparkLocality.
var localities = []string{"NO_PREF", "PROCESS_LOCAL", "NODE_LOCAL", "RACK_LOCAL", "ANY"}

func (a *application) taskEnded(e *event) error {
	if e.EndReason.Reason == "Resubmitted" {
		return a.mend(takenBack, e.Task.Executor)
	}
	t, err := a.task(e)
	if err != nil {
		return err
	}
	delete(a.tasks, e.Task.ID)
	t.End = a.time(e.Task.Finished)
	if t.End < t.T {
		t.End = t.T
		err = a.mend(format.EndFirst, e.Task.Executor)
	}
	t.Outcome, t.Error = e.EndReason.outcome()
	if m := e.Metrics; m != nil {
		count := a.count
		t.SparkCounters = traces.SparkCounters{
			DeserializeMs: count(m.Deserialize), RunMs: count(m.Run), CPUMs: a.ms(m.CPUNs), GCMs: count(m.GC),
			ResultMs: count(m.Result), InputBytes: count(m.Input.Bytes), InputRecords: count(m.Input.Records),
			OutputBytes: count(m.Output.Bytes), ShuffleLocalBytes: count(m.Read.Local), ShuffleRemoteBytes: count(m.Read.Remote),
			FetchWaitMs: count(m.Read.FetchWait), ShuffleWriteBytes: count(m.Write.Bytes), ShuffleWriteMs: a.ms(m.Write.Ns),
			SpilledMemoryBytes: count(m.SpilledMem), SpilledDiskBytes: count(m.SpilledDisk), PeakMemoryBytes: count(m.Peak),
		}
	}
	if e.TaskType == "ShuffleMapTask" && t.Outcome == traces.Succeeded {
		a.writes[e.StageID] = true
	}
	if err != nil {
		return err
	}
	return a.Add(t)
}

// outcome returns how a task ended, as Spark's history server counts, and what is said of it.
func (r *endReason) outcome() (traces.Outcome, string) {
	switch r.Reason {
	case "Success":
		return traces.Succeeded, ""
	case "TaskKilled", "TaskCommitDenied":
		return traces.Killed, cmp.Or(r.Kill, r.Reason)
	}
	what := cmp.Or(r.Description, r.Message, r.Loss)
	if r.Class != "" {
		what = r.Class + ": " + what
	}
	if what == "" {
		return traces.Failed, r.Reason
	}
	return traces.Failed, r.Reason + ": " + what
}
