package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/harness/capture"
	"heddle/harness/lab/labtest"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// TestKilledInMidTrial kills heddle run while a trial's job runs, once and with
// HEDDLE_LONG=1 ten times: what the trial had seen until a second before is in its
// part, Repair makes a trace of it, and the run is taken up to its end.
func TestKilledInMidTrial(t *testing.T) {
	l := labtest.Shared(t)
	binary := labtest.Binary(t)
	dir, times := t.TempDir(), 1
	if os.Getenv("HEDDLE_LONG") == "1" {
		times = 10
	}
	source := filepath.Join(dir, "killed.yaml")
	mustDo(t, os.WriteFile(source, []byte(experimentOf(manyFiles)), 0o600))
	for i, killedRuns := 0, 0; killedRuns < times; i++ {
		if i == 5*times {
			t.Fatalf("of %d runs %d were killed within their trial: the trial is too short for this test", i, killedRuns)
		}
		name := fmt.Sprint("try", i)
		cmd := exec.CommandContext(t.Context(), binary, "run", "--cluster", l.Cluster().Name, "--runs", dir, "--run-name", name, source)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		mustDo(t, cmd.Start())
		trial := filepath.Join(dir, name, "trials", "r01-wordcount-yarn")
		part := filepath.Join(trial+".partial", capture.PartFile)
		if !awaitJob(part) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("no job was seen within two minutes; heddle said:\n%s", said.Bytes())
		}
		<-time.After(rand.N(5 * time.Second))
		killed := time.Now()
		mustDo(t, cmd.Process.Kill())
		_ = cmd.Wait() // killed
		h, events, err := tracefile.ReadFile(part)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			t.Log("the trial's job had ended before the kill: once more")
			continue
		}
		killedRuns++
		var damage *tracefile.DamageError
		if !errors.As(err, &damage) || !damage.CutOff {
			t.Fatalf("the part: %v; want all but the end", err)
		}
		var last traces.Time
		kinds := map[string]int{}
		for _, e := range events {
			last = max(last, e.At())
			kinds[e.Kind().String()]++
		}
		gap := killed.Sub(time.Unix(0, h.StartUnixNs+int64(last)))
		t.Logf("killed %.1f s into the trial: the last of %d events %.2f s before; %v", float64(last)/1e9, len(events), gap.Seconds(), kinds)
		if gap > 2*time.Second {
			t.Errorf("%v before the kill is lost, want about a second", gap)
		}
		if kinds["jobSubmitted"] != 1 || kinds["nodeSample"] == 0 || kinds["blockReplica"] == 0 {
			t.Errorf("the part lacks the job, samples or blocks: %v", kinds)
		}
		repaired, err := capture.Repair(part, filepath.Join(dir, name+".trace"))
		if err != nil || repaired.Events == 0 {
			t.Errorf("repaired %+v: %v", repaired, err)
		}
		resume := exec.CommandContext(t.Context(), binary, "run", "--resume", filepath.Join(dir, name))
		if out, err := resume.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(trial+".partial.before")) {
			t.Fatalf("resume: %v; want it to say where the killed trial is kept:\n%s", err, out)
		}
		run := must(runs.Open(filepath.Join(dir, name)))
		if m := run.Manifest(); m.State != runs.Finished {
			t.Errorf("the run is %s", m.State)
		}
		errtest.Is(t, errOf(os.Stat(filepath.Join(trial, capture.PartFile))), os.ErrNotExist)
		errtest.Is(t, errOf(os.Stat(trial+".partial.before")), os.ErrNotExist)
	}
}

// TestKilledAtAnyTime kills heddle run at random times, twice and with
// HEDDLE_LONG=1 ten times, while it writes a trace's jobs' input, submits the
// jobs, steers them or cleans up. The run is taken up to its end, and after that
// nothing of the killed try is on the cluster.
func TestKilledAtAnyTime(t *testing.T) {
	l := labtest.Shared(t)
	_, clients := lab(t)
	binary := labtest.Binary(t)
	dir, times := t.TempDir(), 2
	if os.Getenv("HEDDLE_LONG") == "1" {
		times = 10
	}
	random := rand.New(rand.NewPCG(1, 0))
	labels, files := labelsOf(t, clients), leftInHDFS(t, clients)
	for i := range times {
		name := fmt.Sprintf("run%d", i)
		text := strings.Replace(traceText(t, ", maxTasks: 2"), "workloads:", fmt.Sprintf("seed: %d\nactuator: labels\nmodels: [fifo]\nworkloads:",
			i+1), 1)
		source := filepath.Join(dir, name+".yaml")
		mustDo(t, os.WriteFile(source, []byte(text), 0o600))
		cmd := exec.CommandContext(t.Context(), binary, "run", "--cluster", l.Cluster().Name, "--runs", dir, "--run-name", name, source)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		mustDo(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if !awaitFile(filepath.Join(dir, name, "experiment.yaml"), ended) {
			t.Fatalf("heddle made no run folder; it said:\n%s", said.Bytes())
		}
		at := time.Duration(random.Int64N(int64(killWithin)))
		select {
		case err := <-ended:
			t.Logf("the run ended within %v, before it could be killed: %v", at, err)
			continue
		case <-time.After(at):
		}
		mustDo(t, cmd.Process.Kill())
		<-ended
		t.Logf("killed %.1f s after it made the run folder; in HDFS are %v; it said last: %s", at.Seconds(), leftInHDFS(t, clients),
			lastLine(said.Bytes()))
		out, err := exec.CommandContext(t.Context(), binary, "run", "--resume", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("resume: %v\n%s", err, out)
		}
		run := must(runs.Open(filepath.Join(dir, name)))
		if m := run.Manifest(); m.State != runs.Finished {
			t.Errorf("the run is %s", m.State)
		}
		noneRunning(t, clients, name)
		awaitSame(t, clients, labels)
		now := files
		// An ApplicationMaster removes its staging folder shortly after its job's end.
		if !within(30*time.Second, func() bool { now = leftInHDFS(t, clients); return slices.Equal(now, files) }) {
			t.Errorf("in HDFS are %v, were %v; resume said:\n%s", now, files, out)
		}
	}
}

// killWithin is about how long a run of TestKilledAtAnyTime takes that is not
// killed.
const killWithin = 25 * time.Second

// awaitFile returns when a file exists, or false if the process ends before.
func awaitFile(name string, ended <-chan error) bool {
	for tick := time.Tick(20 * time.Millisecond); ; {
		if _, err := os.Stat(name); err == nil {
			return true
		}
		select {
		case <-tick:
		case <-ended:
			return false
		}
	}
}

func lastLine(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}

// awaitJob returns when a part has a task of a job.
func awaitJob(part string) bool {
	return within(2*time.Minute, func() bool {
		_, events, _ := tracefile.ReadFile(part) // not there yet, or cut off
		return slices.ContainsFunc(events, func(e traces.Event) bool { return e.Kind() == traces.KindTaskScheduled })
	})
}
