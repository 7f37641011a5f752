package hibench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// allSpecs are every workload in every profile, and in a size of its own.
func allSpecs() []Spec {
	var specs []Spec
	for _, w := range Workloads() {
		if workloads[w].program != Examples {
			continue // these have tests of their own
		}
		for _, p := range Profiles() {
			specs = append(specs, Spec{Workload: w, Profile: p})
		}
		specs = append(specs, Spec{Workload: w, SizeBytes: 256 << 20, Maps: 4, Reduces: 2})
	}
	return specs
}

// commands prepares and runs a spec and returns the jobs that were started.
func commands(t *testing.T, h *fakeHadoop, env Env, spec Spec) [][]string {
	t.Helper()
	r := newRunner(t, env, spec)
	env.Vars = append(env.Vars, "FAKE_BYTES="+decimal(spec.bytes()))
	r.env.Vars = env.Vars
	must(r.Prepare(context.Background(), "t1"))
	r.env.Vars = env.Vars[:len(env.Vars)-1]
	must(r.Run(context.Background(), "t1"))
	mustDo(t, r.env.removeAll(r.workDir()))
	return h.jobs(t, env)
}

// The commands that HiBench 53ac935 starts, for every workload and profile.
func TestCommands(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	var b strings.Builder
	for _, spec := range allSpecs() {
		fmt.Fprintf(&b, "# %s\n", spec)
		for _, args := range commands(t, h, env, spec) {
			fmt.Fprintln(&b, strings.Join(args, " "))
		}
	}
	golden(t, "commands.golden", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		write(t, name, got, 0o644)
	}
	want := must(os.ReadFile(name))
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; rewrite with -update):\n%s", name, diff)
	}
}

func TestPrepareReusesTheSameData(t *testing.T) {
	base := Spec{Workload: "sort", SizeBytes: 1000, Maps: 4, Settings: []Setting{{"dfs.blocksize", "4096"}}}
	with := func(change func(*Spec)) Spec { s := base; change(&s); return s }
	marker := filepath.Join(base.dataName(), "Sort", "Input.json")
	tests := []struct {
		name   string
		spec   Spec
		before func(t *testing.T, fs dirFS) // between the two
		reused bool
	}{
		{"same", base, nil, true},
		{"other reduces", with(func(s *Spec) { s.Reduces = 3 }), nil, true},
		{"setting that leaves the data alone", with(func(s *Spec) {
			s.Settings = append(s.Settings[:1:1],
				Setting{"mapreduce.job.queuename", "q"})
		}), nil, true},
		{"other size", with(func(s *Spec) { s.SizeBytes = 999 }), nil, false},
		{"other maps", with(func(s *Spec) { s.Maps = 5 }), nil, false},
		{"other block size", with(func(s *Spec) { s.Settings = []Setting{{"dfs.blocksize", "8192"}} }), nil, false},
		{"other workload", with(func(s *Spec) { s.Workload = "wordcount" }), nil, false},
		{"file cut off", base, func(t *testing.T, fs dirFS) {
			write(t, fs.path("/bench/"+base.dataName()+"/Sort/Input/part-m-00000"), "short", 0o644)
		}, false},
		{"input gone", base, func(t *testing.T, fs dirFS) { os.RemoveAll(fs.path("/bench/" + base.dataName() + "/Sort/Input")) }, false},
		{"marker cut off", base, func(t *testing.T, fs dirFS) { write(t, fs.path("/bench/"+marker), `{"format":1,"work`, 0o644) }, false},
		{"marker of another format", base, func(t *testing.T, fs dirFS) { write(t, fs.path("/bench/"+marker), `{"format":99}`, 0o644) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHadoop(t)
			env := h.env(t)
			env.Vars = append(env.Vars, "FAKE_BYTES=1017")
			first, err := newRunner(t, env, base).Prepare(context.Background(), "a")
			if err != nil || first.Reused || first.Bytes != 1017 || first.Files != 1 {
				t.Fatalf("first Prepare: %+v, %v; want 1017 new bytes in one file", first, err)
			}
			if tt.before != nil {
				tt.before(t, h.fs)
			}
			d := must(newRunner(t, env, tt.spec).Prepare(context.Background(), "b"))
			if d.Reused != tt.reused || d.Bytes != 1017 {
				t.Errorf("second Prepare: %+v; want reused %v, 1017 bytes", d, tt.reused)
			}
		})
	}
}

func TestPrepareLeavesNoMarkerOfHalfMadeData(t *testing.T) {
	for name, tt := range map[string]struct{ bytes, script, want string }{
		"job fails": {"2000", "case $* in *randomtext*) echo no space left; exit 7;; esac", "no space left"},
		"too short": {"10", "", "has 10 bytes, want at least 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHadoop(t)
			h.does(t, tt.script)
			env := h.env(t)
			env.Vars = append(env.Vars, "FAKE_BYTES="+tt.bytes)
			r := newRunner(t, env, Spec{Workload: "sort", SizeBytes: 1000})
			_, err := r.Prepare(context.Background(), "t1")
			wantError(t, err, tt.want)
			errtest.Is(t, errOf(r.env.FS.Stat(r.markerPath())), os.ErrNotExist)
		})
	}
}

func TestRun(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.User = "hdp"
	r := newRunner(t, env, Spec{Workload: "wordcount", SizeBytes: 1000})
	ctx := context.Background()

	if _, err := r.Run(ctx, "t1"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "prepared?") {
		t.Errorf("run without input: %v; want fs.ErrNotExist and a hint", err)
	}
	write(t, h.fs.path(r.inputPath()+"/part-m-00000"), "12345", 0o644)
	write(t, h.fs.path(r.inputPath()+"/_SUCCESS"), "hidden", 0o644)
	write(t, h.fs.path(r.outputPath("t1")+"/old"), "", 0o644)

	if report, err := r.Run(ctx, "t1", Setting{"mapreduce.map.node-label-expression", "s00 & <s01>"}); err != nil || report != "" {
		t.Fatalf("report %q, %v; want no report without a checkout", report, err)
	}
	errtest.Is(t, errOf(r.env.FS.Stat(r.outputPath("t1")+"/old")), os.ErrNotExist)
	site := must(os.ReadFile(filepath.Join(env.RunDir, "t1", "conf", "mapred-site.xml")))
	for _, want := range []string{"<name>mapreduce.job.tags</name><value>t1</value>", "<value>s00 &amp; &lt;s01&gt;</value>"} {
		if !strings.Contains(string(site), want) {
			t.Errorf("mapred-site.xml lacks %s:\n%s", want, site)
		}
	}
	vars := must(os.ReadFile(filepath.Join(filepath.Dir(h.calls), "env")))
	if !strings.Contains(string(vars), "HADOOP_USER_NAME=hdp\n") || strings.Contains(string(vars), "HOME=/root") {
		t.Errorf("environment of the client:\n%s", vars)
	}
}

func TestRunFails(t *testing.T) {
	h := newFakeHadoop(t)
	h.does(t, `printf 'INFO a\nException in thread "main": output is there already\n\tat org.Frame\n'; exit 3`)
	r := newRunner(t, h.env(t), Spec{Workload: "sort", Profile: "tiny"})
	write(t, h.fs.path(r.inputPath()+"/part-m-00000"), "12345", 0o644)
	_, err := r.Run(context.Background(), "t1")
	var ce *ClientError
	if !errors.As(err, &ce) || ce.Code != 3 || ce.Tag != "t1" || ce.Cause != nil {
		t.Fatalf("error %#v; want a ClientError with status 3", err)
	}
	want := "hibench: run sort tiny: hadoop jar sort ended with status 3; output in " + ce.Log +
		"\n    INFO a\n    Exception in thread \"main\": output is there already"
	if err.Error() != want {
		t.Errorf("error %q\nwant  %q", err, want)
	}
}

func TestTags(t *testing.T) {
	h := newFakeHadoop(t)
	r := newRunner(t, h.env(t), Spec{Workload: "sort", Profile: "tiny"})
	for _, tag := range []string{"", "Big", "-a", "../x", "a b", "a,b", strings.Repeat("x", 81)} {
		wantError(t, errOf(r.Prepare(context.Background(), tag)), "tag")
		wantError(t, errOf(r.Run(context.Background(), tag)), "tag")
		wantError(t, errOf(r.Check(context.Background(), tag, Counters{})), "tag")
	}
}

func TestNewRefuses(t *testing.T) {
	spec := Spec{Workload: "sort", Profile: "tiny"}
	for want, change := range map[string]func(*Env, *fakeHadoop){
		"want an absolute folder in HDFS": func(e *Env, _ *fakeHadoop) { e.DataDir = "/." },
		"configuration of the cluster":    func(e *Env, _ *fakeHadoop) { e.ConfDir = e.RunDir },
		"no such file or directory":       func(e *Env, _ *fakeHadoop) { e.HadoopHome = e.RunDir },
		"is not executable":               func(e *Env, _ *fakeHadoop) { os.Chmod(filepath.Join(e.HadoopHome, "bin", "hadoop"), 0o644) },
		"hadoop home: 0 files match":      func(e *Env, _ *fakeHadoop) { os.RemoveAll(filepath.Join(e.HadoopHome, "share")) },
		"is no HiBench checkout":          func(e *Env, _ *fakeHadoop) { e.Checkout = e.RunDir },
	} {
		h := newFakeHadoop(t)
		env := h.env(t)
		change(&env, h)
		wantError(t, errOf(New(env, spec)), want)
	}
}
