// Package runs keeps the results of runs on disk, one folder a run:
//
//	manifest.json       what ran, with which versions and settings, state, trials, hashes
//	experiment.yaml     the experiment as it was given
//	cluster.yaml        the cluster as it was reached; no secrets are in such files
//	summary.json        results, when the run has ended
//	trials/NAME/        one trial, complete
//	  trial.json        its record, with the SHA-256 of each file beside it
//	  trace.heddle
//	  jobs/JOB-ID/      job.xml, job.split, job.splitmetainfo and the .jhist file
//	  logs/
//	trials/NAME.partial/  one that is under way, or that never came to its end;
//	                      .partial.before once it is begun anew
//
// Every file of the package's own is written beside its place, synced and then
// renamed, and a trial's folder gets its name only when all in it is on disk.
// Nobody but the owner can read any of it.
//
// So a run that was killed, or whose disk was full, keeps all that was complete
// and never looks finished: its process held a lock on the folder that died
// with it (Interrupted), and Resume says which trials are still to do.
//
// What is in a trace or a job folder is not this package's business.
package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Errors to branch on.
var (
	// ErrExists is that a folder is there already and cannot be continued.
	ErrExists = errors.New("folder exists")
	// ErrRunning is that another process works on the run.
	ErrRunning = errors.New("run is under way")
	// ErrNotRun is that a folder holds no run.
	ErrNotRun = errors.New("not a run folder")
	// ErrDamaged is that a run's files are not what heddle has written.
	ErrDamaged = errors.New("run is damaged")
	// ErrDiskFull is that a file could not be written for want of space.
	ErrDiskFull = errors.New("disk full")
)

const manifestFile = "manifest.json"

// Run is a run folder: the caller's own after Create or Resume, and only for
// reading after Open. It may be used by many goroutines.
type Run struct {
	// Dir is the folder.
	Dir string
	// Unverified is that files are read also where they are not as recorded;
	// Warnings then names them. To be set before anything is read.
	Unverified bool

	mu       sync.Mutex
	manifest Manifest
	// Everything is written through root, so that no link in the folder and no
	// name leads out of it. Both are nil for reading only.
	lock     *lock
	root     *os.Root
	compared map[string]string // what Verify has found, by file
	warnings []string
}

// DefaultRoot is where run folders go by default: heddle/runs in the user's
// state folder.
func DefaultRoot() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the folder for runs: %w; give one with --runs", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "heddle", "runs"), nil
}

// Name is the usual name of a run's folder: when, and what.
func Name(started time.Time, what string) string {
	return started.Format("20060102-150405") + "-" + what
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// Create makes the folder root/name for the run that m describes; Trials of m
// is the plan, of which only names are looked at. The run is then under way, of
// this process, until End or Close.
//
// A folder that exists is refused (ErrExists, ErrRunning), unless it is an
// unfinished run of the same plan: that one is continued as by Resume.
func Create(root, name string, m Manifest) (*Run, error) {
	if !plainName.MatchString(name) {
		return nil, fmt.Errorf("create run %q: want a name of letters, digits and ._-", name)
	}
	if err := checkPlan(m.Trials); err != nil {
		return nil, fmt.Errorf("create run %s: %w", name, err)
	}
	dir := filepath.Join(root, name)
	if !vacant(dir) {
		return continueSame(dir, m)
	}
	if err := os.MkdirAll(filepath.Join(dir, "trials"), folderMode); err != nil {
		return nil, fmt.Errorf("create run folder: %w", Explain(dir, 0, err))
	}
	r := &Run{Dir: dir, manifest: m}
	r.manifest.begin(name)
	if err := r.acquire(); err != nil {
		return nil, err
	}
	// The folder may have been there, empty.
	if err := errors.Join(r.root.Chmod(".", folderMode), r.save(), syncDir(root)); err != nil {
		r.Close()
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	return r, nil
}

// checkPlan says whether each trial has a name of its own, fit for a folder.
func checkPlan(trials []TrialRecord) error {
	seen := map[string]bool{}
	for i, t := range trials {
		if !plainName.MatchString(t.Name) || filepath.Ext(t.Name) == partial {
			return fmt.Errorf("trials[%d].name: %q: want a name of letters, digits and ._-", i, t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("trials[%d].name: two trials are called %s", i, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// vacant says whether nothing is in dir, or only what Create makes before the
// manifest.
func vacant(dir string) bool {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, name := range []string{dir, filepath.Join(dir, "trials")} {
		entries, err := os.ReadDir(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		for _, e := range entries {
			if e.Name() != lockFile && e.Name() != "trials" && !strings.HasPrefix(e.Name(), tempPrefix) {
				return false
			}
		}
	}
	return true
}

func continueSame(dir string, m Manifest) (*Run, error) {
	refuse := func(why string) error {
		return fmt.Errorf("%w: %s: %s; choose another name, or remove it", ErrExists, dir, why)
	}
	r, err := Open(dir)
	if errors.Is(err, ErrNotRun) {
		return nil, refuse("it is not a run of heddle")
	} else if err != nil {
		return nil, err
	}
	old := r.Manifest()
	same := slices.EqualFunc(old.Trials, m.Trials, func(a, b TrialRecord) bool { return a.Name == b.Name })
	switch {
	case old.State == Finished:
		return nil, refuse("it holds a finished run")
	case !same || old.Seed != m.Seed:
		return nil, refuse("it holds an unfinished run of other trials or another seed")
	}
	if _, err := r.Resume(); err != nil {
		return nil, err
	}
	return r, nil
}

// Open reads the run in folder dir. ErrNotRun if there is none.
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
		return fmt.Errorf("%w: %s has format %d, this version reads up to %d", ErrDamaged, file, m.Format, manifestFormat)
	}
	if err := checkPlan(m.Trials); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, file, err)
	}
	for i, t := range m.Trials {
		done, err := r.readTrial(t.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && t.State == TrialDone:
			m.Trials[i].State = TrialMissing
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read run: %w", err)
		case t.State != TrialDone:
			// The process may have ended between completing the trial, whose
			// folder then has its name, and saying so in the manifest.
			m.Trials[i] = done
		}
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
	return nil
}

// List opens the runs in folder root, in order of name. Folders without a run
// are passed over; the error names runs that could not be read, the others are
// returned all the same. A root that does not exist has no runs.
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
		case e.IsDir() && !errors.Is(err, ErrNotRun):
			errs = append(errs, err)
		}
	}
	return list, errors.Join(errs...)
}

// Manifest is a copy of what the run says of itself now.
func (r *Run) Manifest() Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manifest.clone()
}

// Todo names the trials that are not complete, in order.
func (r *Run) Todo() []string {
	var names []string
	for _, t := range r.Manifest().Trials {
		if t.State != TrialDone {
			names = append(names, t.Name)
		}
	}
	return names
}

// Resume makes this process the owner of an unfinished run and returns Todo.
// ErrRunning while another process is; ErrExists if the run is finished.
func (r *Run) Resume() ([]string, error) {
	if err := r.resume(); err != nil {
		return nil, fmt.Errorf("resume %s: %w", r.Dir, err)
	}
	return r.Todo(), nil
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
	// Only now does nobody else change it.
	err := r.load()
	if err == nil && r.manifest.State == Finished {
		err = fmt.Errorf("%w: the run is finished", ErrExists)
	}
	if err == nil {
		r.manifest.State, r.manifest.Error, r.manifest.Finished = Running, "", time.Time{}
		r.manifest.Owner = thisProcess()
		for i, t := range r.manifest.Trials {
			if t.State == TrialMissing { // to be done again
				r.manifest.Trials[i] = TrialRecord{Name: t.Name, State: TrialTodo}
			}
		}
		err = r.save()
	}
	if err != nil {
		r.release()
	}
	return err
}

// Update changes the manifest and writes it. Name, state and trials are not
// its business.
func (r *Run) Update(change func(*Manifest)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.manifest.clone()
	change(&m)
	return r.replace(m)
}

// WriteFile writes a file right in the run folder, such as experiment.yaml,
// and notes its hash.
func (r *Run) WriteFile(name string, data []byte) error {
	if !plainName.MatchString(name) || name == manifestFile {
		return fmt.Errorf("write %q into the run folder: not a name for a file of a run", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return errReadOnly
	}
	if err := writeAtomic(r.root, name, data); err != nil {
		return err
	}
	m := r.manifest.clone()
	m.Files = append(slices.DeleteFunc(m.Files, func(f File) bool { return f.Name == name }), fileOf(name, data))
	return r.replace(m)
}

var errReadOnly = errors.New("the run is open for reading only; resume it first")

// replace writes m and, only if that worked, makes it the run's manifest.
func (r *Run) replace(m Manifest) error {
	if r.lock == nil {
		return errReadOnly
	}
	old := r.manifest
	r.manifest = m
	if err := r.save(); err != nil {
		r.manifest = old
		return err
	}
	return nil
}

func (r *Run) save() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r.manifest); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return writeAtomic(r.root, manifestFile, b.Bytes())
}
