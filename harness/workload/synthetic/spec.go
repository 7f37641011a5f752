// Package synthetic is the program of made-up MapReduce tasks, and their input.
// Such a task reads, computes, holds memory, emits and writes as much as it is
// asked to, and its data means nothing.
//
// The program runs under Hadoop Streaming: a job's mapper is the command
// "./heddle task map", its reducer "./heddle task reduce". A file beside the
// program, the [Spec], says what each task of the job has to do. Data is laid
// out so that Hadoop's own counters show the bytes that were asked for.
//
// The package submits nothing, and does not know why a job is as it is.
package synthetic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// specFormat is the version of the Spec's JSON form.
const specFormat = 1

// Spec says what each task of one job has to do. A job without reduces has its
// maps write files.
type Spec struct {
	Format  int         `json:"format"` // version of the JSON form; Encode sets it
	Seed    uint64      `json:"seed"`   // of the made-up data
	Maps    MapTasks    `json:"maps"`
	Reduces ReduceTasks `json:"reduces,omitzero"`
}

// MapTasks says what a job's maps have to do. Each Column has one value for
// each map, by the map's index.
type MapTasks struct {
	Count int `json:"count"` // number of maps
	// ReadBytes is the length of a map's split. Its program gets whole lines,
	// so up to LineBytes less or more.
	ReadBytes Column `json:"readBytes,omitzero"`
	// EmitBytes is what a map gives to all reduces together, as Hadoop's
	// counters of materialized and of shuffled bytes have it. In a job without
	// reduces it is the length of the file that the map writes.
	EmitBytes   Column `json:"emitBytes,omitzero"`
	CPUMs       Column `json:"cpuMs,omitzero"`       // CPU time of the program, without the JVM that starts it
	SleepMs     Column `json:"sleepMs,omitzero"`     // time that the program sleeps, besides that in which it reads, computes and writes
	MemoryBytes Column `json:"memoryBytes,omitzero"` // memory that the program holds, besides its own few MiB
}

// ReduceTasks says what a job's reduces have to do. Each Column has one value
// for each reduce, by the reduce's index.
type ReduceTasks struct {
	Count int `json:"count"` // number of reduces
	// Shares says how the output of each map is divided among the reduces, in
	// proportion. Empty means evenly.
	Shares      Column `json:"shares,omitzero"`
	WriteBytes  Column `json:"writeBytes,omitzero"`  // length of the file that a reduce writes
	CPUMs       Column `json:"cpuMs,omitzero"`       // CPU time of the program, without the JVM that starts it
	MemoryBytes Column `json:"memoryBytes,omitzero"` // memory that the program holds, besides its own few MiB
}

// Limits of a Spec. They keep sums within 63 bits, and stop a damaged file from
// using up a node's memory.
const (
	maxTasks     = 100_000 // of each kind
	maxValue     = 1 << 45 // bytes, milliseconds or share of one task
	maxSleepMs   = 24 * 3600 * 1000
	maxSpecBytes = 16 << 20
)

// ReadSpec reads a Spec from its JSON form. It fails if the form is of another
// version, has unknown names, or asks for something impossible.
func ReadSpec(r io.Reader) (*Spec, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSpecBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read job spec: %w", err)
	}
	if len(text) > maxSpecBytes {
		return nil, fmt.Errorf("read job spec: it has more than %d bytes", maxSpecBytes)
	}
	var s Spec
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read job spec: %w", err)
	}
	if s.Format != specFormat {
		return nil, fmt.Errorf("read job spec: format %d, want %d: the heddle that wrote it and the one that runs tasks must be the same",
			s.Format, specFormat)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("read job spec: %w", err)
	}
	return &s, nil
}

// Encode returns the JSON form of a Spec. It fails if the Spec asks for
// something impossible.
func (s *Spec) Encode() ([]byte, error) {
	versioned := *s
	versioned.Format = specFormat
	err := versioned.check()
	var text []byte
	if err == nil {
		text, err = json.Marshal(&versioned)
	}
	if err == nil && len(text) > maxSpecBytes {
		err = fmt.Errorf("it has %d bytes, and may have %d", len(text), maxSpecBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("write job spec: %w", err)
	}
	return text, nil
}

func (s *Spec) check() error {
	m, r := &s.Maps, &s.Reduces
	if m.Count < 1 || m.Count > maxTasks {
		return fmt.Errorf("%d maps: want 1 to %d", m.Count, maxTasks)
	}
	if r.Count < 0 || r.Count > maxTasks {
		return fmt.Errorf("%d reduces: want 0 to %d", r.Count, maxTasks)
	}
	for _, c := range []struct {
		name   string
		column Column
		tasks  int
	}{
		{"maps.readBytes", m.ReadBytes, m.Count},
		{"maps.emitBytes", m.EmitBytes, m.Count},
		{"maps.cpuMs", m.CPUMs, m.Count},
		{"maps.sleepMs", m.SleepMs, m.Count},
		{"maps.memoryBytes", m.MemoryBytes, m.Count},
		{"reduces.shares", r.Shares, r.Count},
		{"reduces.writeBytes", r.WriteBytes, r.Count},
		{"reduces.cpuMs", r.CPUMs, r.Count},
		{"reduces.memoryBytes", r.MemoryBytes, r.Count},
	} {
		if err := c.column.check(c.tasks); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, run := range m.SleepMs {
		if run.Value > maxSleepMs {
			return fmt.Errorf("maps.sleepMs: a task has %d: want 0 to %d, which is a day", run.Value, maxSleepMs)
		}
	}
	if len(r.Shares) > 0 && r.Shares.sum(r.Count) == 0 {
		return errors.New("reduces.shares: all are 0; leave them out to divide evenly")
	}
	return nil
}

// ShuffleBytes returns the bytes that each reduce gets from all maps, as
// Hadoop's counter REDUCE_SHUFFLE_BYTES has them. This is what was asked, but
// for the floors: a map gives a reduce 6 bytes or at least 22, and a reduce that
// has to write gets at least one record.
func (s *Spec) ShuffleBytes() []int64 {
	d, sums := s.division(), make([]int64, s.Reduces.Count)
	for r := range sums {
		sums[r] = s.shuffled(d, r)
	}
	return sums
}

func (s *Spec) shuffled(d division, r int) (sum int64) {
	for _, run := range s.Maps.EmitBytes.runs(s.Maps.Count) {
		sum += int64(run.Tasks) * segmentBytes(d.part(run.Value, r))
	}
	if s.lacksRecord(d, r) {
		sum += int64(leastRecordBytes)
	}
	return sum
}

// lacksRecord reports whether the first map has to give a record to reduce r,
// whatever was asked of it. Hadoop Streaming drops what a reduce puts out that
// gets no record. So a reduce that has to write gets one.
func (s *Spec) lacksRecord(d division, r int) bool {
	if s.Reduces.WriteBytes.at(r) < leastLineBytes {
		return false
	}
	for _, run := range s.Maps.EmitBytes.runs(s.Maps.Count) {
		if segmentBytes(d.part(run.Value, r)) > segmentEnd {
			return false
		}
	}
	return true
}

// Totals are sums over all tasks of a job, as Hadoop will count them.
type Totals struct {
	ShuffleBytes int64 // bytes that all reduces get
	OutputBytes  int64 // bytes that the job writes
	CPUMs        int64 // CPU time of all programs, in milliseconds
}

// Totals returns what all tasks do together, floors included.
func (s *Spec) Totals() Totals {
	m, r := &s.Maps, &s.Reduces
	t := Totals{CPUMs: m.CPUMs.sum(m.Count) + r.CPUMs.sum(r.Count)}
	written := r.WriteBytes.runs(r.Count)
	if r.Count == 0 {
		written = m.EmitBytes.runs(m.Count)
	}
	for _, run := range written {
		t.OutputBytes += int64(run.Tasks) * FileBytes(run.Value)
	}
	for _, bytes := range s.ShuffleBytes() {
		t.ShuffleBytes += bytes
	}
	return t
}

// division says how a map's output is divided among the reduces. It has the sum
// of the shares of those before each reduce, and at its end that of all.
type division []int64

func (s *Spec) division() division {
	shares := s.Reduces.Shares
	if len(shares) == 0 {
		shares = Same(1)
	}
	d := division{0}
	for _, run := range shares.runs(s.Reduces.Count) {
		for range run.Tasks {
			d = append(d, d[len(d)-1]+run.Value)
		}
	}
	return d
}

// part returns the bytes for reduce r of a map that gives so many bytes to all.
// The parts sum up to these bytes.
func (d division) part(bytes int64, r int) int64 {
	upTo := func(share int64) int64 {
		high, low := bits.Mul64(uint64(bytes), uint64(share))
		q, _ := bits.Div64(high, low, uint64(d[len(d)-1]))
		return int64(q)
	}
	return upTo(d[r+1]) - upTo(d[r])
}

// Column has one value for each task, in order. Equal values that follow each
// other are one Run. An empty Column has 0 for each task. In JSON it is one
// number if all tasks are alike, else a list of numbers and of pairs [tasks,
// value].
type Column []Run

// Run is a number of tasks in a row that have the same value.
type Run struct {
	Tasks int // 0 means all tasks; the Column then has no other Run
	Value int64
}

// Same returns a Column in which all tasks have one value.
func Same(value int64) Column { return Column{{Value: value}} }

// Each returns a Column of the given values.
func Each(values []int64) Column {
	var c Column
	for _, v := range values {
		if last := len(c) - 1; last >= 0 && c[last].Value == v {
			c[last].Tasks++
		} else {
			c = append(c, Run{1, v})
		}
	}
	return c
}

// runs returns the Column's runs for so many tasks, none of them with 0 tasks.
func (c Column) runs(tasks int) []Run {
	switch {
	case len(c) == 0:
		return []Run{{tasks, 0}}
	case c[0].Tasks == 0:
		return []Run{{tasks, c[0].Value}}
	}
	return c
}

// at returns the value of the task with index i.
func (c Column) at(i int) int64 {
	for _, r := range c {
		if i < r.Tasks || r.Tasks == 0 {
			return r.Value
		}
		i -= r.Tasks
	}
	return 0
}

// sum returns the sum of the values of the first tasks.
func (c Column) sum(tasks int) int64 {
	var sum int64
	for _, r := range c.runs(tasks) {
		n := min(tasks, r.Tasks)
		sum += int64(n) * r.Value
		tasks -= n
	}
	return sum
}

func (c Column) check(tasks int) error {
	sum := 0
	for _, r := range c.runs(tasks) {
		if r.Value < 0 || r.Value > maxValue {
			return fmt.Errorf("a task has %d: want 0 to %d", r.Value, int64(maxValue))
		}
		if r.Tasks < 0 || r.Tasks > tasks || r.Tasks == 0 && tasks > 0 {
			return fmt.Errorf("a value stands for %d of %d tasks", r.Tasks, tasks)
		}
		sum += r.Tasks
	}
	if sum != tasks {
		return fmt.Errorf("it has values for %d tasks, and there are %d", sum, tasks)
	}
	return nil
}

// MarshalJSONTo writes the Column in its short form.
func (c Column) MarshalJSONTo(out *jsontext.Encoder) error {
	if len(c) == 1 && c[0].Tasks == 0 {
		return out.WriteToken(jsontext.Int(c[0].Value))
	}
	tokens := []jsontext.Token{jsontext.BeginArray}
	for _, r := range c {
		if r.Tasks == 1 {
			tokens = append(tokens, jsontext.Int(r.Value))
		} else {
			tokens = append(tokens, jsontext.BeginArray, jsontext.Int(int64(r.Tasks)), jsontext.Int(r.Value), jsontext.EndArray)
		}
	}
	for _, t := range append(tokens, jsontext.EndArray) {
		if err := out.WriteToken(t); err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalJSONFrom reads a Column from its short form.
func (c *Column) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	value, err := in.ReadValue()
	if err != nil {
		return err
	}
	var one int64
	if json.Unmarshal(value, &one) == nil && value.Kind() == '0' {
		*c = Same(one)
		return nil
	}
	var list []jsontext.Value
	if err := json.Unmarshal(value, &list); err != nil {
		return fmt.Errorf("want a whole number or a list: %w", err)
	}
	*c = nil
	for _, v := range list {
		run := Run{Tasks: 1}
		if bytes.HasPrefix(v, []byte("[")) {
			var pair [2]int64
			if err := json.Unmarshal(v, &pair); err != nil {
				return fmt.Errorf("want a pair of tasks and value: %w", err)
			}
			if pair[0] < 1 || pair[0] > maxTasks {
				return fmt.Errorf("a value stands for %d tasks: want 1 to %d", pair[0], maxTasks)
			}
			run = Run{int(pair[0]), pair[1]}
		} else if err := json.Unmarshal(v, &run.Value); err != nil {
			return fmt.Errorf("want a whole number: %w", err)
		}
		*c = append(*c, run)
	}
	return nil
}
