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

// Limits of a run's record files. The manifest has some 2 KB per trial.
const (
	maxRecordBytes = 64 << 20
	// maxRecordValues limits the memory that a record's JSON values take.
	maxRecordValues = 1_000_000
)

// maxFaults is how many faults of a run are listed; further ones are counted.
const maxFaults = 20

// NotVerified is the start of the warnings about a run that is read Unverified.
const NotVerified = "not verified"

// Verify compares files of complete trials with their recorded hashes. names
// are the files' names in the trials' folders, such as "trace.heddle".
// Differences are one error, an ErrDamaged that names all such files; for an
// Unverified run they are warnings. A file is hashed only once.
//
// Only files that will be read need to be verified.
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

// ReadFile reads a file at the top of the run folder, such as experiment.yaml.
// It verifies the file as Verify does.
func (r *Run) ReadFile(name string) ([]byte, error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	defer root.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	fault, err := r.difference(root, "", name, r.manifest.Files)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
	}
	if fault != "" {
		if err := r.judge([]string{fault}); err != nil {
			return nil, err
		}
	}
	data, err := readRecord(root, name)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Dir, err)
	}
	return data, nil
}

// Warnings name the files that were read although they differ from their
// recorded hashes.
func (r *Run) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warnings)
}

// judge turns faults into an error, or into warnings for an Unverified run. The
// caller holds r.mu.
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

// difference says how a file differs from its record, "" if it does not. The
// caller holds r.mu.
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
		return "", nil // no fault here: whoever reads the missing file reports it
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

// openRegular opens a regular file inside root for reading. It refuses devices,
// pipes, and links that lead out of root.
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

// ReadJournal reads a file that another package keeps in folder dir. The folder
// need not be a complete run. A missing file is ErrNotRun.
func ReadJournal(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
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

// readRecord reads a record file inside root.
func readRecord(root *os.Root, name string) ([]byte, error) {
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecordBytes+1))
	if err == nil && len(data) > maxRecordBytes {
		err = fmt.Errorf("%w: %s is longer than %d bytes", ErrDamaged, filepath.Join(root.Name(), name), maxRecordBytes)
	}
	return data, err
}

// decodeRecord is like json.Unmarshal. Its errors name the file, and it refuses
// data that would take far more memory than a run's records.
func decodeRecord(file string, data []byte, v any) error {
	if n := bytes.Count(data, []byte(",")); n > maxRecordValues {
		return fmt.Errorf("%w: %s has %d values, want at most %d", ErrDamaged, file, n, maxRecordValues)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %s: %w; it was changed by hand or damaged on disk", ErrDamaged, file, err)
	}
	return nil
}

// ReadTrialJSON reads a JSON file of a complete trial into v, without verifying
// it.
func (r *Run) ReadTrialJSON(trial, name string, v any) error {
	return readJSON(r.Dir, "trials/"+trial+"/"+name, v)
}

func readJSON(dir, name string, v any) error {
	root, err := os.OpenRoot(dir)
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
