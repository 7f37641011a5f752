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

// Active is a trial under way. Its files are in the folder NAME.partial.
type Active struct {
	// Name is the trial's name. Dir is its folder until Done is called. Before
	// is the folder with the files of the last unfinished attempt at this
	// trial, "" if there was none.
	Name, Dir, Before string

	run     *Run
	started time.Time
}

// below returns the path of a trial's folder, as seen from the run folder.
func below(name string) string { return filepath.Join("trials", name) }

// TrialDir returns the folder of the complete trial with the given name.
func (r *Run) TrialDir(name string) string { return filepath.Join(r.Dir, below(name)) }

// Begin starts a planned trial in an empty folder. Files that an unfinished
// attempt at the trial left are kept in the folder NAME.partial.before until the trial is done.
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
	dir := r.TrialDir(name) + partial
	t := &Active{Name: name, Dir: dir, run: r, started: now()}
	if _, err := r.root.Lstat(below(name + partial)); err == nil {
		err = r.root.RemoveAll(below(name + before))
		if err = errors.Join(err, r.root.Rename(below(name+partial), below(name+before))); err != nil {
			return nil, fmt.Errorf("begin trial %s: %w", name, err)
		}
		t.Before = r.TrialDir(name) + before
	}
	if err := r.root.Mkdir(below(name+partial), folderMode); err != nil {
		return nil, fmt.Errorf("begin trial %s: %w", name, Explain(dir, 0, err))
	}
	return t, r.setTrial(TrialRecord{Name: name, State: TrialRunning, Started: t.started})
}

// setTrial changes the state of a trial in the manifest. Why a trial failed is written
// at once: all else its folder tells too. The caller holds the lock r.mu.
func (r *Run) setTrial(t TrialRecord) error {
	if r.lock == nil {
		return errReadOnly
	}
	i := slices.IndexFunc(r.manifest.Trials, func(old TrialRecord) bool { return old.Name == t.Name })
	old := r.manifest.Trials[i]
	t.Warmup = old.Warmup
	r.manifest.Trials[i] = t
	if t.State != TrialFailed && old.State != TrialFailed {
		r.saveSoon()
		return nil
	}
	if err := r.save(); err != nil {
		r.manifest.Trials[i] = old
		return err
	}
	return nil
}

// Folder makes and opens a folder inside the trial's folder, such as "jobs".
// The name "." means the trial's folder itself. Names that come from a cluster
// are safe: no name and no link leads out of the trial's folder.
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

// WriteFile writes a whole file into the trial's folder and makes the folders
// in its path. name is a path such as "result.json" or
// "jobs/job_1_0001/job.xml". A name that would lead out of the trial's folder
// is refused.
func (t *Active) WriteFile(name string, data []byte) error {
	return t.write(name, int64(len(data)), all(data))
}

// Write writes a file into the trial's folder, like WriteFile. The caller's
// function write produces the content.
func (t *Active) Write(name string, write func(io.Writer) error) error {
	return t.write(name, 0, write)
}

func (t *Active) write(name string, needBytes int64, write func(io.Writer) error) error {
	folder, err := t.Folder(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	// what a model learnt is read again also if the trial is never complete
	return writeWith(folder, filepath.Base(name), needBytes, name == StateFile, write)
}

// Done completes the trial. It waits until all files are on the disk, records
// their hashes, and gives the trial's folder its final name.
func (t *Active) Done() error {
	r := t.run
	r.mu.Lock()
	root := r.root
	r.mu.Unlock()
	if root == nil {
		return errReadOnly
	}
	record, err := t.complete(root)
	if err != nil {
		return fmt.Errorf("complete trial %s: %w", t.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.setTrial(record)
}

func (t *Active) complete(root *os.Root) (record TrialRecord, err error) {
	own, err := root.OpenRoot(below(t.Name + partial))
	if err != nil {
		return record, err
	}
	defer own.Close()
	files, err := syncAll(own)
	if err != nil {
		return record, err
	}
	record = TrialRecord{Name: t.Name, State: TrialDone, Started: t.started, Finished: now(), Files: files}
	data, err := json.MarshalIndent(record, "", "  ")
	if err == nil {
		err = writeLast(own, trialFile, append(data, '\n'))
	}
	if err == nil {
		err = root.Rename(below(t.Name+partial), below(t.Name))
	}
	if err != nil {
		return record, err
	}
	t.Dir = t.run.TrialDir(t.Name)
	if err := syncDir(filepath.Dir(t.Dir)); err != nil {
		return record, err
	}
	_ = root.RemoveAll(below(t.Name + before)) // what an earlier try left says nothing of this one; if it stays, that does no harm
	return record, nil
}

// Failed records in the manifest why the trial failed. The trial's folder keeps
// the name NAME.partial.
func (t *Active) Failed(why error) error {
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	return t.run.setTrial(TrialRecord{
		Name: t.Name, State: TrialFailed, Error: why.Error(), Started: t.started, Finished: now(),
	})
}

// StateFile is the name of a file in a trial's folder: what the trial's model has learnt,
// if it keeps its state. During a trial on a cluster it is written every few seconds.
const StateFile = "state.json"

// ReadLast reads a file of a trial in the run that this process owns. It is the file
// of the complete trial, whose hash is compared, or else of the last attempt at the
// trial, other than one under way. ReadLast returns fs.ErrNotExist if there is no
// such file.
func (r *Run) ReadLast(trial, name string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.manifest.Trials, func(t TrialRecord) bool { return t.Name == trial })
	if r.lock == nil || i < 0 {
		return nil, fmt.Errorf("read %s of trial %s in %s: the run has no such trial, or is not this process's", name, trial, r.Dir)
	}
	t, folder := &r.manifest.Trials[i], trial+partial
	switch t.State {
	case TrialRunning:
		folder = trial + before
	case TrialDone:
		folder = trial
		if err := r.check(r.root, "trials/"+trial+"/", name, t.Files); err != nil {
			return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
		}
	}
	return readRecord(r.root, "trials/"+folder+"/"+name)
}

// readTrial reads the file trial.json of a complete trial. It returns
// fs.ErrNotExist if the trial has no complete folder.
func (r *Run) readTrial(name string) (TrialRecord, error) {
	dir := r.TrialDir(name)
	if _, err := os.Stat(dir); err != nil {
		return TrialRecord{}, err
	}
	var t TrialRecord
	if err := r.ReadTrialJSON(name, trialFile, &t); errors.Is(err, fs.ErrNotExist) {
		// do not return fs.ErrNotExist, which means that there is no complete trial: its folder exists
		return TrialRecord{}, fmt.Errorf("%w: %s has no %s", ErrDamaged, dir, trialFile)
	} else if err != nil {
		return TrialRecord{}, err
	}
	if t.Name != name || t.State != TrialDone {
		return TrialRecord{}, fmt.Errorf("%w: %s: it is the record of trial %q in state %q, want this trial in state done",
			ErrDamaged, filepath.Join(dir, trialFile), t.Name, t.State)
	}
	return t, nil
}
