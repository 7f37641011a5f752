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

// Any opens a trace in any format: one of heddle's own, or one of another tool,
// which it imports with the default options into a temporary file. The format is
// found by the file's content. The result imported describes the import; it is
// nil for heddle's own trace. The function progress may be nil. The temporary file is gone once Any returns.
func Any(ctx context.Context, path string, progress func(Progress)) (r *tracefile.Reader, imported *Imported, err error) {
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
	o.Progress = progress
	if imported, err = Import(ctx, o); err != nil {
		return nil, nil, err
	}
	r, err = tracefile.Open(o.Output)
	return r, imported, err
}

// isForeign reports whether a file begins like a trace of another tool.
func isForeign(ctx context.Context, path string) (bool, error) {
	in, err := openFile(ctx, path, new(atomic.Int64))
	if err != nil {
		return false, err
	}
	defer in.Close()
	head, err := in.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("open trace %s: %w", path, err)
	}
	return detect(head) != nil, nil
}
