package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// collection reads rows from a sweep's folder in HDFS.
type collection struct {
	files  outputs
	folder string
	read   map[string]bool // paths of files that were read
	left   map[string]bool // keys of replays without a row
	done   func(Row) error
}

// add passes a row on. It may be that of a replay that has one.
func (c *collection) add(r Row) error {
	delete(c.left, r.Key)
	return c.done(r)
}

// todo returns the replays of a plan that have no row.
func (c *collection) todo(p *Plan) (list []Replay) {
	for _, r := range p.Replays {
		if c.left[r.Key] {
			list = append(list, r)
		}
	}
	return list
}

// collect reads the rows of all maps that have ended since the last time.
func (c *collection) collect(ctx context.Context) error {
	jobs, err := c.files.Names(ctx, c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("collect results: %w", err)
	}
	for _, job := range jobs {
		if !strings.HasPrefix(job, "out-") {
			continue
		}
		parts, err := c.files.List(ctx, path.Join(c.folder, job))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("collect results: %w", err)
		}
		for _, f := range parts {
			if !strings.HasPrefix(path.Base(f.Path), "part-") || f.UnderConstruction || c.read[f.Path] {
				continue
			}
			if err := c.part(ctx, f.Path); err != nil {
				return fmt.Errorf("collect results: hdfs %s: %w", f.Path, err)
			}
			c.read[f.Path] = true
		}
	}
	return nil
}

func (c *collection) part(ctx context.Context, name string) error {
	in, err := c.files.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = eachRow(in, c.add) // a replay whose line is damaged has no row, and runs again
	return err
}
