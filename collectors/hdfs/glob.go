package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// maxAlternatives limits the number of paths that a glob pattern with braces
// may expand to.
const maxAlternatives = 10_000

// expand returns the HDFS paths that match a glob pattern, sorted and without
// duplicates. A pattern without special characters is returned as the only
// path, whether it exists or not. For other patterns it returns fs.ErrNotExist
// if nothing matches.
func (c *Client) expand(ctx context.Context, pattern string) ([]string, error) {
	pattern = barePath(pattern)
	if !strings.HasPrefix(pattern, "/") {
		return nil, fmt.Errorf("path is not absolute: %w", fs.ErrInvalid)
	}
	alternatives, err := braces(pattern)
	if err != nil {
		return nil, err
	}
	if len(alternatives) == 1 && !special(alternatives[0]) {
		return []string{path.Clean(unescape(alternatives[0]))}, nil
	}
	var found []string
	for _, a := range alternatives {
		matches, err := c.match(ctx, a)
		if err != nil {
			return nil, err
		}
		found = append(found, matches...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("nothing matches: %w", fs.ErrNotExist)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// match finds the HDFS paths that match a glob pattern without braces. It goes
// through the pattern's path elements one after the other. It lists a folder
// only where an element has special characters.
func (c *Client) match(ctx context.Context, pattern string) ([]string, error) {
	here := []string{"/"}
	for element := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var below []string
		for _, dir := range here {
			if !special(element) {
				below = append(below, path.Join(dir, unescape(element)))
				continue
			}
			names, err := c.matchNames(ctx, dir, element)
			if err != nil {
				return nil, err
			}
			below = append(below, names...)
		}
		here = below
	}
	if special(pattern[strings.LastIndexByte(pattern, '/')+1:]) {
		return here, nil
	}
	// If the last path element of the pattern has no special characters, the
	// NameNode was not asked yet whether the found paths exist. Paths that do not
	// exist are dropped here.
	return slices.DeleteFunc(here, func(p string) bool {
		if ctx.Err() != nil {
			return false
		}
		_, err := c.Stat(ctx, p)
		return errors.Is(err, fs.ErrNotExist)
	}), ctx.Err()
}

func (c *Client) matchNames(ctx context.Context, dir, element string) ([]string, error) {
	var matches []string
	for page, err := range c.pages(ctx, dir, false) {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a folder of the pattern may not exist; then no path in that folder matches
			return nil, nil
		case err != nil:
			return nil, err
		}
		for _, s := range page {
			if len(s.Path) == 0 { // an entry with an empty name means that dir is a file and not a folder, so no path below dir matches
				continue
			}
			ok, err := path.Match(element, string(s.Path))
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", element, err)
			}
			if ok && s.FileType != hdfspb.FileStatus_SYMLINK {
				matches = append(matches, path.Join(dir, string(s.Path)))
			}
		}
	}
	return matches, nil
}

// braces expands the braces of a glob pattern: "x{a,b}" gives the patterns
// "xa" and "xb". The parts in braces may contain slashes and further braces.
func braces(pattern string) ([]string, error) {
	open, parts, end := -1, []int(nil), -1
	depth, quoted := 0, false
	for i := 0; i < len(pattern) && end < 0; i++ {
		switch c := pattern[i]; {
		case quoted:
			quoted = false
		case c == '\\':
			quoted = true
		case c == '{':
			if depth++; depth == 1 {
				open = i
			}
		case c == ',' && depth == 1:
			parts = append(parts, i)
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	if open < 0 {
		return []string{pattern}, nil
	}
	if end < 0 {
		return nil, fmt.Errorf("pattern %q: { without }: %w", pattern, path.ErrBadPattern)
	}
	var all []string
	from := open + 1
	for _, to := range append(parts, end) {
		more, err := braces(pattern[:open] + pattern[from:to] + pattern[end+1:])
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxAlternatives {
			return nil, fmt.Errorf("pattern %.40q: its braces make more than %d paths: %w", pattern, maxAlternatives, path.ErrBadPattern)
		}
		from = to + 1
	}
	return all, nil
}

// special reports whether a path without braces has special characters of glob
// patterns.
func special(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

func unescape(p string) string {
	if !strings.Contains(p, `\`) {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		b.WriteByte(p[i])
	}
	return b.String()
}
