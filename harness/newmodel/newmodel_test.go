package newmodel_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/newmodel"
)

// tree writes a folder of files by their paths.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	registry = `package sched

import "slices"

// models are all of them.
var models = []Info{
	aclInfo,
	oddInfo, // called so by name only
}

func List() []Info { return slices.Clone(models) }
`
	twoModels = `package sched

import "math/rand/v2"

type Info struct{ Name string }

var aclInfo = Info{Name: "acl"}

var oddInfo = Info{Name: "zulu"}

type helper struct{ *rand.Rand }

func (helper) method() {}
`
	elsewhere = `package sched_test

type outside struct{}
`
)

func checkout() map[string]string {
	return map[string]string{
		"go.mod": "module heddle\n\ngo 1.26\n", "harness/sched/registry.go": registry, "harness/sched/acl.go": twoModels,
		"harness/sched/elsewhere_test.go": elsewhere, "cmd/heddle/main.go": "package main\n",
		"harness/sched/weighted.go": "package sched\n", "harness/sched/testdata/scenarios/told": "",
	}
}

// A model's line stands among the others by name, and files are where the
// packages look for them.
func TestWrite(t *testing.T) {
	root := tree(t, checkout())
	for _, c := range []struct{ name, model, line string }{
		{"my-model", "harness/sched/mymodel.go", "\taclInfo,\n\tmyModelInfo,\n\toddInfo, // called so by name only\n"},
		{"aaa", "harness/sched/aaa.go", "{\n\taaaInfo,\n\taclInfo,\n\tmyModelInfo,\n"},
		{"zulu-2-b", "harness/sched/zulu2b.go", "\toddInfo, // called so by name only\n\tzulu2BInfo,\n}\n"},
		{"method", "harness/sched/method.go", "\taclInfo,\n\tmethodInfo,\n\tmyModelInfo,\n"},
		{"outside", "harness/sched/outside.go", "\tmyModelInfo,\n\toutsideInfo,\n\toddInfo,"},
	} {
		p, err := newmodel.New(filepath.Join(root, "cmd/heddle"), c.name) // from below the root
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		if p.Root != root || p.Model != c.model || p.Scenario != "harness/sched/testdata/scenarios/"+c.name {
			t.Errorf("model %s is planned as %s and %s in %s", c.name, p.Model, p.Scenario, p.Root)
		}
		for path, want := range map[string]string{p.Model: `Name: "` + c.name + `"`, p.Scenario: "\nmodel " + c.name + "\n", p.Registry: c.line} {
			if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("after model %s, %s should have %q: %v\n%s", c.name, path, want, err, text)
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(root, "harness/sched/.*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What cannot be is refused with the reason, before anything is written.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		says string
		edit func(files map[string]string)
	}{
		{name: "", says: "no name for a model"},
		{name: "My", says: "no name for a model"},
		{name: "myModel", says: "no name for a model"},
		{name: "my_model", says: "no name for a model"},
		{name: "-my", says: "no name for a model"},
		{name: "my--model", says: "no name for a model"},
		{name: "3rd", says: "no name for a model"},
		{name: "../up", says: "no name for a model"},
		{name: "ab", says: "three characters"},
		{name: "range", says: "means something in Go; take another, such as range-model"},
		{name: "string", says: "means something in Go"},
		{name: "init", says: "means something in Go"},
		{name: "acl", says: "there is a model acl already, at ROOT/harness/sched/acl.go:7:5"},
		{name: "zulu", says: "there is a model zulu already"},
		{name: "odd", says: "something else called oddInfo"},
		{name: "helper", says: "something else called helper, at ROOT/harness/sched/acl.go:11:6"},
		{name: "models", says: "something else called models"},
		{name: "slices", says: "something else called slices"},
		{name: "rand", says: "something else called rand"},
		{name: "weighted", says: "ROOT/harness/sched/weighted.go is there already"},
		{name: "told", says: "ROOT/harness/sched/testdata/scenarios/told is there already"},
		{name: "fine", says: "ROOT/go.mod is not heddle's", edit: func(f map[string]string) { f["go.mod"] = "module heddle/other\n" }},
		{name: "fine", says: "no go.mod in ROOT", edit: func(f map[string]string) { delete(f, "go.mod") }},
		{name: "fine", says: "no table of models", edit: func(f map[string]string) { delete(f, "harness/sched/registry.go") }},
		{name: "fine", says: "no table of models", edit: func(f map[string]string) { f["harness/sched/registry.go"] = "package sched\n" }},
		{name: "fine", says: "mend it first", edit: func(f map[string]string) { f["harness/sched/acl.go"] = "package sched\n\nfunc {" }},
	} {
		files := checkout()
		if c.edit != nil {
			c.edit(files)
		}
		root := tree(t, files)
		_, err := newmodel.New(root, c.name)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), root, "ROOT"), c.says) {
			t.Errorf("name %q: error %v, want one that says %q", c.name, err, c.says)
		}
	}
}

// A failure half-way leaves what was there before: a scenario cannot be written
// where testdata is a file.
func TestWriteLeavesNothing(t *testing.T) {
	files := checkout()
	delete(files, "harness/sched/testdata/scenarios/told")
	root := tree(t, files)
	p, err := newmodel.New(root, "fine")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "harness/sched/testdata"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(); err == nil || !strings.Contains(err.Error(), "testdata") {
		t.Errorf("error %v, want one about testdata", err)
	}
	if _, err := os.Stat(filepath.Join(root, p.Model)); err == nil {
		t.Error("the model's file is there")
	}
	if text, _ := os.ReadFile(filepath.Join(root, p.Registry)); string(text) != registry {
		t.Errorf("the registry is\n%s", text)
	}
}

// The model that is written passes vet, its scenario and the tests of all models,
// in a copy of package sched and of what it and its tests import. The command
// lists it, and replays a trace under it.
func TestWrittenModel(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles package sched and what imports it, which takes half a minute: not with -short")
	}
	root := copySched(t)
	planned, err := newmodel.New(root, "cold-first")
	if err != nil {
		t.Fatal(err)
	}
	if err := planned.Write(); err != nil {
		t.Fatal(err)
	}
	scenario := filepath.Join(root, planned.Scenario)
	before, err := os.ReadFile(scenario)
	if err != nil {
		t.Fatal(err)
	}
	run(t, root, "go", "vet", "./harness/sched")
	out := run(t, root, "go", "test", "-short", "-v", "./harness/sched")
	for _, test := range []string{"TestScenarios/cold-first", "TestModels/cold-first0/keeps_the_rules", "TestModels/cold-first0/starves_nothing"} {
		if !strings.Contains(out, "--- PASS: "+test) {
			t.Errorf("no test %s has passed:\n%.4000s", test, out)
		}
	}
	run(t, root, "go", "test", "-run", "Scenarios", "./harness/sched", "-rewrite")
	if after, err := os.ReadFile(scenario); err != nil || string(after) != string(before) {
		t.Errorf("-rewrite changes the scenario as it was written: %v\n%s", err, after)
	}

	// The command, with the copy's files in place of this tree's.
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for _, path := range []string{planned.Registry, planned.Model} {
		replaced[filepath.Join(here, path)] = filepath.Join(root, path)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "overlay.json"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	heddle := filepath.Join(root, "heddle")
	run(t, here, "go", "build", "-overlay", filepath.Join(root, "overlay.json"), "-o", heddle, "./cmd/heddle")
	if out := run(t, here, heddle, "models", "cold-first"); !strings.Contains(out, "skips      int >= -1  0 ") {
		t.Errorf("heddle models cold-first prints\n%s", out)
	}
	traces, _ := filepath.Glob("../fidelity/testdata/run/trials/*/trace.heddle")
	if len(traces) == 0 {
		t.Fatal("no traces in harness/fidelity/testdata/run")
	}
	trace, err := filepath.Abs(traces[0])
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, here, heddle, "replay", "--model", "cold-first", trace); !strings.Contains(out, "cold-first") {
		t.Errorf("heddle replay --model cold-first prints\n%s", out)
	}
}

// copySched copies package sched, and what of this module it and its tests import.
func copySched(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	copyFile(t, "../../go.mod", filepath.Join(root, "go.mod"))
	copyFile(t, "../../go.sum", filepath.Join(root, "go.sum"))
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for dir := range strings.Lines(run(t, here, "go", "list", "-deps", "-test", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", "./harness/sched")) {
		files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(dir), "*.go"))
		for _, path := range files {
			copyFile(t, path, filepath.Join(root, strings.TrimPrefix(path, here)))
		}
	}
	if err := os.CopyFS(filepath.Join(root, "harness/sched/testdata"), os.DirFS("../sched/testdata")); err != nil {
		t.Fatal(err)
	}
	return root
}

// run is what a command prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), args[0], args[1:]...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
