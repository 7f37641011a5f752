package yarn

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/traces/errtest"
)

func TestConfIsReadAsWritten(t *testing.T) {
	text := rapid.String().Filter(func(s string) bool { return utf8.ValidString(s) && strings.IndexFunc(s, notXML) < 0 })
	rapid.Check(t, func(t *rapid.T) {
		want := Conf(rapid.MapOfN(text.Filter(func(s string) bool { return s != "" && s == strings.TrimSpace(s) }), text, 1, 9).Draw(t, "conf"))
		file := errtest.Must(want.XML())
		got := errtest.Must(ParseConf(bytes.NewReader(file)))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("(-written +read):\n%s", d)
		}
	})
}

func TestConfRefusesWhatXMLCannotHave(t *testing.T) {
	for _, conf := range []Conf{{"a": "\x00"}, {"a": "\xff"}, {"\x1b": "b"}, {"a": "\uffff"}} {
		if file, err := conf.XML(); err == nil || !strings.Contains(err.Error(), "XML cannot have") {
			t.Errorf("%q written as %q, error %v", conf, file, err)
		}
	}
}

func TestNoProperty(t *testing.T) {
	errtest.Is(t, errtest.Of(ParseConf(strings.NewReader("<configuration></configuration>"))), ErrNoProperty)
}

func TestExpand(t *testing.T) {
	conf := Conf{"a": "1", "b": "${a}2", "loop": "${loop}", "x.y": "z"}
	for value, want := range map[string]string{
		"plain": "plain", "${a}": "1", "${b}${b}": "1212", "/${x.y}/$PWD": "/z/$PWD",
		"${none}": "${none}", "${none}${a}": "${none}1", "${a": "${a", "${loop}": "${loop}", "": "",
	} {
		if got := conf.Expand(value); got != want {
			t.Errorf("%s expands to %q, want %q", value, got, want)
		}
	}
}
