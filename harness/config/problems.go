package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Problem is one thing wrong with a file.
type Problem struct {
	// Path is where, as the file nests: "workloads[1].size"; empty for the
	// whole file.
	Path string
	// Message says what is wrong and what would be right.
	Message string
	// Line and Column count from 1; 0 where the value is not from a file.
	Line, Column int
	// Source is the offending line, with secrets blotted out.
	Source string
}

// Error is all that is wrong with a cluster or an experiment.
type Error struct {
	// File is the file's name; empty for a value made by a program.
	File     string
	Problems []Problem
}

// Error shows each problem as "file:line:column: message" with its line below.
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

// problems collects what Validate finds.
type problems []Problem

func (p *problems) addf(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// err is nil if nothing was found.
func (p problems) err(file string) error {
	if len(p) == 0 {
		return nil
	}
	return &Error{File: file, Problems: p}
}

// A token that someone put into a file by mistake shall not travel on in a
// message, be it as a value or as part of an address.
var (
	secretValue = regexp.MustCompile(`(?i)((?:token|password|secret|credential)s?["']?\s*:\s*)[^\s{\[].*`)
	userInfo    = regexp.MustCompile(`(://)[^\s"']*@|[^\s/@"'\[{,]+@`)
)

func blot(line string) string {
	return userInfo.ReplaceAllString(secretValue.ReplaceAllString(line, "${1}***"), "${1}***@")
}
