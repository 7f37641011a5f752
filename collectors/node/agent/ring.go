package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"heddle/collectors/node"
)

const (
	// maxKept and maxKeptBytes are the maximum number of samples that an agent
	// keeps, and of their bytes as JSON. A sample of a machine with four cores
	// takes about 2 KB.
	maxKept      = 100_000
	maxKeptBytes = 64 << 20
	// maxPage and maxPageBytes are the maximum number of samples in one answer of
	// an agent, and of their bytes. An answer has at least one sample, if there is
	// one.
	maxPage      = 1000
	maxPageBytes = 512 << 10
)

// Cursor is a position in the sequence of an agent's samples. Callers pass
// FromOldest, FromNow, or the field Next of the page before.
type Cursor string

const (
	// FromOldest is the position before the oldest sample that the agent still
	// has.
	FromOldest Cursor = ""
	// FromNow is the position after the agent's newest sample.
	FromNow Cursor = "now"
)

// Page is the list of samples in one answer of an agent: those after a cursor.
type Page = page[node.Sample]

// page is a Page whose samples may be JSON already, as the agent sends them.
type page[S node.Sample | json.RawMessage] struct {
	// Samples are the node's samples in order of time; at most 1000.
	Samples []S `json:"samples"`
	// Next is the cursor to pass in the next request, to get the samples after
	// those of this page.
	Next Cursor `json:"next"`
	// More is true if the agent already has samples after the cursor Next.
	More bool `json:"more"`
	// Lost is the number of samples that followed the requested cursor but are no
	// longer in the agent's memory.
	Lost uint64 `json:"lost"`
	// Restarted is true if the requested cursor is from an earlier run of the
	// agent. The samples of that run are gone; Lost does not count them.
	Restarted bool `json:"restarted"`
}

// ring keeps an agent's newest samples and overwrites the oldest. Each sample
// has a number Seq, counted from 1 without gaps. Samples are kept as JSON, so
// that the memory they take is known, and no request has to encode them again.
type ring struct {
	mu     sync.Mutex
	epoch  int64 // number that differs from run to run of the agent, to recognise cursors of earlier runs
	size   int
	kept   []json.RawMessage // samples that the agent keeps; the sample with number Seq is at index (Seq-1) % size
	oldest uint64            // number (Seq) of the oldest sample in memory; 1 before the first sample
	last   uint64            // number (Seq) of the newest sample; 0 before the first sample
	bytes  int               // sum of the lengths of the samples in memory
}

func newRing(size int, epoch int64) *ring {
	return &ring{size: max(size, 1), epoch: epoch, oldest: 1}
}

func (r *ring) add(s node.Sample) {
	encoded, err := json.Marshal(s)
	if err != nil { // JSON has no NaN and no infinite number, should a rate ever be one
		encoded = json.RawMessage(fmt.Sprintf(`{"seq":%d,"wallNs":%d,"monoNs":%d,"intervalNs":%d,"absent":{"sample":%q}}`,
			s.Seq, s.WallNs, s.MonoNs, s.IntervalNs, err.Error()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.index(s.Seq)
	if at == len(r.kept) {
		r.kept = append(r.kept, nil)
	}
	r.bytes += len(encoded) - len(r.kept[at])
	r.kept[at], r.last = encoded, s.Seq
	r.oldest = max(r.oldest, r.last-min(r.last, uint64(len(r.kept)))+1)
	for ; r.bytes > maxKeptBytes && r.oldest < r.last; r.oldest++ {
		at := r.index(r.oldest)
		r.bytes -= len(r.kept[at])
		r.kept[at] = nil
	}
}

func (r *ring) index(seq uint64) int { return int((seq - 1) % uint64(r.size)) }

// since returns the samples that follow the position in its parameter after,
// oldest first: at most limit samples of at most maxPageBytes.
func (r *ring) since(after Cursor, limit int) (page[json.RawMessage], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := page[json.RawMessage]{Samples: []json.RawMessage{}}
	from := r.oldest // number (Seq) of the first sample that the answer has
	switch after {
	case FromOldest:
	case FromNow:
		from = r.last + 1
	default:
		epoch, seq, err := after.parse()
		if err != nil {
			return p, err
		}
		switch {
		case epoch != r.epoch:
			p.Restarted = true
		case seq > r.last:
			return p, fmt.Errorf("cursor %q: it is after the newest sample of this agent", after)
		default:
			from = max(seq+1, r.oldest)
			p.Lost = from - (seq + 1)
		}
	}
	bytes := 0
	for seq := from; seq <= r.last && len(p.Samples) < limit; seq++ {
		sample := r.kept[r.index(seq)]
		if bytes += len(sample); bytes > maxPageBytes && len(p.Samples) > 0 {
			break
		}
		p.Samples = append(p.Samples, sample)
	}
	end := from + uint64(len(p.Samples)) - 1
	p.More = end < r.last
	p.Next = Cursor(strconv.FormatInt(r.epoch, 36) + "." + strconv.FormatUint(end, 10))
	return p, nil
}

func (c Cursor) parse() (epoch int64, seq uint64, err error) {
	left, right, _ := strings.Cut(string(c), ".")
	epoch, err = strconv.ParseInt(left, 36, 64)
	if err == nil {
		seq, err = strconv.ParseUint(right, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("cursor %.40q: want %q, or one that an earlier answer gave as next", string(c), FromNow)
	}
	return epoch, seq, nil
}
