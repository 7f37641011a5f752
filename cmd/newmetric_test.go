package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewMetric builds the command with one more entry in the list of metrics, that of
// the page for contributors, and nothing else changed: the metric is then wherever
// metrics are.
func TestNewMetric(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles all that imports package measure, which takes a minute: not with -short")
	}
	dir, newMetric := t.TempDir(), ""
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if filepath.Base(p.path) == "CONTRIBUTING.md" && b.kind == "go" && b.file == "metric" {
				newMetric = strings.Join(b.lines, "\n")
			}
		}
	}
	if newMetric == "" {
		t.Fatal("CONTRIBUTING.md has no metric")
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		mustDo(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	list := must(filepath.Abs(top + "/harness/measure/metrics.go"))
	source := must(os.ReadFile(list))
	const at = "otherMetrics = []Metric{\n"
	if strings.Count(string(source), at) != 1 {
		t.Fatalf("%s: want %q once, behind which the new metric is put", list, at)
	}
	replaced := must(json.Marshal(map[string]any{"Replace": map[string]string{list: write("metrics.go",
		strings.Replace(string(source), at, at+newMetric+"\n", 1))}}))
	overlay := write("overlay.json", string(replaced))
	run := func(ok bool, name string, args ...string) string {
		t.Helper()
		command := exec.Command(name, args...)
		command.Dir = top
		out, err := command.CombinedOutput()
		if (err == nil) != ok {
			t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	heddle := filepath.Join(dir, "heddle")
	run(true, "go", "build", "-pgo=off", "-overlay", overlay, "-o", heddle, "./cmd/heddle")

	experiment := write("more.yaml", "workloads: [{name: wordcount, size: 16MiB, maps: 4, reduces: 1}]\nmodels: [yarn, fifo]\n"+
		"thresholds: {ended: [fifo < yarn + 9], cannotTell: pass}\n")
	data, runs := filepath.Join(dir, "seeds.csv"), filepath.Join(dir, "runs")
	for _, x := range []struct{ args, want string }{
		{"compare --help", "ended           number of task attempts that ended"},
		{"compare --metric --generate-bash-completion", "\nended\n"},
		{"replay --metric --generate-bash-completion", "\nended\n"},
		{"fidelity --metric ended harness/fidelity/testdata/run", "wordcount  yarn   ended        3"},
		{"schema experiment", `"description": "Number of task attempts that ended."`},
		{
			"run --simulate --runs " + runs + " --run-name more --cluster harness/config/testdata/slowdisks.yaml " + experiment,
			"fifo < yarn + 9  ended   wordcount",
		},
		{"compare --metric ended " + runs + "/more", "model  ended"},
		{"compare --metric all --json " + runs + "/more", `"metric": "ended"`},
		{"replay --metric ended --metric makespan " + runs + "/more/trials/r01-wordcount-yarn/trace.heddle", "jobs  ended  makespan"},
		{"replay --json --metric ended " + runs + "/more/trials/r01-wordcount-yarn/trace.heddle", `"ended": 5`},
		{"paper clqlmrs C7 --seeds 2 --runs " + runs + " --run-name c7", "C7"},
		{"runs export -o " + data + " " + runs + "/c7", ""},
	} {
		if out := run(true, heddle, strings.Fields(x.args)...); !strings.Contains(out, x.want) {
			t.Errorf("heddle %s: want %q in\n%.4000s", x.args, x.want, out)
		}
	}
	seeds, err := os.ReadFile(data)
	if head, _, _ := strings.Cut(string(seeds), "\n"); err != nil || !strings.Contains(head, ",ended,") {
		t.Errorf("rows of a paper: %v: no column of the metric in %s", err, head)
	}
	// The table for users is not made but held against the list.
	if out := run(false, "go", "test", "-overlay", overlay, "-run", "MetricTable", "./harness/measure"); !strings.Contains(out,
		"number of task attempts that ended") {
		t.Errorf("the page's table of metrics lacks the metric, and its test says\n%s", out)
	}
}
