package config

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

func TestJarWorkload(t *testing.T) {
	folder := t.TempDir()
	f := must(os.Create(filepath.Join(folder, "my words.jar")))
	z := zip.NewWriter(f)
	must(z.Create("org/example/Words.class"))
	mustDo(t, z.Close())
	mustDo(t, f.Close())
	file := filepath.Join(folder, "jar.yaml")
	load := func(entry string) (*Experiment, error) {
		mustDo(t, os.WriteFile(file, []byte("workloads:\n  - {"+entry+"}\n"), 0o644))
		e, _, err := LoadExperiment(file)
		return e, err
	}
	const good = "jar: my words.jar, main: org.example.Words, "
	e := must(load(good + `args: ["{input}", "{output}"], size: 4MiB, settings: {mapreduce.job.reduces: 2}`))
	if w := e.Workloads[0]; w.Name != WorkloadJar || w.Label != "my_words" || w.Jar != filepath.Join(folder, "my words.jar") {
		t.Errorf("name %s, label %s, jar %s: want jar, my_words and a path below %s", w.Name, w.Label, w.Jar, folder)
	}
	for _, x := range []struct{ entry, want string }{
		{`name: jar, main: A`, "no jar; want the path of one"},
		{`jar: none.jar, main: A`, "none.jar: no such file or directory; a relative path starts from"},
		{`jar: my words.jar`, "names no Main-Class; give the class with main"},
		{`jar: my words.jar, main: org.example.Sort`, "has no class org.example.Sort"},
		{`jar: jar.yaml, main: A`, "is no jar"},
		{`name: sort, profile: tiny, jar: my words.jar`, "sort has no such key"},
		{good + `reduces: 2`, "jar has no such key"},
		{good + `profile: tiny`, "jar has no such key"},
		{good + `size: 4MiB`, "no argument has {input}"},
		{good + `input: /data`, "no argument has {input}"},
		{good + `args: ["{input}"]`, "{input} stands for no folder"},
		{good + `args: ["{input}"], size: 4MiB, input: /data`, "both an input and a size"},
		{good + `args: ["{input}"], input: data`, "want an absolute folder in HDFS"},
		{good + `args: ["{input}"], input: /data/../..`, "want an absolute folder in HDFS"},
		{good + `args: ["{input}"], input: /data, maps: 4`, "give a size with it"},
		{good + `args: [-D, mapreduce.job.tags=x]`, "the tag of a run is set by the run itself"},
		{good + `settings: {mapreduce.job.tags: x}`, "the tag of a run is set by the run itself"},
	} {
		wantError(t, errOf(load(x.entry)), x.want, "jar.yaml:2:")
	}
	e, err := load("jar: my words.jar, main: org.example.Words, args: [a, b], settings: {mapreduce.job.reduces: [1, 2]}")
	if err != nil || len(e.Workloads) != 2 || e.Workloads[1].Label != "my_words-reduces=2" || len(e.Workloads[1].Args) != 2 {
		t.Errorf("args are no list of values, settings may be one: %v, %+v", err, e)
	}
}
