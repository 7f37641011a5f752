package agent

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/collectors/node"
)

// TestRingAgainstAList: a client that follows Next sees every sample once and
// in order, but for those that Lost counts, whatever the size of ring and page.
func TestRingAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		r := newRing(size, 7)
		var added, seen uint64 // seen: the last Seq that the client knows of
		cursor := FromOldest
		if rapid.Bool().Draw(t, "from now") {
			cursor = FromNow
			seen = 0
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				added++
				r.add(node.Sample{Seq: added})
				if cursor == FromNow {
					seen = added // such a client asks for nothing that was
				}
			},
			"ask": func(t *rapid.T) {
				limit := rapid.IntRange(1, 5).Draw(t, "limit")
				p := must(r.since(cursor, limit))
				first := cursor == FromOldest
				if p.Restarted || len(p.Samples) > limit {
					t.Fatalf("page %+v for limit %d", p, limit)
				}
				if first && p.Lost != 0 {
					t.Fatalf("%d lost before a client came", p.Lost)
				}
				if first && added > uint64(size) {
					seen = added - uint64(size)
				}
				seen += p.Lost
				for _, s := range p.Samples {
					if seen++; seqOf(t, s) != seen {
						t.Fatalf("sample %s where %d was next", s, seen)
					}
				}
				if p.More != (seen < added) {
					t.Fatalf("more is %v after %d of %d", p.More, seen, added)
				}
				cursor = p.Next
			},
			"": func(t *rapid.T) {
				if len(r.kept) > size {
					t.Fatalf("%d kept, want at most %d", len(r.kept), size)
				}
			},
		})
	})
}

func TestCursors(t *testing.T) {
	r := newRing(3, 7)
	for seq := range uint64(10) {
		r.add(node.Sample{Seq: seq + 1})
	}
	for _, c := range []struct {
		after        Cursor
		first, count uint64
		lost         uint64
		restarted    bool
		wantErr      string
	}{
		{after: FromOldest, first: 8, count: 3},
		{after: FromNow, count: 0},
		{after: "7.10", count: 0},
		{after: "7.9", first: 10, count: 1},
		{after: "7.7", first: 8, count: 3},
		{after: "7.6", first: 8, count: 3, lost: 1},
		{after: "7.0", first: 8, count: 3, lost: 7},
		{after: "6.9", first: 8, count: 3, restarted: true},
		{after: "6.99", first: 8, count: 3, restarted: true},
		{after: "7.11", wantErr: "after the newest sample"},
		{after: "7.18446744073709551615", wantErr: "after the newest sample"},
		{after: "7", wantErr: "earlier answer"},
		{after: "7.-1", wantErr: "earlier answer"},
		{after: "!.1", wantErr: "earlier answer"},
	} {
		p, err := r.since(c.after, maxPage)
		if c.wantErr != "" {
			wantError(t, err, c.wantErr)
			continue
		}
		if err != nil || uint64(len(p.Samples)) != c.count || p.Lost != c.lost || p.Restarted != c.restarted ||
			p.Next != "7.10" || p.More || c.count > 0 && seqOf(t, p.Samples[0]) != c.first {
			t.Errorf("%q: %+v, %v; want %d from %d, %d lost, restarted %v", c.after, p, err, c.count, c.first, c.lost, c.restarted)
		}
	}
}

// TestRingBytes: samples that are large push older ones out before the ring has
// its number of samples, and make answers of few samples.
func TestRingBytes(t *testing.T) {
	r := newRing(maxKept, 7)
	large := node.Sample{Absent: map[string]string{"disk": strings.Repeat("x", maxPageBytes/2+1)}}
	const added = 2*maxKeptBytes/maxPageBytes + 10
	for large.Seq = 1; large.Seq <= added; large.Seq++ {
		r.add(large)
	}
	if r.bytes > maxKeptBytes || r.bytes < maxKeptBytes-maxPageBytes || r.oldest == 1 {
		t.Errorf("%d bytes kept, the oldest sample is %d; want at most %d bytes", r.bytes, r.oldest, maxKeptBytes)
	}
	p, err := r.since("7.0", maxPage)
	if err != nil || len(p.Samples) != 1 || seqOf(t, p.Samples[0]) != r.oldest || p.Lost != r.oldest-1 || !p.More {
		t.Errorf("%d samples, %d lost, more %v, %v; want one, from %d", len(p.Samples), p.Lost, p.More, err, r.oldest)
	}
	r.add(node.Sample{Seq: added + 1, Load: &node.Load{Load1: math.Inf(1)}})
	p, err = r.since(Cursor("7."+strconv.Itoa(added)), maxPage)
	if err != nil || len(p.Samples) != 1 || !strings.Contains(string(p.Samples[0]), "unsupported value") {
		t.Errorf("a sample that JSON cannot hold: %s, %v; want one that says so", p.Samples, err)
	}
}

func seqOf(t interface{ Fatal(...any) }, encoded []byte) uint64 {
	var s node.Sample
	if err := json.Unmarshal(encoded, &s); err != nil {
		t.Fatal(err)
	}
	return s.Seq
}
