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
	Submitted *traces.JobSubmitted
	Started   *traces.JobStarted
	Finished  *traces.JobFinished
}

// JobColumns are the columns of the table of jobs.
var JobColumns = columns(`
job Submitted.Job id of the job
name Submitted.Name name of the job
user Submitted.User who submitted it
queue Submitted.Queue queue that it was submitted to
workload Submitted.Workload workload that it is part of; empty for a job of others
submit_ms Submitted.T time of its submission
start_ms Started.T time at which its ApplicationMaster was up
finish_ms Finished.T time of its end
completion_ms
deadline_ms Submitted.DeadlineMs? time from its submission until which it should have ended; null if it has no deadline
outcome Finished.Outcome succeeded, failed, killed or unfinished
maps Submitted.Maps number of its maps
reduces Submitted.Reduces number of its reduces
hdfs_read_bytes Finished.Counters.HDFSReadBytes bytes read from HDFS, as the job's counters say
shuffle_bytes Finished.Counters.ShuffleBytes bytes shuffled
hdfs_written_bytes Finished.Counters.HDFSWrittenBytes bytes written to HDFS
`,
	table.Number("completion_ms", "time from its submission to its end", func(j *Job) float64 { return ms(j.Finished.T) - ms(j.Submitted.T) }))

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
	*traces.TaskScheduled
	End *traces.TaskFinished
}

var taskColumns = columns(`
job Task.Job id of the job
kind Task.Kind map or reduce
task Task.Index index of the task within its kind
scheduled_ms T time from which it waited for a container
finish_ms End.T time of its end
outcome End.Outcome succeeded, failed, killed or unfinished
winner End.Winner number of the attempt that succeeded
split_hosts
path Path file of the split
offset_bytes OffsetBytes where in the file the split begins
length_bytes LengthBytes length of the split
`,
	table.Text("split_hosts", "hosts of the map's split, with commas between", func(t *task) string {
		var hosts []string
		for _, h := range t.SplitHosts {
			hosts = append(hosts, string(h))
		}
		return strings.Join(hosts, ",")
	}))

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
	traces.Attempt
	Node     traces.Node
	Rack     string
	Split    traces.Level
	Started  *traces.AttemptStarted
	Finished *traces.AttemptFinished
}

// AttemptColumns are the columns of the table of task attempts.
var AttemptColumns = columns[Attempt](`
job Job id of the job
kind Kind map or reduce
task Index index of the task within its kind
attempt Number number of the attempt of the task
node Node name of the node
rack Rack rack of the node
start_ms Started.T time at which its container was launched
finish_ms Finished.T time of its end
outcome Finished.Outcome succeeded, failed, killed or unfinished
split_locality Split how near the node is to the split's hosts: node, rack, off or unknown
replica_locality Started.ReplicaLocality how near the node is to the block's replicas: cache, node, rack, off or unknown
speculative Started.Speculative whether it was started beside a slow attempt
map_done_ms Finished.MapDone? time at which a map had processed its input
shuffle_done_ms Finished.ShuffleDone? time at which a reduce ended its shuffle
sort_done_ms Finished.SortDone? time at which a reduce ended its sort
hdfs_read_bytes Finished.Counters.HDFSReadBytes bytes read from HDFS, as Hadoop's counter says
hdfs_written_bytes Finished.Counters.HDFSWrittenBytes bytes written to HDFS, as Hadoop's counter says
file_read_bytes Finished.Counters.FileReadBytes bytes read from the node's own disks, as Hadoop's counter says
file_written_bytes Finished.Counters.FileWrittenBytes bytes written to the node's own disks, as Hadoop's counter says
shuffle_bytes Finished.Counters.ShuffleBytes bytes that a reduce fetched, as Hadoop's counter says
map_output_bytes Finished.Counters.MapOutputBytes bytes that a map put out, as Hadoop's counter says
input_records Finished.Counters.InputRecords records read, as Hadoop's counter says
output_records Finished.Counters.OutputRecords records put out, as Hadoop's counter says
spilled_records Finished.Counters.SpilledRecords records spilled to disk, as Hadoop's counter says
cpu_ms Finished.Counters.CPUMs CPU time, as Hadoop's counter says
gc_ms Finished.Counters.GCMs time of garbage collections, as Hadoop's counter says
physical_bytes Finished.Counters.PhysicalBytes memory in use, as Hadoop's counter says
error Finished.Error why it failed
`)

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
					row = Attempt{Attempt: a.ID, Started: cmp.Or(a.Started, noStart), Finished: cmp.Or(a.Finished, noEnd)}
					row.Node, row.Split = row.Started.Node, row.Started.SplitLocality
					if row.Finished.Unlaunched {
						row.Node, row.Split = row.Finished.Node, row.Finished.SplitLocality
					}
					row.Rack = cmp.Or(row.Started.Rack, racks[row.Node])
					if err := add(&row); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
}
