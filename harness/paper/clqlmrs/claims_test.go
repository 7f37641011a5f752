package clqlmrs

import (
	"context"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/traces/errtest"
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
	w := world{
		seconds: same(100), counted: map[string]float64{learner: 1.05}, local: same(70), join: same(-3), most: same(3), cache: same(25),
		perGB: same(0.75), cached: 80, room: 9, wait: same(60), noise: 0.002,
	}
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

func (w world) criterion(t *testing.T, p *paper.Paper, id string) paper.Criterion {
	t.Helper()
	r := errtest.Must(p.Run(context.Background(), paper.Options{Parts: []string{id}, Seeds: 12, Workers: 2, Simulate: w.simulate}))
	return criterion(r, id)
}

// change sets what a world has: "noise 0", "seconds ACL 70", or "cache * 25" for all schedulers.
func (w *world) change(t *testing.T, text string) {
	t.Helper()
	words := strings.Fields(text)
	last := len(words) - 1
	value, err := strconv.ParseFloat(words[last], 64)
	list := map[string]map[string]float64{
		"seconds": w.seconds, "counted": w.counted, "local": w.local, "join": w.join, "most": w.most, "small": w.small, "large": w.large,
		"tiny": w.tiny, "fifty": w.fifty, "hundred": w.hundred, "cache": w.cache, "perGB": w.perGB, "wait": w.wait,
	}[words[0]]
	one := map[string]*float64{"noise": &w.noise, "least": &w.least, "cached": &w.cached, "room": &w.room}[words[0]]
	switch label := strings.Join(words[1:last], " "); {
	case err != nil || (list == nil) == (one == nil):
		t.Fatalf("%q: %v", text, err)
	case one != nil:
		*one = value
	case label == "*":
		for label := range list {
			list[label] = value
		}
	default:
		list[label] = value
	}
}

// TestForcedVerdicts has testdata/verdicts.txt bring claims to their verdicts, one and all to hold
// and to be reversed. That too few seeds tell nothing is the same for any claim.
func TestForcedVerdicts(t *testing.T) {
	text := errtest.Must(os.ReadFile("testdata/verdicts.txt"))
	have := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		what, changes, _ := strings.Cut(strings.TrimSpace(line), ": ")
		id, want, ok := strings.Cut(what, " ")
		if !ok {
			continue
		}
		w := published()
		for change := range strings.SplitSeq(changes, ", ") {
			if change != "" {
				w.change(t, change)
			}
		}
		if got := w.criterion(t, Paper(), id); string(got.Verdict) != want {
			t.Errorf("%s: %s: %s", line, got.Verdict, got.Note)
		}
		have[what] = true
	}
	for _, c := range claims {
		if c.Kind == paper.Judged && !(have[c.ID+" holds"] && have[c.ID+" reversed"]) {
			t.Errorf("%s: nothing forces it to hold, or to be reversed", c.ID)
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
		got := w.criterion(t, Paper(), c.ID)
		if about := c.ID != "C7" && c.ID != "C10" && c.ID != "C19"; got.AboutMethod != about || got.NeededMethod != about {
			t.Errorf("%s: about the method %t, needs it %t: %+v %+v", c.ID, got.AboutMethod, got.NeededMethod, got.Controls, got.Bar)
		}
	}
	w.seconds["matching"] = 70
	if got := w.criterion(t, Paper(), "C2"); got.Verdict != paper.Holds || got.NeededMethod || !got.NeedsNoMethod() ||
		got.Controls[0].Verdict != paper.Holds {
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
	r := errtest.Must(Paper().Run(context.Background(), paper.Options{Parts: []string{"C8"}, Seeds: 12, Simulate: full}))
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
	m := errtest.Must(Paper().Matrix(context.Background(), paper.Options{Parts: []string{"C2"}, Seeds: 12, Simulate: w.simulate},
		paper.Vary{Axes: []string{"reward"}}))
	if n := len(m.Readings); n != 4 {
		t.Errorf("%d readings of one axis, want 4", n)
	}
	got := m.Readings[0].Measures
	if want := 100 * (1 - 0.7346*(4+1.05)/5); math.Abs(float64(got[2].Value)-want) > 0.2 { // WordCount takes 1.05 times as long
		t.Errorf("time saved %v, want about %v %%", got[2], want)
	}
}
