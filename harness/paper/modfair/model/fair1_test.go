package model

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestLoadCap has 18 maps for 32 slots, and the ends of the scale.
func TestLoadCap(t *testing.T) {
	for _, c := range []struct {
		slots       int32
		wanted, all int64
		want        int32
	}{{4, 18, 32, 3}, {4, 32, 32, 4}, {4, 100, 32, 4}, {4, 0, 32, 0}, {2, 1, 16, 1}, {2, 8, 16, 1}, {2, 9, 16, 2}, {4, 5, 0, 4}} {
		if got := loadCap(c.slots, c.wanted, c.all); got != c.want {
			t.Errorf("%d slots, %d of %d wanted: %d, want %d", c.slots, c.wanted, c.all, got, c.want)
		}
	}
}

// TestFairShares has fair1 give 32 slots to pools that want 20, 3 and 20: 14.5, 3
// and 14.5 are the fair shares.
func TestFairShares(t *testing.T) {
	w := newPooled(t, "fair1", sched.Params{"nodeDelayMs": "0", "rackDelayMs": "0"}, 8, 4, 1)
	for pool, maps := range []int32{20, 3, 20} {
		w.job(fmt.Sprint(pool), maps, 0, 0)
	}
	var offers sched.Offers
	for n := range state.NodeID(8) {
		offers.Heartbeat(sched.PerNode{NodeModel: w.m}, w.v, n, func(d sched.Decision) bool { return w.s.Start(d.Job, d.Task, d.Node) == nil })
	}
	if got := [3]int32{w.v.Running(0, state.Map), w.v.Running(1, state.Map), w.v.Running(2, state.Map)}; got != [3]int32{15, 3, 14} {
		t.Errorf("pools run %v maps, want 15, 3 and 14", got)
	}
}

// TestFifoAgainstFair has the paper's figures 4 and 5: 3 map and 3 reduce slots,
// three jobs of 3 maps and 3 reduces of 20 s, reduces after all maps. FIFO ends
// them at 40, 60 and 80 s. One slot of each kind for each pool ends all at 120 s.
func TestFifoAgainstFair(t *testing.T) {
	ends := func(model string, p sched.Params) []int {
		m := errtest.Must(sched.New(model, p))
		s := state.New()
		addNodes(t, s, 1, 6)
		s.SetSlots(3, 3)
		for job := range 3 {
			submit(t, s, &state.JobSpec{Name: "job", Pool: fmt.Sprint("p", job), Maps: 3, Reduces: 3, MapSize: slot, ReduceSize: slot})
		}
		v := s.View()
		var offers sched.Offers
		var running []sched.Decision
		end := make([]int, 3)
		for seconds := 0; seconds <= 200; seconds += 20 {
			for _, d := range running {
				errtest.None(t, s.Finish(d.Job, d.Task))
				if v.Done(d.Job, state.Map) == 3 {
					s.Ask(d.Job, state.Reduce, 3)
				}
				if v.Done(d.Job, state.Reduce) == 3 {
					end[d.Job] = seconds
				}
			}
			running = running[:0]
			for beat := range 3 { // fifo1 starts one reduce in a heartbeat
				s.SetNow(int64(seconds)*1e9 + int64(beat)*1e6)
				offers.Heartbeat(m, v, 0, func(d sched.Decision) bool {
					running = append(running, d)
					return s.Start(d.Job, d.Task, d.Node) == nil
				})
			}
		}
		return end
	}
	if got := ends("fifo1", nil); !slices.Equal(got, []int{40, 60, 80}) {
		t.Errorf("fifo1 ends the jobs at %v s, want 40, 60 and 80", got)
	}
	if got := ends("fair1", sched.Params{"maxMaps": "*=1", "maxReduces": "*=1"}); !slices.Equal(got, []int{120, 120, 120}) {
		t.Errorf("fair1 with one slot a pool ends the jobs at %v s, want 120 each", got)
	}
}
