package experiment

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/lab/labtest"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
)

// traceExperiment writes a list of jobs in SWIM's format, and returns an
// experiment whose workload is these jobs. rest follows in the workload's entry,
// as in ", first: 1".
func traceExperiment(t *testing.T, rest string) (*config.Experiment, []byte) {
	t.Helper()
	return parse(t, traceText(t, rest))
}

// traceText is the text of the file of traceExperiment. Its jobs have 4 and 2
// maps, and 1 reduce each.
func traceText(t *testing.T, rest string) string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "list.tsv")
	mustDo(t, os.WriteFile(list, []byte("one\t0\t0\t536870912\t50000000\t20000000\ntwo\t1\t1\t268435456\t20000000\t10000000\n"), 0o600))
	return fmt.Sprintf("name: listed\nworkloads:\n  - {trace: %s, label: listed, scale: 0.01%s}\n", list, rest)
}

// leftInHDFS lists what is in the folders of jobs' output and of staged jobs.
func leftInHDFS(t *testing.T, c *clients.Clients) []string {
	t.Helper()
	files := must(c.HDFS.Files(t.Context()))
	var list []string
	for _, folder := range []string{change.DataRoot + "/trace/output", "/tmp/hadoop-yarn/staging/" + c.Config.User + "/.staging"} {
		entries, _ := files.ReadDir(folder) // a new cluster does not have them
		for _, e := range entries {
			list = append(list, folder+"/"+e.Name())
		}
	}
	return list
}

// TestTraceRefused runs a trace's jobs while the cluster refuses something: a
// queue, space for their input, or space for what they write. The error says
// what, and nothing stays on the cluster.
func TestTraceRefused(t *testing.T) {
	c, clients := lab(t)
	program := labtest.Binary(t)
	admin := func(args ...string) {
		cmd := exec.Command(filepath.Join(c.Hadoop.Home, "bin/hdfs"), append([]string{"dfsadmin"}, args...)...)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+c.Hadoop.Conf)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("dfsadmin %v: %v\n%s", args, err, out)
		}
	}
	files := must(clients.HDFS.Files(t.Context()))
	for _, test := range []struct {
		name, rest string
		step       string   // step before which the cluster begins to refuse
		begin, end []string // of hdfs dfsadmin
		want       []string // words of the error
	}{
		{"queue", `, first: 1, queues: {"*": nosuch}`, "", nil, nil, []string{"one (job_", "nosuch", "unknown queue"}},
		{
			"no space for input", ", first: 1", "prepare",
			[]string{"-setSpaceQuota", "1m", change.DataRoot + "/trace"},
			[]string{"-clrSpaceQuota", change.DataRoot + "/trace"},
			[]string{"write input of", "quota"},
		},
		{"read-only", ", first: 1", "prepare", []string{"-safemode", "enter"}, []string{"-safemode", "leave"}, []string{"safe mode"}},
		{
			"no space for output", ", first: 1, settings: {mapreduce.reduce.maxattempts: 1}", "run",
			[]string{"-setSpaceQuota", blockQuota, change.DataRoot + "/trace/output"},
			[]string{"-clrSpaceQuota", change.DataRoot + "/trace/output"},
			[]string{"one (job_", "quota"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := leftInHDFS(t, clients)
			mustDo(t, files.MkdirAll(change.DataRoot+"/trace/output", 0o755))
			e, source := traceExperiment(t, test.rest)
			e.Seed = uint64(len(test.name)) // its own input
			var once sync.Once
			progress := func(s Step) {
				logSteps(t)(s)
				if test.begin != nil && s.Doing == test.step && s.Jobs == nil {
					once.Do(func() { admin(test.begin...) })
				}
			}
			run, err := Run(t.Context(), Options{
				Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: "run", Program: program,
				Progress: progress,
			})
			if test.begin != nil {
				admin(test.end...)
			}
			if err == nil {
				t.Fatal("the run succeeded")
			}
			t.Log(err)
			for _, want := range test.want {
				if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
			if state := run.Manifest().State; state != runs.Failed {
				t.Errorf("the run is %s", state)
			}
			noneRunning(t, clients, test.name)
			// A run also removes what a killed one left, so there may be less than before.
			// ApplicationMasters remove their folders some seconds after a job's end.
			var left []string
			if !within(30*time.Second, func() bool {
				left = slices.DeleteFunc(leftInHDFS(t, clients), func(name string) bool { return slices.Contains(before, name) })
				return len(left) == 0
			}) {
				t.Errorf("the run left in HDFS %v", left)
			}
		})
	}
}

// blockQuota is the space of one block of the lab's HDFS in all its replicas.
// Under it a file can be written to an empty folder, and none after that.
const blockQuota = "33554432"

// TestTraceNodeLost has a worker go down while the jobs of a trace run, for
// longer than YARN waits for it. The jobs end, and what was achieved says how
// many attempts that took.
func TestTraceNodeLost(t *testing.T) {
	labtest.Long(t)
	c, clients := lab(t)
	text := strings.Replace(traceText(t, ", cpu: 3s"), "workloads:",
		"speculation: none\nfaults:\n  - {at: 12s, node: r1n2, what: down}\n  - {at: 32s, node: r1n2, what: up}\nworkloads:", 1)
	run := must(runText(t, c, text, labtest.Binary(t)))
	_, events := readTrace(t, run)
	if list, want := wentAndCame(t, events), []string{"down r1n2", "up r1n2"}; !slices.Equal(list, want) {
		t.Errorf("nodes: %v, want %v", list, want)
	}
	on := 0
	for _, event := range events {
		if e, ok := event.(*traces.AttemptFinished); ok && e.Outcome != traces.Succeeded {
			on++
		}
	}
	trials, err := results.List(run)
	if err != nil || len(trials) != 1 || trials[0].Achieved == nil {
		t.Fatalf("results %+v, %v", trials, err)
	}
	a := trials[0].Achieved
	var out strings.Builder
	mustDo(t, doc.WriteText(&out, a.Doc(), false))
	t.Log(out.String())
	if a.Sum.ExtraAttempts == 0 || a.Sum.ExtraAttempts != on || a.Sum.FailedJobs != 0 {
		t.Errorf("%d attempts more, %d attempts did not succeed, %d jobs failed; want some more, as many, none", a.Sum.ExtraAttempts, on,
			a.Sum.FailedJobs)
	}
	whole(t, clients)
	noneRunning(t, clients, "after its end")
}
