package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	partial   = ".partial"
	trialFile = "trial.json"
)

// Active is a trial that is under way, in its folder NAME.partial.
type Active struct {
	// Name is the trial's, Dir its folder until Done.
	Name, Dir string

	run     *Run
	started time.Time
}

func (r *Run) trialDir(name string) string { return filepath.Join(r.Dir, "trials", name) }

// TrialDir is the folder of a trial that is done.
func (r *Run) TrialDir(name string) string { return r.trialDir(name) }

// Begin starts a trial of the plan in an empty folder; what an earlier attempt
// at it left is removed.
func (r *Run) Begin(name string) (*Active, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil, errReadOnly
	}
	i := slices.IndexFunc(r.manifest.Trials, func(t Trial) bool { return t.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("begin trial %s: not in the plan of %s", name, r.Dir)
	}
	if r.manifest.Trials[i].State == TrialDone {
		return nil, fmt.Errorf("begin trial %s: %w: it is done", name, ErrExists)
	}
	dir := r.trialDir(name) + partial
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("begin trial %s: %w", name, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("begin trial %s: %w", name, Explain(dir, 0, err))
	}
	t := &Active{Name: name, Dir: dir, run: r, started: time.Now().UTC().Truncate(time.Millisecond)}
	return t, r.setTrial(Trial{Name: name, State: TrialRunning, Started: t.started})
}

// setTrial writes the record into the manifest; r.mu is held.
func (r *Run) setTrial(t Trial) error {
	m := r.manifest.clone()
	i := slices.IndexFunc(m.Trials, func(old Trial) bool { return old.Name == t.Name })
	m.Trials[i] = t
	return r.replace(m)
}

// Path is that of a file or folder in the trial, "trace.heddle" or
// "jobs/job_1_0001/job.xml", whose parent folder it makes. Names that come
// from a cluster are safe: one that leads out of the trial is refused.
func (t *Active) Path(elem ...string) (string, error) {
	for _, e := range elem {
		if e == "" || !filepath.IsLocal(e) {
			return "", fmt.Errorf("trial %s: %q is not a name for a file in it", t.Name, e)
		}
	}
	path := filepath.Join(append([]string{t.Dir}, elem...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("trial %s: %w", t.Name, Explain(path, 0, err))
	}
	return path, nil
}

// WriteFile writes a whole file into the trial; name is as for Path.
func (t *Active) WriteFile(name string, data []byte) error {
	path, err := t.Path(name)
	if err != nil {
		return err
	}
	return writeAtomic(path, data)
}

// Done completes the trial: all its files are hashed and synced, and its
// folder gets its name.
func (t *Active) Done() error {
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return errReadOnly
	}
	files, err := settle(t.Dir)
	if err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	record := Trial{Name: t.Name, State: TrialDone, Started: t.started, Finished: time.Now().UTC().Truncate(time.Millisecond), Files: files}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	if err := writeAtomic(filepath.Join(t.Dir, trialFile), append(data, '\n')); err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	if err := os.Rename(t.Dir, r.trialDir(t.Name)); err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	t.Dir = r.trialDir(t.Name)
	if err := syncDir(filepath.Dir(t.Dir)); err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	return r.setTrial(record)
}

// Failed notes why the trial came to nothing. Its folder stays NAME.partial.
func (t *Active) Failed(why error) error {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	return t.run.setTrial(Trial{
		Name: t.Name, State: TrialFailed, Error: why.Error(), Started: t.started, Finished: time.Now().UTC().Truncate(time.Millisecond),
	})
}

// readTrial reads the record in a complete trial's folder; fs.ErrNotExist if
// there is no such folder.
func (r *Run) readTrial(name string) (Trial, error) {
	dir := r.trialDir(name)
	if _, err := os.Stat(dir); err != nil {
		return Trial{}, err
	}
	var t Trial
	if err := r.ReadTrialJSON(name, trialFile, &t); errors.Is(err, fs.ErrNotExist) {
		return Trial{}, fmt.Errorf("%w: %s has no %s", ErrDamaged, dir, trialFile) // not fs.ErrNotExist: the folder is there
	} else if err != nil {
		return Trial{}, err
	}
	if t.Name != name || t.State != TrialDone {
		return Trial{}, fmt.Errorf("%w: %s: is the record of trial %q in state %q", ErrDamaged, filepath.Join(dir, trialFile), t.Name, t.State)
	}
	return t, nil
}
