package runs

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Open reads the run in the folder dir. It returns ErrNotRun if the folder is
// not a run folder.
func Open(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	if err := r.load(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Run) load() error {
	file := filepath.Join(r.Dir, manifestFile)
	var m Manifest
	if err := readJSON(r.Dir, manifestFile, &m); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s has no %s", ErrNotRun, r.Dir, manifestFile)
	} else if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	if m.Format < 1 || m.Format > manifestFormat {
		return fmt.Errorf("%w: %s: format %d: want 1 to %d, which this version reads", ErrDamaged, file, m.Format, manifestFormat)
	}
	if err := checkPlan(m.Trials); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, file, err)
	}
	if err := r.loadTrials(&m); err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	if m.State == Running && r.lock == nil && !isLocked(r.Dir) {
		m.State = Interrupted
	}
	for i := range m.Trials {
		if t := &m.Trials[i]; t.State == TrialRunning && (r.lock != nil || m.State != Running) {
			t.State = TrialInterrupted
		}
	}
	r.manifest = m
	if key := ownKey(false); key != nil && hmac.Equal([]byte(m.Mark), []byte(m.mark(key))) {
		r.key = key
	}
	return nil
}

// loadTrials completes the manifest by what the trials' folders say: it is up to a second
// behind them.
func (r *Run) loadTrials(m *Manifest) error {
	for i, t := range m.Trials {
		done, err := r.readTrial(t.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && t.State == TrialDone:
			m.Trials[i].State = TrialMissing
		case errors.Is(err, fs.ErrNotExist) && t.State == TrialTodo && r.hasBegun(t.Name):
			m.Trials[i].State = TrialRunning
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case t.State != TrialDone:
			// The process may have ended after it completed the trial and
			// before it recorded this in the manifest. The trial's folder then
			// has its final name.
			done.Warmup = t.Warmup
			m.Trials[i] = done
		}
	}
	return nil
}

// hasBegun reports whether a trial that is not complete has a folder.
func (r *Run) hasBegun(trial string) bool {
	_, err := os.Lstat(r.TrialDir(trial) + partial)
	return err == nil
}

// List opens the runs in the folder root, sorted by name. It skips folders that
// are not run folders. It returns all runs that can be read, even if its error
// names runs that cannot. If root does not exist, there are no runs.
func List(root string) ([]*Run, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var list []*Run
	var errs []error
	for _, e := range entries {
		r, err := Open(filepath.Join(root, e.Name()))
		switch {
		case err == nil:
			list = append(list, r)
		case !e.IsDir():
		case !errors.Is(err, ErrNotRun):
			errs = append(errs, err)
		case isLeft(filepath.Join(root, e.Name())):
			errs = append(errs, fmt.Errorf("%s: heddle was ended while it made or removed this run: remove what is left with rm -r",
				filepath.Join(root, e.Name())))
		}
	}
	return list, errors.Join(errs...)
}
