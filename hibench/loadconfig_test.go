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

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
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
	for _, spec := range allSpecs() {
		for _, s := range []step{stepPrepare, stepRun} {
			t.Run(fmt.Sprintf("%s/%d", spec, s), func(t *testing.T) {
				t.Parallel()
				env := h.env(t)
				env.Checkout = checkout
				r := newRunner(t, env, spec)
				c := client{dir: filepath.Join(env.RunDir, "x"), vars: env.Vars}
				if err := r.hibenchCommand(&c, s, h.conf, "/bench/out"); err != nil {
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

// runLoader calls load_config.py as HiBench's scripts do, and returns the
// content of the file that it names.
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
	text, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sourcedVars are the assignments in a file of shell variables.
func sourcedVars(t *testing.T, text string) map[string]string {
	t.Helper()
	vars := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			vars[name] = value
		}
	}
	return vars
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
