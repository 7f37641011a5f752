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

var sampleColumns = []table.Column[traces.NodeSample]{
	table.Number("at_ms", "time of the sample", func(s *traces.NodeSample) float64 { return ms(s.T) }),
	table.Text("node", "name of the node", func(s *traces.NodeSample) string { return string(s.Node) }),
	table.Number("cpu_user_cores", "cores busy with programs", func(s *traces.NodeSample) float64 { return known(s.CPUUser) }),
	table.Number("cpu_system_cores", "cores busy with the kernel", func(s *traces.NodeSample) float64 { return known(s.CPUSystem) }),
	table.Number("cpu_iowait_cores", "idle cores while a disk was waited for",
		func(s *traces.NodeSample) float64 { return known(s.CPUIOWait) }),
	table.Whole("memory_used_bytes", "memory in use", func(s *traces.NodeSample) int64 { return s.MemoryUsedBytes }),
	table.Number("disk_read_bytes_per_sec", "rate of reads of all disks",
		func(s *traces.NodeSample) float64 { return known(s.DiskReadBytesPerSec) }),
	table.Number("disk_write_bytes_per_sec", "rate of writes of all disks",
		func(s *traces.NodeSample) float64 { return known(s.DiskWriteBytesPerSec) }),
	table.Number("net_received_bytes_per_sec", "rate received by all interfaces",
		func(s *traces.NodeSample) float64 { return known(s.NetRecvBytesPerSec) }),
	table.Number("net_sent_bytes_per_sec", "rate sent by all interfaces",
		func(s *traces.NodeSample) float64 { return known(s.NetSentBytesPerSec) }),
	table.Whole("containers", "containers that ran", func(s *traces.NodeSample) int32 { return s.ContainersRunning }),
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
	var columns []table.Column[R]
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text := "the key " + name + " of the events"
		of := func(r *R) reflect.Value { return reflect.ValueOf(r).Elem().FieldByIndex(f.Index) }
		switch {
		case f.Anonymous:
		case f.Type == reflect.TypeFor[traces.Time]():
			columns = append(columns, table.Number(name+"_ms", text+", from the run's start; null if it is not known", func(r *R) float64 {
				if t := traces.Time(of(r).Int()); t != 0 || name == "t" {
					return ms(t)
				}
				return math.NaN()
			}))
		case f.Type.Kind() == reflect.Int32 || f.Type.Kind() == reflect.Int64:
			columns = append(columns, table.Whole(name, text, func(r *R) int64 { return of(r).Int() }))
		case f.Type.Kind() == reflect.Bool:
			columns = append(columns, table.Flag(name, text, func(r *R) bool { return of(r).Bool() }))
		default:
			columns = append(columns, table.Text(name, text, func(r *R) string { return strings.Trim(fmt.Sprint(of(r)), "[]") }))
		}
	}
	return table.WriteParquet(e.Out, columns, counted(eventRows[R](e), n))
}

// decision is a scheduler model's decision, with what became of it.
type decision struct {
	traces.Decision
	end traces.Actuation
}

var decisionColumns = []table.Column[decision]{
	table.Whole("decision", "number of the decision", func(d *decision) int64 { return d.ID }),
	table.Number("at_ms", "time at which the model decided", func(d *decision) float64 { return ms(d.T) }),
	table.Text("job", "id of the job", func(d *decision) string { return string(d.Job) }),
	table.Text("kind", "kind of the task: map or reduce", func(d *decision) string { return d.What.String() }),
	table.Text("node", "name of the node", func(d *decision) string { return string(d.Node) }),
	table.Whole("task", "index of the task that the model chose; null for any", func(d *decision) int32 { return d.TaskIndex }),
	table.Whole("predicted_task", "index of the map that was expected to start", func(d *decision) int32 { return d.BindIndex }),
	table.Text("reason", "the model's reason", func(d *decision) string { return d.Reason }),
	table.Text("values", "names and numbers that the model says of it", func(d *decision) string { return d.Values }),
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
	table.Text("outcome", "what became of it: honoured, surplus, unused, none or cancelled",
		func(d *decision) string { return d.end.Outcome }),
	table.Number("asked_ms", "time at which the cluster was asked", func(d *decision) float64 { return ms(d.end.AskedAt) }),
	table.Number("granted_ms", "time at which the container was seen", func(d *decision) float64 { return phase(d.end.GrantedAt) }),
	table.Whole("bound_task", "index of the task that ran", func(d *decision) int32 {
		if d.end.Bound.Job == "" {
			return -1
		}
		return d.end.Bound.Index
	}),
}

// decisionOf copies a decision of which the outcome is not known.
func decisionOf(e *traces.Decision) *decision {
	d := &decision{Decision: *e, end: traces.Actuation{AskedAt: never}}
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
				d.end = *event
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

// phase returns the time of the end of a phase of an attempt (map, shuffle, sort),
// or NaN for the time 0, which means "not reported".
func phase(t traces.Time) float64 {
	if t == 0 {
		return math.NaN()
	}
	return ms(t)
}

// known returns x, or NaN for a negative x, which means "not known".
func known(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return x
}
