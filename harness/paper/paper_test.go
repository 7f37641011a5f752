package paper

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/measure"
	"heddle/harness/option"
	"heddle/harness/results"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
	"heddle/traces/errtest"
)

// small is three nodes with a slot each and a job; with the same layout number
// blocks are in the same places.
type small struct {
	Layout int    `flag:"layout"`
	Maps   int    `flag:"maps" min:"0"`
	TaskMs int    `flag:"task"`
	Kind   string `flag:"kind" values:"one,two"`
}

func (x small) With(name, value string) (Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	return x, err
}

func (x small) Stages(uint64) ([]Stage, error) {
	if x.Maps == 0 {
		return nil, errors.New("no maps")
	}
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts()}
	c.Costs.NodeBeatMs = 100
	for i := range 3 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{Name: fmt.Sprint("n", i), Rack: fmt.Sprint("r", i%2), Capacity: size})
	}
	j := sim.Job{MapWork: []sim.Work{{FixedMs: int32(x.TaskMs)}}}
	j.Name, j.Maps, j.MapSize = "job", int32(x.Maps), size
	key := draw.Stream(uint64(x.Layout), "blocks")
	for i := range x.Maps {
		n := state.NodeID(key.At(uint64(i)).Below(3))
		j.Replicas.Add(n)
		if i%2 == 0 {
			j.Cached.Add(n)
		} else {
			j.Cached.Add()
		}
	}
	stages := []Stage{{c, []sim.Job{j}}}
	if x.Kind == "two" {
		stages = append(stages, stages[0])
	}
	return stages, nil
}

// fake is a paper about the small setting, whose claimant is clqlmrs.
func fake() *Paper {
	effect := func(label string) func(d *Data) []Effect {
		return func(d *Data) []Effect {
			g := d.Grid("sizes", label, "FIFO")
			return []Effect{{
				What: "cache rate of " + label, Unit: "points",
				Estimate: More(g.Shares("FIFO", CacheRate), g.Shares(label, CacheRate)),
			}}
		}
	}
	return &Paper{
		Name: "fake", Title: "Fake", Setup: small{Layout: 1, Maps: 12, TaskMs: 1000, Kind: "one"},
		Schedulers: []Scheduler{{Label: "FIFO", Model: "fifo"}, {Label: "Mine", Model: "clqlmrs"}}, Claimant: "Mine",
		Controls: []Scheduler{{Label: "matching", Model: "matching"}, {Label: "random", Model: "random"}},
		Axes: []Axis{
			{
				Name: "reward", Sets: "clqlmrs.reward", Chosen: true,
				Values: []Value{{Value: "step", Mark: Printed}, {Value: "cumulative", Mark: Ours}},
			},
			{Name: "episodes", Sets: "clqlmrs.episodes", Chosen: true, Values: []Value{
				{Value: "50", Mark: Inferred},
				{Value: "200", Mark: Ours},
				{Value: "100", Mark: Ours},
			}},
			{Name: "task", Values: []Value{{Value: "1000", Mark: Ours}, {Value: "3000", Mark: Ours}}},
			{Name: "offering", Sets: Offering, Values: []Value{{Value: OfferReported, Mark: Printed}, {Value: OfferAll, Mark: Ours}}},
		},
		Readings: []Reading{{Name: "long", Set: map[string]string{"clqlmrs.episodes": "200"}}},
		Designs: []Design{
			{ID: "sizes", X: "maps", Columns: []Column{{"6 maps", map[string]string{"maps": "6"}}, {"12 maps", nil}}},
			{ID: "none", Columns: []Column{{"0 maps", map[string]string{"maps": "0"}}}},
		},
		Parts: []Part{
			{
				ID: "fig1", Title: "One", Design: "sizes", Schedulers: []string{"FIFO", "Mine"}, Unit: "%",
				Rows: []Row{{Suffix: "", Is: "local"}, {Suffix: "cached", Is: "given(cachedAnywhere[$s; $c])", Once: true}},
			},
			{ID: "fig2", Title: "Two", Design: "none", Schedulers: []string{"FIFO"}, Unit: "s", Rows: []Row{{Is: "time"}}},
		},
		Claims: []Claim{
			{ID: "C1", Text: "hits more", Published: "more", Parts: []string{"fig1"}, Effects: effect("Mine")},
			{ID: "C2", Text: "FIFO hits more than itself", Published: "0", Effects: effect("FIFO")},
		},
		Measures: []Measure{{Name: "cache rate", Unit: "%", Of: func(d *Data) stats.Estimate {
			return stats.MeanShare(d.Grid("sizes", "Mine").Shares("Mine", CacheRate))
		}}},
	}
}

// TestRun has a part bring its claims, a case simulated once a seed whoever asks,
// and names and errors said.
func TestRun(t *testing.T) {
	simulated := 0
	o := Options{Parts: []string{"fig1"}, Seed: 3, Seeds: 4, Workers: 2, Progress: func(p Progress) { simulated = p.Simulated }}
	r, err := fake().Run(context.Background(), o)
	check(t, err)
	// Two columns under FIFO, the claimant and two controls, with four seeds.
	if len(r.Figures) != 1 || len(r.Criteria) != 1 || simulated != 2*4*4 {
		t.Errorf("%d figures, %d criteria, %d simulations; want 1, 1, 32", len(r.Figures), len(r.Criteria), simulated)
	}
	if len(r.Kept.Trials) != simulated {
		t.Errorf("%d rows of seeds, want one for each of %d simulations", len(r.Kept.Trials), simulated)
	}
	o.Parts = []string{"c2"}
	if r, err = fake().Run(context.Background(), o); err != nil || len(r.Figures) != 0 || len(r.Criteria) != 1 || r.Criteria[0].AboutMethod ||
		len(r.Criteria[0].Controls) != 0 {
		t.Errorf("a claim that is not about the claimant: %+v, error %v", r, err)
	}
	for _, c := range []struct {
		o    Options
		is   error
		want string
	}{
		{Options{Parts: []string{"fig3"}, Seeds: 4}, ErrUnknown, "paper fake has fig1, fig2, C1, C2"},
		{Options{Seeds: 1}, nil, "1 seeds"},
		{Options{Parts: []string{"fig2"}, Seeds: 4}, nil, "no maps"},
		{Options{Reading: "short", Seeds: 4}, ErrUnknown, "as printed, long"},
		{Options{Set: map[string]string{"size": "1"}, Seeds: 4}, ErrUnknown, "kind, layout, maps, task"},
		{Options{Set: map[string]string{"kind": "three"}, Seeds: 4}, ErrUnknown, "want one, two"},
		{Options{Set: map[string]string{"maps": "-3"}, Seeds: 4}, ErrUnknown, "want 0 or more"},
		{Options{Set: map[string]string{"clqlmrs.alfa": "1"}, Seeds: 4}, ErrUnknown, "alfa"},
		{Options{Set: map[string]string{"delay.form": "time"}, Seeds: 4}, ErrUnknown, "fifo, clqlmrs, matching, random"},
		{Options{Set: map[string]string{Offering: "some"}, Seeds: 4}, ErrUnknown, "want all, reported or privilege"},
		{Options{Set: map[string]string{Training: "dear"}, Seeds: 4}, ErrUnknown, "such as 20us"},
		{Options{Set: map[string]string{"clqlmrs.splits": "some"}, Parts: []string{"C1"}, Seeds: 4}, nil, "want asSubmitted, cachedOnly or plan"},
		{Options{Also: []Scheduler{{Label: "nobody", Model: "nobody"}}, Seeds: 4}, ErrUnknown, "no model"},
		{Options{Also: []Scheduler{{Label: "random", Model: "random"}}, Seeds: 4}, ErrUnknown, "has it already"},
	} {
		_, err := fake().Run(context.Background(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%+v: error %v, want one with %q", c.o, err, c.want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	errtest.Is(t, errtest.Of(fake().Run(ctx, Options{Parts: []string{"fig1"}, Seeds: 4})), context.Canceled)
}

// TestAlso has one more scheduler in figures and as a control.
func TestAlso(t *testing.T) {
	o := Options{Parts: []string{"fig1"}, Seeds: 3, Also: []Scheduler{{Label: "acl", Model: "acl"}}, Set: map[string]string{"acl.c": "9"}}
	r, err := fake().Run(context.Background(), o)
	check(t, err)
	if n := len(r.Figures[0].Rows); n != 4 {
		t.Errorf("%d rows, want FIFO, Mine, acl and what is cached", n)
	}
	if c := r.Criteria[0].Controls; len(c) != 3 || c[2].Control != "acl" {
		t.Errorf("controls %+v, want acl last", c)
	}
}

// caseOf returns the claimant's case in a setting.
func caseOf(x small, params sched.Params) Case {
	return Case{Setting: x, Scheduler: Scheduler{Label: "Mine", Model: "clqlmrs", Params: params}, Offering: OfferPrivilege}
}

// TestLessons has jobs of one layout trained for once, for all numbers of
// episodes, and decided for as if each had been trained for alone.
func TestLessons(t *testing.T) {
	counts := []int{200, 50, 100}
	model := func(episodes, ms int) Case {
		c := caseOf(small{7, 12, ms, "one"}, sched.Params{"episodes": fmt.Sprint(episodes)})
		c.Episodes = counts
		return c
	}
	trials := func(b *bench, c Case) []Simulation {
		list, err := b.trials([]Case{c})
		check(t, err)
		return list[0]
	}
	shared := testBench(t, 3)
	for _, n := range counts {
		for _, ms := range []int{1000, 3000} {
			c := model(n, ms)
			got := trials(shared, c)
			c.Episodes = nil
			want := trials(testBench(t, 3), c)
			for k := range want {
				if diff := cmp.Diff(want[k], got[k], cmpopts.EquateNaNs(), asJSON); diff != "" {
					t.Errorf("%d episodes, maps of %d ms, seed %d: taught together it differs (-alone +together):\n%s", n, ms, k, diff)
				}
			}
			curve := want[0].Series["trainedLocal"]
			if want[0].Trained != int64(n*12) || len(curve) == 0 || curve[len(curve)-1].X != float64(n) {
				t.Errorf("%d episodes of 12 maps: %d maps placed in training, curve %v", n, want[0].Trained, curve)
			}
		}
	}
	if n := len(shared.lessons.saved); n != 3*len(counts) || shared.lessons.trained != n {
		t.Errorf("%d tables kept of %d learnt, want one a seed and number of episodes", n, shared.lessons.trained)
	}
}

func testBench(t *testing.T, seeds int) *bench {
	t.Helper()
	b, err := newBench(context.Background(), Options{Seeds: seeds, Workers: 2})
	check(t, err)
	return b
}

// TestTrainingTime has a job wait for its training, and the stages of a query add
// up.
func TestTrainingTime(t *testing.T) {
	params := sched.Params{"episodes": "100"}
	seconds := func(c Case) Simulation {
		list, err := testBench(t, 2).trials([]Case{c})
		check(t, err)
		return list[0][0]
	}
	free := caseOf(small{7, 12, 1000, "one"}, params)
	charged := free
	charged.AssignmentMs = 5
	a, b := seconds(free), seconds(charged)
	if want := 100 * 12 * 5.0; a.TrainingMs != 0 || b.TrainingMs != want || math.Abs(b.Seconds-a.Seconds-want/1000) > 0.2 {
		t.Errorf("%v s free, %v s with a training of %v ms; want 6 s more, to a heartbeat", a.Seconds, b.Seconds, b.TrainingMs)
	}
	two := free
	two.Setting = small{7, 12, 1000, "two"}
	if c := seconds(two); c.Seconds != 2*a.Seconds || c.Locality.Known() != 24 || c.Trained != 2*a.Trained {
		t.Errorf("two equal stages: %+v, want twice of %+v", c, a)
	}
}

// watcher notes the nodes that it is offered, and starts nothing.
type watcher struct{ offered [][]state.NodeID }

func (w *watcher) Name() string { return "watcher" }
func (w *watcher) Round(_ *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	w.offered = append(w.offered, slices.Clone(free))
	return out
}

func (w *watcher) Choose(_ *state.View, n state.NodeID) (sched.Pick, bool) {
	w.offered = append(w.offered, []state.NodeID{n})
	return sched.Pick{}, false
}

// TestOffering has the same rule for models of both kinds, but under privilege.
func TestOffering(t *testing.T) {
	free := []state.NodeID{4, 1, 2}
	for _, c := range []struct {
		rule              string
		ofAll, ofReported [][]state.NodeID
	}{
		{OfferAll, [][]state.NodeID{{4, 1, 2}}, [][]state.NodeID{{4}, {1}, {2}}},
		{OfferReported, [][]state.NodeID{{4}}, [][]state.NodeID{{4}}},
		{OfferPrivilege, [][]state.NodeID{{4, 1, 2}}, [][]state.NodeID{{4}}},
	} {
		wide, narrow := &watcher{}, &watcher{}
		v := state.New().View()
		newPlayer(wide, &Case{Offering: c.rule}, nil).Round(v, free, nil)
		newPlayer(sched.PerNode{NodeModel: narrow}, &Case{Offering: c.rule}, nil).Round(v, free, nil)
		if diff := cmp.Diff([][][]state.NodeID{c.ofAll, c.ofReported}, [][][]state.NodeID{wide.offered, narrow.offered}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.rule, diff)
		}
	}
}

// TestMatrix has readings as printed first, each axis alone from the last named
// one, every pair of values somewhere, and one training for all episodes.
func TestMatrix(t *testing.T) {
	m, err := fake().Matrix(context.Background(), Options{Seeds: 4, Workers: 2}, Vary{})
	check(t, err)
	var names []string
	pairs := map[string]bool{}
	for _, r := range m.Readings {
		names = append(names, r.Reading)
		reward, episodes := r.Set["clqlmrs.reward"], r.Set["clqlmrs.episodes"]
		pairs[reward+" "+episodes] = true
	}
	want := []string{"as printed", "long", "long, reward=cumulative", "long, episodes=100", "mixed 1", "mixed 2"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	if len(pairs) != 6 {
		t.Errorf("%d of 6 pairs of reward and episodes: %v", len(pairs), pairs)
	}
	if want := "Read as printed, of 2 claims "; !strings.HasPrefix(m.Summary, want) || m.movers().Rows[0][0].String() != "cache rate" {
		t.Errorf("the summary is %q, want %q first; moved are %v", m.Summary, want, m.movers().Rows)
	}
	full, err := fake().Matrix(context.Background(), Options{Seeds: 2, Parts: []string{"C2"}},
		Vary{Axes: []string{"task", "offering", "episodes"}, Full: true})
	check(t, err)
	if len(full.Readings) != 2*2*3 {
		t.Errorf("%d readings, want all 12 combinations", len(full.Readings))
	}
	fixed, err := fake().Matrix(context.Background(),
		Options{Seeds: 2, Parts: []string{"C2"}, Set: map[string]string{"clqlmrs.episodes": "20"}}, Vary{})
	check(t, err)
	if len(fixed.Axes) != 1 || fixed.Readings[0].Set["clqlmrs.episodes"] != "20" {
		t.Errorf("a fixed value is varied: %+v", fixed.Axes)
	}
	errtest.Is(t, errtest.Of(fake().Matrix(context.Background(), Options{Seeds: 2}, Vary{Axes: []string{"colour"}})), ErrUnknown)
}

// TestSize gives a matrix the paper's size only where nobody asked for another.
func TestSize(t *testing.T) {
	p := fake()
	p.Sized = Sized{Claims: []string{"C2"}, Seeds: 3, Set: map[string]string{"task": "3000", "clqlmrs.episodes": "20"}}
	for _, c := range []struct {
		asked Options
		vary  Vary
		want  Options
	}{
		{Options{}, Vary{}, Options{Parts: []string{"C2"}, Seeds: 3, Set: map[string]string{"task": "3000", "clqlmrs.episodes": "20"}}},
		{
			Options{Parts: []string{"C1"}, Seeds: 2, Set: map[string]string{"task": "1"}},
			Vary{Axes: []string{"episodes"}},
			Options{Parts: []string{"C1"}, Seeds: 2, Set: map[string]string{"task": "1"}},
		},
		{Options{}, Vary{Axes: []string{AllAxes}}, Options{Parts: []string{"C2"}, Seeds: 3}},
	} {
		got := c.asked
		got.Set = map[string]string{}
		maps.Copy(got.Set, c.asked.Set)
		p.Size(&got, c.vary)
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%+v, %+v (-want +got):\n%s", c.asked, c.vary, diff)
		}
	}
}

// TestSharing has readings that leave the set-up alone share all that is not the
// claimant's.
func TestSharing(t *testing.T) {
	simulated, names := 0, map[string]int{}
	o := Options{Seeds: 2, Parts: []string{"C1"}, Simulate: func(c Case, seed uint64) (Simulation, error) {
		simulated++
		names[fmt.Sprint(c.name(), seed)]++
		return Simulation{Locality: measure.Locality{Cache: 3, Node: 4 + int(seed%2)}}, nil
	}}
	m, err := fake().Matrix(context.Background(), o, Vary{})
	check(t, err)
	// Two columns and two seeds of three schedulers that do not learn, and of the
	// claimant's six rules.
	if simulated != 2*2*(3+6) {
		t.Errorf("%d simulations for %d readings, want 36", simulated, len(m.Readings))
	}
	for name, n := range names {
		if n > 1 {
			t.Errorf("simulated %d times: %s", n, name)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample has all that is printed, in one of each form.
func sample() *Report {
	v := func(x, lo, hi float64) Cell { return Cell{compare.Number(x), compare.Interval{lo, hi}} }
	nothing := compare.Number(math.NaN())
	return &Report{
		Paper: "sample", Title: "A paper | on <scheduling>", Source: "Somebody, 2022", Reading: AsPrinted, Set: map[string]string{}, Seed: 7,
		Seeds: 20,
		Criteria: []Criterion{
			{
				ID: "C1", Parts: []string{"fig1"}, Text: "one is faster than the other by a margin that takes more than one line to say, all of it said",
				Published: "26.54", Ours: 3.25, CI95: compare.Interval{2.5, 4}, Unit: "%", Verdict: Direction, Note: "why", AboutMethod: true,
				Effects: []EffectJSON{{
					What: "time saved", Unit: "%", Ours: 3.25, CI95: compare.Interval{2.5, 4}, Least: 9, Sign: Shown,
					HasRoom: HasRoom, Room: 30, RoomCI95: compare.Interval{28, 32}, RoomWhy: "so much", Verdict: Direction,
				}},
				Controls: []ControlResult{
					{"matching", "time saved", "%", 4, compare.Interval{3, 5}, Direction},
					{"random", "time saved", "%", -4, compare.Interval{-5, -3}, Reversed},
				},
			},
			{
				ID: "C2", Published: "-", Ours: nothing, CI95: compare.Interval{math.Inf(-1), math.Inf(1)}, Verdict: NotTestable,
				Effects: []EffectJSON{{
					Ours: nothing, CI95: compare.Interval{math.Inf(-1), math.Inf(1)}, Sign: NoSign, HasRoom: RoomNotKnown,
					Room: nothing, RoomCI95: compare.Interval{math.Inf(-1), math.Inf(1)}, Verdict: NotTestable,
				}}, Controls: []ControlResult{},
			},
		},
		Figures: []*Figure{
			{
				ID: "fig1", Title: "Rates", Unit: "%", X: "cache", Columns: []string{"2 GB", "4 GB"},
				Rows: []FigureRow{
					{Name: "FIFO", Cells: []Cell{v(10, 9, 11), v(20.25, 19, 21.5)}},
					{Name: "a & b", Cells: []Cell{v(-5, math.Inf(-1), math.Inf(1)), v(0, 0, 0)}},
				},
				Beside: []Quantity{{"rise", "FIFO", "points", "3", v(10.25, 10, 10.5)}}, Notes: []string{"a note"},
			},
			{
				ID: "mixed", Title: "Mixed", Columns: []string{"time s", "rate %"},
				Rows: []FigureRow{{Name: "one", Cells: []Cell{v(1, 1, 1), v(2, 2, 2)}}},
			},
		},
		Facts: []Fact{{"cluster", "6 nodes", "as published"}},
		Axes: []AxisTaken{{Axis: Axis{
			Name: "reward", Sets: "m.reward", About: "what is learnt",
			Values: []Value{{"sum", Printed, "it says so"}, {"step", Ours, ""}},
		}, Taken: "sum", Mark: Printed, Why: "it says so"}},
	}
}

// sampleMatrix has two readings of the sample's claims.
func sampleMatrix() *Matrix {
	r := sample()
	second := slices.Clone(r.Criteria)
	second[0].Verdict, second[0].NeededMethod = Holds, true
	return &Matrix{
		Paper: r.Paper, Title: r.Title, Source: r.Source, Seed: 7, Seeds: 20, Summary: "What it says.", Controls: []string{"matching", "random"},
		Readings: []MatrixRow{
			{Reading: AsPrinted, Set: map[string]string{}, Criteria: r.Criteria, Measures: []Cell{{Value: 5, CI95: compare.Interval{4, 6}}}},
			{
				Reading: "mixed 1", Differs: "reward=step", Set: map[string]string{"m.reward": "step"}, Criteria: second,
				Measures: []Cell{{Value: 55, CI95: compare.Interval{54, 56}}},
			},
		},
		Claims: []ClaimCount{
			{
				ID: "C1", Text: "one is faster", Verdicts: map[Verdict]int{Direction: 1, Holds: 1}, NoMethod: 1,
				AsWell: map[string]int{"random": 1}, ByText: []string{"reward"},
			},
			{ID: "C2", Verdicts: map[Verdict]int{NotTestable: 2}},
		},
		Axes: []Axis{r.Axes[0].Axis}, Measures: []MeasureName{{Name: "cache rate", Unit: "%"}}, paper: &Paper{Axes: []Axis{r.Axes[0].Axis}},
	}
}

func TestGolden(t *testing.T) {
	r, m := sample(), sampleMatrix()
	encode := func(x any) func(io.Writer) error {
		return func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(x)
		}
	}
	in := func(format string, d doc.Doc, colour bool) func(io.Writer) error {
		return func(w io.Writer) error { return doc.Write(w, format, d, colour) }
	}
	for name, write := range map[string]func(io.Writer) error{
		"sample.txt": in("text", r.Doc(), false), "sample.md": in("markdown", r.Doc(), false), "sample.csv": in("csv", r.Doc(), false),
		"sample.html": in("html", r.Doc(), false), "sample.json": encode(r),
		"matrix.txt": in("text", m.Doc(), false), "matrix.colour": in("text", m.Doc(), true), "matrix.md": in("markdown", m.Doc(), false),
		"matrix.csv": in("csv", m.Doc(), false), "matrix.html": in("html", m.Doc(), false), "matrix.json": encode(m),
	} {
		var out bytes.Buffer
		check(t, write(&out))
		golden.Check(t, "testdata/"+name, out.Bytes())
		if strings.HasSuffix(name, ".html") && strings.Contains(out.String(), "NaN") {
			t.Errorf("%s says NaN", name)
		}
	}
}

// asJSON compares figures by what is kept of them.
var asJSON = cmp.Comparer(func(a, b *measure.Figures) bool {
	x, _ := json.Marshal(a) // figures are plain values
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
})

// TestKept has a run folder keep all that was simulated, once, and give back the
// figures of the rows to the last digit.
func TestKept(t *testing.T) {
	r, err := fake().Run(context.Background(), Options{Parts: []string{"fig1"}, Seeds: 3, Workers: 2})
	check(t, err)
	began := time.Now().Add(-time.Minute)
	folder, err := r.Kept.Write(t.TempDir(), "", []string{"test"}, began)
	check(t, err)
	if m := folder.Manifest(); !m.Started.Equal(began.Truncate(time.Millisecond)) || m.Finished.Sub(m.Started) < time.Minute {
		t.Errorf("the folder says that it was from %v to %v; the simulations began at %v", m.Started, m.Finished, began)
	}
	run, err := results.Open(folder.Dir, false)
	check(t, err)
	if len(run.Trials) != len(r.Kept.Trials) || len(run.Trials) != 2*4*3 {
		t.Fatalf("%d trials of %d, want 24", len(run.Trials), len(r.Kept.Trials))
	}
	for i, want := range r.Kept.Trials {
		if diff := cmp.Diff(want, run.Trials[i], asJSON, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-kept +read):\n%s", want.Name, diff)
		}
		if want.Repeat != i%3+1 || want.Reading != AsPrinted || want.Notes["cachedAnywhere"] == 0 {
			t.Errorf("trial %d: %+v", i, want)
		}
	}
}

// TestPictures draws figures, and how a model learns, as files of their own.
func TestPictures(t *testing.T) {
	r, err := fake().Run(context.Background(), Options{
		Seeds: 3, Set: map[string]string{"clqlmrs.episodes": "200"},
		Simulate: nil, Parts: []string{"fig1"},
	})
	check(t, err)
	b := testBench(t, 3)
	d, err := fake().data(b, Reading{Name: AsPrinted}, map[string]string{"clqlmrs.episodes": "200"}, nil)
	check(t, err)
	part := Part{
		ID: "training", Unit: "%", Design: "sizes", Kind: Points, Schedulers: []string{"Mine"},
		Rows: []Row{{Suffix: "cache", Is: "trainedCache"}, {Suffix: "local", Is: "trainedLocal"}},
	}
	f := part.figure(d)
	if d.err != nil || !slices.Equal(f.Columns, []string{"10", "20", "50", "100", "200"}) || len(f.Rows) != 2 || len(f.Rows[1].Cells) != 5 {
		t.Fatalf("the learning curve: %+v, error %v", f, d.err)
	}
	dir := t.TempDir()
	check(t, WritePictures(dir, append(r.Figures, f, sample().Figures[1])))
	for _, name := range []string{"fig1.svg", "training.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		if err := xml.Unmarshal(text, &struct{ XMLName xml.Name }{}); err != nil || !strings.Contains(string(text), "<polyline") {
			t.Errorf("%s is no picture with lines: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "mixed.svg")); err == nil {
		t.Error("a figure of several units was drawn")
	}
}

// TestOpening has the first sentence count verdicts, claims apart from checks, and show
// the first claim with a published number. Claims that are reported are in no other count, and are not said to be about something else.
func TestOpening(t *testing.T) {
	effect := []EffectJSON{{What: "time saved", Unit: "%"}}
	c := func(id string, kind ClaimKind, v Verdict, published string) Criterion {
		return Criterion{ID: id, Kind: kind, Verdict: v, Published: published, Unit: "%", Ours: 3, CI95: compare.Interval{2, 4}, Effects: effect}
	}
	needed := c("C3", Judged, Holds, "9")
	needed.AboutMethod, needed.NeededMethod = true, true
	r := &Report{Criteria: []Criterion{
		c("C1", Judged, Reversed, "A < B"), c("C2", Judged, Fails, "26.54"), needed, c("K1", Check, NotTestable, "-"),
		c("R1", ReportOnly, "", "7"),
	}}
	want := "Of 3 claims 1 holds, 1 fails and 1 is reversed. Of 1 check none holds and 1 is not testable. 1 row is only reported, and in no count. 1 claim about the paper's scheduler comes out in size or in direction, of which 1 is shown to need its method. " +
		"C2, time saved: published 26.54 %, ours 3.00 % [2.00, 4.00]."
	if got := string(r.opening()); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	r.Changed = "jobs=5000"
	if got := string(r.opening()); !strings.HasPrefix(got, "With jobs=5000 changed, of 3 claims ") {
		t.Error(got)
	}
	if got := (&Report{}).opening(); got != "" {
		t.Errorf("without claims: %q", got)
	}
	var out bytes.Buffer
	check(t, doc.WriteText(&out, r.Doc(), false))
	for _, text := range []string{
		"reported", "26.54 %", "a check", "not judged", "not judged: ", "not testable: ", "What these words mean",
		"- It is not the paper's experiment: changed is jobs=5000.",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in\n%s", text, out.String())
		}
	}
}
