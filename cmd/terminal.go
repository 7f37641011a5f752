package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"heddle/traces/outfile"
	"heddle/traces/printable"
)

// All output of commands goes through the variables stdout and stderr, which
// escape control characters. The output contains names of jobs and messages of
// servers, and a terminal would obey control characters in them.
var (
	stdout = &escaper{out: os.Stdout}
	stderr = &escaper{out: os.Stderr}
)

// escaper is a writer that makes output safe for a terminal. It escapes control
// characters, except line feeds and tabs, and characters that change the
// direction of text. The escapes are those of JSON, so that JSON keeps its
// meaning.
type escaper struct {
	mu   sync.Mutex
	out  *os.File
	rest []byte // first bytes of a UTF-8 character whose other bytes have not been written yet
}

// Write writes p, with control characters escaped, to the writer for which the
// escaper was made.
func (e *escaper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	bottom.clear()
	data := append(e.rest, p...)
	whole := len(data)
	for i := max(0, whole-utf8.UTFMax); i < len(data); i++ {
		if utf8.RuneStart(data[i]) && !utf8.FullRune(data[i:]) {
			whole = i
		}
	}
	_, err := io.WriteString(e.out, printable.Text(string(data[:whole])))
	e.rest = bytes.Clone(data[whole:])
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes that Write held back: the start of a UTF-8 character
// that was never completed.
func (e *escaper) Flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := io.WriteString(e.out, printable.Text(string(e.rest)))
	e.rest = nil
	return err
}

// notes is the writer for messages that are no results, warnings or errors: progress,
// and what to do next. It drops them if the user asked for quiet.
type notes struct {
	*escaper
	quiet bool
}

// Write writes p as the escaper does, or drops it.
func (n *notes) Write(p []byte) (int, error) {
	if n.quiet {
		return len(p), nil
	}
	return n.escaper.Write(p)
}

// quietFlag returns the flag --quiet of all commands.
func (n *notes) quietFlag() cli.Flag {
	return &cli.BoolFlag{
		Name: "quiet", Aliases: []string{"q"}, Destination: &n.quiet, DisableDefaultText: true,
		Usage: "no progress and hints: results, warnings and errors only",
	}
}

// isTerminal reports whether a command's output goes to a terminal and not to a
// file or another program.
func isTerminal(out io.Writer) bool {
	switch out := out.(type) {
	case *escaper:
		return term.IsTerminal(int(out.out.Fd()))
	case *notes:
		return !out.quiet && isTerminal(out.escaper)
	}
	return false
}

// followsMoves reports whether a command's output goes to a terminal on which lines
// can be written over.
func followsMoves(out io.Writer) bool { return isTerminal(out) && os.Getenv("TERM") != "dumb" }

// bottom is the last lines of the terminal, if stderr is one: a state that is written
// over by the next. Output of commands goes above it.
var bottom = &status{out: os.Stderr, size: func() (int, int) { return terminalSize(os.Stderr) }}

// status is lines at the bottom of a terminal.
type status struct {
	mu    sync.Mutex
	out   io.Writer
	size  func() (columns, rows int)
	shown int // number of lines on the terminal now
}

// show writes lines in place of those that were shown before. It escapes control
// characters and cuts what does not fit.
func (s *status) show(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, rows := s.size()
	lines = lines[:min(len(lines), max(1, rows-1))]
	var b strings.Builder
	b.WriteString(s.back())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(text.Trim(printable.Line(line), columns-3)) // the terminal may add ^C; in its last column it may begin a new line
	}
	s.shown = len(lines)
	_, _ = io.WriteString(s.out, b.String()) // nothing can be said on a terminal that is gone
}

// clear removes the lines.
func (s *status) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown > 0 {
		_, _ = io.WriteString(s.out, s.back()) // as above
		s.shown = 0
	}
}

// back returns what moves a terminal to the first of the lines and removes them.
func (s *status) back() string {
	switch s.shown {
	case 0:
		return ""
	case 1:
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", s.shown-1)
}

// terminalSize returns how many columns and rows a terminal has, 80 and 24 if it does
// not say.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, _ = term.GetSize(int(f.Fd())) // 0 and 0 after an error
	return cmp.Or(columns, 80), cmp.Or(rows, 24)
}

// asIs returns the writer on which an escaper writes, to avoid the escaping of
// control characters. It is for output that another program reads or that is
// escaped already.
func asIs(out io.Writer) io.Writer {
	if e, ok := out.(*escaper); ok {
		return e.out
	}
	return out
}

// warn prints warnings to stderr, also with --quiet: they are about results.
func warn(warnings ...string) {
	for i, w := range warnings {
		if slices.Contains(warnings[:i], w) {
			continue
		}
		printable.Fprintln(stderr, "warning:", w)
	}
}

// say prints a note.
func say(c *cli.Context, note string) {
	if note != "" {
		printable.Fprintln(c.App.ErrWriter, note)
	}
}

// next says which command commonly follows the one that is done.
func next(c *cli.Context, command string, files ...string) {
	for _, f := range files {
		command += " " + printable.ShellWord(f)
	}
	printable.Fprintln(c.App.ErrWriter, "next:", command)
}

// absent returns an error if one of the files that a command is to write exists. A
// command that works for a while asks before.
func absent(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := outfile.Absent(path); err != nil {
			return usage(err)
		}
	}
	return nil
}
