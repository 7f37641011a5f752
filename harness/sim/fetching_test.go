package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sim/kernel"
	"heddle/harness/state"
)

// However maps end and reduces begin, each reduce fetches in the end its part of the output of
// all maps, and all of them together all of it: from each rack by itself on clusters of few
// racks, from its own and from others on larger ones. A part of what some maps have put out
// may be larger by a byte than that of all, by rounding.
func TestFetchesFromRacksConserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 7).Draw(t, "racks")
		c := &Config{Costs: Costs{Fetchers: 5}}
		for n := range 2 * racks {
			c.Cluster.Nodes = append(c.Cluster.Nodes, Node{
				Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n%racks),
				Capacity: slot.Times(50), LinkBytesPerSec: 30e6,
			})
		}
		maps, reduces := rapid.Int32Range(1, 30).Draw(t, "maps"), rapid.Int32Range(1, 20).Draw(t, "reduces")
		b := apart(t, c)
		var fe fetching
		var all table
		fe.begin(b, &all)
		j := simpleJob("a", 0, maps, reduces, Work{})
		y := &b.jobs.list[b.submit(t, &j)]
		for i := range reduces {
			all.list[all.place()] = attempt{
				task: state.TaskID(maps) + state.TaskID(i), kind: state.Reduce,
				node: state.NodeID(rapid.IntRange(0, 2*racks-1).Draw(t, "node")),
			}
		}
		ended := 0 // transfers
		handle := func(e kernel.Event) {
			if e.Kind() == kernel.FlowEnd {
				ended++
				a := &all.list[e.ID/maxFlows]
				a.openFlows &^= 1 << (e.ID % maxFlows)
				a.pending--
			}
		}
		fetchAll := func() {
			for id := range all.list {
				if a := &all.list[id]; a.pending == 0 && (y.done[0] == maps || rapid.Bool().Draw(t, "fetches now")) {
					fe.fromRacks(int32(id), y, &Work{})
				}
			}
		}
		output := int64(0)
		for range maps {
			bytes := rapid.Int64Range(0, 1e8).Draw(t, "output")
			rack := int32(rapid.IntRange(0, racks-1).Draw(t, "rack"))
			y.done[state.Map]++
			y.out[rack] += bytes
			y.outBytes += bytes
			y.lately[(y.done[state.Map]-1)&int32(len(y.lately)-1)] = rack
			output += bytes
			fetchAll()
			b.until(b.events.Now+rapid.Int64Range(0, 5000).Draw(t, "later"), handle)
		}
		b.until(b.events.Now+1e7, handle)
		fetchAll()
		b.until(b.events.Now+1e7, handle)
		sum := int64(0)
		for id := range all.list {
			a := &all.list[id]
			f := &fe.byRack[all.rest[id].fetch]
			got := int64(0)
			for r, bytes := range f.got {
				got += bytes
				if racks > exactRacks || r >= racks {
					continue
				}
				if want := y.part(y.out[r], int64(id)); bytes != want && bytes != want+1 {
					t.Fatalf("reduce %d has fetched %v of the racks' %v", id, f.got, y.out)
				}
			}
			if want := y.part(y.outBytes, int64(id)); racks > exactRacks && got != want && got != want+1 {
				t.Fatalf("reduce %d has fetched %d bytes, want %d", id, got, want)
			}
			if own := y.part(y.out[fe.nodes.list[a.node].rack], int64(id)); f.near > own+1 || racks > exactRacks && f.got[0] > own+1 {
				t.Fatalf("reduce %d has fetched %d bytes of its own rack, which has %d for it", id, f.near, own)
			}
			if a.pending != 0 || a.openFlows != 0 || f.maps != maps {
				t.Fatalf("reduce %d waits for %d transfers, and has fetched from %d of %d maps", id, a.pending, f.maps, maps)
			}
			sum += got
		}
		if sum < output || sum > output+int64(racks)*int64(reduces) {
			t.Fatalf("%d bytes are fetched, and maps have put out %d", sum, output)
		}
	})
}

// The time for each map output is that of so many at a time as there are fetchers. Counts of
// a reduce that has ended are used again, and start from nothing.
func TestFetchTime(t *testing.T) {
	for _, x := range []struct {
		fetchers, ms int32
		maps         int64
		want         int64 // time of the timer; 0: there is none
	}{{5, 10, 10, 20}, {5, 10, 2, 4}, {1, 10, 3, 30}, {0, 10, 3, 30}, {5, 0, 1000, 0}, {5, 1, 4, 0}} {
		b := apart(t, &Config{Cluster: slots(1, 1), Costs: Costs{Fetchers: x.fetchers, FetchMs: x.ms}})
		var fe fetching
		list := table{list: make([]attempt, 4)}
		fe.begin(b, &list)
		a := &list.list[3]
		fe.fetchTime(3, x.maps)
		got := b.until(1000, nil)
		if want := fmt.Sprintf("%d 3 at %d", evPhase, x.want); x.want == 0 && (len(got) > 0 || a.pending > 0) || x.want > 0 &&
			(len(got) != 1 || got[0] != want || a.pending != 1) {
			t.Errorf("%+v: events %q, the attempt waits for %d", x, got, a.pending)
		}
	}
	b := apart(t, &Config{Cluster: slots(1, 1), Costs: Costs{Fetchers: 5}})
	var fe fetching
	var list table
	fe.begin(b, &list)
	j := simpleJob("a", 0, 2, 1, Work{})
	y := &b.jobs.list[b.submit(t, &j)]
	y.done[state.Map] = 1
	first, second := list.place(), list.place()
	list.list[first].task, list.list[second].task = 2, 2
	fe.fromRacks(first, y, &Work{})
	if fe.byRack[list.rest[first].fetch].maps != 1 {
		t.Fatalf("%+v, want one map", fe.byRack[list.rest[first].fetch])
	}
	fe.spare = append(fe.spare, list.rest[first].fetch)
	y.done[state.Map] = 0
	fe.fromRacks(second, y, &Work{})
	if place := list.rest[second].fetch; place != list.rest[first].fetch || fe.byRack[place] != (fetch{}) || len(fe.spare) != 0 {
		t.Errorf("place %d after %d: %+v, want the same place, and nothing in it", place, list.rest[first].fetch, fe.byRack[place])
	}
}
