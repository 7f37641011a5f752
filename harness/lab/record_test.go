package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var record = flag.Bool("record", false, "run a cluster and write hadoop/classes.gz, the classes that it loads")

// TestRecordClasses makes the list of classes for the class-data archive, from
// a cluster at work. Needed when the Hadoop version or the daemons change.
func TestRecordClasses(t *testing.T) {
	if !*record {
		t.Skip("runs with -record only")
	}
	ctx := t.Context()
	recordClasses = t.TempDir()
	if err := os.Chmod(recordClasses, 0o777); err != nil { // daemons write there, and do not run as root
		t.Fatal(err)
	}
	defer func() { recordClasses = "" }()
	c := Default()
	c.Name, c.CDS = "record", false
	l := must(Up(ctx, c, func(e Event) { t.Log(e) }))
	defer Down(context.Background(), c.Name, true)
	examples, _ := filepath.Glob(l.path("home", "share", "hadoop", "mapreduce", "*.jar"))
	task := func(name string) string {
		return strings.Join(jvmFlags, " ") + " -XX:DumpLoadedClassList=" + filepath.Join(recordClasses, name)
	}
	jar := func(program string, args ...string) []string {
		return append([]string{
			"hadoop", "jar", examples[0], program,
			"-Dyarn.app.mapreduce.am.command-opts=-Xmx256m " + task(program+"-am"),
			"-Dmapreduce.map.java.opts=-Xmx200m " + task(program+"-@taskid@"),
			"-Dmapreduce.reduce.java.opts=-Xmx200m " + task(program+"-@taskid@"),
			"-Dmapreduce.job.maps=2", "-Dmapreduce.job.reduces=1",
		}, args...)
	}
	for i, argv := range [][]string{
		jar("randomtextwriter", "-Dmapreduce.randomtextwriter.totalbytes=2000000", "-Dmapreduce.randomtextwriter.bytespermap=1000000", "/text"),
		jar("wordcount", "/text", "/wordcount"),
		jar("sort", "-outKey", "org.apache.hadoop.io.Text", "-outValue", "org.apache.hadoop.io.Text", "/text", "/sorted"),
		jar("teragen", "20000", "/rows"),
		jar("terasort", "/rows", "/terasorted"),
		jar("teravalidate", "/terasorted", "/valid"),
		{"hadoop", "version"},
		{"hadoop", "fs", "-ls", "/"},
		{"hadoop", "fs", "-put", "/etc/hosts", "/hosts"},
		{"hadoop", "fs", "-cat", "/hosts"},
		{"hadoop", "fs", "-du", "-s", "/"},
		{"hadoop", "fs", "-rm", "-r", "-skipTrash", "/hosts"},
		{"hdfs", "cacheadmin", "-listPools"},
		{"hdfs", "dfsadmin", "-report"},
		{"yarn", "node", "-list"},
		{"mapred", "job", "-list"},
	} {
		cmd := l.Command(ctx, "master", argv...)
		cmd.Env = append(cmd.Env, "HADOOP_CLIENT_OPTS=-XX:DumpLoadedClassList="+filepath.Join(recordClasses, "client"+string(rune('a'+i))))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	mustDo(t, l.Down(ctx, true))
	writeClassList(t)
}

// writeClassList merges what every JVM has loaded. Signed jars cannot be in an
// archive, and generated classes are other ones the next time.
func writeClassList(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recordClasses, "*"))
	var lines []string
	for _, file := range files {
		text := must(os.ReadFile(file))
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") && !strings.Contains(line, "bouncycastle") && !strings.Contains(line, "$Proxy") {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	var packed bytes.Buffer
	w := must(gzip.NewWriterLevel(&packed, gzip.BestCompression))
	for _, line := range slices.Compact(lines) {
		w.Write([]byte(line))
	}
	mustDo(t, w.Close())
	mustDo(t, os.WriteFile(filepath.Join("hadoop", "classes.gz"), packed.Bytes(), 0o644))
	t.Logf("%d classes from %d processes", len(slices.Compact(lines)), len(files))
}
