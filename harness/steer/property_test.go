package steer_test

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/steer"
	"heddle/traces"
)

// outcomeOf has a Core live through a schedule, and says what was wrong.
func outcomeOf(plan schedule, spoil func(steer.Action) []steer.Action) error {
	s, err := newShell(plan)
	if err != nil {
		return err
	}
	defer s.rm.Close()
	s.spoil = spoil
	return s.run()
}

// TestSchedules has a Core live through random schedules of what may go wrong.
// Each job ends, each decision has one outcome, and the nodes end parked.
func TestSchedules(t *testing.T) {
	if os.Getenv("HEDDLE_LONG") != "" {
		mustDo(t, flag.Set("rapid.checks", "1000"))
	}
	rapid.Check(t, func(t *rapid.T) {
		if err := outcomeOf(drawSchedule(t), nil); err != nil {
			t.Fatal(err)
		}
	})
	if waited, free := steer.WaitsChecked(); waited < 10 || free < 10 {
		t.Errorf("%d openings that had to wait, and %d others: too few to check mustWait", waited, free)
	}
}

// TestSchedulesOnceFound has those that a Core did not live through at first, and
// those that tell a spoilt one, which random schedules rarely do.
func TestSchedulesOnceFound(t *testing.T) {
	for _, c := range []struct {
		name string
		plan schedule
	}{
		{"a label for an ApplicationMaster arrives after it was given up", schedule{
			Racks: 1, PerRack: 2, Slots: 1, Triples: 1, Model: "fifo", Splits: config.SplitsCachedOnly,
			Jobs:     []jobPlan{{At: 10, Maps: [][]int{{}}, Runs: 2428}},
			Troubles: []trouble{{From: 9, For: 1937, Class: "labels", Fate: doneAfter, Delay: 1021}},
		}},
		{"nodes are not looked at for a minute, because one answer was late", schedule{
			Racks: 1, PerRack: 2, Slots: 1, Triples: 1, Model: "fifo",
			Jobs:     []jobPlan{{At: 3090, Maps: [][]int{{}}, Runs: 50}},
			Troubles: []trouble{{From: 6180, For: 1954, Class: "labels", Fate: doneAfter, Delay: 2473}, {From: 0, For: 4000, Fate: lost}},
		}},
		{"a container is first listed when its node was closed again", schedule{
			Racks: 1, PerRack: 1, Slots: 1, Triples: 1, Async: true, Model: "fifo",
			Jobs:     []jobPlan{{At: 10, Maps: [][]int{{}}, Runs: 20000}},
			Troubles: []trouble{{From: 300, For: 5000, Class: "containers", Fate: lost}},
		}},
		{"a listing from before the container came is answered when the node was closed again", schedule{
			Racks: 1, PerRack: 1, Slots: 1, Triples: 1, Async: true, Model: "fifo", Seed: 6,
			Jobs: []jobPlan{{At: 10, Maps: [][]int{{}}, Runs: 20000}},
			Troubles: []trouble{
				{From: 520, For: 30, Class: "labels", Fate: arrivesLate, Delay: 2990},
				{From: 540, For: 5000, Class: "containers", Fate: answersLate, Delay: 2990},
			},
		}},
		{"a reduce that was killed runs again while YARN still lists its first container, on a node that is lost", schedule{
			Racks: 1, PerRack: 3, Slots: 2, Triples: 2, Model: "delay", Splits: config.SplitsAsSubmitted, Seed: 1,
			Jobs: []jobPlan{
				{At: 1970, Maps: [][]int{{2}}, Reduces: 2, Runs: 1680, Fails: []int{0}},
				{At: 2170, Maps: [][]int{{2, 1}, {}, {}, {1, 2}, {0}, {1}, {1}, {}, {}, {2}, {0}, {0, 1}}, Runs: 2185},
			},
			Mishaps: []mishap{{At: 8880, What: "node lost", Node: 1, For: 3553}},
		}},
		{"a container is first listed after the ApplicationMaster said that its task had succeeded", schedule{
			Racks: 1, PerRack: 2, Slots: 2, Triples: 2, Model: "delay", Splits: config.SplitsAsSubmitted, Seed: 1,
			Jobs:     []jobPlan{{At: 790, Maps: [][]int{{0}, {}, {0}, {}}, Reduces: 1, Runs: 50}},
			Troubles: []trouble{{From: 0, For: 1954, Class: "containers", Fate: doneAfter, Delay: 1889}},
		}},
		{"a map runs again, its first attempt lost with its node while the ResourceManager restarted", schedule{
			Racks: 1, PerRack: 2, Slots: 2, Triples: 3, Model: "delay", Splits: config.SplitsAsSubmitted,
			Jobs: []jobPlan{
				{At: 1630, Maps: [][]int{{1}}, Reduces: 1, Runs: 50, Fails: []int{0, 0}},
				{At: 4270, Maps: [][]int{{}, {0}, {}, {}}, Reduces: 2, Runs: 1095, Fails: []int{2}},
				{At: 3880, Maps: [][]int{{0, 1}}, Reduces: 2, Runs: 1260, Fails: []int{0, 0}},
			},
			Troubles: []trouble{{From: 1060, For: 1288, Class: "app", Fate: arrivesLate, Delay: 3001}},
			Mishaps: []mishap{
				{At: 240, What: "two containers at once", Node: 1, For: 3689},
				{At: 9560, What: "shell stalls", Node: 0, For: 3417},
				{At: 8780, What: "node lost", Node: 0, For: 1},
				{At: 8540, What: "ResourceManager restarted", Node: 1, For: 1},
				{At: 6180, What: "node lost", Node: 0, For: 3953},
			},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := outcomeOf(c.plan, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSpoiltCores has Cores whose actions are not what they should be: the schedules
// tell each from a good one.
func TestSpoiltCores(t *testing.T) {
	// outcomes has each outcome of an even decision replaced.
	outcomes := func(by func(a *steer.Record, e traces.Actuation) []steer.Action) func(steer.Action) []steer.Action {
		return func(a steer.Action) []steer.Action {
			if r, is := a.(*steer.Record); is {
				if e, is := r.Event.(*traces.Actuation); is && e.Decision%2 == 0 {
					return by(r, *e)
				}
			}
			return []steer.Action{a}
		}
	}
	// labels has what nodes are given changed.
	labels := func(change func(labelOf map[string]string, node, label string)) func(steer.Action) []steer.Action {
		return func(a steer.Action) []steer.Action {
			if set, is := a.(*steer.SetLabels); is {
				for node, label := range set.LabelOf {
					change(set.LabelOf, node, label)
				}
			}
			return []steer.Action{a}
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(steer.Action) []steer.Action
	}{
		{"outcomes left out", outcomes(func(*steer.Record, traces.Actuation) []steer.Action { return nil })},
		{"outcomes told twice", outcomes(func(r *steer.Record, _ traces.Actuation) []steer.Action { return []steer.Action{r, r} })},
		{"outcomes of another decision", outcomes(func(_ *steer.Record, e traces.Actuation) []steer.Action {
			e.Decision--
			return []steer.Action{&steer.Record{Event: &e}}
		})},
		{"containers of others", outcomes(func(_ *steer.Record, e traces.Actuation) []steer.Action {
			e.Container = "container_1"
			return []steer.Action{&steer.Record{Event: &e}}
		})},
		{"nodes left open", labels(func(labelOf map[string]string, node, label string) {
			if label == "idle" {
				delete(labelOf, node)
			}
		})},
		{"nodes opened for the other kind", labels(func(labelOf map[string]string, node, label string) {
			if label[0] == 'm' {
				labelOf[node] = "r" + label[1:]
			}
		})},
		{"labels of nobody", labels(func(labelOf map[string]string, node, label string) {
			if label != "idle" {
				labelOf[node] = "m99"
			}
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			plans := rapid.Custom(drawSchedule)
			for seed := range 20 {
				if err := outcomeOf(plans.Example(seed), c.spoil); err != nil {
					t.Logf("schedule %d: %v", seed, err)
					return
				}
			}
			t.Error("20 schedules find nothing wrong")
		})
	}
}

// TestGroupsAllOrNone has a job's two reduces placed as a group while something goes
// wrong, at many times. Both come or none does; the job ends; and among these times are
// some at which one container of a group was there already when the group was given up.
func TestGroupsAllOrNone(t *testing.T) {
	late := 0
	for _, what := range []string{"node lost", "taken back", "given back", "master lost", "ResourceManager restarted"} {
		for at := 200; at < 2600; at += 100 {
			plan := schedule{
				Racks: 1, PerRack: 2, Slots: 1, Triples: 1, Model: grouped, Splits: config.SplitsAsSubmitted, Seed: uint64(at),
				Jobs:     []jobPlan{{At: 0, Reduces: 2, Runs: 300, Maps: [][]int{{0}, {1}}}},
				Troubles: []trouble{{From: at, For: 400, Class: "labels", Fate: arrivesLate, Delay: 900}},
				Mishaps:  []mishap{{At: at, What: what, Node: at / 100 % 2, For: 1500}},
			}
			if what != "node lost" {
				plan.Mishaps[0].Node = 0 // the job
			}
			s := must(newShell(plan))
			if err := s.run(); err != nil {
				t.Errorf("%s at %d ms: %v", what, at, err)
			}
			s.rm.Close()
			for _, e := range s.events {
				if e, ok := e.(*traces.Actuation); ok && e.Outcome == "cancelled" && e.Container != "" {
					late++
				}
			}
		}
	}
	if late == 0 {
		t.Error("no group was given up after a container of it had come: the times test nothing")
	}
}
