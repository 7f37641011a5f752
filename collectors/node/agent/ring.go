package agent

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"heddle/collectors/node"
)

const (
	// maxKept limits memory to 200 MB: a sample with ten devices takes 2 KB.
	maxKept = 100_000
	// maxPage limits the samples in one answer.
	maxPage = 1000
)

// Cursor is a position in an agent's samples. Callers use Page.Next or one of
// the constants.
type Cursor string

const (
	// FromOldest is the position before the oldest sample that the agent has.
	FromOldest Cursor = ""
	// FromNow is the position after the newest sample.
	FromNow Cursor = "now"
)

// Page is a list of samples after a cursor.
type Page struct {
	// Samples are in order of time; at most 1000.
	Samples []node.Sample `json:"samples"`
	// Next is the cursor after these samples.
	Next Cursor `json:"next"`
	// More is true if there are samples after Next already.
	More bool `json:"more"`
	// Lost is the number of samples after the cursor that were overwritten.
	Lost uint64 `json:"lost"`
	// Restarted is true if the cursor is from an earlier run of the agent.
	// Samples of that run after the cursor are gone, and Lost does not count
	// them.
	Restarted bool `json:"restarted"`
}

// ring keeps the last samples. Their Seq counts from 1 without gaps.
type ring struct {
	mu    sync.Mutex
	epoch int64 // a number for each run of the agent, to recognise cursors of other runs
	size  int
	kept  []node.Sample // the samples kept; each is at index (Seq-1) % size
	last  uint64        // Seq of the newest sample, 0 before the first
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

// since returns at most limit samples after the cursor.
func (r *ring) since(after Cursor, limit int) (Page, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest := r.last - uint64(len(r.kept)) + 1 // Seq of the oldest sample; last+1 while the ring is empty
	p := Page{Samples: []node.Sample{}}
	from := oldest // Seq of the first sample to return
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
