package agent

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"heddle/collectors/node"
)

const (
	// maxKept is the maximum number of samples that an agent keeps. A sample with
	// ten devices takes 2 KB, so the samples take at most some 200 MB of memory.
	maxKept = 100_000
	// maxPage is the maximum number of samples in one answer of an agent.
	maxPage = 1000
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
type Page struct {
	// Samples are the node's samples in order of time; at most 1000.
	Samples []node.Sample `json:"samples"`
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
// has a number Seq, counted from 1 without gaps.
type ring struct {
	mu    sync.Mutex
	epoch int64 // number that differs from run to run of the agent, to recognise cursors of earlier runs
	size  int
	kept  []node.Sample // samples that the agent keeps; the sample with number Seq is at index (Seq-1) % size
	last  uint64        // number (Seq) of the newest sample; 0 before the first sample
}

func newRing(size int, epoch int64) *ring {
	return &ring{size: max(size, 1), epoch: epoch}
}

func (r *ring) add(s node.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < r.size {
		r.kept = append(r.kept, s)
	} else {
		r.kept[int((s.Seq-1)%uint64(r.size))] = s
	}
	r.last = s.Seq
}

// since returns the samples that follow the position in its parameter after,
// oldest first, at most limit samples.
func (r *ring) since(after Cursor, limit int) (Page, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.last - uint64(len(r.kept)) + 1 // number (Seq) of the oldest sample in memory, or of the next sample while none is in memory
	p := Page{Samples: []node.Sample{}}
	from := oldest // number (Seq) of the first sample that the answer has
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
			from = max(seq+1, oldest)
			p.Lost = from - (seq + 1)
		}
	}
	for seq := from; seq <= r.last && len(p.Samples) < limit; seq++ {
		p.Samples = append(p.Samples, r.kept[int((seq-1)%uint64(r.size))])
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
