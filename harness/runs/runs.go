// Package runs keeps the results of runs on disk, in one folder per run:
//
//	manifest.json       what ran, with which versions and settings; state, trials, hashes
//	experiment.yaml     the experiment file as given
//	cluster.yaml        the cluster file as used; such files contain no secrets
//	summary.json        the results, once the run has ended
//	report.html         a page of the results so far
//	trials/NAME/        a complete trial
//	  trial.json        its record, with the SHA-256 of each of its files
//	  trace.heddle
//	  jobs/JOB-ID/      job.xml, job.split, job.splitmetainfo and the .jhist file
//	  logs/
//	trials/NAME.partial/  a trial that is under way or was never completed;
//	                      renamed to .partial.before when it is begun again
//
// The package writes each of its files under a temporary name and renames it. Those at the
// top of the run folder are synced before, and those of a trial when it is complete: its
// folder gets its final name when everything in it is on disk. The manifest has a trial's
// begin and end a second later at most; until then the trial's folder tells them. Only the
// owner can read any of it.
//
// Therefore a run that was killed, or whose disk was full, keeps its complete
// trials and never looks finished. Its process held a lock on the folder, which
// ended with the process: the run reads as Interrupted. Resume says which
// trials are still to do.
//
// The package does not look into traces and job folders.
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

// Errors of this package that callers can distinguish with errors.Is.
var (
	// ErrExists means that a run folder of this name exists and its run cannot
	// be continued.
	ErrExists = errors.New("folder exists")
	// ErrRunning means that another process works on the run.
	ErrRunning = errors.New("run is under way")
	// ErrNotRun means that the folder is not a run folder.
	ErrNotRun = errors.New("not a run folder")
	// ErrDamaged means that files in a run folder differ from what heddle
	// wrote.
	ErrDamaged = errors.New("run is damaged")
	// ErrDiskFull means that the disk had no space to write a file.
	ErrDiskFull = errors.New("disk full")
)

const (
	manifestFile = "manifest.json"
	journalFile  = "steering.journal" // what steering changed on the cluster; package change writes it
)

// RowsFile is the name of a file in a run folder to which package sweep appends results
// until all are there.
const RowsFile = "rows.jsonl"

// PageFile is the name of the page of a run in its folder, which nothing reads.
const PageFile = "report.html"

// Run is a run folder. After Create or Resume this process owns the folder and
// may write to it. After Open it can only read it. A Run may be used by many
// goroutines.
type Run struct {
	// Dir is the path of the run folder.
	Dir string
	// Unverified allows to read files that differ from their recorded hashes.
	// Warnings then names these files. Unverified must be set before anything
	// is read.
	Unverified bool

	mu       sync.Mutex
	manifest Manifest
	saving   *time.Timer // writes the manifest, which has changed; nil: it is on disk
	// root is the open run folder. All files are written through root, so that
	// no link or name leads out of the folder. The fields lock and root are nil
	// if the run can only be read.
	lock     *lock
	root     *os.Root
	key      []byte          // of the marks of this user's runs; nil if the run is not known to be one
	compared map[string]bool // for each compared file, by path, whether it is whole
	warnings []string
}

// StateFolder returns heddle's folder in the user's state folder.
func StateFolder() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the user's state folder: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "heddle"), nil
}

// DefaultRoot returns the default place of run folders: the folder heddle/runs
// in the user's state folder.
func DefaultRoot() (string, error) {
	state, err := StateFolder()
	if err != nil {
		return "", fmt.Errorf("find the folder for runs: %w; give one with --runs", err)
	}
	return filepath.Join(state, "runs"), nil
}

// Name returns the default name of a run folder. It consists of the start time
// and the argument what, a word for what ran.
func Name(started time.Time, what string) string {
	return started.Format("20060102-150405") + "-" + what
}

// New makes a folder for the run that m describes below root, as Create does. If name is
// empty, it is the time and what the run is of, with a number if that is taken.
func New(root, name, what string, m Manifest) (*Run, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of runs: %w", err)
	}
	if name != "" {
		return Create(root, name, m)
	}
	name = Name(time.Now(), what)
	run, err := Create(root, name, m)
	for n := 2; errors.Is(err, ErrExists) && n < 100; n++ {
		run, err = Create(root, fmt.Sprintf("%s-%d", name, n), m)
	}
	return run, err
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=-]{0,199}$`)

// Free returns an error if no run folder root/name can be made, for work that is long
// and keeps its results at its end. New finds a name if there is none.
func Free(root, name string) error {
	if name != "" && !plainName.MatchString(name) {
		return fmt.Errorf("run folder %q: want a name of letters, digits and ._=-", name)
	}
	if dir := filepath.Join(root, name); name != "" && !vacant(dir) {
		return fmt.Errorf("%w: %s has a finished run or other files; choose another name, or remove it", ErrExists, dir)
	}
	return nil
}

// Create makes the folder root/name for the run that m describes. m.Trials
// lists the planned trials; only their names count. This process owns the run
// until End or Close.
//
// If the folder exists, Create returns ErrExists or ErrRunning. The exception
// is an unfinished run with the same planned trials, which is continued as by
// Resume.
func Create(root, name string, m Manifest) (*Run, error) {
	if !plainName.MatchString(name) {
		return nil, fmt.Errorf("create run %q: want a name of letters, digits and ._=-", name)
	}
	if err := checkPlan(m.Trials); err != nil {
		return nil, fmt.Errorf("create run %s: %w", name, err)
	}
	dir := filepath.Join(root, name)
	if !vacant(dir) {
		return continueSame(dir, m)
	}
	r := &Run{Dir: dir, manifest: m, key: ownKey(true)}
	r.manifest.begin(name)
	if err := r.create(root); err != nil {
		r.Close()
		if full := (*fullError)(nil); errors.As(err, &full) {
			err = &fullError{full.err, full.where, "nothing has run: free some space, then start the run again"}
		}
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	return r, nil
}

// create makes the files and folders with which a run begins, the manifest last.
func (r *Run) create(root string) error {
	if err := os.MkdirAll(filepath.Join(r.Dir, "trials"), folderMode); err != nil {
		return Explain(r.Dir, 0, err)
	}
	if err := r.acquire(); err != nil {
		return err
	}
	// Set the folder's access mode, because an empty folder with another mode
	// may have existed before.
	return errors.Join(r.root.Chmod(".", folderMode), r.save(), syncDir(root))
}

// checkPlan returns an error if two planned trials have the same name, or a
// name cannot be that of a folder.
func checkPlan(trials []TrialRecord) error {
	seen := map[string]bool{}
	for i, t := range trials {
		if !plainName.MatchString(t.Name) || filepath.Ext(t.Name) == partial {
			return fmt.Errorf("trials[%d].name: %q: want a name of letters, digits and ._=-", i, t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("trials[%d].name: two trials are named %s", i, t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}

// vacant reports whether a new run can be made in the folder dir. The folder
// must be empty, or contain only the files that Create makes before the
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

// isLeft reports whether a folder without a manifest is what remains of a run: it
// has a lock file, and no process works on it.
func isLeft(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, lockFile))
	return err == nil && info.Mode().IsRegular() && !isLocked(dir)
}

func continueSame(dir string, m Manifest) (*Run, error) {
	refuse := func(why string) error {
		return fmt.Errorf("%w: %s: %s; choose another name, or remove it", ErrExists, dir, why)
	}
	r, err := Open(dir)
	if errors.Is(err, ErrNotRun) {
		return nil, refuse("it is no run folder")
	} else if err != nil {
		return nil, err
	}
	old := r.Manifest()
	same := slices.EqualFunc(old.Trials, m.Trials, func(a, b TrialRecord) bool { return a.Name == b.Name })
	switch {
	case old.State == Finished:
		return nil, refuse("it has a finished run")
	case !same || old.Seed != m.Seed:
		return nil, refuse("it has an unfinished run of other trials or with another seed")
	}
	if err := r.Resume(); err != nil {
		return nil, err
	}
	return r, nil
}

// File returns the record of a complete file at the top of the run folder, and whether there
// is such a file.
func (r *Run) File(name string) (File, bool) {
	files := r.Manifest().Files
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return File{}, false
	}
	return files[i], true
}

// Manifest returns a copy of the run's current manifest.
func (r *Run) Manifest() Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.manifest.clone()
}

// Update lets the function change modify the run's manifest, and then writes
// the manifest to disk. The function must not modify the name, the state and
// the trials.
func (r *Run) Update(change func(*Manifest)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.manifest.clone()
	change(&m)
	return r.replace(m)
}

// WriteFile writes a file at the top of the run folder, such as
// experiment.yaml, and records its hash.
func (r *Run) WriteFile(name string, data []byte) error {
	if !plainName.MatchString(name) || name == manifestFile {
		return fmt.Errorf("write %q into the run folder: want a name of letters, digits and ._=-, other than manifest.json", name)
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

// replace writes the manifest m to disk. If that succeeds, m becomes the run's
// manifest.
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

// saveSoon writes the manifest within a second, together with what else changes
// meanwhile. The caller holds the lock r.mu.
func (r *Run) saveSoon() {
	if r.saving != nil {
		return
	}
	r.saving = time.AfterFunc(time.Second, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.saving != nil { // else it was written, or the run was released, while this function waited for the lock
			_ = r.save() // do not check this error: the next save returns it again, that of End at last
		}
	})
}

func (r *Run) save() error {
	data, err := r.encoded()
	if err != nil {
		return err
	}
	if r.saving != nil {
		r.saving.Stop()
		r.saving = nil
	}
	return writeAtomic(r.root, manifestFile, data)
}

func (r *Run) encoded() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if r.key != nil {
		r.manifest.Mark = r.manifest.mark(r.key)
	}
	if err := enc.Encode(r.manifest); err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return b.Bytes(), nil
}
