package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	partial   = ".partial"
	before    = partial + ".before"
	trialFile = "trial.json"
)

// Active is a trial that is under way, in its folder NAME.partial.
type Active struct {
	// Name is the trial's, Dir its folder until Done, Before that of what the last
	// attempt at it left, "" none.
	Name, Dir, Before string

	run     *Run
	started time.Time
}

// below is the name of a trial's folder in the run's.
func below(name string) string { return filepath.Join("trials", name) }

func (r *Run) trialDir(name string) string { return filepath.Join(r.Dir, "trials", name) }

// TrialDir is the folder of a trial that is done.
func (r *Run) TrialDir(name string) string { return r.trialDir(name) }

// Begin starts a trial of the plan in an empty folder. What the last attempt at it
// left stays as NAME.partial.before.
func (r *Run) Begin(name string) (*Active, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return nil, errReadOnly
	}
	i := slices.IndexFunc(r.manifest.Trials, func(t TrialRecord) bool { return t.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("begin trial %s: not in the plan of %s", name, r.Dir)
	}
	if r.manifest.Trials[i].State == TrialDone {
		return nil, fmt.Errorf("begin trial %s: %w: it is done", name, ErrExists)
	}
	dir := r.trialDir(name) + partial
	t := &Active{Name: name, Dir: dir, run: r, started: time.Now().UTC().Truncate(time.Millisecond)}
	if _, err := r.root.Lstat(below(name + partial)); err == nil {
		err = r.root.RemoveAll(below(name + before))
		if err = errors.Join(err, r.root.Rename(below(name+partial), below(name+before))); err != nil {
			return nil, fmt.Errorf("begin trial %s: %w", name, err)
		}
		t.Before = r.trialDir(name) + before
	}
	if err := r.root.Mkdir(below(name+partial), folderMode); err != nil {
		return nil, fmt.Errorf("begin trial %s: %w", name, Explain(dir, 0, err))
	}
	return t, r.setTrial(TrialRecord{Name: name, State: TrialRunning, Started: t.started})
}

// setTrial writes the record into the manifest; r.mu is held.
func (r *Run) setTrial(t TrialRecord) error {
	m := r.manifest.clone()
	i := slices.IndexFunc(m.Trials, func(old TrialRecord) bool { return old.Name == t.Name })
	m.Trials[i] = t
	return r.replace(m)
}

// Folder makes a folder in the trial, "jobs", and opens it; "." is the trial's own.
// Names that come from a cluster are safe: neither name nor a link leads out of
// the trial.
func (t *Active) Folder(name string) (*os.Root, error) {
	fail := func(err error) (*os.Root, error) {
		return nil, fmt.Errorf("trial %s: make folder %q: %w", t.Name, name, Explain(filepath.Join(t.Dir, name), 0, err))
	}
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	if t.run.lock == nil {
		return fail(errReadOnly)
	}
	own, err := t.run.root.OpenRoot(below(t.Name + partial))
	if err != nil {
		return fail(err)
	}
	defer own.Close()
	if err := own.MkdirAll(name, folderMode); err != nil {
		return fail(err)
	}
	folder, err := own.OpenRoot(name)
	if err != nil {
		return fail(err)
	}
	return folder, nil
}

// WriteFile writes a whole file into the trial; name is "result.json" or
// "jobs/job_1_0001/job.xml", whose folder it makes. Names are safe as for Folder.
func (t *Active) WriteFile(name string, data []byte) error {
	return t.write(name, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write is WriteFile of what write writes.
func (t *Active) Write(name string, write func(io.Writer) error) error {
	return t.write(name, 0, write)
}

func (t *Active) write(name string, needBytes int64, write func(io.Writer) error) error {
	folder, err := t.Folder(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return writeWith(folder, filepath.Base(name), needBytes, write)
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
	own, err := r.root.OpenRoot(below(t.Name + partial))
	if err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	defer own.Close()
	files, err := settle(own)
	if err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	record := TrialRecord{Name: t.Name, State: TrialDone, Started: t.started, Finished: time.Now().UTC().Truncate(time.Millisecond), Files: files}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	if err := writeAtomic(own, trialFile, append(data, '\n')); err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	if err := r.root.Rename(below(t.Name+partial), below(t.Name)); err != nil {
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
	return t.run.setTrial(TrialRecord{
		Name: t.Name, State: TrialFailed, Error: why.Error(), Started: t.started, Finished: time.Now().UTC().Truncate(time.Millisecond),
	})
}

// readTrial reads the record in a complete trial's folder; fs.ErrNotExist if
// there is no such folder.
func (r *Run) readTrial(name string) (TrialRecord, error) {
	dir := r.trialDir(name)
	if _, err := os.Stat(dir); err != nil {
		return TrialRecord{}, err
	}
	var t TrialRecord
	if err := r.ReadTrialJSON(name, trialFile, &t); errors.Is(err, fs.ErrNotExist) {
		return TrialRecord{}, fmt.Errorf("%w: %s has no %s", ErrDamaged, dir, trialFile) // not fs.ErrNotExist: the folder is there
	} else if err != nil {
		return TrialRecord{}, err
	}
	if t.Name != name || t.State != TrialDone {
		return TrialRecord{}, fmt.Errorf("%w: %s: is the record of trial %q in state %q", ErrDamaged, filepath.Join(dir, trialFile), t.Name, t.State)
	}
	return t, nil
}
