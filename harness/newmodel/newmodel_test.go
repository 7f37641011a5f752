package newmodel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/newmodel"
	"heddle/traces/errtest"
)

const checkout = "../.."

// tree writes a folder of files by their paths.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mustDo(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

// written writes the module of a model.
func written(t *testing.T, name string) *newmodel.Module {
	t.Helper()
	m := errtest.Must(newmodel.New(name, filepath.Join(t.TempDir(), "deep", name), checkout))
	mustDo(t, m.Write())
	return m
}

// The files of a module name each other, and heddle's source with a path that Go
// understands, whatever is in it.
func TestWrite(t *testing.T) {
	odd := filepath.Join(t.TempDir(), `a "$1" (b)`)
	mustDo(t, os.Mkdir(odd, 0o755))
	for _, path := range []string{"go.mod", "go.sum", "harness"} {
		at, err := filepath.Abs(filepath.Join(checkout, path))
		if err == nil {
			err = os.Symlink(at, filepath.Join(odd, path))
		}
		mustDo(t, err)
	}
	m := errtest.Must(newmodel.New("big-5-first", filepath.Join(t.TempDir(), "mine"), odd))
	mustDo(t, m.Write())
	for path, want := range map[string]string{
		"main.go":                    "func main() { cmd.Main(big5first.Info) }",
		"go.mod":                     "module example.com/big-5-first\n",
		"go.sum":                     "github.com/cockroachdb/datadriven v1.0.3/go.mod h1:",
		m.Package + "/model.go":      `Name: "big-5-first"`,
		m.Package + "/model_test.go": "package big5first\n",
		m.Scenario:                   "\nmodel big-5-first\n",
	} {
		if text, err := os.ReadFile(filepath.Join(m.Dir, path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s should have %q: %v\n%.2000s", path, want, err, text)
		}
	}
	if got := run(t, m.Dir, "go", "list", "-m", "-f", "{{.Replace.Path}}", "heddle"); strings.TrimSpace(got) != odd {
		t.Errorf("heddle is replaced by %q, want %q", got, odd)
	}
}

// What cannot be is refused with the reason, before anything is written.
func TestRefused(t *testing.T) {
	mod := map[string]string{"go.mod": "module heddle\n", "go.sum": "", "harness/sched/schedtest/check.go": ""}
	other := map[string]string{"go.mod": "module heddle/other\n", "go.sum": "", "harness/sched/schedtest/check.go": ""}
	old := map[string]string{"go.mod": "module heddle\n", "go.sum": ""}
	noSum := map[string]string{"go.mod": "module heddle\n", "harness/sched/schedtest/check.go": ""}
	for _, c := range []struct {
		name, says string
		checkout   map[string]string
	}{
		{"", "is no name for a model", mod},
		{"myModel", "is no name for a model", mod},
		{"my_model", "is no name for a model", mod},
		{"../up", "is no name for a model", mod},
		{"ab", "3 to 40 characters", mod},
		{"yarn", "means the cluster's own scheduler; take another name", mod},
		{"range", "a Go package cannot have this name; take another, such as range-model", mod},
		{"main", "a Go package cannot have this name", mod},
		{"in-it", "a Go package cannot have this name", mod},
		{"acl", "new model acl: there is a model of this name already; take another", mod},
		{"taken", "ROOT/taken is there already; give another folder with --dir", map[string]string{"taken": ""}},
		{
			"fine", "ROOT has no go.mod of heddle with package harness/sched/schedtest: give the folder of a checkout of heddle with --heddle",
			other,
		},
		{"fine", "ROOT has no go.mod of heddle", old},
		{"fine", "ROOT has no go.mod of heddle", nil},
		{"fine", "the checkout of heddle is not whole: open ROOT/go.sum: no such file or directory; restore it", noSum},
	} {
		root := tree(t, c.checkout)
		_, err := newmodel.New(c.name, filepath.Join(root, c.name), root)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), root, "ROOT"), c.says) {
			t.Errorf("name %q: error %v, want one that says %q", c.name, err, c.says)
		}
		if left, _ := filepath.Glob(filepath.Join(root, "fine")); len(left) > 0 {
			t.Errorf("name %q: %v was written", c.name, left)
		}
	}
}

// Without a checkout given, it is that of this program, or the one around the
// current folder.
func TestFindsCheckout(t *testing.T) {
	want, err := filepath.Abs(checkout)
	mustDo(t, err)
	m, err := newmodel.New("fine", filepath.Join(t.TempDir(), "fine"), "")
	if err != nil || m.Checkout != want {
		t.Errorf("checkout %+v, error %v, want %s", m, err, want)
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	m, err = newmodel.New("fine", filepath.Join(elsewhere, "fine"), "")
	if err == nil && m.Checkout != want || err != nil &&
		!strings.Contains(err.Error(), "neither where this program was built nor around "+elsewhere) {
		t.Errorf("elsewhere: checkout %+v, error %v", m, err)
	}
}

// A folder that comes between the plan and the writing is left as it is, and so is
// nothing behind where the writing fails.
func TestWriteOverwritesNothing(t *testing.T) {
	root := t.TempDir()
	m := errtest.Must(newmodel.New("fine", filepath.Join(root, "fine"), checkout))
	mustDo(t, os.Mkdir(m.Dir, 0o755))
	mustDo(t, os.WriteFile(filepath.Join(m.Dir, "main.go"), []byte("mine"), 0o644))
	errtest.Has(t, m.Write(), "write new model: ")
	if text, err := os.ReadFile(filepath.Join(m.Dir, "main.go")); string(text) != "mine" {
		t.Errorf("main.go is %q: %v", text, err)
	}
}

// All modules that the program and its test are made of are known without a
// network, whether Go may change go.mod or not; and it has nothing to change.
func TestResolves(t *testing.T) {
	m := written(t, "cold-first")
	before := files(t, m)
	for _, mode := range []string{"readonly", "mod"} {
		out := run(t, m.Dir, "go", "list", "-mod="+mode, "-deps", "-test", "./...")
		for _, want := range []string{"heddle/cmd", "heddle/harness/sched/schedtest", "example.com/cold-first/coldfirst.test"} {
			if !strings.Contains(out, want+"\n") {
				t.Errorf("-mod=%s: %s is not among the packages:\n%s", mode, want, out)
			}
		}
	}
	if after := files(t, m); after != before {
		t.Errorf("go.mod and go.sum were\n%s\nand now are\n%s", before, after)
	}
}

func files(t *testing.T, m *newmodel.Module) string {
	t.Helper()
	var all strings.Builder
	for _, path := range []string{"go.mod", "go.sum", m.Scenario} {
		text := errtest.Must(os.ReadFile(filepath.Join(m.Dir, path)))
		all.Write(text)
	}
	return all.String()
}

// The module that is written passes vet and its test, and is heddle with the
// model. The commands are those of the page on a model of your own.
func TestWrittenModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles heddle as part of another module, which takes a minute: not with -short")
	}
	// The test of all pages runs what stands before these.
	const page = "../../.github/docs/own-model.md"
	model := commands(t, page, "    heddle models new my-model\n    cd my-model\n") + commands(t, page, "## Try it without a cluster\n\n")
	library := commands(t, "README.md", "Then, in the module's folder:\n\n")
	m := written(t, "my-model")
	traces := errtest.Must(filepath.Abs(".."))
	mustDo(t, os.Symlink(traces, filepath.Join(m.Dir, "../harness")))
	before := files(t, m)
	run(t, m.Dir, "go", "vet", "./...")
	prints(t, m.Dir, model, "example.com/my-model/mymodel\t", "skips      int >= -1  0 ", "\nmy-model ", "go run . replay ")
	out := run(t, m.Dir, "go", "test", "-v", "./mymodel", "-rewrite")
	for _, test := range []string{"TestScenarios/my-model", "TestModel/my-model1/starves_nothing"} {
		if !strings.Contains(out, "--- PASS: "+test) {
			t.Errorf("no test %s has passed:\n%.4000s", test, out)
		}
	}
	// The page on heddle as a library goes on with the module.
	for _, path := range []string{"nightly.go", "main.go", "nightly.yaml"} {
		mustDo(t, os.WriteFile(filepath.Join(m.Dir, path), []byte(block(t, "README.md", path)), 0o644))
	}
	run(t, m.Dir, "go", "vet", "./...")
	prints(t, m.Dir, library, "skips      int >= -1  0 ", "r03-nightly-reports=6-my-model", "shuffle                  4.0 MiB",
		"nightly-reports=2")
	if after := files(t, m); after != before {
		t.Errorf("the commands change files from\n%s\nto\n%s", before, after)
	}
}

// commands returns the lines of code that follow a text of a page.
func commands(t *testing.T, path, begin string) string {
	t.Helper()
	page := errtest.Must(os.ReadFile(path))
	_, text, found := strings.Cut(string(page), begin)
	if !found {
		t.Fatalf("%s lacks\n%s", path, begin)
	}
	var script strings.Builder
	for line := range strings.Lines(text) {
		command, isCommand := strings.CutPrefix(line, "    ")
		if !isCommand {
			break
		}
		script.WriteString(command)
	}
	return script.String()
}

// block returns the block of code of a page that has a file's name behind its kind.
func block(t *testing.T, path, file string) string {
	t.Helper()
	page := errtest.Must(os.ReadFile(path))
	_, text, found := strings.Cut(string(page), " "+file+"\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatalf("%s has no block of the file %s", path, file)
	}
	return text
}

// prints runs commands in a module's folder, which must print all texts.
func prints(t *testing.T, dir, script string, texts ...string) {
	t.Helper()
	out := run(t, dir, "bash", "-euxc", script)
	for _, want := range texts {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what these commands print:\n%s\n%s", want, script, out)
		}
	}
}

// run is what a command prints, without a network.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

var mustDo = errtest.None
