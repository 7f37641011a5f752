// Package parquet makes tables of a trace, for DuckDB, pandas or Spark: of jobs,
// tasks, attempts, node samples or decisions. A Parquet file has one of them: a
// tool that is given a folder of several would read them as one table. Times are
// in milliseconds from the run's start. heddle does not read these files.
package parquet

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/table"
)

// Format describes the Parquet files to package exchange.
var Format = format.Format{
	Name:   "parquet",
	About:  "a table for pandas, DuckDB or Spark: of the rows that --table names",
	Tables: []string{"jobs", "tasks", "attempts", "samples", "decisions", "applications", "queries", "stages", "executors", "sparkTasks"},
	Write:  write,
}

func write(e *format.Export) (notes []string, err error) {
	rows, err := writeTable(e)
	if rows == 0 && err == nil {
		notes = []string{"the trace has no rows for table " + e.Table}
	}
	return notes, err
}

// counted counts rows.
func counted[R any](rows table.Rows[R], n *int) table.Rows[R] {
	return func(add func(*R) error) error {
		return rows(func(r *R) error {
			*n++
			return add(r)
		})
	}
}

func writeTable(e *format.Export) (n int, err error) {
	switch e.Table {
	case "jobs":
		err = table.WriteParquet(e.Out, JobColumns, counted(JobRows(e.Path), &n))
	case "tasks":
		err = table.WriteParquet(e.Out, taskColumns, counted(taskRows(e), &n))
	case "attempts":
		err = table.WriteParquet(e.Out, AttemptColumns, counted(AttemptRows(e.Path, e.Header.Cluster.Racks()), &n))
	case "samples":
		err = table.WriteParquet(e.Out, sampleColumns, counted(eventRows[traces.NodeSample](e), &n))
	case "decisions":
		err = table.WriteParquet(e.Out, decisionColumns, counted(decisionRows(e), &n))
	case "applications":
		err = writeEvents[traces.SparkApplication](e, &n)
	case "queries":
		err = writeEvents[traces.SparkQuery](e, &n)
	case "stages":
		err = writeEvents[traces.SparkStage](e, &n)
	case "executors":
		err = writeEvents[traces.SparkExecutor](e, &n)
	case "sparkTasks":
		err = writeEvents[traces.SparkTask](e, &n)
	default:
		err = fmt.Errorf("unknown table %q", e.Table)
	}
	return n, err
}

var sampleColumns = columns[traces.NodeSample](`
at_ms T time of the sample
node Node name of the node
cpu_user_cores CPUUser cores busy with programs
cpu_system_cores CPUSystem cores busy with the kernel
cpu_iowait_cores CPUIOWait idle cores while a disk was waited for
memory_used_bytes MemoryUsedBytes memory in use
disk_read_bytes_per_sec DiskReadBytesPerSec rate of reads of all disks
disk_write_bytes_per_sec DiskWriteBytesPerSec rate of writes of all disks
net_received_bytes_per_sec NetRecvBytesPerSec rate received by all interfaces
net_sent_bytes_per_sec NetSentBytesPerSec rate sent by all interfaces
containers ContainersRunning containers that ran
`)

// columns makes columns of lines "NAME FIELD what it is". The type of the field of the row, which
// may be one of a field, says what the column holds; a question mark behind it means that 0 is not
// known. A line of a name alone is the column of this name among own.
func columns[R any](lines string, own ...table.Column[R]) (list []table.Column[R]) {
	for line := range strings.SplitSeq(strings.Trim(lines, "\n"), "\n") {
		name, line, _ := strings.Cut(line, " ")
		path, text, ok := strings.Cut(line, " ")
		if !ok {
			list = append(list, own[slices.IndexFunc(own, func(c table.Column[R]) bool { return c.Name == name })])
			continue
		}
		path, maybe := strings.CutSuffix(path, "?")
		t, steps := reflect.TypeFor[R](), [][]int(nil)
		for field := range strings.SplitSeq(path, ".") {
			if t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			f, known := t.FieldByName(field)
			if !known {
				panic("parquet: no field " + path)
			}
			t, steps = f.Type, append(steps, f.Index)
		}
		list = append(list, column(name, text, t, maybe, func(r *R) reflect.Value {
			v := reflect.ValueOf(r)
			for _, index := range steps {
				v = reflect.Indirect(v).FieldByIndex(index)
			}
			return v
		}))
	}
	return list
}

// column makes a column of a field of type t, in ms of a time. maybe says that 0 is not known.
func column[R any](name, text string, t reflect.Type, maybe bool, of func(*R) reflect.Value) table.Column[R] {
	switch {
	case t == reflect.TypeFor[traces.Time]():
		return table.Number(name, text, func(r *R) float64 {
			if t := traces.Time(of(r).Int()); t != never && (t != 0 || !maybe) {
				return ms(t)
			}
			return math.NaN()
		})
	case t.Implements(reflect.TypeFor[fmt.Stringer]()):
		return table.Text(name, text, func(r *R) string { return of(r).Interface().(fmt.Stringer).String() })
	case t.Kind() == reflect.Bool:
		return table.Flag(name, text, func(r *R) bool { return of(r).Bool() })
	case t.Kind() == reflect.Float64: // below 0 it is not known
		return table.Number(name, text, func(r *R) float64 {
			if x := of(r).Float(); x >= 0 {
				return x
			}
			return math.NaN()
		})
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return table.Whole(name, text, func(r *R) int64 {
			if n := of(r).Int(); n != 0 || !maybe {
				return n
			}
			return -1
		})
	}
	return table.Text(name, text, func(r *R) string { return of(r).String() })
}

// eventRows gives the events of one kind.
func eventRows[R any](e *format.Export) table.Rows[R] {
	return func(add func(*R) error) error {
		for event := range e.Events {
			if r, ok := any(event).(*R); ok {
				if err := add(r); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// writeEvents writes a table whose columns are the fields of a kind of event, with times in ms.
func writeEvents[R any](e *format.Export, n *int) error {
	var list []table.Column[R]
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text := "the key " + name + " of the events"
		of := func(r *R) reflect.Value { return reflect.ValueOf(r).Elem().FieldByIndex(f.Index) }
		switch kind := f.Type.Kind(); {
		case f.Anonymous:
		case f.Type == reflect.TypeFor[traces.Time]():
			list = append(list, column(name+"_ms", text+", from the run's start; null if it is not known", f.Type, name != "t", of))
		case kind == reflect.Int32, kind == reflect.Int64, kind == reflect.Bool:
			list = append(list, column(name, text, f.Type, false, of))
		default:
			list = append(list, table.Text(name, text, func(r *R) string { return strings.Trim(fmt.Sprint(of(r)), "[]") }))
		}
	}
	return table.WriteParquet(e.Out, list, counted(eventRows[R](e), n))
}

// decision is a scheduler model's decision, with what became of it.
type decision struct {
	traces.Decision
	End traces.Actuation
}

var decisionColumns = columns(`
decision ID number of the decision
at_ms T time at which the model decided
job Job id of the job
kind What kind of the task: map or reduce
node Node name of the node
task TaskIndex index of the task that the model chose; null for any
predicted_task BindIndex index of the map that was expected to start
reason Reason the model's reason
values Values names and numbers that the model says of it
candidates
passed_jobs
waited
wait_limit
wait_unit
outcome End.Outcome what became of it: honoured, surplus, unused, none or cancelled
asked_ms End.AskedAt time at which the cluster was asked
granted_ms End.GrantedAt? time at which the container was seen
bound_task
`,
	table.Text("candidates", "nodes nearer to the map's input, each with free, full or down, and for how many ms", func(d *decision) string {
		var nodes []string
		for _, c := range d.saw().Candidates {
			nodes = append(nodes, fmt.Sprintf("%s %v %d", c.Node, c.Room, c.ForMs))
		}
		return strings.Join(nodes, ",")
	}),
	table.Whole("passed_jobs", "number of jobs before this one in which the model started nothing",
		func(d *decision) int32 { return int32(len(d.saw().Passed)) + d.saw().MorePassed }),
	table.Whole("waited", "how long the job had waited for a nearer node, in wait_unit; null if the model counts nothing",
		func(d *decision) int64 { return d.counted(d.saw().Waited) }),
	table.Whole("wait_limit", "how long it had to wait to start a map so far from its input, "+
		"or one farther away if it is there; null if the model counts nothing",
		func(d *decision) int64 { return d.counted(d.saw().Limit) }),
	table.Text("wait_unit", "unit of waited and wait_limit", func(d *decision) string {
		if d.saw().WaitUnit == traces.WaitNone {
			return ""
		}
		return d.saw().WaitUnit.String()
	}),
	table.Whole("bound_task", "index of the task that ran", func(d *decision) int32 {
		if d.End.Bound.Job == "" {
			return -1
		}
		return d.End.Bound.Index
	}))

// decisionOf copies a decision of which the outcome is not known.
func decisionOf(e *traces.Decision) *decision {
	d := &decision{Decision: *e, End: traces.Actuation{AskedAt: never}}
	if e.Seen != nil {
		seen := *e.Seen
		seen.Candidates, seen.Passed = slices.Clone(seen.Candidates), slices.Clone(seen.Passed)
		d.Seen = &seen
	}
	return d
}

// decisionRows gives a decision when its outcome is known, and at the end those
// without one.
func decisionRows(e *format.Export) table.Rows[decision] {
	return func(add func(*decision) error) error {
		pending := map[int64]*decision{}
		for event := range e.Events {
			switch event := event.(type) {
			case *traces.Decision:
				pending[event.ID] = decisionOf(event)
			case *traces.Actuation:
				d := pending[event.Decision]
				if d == nil {
					continue
				}
				d.End = *event
				delete(pending, event.Decision)
				if err := add(d); err != nil {
					return err
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(pending)) {
			if err := add(pending[id]); err != nil {
				return err
			}
		}
		return nil
	}
}

// saw returns what the model saw, of which all is zero if the trace does not say.
func (d *decision) saw() *traces.Seen {
	if d.Seen == nil {
		return &traces.Seen{}
	}
	return d.Seen
}

// counted returns the number n of a model that counts how long jobs wait, or -1 if it is
// not known.
func (d *decision) counted(n int64) int64 {
	if d.saw().WaitUnit == traces.WaitNone {
		return -1
	}
	return n
}

// never is the time of what the trace does not have.
const never = traces.Time(math.MinInt64)

func ms(t traces.Time) float64 {
	if t == never {
		return math.NaN()
	}
	return float64(t) / 1e6
}
