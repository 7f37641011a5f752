package paper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/compare"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
)

var update = flag.Bool("update", false, "write golden files anew")

// small is three nodes and a job; with the same layout number blocks are in the
// same places.
type small struct {
	layout uint64
	maps   int
	taskMs int32
}

func (x small) Config(uint64) (sim.Config, []sim.Job, error) {
	if x.maps == 0 {
		return sim.Config{}, nil, errors.New("no maps")
	}
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts()}
	c.Costs.NodeBeatMs = 100
	for i := range 3 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{Name: fmt.Sprint("n", i), Rack: fmt.Sprint("r", i%2), Capacity: size})
	}
	j := sim.Job{MapWork: []sim.Work{{FixedMs: x.taskMs}}}
	j.Name, j.Maps, j.MapSize = "job", int32(x.maps), size
	key := draw.Stream(x.layout, "blocks")
	for i := range x.maps {
		n := state.NodeID(key.At(uint64(i)).Below(3))
		j.Replicas.Add(n)
		if i%2 == 0 {
			j.Cached.Add(n)
		} else {
			j.Cached.Add()
		}
	}
	return c, []sim.Job{j}, nil
}

func mean(c Case, estimate func([]Simulation) stats.Estimate) func(*Bench) (Judgement, error) {
	return func(b *Bench) (Judgement, error) {
		t, err := b.Trials(c)
		if err != nil {
			return Judgement{}, err
		}
		return Judgement{Ours: estimate(t[0]), Verdict: Holds}, nil
	}
}

func localRate(t []Simulation) stats.Estimate { return stats.MeanShare(Each(t, LocalRate)) }
func seconds(t []Simulation) stats.Estimate   { return stats.Mean(Each(t, Seconds)) }

func fake() *Paper {
	x := Case{Setting: small{1, 9, 1000}, Model: "fifo"}
	return &Paper{
		Name: "fake", Title: "A paper",
		Parts: []Part{
			{ID: "fig1", Kind: Published, Title: "One", Run: func(b *Bench) (*Figure, error) {
				_, err := b.Trials(x, x)
				return &Figure{}, err
			}},
			{ID: "fig2", Kind: Published, Title: "Two", Run: func(b *Bench) (*Figure, error) {
				_, err := b.Trials(Case{Setting: small{}, Model: "fifo"})
				return &Figure{}, err
			}},
		},
		Rules: []Rule{{ID: "C1", Parts: []string{"fig1"}, Judge: mean(x, localRate)}, {ID: "F1", Parts: []string{"fig2"}, Own: true, Judge: mean(x, seconds)}},
	}
}

// TestRun has a part bring its rules, a case simulated once a seed whoever asks,
// and names and errors said.
func TestRun(t *testing.T) {
	simulated := 0
	o := Options{Parts: []string{"fig1"}, Seed: 3, Seeds: 4, Workers: 2, Progress: func(p Progress) { simulated = p.Simulated }}
	r, err := fake().Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 1 || len(r.Criteria) != 1 || len(r.Findings) != 0 || simulated != 4 {
		t.Errorf("%d figures, %d criteria, %d findings, %d simulations; want 1, 1, 0, 4", len(r.Figures), len(r.Criteria), len(r.Findings), simulated)
	}
	o.Parts = []string{"c1", "f1"}
	if r, err = fake().Run(context.Background(), o); err != nil || len(r.Figures) != 0 || len(r.Criteria) != 1 || len(r.Findings) != 1 {
		t.Errorf("rules by name: %+v, error %v", r, err)
	}
	for _, c := range []struct {
		parts []string
		seeds int
		is    error
		want  string
	}{
		{[]string{"fig3"}, 4, ErrUnknown, "which has fig1, fig2, C1, F1"},
		{nil, 1, nil, "1 seeds"},
		{[]string{"fig2"}, 4, nil, "no maps"},
	} {
		_, err := fake().Run(context.Background(), Options{Parts: c.parts, Seeds: c.seeds})
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("parts %q, %d seeds: error %v, want one with %q", c.parts, c.seeds, err, c.want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := fake().Run(ctx, Options{Parts: []string{"fig1"}, Seeds: 4}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
}

// TestLessons has jobs of one layout trained for once, and decided for as if
// each had been trained for.
func TestLessons(t *testing.T) {
	model := func(maps int, ms int32) Case {
		return Case{Setting: small{7, maps, ms}, Model: "clqlmrs", Params: sched.Params{"episodes": "200"}}
	}
	shared := newBench(context.Background(), Options{Seeds: 3, Workers: 2})
	got, err := shared.Trials(model(12, 1000), model(12, 3000))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(shared.lessons.saved); n != 3 {
		t.Errorf("trained %d times, want 3: one a seed", n)
	}
	for i, ms := range []int32{1000, 3000} {
		alone, err := newBench(context.Background(), Options{Seeds: 3, Workers: 1}).Trials(model(12, ms))
		if err != nil {
			t.Fatal(err)
		}
		for k := range alone[0] {
			if alone[0][k].Digest != got[i][k].Digest {
				t.Errorf("maps of %d ms, seed %d: another schedule when the table was shared", ms, k)
			}
		}
	}
}

func TestVerdicts(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		e     stats.Estimate
		bound float64
		want  Verdict
	}{
		{stats.Estimate{Value: 12, Lo: 10, Hi: 14}, 9, Holds},
		{stats.Estimate{Value: 12, Lo: 8, Hi: 16}, 9, Direction},
		{stats.Estimate{Value: 5, Lo: -1, Hi: 11}, 9, Fails},
		{stats.Estimate{Value: 1, Lo: 0.5, Hi: 1.5}, 0, Holds},
		{stats.Estimate{Value: 1, Lo: -0.5, Hi: 2.5}, 0, Fails},
		{stats.Estimate{Value: 1, Lo: -inf, Hi: inf}, 0, NotTestable},
		{stats.Estimate{Value: math.NaN(), Lo: -inf, Hi: inf}, 0, NotTestable},
	} {
		if got := Above(c.e, c.bound); got != c.want {
			t.Errorf("%+v above %g: %s, want %s", c.e, c.bound, got, c.want)
		}
	}
	if e := RatioOfMeans([]float64{1, 2, 3}, []float64{2, 4, 6}); e.Value != 2 || e.Lo != 2 || e.Hi != 2 {
		t.Errorf("ratio of proportional samples %+v, want 2 exactly", e)
	}
	if e := RatioOfMeans([]float64{1, 2, 3}, []float64{3, 4, 5}); e.Value != 2 || !(e.Lo < 2) || !(e.Hi > 2) {
		t.Errorf("ratio %+v, want 2 within its interval", e)
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
	v := func(x, lo, hi float64) Value { return Value{compare.Number(x), compare.Interval{lo, hi}} }
	return &Report{
		Paper: "sample", Title: "A paper | on <scheduling>", Source: "Somebody, 2022", Seed: 7, Seeds: 20,
		Criteria: []Criterion{{
			ID: "C1", Parts: []string{"fig1"}, Text: "one is faster than the other by a margin that takes more than one line to say, all of it said",
			Published: "26.54", Ours: 3.25, CI95: compare.Interval{2.5, 4}, Unit: "%", Verdict: Direction, Note: "why",
		}},
		Findings: []Criterion{{ID: "F1", Published: "-", Ours: compare.Number(math.NaN()), CI95: compare.Interval{math.Inf(-1), math.Inf(1)}, Verdict: NotTestable}},
		Figures: []*Figure{
			{
				ID: "fig1", Kind: Published, Title: "Rates", Unit: "%", X: "cache", Columns: []string{"2 GB", "4 GB"},
				Rows:   []Row{{"FIFO", []Value{v(10, 9, 11), v(20.25, 19, 21.5)}}, {"a & b", []Value{v(-5, math.Inf(-1), math.Inf(1)), v(0, 0, 0)}}},
				Beside: []Quantity{{"rise", "FIFO", "points", "3", v(10.25, 10, 10.5)}}, Notes: []string{"a note"},
			},
			{ID: "mixed", Kind: Finding, Title: "Mixed", Columns: []string{"time s", "rate %"}, Rows: []Row{{"one", []Value{v(1, 1, 1), v(2, 2, 2)}}}},
		},
		Setup: []Choice{{"cluster", "6 nodes", "as published"}}, Open: []Choice{{Item: "arrival", Taken: "alone"}},
	}
}

func TestGolden(t *testing.T) {
	r := sample()
	for name, write := range map[string]func(io.Writer) error{
		"sample.txt": r.WriteText, "sample.md": r.WriteMarkdown, "sample.csv": r.WriteCSV, "sample.html": r.WritePage,
		"sample.json": func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r)
		},
	} {
		var out bytes.Buffer
		check(t, write(&out))
		golden(t, name, out.Bytes())
		if name == "sample.html" && (strings.Contains(out.String(), "http") || strings.Contains(out.String(), "NaN")) {
			t.Error("the page refers to something outside, or says NaN")
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		check(t, os.MkdirAll("testdata", 0o755))
		check(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestLive reads the run folder that the tests of package compare keep: one
// repeat of wordcount under two models, which nothing can be predicted from.
func TestLive(t *testing.T) {
	table, err := ReadLive("../compare/testdata/run", false)
	check(t, err)
	if len(table.Rows) != 2 || table.Rows[0].Model != "yarn" || table.Rows[1].Model != "acl" {
		t.Fatalf("%+v: want yarn, then acl", table.Rows)
	}
	for _, row := range table.Rows {
		if row.Runs != 1 || !(row.CompletionS.Value > 0) || row.CompletionS.CI95.Bounded() || !math.IsNaN(float64(row.AdherencePct.Value)) || !math.IsNaN(float64(row.PredictedS.Value)) {
			t.Errorf("%+v: want one run without interval, adherence or prediction", row)
		}
	}
	if !slices.ContainsFunc(table.Warnings, func(w string) bool { return strings.Contains(w, "no prediction") }) {
		t.Errorf("%q do not say that there is no prediction", table.Warnings)
	}
	var out bytes.Buffer
	check(t, (&Report{Title: "live", Live: table}).WriteText(&out))
	golden(t, "live.txt", out.Bytes())
	if _, err := ReadLive(t.TempDir(), false); !errors.Is(err, runs.ErrNotRun) {
		t.Errorf("a folder without a run: error %v", err)
	}
}

// TestLivePrediction reads the run of several repeats that the tests of package
// fidelity keep.
func TestLivePrediction(t *testing.T) {
	if testing.Short() {
		t.Skip("replays six trials, each calibrated on others: run without -short")
	}
	table, err := ReadLive("../fidelity/testdata/run", false)
	check(t, err)
	for _, row := range table.Rows {
		if row.Runs < 2 || !row.CompletionS.CI95.Bounded() || !(row.PredictedS.Value > 0) || !(row.ErrorPct.Value >= 0) {
			t.Errorf("%+v: want several runs, an interval and a prediction with its error", row)
		}
		if low, high := row.CachePct.Value, row.LocalPct.Value; !(low >= 0 && low <= high && high <= 100) {
			t.Errorf("%s under %s: cache %v %%, local %v %%", row.Workload, row.Model, low, high)
		}
		for _, rate := range []Value{row.CachePct, row.LocalPct, row.AdherencePct} {
			if !math.IsNaN(float64(rate.Value)) && !(rate.CI95[0] >= 0 && rate.CI95[0] < rate.CI95[1] && rate.CI95[1] <= 100) {
				t.Errorf("%s under %s: a rate of %v %%", row.Workload, row.Model, rate)
			}
		}
	}
}
