package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"heddle/traces/errtest"
)

const someNumbers = "figure,row,column,value,unit,from\nf1,Mine,large,4,s,printed\ntext,Mine,odd,as {text; Mine; odd} says,in words,printed\n"

// load reads a paper of a claimant Mine in one column, with more lines of its file.
func load(more string) (*Paper, error) {
	const start = "name: x\ntitle: X\nclaimant: Mine\nschedulers: [{label: Mine, model: fifo}]\ndesigns: [{id: d, columns: {a: {}}}]\n"
	return Load(fstest.MapFS{PaperFile: {Data: []byte(start + more)}, NumbersFile: {Data: []byte(someNumbers)}}, Program{})
}

// TestLoadFaults: what is wrong in a paper's file is said when it is read, with its place.
func TestLoadFaults(t *testing.T) {
	for more, want := range map[string]string{
		"colour: red": "colour",
		"claims: [{id: C, asks: [{is: 'time['}]}]":                                      "paper x: C: formula",
		"claims: [{id: C, asks: [{what: nothing}]}]":                                    "want is: formula",
		"claims: [{id: C, asks: [{above: [colour, Mine, Mine]}]}]":                      "with a rate of maps",
		"claims: [{id: C, asks: [{is: 1, near: [a, 1]}]}]":                              `parsing "a"`,
		"claims: [{id: C, asks: [{is: 1, within: [1]}]}]":                               "of within and near two values",
		"claims: [{id: C, asks: [{is: 1, near: [1]}]}]":                                 "of within and near two values",
		"claims: [{id: C, asks: [{is: 1, saves: [Mine]}]}]":                             "want is: formula",
		"claims: [{id: C, asks: [{is: 1, saves: [Mine, Mine]}]}]":                       "want is: formula",
		"claims: [{id: C, asks: [{is: 1}], beats: {is: 1, each: [1, 2]}}]":              "want no each",
		"claims: [{id: C, in: d, asks: [{is: 'time[Mine; b]'}]}]":                       `design "d" has no column "b"`,
		"claims: [{id: C, in: d, asks: [{saves: [Mine, Mine], at: [b]}]}]":              `design "d" has no column "b"`,
		"claims: [{id: C, in: d, asks: [{is: 'time[Other]'}]}]":                         `scheduler "Other"`,
		"claims: [{id: C, asks: [{is: 'time[Mine]'}]}]":                                 `design ""`,
		"figures: [{id: F, design: d, schedulers: [Mine], rows: [{is: 'a[e: Mine]'}]}]": `design "e"`,
		"measures: [{name: M, is: 'time[d: Mine] / {f1; Mine; small}'}]":                `no number "f1; Mine; small"`,
		"claims: [{id: C, asks: [{is: 1, least: 3, most: 2}]}]":                         "least 3, most 2",
		"claims: [{id: C, asks: [{is: 1, within: [3, 2]}]}]":                            "within [3 2]",
		"claims: [{id: C}]":                                  "asks for nothing",
		"claims: [{id: C, kind: odd, go: away}]":             `kind "odd"`,
		"claims: [{id: C, go: away}]":                        `no effects "away"`,
		"claims: [{id: C, figures: [f], asks: [{is: 1}]}]":   `figure "f"`,
		"figures: [{id: F, go: away}]":                       `no figure "away"`,
		"figures: [{id: F}]":                                 `F: paper x has no design ""`,
		"figures: [{id: F, design: d, schedulers: [Other]}]": `scheduler "Other"`,
		"figures: [{id: F, design: d, kind: pie}]":           `kind "pie"`,
		"measures: [{name: M, go: away}]":                    `no estimate "away"`,
		"axes: [{name: A}]":                                  "axis A: it has no values",
		"axes: [{name: A, values: [[1, guessed]]}]":          `mark of 1 "guessed"`,
		"bars: [Other]":                                      `bar "Other": not known: there are Mine`,
		"axes: [{name: maps, values: [[9, ours]]}, {name: nodes, values: [[many, ours]]}]": "set nodes=many",
		"claims: [{id: C, text: '{f1; Mine; small}', asks: [{is: 1}]}]":                    "states not all of {f1; Mine; small}",
		"claims: [{id: C, asks: [{is: 1, third: f1; Mine; small}]}]":                       `no number "f1; Mine; small"`,
		"setup: {colour: red}":                `unknown name "colour"`,
		"setup: {nodes: 0}":                   "nodes: 0: want 1 to 10000",
		"setup: {maps: 900000}":               "at most 1000000 tasks",
		"controls: [{label: C, model: none}]": "read paper x: C: ",
		"readings: [1]":                       "want a mapping",
	} {
		if _, err := load(more); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", more, err, want)
		}
	}
	for _, name := range []string{"../x", "''", "a b"} {
		files := fstest.MapFS{PaperFile: {Data: []byte("title: X\nname: " + name + "\n")}, NumbersFile: {Data: []byte(someNumbers)}}
		if _, err := Load(files, Program{}); err == nil || !strings.Contains(err.Error(), "want a title, and a name") {
			t.Errorf("a paper with the name %s: %v", name, err)
		}
	}
	for designs, want := range map[string]string{
		"[{id: d, like: e}]":                            `like "e"`,
		"[{id: d, like: e}, {id: e, columns: {a: {}}}]": `like "e"`,
	} {
		files := fstest.MapFS{
			PaperFile:   {Data: []byte("name: x\ntitle: X\nclaimant: Mine\nschedulers: [{label: Mine, model: fifo}]\ndesigns: " + designs + "\n")},
			NumbersFile: {Data: []byte(someNumbers)},
		}
		if _, err := Load(files, Program{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("designs %s: %v, want %s", designs, err, want)
		}
	}
	for file, data := range map[string]string{"a second name": "name: y\n", "designs": "designs: [1]\n"} {
		if _, err := load(data); err == nil {
			t.Errorf("%s: no error", file)
		}
	}
	big := fstest.MapFS{PaperFile: {Data: make([]byte, 2<<20)}, NumbersFile: {Data: []byte(someNumbers)}}
	errtest.Has(t, errtest.Of(Load(big, Program{})), "more than")
	p, err := load("notJudged: [['{text; Mine; odd}, {f1; Mine; large}', why]]")
	check(t, err)
	if got := p.NotJudged[0].Says; got != "as {text; Mine; odd} says, 4" {
		t.Errorf("published numbers in a text: %q", got)
	}
	p, err = load("claims: [{id: C, in: d, asks: [{is: 'tume[Mine] + lode[Mine]'}]}]")
	check(t, err)
	r, err := p.Run(t.Context(), Options{Seed: 1, Seeds: 2, Simulate: func(Case, uint64) (Simulation, error) {
		return Simulation{Notes: map[string]float64{"lode": math.NaN()}}, nil
	}})
	check(t, err)
	if !slices.Equal(r.NotNoted, []string{"tume"}) || !strings.Contains(strings.Join(r.doubts(), "\n"), "misspelt: tume.") {
		t.Errorf("figures that no simulation has: %v, and said is %v", r.NotNoted, r.doubts())
	}
}

// TestExplain has what explains the results be a text with formulas, and with what the paper's code says.
func TestExplain(t *testing.T) {
	says := "time"
	p, err := Load(fstest.MapFS{NumbersFile: {Data: []byte(someNumbers)}, PaperFile: {Data: []byte(`{name: x, title: X, claimant: Mine,
		schedulers: [{label: Mine, model: fifo}], designs: [{id: d, columns: {a: {}}}],
		explain: 'its $what is <{f1; Mine; large} / 8> of <±time[d: Mine]> s'}`)}}, Program{
		Explain: map[string]func(*Data) string{"what": func(*Data) string { return says }},
	})
	check(t, err)
	for _, want := range []string{"its time is 0.5 of 8.00 s", ""} {
		r, err := p.Run(t.Context(), Options{Seed: 1, Seeds: 2, Simulate: func(Case, uint64) (Simulation, error) {
			return Simulation{Seconds: 8},
				nil
		}})
		check(t, err)
		if r.Summary != want {
			t.Errorf("%q, want %q", r.Summary, want)
		}
		says = "" // nothing is known of it
	}
}

// TestBegin: a new paper is read and simulated, and is not written over.
func TestBegin(t *testing.T) {
	dir := t.TempDir()
	folder, err := Begin(dir, "mine")
	check(t, err)
	if _, err := Begin(dir, "mine"); err == nil {
		t.Error("it was written over")
	}
	for _, name := range []string{"", "../x", "a b", "1"} {
		if _, err := Begin(dir, name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	p, err := Load(os.DirFS(folder), Program{})
	check(t, err)
	r, err := p.Run(t.Context(), Options{Seed: 1, Seeds: 6, Workers: 2})
	check(t, err)
	if c := r.Criteria[0]; c.ID != "P1" || c.Published != "15 %" || c.Effects[1].Verdict != Holds || len(r.Figures) != 2 {
		t.Errorf("%+v", c)
	}
	lines := 0
	for _, name := range []string{PaperFile, NumbersFile, "live.yaml", "lab.yaml"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		check(t, err)
		lines += strings.Count(string(text), "\n")
		if strings.Contains(string(text), "NAME") {
			t.Errorf("%s has no name", name)
		}
	}
	if lines > 150 {
		t.Errorf("a new paper has %d lines, want 150 or fewer", lines)
	}
}

// TestTestbed: jobs are as asked, from a seed alone, and each property changes something.
func TestTestbed(t *testing.T) {
	text := func(set map[string]string) string {
		x, err := withAll(testbed, set)
		check(t, err)
		stages, err := x.(Testbed).Stages(5)
		check(t, err)
		again, err := x.(Testbed).Stages(5)
		check(t, err)
		if fmt.Sprintf("%+v", stages) != fmt.Sprintf("%+v", again) {
			t.Errorf("%v: two stages of one seed differ", set)
		}
		return fmt.Sprintf("%+v", stages)
	}
	usual := text(nil)
	for name, value := range map[string]string{
		"nodes": "9", "racks": "4", "containers": "3", "cores": "2", "disk": "1MB/s", "link": "1MB/s", "uplink": "1MB/s", "beat": "2s",
		"actuator":    "labels",
		"replication": "2", "layout": "hot", "cachedPct": "50", "jobs": "3", "maps": "7", "sizes": "mixed", "reduces": "0", "block": "1MiB",
		"mapOutput": "1",
		"map":       "1s", "reduce": "1s", "arrival": "even", "every": "1s", "slowstart": "0.5", "pools": "2",
	} {
		if text(map[string]string{name: value}) == usual {
			t.Errorf("%s=%s changes nothing", name, value)
		}
	}
	for name, value := range map[string]string{
		"racks": "9", "replication": "9", "cachedPct": "101", "map": "200h", "pools": "0",
		"arrival": "never", "jobs": "0", "block": "0",
	} {
		if _, err := testbed.With(name, value); err == nil {
			t.Errorf("%s=%s is accepted", name, value)
		}
	}
}

// FuzzLoad: whatever a paper's file is, it is a paper or an error; a paper can be judged, by
// simulations that show nothing.
func FuzzLoad(f *testing.F) {
	text := errtest.Must(begin.ReadFile("begin/paper.yaml"))
	f.Add(text)
	f.Add([]byte(strings.ReplaceAll(string(text), "rows:", "kind: series, of: x, rows:")))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Load(fstest.MapFS{PaperFile: {Data: text}, NumbersFile: {Data: []byte(someNumbers)}}, Program{})
		if (p == nil) == (err == nil) {
			t.Errorf("%v and %v", p, err)
		}
		if p != nil {
			_, _ = p.Run(t.Context(), Options{Seed: 1, Seeds: 2, Simulate: func(Case, uint64) (Simulation, error) { return Simulation{}, nil }})
		}
	})
}
