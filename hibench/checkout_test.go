package hibench

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hibenchCheckout is the real one, for tests that compare with it.
func hibenchCheckout(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts many processes")
	}
	dir := os.Getenv("HEDDLE_HIBENCH")
	if dir == "" {
		t.Skip("no HiBench checkout: set HEDDLE_HIBENCH to one of commit 53ac935")
	}
	return dir
}

// A real checkout's scripts start the same jobs as the examples jar alone.
func TestCheckoutCommands(t *testing.T) {
	checkout := hibenchCheckout(t)
	h := newFakeHadoop(t)
	for _, spec := range allSpecs() {
		env := h.env(t)
		want := commands(t, h, env, spec)
		env.Checkout = checkout
		got := commands(t, h, env, spec)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: jobs (-examples jar +checkout):\n%s", spec, diff)
		}
	}
}

// fakeScript is a workload's script of a checkout, in small.
const fakeScript = `#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
conf=$("$root/bin/functions/load_config.py" "$HIBENCH_CONF_FOLDER" "$root/conf/workloads/micro/sort.conf" "$here")
. "$conf"
. "$root/bin/functions/workload_functions.sh"
monitor=$("$root/bin/functions/monitor.py" &)
kill -0 "$monitor" || exit 9
$HADOOP_EXECUTABLE --config $HADOOP_CONF_DIR jar $HADOOP_EXAMPLES_JAR fake $MAPS_GIVEN $DATASIZE %s || exit $?
kill "$monitor"
report %s
`

// fakeLoader gives a script its variables, as HiBench's load_config.py does.
const fakeLoader = `#!/usr/bin/env python2
import glob, os, re, sys
from hibench_prop_env_mapping import HiBenchEnvPropMappingMandatory, HiBenchEnvPropMapping
conf = {}
for name in sorted(glob.glob(sys.argv[1] + '/*.conf')) + [sys.argv[2]]:
    for line in open(name):
        key, _, value = line.strip().partition(' ')
        conf[key] = value.strip()
patching_config = ''
for item in patching_config.split(',') if patching_config else []:
    key, _, conf[key] = item.partition('=')
for _ in range(9):
    conf = {k: re.sub(r'\$\{([^${}]+)\}', lambda m: conf.get(m.group(1), ''), v) for k, v in conf.items()}
workload, step = os.path.split(sys.argv[3])
folder = os.path.join(conf['hibench.report.dir'], os.path.basename(workload), step, 'conf')
os.makedirs(folder, exist_ok=True)
file = os.path.join(folder, os.path.basename(workload) + '.conf')
with open(file, 'w') as f:
    for table in (HiBenchEnvPropMappingMandatory, HiBenchEnvPropMapping):
        for name, key in table.items():
            value = conf.get(key, '')
            f.write(name + '=' + (repr(value) if ' ' in value else value) + '\n')
print(file)
`

const fakeMapping = `HiBenchEnvPropMappingMandatory=dict(
    HADOOP_EXAMPLES_JAR="hibench.hadoop.examples.jar",
    HADOOP_EXECUTABLE="hibench.hadoop.executable",
    HADOOP_CONF_DIR="hibench.hadoop.configure.dir",
    MAPS_GIVEN="hibench.default.map.parallelism",
    INPUT_HDFS="hibench.workload.input",
    OUTPUT_HDFS="hibench.workload.output",
    SLAVES="hibench.slaves.hostnames",
)
HiBenchEnvPropMapping=dict(
    HIBENCH_REPORT="hibench.report.dir",
    DATASIZE="hibench.workload.datasize",
)
`

func newFakeCheckout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	workload := filepath.Join(dir, "bin", "workloads", "micro", "sort")
	functions := filepath.Join(dir, "bin", "functions")
	script := func(job, report string) string {
		return strings.Replace(strings.Replace(fakeScript, "%s", job, 1), "%s", report, 1)
	}
	write(t, filepath.Join(workload, "prepare", "prepare.sh"), script("$INPUT_HDFS", ""), 0o755)
	write(t, filepath.Join(workload, "hadoop", "run.sh"), script("$INPUT_HDFS $OUTPUT_HDFS", "HadoopSort"), 0o755)
	write(t, filepath.Join(functions, "load_config.py"), fakeLoader, 0o755)
	write(t, filepath.Join(functions, "monitor.py"), "#!/bin/false\n", 0o755)
	write(t, filepath.Join(functions, "hibench_prop_env_mapping.py"), fakeMapping, 0o644)
	write(t, filepath.Join(functions, "workload_functions.sh"),
		`report() { [ -z "$1" ] || echo "$1 2026-11-21 05:39:16 65166232 17.545 3714233 1857116" >> "$HIBENCH_REPORT/hibench.report"; }`, 0o644)
	write(t, filepath.Join(dir, "conf", "hibench.conf"), "hibench.scale.profile tiny\nhibench.slaves.hostnames\n", 0o644)
	write(t, filepath.Join(dir, "conf", "workloads", "micro", "sort.conf"), `hibench.sort.tiny.datasize 32000
hibench.sort.small.datasize 1
hibench.workload.datasize ${hibench.sort.${hibench.scale.profile}.datasize}
hibench.workload.input  ${hibench.hdfs.data.dir}/Sort/Input
hibench.workload.output ${hibench.hdfs.data.dir}/Sort/Output
`, 0o644)
	return dir
}

func TestCheckoutRun(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Vars = append(env.Vars, "FAKE_BYTES=2000")
	env.Checkout = newFakeCheckout(t)
	before := listing(t, env.Checkout)
	r := newRunner(t, env, Spec{Workload: "sort", SizeBytes: 1000, Maps: 3})
	d, err := r.Prepare(context.Background(), "t1")
	if err != nil || d.Bytes != 2000 {
		t.Fatalf("Prepare: %+v, %v; want 2000 bytes", d, err)
	}
	report := must(r.Run(context.Background(), "t1"))
	if !strings.HasPrefix(report, "HadoopSort ") || strings.Fields(report)[3] != "65166232" {
		t.Errorf("report %q; want the script's line", report)
	}
	jar := "$HADOOP/share/hadoop/mapreduce/hadoop-mapreduce-examples-3.4.2.jar"
	want := [][]string{
		{"--config", "$RUN/t1-prep/conf", "jar", jar, "fake", "3", "1000", d.Path},
		{"--config", "$RUN/t1/conf", "jar", jar, "fake", "3", "1000", d.Path, r.outputPath("t1")},
	}
	if diff := cmp.Diff(want, h.jobs(t, env)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, listing(t, env.Checkout)); diff != "" {
		t.Errorf("the checkout has changed (-before +after):\n%s", diff)
	}
}

// Host names come from the cluster. None is run by the shell that reads HiBench's
// variables, and the scripts get plain ones as they are.
func TestCheckoutHostNames(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Vars = append(env.Vars, "FAKE_BYTES=2000")
	env.Checkout = newFakeCheckout(t)
	hit := filepath.Join(t.TempDir(), "hit")
	for _, host := range []string{
		"'; touch " + hit + "; '", "$(touch " + hit + ")", "`touch${IFS}" + hit + "`", "a b", "w1\nhibench.hadoop.home /x", "w1\r",
		"-oProxyCommand=x", "-v", "w1;id", "w1'", "ü", strings.Repeat("a", 256),
	} {
		env.Workers = []string{"w1", host}
		r, err := New(env, Spec{Workload: "sort", SizeBytes: 1000})
		if err == nil {
			_, err = r.Prepare(context.Background(), "t1")
		}
		wantError(t, err, "host name")
	}
	env.Workers = []string{"w1", "r1_n2.example.org:9866", "10.0.0.1", "fe80::1"}
	must(newRunner(t, env, Spec{Workload: "sort", SizeBytes: 1000}).Prepare(context.Background(), "t2"))
	file := filepath.Join(env.RunDir, "t2-prep", "report", "sort", "prepare", "conf", "sort.conf")
	if got, want := sourced(t, file, "SLAVES"), strings.Join(env.Workers, " "); got != want {
		t.Errorf("the scripts have the workers %q, want %q", got, want)
	}
	if _, err := os.Stat(hit); err == nil {
		t.Error("a host name was run as a command")
	}
}

// A link in the folder of a run leads no file out of it.
func TestCheckoutStaysInItsFolder(t *testing.T) {
	for link, want := range map[string]bool{"t1-prep": false, "t1-prep/report": true} {
		t.Run(link, func(t *testing.T) {
			h := newFakeHadoop(t)
			env := h.env(t)
			env.Checkout = newFakeCheckout(t)
			env.Vars = append(env.Vars, "FAKE_BYTES=2000")
			outside := t.TempDir()
			path := filepath.Join(env.RunDir, link)
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
			mustDo(t, os.Symlink(outside, path))
			_, err := newRunner(t, env, Spec{Workload: "sort", SizeBytes: 1000}).Prepare(context.Background(), "t1")
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("error %v; want one that names %s: %t", err, path, !want)
			}
			if left := listing(t, outside); len(left) > 1 {
				t.Errorf("written outside: %v", left)
			}
		})
	}
}

// listing is every file of a folder with its length.
func listing(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	files := map[string]int64{}
	mustDo(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		files[name] = info.Size()
		return err
	}))
	return files
}

func TestCheckoutRefuses(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"bash", "which", "expr", "sleep", "python3"} {
		write(t, filepath.Join(bin, name), "", 0o755)
	}
	tests := map[string]struct {
		spec   Spec
		change func(*Env)
		want   string
	}{
		"no bc": {
			Spec{Workload: "sort", Profile: "tiny"},
			func(e *Env) { e.Vars = []string{"PATH=" + bin} },
			"need bc: bc is not in the client's PATH (" + bin + "); on Debian: apt install bc",
		},
		"no PATH":           {Spec{Workload: "sort", Profile: "tiny"}, func(e *Env) { e.Vars = []string{} }, "apt install bash"},
		"blank in a path":   {Spec{Workload: "sort", Profile: "tiny"}, func(e *Env) { e.RunDir = "/my runs" }, `path "/my runs"`},
		"script missing":    {Spec{Workload: "terasort", Profile: "tiny"}, func(*Env) {}, "is no HiBench checkout"},
		"edited file":       {Spec{Workload: "sort", Profile: "small"}, func(*Env) {}, "its DATASIZE is 1, want 3200000"},
		"profile not there": {Spec{Workload: "sort", Profile: "huge"}, func(*Env) {}, "not those of commit 53ac935"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFakeHadoop(t)
			env := h.env(t)
			env.Checkout = newFakeCheckout(t)
			tt.change(&env)
			r, err := New(env, tt.spec)
			if err == nil {
				_, err = r.Prepare(context.Background(), "t1")
			}
			wantError(t, err, tt.want)
		})
	}
}

// sourced is a variable's value after a shell has read the file.
func sourced(t *testing.T, file, name string) string {
	cmd := exec.Command("bash", "-c", `source "$1" && printf %s "${!2}"`, "bash", file, name)
	cmd.Dir, cmd.Env = filepath.Dir(file), []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("source %s: %v: %s", file, err, out)
	}
	return string(out)
}
