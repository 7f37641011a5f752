package runs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// Limits on the size, in bytes, of the JSON files that describe a run. The file
// manifest.json has some 2 KB for each trial.
const (
	maxRecordBytes = 64 << 20
	// maxRecordValues is the largest number of JSON values in a file that
	// describes a run. It limits the memory that they take.
	maxRecordValues = 1_000_000
)

// maxFaults is how many damaged files of a run are listed. Further ones are
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
	var faults []string
	for _, t := range r.manifest.Trials {
		if t.Warmup {
			continue // skip warm-ups: nobody reads their files
		}
		folder := "trials/" + t.Name
		switch t.State {
		case TrialMissing:
			faults = append(faults, folder+" is missing, although the trial was done")
		case TrialDone:
			for _, name := range names {
				fault, err := r.difference(root, folder+"/", name, t.Files)
				if err != nil {
					return fmt.Errorf("verify run %s: %w", r.Dir, err)
				}
				if fault != "" {
					faults = append(faults, fault)
				}
			}
		}
	}
	return r.judge(faults)
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
	fault, err := r.difference(root, "", name, r.manifest.Files)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
	}
	if fault != "" {
		if err := r.judge([]string{fault}); err != nil {
			return nil, err
		}
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

// judge decides what damaged files mean: it returns an error that lists them,
// or adds warnings for an Unverified run. The caller holds the lock r.mu.
func (r *Run) judge(faults []string) error {
	if n := len(faults) - maxFaults; n > 0 {
		faults = append(slices.Clone(faults[:maxFaults]), fmt.Sprintf("and %d more faults", n))
	}
	if r.Unverified {
		for _, fault := range faults {
			if text := NotVerified + ": " + r.Dir + ": " + fault; !slices.Contains(r.warnings, text) {
				r.warnings = append(r.warnings, text)
			}
		}
		return nil
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s differs from its record: %s; --unverified reads it all the same", ErrDamaged, r.Dir, strings.Join(faults, "; "))
}

// difference says how a file differs from its recorded length and hash. It
// returns "" if it does not differ. The caller holds the lock r.mu.
func (r *Run) difference(root *os.Root, folder, name string, recorded []File) (fault string, err error) {
	path := folder + name
	if fault, known := r.compared[path]; known {
		return fault, nil
	}
	defer func() {
		if err == nil {
			if r.compared == nil {
				r.compared = map[string]string{}
			}
			r.compared[path] = fault
		}
	}()
	i := slices.IndexFunc(recorded, func(f File) bool { return f.Name == name })
	f, info, err := openRegular(root, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && i < 0:
		return "", nil // a missing file that was never recorded is not damaged: the caller gets an error when it reads the file
	case errors.Is(err, fs.ErrNotExist):
		return path + " is missing", nil
	case err != nil:
		return "", err
	}
	defer f.Close()
	if i < 0 {
		return path + " was added: no record has it", nil
	}
	was := recorded[i]
	if info.Size() != was.Bytes {
		return fmt.Sprintf("%s has changed: it has %d bytes, its record says %d", path, info.Size(), was.Bytes), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	if hex.EncodeToString(h.Sum(nil)) != was.SHA256 {
		return path + " has changed: the length is the same, the SHA-256 is not", nil
	}
	return "", nil
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
	root, err := openFolder(dir)
	if err == nil {
		defer root.Close()
		var data []byte
		if data, err = readRecord(root, name); err == nil {
			return data, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no %s", ErrNotRun, dir, name)
	}
	return nil, err
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

// decodeRecord decodes JSON like json.Unmarshal. Its errors name the file, and
// it refuses data that would take far more memory than the description of a run
// needs.
func decodeRecord(file string, data []byte, v any) error {
	if n := bytes.Count(data, []byte(",")); n > maxRecordValues {
		return fmt.Errorf("%w: %s has %d values, want at most %d", ErrDamaged, file, n, maxRecordValues)
	}
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
	root, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	data, err := readRecord(root, name)
	if err != nil {
		return err
	}
	return decodeRecord(filepath.Join(dir, filepath.FromSlash(name)), data, v)
}
