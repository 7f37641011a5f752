package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/collectors/hdfs"
	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/lab/labtest"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/tracefile"
	"heddle/yarnclient"
)

// The tests of this file run jobs on a real cluster. Each job is small: a task
// costs a JVM's start whatever it reads. To make an input takes a job too, so tests
// that can read the same input do: their workloads have its size, maps and block size.

// manyFiles is wordcount of six files, of a block and a map each.
const manyFiles = "{name: wordcount, size: 12MiB, maps: 6, reduces: 2, settings: {dfs.blocksize: 2097152}}"

// oneFile is wordcount of one file. Settings that divide its block among maps may follow.
const oneFile = "name: wordcount, size: 2MiB, maps: 1"

func parse(t *testing.T, text string) (*config.Experiment, []byte) {
	t.Helper()
	e := must(config.ParseExperiment("test.yaml", []byte(text)))
	return e, []byte(text)
}

// toRun are the options of a run of the experiment that a text describes.
func toRun(t *testing.T, c *config.Cluster, text string) Options {
	t.Helper()
	e, source := parse(t, text)
	return Options{Experiment: e, Source: source, Cluster: c, Root: t.TempDir(), Name: "run", Progress: logSteps(t)}
}

// runText runs the experiment that a text describes, whose tasks may be of a program.
func runText(t *testing.T, c *config.Cluster, text string, program ...string) (*runs.Run, error) {
	t.Helper()
	o := toRun(t, c, text)
	o.Program = strings.Join(program, "")
	return Run(t.Context(), o)
}

// experimentOf is an experiment of one workload.
func experimentOf(text string) string { return "name: one\nworkloads:\n  - " + text + "\n" }

// threeFiles is a workload of HiBench's on three files.
func threeFiles(name string) string {
	return fmt.Sprintf("{name: %s, size: 6MiB, maps: 3, reduces: 2, settings: {dfs.blocksize: 2097152}}", name)
}

// lab connects to the shared lab.
func lab(t *testing.T) (*config.Cluster, *clients.Clients) {
	t.Helper()
	c := labtest.Shared(t).Cluster()
	clients := must(clients.To(&c, clients.Patience{}))
	t.Cleanup(func() { clients.Close() })
	return &c, clients
}

// TestTracesEqualHadoopsCounters runs each workload and holds the trace against
// what the history server says of the same job. TestCacheLevelIsTheNameNodes does so
// for wordcount.
func TestTracesEqualHadoopsCounters(t *testing.T) {
	c, clients := lab(t)
	for _, name := range []string{"sort", "terasort"} {
		t.Run(name, func(t *testing.T) {
			run := must(runText(t, c, experimentOf(threeFiles(name))))
			checkMeasured(t, clients, run)
		})
	}
}

// TestSyntheticTasks runs two streaming workloads, whose check compares Hadoop's
// counters with what was asked.
func TestSyntheticTasks(t *testing.T) {
	c, clients := lab(t)
	run := must(runText(t, c, `
name: synthetic
workloads:
  - {name: streaming, label: mixed, size: 8MiB, maps: 3, reduces: 2, cpu: 100ms, mapOutput: 0.5, output: 2, taskMemory: 32MiB, jobs: 2}
  - {name: streaming, label: map-only, size: 1000001B, maps: 2, mapOutput: 1.5}
`, labtest.Binary(t)))
	checkMeasured(t, clients, run)
	noneRunning(t, clients, "after its end")
}

// TestCacheLevelIsTheNameNodes caches half the input and expects each attempt's
// level to be what the NameNode had reported last before its start.
func TestCacheLevelIsTheNameNodes(t *testing.T) {
	c, clients := lab(t)
	ctx := t.Context()
	o := toRun(t, c, experimentOf(manyFiles))
	pool := "heddle-test"
	mustDo(t, clients.HDFS.AddCachePool(ctx, hdfs.CachePool{Name: pool, Limit: hdfs.NoLimit}))
	t.Cleanup(func() { clients.HDFS.RemoveCachePool(context.WithoutCancel(ctx), pool) })
	// The directives are set when the input is there, just before the job.
	cached := map[traces.Block]bool{}
	o.Progress = func(s Step) {
		if s.Doing == "run" && s.Jobs == nil {
			cached = cacheHalf(t, clients, pool, "/heddle/hibench", "/Wordcount/Input/part-")
		}
		logSteps(t)(s)
	}
	run := must(Run(ctx, o))
	header, events := readTrace(t, run)
	checkAgainstHadoop(t, clients, events)
	checkComplete(t, header, events)
	checkLevels(t, events)
	onCachedBlocks, cacheLocal := 0, 0
	blocks := map[traces.Task]traces.Block{}
	for _, event := range events {
		switch e := event.(type) {
		case *traces.TaskScheduled:
			if e.Task.Kind == traces.Map && len(e.Blocks) > 0 {
				blocks[e.Task] = e.Blocks[0]
			}
		case *traces.AttemptStarted:
			if cached[blocks[e.Attempt.Task]] {
				onCachedBlocks++
			}
			if e.ReplicaLocality == traces.LevelCache {
				cacheLocal++
			}
		}
	}
	if onCachedBlocks == 0 || cacheLocal == 0 {
		t.Errorf("%d attempts read cached blocks, %d of them cache-local: want some of both", onCachedBlocks, cacheLocal)
	}
	t.Logf("%d attempts on cached blocks, %d of them where the block was cached", onCachedBlocks, cacheLocal)
}

// TestStoppedAtEachStage stops a run at each of its stages. Nothing may stay on
// the cluster, and the run can be taken up.
func TestStoppedAtEachStage(t *testing.T) {
	c, clients := lab(t)
	e, source := parse(t, experimentOf("{"+oneFile+", reduces: 1}"))
	root := t.TempDir()
	for _, stage := range []string{"prepare", "run", "running", "history", "check"} {
		ctx, stop := context.WithCancel(t.Context())
		steps := logSteps(t)
		run, err := Run(ctx, Options{
			Experiment: e, Source: source, Cluster: c, Root: root, Name: stage,
			Progress: func(s Step) {
				steps(s)
				if s.Doing == stage && s.Jobs == nil || stage == "running" && s.Jobs != nil && s.Jobs.MapsRunning > 0 {
					stop()
				}
			},
		})
		stop()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped in %s: %v, want an error of the interruption", stage, err)
			continue
		}
		if !strings.Contains(err.Error(), "--resume") {
			t.Errorf("stopped in %s: the error does not say how to go on: %v", stage, err)
		}
		if m := run.Manifest(); m.State != runs.Interrupted {
			t.Errorf("stopped in %s: run is %s, want interrupted", stage, m.State)
		}
		noneRunning(t, clients, "stopped in "+stage)
	}
	// The last one is taken up, and comes to its end.
	run := must(Run(t.Context(), Options{Experiment: e, Cluster: c, Resume: filepath.Join(root, "check"), Progress: logSteps(t)}))
	if m := run.Manifest(); m.State != runs.Finished {
		t.Errorf("resumed run is %s", m.State)
	}
}

// noneRunning expects no application of a run to be left on the cluster.
func noneRunning(t *testing.T, clients *clients.Clients, after string) {
	t.Helper()
	apps := must(clients.RM.Apps(t.Context(), yarnclient.AppFilter{States: yarnclient.Unfinished}))
	for _, app := range apps {
		if strings.Contains(app.Tags, "heddle-") {
			t.Errorf("%s: application %s still %s", after, app.ID, app.State)
		}
	}
}

// checkMeasured expects a run that has finished, with a complete trace of its first trial
// that has what Hadoop counted. It returns the trace's header.
func checkMeasured(t *testing.T, clients *clients.Clients, run *runs.Run) traces.Header {
	t.Helper()
	header, events := readTrace(t, run)
	checkAgainstHadoop(t, clients, events)
	checkComplete(t, header, events)
	if m := run.Manifest(); m.State != runs.Finished {
		t.Errorf("run is %s", m.State)
	}
	return header
}

// checkAgainstHadoop compares sums over the trace's attempts with the job
// counters of the history server.
func checkAgainstHadoop(t *testing.T, clients *clients.Clients, events []traces.Event) {
	t.Helper()
	jobs := map[traces.JobID]bool{}
	for _, event := range events {
		if e, ok := event.(*traces.JobSubmitted); ok {
			jobs[e.Job] = true
		}
	}
	if len(jobs) == 0 {
		t.Error("no job in the trace")
	}
	for job := range jobs {
		counters := must(clients.History.Job(string(job)).Counters(t.Context()))
		got := sums(events, job)
		compared := 0
		for _, want := range []struct{ group, name string }{
			{"FileSystemCounter", "HDFS_BYTES_READ"},
			{"FileSystemCounter", "HDFS_BYTES_WRITTEN"},
			{"FileSystemCounter", "FILE_BYTES_READ"},
			{"FileSystemCounter", "FILE_BYTES_WRITTEN"},
			{"TaskCounter", "REDUCE_SHUFFLE_BYTES"},
			{"TaskCounter", "MAP_INPUT_RECORDS"},
			{"TaskCounter", "REDUCE_OUTPUT_RECORDS"},
			{"TaskCounter", "SPILLED_RECORDS"},
			{"JobCounter", "DATA_LOCAL_MAPS"},
			{"JobCounter", "RACK_LOCAL_MAPS"},
			{"JobCounter", "OTHER_LOCAL_MAPS"},
			{"JobCounter", "TOTAL_LAUNCHED_MAPS"},
			{"JobCounter", "TOTAL_LAUNCHED_REDUCES"},
			{"JobCounter", "NUM_FAILED_MAPS"},
			{"JobCounter", "NUM_KILLED_MAPS"},
		} {
			c, reported := counters.Get(want.group, want.name)
			if reported {
				compared++
			}
			if got[want.name] != c.Total {
				t.Errorf("%s %s: %d in the trace, %d by Hadoop", job, want.name, got[want.name], c.Total)
			}
		}
		if compared < 10 {
			t.Errorf("%s: Hadoop reported only %d of the counters", job, compared)
		}
	}
}

// sums are Hadoop's job counters, computed from the attempts of a trace.
func sums(events []traces.Event, job traces.JobID) map[string]int64 {
	n := map[string]int64{}
	for _, event := range events {
		switch e := event.(type) {
		case *traces.AttemptStarted:
			if e.Attempt.Job == job {
				n["TOTAL_LAUNCHED_"+strings.ToUpper(e.Attempt.Kind.String())+"S"]++
				n[map[traces.Level]string{traces.LevelNode: "DATA", traces.LevelRack: "RACK", traces.LevelOff: "OTHER"}[e.SplitLocality]+
					"_LOCAL_MAPS"]++
			}
		case *traces.AttemptFinished:
			if e.Attempt.Job != job {
				continue
			}
			c := e.Counters
			switch e.Outcome {
			case traces.Failed:
				n["NUM_FAILED_"+strings.ToUpper(e.Attempt.Kind.String())+"S"]++
			case traces.Killed:
				n["NUM_KILLED_"+strings.ToUpper(e.Attempt.Kind.String())+"S"]++
			case traces.Succeeded:
				n["HDFS_BYTES_READ"] += max(c.HDFSReadBytes, 0)
				n["HDFS_BYTES_WRITTEN"] += max(c.HDFSWrittenBytes, 0)
				n["FILE_BYTES_READ"] += max(c.FileReadBytes, 0)
				n["FILE_BYTES_WRITTEN"] += max(c.FileWrittenBytes, 0)
				n["REDUCE_SHUFFLE_BYTES"] += max(c.ShuffleBytes, 0)
				n["SPILLED_RECORDS"] += max(c.SpilledRecords, 0)
				if e.Attempt.Kind == traces.Map {
					n["MAP_INPUT_RECORDS"] += c.InputRecords
				} else {
					n["REDUCE_OUTPUT_RECORDS"] += c.OutputRecords
				}
			}
		}
	}
	return n
}

// checkComplete expects a trace of a run to hold what a study needs.
func checkComplete(t *testing.T, h traces.Header, events []traces.Event) {
	t.Helper()
	if len(h.Cluster.Disks) == 0 || len(h.Cluster.Links) == 0 {
		t.Errorf("header lacks the lab's rates: disks %v, links %v", h.Cluster.Disks, h.Cluster.Links)
	}
	if h.Software["hadoop"] == "" || len(h.Cluster.Nodes) < 2 || h.StartUnixNs == 0 {
		t.Errorf("header lacks software, nodes or start: %+v", h)
	}
	sampled, replicas := map[traces.Node]bool{}, 0
	for _, event := range events {
		switch e := event.(type) {
		case *traces.NodeSample:
			if e.CPUUser >= 0 {
				sampled[e.Node] = true
			}
		case *traces.BlockReplica:
			replicas++
		case *traces.TaskScheduled:
			if e.Task.Kind == traces.Map && (e.Path == "" || e.LengthBytes == 0 || len(e.Blocks) == 0 || len(e.SplitHosts) == 0) {
				t.Errorf("%s is not tied to its piece of a file: %+v", e.Task, e)
			}
		case *traces.AttemptStarted:
			if e.Attempt.Kind == traces.Map && e.ReplicaLocality == traces.LevelUnknown {
				t.Errorf("%s: replica locality unknown", e.Attempt)
			}
		}
	}
	for _, n := range h.Cluster.Nodes {
		if !sampled[n.Node] {
			t.Errorf("no metrics of node %s", n.Node)
		}
	}
	if replicas == 0 {
		t.Error("no block replicas")
	}
}

// checkLevels computes each map attempt's level anew from the trace's block
// events up to its start.
func checkLevels(t *testing.T, events []traces.Event) {
	t.Helper()
	type copyOf struct {
		block traces.Block
		node  traces.Node
	}
	replica, cached := map[copyOf]bool{}, map[copyOf]bool{}
	block := map[traces.Task]traces.Block{}
	checked := 0
	for _, event := range events {
		switch e := event.(type) {
		case *traces.BlockReplica:
			replica[copyOf{e.Block, e.Node}] = !e.Gone
		case *traces.BlockCached:
			cached[copyOf{e.Block, e.Node}] = !e.Gone
		case *traces.TaskScheduled:
			if len(e.Blocks) > 0 {
				block[e.Task] = e.Blocks[0]
			}
		case *traces.AttemptStarted:
			if e.Attempt.Kind != traces.Map {
				continue
			}
			at := copyOf{block[e.Attempt.Task], e.Node}
			checked++
			if is := e.ReplicaLocality == traces.LevelCache; is != cached[at] {
				t.Errorf("%s on %s: level %s, block cached there by the last sample: %v", e.Attempt, e.Node, e.ReplicaLocality, cached[at])
			}
			if is := e.ReplicaLocality == traces.LevelCache || e.ReplicaLocality == traces.LevelNode; is != replica[at] {
				t.Errorf("%s on %s: level %s, replica there by the last sample: %v", e.Attempt, e.Node, e.ReplicaLocality, replica[at])
			}
		}
	}
	if checked == 0 {
		t.Error("no map attempt to check")
	}
}

// cacheHalf caches every other file below the folder whose path has the given part, and
// waits until the NameNode reports their blocks cached.
func cacheHalf(t *testing.T, clients *clients.Clients, pool, folder, part string) map[traces.Block]bool {
	t.Helper()
	ctx := t.Context()
	blocks := map[traces.Block]bool{}
	var paths []string
	n := 0
	for file, err := range clients.HDFS.Locations(ctx, folder) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file.Path, part) {
			if n++; n%2 == 1 {
				paths = append(paths, file.Path)
			}
		}
	}
	for _, path := range paths {
		// On every node with a replica, so that some attempt surely runs there.
		must(clients.HDFS.AddCacheDirective(ctx, hdfs.CacheDirective{Path: path, Pool: pool, Replicas: 2}))
	}
	if !within(time.Minute, func() bool {
		cached := true
		for _, path := range paths {
			for file, err := range clients.HDFS.Locations(ctx, path) {
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range file.Blocks {
					blocks[traces.Block(b.ID)] = true
					for _, r := range b.Replicas {
						cached = cached && r.Cached
					}
				}
			}
		}
		return cached
	}) {
		t.Fatalf("the files %q are not in the HDFS cache after a minute", paths)
	}
	if len(blocks) == 0 {
		t.Fatal("no input block to cache")
	}
	return blocks
}

func readTrace(t *testing.T, run *runs.Run) (traces.Header, []traces.Event) {
	t.Helper()
	trial := run.Manifest().Trials[0]
	path := filepath.Join(run.TrialDir(trial.Name), "trace.heddle")
	must(os.Stat(path))
	return must2(tracefile.ReadFile(path))
}

func logSteps(t *testing.T) func(Step) {
	return func(s Step) {
		if s.Jobs == nil {
			t.Logf("%s: %s %s", s.Trial, s.Doing, s.Text)
		}
	}
}

// TestCaptureByHand captures a job that was started on a node of the cluster,
// while it runs and again from its history.
func TestCaptureByHand(t *testing.T) {
	c, clients := lab(t)
	ctx := t.Context()
	files := must(clients.HDFS.Files(t.Context()))
	folder := fmt.Sprintf("/heddle-test/by-hand-%d", os.Getpid())
	t.Cleanup(func() { files.RemoveAll(folder) })
	words := strings.NewReader(strings.Repeat("warp weft heddle shuttle\n", 80_000))
	mustDo(t, clients.HDFS.WriteFile(ctx, folder+"/in/words", words, hdfs.WriteOptions{BlockSize: 1 << 20}))
	jar := labtest.Examples(t, c.Hadoop.Home)

	live := make(chan error, 1)
	var run *runs.Run
	began := make(chan struct{})
	go func() {
		var result Captured
		var err error
		run, result, err = Capture(ctx, CaptureOptions{Cluster: c, Root: t.TempDir(), Name: "live", Count: 1, Started: func() { close(began) }})
		for _, w := range result.Warnings {
			t.Log("warning:", w)
		}
		live <- err
	}()
	select {
	case <-began:
	case err := <-live:
		t.Fatal(err)
	}
	job := labtest.Shared(t).Command(ctx, "master", filepath.Join(c.Hadoop.Home, "bin/hadoop"), "jar", jar, "wordcount", folder+"/in",
		folder+"/out")
	if out, err := job.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mustDo(t, <-live)
	header, events := readTrace(t, run)
	checkAgainstHadoop(t, clients, events)
	checkComplete(t, header, events)
	checkLevels(t, events)

	var id string
	for _, event := range events {
		if e, ok := event.(*traces.JobSubmitted); ok {
			id = string(e.Job)
		}
	}
	run, _ = must2(Capture(ctx, CaptureOptions{Cluster: c, Root: t.TempDir(), Name: "after", Jobs: []string{id}}))
	header, events = readTrace(t, run)
	if header.Origin != traces.Recovered {
		t.Errorf("origin %s", header.Origin)
	}
	checkAgainstHadoop(t, clients, events)
	for _, event := range events {
		switch e := event.(type) {
		case *traces.AttemptStarted:
			if e.ReplicaLocality != traces.LevelUnknown {
				t.Errorf("%s: level %s cannot be known from its history", e.Attempt, e.ReplicaLocality)
			}
		case *traces.TaskScheduled:
			if e.Task.Kind == traces.Map && len(e.SplitHosts) == 0 {
				t.Errorf("%s: no split hosts", e.Task)
			}
		}
	}
}

// TestFullDisk runs with the run folder on a file system that cannot hold a
// trial. What was written stays whole, and the run does not look finished.
func TestFullDisk(t *testing.T) {
	c, clients := lab(t)
	root := t.TempDir()
	if err := unix.Mount("heddle-test", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(root, unix.MNT_DETACH) })
	o := toRun(t, c, experimentOf(manyFiles))
	o.Root = root
	run, err := Run(t.Context(), o)
	if !errors.Is(err, runs.ErrDiskFull) {
		t.Fatalf("error %v, want a full disk", err)
	}
	t.Log(err)
	again := must(runs.Open(run.Dir))
	if m := again.Manifest(); m.State == runs.Finished {
		t.Errorf("the run looks finished")
	}
	noneRunning(t, clients, "full disk")
}

// TestHiBenchCheckout runs the workloads through HiBench's own scripts and
// holds its report line against the trace.
func TestHiBenchCheckout(t *testing.T) {
	checkout := os.Getenv("HEDDLE_HIBENCH")
	if checkout == "" {
		t.Skip("no HiBench checkout: set HEDDLE_HIBENCH=DIR")
	}
	c, clients := lab(t)
	withCheckout := *c
	withCheckout.HiBench = checkout
	for _, name := range []string{"sort", "terasort", "wordcount"} {
		t.Run(name, func(t *testing.T) {
			run := must(runText(t, &withCheckout, experimentOf(threeFiles(name))))
			header, events := readTrace(t, run)
			checkAgainstHadoop(t, clients, events)
			checkComplete(t, header, events)
			trials, err := results.List(run)
			if err != nil || len(trials) != 1 || len(trials[0].Reports) != 1 || len(trials[0].Jobs) != 1 {
				t.Fatalf("results %+v, %v: want one job with one report line", trials, err)
			}
			t.Log(trials[0].Reports[0])
			report := strings.Fields(trials[0].Reports[0]) // the fourth column has the input's bytes, the fifth the seconds
			var splitBytes int64
			for _, event := range events {
				if e, ok := event.(*traces.TaskScheduled); ok {
					splitBytes += e.LengthBytes
				}
			}
			if report[3] != fmt.Sprint(splitBytes) || report[3] != fmt.Sprint(trials[0].InputBytes) {
				t.Errorf("input: %s bytes by the report, %d in the trace's splits, %d in HDFS", report[3], splitBytes, trials[0].InputBytes)
			}
			seconds, err := strconv.ParseFloat(report[4], 64)
			if took := trials[0].Jobs[0].CompletionMs; err != nil || seconds*1000 < float64(took) {
				t.Errorf("duration: %s s by the report, which includes the job's %d ms: %v", report[4], took, err)
			}
		})
	}
}

// TestHiBenchScripts runs workloads by the scripts of a checkout, and Mahout's without
// one, steered: all jobs succeed, and each script has a line in HiBench's report.
func TestHiBenchScripts(t *testing.T) {
	checkout := os.Getenv("HEDDLE_HIBENCH")
	if checkout == "" {
		t.Skip("no HiBench checkout: set HEDDLE_HIBENCH=DIR")
	}
	c, clients := lab(t)
	withCheckout := *c
	withCheckout.HiBench = checkout
	for _, w := range []struct {
		name, text    string
		jobs, reports int
	}{
		{"pagerank", "script: websearch/pagerank, profile: tiny", 2, 1},
		{"kmeans", "script: ml/kmeans, profile: tiny", 2, 1},
		{"kmeansOfWords", "name: kmeans, size: 1MiB", 2, 0},
		{"bayesOfWords", "name: bayes, size: 1MiB", 11, 0},
		{"bayes", "script: ml/bayes, profile: tiny", 11, 1},
	} {
		t.Run(w.name, func(t *testing.T) {
			run := must(runText(t, &withCheckout, experimentOf("{"+w.text+", maps: 4, reduces: 2}")+
				"models: [fifo]\nactuator: labels\ncoldReads: false\ntimeout: 10m\n"))
			trials, err := results.List(run)
			if err != nil || len(trials) != 1 || len(trials[0].Reports) != w.reports || len(trials[0].Jobs) < w.jobs {
				t.Fatalf("results %+v, %v: want %d jobs and %d report lines", trials, err, w.jobs, w.reports)
			}
			t.Logf("%d jobs in %d ms, %s", len(trials[0].Jobs), trials[0].MakespanMs, trials[0].Reports)
			noneRunning(t, clients, w.name)
		})
	}
}

// TestLeftoversAreEnded leaves an application behind as a run does that is
// killed.
func TestLeftoversAreEnded(t *testing.T) {
	c, clients := lab(t)
	target := must(change.Connect(c))
	defer target.Close()
	hold := must(change.Take(t.Context(), target, change.Options{Purpose: "a test"}))
	tag := must(hold.Tag(t.Context()))
	tag += "-1"
	jar := labtest.Examples(t, c.Hadoop.Home)
	client := labtest.Shared(t).Command(t.Context(), "master", filepath.Join(c.Hadoop.Home, "bin/hadoop"), "jar", jar, "pi",
		"-Dmapreduce.job.tags="+tag, "1", "1000000000000")
	mustDo(t, client.Start())
	defer client.Wait()
	filter := yarnclient.AppFilter{Tags: []string{tag}, States: yarnclient.Unfinished}
	if !within(time.Minute, func() bool {
		apps := must(clients.RM.Apps(t.Context(), filter))
		return len(apps) > 0
	}) {
		t.Fatalf("YARN has no application with the tag %s after a minute", tag)
	}
	hold.Abandon()
	if r, err := change.Restore(t.Context(), target, change.RestoreOptions{}); err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	if apps, err := clients.RM.Apps(t.Context(), filter); err != nil || len(apps) > 0 {
		t.Errorf("still there: %+v, %v", apps, err)
	}
}
