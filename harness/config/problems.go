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
