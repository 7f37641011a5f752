package clqlmrs

import (
	"context"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/paper"
)

// world is a made-up outcome of all simulations. The claims judge it as if it
// had been simulated.
type world struct {
	seconds map[string]float64 // of jobs, by scheduler
	local   map[string]float64 // percentages: local rate of the applications
	grows   map[string]float64 // points that the local rate gains with larger blocks, and with more maps
	cache   map[string]float64 // cache rate at 100 maps
	perGB   map[string]float64 // points that the cache rate gains with each GB of cache
	cached  float64            // cached anywhere, at 100 maps
	room    float64            // the same for each GB of cache, in points
	wait    map[string]float64 // seconds of small jobs
	noise   float64            // of all seconds and rates, as a share
}

// published is as the paper has it, with sizes of our own where it prints none.
func published() world {
	same := func(x float64) map[string]float64 {
		return map[string]float64{fifo: x, delay: x, acl: x, acl2: x, acl5: x, learner: x}
	}
	w := world{seconds: same(100), local: same(70), grows: same(10), cache: same(25), perGB: same(0.75), cached: 80, room: 9, wait: same(60), noise: 0.002}
	maps.Copy(w.seconds, map[string]float64{delay: 91.4, acl: 80.6, learner: 73.46})
	maps.Copy(w.local, map[string]float64{delay: 83.8, acl: 87.6, learner: 90.8})
	maps.Copy(w.cache, map[string]float64{delay: 35, acl: 46, learner: 55})
	maps.Copy(w.perGB, map[string]float64{acl2: 4.25, acl5: 6.25, learner: 6})
	w.wait[acl5] = 62
	return w
}

// simulate returns what the world has for a case. Each seed strays differently
// from it under each scheduler.
func (w world) simulate(c paper.Case, seed uint64) (paper.Simulation, error) {
	x, label := c.Setting.(testbed), c.Scheduler.Label
	h := fnv.New64a()
	h.Write([]byte(label))
	stray := 1 + w.noise*(float64((seed^h.Sum64())%1009)/504-1)
	var s paper.Simulation
	s.Seconds = w.seconds[label] * stray
	if x.Tasks == "equal" {
		s.Seconds = w.wait[label] * stray
	}
	cache, cached := w.cache[label], w.cached
	if x.CachedPct == 0 { // Figure 5, and what else has no share of its own
		gb := float64(x.Cache) / (1 << 30)
		cache, cached = gb*w.perGB[label], gb*w.room
	}
	local := w.local[label]
	switch x.Maps {
	case 10, 200: // the first columns of Figures 7 and 6
		local = 80
	case 50: // the last ones
		local = 80 + w.grows[label]
	}
	const maps = 100_000
	part := func(percent float64) int { return int(math.Round(maps * min(percent, 100) / 100)) }
	s.Locality = measure.Locality{Cache: part(cache * stray)}
	s.Locality.Node = max(0, part(local*stray)-s.Locality.Cache)
	s.Locality.Rack = maps - s.Locality.Cache - s.Locality.Node
	s.Cached = int64(part(cached))
	return s, nil
}

func (w world) criterion(t *testing.T, p *paper.Paper, id string, seeds int) paper.Criterion {
	t.Helper()
	r, err := p.Run(context.Background(), paper.Options{Parts: []string{id}, Seeds: seeds, Workers: 2, Simulate: w.simulate})
	if err != nil {
		t.Fatal(err)
	}
	return r.Criteria[0]
}

const few = 4 // seeds, too few for an interval where all stray alike

// forced has a world for each verdict on each claim. What a world changes is
// changed in that of published.
var forced = []struct {
	claim  string
	want   paper.Verdict
	seeds  int
	change func(*world)
}{
	{"C1", paper.Holds, 12, func(*world) {}},
	{"C1", paper.Direction, 12, func(w *world) { w.seconds[delay] = 100 }},
	{"C1", paper.Fails, 12, func(w *world) { w.seconds[delay], w.seconds[acl], w.seconds[learner] = 100, 100, 100 }},
	{"C1", paper.Reversed, 12, func(w *world) { w.seconds[acl] = 70 }},
	{"C1", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C2", paper.Holds, 12, func(*world) {}},
	{"C2", paper.Direction, 12, func(w *world) { w.seconds[learner] = 92 }},
	{"C2", paper.Fails, 12, func(w *world) { w.seconds[learner] = 100 }},
	{"C2", paper.Reversed, 12, func(w *world) { w.seconds[learner] = 102 }},
	{"C2", paper.NotTestable, few, func(w *world) { w.seconds[learner], w.noise = 90, 0.5 }},
	{"C3", paper.Holds, 12, func(*world) {}},
	{"C3", paper.Fails, 12, func(w *world) { w.seconds[learner] = 80.6 }},
	{"C3", paper.Reversed, 12, func(w *world) { w.seconds[learner] = 82 }},
	{"C3", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C4", paper.Holds, 12, func(*world) {}},
	{"C4", paper.Direction, 12, func(w *world) { w.local[learner], w.local[delay], w.local[acl] = 75, 72, 74 }},
	{"C4", paper.Fails, 12, func(w *world) { w.local[learner], w.local[delay] = 70, 70 }},
	{"C4", paper.Reversed, 12, func(w *world) { w.local[delay] = 95 }},
	{"C4", paper.Direction, 12, func(w *world) { w.local = map[string]float64{fifo: 95, delay: 96, acl: 98, learner: 98} }}, // 5 points are left
	{"C4", paper.Ceiling, 12, func(w *world) {
		w.local, w.noise = map[string]float64{fifo: 100, delay: 100, acl: 100, learner: 100}, 0
	}},
	{"C4", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C5", paper.Holds, 12, func(*world) {}},
	{"C5", paper.Direction, 12, func(w *world) { w.cache[delay] = 25 }},
	{"C5", paper.Fails, 12, func(w *world) { w.cache = map[string]float64{fifo: 25, delay: 25, acl: 25, learner: 25} }},
	{"C5", paper.Reversed, 12, func(w *world) { w.cache[learner] = 40 }},
	{"C5", paper.Direction, 12, func(w *world) { w.cached, w.noise = 46, 0; w.cache[learner] = 46 }}, // ACL leaves the learner no room
	{"C5", paper.Ceiling, 12, func(w *world) {
		w.cache, w.cached, w.noise = map[string]float64{fifo: 25, delay: 25, acl: 25, learner: 25}, 25, 0
	}},
	{"C5", paper.NotTestable, 12, func(w *world) {
		w.cache, w.noise = map[string]float64{fifo: 25, delay: 25, acl: 25, learner: 28}, 0.8
	}},
	{"C6", paper.Holds, 12, func(*world) {}},
	{"C6", paper.Direction, 12, func(w *world) { w.perGB[learner] = 1.5 }},
	{"C6", paper.Direction, 12, func(w *world) { w.room, w.perGB[learner], w.perGB[acl2], w.perGB[acl5] = 2, 2, 2, 2 }}, // 2.67 times is all that there can be
	{"C6", paper.Fails, 12, func(w *world) { w.perGB[learner] = 0.75 }},
	{"C6", paper.Reversed, 12, func(w *world) { w.perGB[learner] = 0.2 }},
	{"C6", paper.NotTestable, 12, func(w *world) {
		w.perGB, w.noise = map[string]float64{fifo: 3, learner: 4, acl2: 4, acl5: 4}, 0.9
		w.room = 12
	}},
	{"C7", paper.Holds, 12, func(*world) {}},
	{"C7", paper.Direction, 12, func(w *world) { w.wait[acl5] = 60 }},
	{"C7", paper.Fails, 12, func(w *world) { w.perGB[acl5] = 4.25 }},
	{"C7", paper.Reversed, 12, func(w *world) { w.perGB[acl5] = 3 }},
	{"C7", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C8", paper.Holds, 12, func(*world) {}},
	{"C8", paper.Direction, 12, func(w *world) { w.grows[fifo] = 0 }},
	{"C8", paper.Fails, 12, func(w *world) { w.grows[learner] = 0 }},
	{"C8", paper.Reversed, 12, func(w *world) { w.grows[delay] = -5 }},
	{"C8", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
}

// TestForcedVerdicts has every claim come out in every way that it can.
func TestForcedVerdicts(t *testing.T) {
	have := map[string]bool{}
	for _, c := range forced {
		w := published()
		c.change(&w)
		got := w.criterion(t, Paper(), c.claim, c.seeds)
		if got.Verdict != c.want {
			t.Errorf("%s: %s, want %s: %s", c.claim, got.Verdict, c.want, got.Note)
		}
		have[c.claim+" "+string(c.want)] = true
	}
	for _, c := range claims {
		for _, v := range paper.Verdicts {
			cannot := c.ID == "C3" && v == paper.Direction || // one effect, of which only the sign is asked for
				v == paper.Ceiling && slices.Contains([]string{"C1", "C2", "C3", "C7"}, c.ID) || // no bound of times is known
				v == paper.Ceiling && c.ID == "C6" || // where FIFO rises, which the ratio needs, there was room
				v == paper.Ceiling && c.ID == "C8" // a scheduler that begins at 100 % cannot rise; TestNoRoom
			if !have[c.ID+" "+string(v)] && !cannot {
				t.Errorf("%s: nothing forces %s", c.ID, v)
			}
		}
	}
}

// TestFlippedEffects turns each effect of each claim round, in the world in
// which all claims hold. The verdict must notice.
func TestFlippedEffects(t *testing.T) {
	w := published()
	for k, claim := range claims {
		for i := range len(w.criterion(t, Paper(), claim.ID, 12).Effects) {
			p := Paper()
			p.Claims = append([]paper.Claim{}, claims...)
			p.Claims[k].Effects = func(d *paper.Data) []paper.Effect {
				effects := claim.Effects(d)
				e := &effects[i].Estimate
				of := 2 * effects[i].None
				e.Value, e.Lo, e.Hi = of-e.Value, of-e.Hi, of-e.Lo
				return effects
			}
			if got := w.criterion(t, p, claim.ID, 12); got.Verdict != paper.Reversed {
				t.Errorf("%s with effect %d turned round: %s, want %s", claim.ID, i+1, got.Verdict, paper.Reversed)
			}
		}
	}
}

// TestControls has a claim need the method only where no control meets it.
func TestControls(t *testing.T) {
	w := published()
	for _, label := range []string{"matching", "random", "ACL C=0"} {
		w.seconds[label], w.local[label], w.cache[label], w.perGB[label], w.grows[label] = 120, 40, 10, 0.1, 10
	}
	for _, c := range claims {
		got := w.criterion(t, Paper(), c.ID, 12)
		if about := c.ID != "C7"; got.AboutMethod != about || got.NeededMethod != (about && c.ID != "C8") {
			t.Errorf("%s: about the method %t, needs it %t: %+v", c.ID, got.AboutMethod, got.NeededMethod, got.Controls)
		}
	}
	w.seconds["matching"] = 70
	if got := w.criterion(t, Paper(), "C2", 12); got.Verdict != paper.Holds || got.NeededMethod || !got.NeedsNoMethod() || got.Controls[0].Verdict != paper.Holds {
		t.Errorf("matching saves as much, and the claim needs the method: %+v", got)
	}
}

// TestNoRoom has C8 know what cannot rise.
func TestNoRoom(t *testing.T) {
	for _, e := range growth100(t) {
		if e.Verdict != paper.Ceiling && e.Verdict != paper.Fails {
			t.Errorf("%s from 100 %%: %s", e.What, e.Verdict)
		}
	}
}

func growth100(t *testing.T) []paper.EffectJSON {
	t.Helper()
	full := func(c paper.Case, seed uint64) (paper.Simulation, error) {
		return paper.Simulation{Locality: measure.Locality{Node: 1000}}, nil
	}
	r, err := Paper().Run(context.Background(), paper.Options{Parts: []string{"C8"}, Seeds: 12, Simulate: full})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Criteria[0].Verdict; got != paper.Ceiling {
		t.Errorf("C8 where all maps are local: %s, want %s", got, paper.Ceiling)
	}
	return r.Criteria[0].Effects
}

// TestMeasures has the measures of a matrix be those of the five applications.
func TestMeasures(t *testing.T) {
	w := published()
	m, err := Paper().Matrix(context.Background(), paper.Options{Parts: []string{"C2"}, Seeds: 12, Simulate: w.simulate}, paper.Vary{Axes: []string{"reward"}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Readings); n != 4 {
		t.Errorf("%d readings of one axis, want 4", n)
	}
	got := m.Readings[0].Measures
	if math.Abs(float64(got[2].Value)-26.54) > 0.5 {
		t.Errorf("time saved %v, want about 26.54 %%", got[2])
	}
}
