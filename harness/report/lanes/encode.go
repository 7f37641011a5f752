package lanes

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"heddle/traces"
	"heddle/traces/printable"
)

// head is the part of a block that is JSON. Columns of numbers follow it, in the order of
// Columns.
type head struct {
	From     int64        `json:"from"`
	To       int64        `json:"to"`
	Begin    int64        `json:"begin"`
	End      int64        `json:"end"`
	Attempts int          `json:"attempts"`
	Unlaunch int          `json:"unlaunched"`
	Slots    [2]int64     `json:"kindSlots"` // of each worker for maps and for reduces
	Racks    []string     `json:"racks"`
	Nodes    []string     `json:"nodes"`
	JobIDs   []string     `json:"jobIds"`
	Strings  []string     `json:"strings"`
	Marks    []headMark   `json:"marks"`
	More     int          `json:"moreMarks,omitempty"`
	Grid     *headGrid    `json:"grid,omitempty"`
	Why      []string     `json:"why,omitempty"` // sentences, each once
	Columns  []headColumn `json:"columns"`
}

type headColumn struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

type headMark struct {
	What  string  `json:"what"`
	Node  int32   `json:"node"`
	From  int64   `json:"from"`
	To    int64   `json:"to"`
	Text  string  `json:"text"`
	Share float64 `json:"share"`
}

type headGrid struct {
	PerRow  int   `json:"perRow"`
	WidthMs int64 `json:"widthMs"`
	From    int64 `json:"from"`
	Rows    int   `json:"rows"`
	Bins    int   `json:"bins"`
}

// block is a block that is being made: columns of whole numbers, each stored as the
// differences of its neighbours in as few bytes as they need.
type block struct {
	head head
	body []byte
}

func (b *block) column(name string, n int, at func(i int) int64) {
	b.head.Columns = append(b.head.Columns, headColumn{name, n})
	last := int64(0)
	for i := range n {
		x := at(i)
		b.body = binary.AppendVarint(b.body, x-last)
		last = x
	}
}

// encode returns the data as base64 of gzip of a block.
func (d *data) encode(why [][]string) string {
	b := &block{head: head{
		From: d.from, To: d.to, Begin: d.begin, End: d.end, Attempts: d.attempts, Unlaunch: d.unlaunched, More: d.moreMarks, Slots: d.kindSlots,
		Racks: []string{}, Nodes: []string{}, JobIDs: []string{}, Marks: []headMark{},
	}}
	h := &b.head
	h.Strings = make([]string, len(d.strings))
	for i, s := range d.strings {
		h.Strings[i] = printable.Line(s)
	}
	for _, m := range d.marks {
		h.Marks = append(h.Marks, headMark{m.what, m.node, m.from, m.to, printable.Line(m.text), m.share})
	}
	b.nodes(d)
	b.jobs(d)
	b.bars(d)
	b.why(why)
	b.grid(d.grid)
	return b.packed()
}

func (b *block) packed() string {
	text, err := json.Marshal(b.head)
	if err != nil {
		panic(err) // strings and numbers, none of which is infinite
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	for _, part := range [][]byte{length, text, b.body} {
		z.Write(part) //nolint:errcheck // a buffer takes all
	}
	z.Close() //nolint:errcheck
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func (b *block) nodes(d *data) {
	h := &b.head
	racks := map[string]int{}
	for _, n := range d.nodes {
		if _, ok := racks[n.rack]; !ok {
			racks[n.rack] = len(h.Racks)
			h.Racks = append(h.Racks, printable.Line(n.rack))
		}
		h.Nodes = append(h.Nodes, printable.Line(n.name))
	}
	b.column("nodeRack", len(d.nodes), func(i int) int64 { return int64(racks[d.nodes[i].rack]) })
	b.column("nodeWorker", len(d.nodes), func(i int) int64 { return oneIf(d.nodes[i].worker, 1) })
	b.column("nodeSlots", len(d.nodes), func(i int) int64 { return d.nodes[i].slots })
}

func (b *block) jobs(d *data) {
	for _, j := range d.jobs {
		b.head.JobIDs = append(b.head.JobIDs, printable.Line(j.id))
	}
	for _, c := range []struct {
		name string
		of   func(j *job) int64
	}{
		{"jobName", func(j *job) int64 { return int64(j.name) }},
		{"jobSubmit", func(j *job) int64 { return j.submit }},
		{"jobEnd", func(j *job) int64 { return j.end }},
		{"jobOutcome", func(j *job) int64 { return int64(j.outcome) }},
		{"jobMaps", func(j *job) int64 { return int64(j.maps) }},
		{"jobReduces", func(j *job) int64 { return int64(j.reduces) }},
	} {
		b.column(c.name, len(d.jobs), func(i int) int64 { return c.of(&d.jobs[i]) })
	}
}

// Bits of a bar's flags.
const (
	flagReduce      = 1 << 0
	flagSpeculative = 1 << 1
	shiftOutcome    = 2
	shiftReplica    = 4
	shiftSplit      = 7
	flagDecided     = 1 << 10
)

func oneIf(set bool, value int64) int64 {
	if set {
		return value
	}
	return 0
}

func (b *block) bars(d *data) {
	lane, masterLane := lanes(d)
	bars := func(name string, of func(x *bar) int64) {
		b.column(name, len(d.bars), func(i int) int64 { return of(&d.bars[i]) })
	}
	part := func(x *bar, t int64) int64 { // since the start, plus 1; 0 for none
		if t == 0 {
			return 0
		}
		return min(max(t-x.from, 0), x.to-x.from) + 1
	}
	bars("from", func(x *bar) int64 { return x.from })
	bars("length", func(x *bar) int64 { return x.to - x.from })
	bars("waited", func(x *bar) int64 { return x.waited })
	bars("node", func(x *bar) int64 { return int64(x.node) })
	b.column("lane", len(lane), func(i int) int64 { return lane[i] })
	bars("job", func(x *bar) int64 { return int64(x.job) })
	bars("index", func(x *bar) int64 { return int64(x.index) })
	bars("number", func(x *bar) int64 { return int64(x.number) })
	bars("flags", func(x *bar) int64 {
		return oneIf(x.kind == traces.Reduce, flagReduce) | oneIf(x.spec, flagSpeculative) |
			int64(x.outcome)<<shiftOutcome | int64(x.replica)<<shiftReplica | int64(x.split)<<shiftSplit | oneIf(x.decision > 0, flagDecided)
	})
	bars("first", func(x *bar) int64 { return part(x, x.first) })
	bars("second", func(x *bar) int64 { return part(x, x.second) })
	bars("read", func(x *bar) int64 { return rounded(x.read) })
	bars("shuffled", func(x *bar) int64 { return rounded(x.shuffled) })
	bars("written", func(x *bar) int64 { return rounded(x.written) })
	bars("cpu", func(x *bar) int64 { return x.cpuMs })
	bars("error", func(x *bar) int64 { return int64(x.error) })
	for _, c := range []struct {
		name string
		of   func(i int) int64
	}{
		{"masterNode", func(i int) int64 { return int64(d.masters[i].node) }},
		{"masterJob", func(i int) int64 { return int64(d.masters[i].job) }},
		{"masterFrom", func(i int) int64 { return d.masters[i].from }},
		{"masterTo", func(i int) int64 { return d.masters[i].to }},
		{"masterLane", func(i int) int64 { return masterLane[i] }},
	} {
		b.column(c.name, len(d.masters), c.of)
	}
	var decided []*bar // bars with a decision, in their order
	for i := range d.bars {
		if d.bars[i].decision > 0 {
			decided = append(decided, &d.bars[i])
		}
	}
	for _, c := range []struct {
		name string
		of   func(x *decision, b *bar) int64
	}{
		{"decisionId", func(x *decision, _ *bar) int64 { return x.id }},
		{"decisionReason", func(x *decision, _ *bar) int64 { return int64(x.reason) }},
		{"decisionOutcome", func(x *decision, _ *bar) int64 { return int64(x.outcome) }},
		{"decisionBind", func(x *decision, b *bar) int64 { // 0: nothing was expected; 1: the map that came; else the map's index plus 2
			switch x.bind {
			case unknown:
				return 0
			case b.index:
				return 1
			}
			return int64(x.bind) + 2
		}},
		{"decisionBefore", func(x *decision, b *bar) int64 { return b.from - x.at }},
		{"decisionAsked", func(x *decision, _ *bar) int64 { return x.askedMs }},
	} {
		b.column(c.name, len(decided), func(i int) int64 { return c.of(&d.decisions[decided[i].decision-1], decided[i]) })
	}
}

// rounded keeps four digits of a number of bytes, which is more than is shown.
func rounded(n int64) int64 {
	if n < 10_000 {
		return n
	}
	unit := int64(1)
	for n/unit >= 10_000 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// why stores each sentence once, and of each bar which sentences it has.
func (b *block) why(list [][]string) {
	places := map[string]int64{}
	var counts, sentences []int64
	for _, texts := range list {
		counts = append(counts, int64(len(texts)))
		for _, s := range texts {
			if _, ok := places[s]; !ok {
				places[s] = int64(len(b.head.Why))
				b.head.Why = append(b.head.Why, printable.Line(s))
			}
			sentences = append(sentences, places[s])
		}
	}
	b.column("whyCount", len(counts), func(i int) int64 { return counts[i] })
	b.column("whySentence", len(sentences), func(i int) int64 { return sentences[i] })
}

func (b *block) grid(g *grid) {
	if g == nil {
		return
	}
	bins := 0
	for _, cells := range g.rows {
		bins = max(bins, len(cells))
	}
	b.head.Grid = &headGrid{PerRow: g.perRow, WidthMs: g.widthMs, From: g.from, Rows: len(g.rows), Bins: bins}
	b.column("grid", len(g.rows)*bins, func(i int) int64 {
		if cells := g.rows[i/bins]; i%bins < len(cells) {
			return cells[i%bins]
		}
		return 0
	})
}
