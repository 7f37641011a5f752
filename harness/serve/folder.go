package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/harness/doc"
	"heddle/harness/report"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces/printable"
)

const (
	maxPagesMade = 2      // at a time
	maxFiles     = 20_000 // of a run whose page is made
	listFor      = 2 * time.Second
)

// errOutside means that a file of a run folder is none of its own.
var errOutside = errors.New("it has what is neither file nor folder")

// Folder are the runs in a folder, for a browser:
//
//	/           a list of the runs, the latest first
//	/run/NAME   the page of heddle report of one
//
// A page is made when somebody opens it, and made again when the run's files have
// changed since then. Runs are what stands in the folder itself. A run with links or
// devices has no page, so that no path leads out of the folder.
type Folder struct {
	dir   string
	pages *pages
}

// NewFolder returns the runs in a folder.
func NewFolder(dir string) *Folder { return &Folder{dir: dir, pages: newPages(maxPagesMade)} }

// ServeHTTP answers a request.
func (f *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, isRun := strings.CutPrefix(r.URL.Path, "/run/")
	var page []byte
	var err error
	switch {
	case isRun:
		page, err = f.run(r.Context(), name)
	case r.URL.Path == "/":
		// Describing many runs takes a while, so a list serves for a moment.
		page, err = f.pages.get(r.Context(), "", time.Now().Truncate(listFor).String(), f.list)
	default:
		err = fs.ErrNotExist
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, printable.Line(err.Error()), http.StatusInternalServerError)
	default:
		sendPage(w, page)
	}
}

// list returns the document with the list of runs.
func (f *Folder) list(context.Context) (doc.Doc, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var list []results.About
	var warnings doc.Warnings
	for _, e := range entries {
		if !e.IsDir() { // a link leads elsewhere
			continue
		}
		run, err := runs.Open(filepath.Join(f.dir, e.Name()))
		if errors.Is(err, runs.ErrNotRun) {
			continue
		}
		var about results.About
		if err == nil {
			about, err = results.Describe(run)
			list = append(list, about)
		}
		if err != nil {
			warnings = append(warnings, err.Error())
		}
	}
	slices.SortStableFunc(list, func(a, b results.About) int { return b.Started.Compare(a.Started) })
	t := &doc.Table{Name: "runs", Columns: []string{"run", "world", "state", "done", "trials", "models", "workloads", "started", "size"}, Sorted: true}
	for _, a := range list {
		t.Add(doc.Linked(a.Name, "run/"+url.PathEscape(a.Name)), doc.Words(a.World), doc.Words(string(a.State)), doc.Count(a.Done), doc.Count(a.Trials),
			doc.Words(strings.Join(a.Models, ", ")), doc.Words(strings.Join(a.Workloads, ", ")), doc.Words(a.Started.UTC().Format("2006-01-02 15:04 UTC")), doc.Bytes(a.Bytes))
	}
	d := doc.Doc{doc.Heading("Runs in " + f.dir), t}
	if len(list) == 0 {
		d = append(d, doc.Text("There is no run here yet."))
	}
	return append(d, warnings), nil
}

// run returns the page of the run with this name.
func (f *Folder) run(ctx context.Context, name string) ([]byte, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && e.Name() == name }) {
		return nil, fs.ErrNotExist
	}
	dir := filepath.Join(f.dir, name)
	holds, err := fingerprint(dir)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	return f.pages.get(ctx, name, holds, func(ctx context.Context) (doc.Doc, error) {
		run, err := runs.Open(dir)
		if err != nil {
			return nil, err
		}
		var o report.Options
		o.Fidelity = o.AddRun(run)
		return report.Of(ctx, o)
	})
}

// fingerprint returns a hash of the names, lengths and times of all files in a run
// folder.
func fingerprint(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	sum, files := sha256.New(), 0
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%w: %s", errOutside, path)
		}
		if files++; files > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // of a run that goes on
			return nil
		} else if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		return nil
	})
	return string(sum.Sum(nil)), err
}
