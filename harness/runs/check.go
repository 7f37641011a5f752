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
	"strings"
)

// maxRecordBytes is the greatest size of the JSON files that describe a run. The file
// manifest.json has some 2 KB for each trial.
const maxRecordBytes = 64 << 20

// maxFaults is how many damaged files of a run are named. Further ones are
// only counted.
const maxFaults = 20

// NotVerified is how a warning starts that a run was read although its files
// may be damaged.
const NotVerified = "not verified"

// Verify compares files of complete measured trials with the hashes recorded
// for them. The argument names has the files' names in the trials' folders,
// such as "trace.heddle". If files differ, it returns one error, an ErrDamaged,
// that names all of them. For an Unverified run they are warnings instead. A
// file is hashed only once.
//
// Call Verify only for files that will be read.
func (r *Run) Verify(names ...string) error {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return fmt.Errorf("verify run: %w", err)
	}
	defer root.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	var damaged []string
	for _, t := range r.manifest.Trials {
		if t.Warmup {
			continue // skip warm-ups: nobody reads their files
		}
		folder := "trials/" + t.Name
		switch t.State {
		case TrialMissing:
			damaged = append(damaged, folder)
		case TrialDone:
			for _, name := range names {
				whole, err := r.whole(root, folder+"/", name, t.Files)
				if err != nil {
					return fmt.Errorf("verify run %s: %w", r.Dir, err)
				}
				if !whole {
					damaged = append(damaged, folder+"/"+name)
				}
			}
		}
	}
	return r.judge(damaged)
}

// Open opens a file of the run, other than one of a trial, for reading. It compares the
// file with its recorded hash first.
func (r *Run) Open(name string) (*os.File, error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	defer root.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	begun := slices.ContainsFunc(r.manifest.Trials, func(t TrialRecord) bool { return t.State != TrialTodo })
	recorded := slices.ContainsFunc(r.manifest.Files, func(f File) bool { return f.Name == name })
	if !recorded && !begun && r.manifest.State != Finished {
		// heddle was killed between the file and its record, before anything ran.
		return nil, fmt.Errorf("read run %s: %s was not recorded: %w", r.Dir, name, fs.ErrNotExist)
	}
	if err := r.check(root, "", name, r.manifest.Files); err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
	}
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
	}
	return f, nil
}

// ReadFile reads a file at the top of the run folder, such as experiment.yaml.
// It compares the file with its recorded hash, as Verify does.
func (r *Run) ReadFile(name string) ([]byte, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readLimited(f, filepath.Join(r.Dir, name))
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
	}
	return data, nil
}

// Warnings returns warnings that name the files that were read although they
// differ from their recorded hashes.
func (r *Run) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warnings)
}

// check returns an error if a file is damaged, see judge. The caller holds the lock r.mu.
func (r *Run) check(root *os.Root, folder, name string, recorded []File) error {
	whole, err := r.whole(root, folder, name, recorded)
	if err == nil && !whole {
		err = r.judge([]string{folder + name})
	}
	return err
}

// judge decides what damaged files mean: it returns an error that lists them,
// or adds warnings for an Unverified run. The caller holds the lock r.mu.
func (r *Run) judge(damaged []string) error {
	if len(damaged) == 0 {
		return nil
	}
	if n := len(damaged) - maxFaults; n > 0 {
		damaged = append(slices.Clone(damaged[:maxFaults]), fmt.Sprintf("and %d more", n))
	}
	text := r.Dir + ": missing, or not as heddle wrote them: " + strings.Join(damaged, ", ")
	if !r.Unverified {
		return fmt.Errorf("%w: %s; --unverified reads it all the same", ErrDamaged, text)
	}
	if text = NotVerified + ": " + text; !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
	return nil
}

// whole reports whether a file has its recorded length and hash, or is neither there nor
// recorded: then the caller gets an error when it reads the file. The caller holds the
// lock r.mu.
func (r *Run) whole(root *os.Root, folder, name string, recorded []File) (whole bool, err error) {
	path := folder + name
	if whole, known := r.compared[path]; known {
		return whole, nil
	}
	i := slices.IndexFunc(recorded, func(f File) bool { return f.Name == name })
	f, info, err := openRegular(root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		whole = i < 0
	case err != nil:
		return false, err
	default:
		defer f.Close()
		if i >= 0 && info.Size() == recorded[i].Bytes {
			is, err := hashed(f)
			if err != nil {
				return false, err
			}
			whole = is.SHA256 == recorded[i].SHA256
		}
	}
	if r.compared == nil {
		r.compared = map[string]bool{}
	}
	r.compared[path] = whole
	return whole, nil
}

// openRegular opens a regular file in the folder root for reading. To be safe,
// it refuses devices, pipes, and links that lead out of the folder.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	name = filepath.FromSlash(name)
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is not a regular file", ErrDamaged, filepath.Join(root.Name(), name))
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := root.Open(name)
	return f, info, err
}

// ReadJournal reads a file that another package keeps in the run folder dir.
// The folder need not belong to a complete run. If the file is missing, it
// returns ErrNotRun.
func ReadJournal(dir, name string) ([]byte, error) {
	data, err := readIn(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s has no %s", ErrNotRun, dir, name)
	}
	return data, err
}

func readIn(dir, name string) ([]byte, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readRecord(root, name)
}

// readRecord reads a JSON file in the folder root that describes a run or a
// trial.
func readRecord(root *os.Root, name string) ([]byte, error) {
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, filepath.Join(root.Name(), name))
}

func readLimited(f io.Reader, path string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxRecordBytes+1))
	if err == nil && len(data) > maxRecordBytes {
		err = fmt.Errorf("%w: %s is longer than %d bytes", ErrDamaged, path, maxRecordBytes)
	}
	return data, err
}

// decodeRecord decodes JSON like json.Unmarshal. Its errors name the file.
func decodeRecord(file string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %s: %w; it was changed by hand or damaged on disk", ErrDamaged, file, err)
	}
	return nil
}

// ReadTrialJSON reads a JSON file of a complete trial into v. It does not
// compare the file with its recorded hash.
func (r *Run) ReadTrialJSON(trial, name string, v any) error {
	return readJSON(r.Dir, "trials/"+trial+"/"+name, v)
}

// openFolder opens a folder that may be something else. A pipe in its place would
// let os.OpenRoot wait for ever.
func openFolder(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder", ErrNotRun, dir)
	}
	return os.OpenRoot(dir)
}

func readJSON(dir, name string, v any) error {
	data, err := readIn(dir, name)
	if err != nil {
		return err
	}
	return decodeRecord(filepath.Join(dir, filepath.FromSlash(name)), data, v)
}
