package hibench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/traces/errtest"
)

// hiveEnv is an Env with a folder that looks like Hive's.
func hiveEnv(t *testing.T, h *fakeHadoop) Env {
	t.Helper()
	env := h.env(t)
	env.Hive = t.TempDir()
	for _, name := range []string{"hive-exec-4.0.1.jar", "hive-cli-4.0.1.jar", "commons-collections-3.2.2.jar", "derby.jar"} {
		write(t, filepath.Join(env.Hive, name), "", 0o644)
	}
	return env
}

// hiveDoes makes the fake hadoop command, when it is to start Hive, run a piece
// of shell.
func (h *fakeHadoop) hiveDoes(t *testing.T, script string) {
	t.Helper()
	write(t, filepath.Join(filepath.Dir(h.calls), "hive"), script, 0o644)
}

// twoStages is what Hive prints for a query of two stages.
const twoStages = `cat <<'END'
Launching Job 1 out of 2
Starting Job = job_1_0001, Tracking URL = http://master:8088/proxy/application_1_0001/
2026-11-21 05:46:18,000 Stage-2 map = 100%,  reduce = 100%
Ended Job = job_1_0001
Launching Job 2 out of 2
Starting Job = job_1_0002, Tracking URL = http://master:8088/proxy/application_1_0002/
Ended Job = job_1_0002
OK
END
`

// A query runs with a script, a configuration and a metastore of its own, under
// its tag, with the settings of the run, and reads tables that are there.
func TestQuery(t *testing.T) {
	h := newFakeHadoop(t)
	h.hiveDoes(t, twoStages)
	env := hiveEnv(t, h)
	r := newRunner(t, env, Spec{
		Workload: "join", Visits: 300, Pages: 40, Seed: 5, Maps: 3, Reduces: 2,
		Settings: []Setting{{"hive.map.aggr", "false"}},
	})
	d := must(r.Prepare(t.Context(), "t1"))
	if d.Files != 3 || !strings.HasSuffix(d.Path, "/Join/Input/uservisits") {
		t.Errorf("input %+v, want 3 files of uservisits", d)
	}
	if again, err := r.Prepare(t.Context(), "t2"); err != nil || !again.Reused {
		t.Errorf("second Prepare: %+v, %v; want the tables of the first", again, err)
	}
	if report, err := r.Run(t.Context(), "t1", Setting{"mapreduce.map.node-label-expression", "s01"}); err != nil || report != "" {
		t.Fatalf("report %q, %v; want none", report, err)
	}
	dir := filepath.Join(env.RunDir, "t1")
	site := readFile(t, filepath.Join(dir, "hive", "conf", "hive-site.xml"))
	for _, p := range []Setting{
		{"hive.query.tag", "t1"},
		{"hive.execution.engine", "mr"},
		{"hive.map.aggr", "false"},
		{"mapreduce.map.node-label-expression", "s01"},
		{"hive.input.format", "org.apache.hadoop.hive.ql.io.HiveInputFormat"},
		{"javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + dir + "/hive/metastore_db;create=true"},
		{"hive.exec.scratchdir", r.workDir() + "/Hive-t1/scratch"},
		{"hive.aux.jars.path", "file://" + env.Hive + "/commons-collections-3.2.2.jar"},
	} {
		if !strings.Contains(site, "<name>"+p.Name+"</name><value>"+p.Value+"</value>") {
			t.Errorf("hive-site.xml lacks %s = %s", p.Name, p.Value)
		}
	}
	if mapred := readFile(t, filepath.Join(dir, "conf", "mapred-site.xml")); !strings.Contains(mapred, "mapreduce.map.env.JDK_JAVA_OPTIONS") {
		t.Error("tasks get no access to private parts of Java's library")
	}
	vars := readFile(t, filepath.Join(filepath.Dir(h.calls), "env"))
	for _, want := range []string{
		"HADOOP_CLASSPATH=" + dir + "/hive/conf:" + env.Hive + "/hive-exec-4.0.1.jar:" + env.Hive + "/*\n",
		"HADOOP_HOME=" + h.home + "\n", "-Xmx512m",
	} {
		if !strings.Contains(vars, want) {
			t.Errorf("Hive's environment lacks %q:\n%s", want, vars)
		}
	}
	golden(t, "join.sql", strings.ReplaceAll(readFile(t, filepath.Join(dir, "query.sql")), r.workDir(), "FOLDER"))
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text := must(os.ReadFile(name))
	return string(text)
}

// Hive's output says whether the query succeeded, and which job failed. The exit
// status does not: under HiBench's scripts Hive ends with 0 either way, and alone
// with a status that names no job.
func TestFailedQueries(t *testing.T) {
	start := "Starting Job = job_1_0001, Tracking URL = http://master:8088/\n"
	const failed = "FAILED: Execution Error, return code 2 from org.apache.hadoop.hive.ql.exec.mr.MapRedTask"
	const local = "FAILED: Execution Error, return code 3 from org.apache.hadoop.hive.ql.exec.mr.MapredLocalTask"
	for name, tt := range map[string]struct{ output, want string }{
		"good": {start + "Ended Job = job_1_0001\nOK\n", ""},
		"second way": {local + "\nATTEMPT: Execute BackupTask: org.apache.hadoop.hive.ql.exec.mr.MapRedTask\n" + start +
			"Ended Job = job_1_0001\n", ""},
		"no second way":     {local + "\n" + start + "Ended Job = job_1_0001\n", "return code 3"},
		"stage with errors": {start + "Ended Job = job_1_0001 with errors\n", "its job 1, job_1_0001, ended with errors"},
		"failed":            {start + "Ended Job = job_1_0001 with errors\n" + failed + "\n", "with errors"},
		"second stage": {
			start + "Ended Job = job_1_0001\nStarting Job = job_1_0002, \nEnded Job = job_1_0002 with errors\n",
			"its job 2, job_1_0002, ended with errors",
		},
		"syntax":  {"FAILED: ParseException line 1:0 cannot recognize input\n", "ParseException"},
		"cut off": {start + "2026-11-21 05:46:18,000 Stage-2 map = 50%\n", "does not say that job_1_0001 ended"},
		"no job":  {"OK\nTime taken: 1 seconds\n", "started no job"},
		"dead":    {"Exception in thread \"main\" java.lang.NoClassDefFoundError: x\n", "NoClassDefFoundError"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHadoop(t)
			r := newRunner(t, hiveEnv(t, h), Spec{Workload: "aggregation", Visits: 20, Maps: 1, Reduces: 1})
			must(r.Prepare(t.Context(), "t1"))
			for _, status := range []int{0, 2} {
				h.hiveDoes(t, fmt.Sprintf("cat <<'END'\n%sEND\nexit %d", tt.output, status))
				_, err := r.Run(t.Context(), "t1")
				if tt.want == "" {
					if (err != nil) != (status != 0) || errors.Is(err, ErrFailedQuery) {
						t.Errorf("status %d of a query that succeeded: error %v", status, err)
					}
					continue
				}
				if !errors.Is(err, ErrFailedQuery) || !strings.Contains(err.Error(), tt.want) || strings.Count(err.Error(), "client.log") != 1 {
					t.Errorf("status %d: error %v; want a failed query with %q and the name of the log, once", status, err, tt.want)
				}
			}
		})
	}
}

// sqlCheckout is a fake checkout with scripts for aggregation in HiBench's way:
// they ignore Hive's exit status, and always write a line with the size of the
// output where that of the input belongs.
func sqlCheckout(t *testing.T) string {
	t.Helper()
	dir := newFakeCheckout(t)
	script := strings.NewReplacer("micro/sort.conf", "sql/aggregation.conf").Replace(`#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../../../..
conf=$("$root/bin/functions/load_config.py" "$HIBENCH_CONF_FOLDER" "$root/conf/workloads/micro/sort.conf" "$here")
. "$conf"
. "$root/bin/functions/workload_functions.sh"
[ -e "$root/hadoopbench/sql/target/$HIVE_RELEASE.tar.gz" ] && [ -d "$HIVE_HOME" ] || { echo no Hive; exit 7; }
. "$root/bin/workloads/sql/common/set_hive_env.sh"
"$HIVE_HOME/bin/hive" -f "$INPUT_HDFS $OUTPUT_HDFS"
report HadoopAggregation
`)
	write(t, filepath.Join(dir, "bin", "workloads", "sql", "aggregation", "hadoop", "run.sh"), script, 0o755)
	write(t, filepath.Join(dir, "bin", "workloads", "sql", "aggregation", "prepare", "prepare.sh"),
		"#!/bin/bash\nexit 0\nrun_hadoop_job ${DATATOOLS} HiBench.DataGen\n", 0o755)
	write(t, filepath.Join(dir, "autogen", "target", "built.jar"), "", 0o644)
	write(t, filepath.Join(dir, "bin", "workloads", "sql", "common", "set_hive_env.sh"), "$HIVE_HOME/bin/schematool -initSchema\n", 0o755)
	write(t, filepath.Join(dir, "bin", "functions", "hibench_prop_env_mapping.py"),
		strings.Replace(fakeMapping, "HiBenchEnvPropMapping=dict(", `HiBenchEnvPropMapping=dict(
    HIVE_HOME="hibench.hive.home",
    HIVE_RELEASE="hibench.hive.release",
    PAGES="hibench.workload.pages",
    USERVISITS="hibench.workload.uservisits",`, 1), 0o644)
	write(t, filepath.Join(dir, "conf", "workloads", "sql", "aggregation.conf"), `hibench.workload.uservisits ${hibench.aggregation.${hibench.scale.profile}.uservisits}
hibench.workload.pages  ${hibench.aggregation.${hibench.scale.profile}.pages}
hibench.workload.input  ${hibench.hdfs.data.dir}/Aggregation/Input
hibench.workload.output ${hibench.hdfs.data.dir}/Aggregation/Output
`, 0o644)
	return dir
}

// HiBench's defects of Hive runs, each of which hides a failure or a wrong
// number, do not reach heddle's results.
func TestHiBenchDefectsOfQueries(t *testing.T) {
	h := newFakeHadoop(t)
	env := hiveEnv(t, h)
	env.Checkout = sqlCheckout(t)
	r := newRunner(t, env, Spec{Workload: "aggregation", Visits: 20, Pages: 3, Maps: 1, Reduces: 1})
	write(t, filepath.Join(string(h.fs), r.mapInputPath(), "part-00000"), "x", 0o644)

	h.hiveDoes(t, twoStages)
	must(r.Run(t.Context(), "good"))
	if text := readFile(t, filepath.Join(env.RunDir, "good", logName)); !strings.Contains(text, "Starting Job = job_1_0002") {
		t.Errorf("Hive's output, which HiBench keeps for terminals only, is not kept: %q", text)
	}

	h.hiveDoes(t, "echo 'FAILED: SemanticException table not found'; exit 17")
	_, err := r.Run(t.Context(), "failed")
	if !errors.Is(err, ErrFailedQuery) || !strings.Contains(err.Error(), "table not found") {
		t.Errorf("a failed query with a line in HiBench's report: error %v", err)
	}
	if report := filepath.Join(env.RunDir, "failed", "report", "hibench.report"); !strings.Contains(readFile(t, report), "HadoopAggregation") {
		t.Errorf("%s has no line: this test shows nothing", report)
	}
}

// A real checkout's scripts give Hive HiBench's own text of each query, over the
// tables of the run, and take heddle's start script for Hive's. They report a
// query that failed like one that did not; heddle's run fails.
func TestCheckoutQueries(t *testing.T) {
	checkout := hibenchCheckout(t)
	for query, q := range queries {
		table := q.table
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			h := newFakeHadoop(t)
			h.hiveDoes(t, "cat \"$3\"\n"+twoStages) // after --config DIR come CliDriver -f FILE
			env := hiveEnv(t, h)
			env.Checkout = checkout
			r := newRunner(t, env, Spec{Workload: query, Visits: 20, Pages: 3, Maps: 3, Reduces: 2})
			write(t, filepath.Join(string(h.fs), r.mapInputPath(), "part-00000"), "x", 0o644)
			report := must(r.Run(t.Context(), "t1"))
			log := readFile(t, filepath.Join(env.RunDir, "t1", logName))
			for _, want := range []string{
				"LOCATION '" + r.mapInputPath() + "'", "LOCATION '" + r.outputPath("t1") + "/" + table + "'", "INSERT OVERWRITE TABLE " + table,
				"mapreduce.job.maps=3;", "mapreduce.job.reduces=2;", "org.apache.hadoop.hive.ql.io.HiveInputFormat",
			} {
				if !strings.Contains(log, want) {
					t.Errorf("HiBench's query lacks %q:\n%s", want, log)
				}
			}
			if !strings.EqualFold(strings.Fields(report)[0], "Hadoop"+query) {
				t.Errorf("report %q", report)
			}
			h.hiveDoes(t, "echo 'Starting Job = job_1_0001, '; echo 'Ended Job = job_1_0001 with errors'; exit 2")
			if _, err := r.Run(t.Context(), "failed"); !errors.Is(err, ErrFailedQuery) || !strings.Contains(err.Error(), "job_1_0001") {
				t.Errorf("error %v; want a failed query with its job", err)
			}
			if report := readFile(t, filepath.Join(env.RunDir, "failed", "report", "hibench.report")); !strings.Contains(report, "Hadoop") {
				t.Errorf("HiBench's report of the failed query has no line of it: %q", report)
			}
		})
	}
}

// The result of a query is compared with its input.
func TestCheckQuery(t *testing.T) {
	for _, query := range []string{"join", "aggregation", "scan"} {
		t.Run(query, func(t *testing.T) {
			h := newFakeHadoop(t)
			h.hiveDoes(t, twoStages)
			env := hiveEnv(t, h)
			env.Sums = &Sums{}
			r := newRunner(t, env, Spec{Workload: query, Visits: 2000, Pages: 200, Maps: 2, Reduces: 1})
			must(r.Prepare(t.Context(), "t1"))
			must(r.Run(t.Context(), "t1"))
			errtest.Is(t, errOf(r.Check(t.Context(), "t1", Counters{})), ErrInvalidOutput)
			rows := resultRows(t, r)
			output := filepath.Join(string(h.fs), r.outputPath("t1"), queries[query].table, "000000_0")
			write(t, output, table(t, rows), 0o644)
			k, err := r.Check(t.Context(), "t1", Counters{})
			if err != nil || len(k) < 2 {
				t.Errorf("%q, %v; want rows compared", k, err)
			}
			write(t, output, table(t, rows[1:]), 0o644)
			errtest.Is(t, errOf(r.Check(t.Context(), "t1", Counters{})), ErrInvalidOutput)
		})
	}
}

// resultRows computes a query's rows in memory, by the input in HDFS.
func resultRows(t *testing.T, r *Runner) []string {
	t.Helper()
	s := r.spec.source()
	ranks := map[string]string{}
	for i := range s.Pages {
		f := strings.Split(string(s.AppendRanking(nil, i)), ",")
		ranks[f[0]] = f[1]
	}
	var rows []string
	for i := range s.Visits {
		row := string(s.AppendVisit(nil, i))
		f := strings.Split(row, ",")
		switch r.spec.Workload { // no address occurs twice among so few
		case "scan":
			rows = append(rows, strings.ReplaceAll(row, ",", "\x01"))
		case "aggregation":
			rows = append(rows, f[0]+"\x01"+f[3])
		case "join":
			if f[2] >= "1999-01-01" && f[2] <= "2000-01-01" {
				rows = append(rows, f[0]+"\x01"+ranks[f[1]]+".0\x01"+f[3])
			}
		}
	}
	if r.spec.Workload == "join" { // the largest revenue first
		for i := range rows {
			for j := i; j > 0 && rows[j][strings.LastIndex(rows[j], "\x01"):] > rows[j-1][strings.LastIndex(rows[j-1], "\x01"):]; j-- {
				rows[j], rows[j-1] = rows[j-1], rows[j]
			}
		}
	}
	return rows
}

func table(t *testing.T, rows []string) string {
	t.Helper()
	var b bytes.Buffer
	w := newSeqWriter(&b, "x", hadoopIO+"BytesWritable", hadoopIO+"Text")
	for _, row := range rows {
		w.write(make([]byte, 4), asText([]byte(row)))
	}
	mustDo(t, w.flush())
	return b.String()
}

// Files get the block size and the replicas of the settings or the cluster.
func TestFileSettings(t *testing.T) {
	for name, tt := range map[string]struct {
		site     string
		settings []Setting
		blocks   int64
		replicas int
		want     string
	}{
		"Hadoop's own":  {"", nil, 128 << 20, 3, ""},
		"the cluster's": {"<property><name>dfs.blocksize</name><value>16m</value></property><property><name>dfs.replication</name><value>2</value></property>", nil, 16 << 20, 2, ""},
		"the run's": {
			"<property><name>dfs.replication</name><value>2</value></property>",
			[]Setting{{"dfs.blocksize", "1048576"}, {"dfs.replication", "1"}},
			1 << 20, 1, "",
		},
		"8 GiB":       {"", []Setting{{"dfs.blocksize", "8589934592"}}, 8 << 30, 3, ""},
		"too much":    {"", []Setting{{"dfs.blocksize", "8589934592g"}}, 0, 0, `dfs.blocksize: "8589934592g"`},
		"no size":     {"", []Setting{{"dfs.blocksize", "big"}}, 0, 0, `dfs.blocksize: "big"`},
		"no replicas": {"", []Setting{{"dfs.replication", "0"}}, 0, 0, `dfs.replication: "0"`},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeHadoop(t)
			if tt.site != "" {
				write(t, filepath.Join(h.conf, "hdfs-site.xml"), "<configuration>"+tt.site+"</configuration>", 0o644)
			}
			r := newRunner(t, hiveEnv(t, h), Spec{Workload: "scan", Visits: 10, Maps: 1, Settings: tt.settings})
			blocks, replicas, err := r.fileSettings()
			if tt.want != "" {
				wantError(t, err, tt.want)
				return
			}
			if err != nil || blocks != tt.blocks || replicas != tt.replicas {
				t.Errorf("%d, %d, %v; want %d and %d", blocks, replicas, err, tt.blocks, tt.replicas)
			}
		})
	}
}

// Without Hive, or without a Java compiler for HiBench's generator, the error
// says what is missing.
func TestQueryRefuses(t *testing.T) {
	h := newFakeHadoop(t)
	spec := Spec{Workload: "aggregation", Visits: 10, Maps: 1}
	env := h.env(t)
	wantError(t, errOf(New(env, spec)), "needs Hive")
	env.Hive = t.TempDir()
	wantError(t, errOf(New(env, spec)), "hive-exec-*.jar")
	env = hiveEnv(t, h)
	env.RunDir = "/my runs"
	wantError(t, errOf(New(env, spec)), `path "/my runs"`)
	env = hiveEnv(t, h)
	env.Checkout = sqlCheckout(t)
	bin := t.TempDir()
	mustDo(t, os.RemoveAll(filepath.Join(env.Checkout, "autogen")))
	for _, name := range []string{"bash", "bc", "which", "expr", "sleep", "python3"} {
		file, err := exec.LookPath(name)
		if err != nil {
			t.Skip("no " + name)
		}
		mustDo(t, os.Symlink(file, filepath.Join(bin, name)))
	}
	env.Vars = []string{"PATH=" + bin}
	wantError(t, errOf(New(env, spec)), "javac", "apt install")
}
