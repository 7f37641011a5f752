package hibench

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLocal runs workloads for real on a Hadoop in this process's machine, without a
// cluster: all tasks of a job run in the client's JVM, and local files are its HDFS.
// What their checks compare is logged.
func TestLocal(t *testing.T) {
	home := os.Getenv("HEDDLE_HADOOP")
	if home == "" {
		t.Skip("no Hadoop: set HEDDLE_HADOOP to a folder with bin/hadoop")
	}
	for name, spec := range map[string]Spec{
		"pagerank": {Workload: Pagerank, Pages: 400, Maps: 2, Reduces: 2},
		"bayes":    {Workload: Bayes, Pages: 300, Maps: 2, Reduces: 2, Seed: 1},
		"kmeans":   {Workload: Kmeans, Samples: 3000, Maps: 3, Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			conf := filepath.Join(dir, "conf")
			write(t, filepath.Join(conf, "core-site.xml"), "<configuration><property><name>hadoop.tmp.dir</name><value>"+dir+"/tmp</value></property></configuration>", 0o644)
			write(t, filepath.Join(conf, "mapred-site.xml"), "<configuration><property><name>mapreduce.framework.name</name><value>local</value></property></configuration>", 0o644)
			write(t, filepath.Join(conf, "log4j.properties"), "log4j.rootLogger=WARN,A\nlog4j.appender.A=org.apache.log4j.ConsoleAppender\nlog4j.appender.A.layout=org.apache.log4j.SimpleLayout\n", 0o644)
			env := Env{HadoopHome: home, ConfDir: conf, FS: dirFS("/"), DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(dir, "runs")}
			env.Mahout = os.Getenv("HEDDLE_MAHOUT")
			if ProgramOf(spec.Workload) == Sources {
				env.Checkout = hibenchCheckout(t)
			}
			r := newRunner(t, env, spec)
			data, err := r.Prepare(t.Context(), "t1")
			if err != nil {
				t.Fatal(err)
			}
			res, err := r.Run(t.Context(), "t1")
			if err != nil {
				t.Fatal(err)
			}
			check, err := r.Check(t.Context(), "t1", nil)
			if err != nil || check.Records == 0 || len(check.Compared) == 0 {
				t.Errorf("check %+v, %v; want some records that were compared", check, err)
			}
			t.Logf("input %+v, report %q, check %+v", data, res.Report, check)
		})
	}
}
