// Package parquet writes a trace as tables for DuckDB, pandas or Spark. It
// writes a folder with one Parquet file each for jobs, tasks, attempts, node
// samples and decisions. Times are in milliseconds from the run's start. Unknown
// values are null. heddle does not read these files.
package parquet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"

	"heddle/traces"
	"heddle/traces/format"
)

// Format describes the folder of Parquet tables to package exchange.
var Format = format.Format{
	Name:   "parquet",
	About:  "a folder of tables",
	Folder: true,
	Write:  func(e *format.Export) ([]string, error) { return nil, write(e) },
}

type jobRow struct {
	Job        string   `parquet:"job"`
	Name       string   `parquet:"name"`
	User       string   `parquet:"user,dict"`
	Queue      string   `parquet:"queue,dict"`
	Workload   string   `parquet:"workload,dict"`
	SubmitMs   float64  `parquet:"submit_ms"`
	StartMs    *float64 `parquet:"start_ms,optional"`
	FinishMs   *float64 `parquet:"finish_ms,optional"`
	Outcome    string   `parquet:"outcome,dict"`
	Maps       int32    `parquet:"maps"`
	Reduces    int32    `parquet:"reduces"`
	InputBytes *int64   `parquet:"hdfs_read_bytes,optional"`
	Shuffle    *int64   `parquet:"shuffle_bytes,optional"`
	Output     *int64   `parquet:"hdfs_written_bytes,optional"`
}

type taskRow struct {
	Job         string   `parquet:"job,dict"`
	Kind        string   `parquet:"kind,dict"`
	Index       int32    `parquet:"task"`
	ScheduledMs float64  `parquet:"scheduled_ms"`
	FinishMs    *float64 `parquet:"finish_ms,optional"`
	Outcome     string   `parquet:"outcome,dict"`
	Winner      *int32   `parquet:"winner,optional"`
	SplitHosts  []string `parquet:"split_hosts,list"`
	Path        string   `parquet:"path,dict"`
	OffsetBytes int64    `parquet:"offset_bytes"`
	LengthBytes int64    `parquet:"length_bytes"`
}

type attemptRow struct {
	Job             string   `parquet:"job,dict"`
	Kind            string   `parquet:"kind,dict"`
	Index           int32    `parquet:"task"`
	Number          int32    `parquet:"attempt"`
	Node            string   `parquet:"node,dict"`
	Rack            string   `parquet:"rack,dict"`
	StartMs         *float64 `parquet:"start_ms,optional"`
	FinishMs        *float64 `parquet:"finish_ms,optional"`
	Outcome         string   `parquet:"outcome,dict"`
	SplitLocality   string   `parquet:"split_locality,dict"`
	ReplicaLocality string   `parquet:"replica_locality,dict"`
	Speculative     bool     `parquet:"speculative"`
	MapDoneMs       *float64 `parquet:"map_done_ms,optional"`
	ShuffleDoneMs   *float64 `parquet:"shuffle_done_ms,optional"`
	SortDoneMs      *float64 `parquet:"sort_done_ms,optional"`
	HDFSRead        *int64   `parquet:"hdfs_read_bytes,optional"`
	HDFSWritten     *int64   `parquet:"hdfs_written_bytes,optional"`
	FileRead        *int64   `parquet:"file_read_bytes,optional"`
	FileWritten     *int64   `parquet:"file_written_bytes,optional"`
	Shuffle         *int64   `parquet:"shuffle_bytes,optional"`
	MapOutput       *int64   `parquet:"map_output_bytes,optional"`
	InputRecords    *int64   `parquet:"input_records,optional"`
	OutputRecords   *int64   `parquet:"output_records,optional"`
	SpilledRecords  *int64   `parquet:"spilled_records,optional"`
	CPUMs           *int64   `parquet:"cpu_ms,optional"`
	GCMs            *int64   `parquet:"gc_ms,optional"`
	PhysicalBytes   *int64   `parquet:"physical_bytes,optional"`
	Error           string   `parquet:"error"`
}

type sampleRow struct {
	AtMs        float64  `parquet:"at_ms"`
	Node        string   `parquet:"node,dict"`
	CPUUser     *float64 `parquet:"cpu_user_cores,optional"`
	CPUSystem   *float64 `parquet:"cpu_system_cores,optional"`
	CPUIOWait   *float64 `parquet:"cpu_iowait_cores,optional"`
	MemoryUsed  *int64   `parquet:"memory_used_bytes,optional"`
	DiskRead    *float64 `parquet:"disk_read_bytes_per_sec,optional"`
	DiskWrite   *float64 `parquet:"disk_write_bytes_per_sec,optional"`
	NetReceived *float64 `parquet:"net_received_bytes_per_sec,optional"`
	NetSent     *float64 `parquet:"net_sent_bytes_per_sec,optional"`
	Containers  int32    `parquet:"containers"`
}

type decisionRow struct {
	ID        int64    `parquet:"decision"`
	AtMs      float64  `parquet:"at_ms"`
	Job       string   `parquet:"job,dict"`
	Kind      string   `parquet:"kind,dict"`
	Node      string   `parquet:"node,dict"`
	Task      *int32   `parquet:"task,optional"`
	Predicted *int32   `parquet:"predicted_task,optional"`
	Reason    string   `parquet:"reason,dict"`
	Outcome   string   `parquet:"outcome,dict"`
	AskedMs   *float64 `parquet:"asked_ms,optional"`
	GrantedMs *float64 `parquet:"granted_ms,optional"`
	BoundTask *int32   `parquet:"bound_task,optional"`
}

// writer writes the tables of a trace. pending has the scheduler model's
// decisions whose outcome is not known yet.
type writer struct {
	jobs      table[jobRow]
	tasks     table[taskRow]
	attempts  table[attemptRow]
	samples   table[sampleRow]
	decisions table[decisionRow]
	pending   map[int64]*decisionRow
	racks     map[traces.Node]string
}

// write writes the tables of a trace into an existing folder.
func write(e *format.Export) error {
	w := writer{pending: map[int64]*decisionRow{}, racks: e.Racks()}
	err := errors.Join(
		w.jobs.open(e.Folder, "jobs"), w.tasks.open(e.Folder, "tasks"), w.attempts.open(e.Folder, "attempts"),
		w.samples.open(e.Folder, "samples"), w.decisions.open(e.Folder, "decisions"),
	)
	if err != nil {
		return err
	}
	for event := range e.Events {
		w.event(event)
	}
	for _, id := range slices.Sorted(maps.Keys(w.pending)) {
		w.decisions.add(*w.pending[id])
	}
	for j, err := range e.Jobs {
		if err != nil {
			return err
		}
		w.job(j)
	}
	return errors.Join(w.jobs.close(), w.tasks.close(), w.attempts.close(), w.samples.close(), w.decisions.close())
}

// table is a Parquet file with one table of the trace, such as the table of
// jobs. After an error it ignores all further rows.
type table[T any] struct {
	file *os.File
	rows *parquet.GenericWriter[T]
	err  error
}

// groupRows is the greatest number of a table's rows that are kept in memory
// before they are written.
const groupRows = 1 << 17

func (t *table[T]) open(folder, name string) (err error) {
	if t.file, err = os.Create(filepath.Join(folder, name+".parquet")); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	t.rows = parquet.NewGenericWriter[T](t.file, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(groupRows))
	return nil
}

func (t *table[T]) add(row T) {
	if t.err == nil {
		_, t.err = t.rows.Write([]T{row})
	}
}

func (t *table[T]) close() error {
	err := t.err
	if err == nil {
		err = t.rows.Close()
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return fmt.Errorf("write tables: %s: %w", t.file.Name(), err)
	}
	return nil
}
