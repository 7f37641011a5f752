package hibench

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

const testMapping = `
HiBenchEnvPropMappingMandatory=dict(
    JAVA_BIN="java.bin",
    A_FIRST="b.first",

    )
HiBenchEnvPropMapping = dict(
    # a comment
    HIBENCH_REPORT="hibench.report.dir", # set in default
    A_SECOND="b.second",
    A_THIRD ="b.third",
    A_FOURTH="b.fourth",
    )
Other=dict([(v,k) for k, v in HiBenchEnvPropMapping.items()])
`

func TestLoadConf(t *testing.T) {
	files, err := filepath.Glob("testdata/loadconf/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("cases: %v, %v", files, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			part := map[string]string{}
			for _, f := range archive.Files {
				part[f.Name] = string(f.Data)
				write(t, filepath.Join(dir, f.Name), string(f.Data), 0o644)
			}
			write(t, filepath.Join(dir, "bin", "functions", "hibench_prop_env_mapping.py"), testMapping, 0o644)
			req := confRequest{
				home: dir, confDir: filepath.Join(dir, "conf"), workloadConf: filepath.Join(dir, "workload.conf"),
				folder: "/opt/hibench/bin/workloads/micro/wordcount/prepare", vars: []string{"JAVA_HOME=/opt/java"},
			}
			req.vars = append(req.vars, strings.Fields(part["vars"])...)
			if patch, ok := part["patch"]; ok {
				name, value, _ := strings.Cut(strings.TrimSpace(patch), " ")
				req.patch = []Setting{{name, value}}
			}
			vars, file, err := loadConf(req)
			if want, ok := part["error"]; ok {
				if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
					t.Fatalf("error %v; want one with %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if file != "wordcount/prepare/conf/wordcount.conf" || vars["JAVA_BIN"] != "/opt/java/bin/java" {
				t.Errorf("file %s, JAVA_BIN %s", file, vars["JAVA_BIN"])
			}
			got := ""
			for _, k := range slices.Sorted(maps.Keys(vars)) {
				if strings.HasPrefix(k, "A_") {
					got += k + "=" + strings.ReplaceAll(vars[k], dir, "$HOME_OF_HIBENCH") + "\n"
				}
			}
			if diff := cmp.Diff(part["want"], got); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseMappingRefusesOtherFiles(t *testing.T) {
	for _, text := range []string{"", "HiBenchEnvPropMapping=dict(\n A=\"b\",\n)", "HiBenchEnvPropMappingMandatory=dict(\n)\nHiBenchEnvPropMapping=dict(\n)"} {
		if _, _, err := parseMapping(text); err == nil || !strings.Contains(err.Error(), "53ac935") {
			t.Errorf("%q: %v; want an error that names the right commit", text, err)
		}
	}
}

// No configuration makes the loader hang, blow up or panic.
func FuzzResolve(f *testing.F) {
	f.Add("a ${b}\nb ${c:-d}\nc ${a}${a}\n${b} x")
	f.Add("a ${b:_}\n* x\nb ${ a }${")
	f.Fuzz(func(t *testing.T, text string) {
		l := confLoader{properties: map[string]string{}, source: map[string]string{}}
		l.parse(text, "fuzz")
		if err := l.resolve(false); err != nil {
			return
		}
		if err := l.resolve(true); err != nil {
			return
		}
		before := maps.Clone(l.properties)
		if err := l.resolve(true); err != nil || !maps.Equal(before, l.properties) {
			t.Errorf("%q resolved once more: %q, %v", before, l.properties, err)
		}
	})
}

// A real checkout's own loader, in Python, gives the scripts the same
// variables. Python 3 runs it once its Python 2 parts are replaced.
func TestLoadConfIsHiBenchs(t *testing.T) {
	checkout := hibenchCheckout(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing: it runs HiBench's own loader for comparison")
	}
	h := newFakeHadoop(t)
	queries := []Spec{{Workload: "join", Profile: "small"}, {Workload: "scan", Visits: 500, Pages: 7, Maps: 2, Reduces: 3}}
	for _, spec := range append(allSpecs(), queries...) {
		for _, s := range []step{stepPrepare, stepRun} {
			if SQL(spec.Workload) && s == stepPrepare {
				continue // this would compile the generator, and the variables are the same
			}
			t.Run(fmt.Sprintf("%s/%d", spec, s), func(t *testing.T) {
				t.Parallel()
				env := hiveEnv(t, h)
				env.Checkout = checkout
				r := newRunner(t, env, spec)
				folder, err := r.env.openTagDir("x")
				if err != nil {
					t.Fatal(err)
				}
				defer folder.Close()
				c := client{folder: folder, dir: filepath.Join(env.RunDir, "x"), vars: env.Vars}
				if err := r.hibenchCommand(t.Context(), &c, s, "/bench/out"); err != nil {
					t.Fatal(err)
				}
				ours := sourcedVars(t, runLoader(t, c, r, s, "/bin/sh"))
				loader := filepath.Join(c.dir, "hibench", "bin", "functions", "load_config.py")
				write(t, loader, python3Loader(t, checkout), 0o755)
				theirs := sourcedVars(t, runLoader(t, c, r, s, python))
				if len(theirs) < 100 {
					t.Fatalf("HiBench's loader gave %d variables", len(theirs))
				}
				if diff := cmp.Diff(theirs, ours); diff != "" {
					t.Errorf("shell variables (-HiBench's +ours):\n%s", diff)
				}
			})
		}
	}
}

// runLoader calls load_config.py as HiBench's scripts do, and returns the name
// of the file that it prints.
func runLoader(t *testing.T, c client, r *Runner, s step, interpreter string) string {
	t.Helper()
	farm := filepath.Join(c.dir, "hibench")
	cmd := exec.Command(interpreter, filepath.Join(farm, "bin", "functions", "load_config.py"),
		filepath.Join(c.dir, "hibench-conf"), filepath.Join(farm, r.workloadConf()),
		filepath.Dir(filepath.Join(farm, r.script(s))), "hibench.workload.output=/bench/out")
	cmd.Env = c.vars
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// sourcedVars are the variables that a shell has from a file of assignments.
func sourcedVars(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			vars[name] = sourced(t, file, name)
		}
	}
	return vars
}

// sourced is a variable's value after a shell has read the file.
func sourced(t require, file, name string) string {
	cmd := exec.Command("bash", "-c", `source "$1" && printf %s "${!2}"`, "bash", file, name)
	cmd.Dir, cmd.Env = filepath.Dir(file), []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("source %s: %v: %s", file, err, out)
	}
	return string(out)
}

// require is what testing.T and rapid.T have in common.
type require interface {
	Fatalf(format string, args ...any)
}

// A shell that reads a file of variables gets any value back as it was, or the
// value was refused.
func TestShellVarsAreQuoted(t *testing.T) {
	folder := openRoot(t, t.TempDir())
	piece := rapid.SampledFrom([]string{"'", `"`, "`id`", "$(touch hit)", "$HOME", "${X}", `\`, "\n", "\x00", "\r", ";touch hit;", " ", "#", "~", "*", "!", "a", "=", "\xff", "ü"})
	value := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(piece), func(s []string) string { return strings.Join(s, "") }))
	rapid.Check(t, func(t *rapid.T) {
		want := value.Draw(t, "value")
		if writeShellVars(folder, "vars", map[string]string{"VAR": want}) != nil {
			if !strings.ContainsFunc(want, unicode.IsControl) {
				t.Fatalf("%q is refused", want)
			}
			return
		}
		if got := sourced(t, filepath.Join(folder.Name(), "vars"), "VAR"); got != want {
			t.Fatalf("a shell has %q, want %q", got, want)
		}
	})
	if entries, err := os.ReadDir(folder.Name()); err != nil || len(entries) > 1 {
		t.Errorf("the shell has made files: %v, %v", entries, err)
	}
}

func python3Loader(t *testing.T, checkout string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, "bin", "functions", "load_config.py"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		"print export_config(workload_name, framework_name)", "print(export_config(workload_name, framework_name))",
		"HiBenchEnvPropMappingMandatory.items() + HiBenchEnvPropMapping.items()", "list(HiBenchEnvPropMappingMandatory.items()) + list(HiBenchEnvPropMapping.items())",
		"in HibenchConf.items():", "in list(HibenchConf.items()):",
		"in HibenchConf.keys():", "in list(HibenchConf.keys()):",
	).Replace(string(text))
}
