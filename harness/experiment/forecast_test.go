package experiment

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
)

// A forecast takes times and spread from the repeats of a run like it, and from
// no warm-up.
func TestForecast(t *testing.T) {
	parse := func(text string) *config.Experiment {
		e := must(config.ParseExperiment("e.yaml", []byte(text)))
		return e
	}
	const models = "workloads: [{name: sort, profile: tiny}]\nactuator: labels\nmodels: [yarn, fifo]\norder: asListed\n"
	// The logarithms of fifo's ratios to yarn are x and -x. Their standard
	// deviation is twice the logarithm of 1.05, for which R gives 34 pairs.
	x := 2 * math.Log(1.05) / math.Sqrt2
	world := &listedWorld{makespanMs: map[string]int64{
		"w01-sort-yarn": 1,
		"r01-sort-yarn": 100e3, "r01-sort-fifo": int64(100e3 * math.Exp(x)),
		"r02-sort-yarn": 300e3, "r02-sort-fifo": int64(300e3 * math.Exp(-x)),
	}}
	o := Options{Experiment: parse(models + "repeats: 2\nwarmups: 1"), Cluster: &config.Cluster{Name: "c"}, Root: t.TempDir(), Name: "like"}
	run := must(carryOut(t.Context(), &o, world))
	like := must(results.Open(run.Dir, false))
	metrics := must(measure.Find([]string{"makespan"}))
	makespan := metrics[0]
	planned := parse(models + "warmups: 2\ntimeout: 3m")
	planned.Models = append(planned.Models, config.Model{Label: "acl", Model: "acl"})
	got := Expect(planned, like, makespan, 5)
	want := &Forecast{
		Trials: []ForecastTrial{
			{"w01-sort-yarn", 200e3},
			{"w02-sort-fifo", 195e3},
			{"r01-sort-yarn", 200e3},
			{"r01-sort-fifo", 195e3},
			{"r01-sort-acl", 197e3}, // that has no trial of its own
		},
		TotalMs: 987e3, TellPct: 5, Metric: "makespan",
		Tell: []ForecastTell{
			// on the mean they do not differ
			{Workload: "sort", A: "yarn", B: "fifo", Pairs: 2, SpreadPct: 9.76, Repeats: 34, SeenRepeats: math.MaxInt32},
			{Workload: "sort", A: "yarn", B: "acl"},
			{Workload: "sort", A: "fifo", B: "acl"},
		},
	}
	near := cmp.Options{
		cmpopts.IgnoreUnexported(Forecast{}), cmpopts.IgnoreFields(Forecast{}, "Warnings"), cmpopts.EquateApprox(0, 0.01),
		cmp.Comparer(func(a, b int64) bool { return a-b < 15e3 && b-a < 15e3 }),
	}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("forecast (-want +got):\n%s", diff)
	}
	if text := strings.Join(got.Warnings, "; "); !strings.Contains(text, "sort under yarn: about 3m20s, longer than the timeout of 3m0s") {
		t.Errorf("warnings %q, want one about the timeout", text)
	}

	// Of one model it is a second run that differs, by the spread of both.
	alone := Expect(parse("workloads: [{name: sort, profile: tiny}]"), like, makespan, 5).Tell
	spread := 100 * math.Log(3) // the deviation of two values is their difference by the square root of 2
	if diff := cmp.Diff(spread, alone[0].SpreadPct, near); len(alone) != 1 || diff != "" {
		t.Errorf("spread of two runs of yarn (-want +got):\n%s\n%+v", diff, alone)
	}

	// What the run has nothing of has no estimate, and is said to have none.
	other := Expect(parse("workloads: [{name: terasort, profile: tiny}]"), like, makespan, 5)
	if other.TotalMs != 0 || len(other.Warnings) != 1 ||
		!strings.Contains(other.Warnings[0], "1 of 1 trials have no estimate, the first is r01-terasort-yarn") {
		t.Errorf("forecast of another workload: %+v", other)
	}
	var b strings.Builder
	if err := doc.WriteText(&b, got.Doc(), false); err != nil || !regexp.MustCompile(`yarn, fifo +9\.8 % +2 +34 `).MatchString(b.String()) {
		t.Errorf("error %v, text\n%s", err, &b)
	}
}
