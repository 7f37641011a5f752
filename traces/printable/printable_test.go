package printable

import (
	"errors"
	"strings"
	"testing"
	"time"
)

type name string

// TestFprintf escapes what arguments say, and nothing of the format.
func TestFprintf(t *testing.T) {
	var b strings.Builder
	Fprintf(&b, "%s\t%s\n%v %v %d %.1f %v\n", "a\nheddle: forged\tcell", name("\x1b[2J"), errors.New("x\ny"), time.Second, 3, 0.5,
		[]string{"a"})
	Fprintln(&b, "warning:", "a\nb\xff\u202e")
	want := `a\u000aheddle: forged\u0009cell` + "\t" + `\u001b[2J` + "\n" + `x\u000ay 1s 3 0.5 [a]` + "\n" + `warning: a\u000ab\xff\u202e` +
		"\n"
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one": "one", "no node\n\tat org.apache.X\n\n\tat Y\n": "no node; at org.apache.X; at Y",
		"a\r\nb": "a; b",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 jobs", 1: "1 job", 2: "2 jobs", -1: "-1 jobs"} {
		if got := Count(n, "job"); got != want {
			t.Errorf("Count(%d): %s, want %s", n, got, want)
		}
	}
	if got := Count(2, "property") + ", " + Count(2, "day"); got != "2 properties, 2 days" {
		t.Error(got)
	}
}

func TestFirst(t *testing.T) {
	for most, want := range map[int]string{1: "a and 2 more", 2: "a, b and 1 more", 3: "a, b, c", 4: "a, b, c"} {
		if got := First(most, []string{"a", "b", "c"}); got != want {
			t.Errorf("the first %d are %q, want %q", most, got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"runs/a-1_b.trace": "runs/a-1_b.trace", "NAME=a:1,2@c+d%": "NAME=a:1,2@c+d%",
		"": "''", "a b": "'a b'", "$(id)": "'$(id)'", "it's": `'it'\''s'`, "ü": "'ü'",
	} {
		if got := ShellWord(text); got != want {
			t.Errorf("%q is the word %s, want %s", text, got, want)
		}
	}
}
