package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
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
	_, err := io.WriteString(e.out, escape(string(text[:whole])))
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
	_, err := io.WriteString(e.out, escape(string(e.rest)))
	e.rest = nil
	return err
}

// escape replaces control characters, which a terminal would obey, and invalid
// UTF-8 by codes such as \u001b and \xff.
func escape(text string) string {
	if strings.IndexFunc(text, mustEscape) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !mustEscape(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func mustEscape(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
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
		fmt.Fprintln(c.App.ErrWriter, "warning:", w)
	}
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
