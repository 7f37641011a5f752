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
	counted map[string]float64 // the same as a factor for WordCount alone; none: 1
	least   float64            // the bound of all seconds; 0: none is known
	local   map[string]float64 // percentages: local rate of the applications, and of WordCount with blocks of 128 MB
	join    map[string]float64 // points by which the local rate of Join differs
	most    map[string]float64 // points by which that of Aggregation does
	small   map[string]float64 // local rate with blocks of 64 MB
	large   map[string]float64 // and of 256 MB
	tiny    map[string]float64 // local rate with 10 maps, 60 % cached
	fifty   map[string]float64 // with 50
	hundred map[string]float64 // with 100
	cache   map[string]float64 // cache rate at 100 maps
	perGB   map[string]float64 // points that the cache rate gains with each GB of cache
	cached  float64            // cached anywhere, at 100 maps
	room    float64            // the same for each GB of cache, in points
	wait    map[string]float64 // seconds until a map starts, on maps of equal time
	noise   float64            // of all seconds and rates, as a share
}

// published is as the paper has it, with sizes of our own where it prints none.
func published() world {
	same := func(x float64) map[string]float64 {
		return map[string]float64{fifo: x, delay: x, acl: x, acl2: x, acl5: x, learner: x}
	}
	w := world{seconds: same(100), counted: map[string]float64{learner: 1.05}, local: same(70), join: same(-3), most: same(3), cache: same(25), perGB: same(0.75), cached: 80, room: 9, wait: same(60), noise: 0.002}
	maps.Copy(w.seconds, map[string]float64{delay: 91.4, acl: 80.6, learner: 73.46})
	maps.Copy(w.local, map[string]float64{delay: 83.8, acl: 87.6, learner: 90.8})
	w.small = map[string]float64{fifo: 60, delay: 80, acl: 84, learner: 85.7}
	w.large = map[string]float64{fifo: 75, delay: 89, acl: 92, learner: 93}
	w.tiny = map[string]float64{fifo: 70, delay: 98, acl: 97.5, learner: 97}
	w.fifty = map[string]float64{fifo: 71, delay: 98.5, acl: 99.8, learner: 99.7}
	w.hundred = map[string]float64{fifo: 70, delay: 95, acl: 96, learner: 97.2}
	maps.Copy(w.cache, map[string]float64{delay: 35, acl: 46, learner: 55})
	maps.Copy(w.perGB, map[string]float64{acl2: 4.25, acl5: 6.25, learner: 6})
	maps.Copy(w.wait, map[string]float64{acl: 61.5, acl5: 62})
	return w
}

// localRate returns the local rate of a scheduler in a setting.
func (w *world) localRate(x testbed, label string) float64 {
	byMaps := map[int]map[string]float64{10: w.tiny, 50: w.fifty, 100: w.hundred}
	switch list := byMaps[x.Maps]; {
	case x.CachedPct > 0 && list != nil:
		return list[label]
	case x.Block == 64<<20:
		return w.small[label]
	case x.Block == 256<<20:
		return w.large[label]
	case x.App == "join":
		return w.local[label] + w.join[label]
	case x.App == "aggregation":
		return w.local[label] + w.most[label]
	}
	return w.local[label]
}

// simulate returns what the world has for a case. Each seed strays differently
// from it under each scheduler.
func (w world) simulate(c paper.Case, seed uint64) (paper.Simulation, error) {
	x, label := c.Setting.(testbed), c.Scheduler.Label
	h := fnv.New64a()
	h.Write([]byte(label))
	stray := 1 + w.noise*(float64((seed^h.Sum64())%1009)/504-1)
	s := paper.Simulation{Seconds: w.seconds[label] * stray, Least: w.least, Trained: 1000}
	if f := w.counted[label]; f > 0 && x.App == "wordcount" {
		s.Seconds *= f
	}
	cache, cached := w.cache[label], w.cached
	if x.CachedPct == 0 { // Figure 5, and what else has no share of its own
		gb := float64(x.Cache) / (1 << 30)
		cache, cached = gb*w.perGB[label], gb*w.room
	}
	const maps = 100_000
	s.Times.Levels[1].Maps, s.Times.BeforeStart = maps, maps*1000*w.wait[label]*stray
	part := func(percent float64) int { return int(math.Round(maps * min(percent, 100) / 100)) }
	s.Locality = measure.Locality{Cache: part(cache * stray)}
	s.Locality.Node = max(0, part(w.localRate(x, label)*stray)-s.Locality.Cache)
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
	return criterion(r, id)
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
	{"C1", paper.Fails, 12, func(w *world) {
		w.seconds[delay], w.seconds[acl], w.seconds[learner], w.counted = 100, 100, 100, nil
	}},
	{"C1", paper.Reversed, 12, func(w *world) { w.seconds[acl] = 70 }},
	{"C1", paper.Ceiling, 12, func(w *world) {
		w.noise, w.counted, w.least = 0, nil, 100
		w.seconds[delay], w.seconds[acl], w.seconds[learner] = 100, 100, 100
	}},
	{"C1", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C2", paper.Holds, 12, func(*world) {}},
	{"C2", paper.Direction, 12, func(w *world) { w.seconds[learner] = 92 }},
	{"C2", paper.Direction, 12, func(w *world) { w.seconds[learner], w.least = 92, 90 }}, // there is room for 10 %
	{"C2", paper.Ceiling, 12, func(w *world) { w.seconds[learner], w.least = 92, 92 }},
	{"C2", paper.Fails, 12, func(w *world) { w.seconds[learner], w.counted = 100, nil }},
	{"C2", paper.Reversed, 12, func(w *world) { w.seconds[learner] = 102 }},
	{"C2", paper.NotTestable, few, func(w *world) { w.seconds[learner], w.noise = 90, 0.5 }},
	{"C3", paper.Holds, 12, func(*world) {}},
	{"C3", paper.Direction, 12, func(w *world) { w.seconds[learner], w.counted = 79, nil }},
	{"C3", paper.Ceiling, 12, func(w *world) { w.seconds[learner], w.counted, w.least = 79, nil, 79 }},
	{"C3", paper.Fails, 12, func(w *world) { w.seconds[learner], w.counted = 80.6, nil }},
	{"C3", paper.Reversed, 12, func(w *world) { w.seconds[learner] = 82 }},
	{"C3", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C4", paper.Holds, 12, func(*world) {}},
	{"C4", paper.Direction, 12, func(w *world) { w.local[learner], w.local[delay], w.local[acl] = 75, 72, 74 }},
	{"C4", paper.Fails, 12, func(w *world) { w.local[learner], w.local[delay] = 70, 70 }},
	{"C4", paper.Reversed, 12, func(w *world) { w.local[delay] = 95 }},
	{"C4", paper.Direction, 12, func(w *world) {
		w.local, w.join, w.most = map[string]float64{fifo: 95, delay: 96, acl: 98, learner: 98}, nil, nil
	}}, // 5 points are left
	{"C4", paper.Ceiling, 12, func(w *world) {
		w.local, w.join, w.most, w.noise = map[string]float64{fifo: 100, delay: 100, acl: 100, learner: 100}, nil, nil, 0
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
	{"C8", paper.Direction, 12, func(w *world) { w.fifty[fifo] = w.tiny[fifo] }},
	{"C8", paper.Fails, 12, func(w *world) { w.fifty[learner] = w.tiny[learner] }},
	{"C8", paper.Reversed, 12, func(w *world) { w.large[delay] = 75 }},
	{"C8", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C9", paper.Holds, 12, func(*world) {}},
	{"C9", paper.Direction, 12, func(w *world) { w.hundred[acl] = w.tiny[acl] }},
	{"C9", paper.Fails, 12, func(w *world) { w.hundred[delay] = w.tiny[delay] }},
	{"C9", paper.Reversed, 12, func(w *world) { w.hundred[learner] = 80 }},
	{"C9", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C10", paper.Holds, 12, func(*world) {}},
	{"C10", paper.Reversed, 12, func(w *world) { w.tiny[acl] = 80 }},
	{"C10", paper.NotTestable, 12, func(w *world) { w.noise = 0.05 }},
	{"C11", paper.Holds, 12, func(*world) {}},
	{"C11", paper.Reversed, 12, func(w *world) { w.small[learner] = 70 }},
	{"C11", paper.NotTestable, 12, func(w *world) { w.noise = 0.1 }},
	{"C12", paper.Holds, 12, func(*world) {}},
	{"C12", paper.Direction, 12, func(w *world) { w.small[acl], w.local[acl], w.large[acl] = 78, 81.8, 93 }},
	{"C12", paper.Fails, 12, func(w *world) {
		for _, list := range []map[string]float64{w.small, w.local, w.large} {
			list[fifo], list[acl] = list[learner], list[learner]
		}
	}},
	{"C12", paper.Reversed, 12, func(w *world) { w.large[learner] = 80 }},
	{"C12", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C13", paper.Holds, 12, func(*world) {}},
	{"C13", paper.Direction, 12, func(w *world) { w.fifty[acl], w.fifty[fifo] = w.tiny[acl]+0.5, w.tiny[fifo]+0.5 }},
	{"C13", paper.Fails, 12, func(w *world) { maps.Copy(w.fifty, w.tiny) }},
	{"C13", paper.Reversed, 12, func(w *world) { w.fifty[fifo] = 90 }},
	{"C13", paper.Ceiling, 12, func(w *world) {
		w.noise, w.tiny[learner], w.tiny[acl] = 0, 100, 100
		maps.Copy(w.fifty, w.tiny)
	}},
	{"C13", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C14", paper.Holds, 12, func(*world) {}},
	{"C14", paper.Direction, 12, func(w *world) { w.perGB[acl2] = 6 }},
	{"C14", paper.Reversed, 12, func(w *world) { w.perGB[learner] = 2 }},
	{"C14", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C15", paper.Holds, 12, func(*world) {}},
	{"C15", paper.Direction, 12, func(w *world) { w.most[fifo] = -0.75 }},
	{"C15", paper.Fails, 12, func(w *world) { w.join[learner] = 0.75 }},
	{"C15", paper.Reversed, 12, func(w *world) { w.join[learner] = 5 }},
	{"C15", paper.Ceiling, 12, func(w *world) {
		w.local, w.join, w.most, w.noise = map[string]float64{fifo: 100, learner: 100}, nil, nil, 0
	}},
	{"C15", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C16", paper.Holds, 12, func(*world) {}},
	{"C16", paper.Direction, 12, func(w *world) { w.seconds[learner] = 87 }},
	{"C16", paper.Fails, 12, func(w *world) { w.seconds[learner], w.counted = 91.4, nil }},
	{"C16", paper.Reversed, 12, func(w *world) { w.seconds[learner] = 95 }},
	{"C16", paper.Ceiling, 12, func(w *world) { w.seconds[learner], w.least = 87, 88 }},
	{"C16", paper.NotTestable, few, func(w *world) { w.seconds[learner], w.noise = 85, 0.5 }},
	{"C17", paper.Holds, 12, func(*world) {}},
	{"C17", paper.Direction, 12, func(w *world) { w.seconds[learner] = 79 }},
	{"C17", paper.Fails, 12, func(w *world) { w.seconds[learner], w.seconds[acl] = 100, 100 }},
	{"C17", paper.Reversed, 12, func(w *world) { w.seconds[learner] = 102 }},
	{"C17", paper.Ceiling, 12, func(w *world) { w.seconds[learner], w.seconds[acl], w.least = 98, 98.5, 98 }},
	{"C17", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C18", paper.Holds, 12, func(*world) {}},
	{"C18", paper.Fails, 12, func(w *world) { w.counted = nil }},
	{"C18", paper.Fails, 12, func(w *world) { w.seconds[learner] = 100 }}, // it only loses in WordCount
	{"C18", paper.Reversed, 12, func(w *world) { w.counted[learner] = 0.9 }},
	{"C18", paper.Reversed, 12, func(w *world) { w.seconds[learner], w.counted[learner] = 102, 1.1 }}, // it loses less, and gains nowhere
	{"C18", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
	{"C20", paper.Holds, 12, func(*world) {}},
	{"C20", paper.Direction, 12, func(w *world) { w.wait[acl] = 60 }},
	{"C20", paper.Reversed, 12, func(w *world) { w.wait[learner] = 65 }},
	{"C20", paper.NotTestable, few, func(w *world) { w.noise = 0 }},
}

// cannot has the verdicts that a claim cannot have.
var cannot = map[string][]paper.Verdict{
	"C6":  {paper.Ceiling},                               // where FIFO rises, which the ratio needs, there was room
	"C7":  {paper.Ceiling},                               // no bound of waits is known
	"C8":  {paper.Ceiling},                               // a scheduler that begins at 100 % cannot rise; TestNoRoom
	"C9":  {paper.Ceiling},                               // no bound of falls is asked
	"C10": {paper.Direction, paper.Fails, paper.Ceiling}, // equivalence alone
	"C11": {paper.Direction, paper.Fails, paper.Ceiling}, // equivalence alone
	"C12": {paper.Ceiling},                               // equivalence has no room
	"C14": {paper.Fails, paper.Ceiling},                  // the first is an equivalence
	"C18": {paper.Direction, paper.Ceiling},              // of which only signs are asked for
	"C19": paper.Verdicts,                                // reported only
	"C20": {paper.Fails, paper.Ceiling},                  // the first is an equivalence
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
			if !have[c.ID+" "+string(v)] && !slices.Contains(cannot[c.ID], v) {
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
		if claim.Kind == paper.ReportOnly {
			continue
		}
		for i := range len(w.criterion(t, Paper(), claim.ID, 12).Effects) {
			p := Paper()
			p.Claims = append([]paper.Claim{}, claims...)
			p.Claims[k].Effects = func(d *paper.Data) []paper.Effect {
				effects := claim.Effects(d)
				e := &effects[i].Estimate
				of := 2 * effects[i].None
				if band := effects[i].Band; band[1] > 0 { // beyond the band, by as much as it is wide
					of = 2*band[1] + band[1] - band[0] + e.Value
					e.Lo, e.Hi = e.Value, e.Value
				}
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
	for _, c := range Paper().Controls {
		label := c.Label
		w.seconds[label], w.local[label], w.cache[label], w.perGB[label], w.wait[label] = 120, 40, 10, 0.1, 70
		w.small[label], w.large[label], w.tiny[label], w.fifty[label], w.hundred[label] = 50, 45, 50, 40, 30
	}
	for _, c := range claims {
		got := w.criterion(t, Paper(), c.ID, 12)
		if about := c.ID != "C7" && c.ID != "C10" && c.ID != "C19"; got.AboutMethod != about || got.NeededMethod != about {
			t.Errorf("%s: about the method %t, needs it %t: %+v %+v", c.ID, got.AboutMethod, got.NeededMethod, got.Controls, got.Bar)
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
	if got := criterion(r, "C8").Verdict; got != paper.Ceiling {
		t.Errorf("C8 where all maps are local: %s, want %s", got, paper.Ceiling)
	}
	return criterion(r, "C8").Effects
}

// criterion returns a claim's verdict in a report.
func criterion(r *paper.Report, id string) paper.Criterion {
	return r.Criteria[slices.IndexFunc(r.Criteria, func(c paper.Criterion) bool { return c.ID == id })]
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
	if want := 100 * (1 - 0.7346*(4+1.05)/5); math.Abs(float64(got[2].Value)-want) > 0.2 { // WordCount takes 1.05 times as long
		t.Errorf("time saved %v, want about %v %%", got[2], want)
	}
}
