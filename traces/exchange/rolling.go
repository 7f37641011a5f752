package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// isRolling reports whether a folder, by its name, is an event log that Spark has divided.
func isRolling(path string) bool { return strings.HasPrefix(filepath.Base(path), "eventlog_v2_") }

// openRolling opens the event log of a folder, whose parts are read one after the other, and says how large it is.
// Parts that were compacted into another are left out.
func openRolling(folder string) (io.ReadCloser, int64, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, 0, err
	}
	type part struct {
		number, compact int // compact is number, or 0 for a part as it was written
		name            string
	}
	var parts []part
	last := 0
	for _, e := range entries {
		p := part{name: e.Name()}
		if _, err := fmt.Sscanf(p.name, "events_%d_", &p.number); err != nil || !e.Type().IsRegular() {
			continue
		}
		if strings.HasSuffix(p.name, ".compact") {
			p.compact = p.number
		}
		parts, last = append(parts, p), max(last, p.compact)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	var files opened
	var all []io.Reader
	size := int64(0)
	for _, p := range parts {
		if p.number < last || p.number == last && p.compact < last {
			continue
		}
		f, err := os.Open(filepath.Join(folder, p.name))
		if err != nil {
			return nil, 0, errors.Join(err, files.Close())
		}
		files, all = append(files, f), append(all, f)
		if info, err := f.Stat(); err == nil {
			size += info.Size()
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(all...), files}, size, nil
}

type opened []*os.File

func (o opened) Close() (err error) {
	for _, f := range o {
		err = errors.Join(err, f.Close())
	}
	return err
}
