package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Problem is one mistake in a cluster or experiment file.
type Problem struct {
	// Path is the place of the mistake in the file's structure, such as
	// "workloads[1].size". It is empty for the whole file.
	Path string
	// Message says what is wrong and what is allowed.
	Message string
	// Line and Column are the place of the mistake, counted from 1. They are 0
	// if the value is not from a file.
	Line, Column int
	// Source is the text of the wrong line, with *** in place of secrets.
	Source string
}

// Error lists all mistakes in a cluster or experiment.
type Error struct {
	// File is the name of the cluster or experiment file; empty if the values
	// did not come from a file.
	File     string
	Problems []Problem
}

// Error returns the mistakes, each as "file:line:column: message", and below each
// the faulty line of the file.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		p.write(&b, e.File)
	}
	return b.String()
}

func (p Problem) write(b *strings.Builder, file string) {
	var where []string
	if file != "" {
		where = append(where, file)
	}
	if p.Line > 0 {
		where = append(where, fmt.Sprint(p.Line), fmt.Sprint(p.Column))
	}
	if len(where) > 0 {
		b.WriteString(strings.Join(where, ":") + ": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Source == "" {
		return
	}
	caret := []rune(p.Source)[:min(p.Column-1, len([]rune(p.Source)))]
	for i, r := range caret {
		if r != '\t' {
			caret[i] = ' '
		}
	}
	fmt.Fprintf(b, "\n%5d | %s\n      | %s^", p.Line, p.Source, string(caret))
}

// problems is the list of mistakes that Validate finds in a cluster or
// experiment.
type problems []Problem

func (p *problems) addf(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// within reports whether the value at a path is the one at another path, or a
// part of that.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// byLine sets the line of each mistake and sorts them by it.
func (d *decoder) byLine(p problems) problems {
	for i := range p {
		p[i] = d.locate(p[i])
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return p
}

func (d *decoder) report(at position, path, format string, args ...any) {
	p := Problem{Path: path, Message: fmt.Sprintf(format, args...)}
	d.place(&p, at)
	d.add(p)
}

func (d *decoder) add(p Problem) {
	if len(d.problems) == maxProblems {
		d.untold++
		return
	}
	if end := strings.IndexByte(p.Path, ']') + 1; end > 0 {
		p.Path = cmp.Or(d.places[p.Path[:end]], p.Path[:end]) + p.Path[end:]
	}
	p.Path, p.Message = short(p.Path, maxTextRunes), short(p.Message, maxTextRunes)
	d.problems = append(d.problems, p)
}

// locate sets the line of a problem that validate found. If the file does not
// contain the value itself, such as a missing key, the line is that of the
// innermost mapping or list around it.
func (d *decoder) locate(p Problem) Problem {
	for path := p.Path; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		if at, ok := d.at[path]; ok {
			d.place(&p, at)
			break
		}
	}
	return p
}

func (d *decoder) place(p *Problem, at position) {
	p.Line, p.Column = at.line, at.column
	if at.line < 1 || at.line > len(d.lines) || at.column > maxSourceRunes {
		return
	}
	// Secrets are removed before the line is shortened, because half of an
	// address no longer shows that it contains a password. The resulting text
	// is kept for further problems in the same line.
	source, ok := d.sources[at.line]
	if !ok {
		source = short(blot(strings.TrimRight(d.lines[at.line-1], " ")), maxSourceRunes)
		d.sources[at.line] = source
	}
	p.Source = source
}

// short returns at most the first n characters of a text, for messages.
func short(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i] + "…"
		}
		n--
	}
	return text
}

// err returns the mistakes found so far as an *Error, nil if there are none.
func (p problems) err(file string) error {
	if len(p) == 0 {
		return nil
	}
	return &Error{File: file, Problems: p}
}

// Patterns that find secrets in a line. A password or token that someone put
// into the file by mistake must not appear in an error message, neither as a
// value nor inside an address. The function blot replaces it by ***.
var (
	secretValue = regexp.MustCompile(`(?i)((?:token|password|secret|credential)s?["']?\s*:\s*)[^\s{\[].*`)
	userInfo    = regexp.MustCompile(`(://)[^\s"']*@|[^\s/@"'\[{,]+@`)
)

func blot(line string) string {
	return userInfo.ReplaceAllString(secretValue.ReplaceAllString(line, "${1}***"), "${1}***@")
}
