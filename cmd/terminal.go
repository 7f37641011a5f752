package cmd

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"sync"
	"unicode/utf8"

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
	text := append(e.rest, p...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
		}
	}
	_, err := io.WriteString(e.out, printable.Text(string(text[:whole])))
	e.rest = bytes.Clone(text[whole:])
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

// isTerminal reports whether a command's output goes to a terminal and not to a
// file or another program.
func isTerminal(out io.Writer) bool {
	e, ok := out.(*escaper)
	return ok && term.IsTerminal(int(e.out.Fd()))
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

// warn prints warnings to stderr.
func warn(c *cli.Context, warnings ...string) {
	for _, w := range warnings {
		printable.Fprintln(c.App.ErrWriter, "warning:", w)
	}
}

// absent returns an error if one of the files that a command is to write exists. A
// command that works for a while asks before.
func absent(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := outfile.Absent(path); err != nil {
			return withCode(exitUsage, err)
		}
	}
	return nil
}

// printResult prints a command's result as JSON or as text.
func printResult(c *cli.Context, v any, text func(io.Writer) error) error {
	if c.Bool("json") {
		return printJSON(c.App.Writer, v)
	}
	return text(c.App.Writer)
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
