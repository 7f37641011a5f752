// Package printable makes text that comes from outside safe for a terminal: names in
// traces, messages of servers, results in run folders. A terminal would obey control
// characters in them, and a newline would let a name look like a line of heddle's own.
//
// The escapes are those of JSON, such as \u001b, so that JSON keeps its meaning.
package printable

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text escapes control characters, except line feeds and tabs, characters that change
// the direction of text, and invalid UTF-8.
func Text(s string) string { return escape(s, mustEscape) }

// Line is like Text, but also escapes line feeds and tabs. It is for a name or a
// message within a line or a cell of a table.
func Line(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || r == '\t' || mustEscape(r) })
}

// OneLine returns a message of several lines as one, with "; " between them: an error that
// joins others, or what a server says with a line for each place in its code. Line would
// show the line feeds as escapes.
func OneLine(s string) string {
	var list []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return strings.Join(list, "; ")
}

// Cell puts a quote before a text that a spreadsheet would take for a formula when it reads
// CSV: names come from servers, traces and other users. A number or a single sign is none.
func Cell(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if len(text) == size || !strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}

// Fprintf is like fmt.Fprintf, and takes each text among the arguments, and the text
// of each error and fmt.Stringer, through Line. The format itself may have line feeds
// and tabs.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, lines(args)...)
}

// Sprintf is like fmt.Sprintf, with the arguments escaped as Fprintf does.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, lines(args)...) }

// Fprintln is like fmt.Fprintln, with the arguments escaped as Fprintf does.
func Fprintln(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, lines(args)...) }

func lines(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch x := a.(type) {
		case error:
			out[i] = Line(x.Error())
		case fmt.Stringer:
			out[i] = Line(x.String())
		default:
			out[i] = a
			if v := reflect.ValueOf(a); v.Kind() == reflect.String {
				out[i] = Line(v.String())
			}
		}
	}
	return out
}

func escape(s string, must func(rune) bool) string {
	if strings.IndexFunc(s, must) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !must(r):
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

// Count returns a number with what it counts, in English: "1 job", "2 jobs", "2 properties".
func Count[N int | int32 | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if end := what[max(0, len(what)-2):]; strings.HasSuffix(end, "y") && !strings.ContainsAny(end, "aeo") {
		return fmt.Sprintf("%d %sies", n, what[:len(what)-1])
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// LastLines returns the last n lines of a log, to be shown in an error message.
func LastLines(log []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// First returns the first names of a list, and how many others there are: "a, b and 3 more".
func First(most int, names []string) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// ShellWord returns a text as one word of a shell command.
func ShellWord(s string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r))
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
