package experiment_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/errtest"
)

// The sizes of emulated tests. By hand, 1,000 nodes:
//
//	go test ./harness/experiment -run TestEmulated -v -emulated-nodes 1000 -timeout 60m
var (
	emulatedNodes = flag.Int("emulated-nodes", 60, "nodes of emulated clusters")
	emulatedJobs  = flag.Int("emulated-jobs", 8, "jobs of emulated steering")
	emulatedMaps  = flag.Int("emulated-maps", 6, "maps of each of these jobs")
	emulatedBy    = flag.String("emulated-models", "[fifo, delay, yarn]", "models of emulated steering")
	emulatedAsync = flag.Bool("emulated-async", true, "containers of emulated steering do not wait for heartbeats")
)

// needJars skips a test where Hadoop would have to be fetched first.
func needJars(t *testing.T) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		_, err = os.Stat(filepath.Join(cache, "heddle", "hadoop-"+lab.DefaultHadoop, "jars"))
	}
	if err != nil || testing.Short() {
		t.Skip("it needs Hadoop's jars in the user's cache, as 'heddle lab up' leaves them, and minutes")
	}
}

// machines describes an emulated cluster of one-slot nodes.
func machines(t *testing.T, more string) *config.Cluster {
	t.Helper()
	c := errtest.Must(config.ParseCluster("c.yaml", fmt.Appendf(nil, `
name: emulated
user: tester
machines: {nodes: %d, racks: %d, container: 512MiB, blockSize: 64MiB, replication: 3, %s}
`, *emulatedNodes, max(2, *emulatedNodes/40), more)))
	return c
}

// swim writes a job list: for each job its time in s, its number of maps and whether it has
// reduces.
func swim(t *testing.T, jobs [][3]int) string {
	t.Helper()
	const block = 64 << 20
	var list strings.Builder
	for i, j := range jobs {
		fmt.Fprintf(&list, "job%d\t%d\t0\t%d\t%d\t%d\n", i, j[0], j[1]*block, j[2]*j[1]*block/4, block/2)
	}
	name := filepath.Join(t.TempDir(), "jobs.tsv")
	errtest.None(t, os.WriteFile(name, []byte(list.String()), 0o600))
	return name
}

// carryOut runs an experiment in a world, and returns the figures of its trials by model.
func carryOut(t *testing.T, c *config.Cluster, models, trace string,
	in func(experiment.Options) (*runs.Run, error),
) (map[string]*measure.Figures, map[string]*results.Trial) {
	t.Helper()
	source := fmt.Appendf(nil, "workloads: [{trace: %s, label: mix, maxTasks: 400}]\nmodels: %s\nrepeats: 1\n", trace, models)
	e := errtest.Must(config.ParseExperiment("e.yaml", source))
	last := ""
	run := errtest.Must(in(experiment.Options{
		Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Progress: func(s experiment.Step) {
			if s.Jobs == nil && s.Text != last {
				last = s.Text
				t.Log(s.Trial, s.Doing, s.Text)
			}
		},
	}))
	list := errtest.Must(results.Open(run.Dir, false))
	figures, trials := map[string]*measure.Figures{}, map[string]*results.Trial{}
	for i := range list.Trials {
		r := &list.Trials[i]
		f, _, err := list.Figures(r)
		if err != nil {
			t.Fatal(err)
		}
		figures[r.Model], trials[r.Model] = f, r
	}
	return figures, trials
}

// TestEmulatedOracle holds the simulated scheduler of YARN against the real one, with the
// same jobs on the same nodes, whose tasks take the same times. What may differ is 5 %, a
// heartbeat of a node and of an ApplicationMaster, or what two emulated runs differ by.
func TestEmulatedOracle(t *testing.T) {
	needJars(t)
	const beatMs = 500
	const beats = "nmHeartbeat: 500ms, amHeartbeat: 500ms"
	n := *emulatedNodes
	var mix [][3]int
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // a test's
	for i := range 16 {
		mix = append(mix, [3]int{2 * i, 1 + random.IntN(n/4), i % 3 / 2})
	}
	// Where the cluster is full, waves of tasks follow each other. The simulator knows of room when
	// an attempt ends, and YARN with the next heartbeat of its node, half an interval later.
	for name, x := range map[string]struct {
		more  string
		jobs  [][3]int
		waves float64
	}{
		"async":      {"slots: 1, async: true, " + beats, mix, 0},
		"heartbeats": {"slots: 1, " + beats, mix, 0},
		"two slots":  {"slots: 2, async: true, " + beats, mix, 0},
		"full":       {"slots: 1, async: true, " + beats, [][3]int{{0, n, 0}, {1, n, 0}, {2, n / 2, 0}, {3, n / 2, 0}}, 3},
		"reduces":    {"slots: 1, async: true, " + beats, [][3]int{{0, n / 2, 1}, {1, n / 2, 1}, {2, n, 1}, {8, n / 4, 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, trace := machines(t, x.more), swim(t, x.jobs)
			const twice = "[{model: yarn, label: a}, {model: yarn, label: b}]"
			emulated, trials := carryOut(t, c, twice, trace,
				func(o experiment.Options) (*runs.Run, error) { return experiment.Emulate(t.Context(), o, nil) })
			virtual, _ := carryOut(t, c, twice, trace,
				func(o experiment.Options) (*runs.Run, error) { return experiment.Simulate(t.Context(), o, nil) })
			for _, r := range trials {
				if i := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "heartbeats were late") }); i >= 0 {
					t.Skip(r.Warnings[i])
				}
			}
			a, b, s := emulated["a"], emulated["b"], virtual["a"]
			same := func(what string, of func(f *measure.Figures) float64, slack float64) {
				ea, eb, sim := of(a), of(b), of(s)
				mean := (ea + eb) / 2
				may := max(0.05*mean, slack, math.Abs(ea-eb))
				t.Logf("%-12s emulated %.4g and %.4g, simulated %.4g: %+.1f %%", what, ea, eb, sim, 100*(sim-mean)/max(1e-9, mean))
				if d := math.Abs(sim - mean); d > may {
					t.Errorf("%s: simulated %.4g, emulated %.4g and %.4g: they differ by %.4g, and may by %.4g", what, sim, ea, eb, d, may)
				}
			}
			share := func(f *measure.Figures, n int) float64 { return 100 * float64(n) / float64(max(1, f.Maps)) }
			slack := (2 + x.waves/2) * beatMs
			same("makespan", func(f *measure.Figures) float64 { return f.MakespanMs }, slack)
			same("completion", func(f *measure.Figures) float64 { return f.MeanCompletionMs }, slack)
			same("map's wait", mapWait, slack)
			chance := 300 * math.Sqrt(0.5/float64(s.Maps)) // three standard errors of the difference of two shares, at most: ten are compared
			same("node-local", func(f *measure.Figures) float64 { return share(f, f.SplitLocality.Node) }, chance)
			same("off-rack", func(f *measure.Figures) float64 { return share(f, f.SplitLocality.Off) }, chance)
		})
	}
}

// mapWait is how long a map waited for its container, on average, in ms.
func mapWait(f *measure.Figures) (ms float64) {
	for _, j := range f.JobList {
		ms += j.MapWaitMs / float64(f.Maps)
	}
	return ms
}

// TestEmulatedSteering has models decide for emulated nodes by labels.
func TestEmulatedSteering(t *testing.T) {
	needJars(t)
	c := machines(t, fmt.Sprintf("slots: 1, nmHeartbeat: 1s, amHeartbeat: 500ms, async: %v", *emulatedAsync))
	var jobs [][3]int
	for i := range *emulatedJobs {
		jobs = append(jobs, [3]int{i / 4, *emulatedMaps, 0})
	}
	figures, trials := carryOut(t, c, *emulatedBy, swim(t, jobs), func(o experiment.Options) (*runs.Run, error) {
		return experiment.Emulate(t.Context(), o, nil)
	})
	load, _ := os.ReadFile("/proc/loadavg")
	var own, manager unix.Rusage
	errtest.None(t, errors.Join(unix.Getrusage(unix.RUSAGE_SELF, &own), unix.Getrusage(unix.RUSAGE_CHILDREN, &manager)))
	cpu := func(r *unix.Rusage) float64 { return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9 }
	t.Logf("CPU in all, starts included: ResourceManager %.1f s, heddle %.1f s with %d MB at most; load %s",
		cpu(&manager), cpu(&own), own.Maxrss>>10, load)
	for model, f := range figures {
		d := f.Decisions
		t.Logf("%s: %d maps in %.1f s; %d decisions, %d honoured, %d bound as predicted, p50 %.0f ms, p95 %.0f ms", model, f.Maps,
			f.MakespanMs/1000, d.Made, d.Honoured, d.BindPredicted, d.P50Ms, d.P95Ms)
		if model != "yarn" && float64(d.Honoured) < 0.97*float64(d.Made) {
			t.Errorf("%s: %d of %d decisions were honoured; want 97 %% or more", model, d.Honoured, d.Made)
		}
		for _, w := range trials[model].Warnings {
			t.Log(w)
		}
	}
}
