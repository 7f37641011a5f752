package hibench

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// anyCheckout is a fake checkout with a script ml/own, whose prepare.sh makes a folder
// below the input, and whose run.sh starts a program of Mahout's.
func anyCheckout(t *testing.T) string {
	t.Helper()
	dir := newFakeCheckout(t)
	begin, _, _ := strings.Cut(strings.Replace(fakeScript, "micro/sort.conf", "ml/own.conf", 1), "monitor=")
	workload := filepath.Join(dir, "bin", "workloads", "ml", "own")
	write(t, filepath.Join(workload, "prepare", "prepare.sh"),
		begin+"$HADOOP_EXECUTABLE --config $HADOOP_CONF_DIR jar $HADOOP_EXAMPLES_JAR x $INPUT_HDFS/part\n", 0o755)
	write(t, filepath.Join(workload, "hadoop", "run.sh"),
		begin+"# ensure_mahout_release\n$MAHOUT_HOME/bin/mahout kmeans -o $OUTPUT_HDFS\nreport HadoopOwn\n", 0o755)
	write(t, filepath.Join(dir, "conf", "workloads", "ml", "own.conf"), "hibench.workload.datasize 5\nhibench.workload.output /none\n", 0o644)
	mapping := filepath.Join(dir, "bin", "functions", "hibench_prop_env_mapping.py")
	write(t, mapping, strings.Replace(readFile(t, mapping), "HiBenchEnvPropMapping=dict(",
		"HiBenchEnvPropMapping=dict(\n    MAHOUT_HOME=\"hibench.mahout.home\",", 1), 0o644)
	return dir
}

// TestScript: any workload of a checkout runs by its own scripts, with the program that
// it uses and folders of its own. A program of it that fails is found, though its script
// does not look.
func TestScript(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Vars = append(env.Vars, "FAKE_BYTES=2000")
	env.Checkout = anyCheckout(t)
	spec := Spec{Workload: Script, Script: "ml/own", Profile: "small", Maps: 3}
	wantError(t, errOf(New(env, spec)), "Mahout")
	if got := Programs(env.Checkout, spec); !slices.Equal(got, []Program{Mahout}) {
		t.Errorf("programs %v, want Mahout", got)
	}
	env.Mahout = t.TempDir()
	write(t, filepath.Join(env.Mahout, "mahout-mr-0.11.0.jar"), "", 0o644)
	r := newRunner(t, env, spec)
	d, err := r.Prepare(t.Context(), "t1")
	if want := "/bench/small-3maps-hibench-ml-8reduces/Own/Input"; err != nil || d.Bytes != 2000 || d.Path != want {
		t.Fatalf("Prepare: %+v, %v; want 2000 bytes in %s", d, err, want)
	}
	if again, err := r.Prepare(t.Context(), "t2"); err != nil || !again.Reused {
		t.Errorf("Prepare again: %+v, %v", again, err)
	}
	if report, err := r.Run(t.Context(), "t1"); err != nil || !strings.HasPrefix(report, "HadoopOwn ") {
		t.Fatalf("report %q, %v", report, err)
	}
	want := "--config $RUN/t1/conf org.apache.mahout.clustering.kmeans.KMeansDriver -libjars " + env.Mahout + "/mahout-mr-0.11.0.jar -o " +
		r.outputPath("t1")
	if got := h.lastCall(t, env); got != want {
		t.Errorf("command\n%s, want\n%s", got, want)
	}
	if k, err := r.Check(t.Context(), "t1", Counters{}); err != nil || len(k) != 1 {
		t.Errorf("check %+v, %v", k, err)
	}
	h.does(t, `echo 'Exception in thread "main" java.io.IOException: full'; exit 1`)
	wantError(t, errOf(r.Run(t.Context(), "t1")), "IOException: full")
	env.Checkout = ""
	wantError(t, errOf(New(env, spec)), "want a HiBench checkout")
}

// TestCheckScripts: of each workload for Hadoop it is said whether it can run here.
func TestCheckScripts(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Checkout = anyCheckout(t)
	for name, text := range map[string]string{
		"web/nutch": "ensure_nutchindexing_release", "web/zip": "command_exist no_such_program", "web/spark": "run_spark_job x",
	} {
		dir := filepath.Join(env.Checkout, "bin", "workloads", name)
		write(t, filepath.Join(dir, "prepare", "prepare.sh"), "", 0o755)
		write(t, filepath.Join(dir, "hadoop", "run.sh"), text, 0o755)
		write(t, filepath.Join(env.Checkout, "conf", "workloads", name+".conf"), "", 0o644)
	}
	got, err := CheckScripts(env)
	if err != nil || len(got) != 5 {
		t.Fatalf("%v, %v; want 5 scripts", got, err)
	}
	for name, want := range map[string]string{
		"micro/sort": "", "ml/own": "", "web/nutch": "needs Nutch 1.2", "web/zip": "need no_such_program", "web/spark": "needs Spark",
	} {
		wantError(t, got[name], want)
	}
	env.Checkout = t.TempDir()
	wantError(t, errOf(CheckScripts(env)), "is no HiBench checkout")
}

// TestCompile: a class is compiled with the classes that it uses, or with all of its part
// if its folder does not have the name of its package, and stands in a jar with Mahout's.
func TestCompile(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("no javac")
	}
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Vars, env.Mahout, env.Checkout = []string{"PATH=" + os.Getenv("PATH")}, t.TempDir(), t.TempDir()
	write(t, filepath.Join(env.Mahout, "mahout-mr-0.11.0.jar"), "PK\x05\x06"+strings.Repeat("\x00", 18), 0o644)
	java := filepath.Join(env.Checkout, "src", "main", "java")
	write(t, filepath.Join(java, "a", "A.java"), "package a; class A { b.B other; }", 0o644)
	write(t, filepath.Join(java, "b", "B.java"), "package b; public class B { }", 0o644)
	write(t, filepath.Join(java, "c", "d", "D.java"), "package c; class D { }", 0o644)
	write(t, filepath.Join(env.Checkout, "src", "main", "resources", "words"), "word", 0o644)
	write(t, filepath.Join(h.home, "bin", "hadoop"), "#!/bin/sh\n", 0o755)
	r := &Runner{env: env, uses: []Program{Mahout}}
	for class, want := range map[string][]string{
		"a.A": {"a/A.class", "b/B.class", "lib/mahout-mr-0.11.0.jar", "words"}, "c.D": {"c/D.class", "lib/mahout-mr-0.11.0.jar", "words"},
	} {
		c := must(env.newClient("t1", nil))
		defer c.folder.Close()
		mustDo(t, r.compile(t.Context(), &c, "part/target/p.jar", filepath.Join(env.Checkout, "src", "main"), class))
		z := must(zip.OpenReader(filepath.Join(c.dir, "part/target/p.jar")))
		var names []string
		for _, f := range z.File {
			if !strings.HasSuffix(f.Name, "/") {
				names = append(names, f.Name)
			}
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%s: jar of %q, want %q", class, names, want)
		}
		z.Close()
	}
}

// TestMahout: both workloads run Mahout's programs one after the other, over words that
// Hadoop's example writes.
func TestMahout(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Checkout = "/no/such/checkout" // it changes nothing
	env.Mahout = t.TempDir()
	write(t, filepath.Join(env.Mahout, "mahout-mr-0.11.0.jar"), "", 0o644)
	h.does(t, `for a; do case $before in -o) mkdir -p "`+string(h.fs)+`$a/tf-vectors"; : > "`+string(h.fs)+
		`$a/part-0";; esac; before=$a; done`)
	var got strings.Builder
	for _, name := range []string{Bayes, Kmeans} {
		r := newRunner(t, env, Spec{Workload: name, SizeBytes: 800, Maps: 4, Reduces: 2})
		must(r.Prepare(t.Context(), "t1"))
		must(r.Run(t.Context(), "t1"))
		text := strings.NewReplacer(r.workDir(), "FOLDER", env.RunDir, "$RUN", env.Mahout, "$MAHOUT", h.home, "$HADOOP", "\n",
			" ").Replace(readFile(t, h.calls))
		got.WriteString("# " + name + "\n" + strings.ReplaceAll(text, " end-of-call ", "\n"))
		mustDo(t, os.Remove(h.calls))
	}
	golden(t, "mahout.golden", got.String())
}
