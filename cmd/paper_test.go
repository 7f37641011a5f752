package cmd

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
)

// third is the set-up of a paper of its own: some maps on four nodes of two racks,
// each block on one node.
type third struct {
	Maps  int    `set:"maps"`
	Pause string `set:"pause" of:"none long"`
}

func (x third) With(name, value string) (paper.Setting, error) {
	err := paper.SetField(&x, name, value)
	return x, err
}

func (x third) Stages(seed uint64) ([]paper.Stage, error) {
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts()}
	c.Costs.NodeBeatMs = 1000
	for i := range 4 {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{Name: fmt.Sprint("n", i), Rack: fmt.Sprint("r", i%2), Capacity: size})
	}
	j := sim.Job{MapWork: []sim.Work{{FixedMs: map[string]int32{"none": 2000, "long": 9000}[x.Pause]}}}
	j.Name, j.Maps, j.MapSize = "job", int32(x.Maps), size
	for i := range x.Maps {
		j.Replicas.Add(state.NodeID(draw.Stream(seed, "blocks").At(uint64(i)).Below(4)))
	}
	return []paper.Stage{{Config: c, Jobs: []sim.Job{j}}}, nil
}

// Note counts the nodes that ran maps.
func (third) Note(to *paper.Simulation, _ uint64, _ []sim.Job, f *measure.Figures) {
	to.Notes["busyNodes"] = float64(len(f.Nodes))
}

// thirdPaper is a paper that only this test has: it uses all that papers have in
// common, and nothing there knows of it.
func thirdPaper() *paper.Paper {
	more := func(least float64) func(d *paper.Data, other string) paper.Effect {
		return func(d *paper.Data, other string) paper.Effect {
			g := d.Grid("sizes", other, "Patient")
			return paper.Effect{What: "local maps above those of " + other, Unit: "points", Estimate: paper.More(g.Shares(other, paper.LocalRate), g.Shares("Patient", paper.LocalRate)), Least: least}
		}
	}
	return &paper.Paper{
		Name: "third", Title: "Patience pays", Source: "Nobody, 2026", Setup: third{Maps: 16, Pause: "none"},
		Schedulers: []paper.Scheduler{{Label: "Hasty", Model: "fifo"}, {Label: "Patient", Model: "delay"}, {Label: "Lucky", Model: "random"}},
		Claimant:   "Patient", Controls: []paper.Scheduler{{Label: "matched", Model: "matching"}}, Bars: []string{"Lucky"},
		Axes: []paper.Axis{
			{Name: "pause", Chosen: true, About: "how long maps take", Values: []paper.Value{{Value: "none", Mark: paper.Printed}, {Value: "long", Mark: paper.Ours}}},
			{Name: "skips", Sets: "delay.nodeSkips", Chosen: true, About: "how patient it is", Values: []paper.Value{{Value: "4", Mark: paper.Inferred}, {Value: "0", Mark: paper.Ours}}},
		},
		Designs: []paper.Design{{ID: "sizes", X: "maps", Columns: []paper.Column{{Name: "8 maps", Set: map[string]string{"maps": "8"}}, {Name: "16 maps"}}}},
		Parts: []paper.Part{{ID: "fig1", Title: "Local maps", Design: "sizes", Schedulers: []string{"Hasty", "Patient"}, Rows: []paper.Row{
			{Suffix: ", local %", Is: "local"}, {Suffix: ", nodes", Is: "busyNodes"},
		}}},
		Claims: []paper.Claim{{ID: "T1", Text: "waiting brings local maps", Published: "10", Parts: []string{"fig1"}, Beats: more(5), Effects: func(d *paper.Data) []paper.Effect {
			return []paper.Effect{more(10)(d, "Hasty")}
		}}},
		Measures: []paper.Measure{{Name: "local", Unit: "%", Of: func(d *paper.Data) stats.Estimate {
			return stats.MeanShare(d.Grid("sizes", "Patient").Shares("Patient", paper.LocalRate))
		}}},
		Explain: func(d *paper.Data) string {
			bar, e := d.Best(more(5))
			return fmt.Sprintf("Patience gains %.0f points over %s.", e.Value, bar)
		},
		Experiments: fstest.MapFS{
			"live.yaml": {Data: []byte("actuator: labels\nmodels: [fifo, delay]\nworkloads: [{name: wordcount, size: 32MiB, reduces: 1}]\nthresholds: {nodeLocal: delay > fifo}\nrepeats: 2\n")},
			"lab.yaml":  {Data: []byte("rates: {disk: 80MB/s, link: 200Mbit, uplink: 60Mbit}\nmachines: {nodes: 3, racks: 1, slots: 2, container: 512MiB, blockSize: 4MiB, replication: 1, nmHeartbeat: 200ms, amHeartbeat: 200ms}\n")},
		},
	}
}

// TestThirdPaper adds a paper by a line in the list of papers. The command then
// lists it, simulates it in all readings and writes its experiment for a cluster.
func TestThirdPaper(t *testing.T) {
	kept := papers
	defer func() { papers = kept }()
	papers = append(kept[:len(kept):len(kept)], thirdPaper)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		want []string
	}{
		{"paper", []string{"third Patience pays 1 1 2"}},
		{"paper third --seeds 6 --runs DIR --run-name third -o DIR/page.html --pictures DIR/pictures", []string{
			"Patience gains ", "Patient, local % 93.8 [", "Patient, nodes 4.00", "T1 holds ", "T1 matched ", "The bar: local maps above those of Lucky, the best there, ", "skips=4: how patient it is; inferred",
		}},
		{"paper third T1 --seeds 6 --set pause=long --set delay.nodeSkips=0 --json", []string{`"neededMethod": false`, `"best": "Lucky"`, `"delay.nodeSkips": "0"`}},
		{"paper third --matrix --seeds 6", []string{"as printed, skips=0", "as printed, pause=long", "Local of Patient: 96.5 % as printed", "come out 2 times, in size or in direction; in 1 of these the seeds do not tell it from another in its place"}},
		{"paper third --experiments DIR/third-files", nil},
		{"run --dry-run --cluster DIR/third-files/lab.yaml DIR/third-files/live.yaml", []string{"4 trials", "wordcount fifo, delay"}},
	} {
		var out bytes.Buffer
		app := newApp()
		app.Writer, app.ErrWriter = &out, &bytes.Buffer{}
		if err := app.RunContext(t.Context(), append([]string{"heddle"}, strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))...)); err != nil {
			t.Fatalf("%s: %v", c.args, err)
		}
		text := strings.Join(strings.Fields(out.String()), " ") // tables and paragraphs alike
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the output lacks %q:\n%s", c.args, want, out.String())
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "page.html"))
	for _, want := range []string{"Where this is from", filepath.Join(dir, "third"), "UTC", "rows.csv", "What to distrust"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q: %v", want, err)
		}
	}
	for _, file := range []string{"third/measures.jsonl", "page.html"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), "Patient") {
			t.Errorf("%s does not have the paper's scheduler: %v", file, err)
		}
	}
}

// TestPaperExperiments: each paper's experiments for a cluster can be read, steer through labels,
// and have thresholds; each names models of its own, and the lab that it is made for is described.
func TestPaperExperiments(t *testing.T) {
	for _, of := range papers {
		p := of()
		files, err := fs.Glob(p.Experiments, "*.yaml")
		if err != nil || len(files) < 2 {
			t.Errorf("%s: experiments %v, error %v", p.Name, files, err)
		}
		for _, file := range files {
			data, err := fs.ReadFile(p.Experiments, file)
			if err != nil {
				t.Fatal(err)
			}
			if file == paper.PaperFile {
				continue
			}
			if file == "lab.yaml" {
				if c, err := config.ParseCluster(file, data); err != nil || c.Machines == nil {
					t.Errorf("%s: %s: %+v, error %v", p.Name, file, c, err)
				}
				continue
			}
			e, err := config.ParseExperiment(file, data)
			if err != nil || e.Actuator != "labels" || e.Thresholds.Len() == 0 {
				t.Errorf("%s: %s: error %v; want labels and thresholds", p.Name, file, err)
			}
		}
	}
}
