package parquet

import (
	"cmp"
	"slices"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/format"
	"heddle/traces/table"
)

// Job is a row of the table of jobs.
type Job struct {
	submitted *traces.JobSubmitted
	started   *traces.JobStarted
	finished  *traces.JobFinished
}

// JobColumns are the columns of the table of jobs.
var JobColumns = []table.Column[Job]{
	table.Text("job", "id of the job", func(j *Job) string { return string(j.submitted.Job) }),
	table.Text("name", "name of the job", func(j *Job) string { return j.submitted.Name }),
	table.Text("user", "who submitted it", func(j *Job) string { return j.submitted.User }),
	table.Text("queue", "queue that it was submitted to", func(j *Job) string { return j.submitted.Queue }),
	table.Text("workload", "workload that it is part of; empty for a job of others", func(j *Job) string { return j.submitted.Workload }),
	table.Number("submit_ms", "time of its submission", func(j *Job) float64 { return ms(j.submitted.T) }),
	table.Number("start_ms", "time at which its ApplicationMaster was up", func(j *Job) float64 { return ms(j.started.T) }),
	table.Number("finish_ms", "time of its end", func(j *Job) float64 { return ms(j.finished.T) }),
	table.Number("completion_ms", "time from its submission to its end", func(j *Job) float64 { return ms(j.finished.T) - ms(j.submitted.T) }),
	table.Whole("deadline_ms", "time from its submission until which it should have ended; null if it has no deadline", func(j *Job) int64 {
		if j.submitted.DeadlineMs == 0 {
			return -1
		}
		return j.submitted.DeadlineMs
	}),
	table.Text("outcome", "succeeded, failed, killed or unfinished", func(j *Job) string { return j.finished.Outcome.String() }),
	table.Whole("maps", "number of its maps", func(j *Job) int32 { return j.submitted.Maps }),
	table.Whole("reduces", "number of its reduces", func(j *Job) int32 { return j.submitted.Reduces }),
	table.Whole("hdfs_read_bytes", "bytes read from HDFS, as the job's counters say",
		func(j *Job) int64 { return j.finished.Counters.HDFSReadBytes }),
	table.Whole("shuffle_bytes", "bytes shuffled", func(j *Job) int64 { return j.finished.Counters.ShuffleBytes }),
	table.Whole("hdfs_written_bytes", "bytes written to HDFS", func(j *Job) int64 { return j.finished.Counters.HDFSWrittenBytes }),
}

// JobRows gives the rows of the table of jobs. It leaves out jobs of whose
// submission the trace does not tell.
func JobRows(path string) table.Rows[Job] {
	return func(add func(*Job) error) error {
		for j, err := range byjob.Jobs(path, append(slices.Clip(noTasks), traces.KindAttemptStarted, traces.KindAttemptFinished)...) {
			if err != nil {
				return err
			}
			if j.Submitted == nil {
				continue
			}
			row := Job{j.Submitted, cmp.Or(j.Started, &traces.JobStarted{T: never}), cmp.Or(j.Finished, noJobEnd)}
			if err := add(&row); err != nil {
				return err
			}
		}
		return nil
	}
}

// noTasks are the kinds of events that rows of jobs and attempts do not need.
var noTasks = append(
	[]traces.Kind{traces.KindTaskScheduled, traces.KindTaskFinished, traces.KindDecision, traces.KindJobPredicted},
	spark...)

// spark are the kinds of events that have tables of their own.
var spark = []traces.Kind{
	traces.KindSparkApplication, traces.KindSparkQuery, traces.KindSparkStage, traces.KindSparkExecutor, traces.KindSparkTask,
}

var (
	noTaskEnd = &traces.TaskFinished{T: never, Winner: -1}
	noJobEnd  = &traces.JobFinished{T: never, Counters: traces.NoCounters}
	noStart   = &traces.AttemptStarted{T: never}
	noEnd     = &traces.AttemptFinished{T: never, Counters: traces.NoCounters}
)

type task struct {
	scheduled *traces.TaskScheduled
	finished  *traces.TaskFinished
}

var taskColumns = []table.Column[task]{
	table.Text("job", "id of the job", func(t *task) string { return string(t.scheduled.Task.Job) }),
	table.Text("kind", "map or reduce", func(t *task) string { return t.scheduled.Task.Kind.String() }),
	table.Whole("task", "index of the task within its kind", func(t *task) int32 { return t.scheduled.Task.Index }),
	table.Number("scheduled_ms", "time from which it waited for a container", func(t *task) float64 { return ms(t.scheduled.T) }),
	table.Number("finish_ms", "time of its end", func(t *task) float64 { return ms(t.finished.T) }),
	table.Text("outcome", "succeeded, failed, killed or unfinished", func(t *task) string { return t.finished.Outcome.String() }),
	table.Whole("winner", "number of the attempt that succeeded", func(t *task) int32 { return t.finished.Winner }),
	table.Text("split_hosts", "hosts of the map's split, with commas between", func(t *task) string {
		var hosts []string
		for _, h := range t.scheduled.SplitHosts {
			hosts = append(hosts, string(h))
		}
		return strings.Join(hosts, ",")
	}),
	table.Text("path", "file of the split", func(t *task) string { return t.scheduled.Path }),
	table.Whole("offset_bytes", "where in the file the split begins", func(t *task) int64 { return t.scheduled.OffsetBytes }),
	table.Whole("length_bytes", "length of the split", func(t *task) int64 { return t.scheduled.LengthBytes }),
}

func taskRows(e *format.Export) table.Rows[task] {
	return func(add func(*task) error) error {
		for j, err := range byjob.Jobs(e.Path, spark...) {
			if err != nil {
				return err
			}
			for _, t := range j.Tasks {
				if t.Scheduled == nil {
					continue
				}
				if err := add(&task{t.Scheduled, cmp.Or(t.Finished, noTaskEnd)}); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// Attempt is a row of the table of task attempts.
type Attempt struct {
	id       traces.Attempt
	node     traces.Node
	rack     string
	split    traces.Level
	started  *traces.AttemptStarted
	finished *traces.AttemptFinished
}

// AttemptColumns are the columns of the table of task attempts.
var AttemptColumns = []table.Column[Attempt]{
	table.Text("job", "id of the job", func(a *Attempt) string { return string(a.id.Job) }),
	table.Text("kind", "map or reduce", func(a *Attempt) string { return a.id.Kind.String() }),
	table.Whole("task", "index of the task within its kind", func(a *Attempt) int32 { return a.id.Index }),
	table.Whole("attempt", "number of the attempt of the task", func(a *Attempt) int32 { return a.id.Number }),
	table.Text("node", "name of the node", func(a *Attempt) string { return string(a.node) }),
	table.Text("rack", "rack of the node", func(a *Attempt) string { return a.rack }),
	table.Number("start_ms", "time at which its container was launched", func(a *Attempt) float64 { return ms(a.started.T) }),
	table.Number("finish_ms", "time of its end", func(a *Attempt) float64 { return ms(a.finished.T) }),
	table.Text("outcome", "succeeded, failed, killed or unfinished", func(a *Attempt) string { return a.finished.Outcome.String() }),
	table.Text("split_locality", "how near the node is to the split's hosts: node, rack, off or unknown",
		func(a *Attempt) string { return a.split.String() }),
	table.Text("replica_locality", "how near the node is to the block's replicas: cache, node, rack, off or unknown",
		func(a *Attempt) string { return a.started.ReplicaLocality.String() }),
	table.Flag("speculative", "whether it was started beside a slow attempt", func(a *Attempt) bool { return a.started.Speculative }),
	table.Number("map_done_ms", "time at which a map had processed its input", func(a *Attempt) float64 { return phase(a.finished.MapDone) }),
	table.Number("shuffle_done_ms", "time at which a reduce ended its shuffle",
		func(a *Attempt) float64 { return phase(a.finished.ShuffleDone) }),
	table.Number("sort_done_ms", "time at which a reduce ended its sort", func(a *Attempt) float64 { return phase(a.finished.SortDone) }),
	counter("hdfs_read_bytes", "bytes read from HDFS", func(c *traces.Counters) int64 { return c.HDFSReadBytes }),
	counter("hdfs_written_bytes", "bytes written to HDFS", func(c *traces.Counters) int64 { return c.HDFSWrittenBytes }),
	counter("file_read_bytes", "bytes read from the node's own disks", func(c *traces.Counters) int64 { return c.FileReadBytes }),
	counter("file_written_bytes", "bytes written to the node's own disks", func(c *traces.Counters) int64 { return c.FileWrittenBytes }),
	counter("shuffle_bytes", "bytes that a reduce fetched", func(c *traces.Counters) int64 { return c.ShuffleBytes }),
	counter("map_output_bytes", "bytes that a map put out", func(c *traces.Counters) int64 { return c.MapOutputBytes }),
	counter("input_records", "records read", func(c *traces.Counters) int64 { return c.InputRecords }),
	counter("output_records", "records put out", func(c *traces.Counters) int64 { return c.OutputRecords }),
	counter("spilled_records", "records spilled to disk", func(c *traces.Counters) int64 { return c.SpilledRecords }),
	counter("cpu_ms", "CPU time", func(c *traces.Counters) int64 { return c.CPUMs }),
	counter("gc_ms", "time of garbage collections", func(c *traces.Counters) int64 { return c.GCMs }),
	counter("physical_bytes", "memory in use", func(c *traces.Counters) int64 { return c.PhysicalBytes }),
	table.Text("error", "why it failed", func(a *Attempt) string { return a.finished.Error }),
}

// counter makes a column of one of Hadoop's counters of an attempt.
func counter(name, text string, of func(*traces.Counters) int64) table.Column[Attempt] {
	return table.Whole(name, text+", as Hadoop's counter says", func(a *Attempt) int64 { return of(&a.finished.Counters) })
}

// AttemptRows gives the rows of the table of attempts. racks has the racks of nodes
// for attempts that do not say theirs.
func AttemptRows(path string, racks map[traces.Node]string) table.Rows[Attempt] {
	return func(add func(*Attempt) error) error {
		var row Attempt
		for j, err := range byjob.Jobs(path, noTasks...) {
			if err != nil {
				return err
			}
			for _, t := range j.Tasks {
				for _, a := range t.Attempts {
					row = Attempt{id: a.ID, started: cmp.Or(a.Started, noStart), finished: cmp.Or(a.Finished, noEnd)}
					row.node, row.split = row.started.Node, row.started.SplitLocality
					if row.finished.Unlaunched {
						row.node, row.split = row.finished.Node, row.finished.SplitLocality
					}
					row.rack = cmp.Or(row.started.Rack, racks[row.node])
					if err := add(&row); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
}
