package experiment

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"heddle/harness/lab/labtest"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
)

// TestStateOutlivesKill kills heddle run while the model learning decides and learns.
// What it had learnt until a few seconds before is in the trial's folder. The resumed
// trial begins with it and learns on, and labels and sizes of nodes are as before.
func TestStateOutlivesKill(t *testing.T) {
	l := labtest.Shared(t)
	_, clients := lab(t)
	binary := labtest.Binary(t)
	before := labelsOf(t, clients)
	dir := t.TempDir()
	source := filepath.Join(dir, "kept.yaml")
	mustDo(t, os.WriteFile(source, []byte(`
actuator: labels
models: [{model: learning, params: {period: 1s}, state: keep}]
workloads: [{name: streaming, label: busy, size: 4MiB, maps: 16, cpu: 1s}]
`), 0o600))
	cmd := exec.CommandContext(t.Context(), binary, "run", "--cluster", l.Cluster().Name, "--runs", dir, "--run-name", "run", source)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	mustDo(t, cmd.Start())
	const name = "r01-busy-learning"
	trial := filepath.Join(dir, "run", "trials", name)
	learnt := 0
	some := within(time.Minute, func() bool {
		learnt = samplesLearnt(filepath.Join(trial+".partial", runs.StateFile))
		return learnt > 0
	})
	mustDo(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	if !some {
		t.Fatalf("nothing was learnt within a minute; heddle said:\n%s", said.Bytes())
	}
	t.Logf("killed after it had learnt from %d decisions", learnt)
	out, err := exec.CommandContext(t.Context(), binary, "run", "--resume", filepath.Join(dir, "run")).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("goes on with what it had learnt in trial "+name)) {
		t.Fatalf("resume: %v; want it to say that the model goes on:\n%s", err, out)
	}
	run := must(runs.Open(filepath.Join(dir, "run")))
	list, err := results.List(run)
	if err != nil || len(list) != 1 || list[0].StateOf != name {
		t.Fatalf("results %+v: %v; want one trial that went on with its own state", list, err)
	}
	if after := samplesLearnt(filepath.Join(trial, runs.StateFile)); after <= learnt {
		t.Errorf("%d samples after the resumed trial, and %d before it: it learnt nothing", after, learnt)
	} else {
		t.Logf("%d samples in the end", after)
	}
	show, err := exec.CommandContext(t.Context(), binary, "models", "show", filepath.Join(trial, runs.StateFile)).CombinedOutput()
	if err != nil || !bytes.Contains(show, []byte("what learning has learnt")) {
		t.Errorf("models show: %v\n%s", err, show)
	}
	if bytes.Contains(show, []byte("never varies")) && !bytes.Contains(show, []byte("load (up to")) {
		t.Errorf("the load never varies: the model does not hear of it:\n%s", show)
	}
	t.Logf("%s", show)
	awaitSame(t, clients, before)
	noneRunning(t, clients, "after its end")
}

// samplesLearnt returns how many samples are in a state of the model learning, 0 if there is
// no state yet.
func samplesLearnt(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	s, err := sched.ReadState(data)
	var learnt struct{ Samples int }
	if err != nil || json.Unmarshal(s.Learnt, &learnt) != nil {
		return 0
	}
	return learnt.Samples
}
