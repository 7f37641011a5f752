package steer_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/traces"
	"heddle/yarnclient/yarntest"
)

// capacityStep leaves a node (all, if Node is -1) so many of its slots.
type capacityStep struct{ At, Node, Slots int }

func drawCapacity(t *rapid.T, s *schedule) {
	for range rapid.IntRange(1, 6).Draw(t, "capacity steps") {
		s.Capacity = append(s.Capacity, capacityStep{
			At: evenly(horizon).Draw(t, "capacity at"), Node: rapid.IntRange(-1, s.Racks*s.PerRack-1).Draw(t, "capacity of"),
			Slots: rapid.IntRange(0, s.Slots).Draw(t, "slots left"),
		})
	}
	s.Capacity = append(s.Capacity, capacityStep{At: horizon + 1, Node: -1, Slots: s.Slots}) // else a job might never end
	slices.SortStableFunc(s.Capacity, func(a, b capacityStep) int { return cmp.Compare(a.At, b.At) })
}

// capacity is what the steps say in an experiment.
func (s *schedule) capacity(hosts []string) (c config.Capacity) {
	for _, step := range s.Capacity {
		x := config.CapacityStep{At: units.Duration(ms(step.At)), Left: float64(step.Slots) / float64(s.Slots)}
		if step.Node >= 0 {
			x.Node = hosts[step.Node]
		}
		c.Steps = append(c.Steps, x)
	}
	if len(c.Steps) > 0 {
		c.Container, c.Told, c.Lag, c.Noise = 512<<20, s.told.Told, s.told.Lag, s.told.Noise
	}
	return c
}

// leaves is how many slots the steps leave a node after a time in ms, and how long ago
// that changed.
func (s *schedule) leaves(node, at int) (slots, ago int) {
	slots, ago = s.Slots, at
	for _, step := range s.Capacity {
		if step.At <= at && (step.Node == node || step.Node < 0) && step.Slots != slots {
			slots, ago = step.Slots, at-step.At
		}
	}
	return slots, ago
}

// TestCapacitySchedules has a Core live through random schedules in which the capacity of
// nodes changes. Each job ends and each decision has one outcome, as ever. No size is set that
// is more than what the timetable leaves. If nothing else goes wrong, no container starts where less is left
// than is in use, and the nodes end with their own size.
func TestCapacitySchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := drawSchedule(t)
		if rapid.Bool().Draw(t, "nothing else") {
			plan.Troubles, plan.Mishaps = nil, nil
		}
		drawCapacity(t, &plan)
		if err := outcomeOf(plan, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSpoiltSizes has sizes set that the timetable does not leave: the schedules tell.
func TestSpoiltSizes(t *testing.T) {
	plans := rapid.Custom(func(t *rapid.T) schedule {
		plan := drawSchedule(t)
		plan.Troubles, plan.Mishaps = nil, nil
		drawCapacity(t, &plan)
		return plan
	})
	for name, spoil := range map[string]func(slots int, set *steer.SetSize) []steer.Action{
		"all sizes are the node's own": func(slots int, set *steer.SetSize) []steer.Action {
			set.Total.MemoryMB = int64(slots) * 512
			return []steer.Action{set}
		},
		"sizes are left as they are": func(slots int, set *steer.SetSize) []steer.Action {
			set.Node = "master:45454"
			return []steer.Action{set}
		},
	} {
		found := false
		for seed := 0; seed < 20 && !found; seed++ {
			plan := plans.Example(seed)
			err := outcomeOf(plan, func(a steer.Action) []steer.Action {
				if set, is := a.(*steer.SetSize); is {
					return spoil(plan.Slots, set)
				}
				return []steer.Action{a}
			})
			found = err != nil
			t.Log(name, ": ", err)
		}
		if !found {
			t.Errorf("%s: 20 schedules find nothing wrong", name)
		}
	}
}

// judgeCapacity holds the changes that were recorded against the timetable, and the containers
// that came against what was left.
func (s *shell) judgeCapacity() error {
	if len(s.Capacity) == 0 || len(s.Troubles)+len(s.Mishaps) > 0 {
		return nil
	}
	began, changed := time.Duration(-1), map[string]bool{}
	for _, e := range s.events {
		if e, is := e.(*traces.NodeCapacity); is && began < 0 {
			began = time.Duration(e.T) // moved to the start of the timetable below
			at := slices.IndexFunc(s.Capacity, func(step capacityStep) bool {
				return slices.ContainsFunc(s.hosts, func(host string) bool {
					slots, _ := s.leaves(slices.Index(s.hosts, host), step.At)
					return slots < s.Slots
				})
			})
			began -= ms(s.Capacity[at].At)
		}
	}
	if began < 0 {
		return nil // the timetable leaves all
	}
	for _, e := range s.events {
		e, is := e.(*traces.NodeCapacity)
		if !is {
			continue
		}
		node, at := slices.Index(s.hosts, string(e.Node)), int((time.Duration(e.T)-began)/time.Millisecond)
		slots, ago := s.leaves(node, at)
		if e.MemoryBytes>>20 != int64(slots)*512 || ago > 0 {
			s.wrong("%+v: the timetable leaves %d slots, since %d ms before", e, slots, ago)
		}
		changed[fmt.Sprint(node, " ", slots)] = true
	}
	var ran []yarntest.Attempt
	for _, j := range s.jobs {
		ran = append(ran, s.cluster.Attempts(j.id)...)
	}
	for _, a := range ran {
		with := 0
		for _, b := range ran {
			if b.Host == a.Host && !b.Allocated.After(a.Allocated) && b.Finished.After(a.Allocated) {
				with++
			}
		}
		// A call takes 8 ms at most, there and back.
		slots, ago := s.leaves(slices.Index(s.hosts, a.Host), int((a.Allocated.Sub(s.origin)-began)/time.Millisecond))
		if with > slots && ago > 8 {
			s.wrong("%s is container %d on %s, of which %d slots are left for %d ms", a.ID, with, a.Host, slots, ago)
		}
	}
	for i, host := range s.hosts {
		n, err := s.rm.Node(context.Background(), host+":45454")
		if err != nil {
			return err
		}
		if changed[fmt.Sprint(i, " 0")] && n.Total.MemoryMB == 0 {
			s.wrong("%s ends with nothing, and the timetable leaves all of it", host)
		}
	}
	return s.err
}

// checkSize checks a size that is to be set against what is left.
func (s *shell) checkSize(a *steer.SetSize) {
	host, _, _ := strings.Cut(a.Node, ":")
	if left, changed := s.left[host]; a.Total.MemoryMB < 0 || a.Total.MemoryMB > int64(s.Slots)*512 || changed && a.Total.MemoryMB > left {
		s.wrong("%v: the node has %d slots, and %d MB are left", a, s.Slots, left)
	}
}

// foresees is a model that keeps the timetable that it is told.
type foresees struct {
	sched.Model
	told *state.Timetable
}

func (m *foresees) Unwrap() sched.Model        { return m.Model }
func (m *foresees) Foresee(t *state.Timetable) { m.told = t }

// TestForeseen has a model be told when the capacity of nodes will change, in its own time,
// before that happens: exactly, late, in error, or not at all.
func TestForeseen(t *testing.T) {
	for _, x := range []struct {
		told   config.Capacity
		lateMs int64
		leftMB [2]int32 // the least and the most that the first change may be said to leave, in MB
	}{
		{config.Capacity{}, 0, [2]int32{0, 0}},
		{config.Capacity{Lag: units.Duration(3 * time.Second)}, 3000, [2]int32{0, 0}},
		{config.Capacity{Noise: 0.5}, 0, [2]int32{0, 256}},
	} {
		m, s := foreseen(t, x.told)
		if m.told == nil {
			t.Fatalf("%+v: the model is told nothing", x.told)
		}
		changes := 0
		for _, e := range s.events {
			if c, ok := e.(*traces.NodeCapacity); ok {
				told, ok := m.told.Change(changes)
				if apart := int64(c.T)/1e6 + x.lateMs - told.AtMs; !ok || string(c.Node) != told.Node || apart < 0 || apart > 1000 {
					t.Errorf("%+v: change %d at %d ms of %s, told was %+v", x.told, changes, int64(c.T)/1e6, c.Node, told)
				}
				changes++
			}
		}
		if changes != 2 || len(m.told.Changes) != 2 {
			t.Fatalf("%+v: %d changes, and told are %+v, want 2", x.told, changes, m.told.Changes)
		}
		if mb := m.told.Changes[0].Left.MemoryMB; mb < x.leftMB[0] || mb > x.leftMB[1] || m.told.Changes[1].Left.MemoryMB != 512 {
			t.Errorf("%+v: told are %+v, want %d MB and 512", x.told, m.told.Changes, x.leftMB)
		}
	}
	if m, _ := foreseen(t, config.Capacity{Told: config.CapacityNone}); m.told != nil {
		t.Errorf("a model that is to be told nothing is told %+v", m.told)
	}
}

// foreseen steers one job with a model that keeps what it is told of the node's capacity: none
// of it is left from 2 s to 5 s.
func foreseen(t *testing.T, told config.Capacity) (*foresees, *shell) {
	t.Helper()
	fifo := must(sched.New("fifo", nil))
	m := &foresees{Model: fifo}
	s := must(newShell(schedule{
		Racks: 1, PerRack: 2, Slots: 1, Triples: 1, Splits: config.SplitsAsSubmitted, model: m, Seed: 1,
		Jobs:     []jobPlan{{At: 500, Runs: 6000, Maps: [][]int{{0}, {1}}}},
		Capacity: []capacityStep{{At: 2000, Node: 0, Slots: 0}, {At: 5000, Node: 0, Slots: 1}}, told: told,
	}))
	defer s.rm.Close()
	mustDo(t, s.run())
	return m, s
}

// TestPredicted has what a model predicts in the trace: when the job is submitted, and when
// half and 90 % of its maps have succeeded.
func TestPredicted(t *testing.T) {
	fifo := must(sched.New("fifo", nil))
	plan := schedule{
		Racks: 1, PerRack: 1, Slots: 1, Triples: 1, Splits: config.SplitsAsSubmitted, Seed: 1,
		Jobs:  []jobPlan{{At: 500, Runs: 1000, Maps: make([][]int, 10)}},
		model: sched.PerNode{NodeModel: &schedtest.Listener{NodeModel: fifo.(sched.PerNode).NodeModel, Period: 1000}},
	}
	for i := range plan.Jobs[0].Maps {
		plan.Jobs[0].Maps[i] = []int{0}
	}
	s := must(newShell(plan))
	defer s.rm.Close()
	mustDo(t, s.run())
	var got []string
	for _, e := range s.events {
		if e, ok := e.(*traces.JobPredicted); ok {
			got = append(got, fmt.Sprintf("%d %v", e.DonePct, time.Duration(e.End-e.T)))
		}
	}
	if want := "[0 5s 50 5s 90 5s]"; fmt.Sprint(got) != want {
		t.Errorf("predictions %v, want %s", got, want)
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
