package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"heddle/traces/tracefile"
)

// Any opens a trace in any format: one of heddle's own, or one of another tool or a
// folder of histories, which it imports into a temporary file. The format is
// found by the file's content. The result imported describes the import; it is
// nil for heddle's own trace. The function change, if it is not nil, may change the
// options of the import, which are the default ones. The temporary file is gone once Any returns.
func Any(ctx context.Context, path string, change func(*ImportOptions)) (r *tracefile.Reader, imported *Imported, err error) {
	foreign, err := isForeign(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if !foreign {
		r, err = tracefile.Open(path)
		return r, nil, err
	}
	folder, err := os.MkdirTemp("", "heddle-trace-")
	if err != nil {
		return nil, nil, fmt.Errorf("import %s: %w", path, err)
	}
	defer os.RemoveAll(folder) // an open file stays readable until it is closed
	o := DefaultImport
	o.Inputs, o.Output, o.Writer = []string{path}, filepath.Join(folder, "trace.heddle"), "heddle"
	if change != nil {
		change(&o)
	}
	if imported, err = Import(ctx, o); err != nil {
		return nil, nil, err
	}
	r, err = tracefile.Open(o.Output)
	return r, imported, err
}

// isForeign reports whether a file begins like a trace of another tool. A folder is one
// of histories or event logs.
func isForeign(ctx context.Context, path string) (bool, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true, nil
	}
	in, err := openFile(ctx, path, new(atomic.Int64))
	if err != nil {
		return false, err
	}
	defer in.Close()
	head, err := in.head()
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("open trace %s: %w", path, err)
	}
	return detect(head) != nil, nil
}

// IsTopology reports whether a file has the nodes of a cluster, or their racks.
func IsTopology(ctx context.Context, path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	in, err := openFile(ctx, path, new(atomic.Int64))
	if err != nil {
		return false
	}
	defer in.Close()
	head, _ := in.head() // whoever reads the file meets the error
	return topology(head) != nil
}
