package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Fault is one way in which a run folder is not what its manifest says.
type Fault struct {
	// File is relative to the run folder, with slashes.
	File string `json:"file"`
	// What is wrong with it.
	What string `json:"what"`
}

// Check verifies that the files of the run in dir, and of its complete trials,
// are there and unchanged. The state of the run is no fault. An error is that
// it could not be told.
func Check(dir string) ([]Fault, error) {
	r, err := Open(dir)
	if err != nil {
		return nil, fmt.Errorf("check run: %w", err)
	}
	m := r.Manifest()
	faults, err := checkFiles(dir, "", m.Files)
	if err != nil {
		return nil, fmt.Errorf("check run: %w", err)
	}
	for _, t := range m.Trials {
		folder := "trials/" + t.Name
		switch t.State {
		case TrialMissing:
			faults = append(faults, Fault{folder, "missing: the trial was done"})
		case TrialDone:
			more, err := checkFiles(dir, folder+"/", t.Files)
			if err != nil {
				return nil, fmt.Errorf("check run: %w", err)
			}
			faults = append(faults, more...)
			added, err := unlisted(r.TrialDir(t.Name), t.Files)
			if err != nil {
				return nil, fmt.Errorf("check run: %w", err)
			}
			for _, name := range added {
				faults = append(faults, Fault{folder + "/" + name, "not there when the trial was completed"})
			}
		}
	}
	return faults, nil
}

func checkFiles(dir, prefix string, files []File) ([]Fault, error) {
	var faults []Fault
	for _, f := range files {
		name := prefix + f.Name
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			faults = append(faults, Fault{name, "not a name for a file of a run"})
			continue
		}
		is, err := hashFile(filepath.Join(dir, filepath.FromSlash(name)), false)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, Fault{name, "missing"})
		case err != nil:
			return nil, err
		case is.Bytes != f.Bytes:
			faults = append(faults, Fault{name, fmt.Sprintf("changed: %d bytes, was %d", is.Bytes, f.Bytes)})
		case is.SHA256 != f.SHA256:
			faults = append(faults, Fault{name, "changed: same length, other SHA-256"})
		}
	}
	return faults, nil
}

// unlisted names the files below dir that are not in files.
func unlisted(dir string, files []File) ([]string, error) {
	known := map[string]bool{trialFile: true}
	for _, f := range files {
		known[f.Name] = true
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if name := filepath.ToSlash(rel); err == nil && !known[name] && !strings.HasPrefix(e.Name(), tempPrefix) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}
