package lanes

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"strings"

	"heddle/traces"
	"heddle/traces/printable"
)

// head is the part of a block that is JSON. Columns of numbers follow it, in the order of
// Columns.
type head struct {
	From int64 `json:"from"` // first and last time of any event
	To   int64 `json:"to"`
	// first submission, and last end of a job, between which is the makespan; End is unknown if none ended
	Begin      int64        `json:"begin"`
	End        int64        `json:"end"`
	Attempts   int          `json:"attempts"`
	Unlaunched int          `json:"unlaunched"`
	KindSlots  [2]int64     `json:"kindSlots"` // of each worker for maps and for reduces; 0 and 0: a slot is for either
	Racks      []string     `json:"racks"`
	Nodes      []string     `json:"nodes"`
	JobIDs     []string     `json:"jobIds"`
	Strings    []string     `json:"strings"`
	Marks      []mark       `json:"marks"`
	MoreMarks  int          `json:"moreMarks,omitempty"` // that are left out
	Grid       *grid        `json:"grid,omitempty"`
	Why        []string     `json:"why,omitempty"` // sentences, each once
	Columns    []headColumn `json:"columns"`
}

type headColumn struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// block is a block that is being made: columns of whole numbers, each stored as the
// differences of its neighbours in as few bytes as they need.
type block struct {
	head
	body []byte
}

func (b *block) column(name string, n int, at func(i int) int64) {
	b.Columns = append(b.Columns, headColumn{name, n})
	last := int64(0)
	for i := range n {
		x := at(i)
		b.body = binary.AppendVarint(b.body, x-last)
		last = x
	}
}

// encode returns the data as base64 of gzip of a block.
func (d *data) encode(why [][]string) string {
	b := &block{head: d.head}
	b.nodes(d)
	b.jobs(d)
	b.attempts(d)
	b.why(why)
	b.bins()
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

// columns stores the fields of rows, each field of all rows as a column of its name.
func columns[T any](b *block, rows []T) {
	for k, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		b.column(strings.ToLower(field.Name[:1])+field.Name[1:], len(rows), func(i int) int64 { return reflect.ValueOf(rows[i]).Field(k).Int() })
	}
}

func (b *block) nodes(d *data) {
	racks := map[string]int64{}
	var rows []struct{ NodeRack, NodeWorker, NodeSlots int64 }
	for _, n := range d.nodes {
		if _, ok := racks[n.rack]; !ok {
			racks[n.rack] = int64(len(b.Racks))
			b.Racks = append(b.Racks, printable.Line(n.rack))
		}
		b.Nodes = append(b.Nodes, printable.Line(n.name))
		rows = append(rows, struct{ NodeRack, NodeWorker, NodeSlots int64 }{racks[n.rack], flag(n.worker, 1), n.slots})
	}
	columns(b, rows)
}

// jobRow, barRow and so on have what the page knows of a job, an attempt and so on. Their
// fields are columns of a block.
type jobRow struct{ JobName, JobSubmit, JobEnd, JobOutcome, JobMaps, JobReduces int64 }

type barRow struct {
	From, Length, Waited, Node, Lane, Job, Index, Number, Flags int64
	First, Second                                               int64 // ends of parts since the start, plus 1; 0 for none
	Read, Shuffled, Written, Busy, Error                        int64 // Busy is the CPU time in ms
}

type masterRow struct{ MasterNode, MasterJob, MasterFrom, MasterTo, MasterLane int64 }

type decisionRow struct {
	DecisionID, DecisionReason, DecisionOutcome int64
	DecisionBind                                int64 // 0: nothing was expected; 1: the map that came; else the map's index plus 2
	DecisionBefore, DecisionAsked               int64 // from the decision to the attempt's start, and to the container, in ms
}

func (b *block) jobs(d *data) {
	var rows []jobRow
	for _, j := range d.jobs {
		b.JobIDs = append(b.JobIDs, printable.Line(j.id))
		rows = append(rows, jobRow{int64(j.name), j.submit, j.end, int64(j.outcome), int64(j.maps), int64(j.reduces)})
	}
	columns(b, rows)
}

// Bits of a bar's flags.
const (
	flagReduce      = 1 << 0
	flagSpeculative = 1 << 1
	shiftOutcome    = 2
	shiftReplica    = 4
	shiftSplit      = 7
	flagDecided     = 1 << 10
	flagSpark       = 1 << 11
)

func flag(set bool, value int64) int64 {
	if set {
		return value
	}
	return 0
}

// attempts stores bars, the decisions that started them in the order of these, and
// ApplicationMasters.
func (b *block) attempts(d *data) {
	lane, masterLane := lanes(d)
	var bars []barRow
	var decisions []decisionRow
	for i := range d.bars {
		x := &d.bars[i]
		part := func(t int64) int64 {
			if t == 0 {
				return 0
			}
			return min(max(t-x.from, 0), x.to-x.from) + 1
		}
		flags := flag(x.kind == traces.Reduce, flagReduce) | flag(x.spec, flagSpeculative) | flag(x.decision > 0, flagDecided) |
			flag(x.spark, flagSpark) | int64(x.outcome)<<shiftOutcome | int64(x.replica)<<shiftReplica | int64(x.split)<<shiftSplit
		bars = append(bars, barRow{
			x.from, x.to - x.from, x.waited, int64(x.node), lane[i], int64(x.job), int64(x.index), int64(x.number), flags,
			part(x.first), part(x.second), rounded(x.read), rounded(x.shuffled), rounded(x.written), x.cpuMs, int64(x.error),
		})
		if x.decision == 0 {
			continue
		}
		y := &d.decisions[x.decision-1]
		bind := int64(y.bind) + 2
		switch y.bind {
		case unknown:
			bind = 0
		case x.index:
			bind = 1
		}
		decisions = append(decisions, decisionRow{y.id, int64(y.reason), int64(y.outcome), bind, x.from - y.at, y.askedMs})
	}
	var masters []masterRow
	for i, m := range d.masters {
		masters = append(masters, masterRow{int64(m.node), int64(m.job), m.from, m.to, masterLane[i]})
	}
	columns(b, bars)
	columns(b, masters)
	columns(b, decisions)
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
				places[s] = int64(len(b.Why))
				b.Why = append(b.Why, printable.Line(s))
			}
			sentences = append(sentences, places[s])
		}
	}
	b.column("whyCount", len(counts), func(i int) int64 { return counts[i] })
	b.column("whySentence", len(sentences), func(i int) int64 { return sentences[i] })
}

// bins stores the rows of a grid, each with as many bins.
func (b *block) bins() {
	g := b.Grid
	if g == nil {
		return
	}
	g.Rows = len(g.rows)
	for _, cells := range g.rows {
		g.Bins = max(g.Bins, len(cells))
	}
	b.column("grid", g.Rows*g.Bins, func(i int) int64 {
		if cells := g.rows[i/g.Bins]; i%g.Bins < len(cells) {
			return cells[i%g.Bins]
		}
		return 0
	})
}
