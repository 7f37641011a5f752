package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"

	"heddle/harness/runs"
	"heddle/harness/sched"
)

// keepsState reports whether the trial's model goes on with what it learnt in earlier
// trials. A warm-up teaches nothing.
func (t *trial) keepsState() bool { return t.plan.Model.Keeps() && !t.plan.Warmup }

// goOn gives the model what it learnt in earlier trials: what it knew at the end of
// the last trial before this one in the plan, whatever that trial's workload. A trial
// on a cluster that was killed goes on with what it had learnt. In virtual time it
// does not, so that a run that was interrupted gives the same results as one that was
// not. The result names the trial whose state it is, "" if there is none.
func (t *trial) goOn(m sched.Model) (since string, err error) {
	if !t.keepsState() {
		return "", nil
	}
	manifest := t.results.Manifest()
	virtual := manifest.World == runs.WorldSimulated
	for _, name := range slices.Backward(t.sameModelUntil(!virtual)) {
		if virtual && !slices.ContainsFunc(manifest.Trials,
			func(r runs.TrialRecord) bool { return r.Name == name && r.State == runs.TrialDone }) {
			continue
		}
		data, err := t.results.ReadLast(name, runs.StateFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = sched.LoadState(m, data)
		}
		if err != nil {
			return "", fmt.Errorf("go on with what %s had learnt in trial %s: %w", t.plan.Model.Label, name, err)
		}
		t.say("learn", "goes on with what it had learnt in trial "+name)
		return name, t.folder.WriteFile(runs.StateFile, data) // so that another kill does not lose it
	}
	return "", nil
}

// sameModelUntil returns the names of the trials of the same model that stand before
// this one in the plan, and this one's if own is true.
func (t *trial) sameModelUntil(own bool) (names []string) {
	for _, other := range t.options.Experiment.Trials() {
		last := other.Name == t.plan.Name
		if other.Model.Label == t.plan.Model.Label && !other.Warmup && (own || !last) {
			names = append(names, other.Name)
		}
		if last {
			break
		}
	}
	return names
}

// saveState writes what the model has learnt to the trial's folder.
func (t *trial) saveState(m sched.Model) error {
	if !t.keepsState() {
		return nil
	}
	data, err := sched.SaveState(m, t.plan.Model.Params)
	if err != nil {
		return err
	}
	return t.folder.WriteFile(runs.StateFile, data)
}

// stateWriter writes what a model learns while a trial runs on a cluster.
type stateWriter struct {
	*trial
	writing sync.Mutex // held while a file is written
	writes  sync.WaitGroup
	log     *slog.Logger
}

// keep saves the state, and writes it in a goroutine of its own, so that decisions do
// not wait for the disk. While one file is being written, the next is left out.
func (w *stateWriter) keep(m sched.Model) {
	if !w.writing.TryLock() {
		return
	}
	data, err := sched.SaveState(m, w.plan.Model.Params)
	w.writes.Go(func() {
		defer w.writing.Unlock()
		if err == nil {
			err = w.folder.WriteFile(runs.StateFile, data)
		}
		if err != nil {
			w.log.Error("keep what the model has learnt", "err", err)
		}
	})
}

// end writes the last state. The model must not decide any more.
func (w *stateWriter) end(m sched.Model) error {
	w.writes.Wait()
	return w.saveState(m)
}
