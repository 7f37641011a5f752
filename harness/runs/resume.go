package runs

import (
	"fmt"
	"slices"
	"time"
)

// Todo returns the names of the trials that are not complete, in the planned
// order.
func (r *Run) Todo() []string {
	var names []string
	for _, t := range r.Manifest().Trials {
		if t.State != TrialDone {
			names = append(names, t.Name)
		}
	}
	return names
}

// Resume makes this process the owner of an unfinished run. Todo then has the
// names of the trials still to do, with all warm-ups. It returns ErrRunning if
// another process owns the run, and ErrExists if the run is finished.
func (r *Run) Resume() error {
	if err := r.resume(); err != nil {
		return fmt.Errorf("resume %s: %w", r.Dir, err)
	}
	return nil
}

func (r *Run) resume() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock != nil {
		return nil
	}
	if err := r.acquire(); err != nil {
		return err
	}
	// Read the run again: before the lock was taken, another process could
	// still change it.
	err := r.load()
	if err == nil && r.manifest.State == Finished {
		err = fmt.Errorf("%w: the run is finished", ErrExists)
	}
	if err == nil {
		r.manifest.State, r.manifest.Error, r.manifest.Finished = Running, "", time.Time{}
		r.manifest.Owner = thisProcess()
		for i, t := range r.manifest.Trials {
			if t.State == TrialMissing { // a trial whose folder is gone must be done again
				r.manifest.Trials[i] = t.todo()
			}
		}
		if err = r.warmAgain(); err == nil {
			err = r.save()
		}
	}
	if err != nil {
		r.release()
	}
	return err
}

// warmAgain marks the finished warm-ups of a resumed run as still to do, since
// the cluster may have been idle or restarted meanwhile. It does not if all
// measured trials are done. The warm-ups' old folders are renamed to
// NAME.partial.
func (r *Run) warmAgain() error {
	measured := slices.ContainsFunc(r.manifest.Trials, func(t TrialRecord) bool { return !t.Warmup && t.State != TrialDone })
	for i, t := range r.manifest.Trials {
		if !measured || !t.Warmup || t.State != TrialDone {
			continue
		}
		if err := r.root.Rename(below(t.Name), below(t.Name+partial)); err != nil {
			return fmt.Errorf("warm up again: %w", err)
		}
		r.manifest.Trials[i] = t.todo()
	}
	return nil
}
