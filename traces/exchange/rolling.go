package exchange

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// isRolling reports whether a folder, by its name, is an event log that Spark has divided.
func isRolling(path string) bool { return strings.HasPrefix(filepath.Base(path), "eventlog_v2_") }

// rolling reads the parts of an event log one after the other.
type rolling struct {
	paths []string
	bytes int64
	file  *os.File
}

// openRolling opens the event log of a folder. Parts that were compacted into another are left out.
func openRolling(folder string) (*rolling, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	type part struct {
		number int
		os.DirEntry
	}
	var parts []part
	compact := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "events_%d_", &n); err != nil || !e.Type().IsRegular() {
			continue
		}
		parts = append(parts, part{n, e})
		if isCompact(e) {
			compact = max(compact, n)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	r := &rolling{}
	for _, p := range parts {
		if p.number < compact || p.number == compact && !isCompact(p) {
			continue
		}
		info, err := p.Info()
		if err != nil {
			return nil, err
		}
		r.paths, r.bytes = append(r.paths, filepath.Join(folder, p.Name())), r.bytes+info.Size()
	}
	return r, nil
}

func isCompact(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".compact") }

func (r *rolling) Read(p []byte) (int, error) {
	for {
		if r.file == nil {
			if len(r.paths) == 0 {
				return 0, io.EOF
			}
			f, err := os.Open(r.paths[0])
			if err != nil {
				return 0, err
			}
			r.file, r.paths = f, r.paths[1:]
		}
		n, err := r.file.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		if err := r.Close(); err != nil {
			return 0, err
		}
	}
}

func (r *rolling) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}
