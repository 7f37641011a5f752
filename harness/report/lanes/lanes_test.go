package lanes

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

const second = traces.Time(1e9)

// trace is a random trace: attempts on nodes, some of which do not end.
func trace(seed uint64, nodes, attempts int) (traces.Header, []traces.Event, int64) {
	r := rand.New(rand.NewPCG(seed, 1))
	h := traces.Header{Format: traces.FormatVersion, Origin: traces.Simulated}
	for i := range nodes {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{
			Node: name("n", i), Rack: string(name("/r", i%3)),
			MemoryBytes: 4 << 30, Worker: true,
		})
	}
	events := []traces.Event{&traces.JobSubmitted{
		Job: "job_1_0001", Name: "one", Maps: int32(attempts), MapMemoryBytes: 1 << 30,
		ReduceMemoryBytes: 1 << 30,
	}}
	last := traces.Time(0)
	type span struct{ from, to traces.Time }
	var spans []span
	for i := range attempts {
		task := traces.Task{Job: "job_1_0001", Kind: traces.TaskKind(i % 2), Index: int32(i)}
		a := traces.Attempt{Task: task}
		ready := traces.Time(r.Int64N(int64(100 * second)))
		from := ready + traces.Time(r.Int64N(int64(10*second)))
		to := from + traces.Time(r.Int64N(int64(30*second)))
		events = append(
			events, &traces.TaskScheduled{T: ready, Task: task},
			&traces.AttemptStarted{T: from, Attempt: a, Node: name("n", r.IntN(nodes)), ReplicaLocality: traces.Level(r.IntN(5)), SampleAgeNs: -1},
		)
		last = max(last, from)
		if i%17 == 3 {
			spans = append(spans, span{from, -1})
			continue
		}
		spans = append(spans, span{from, to})
		last = max(last, to)
		events = append(events, &traces.AttemptFinished{T: to, Attempt: a, Outcome: traces.Outcome(1 + i%3), Counters: traces.NoCounters})
	}
	events = append(events, &traces.JobFinished{T: last, Job: "job_1_0001", Outcome: traces.Succeeded, Counters: traces.NoCounters})
	traces.Sort(events)
	total := int64(0)
	for _, s := range spans {
		if s.to < 0 {
			s.to = last
		}
		total += s.to.Milliseconds() - s.from.Milliseconds()
	}
	return h, events, total
}

func name(prefix string, i int) traces.Node {
	return traces.Node(prefix + string(rune('a'+i/26)) + string(rune('a'+i%26)))
}

// collect returns what a timeline keeps of a trace.
func collect(h traces.Header, events []traces.Event, most int) *data {
	c := newCollector(h, most)
	for _, e := range events {
		c.add(e)
	}
	return c.finish()
}

func TestBarsHaveAllTimeOfAttempts(t *testing.T) {
	for seed := range uint64(20) {
		h, events, want := trace(seed, 7, 300)
		d := collect(h, events, 300)
		sum := int64(0)
		for _, b := range d.bars {
			sum += b.to - b.from
		}
		if sum != want || len(d.bars) != 300 {
			t.Errorf("seed %d: %d bars have %d ms; the attempts are 300 with %d ms", seed, len(d.bars), sum, want)
		}
	}
}

// TestMakespanIsThatOfMeasure holds what the line at the end says against the figure in
// tables.
func TestMakespanIsThatOfMeasure(t *testing.T) {
	for seed := range uint64(20) {
		h, events, _ := trace(seed, 7, 300)
		events = append(events, &traces.JobSubmitted{T: 3 * second, Job: "job_1_0002"})
		for _, e := range events {
			if s, ok := e.(*traces.JobSubmitted); ok && s.Job == "job_1_0001" {
				s.T = 2 * second
			}
		}
		traces.Sort(events)
		d := collect(h, events, 300)
		if want := measure.Of(h, slices.Values(events)).MakespanMs; math.Abs(float64(d.End-d.Begin)-want) > 1 {
			t.Errorf("seed %d: a makespan of %d ms; package measure has %g ms", seed, d.End-d.Begin, want)
		}
	}
}

func TestGridHasAllTimeOfAttempts(t *testing.T) {
	for seed := range uint64(20) {
		h, events, want := trace(seed, 400, 300)
		d := collect(h, events, int(seed)*10)
		if d.Grid == nil || len(d.bars) > 0 {
			t.Fatalf("seed %d: 300 attempts are kept one by one, where %d may be", seed, seed*10)
		}
		sum := int64(0)
		for _, cells := range d.Grid.rows {
			for _, ms := range cells {
				sum += ms
			}
		}
		if sum != want {
			t.Errorf("seed %d: the grid has %d ms; the attempts have %d", seed, sum, want)
		}
		if len(d.Grid.rows) > mostRows {
			t.Errorf("seed %d: %d rows", seed, len(d.Grid.rows))
		}
	}
}

func TestGridOfManyBinsAndRows(t *testing.T) {
	g := newGrid(10, 0)
	want := int64(0)
	for i := range int64(5000) {
		g.add(bar{node: int32(i % 2000), from: i * 777, to: i*777 + 1500, kind: traces.TaskKind(i % 2)})
		want += 1500
	}
	sum, middle := int64(0), int64(0) // the sum of times of bins and their amounts gives where the amounts are
	for _, cells := range g.rows {
		for i, ms := range cells {
			sum += ms
			middle += ms * (int64(i)*g.WidthMs + g.WidthMs/2)
		}
		if len(cells) > mostBins {
			t.Errorf("a row of %d bins", len(cells))
		}
	}
	if sum != want || len(g.rows) > mostRows || g.PerRow != 8 {
		t.Errorf("%d ms of %d, %d rows of %d nodes", sum, want, len(g.rows), g.PerRow)
	}
	if mean, wanted := middle/want, int64(5000*777/2); mean < wanted-g.WidthMs || mean > wanted+g.WidthMs {
		t.Errorf("attempts are around %d ms, want %d", mean, wanted)
	}
}

func TestLanesDoNotOverlap(t *testing.T) {
	for seed := range uint64(20) {
		h, events, _ := trace(seed, 5, 200)
		d := collect(h, events, 200)
		list, _ := lanes(d)
		for i, a := range d.bars {
			most := 0 // bars of the node that run when a starts
			for k, b := range d.bars[:i] {
				if b.node != a.node || b.to <= a.from {
					continue
				}
				most++
				if list[i] == list[k] {
					t.Fatalf("seed %d: attempts %d and %d are in one lane at %d ms", seed, k, i, a.from)
				}
			}
			if list[i] > int64(most) {
				t.Fatalf("seed %d: attempt %d is in lane %d, though only %d others run", seed, i, list[i], most)
			}
		}
	}
}

// decoded reads a block as the page does.
func decoded(t *testing.T, text string) (head, map[string][]int64) {
	t.Helper()
	packed := errtest.Must(base64.StdEncoding.DecodeString(text))
	z := errtest.Must(gzip.NewReader(bytes.NewReader(packed)))
	all := errtest.Must(io.ReadAll(z))
	var h head
	length := binary.LittleEndian.Uint32(all)
	mustDo(t, json.Unmarshal(all[4:4+length], &h))
	body := all[4+length:]
	columns := map[string][]int64{}
	for _, c := range h.Columns {
		last := int64(0)
		for range c.N {
			x, n := binary.Varint(body)
			body, last = body[n:], last+x
			columns[c.Name] = append(columns[c.Name], last)
		}
	}
	if len(body) > 0 {
		t.Errorf("%d bytes behind the columns", len(body))
	}
	return h, columns
}

func TestBlockHasTheBars(t *testing.T) {
	h, events, want := trace(1, 5, 200)
	l := New(Options{})
	l.Add(Trial{Name: "x", Header: h, Why: func(a traces.Attempt) []string { return []string{"same", a.String()} }}, slices.Values(events))
	head, columns := decoded(t, l.blocks[0])
	sum := int64(0)
	for _, ms := range columns["length"] {
		sum += ms
	}
	if sum != want || len(columns["from"]) != 200 || head.Attempts != 200 {
		t.Errorf("%d bars of %d ms, want 200 of %d", len(columns["from"]), sum, want)
	}
	if len(head.Why) != 201 || head.Why[0] != "same" || len(columns["whySentence"]) != 400 {
		t.Errorf("%d sentences, %d used", len(head.Why), len(columns["whySentence"]))
	}
}

// TestBlocks compares all that blocks hold of small traces with files: of faults, of marks that end, of slots for maps and
// for reduces, where a reduce has a lane of its own though one of maps is free, and of slots beyond what memory holds.
func TestBlocks(t *testing.T) {
	paths := errtest.Must(filepath.Glob("testdata/blocks/*.jsonl"))
	if len(paths) < 4 {
		t.Fatalf("%d traces", len(paths))
	}
	for _, path := range paths {
		h, events, err := tracefile.ReadFile(path)
		mustDo(t, err)
		l := New(Options{})
		l.Add(Trial{Header: h}, slices.Values(events))
		head, columns := decoded(t, l.blocks[0])
		names := head.Columns
		head.Columns = nil
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s\n", errtest.Must(json.MarshalIndent(head, "", " ")))
		for i, c := range names {
			if i == 0 || names[i-1].Name != c.Name {
				fmt.Fprintln(&b, c.Name, columns[c.Name])
			}
		}
		golden.Check(t, strings.TrimSuffix(path, "jsonl")+"txt", b.Bytes())
	}
}

func TestHTMLHoldsHostileNames(t *testing.T) {
	h, events, _ := trace(1, 5, 20)
	l := New(Options{})
	l.Add(Trial{Name: "</script><script>alert(1)</script>", Model: "<!--", Header: h}, slices.Values(events))
	var b strings.Builder
	mustDo(t, l.WriteHTML(&b))
	if n := strings.Count(b.String(), "</script>"); n != 2 {
		t.Errorf("%d script elements end, want 2:\n%.500s", n, b.String())
	}
	if strings.Contains(b.String(), "<!--") {
		t.Error("a name begins a comment")
	}
}

// TestMemoryIsBounded gives a trial more of everything than a page can hold.
func TestMemoryIsBounded(t *testing.T) {
	const job = "job_1_0001"
	events := []traces.Event{&traces.JobSubmitted{Job: job}}
	for i := range int32(60_000) {
		at := traces.Time(i) * second
		events = append(events, &traces.Note{T: at, Text: "x"})
	}
	d := collect(traces.Header{}, events, 1000)
	if len(d.Marks) != mostMarks || d.MoreMarks != 50_000 {
		t.Errorf("%d marks and %d more", len(d.Marks), d.MoreMarks)
	}
}

// TestNothingIsTooStrange gives a timeline events that no cluster has.
func TestNothingIsTooStrange(t *testing.T) {
	numbers := []int64{math.MinInt64, -1, 0, 1, 1 << 40, math.MaxInt64}
	floats := []float64{math.Inf(-1), -1, 0, math.NaN(), 1e300, math.Inf(1)}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := func() int64 { return numbers[r.IntN(len(numbers))] }
		at := func() traces.Time { return traces.Time(n()) }
		x := func() float64 { return floats[r.IntN(len(floats))] }
		node := func() traces.Node { return []traces.Node{"", "a", "b"}[r.IntN(3)] }
		job := func() traces.JobID { return []traces.JobID{"", "job_1_1"}[r.IntN(2)] }
		attempt := func() traces.Attempt {
			return traces.Attempt{Task: traces.Task{Job: job(), Kind: traces.TaskKind(r.IntN(4)), Index: int32(r.IntN(3))}, Number: int32(n())}
		}
		var events []traces.Event
		for range 40 {
			a := attempt()
			events = append(
				events, &traces.NodeUp{T: at(), NodeFacts: traces.NodeFacts{Node: node(), MemoryBytes: n()}}, &traces.NodeDown{T: at(), Node: node()},
				&traces.NodeCapacity{T: at(), Node: node(), MemoryBytes: n()}, &traces.NodeSpeed{T: at(), Node: node(), Speed: x()},
				&traces.NodeSample{T: at(), Node: node(), CPUUser: x(), CPUSystem: x(), Load1: x(), DiskReadBytesPerSec: x()},
				&traces.JobSubmitted{T: at(), Job: job(), Maps: int32(n()), MapMemoryBytes: n()},
				&traces.JobStarted{T: at(), Job: job(), AMNode: node()},
				&traces.TaskScheduled{T: at(), Task: a.Task},
				&traces.AttemptStarted{T: at(), Attempt: a, Node: node(), ReplicaLocality: traces.Level(n()), SplitLocality: traces.Level(n())},
				&traces.AttemptFinished{
					T: at(), Attempt: attempt(), Outcome: traces.Outcome(n()), MapDone: at(), ShuffleDone: at(), SortDone: at(),
					Counters: traces.Counters{HDFSReadBytes: n()},
				},
				&traces.Decision{T: at(), ID: int64(r.IntN(9)), Job: job()}, &traces.Actuation{
					T: at(), Decision: int64(r.IntN(9)), GrantedAt: at(),
					Bound: attempt(),
				},
				&traces.JobFinished{T: at(), Job: job(), Outcome: traces.Outcome(n())},
				&traces.BlockCached{T: at(), Node: node(), Gone: r.IntN(2) == 0},
			)
		}
		if seed%2 == 0 {
			traces.Sort(events)
		}
		l := New(Options{MaxAttempts: 1 + r.IntN(60)})
		l.Add(Trial{}, slices.Values(events))
		head, columns := decoded(t, l.blocks[0])
		for _, flags := range columns["flags"] {
			if flags < 0 || flags >= 2*flagDecided || flags>>shiftReplica&7 > 4 || flags>>shiftSplit&7 > 4 {
				t.Fatalf("seed %d: flags %b", seed, flags)
			}
		}
		if head.Grid == nil && len(columns["from"]) != head.Attempts {
			t.Errorf("seed %d: %d bars of %d attempts", seed, len(columns["from"]), head.Attempts)
		}
	}
}

var mustDo = errtest.None
