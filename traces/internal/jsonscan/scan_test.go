package jsonscan

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// tree reads the value at hand as encoding/json's Decoder with UseNumber would.
func tree(s *Scanner) any {
	switch s.peek() {
	case '{':
		s.Object()
		out := map[string]any{}
		for first := true; s.More(&first, '}'); {
			key := string(s.Key())
			out[key] = tree(s)
		}
		return out
	case '[':
		s.Array()
		out := []any{}
		for first := true; s.More(&first, ']'); {
			out = append(out, tree(s))
		}
		return out
	case '"':
		text, _ := s.String()
		return string(text)
	}
	return string(s.Raw())
}

func anyValue() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		leaf := rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Int64(), func(n int64) any { return n }),
			rapid.Just(any(nil)), rapid.Just(any(true)),
		)
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 3).Draw(t, "shape"); {
			case depth == 4 || n < 2:
				return leaf.Draw(t, "leaf")
			case n == 2:
				list := []any{}
				for range rapid.IntRange(0, 4).Draw(t, "elements") {
					list = append(list, value(depth+1))
				}
				return list
			}
			object := map[string]any{}
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				object[rapid.String().Draw(t, "key")] = value(depth + 1)
			}
			return object
		}
		return map[string]any{"v": value(0)}
	})
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// TestAgainstEncodingJSON reads values however they are laid out, and however
// few bytes come at a time, as encoding/json does.
func TestAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue().Draw(t, "value")
		text := mustJSON(v)
		if rapid.Bool().Draw(t, "indented") {
			text, _ = json.MarshalIndent(v, "", strings.Repeat(" ", rapid.IntRange(0, 12).Draw(t, "indent")))
		}
		in := io.Reader(strings.NewReader(string(text)))
		if rapid.Bool().Draw(t, "slow") {
			in = iotest.OneByteReader(in)
		}
		s := NewScanner(in)
		if !s.Value() {
			t.Fatalf("no value: %v", s.Err())
		}
		got := tree(s)
		if s.Value() || s.Err() != nil {
			t.Fatalf("%q: %v", text, s.Err())
		}
		if string(mustJSON(got)) != string(mustJSON(rawLeaves(v))) {
			t.Fatalf("%q read as %s", text, mustJSON(got))
		}
	})
}

// rawLeaves is v with numbers and literals as texts, as tree has them.
func rawLeaves(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, m := range v {
			out[k] = rawLeaves(m)
		}
		return out
	case []any:
		out := []any{}
		for _, m := range v {
			out = append(out, rawLeaves(m))
		}
		return out
	case string:
		return v
	}
	return string(mustJSON(v))
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a":1`, "byte 6: the file ends"},
		{`{"a" 1}`, `byte 5: found '1' where a colon`},
		{`{"a":1 "b":2}`, `byte 7: found '"' where a comma`},
		{`{"a":tru}`, `where true`},
		{`{"a":"` + "\x01" + `"}`, `where a text's next letter`},
		{`[{"a":1}`, "the list's end"},
		{`5`, `where an object`},
		{`{"a":` + strings.Repeat("[", 600), "nested too deeply"},
	} {
		s := NewScanner(strings.NewReader(c.text))
		for s.Value() {
			s.Skip()
		}
		if s.Err() == nil || !strings.Contains(s.Err().Error(), c.want) {
			t.Errorf("%.40q: error %v, want %q in it", c.text, s.Err(), c.want)
		}
	}
}

func TestResync(t *testing.T) {
	s := NewScanner(strings.NewReader("{\"a\":1}\n{\"a\":oops,\n \"b\":[{}]}\n{\"a\":3}\n{\"a\":"))
	var got []int64
	errs := 0
	for {
		for s.Value() {
			s.Object()
			for first := true; s.More(&first, '}'); {
				s.Key()
				if n, ok := s.Int(); ok {
					got = append(got, n)
				}
			}
		}
		var syntax *SyntaxError
		if !errors.As(s.Err(), &syntax) {
			break
		}
		errs++
		s.Resync()
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 3 || errs != 2 {
		t.Errorf("read %v with %d errors, want 1 and 3 with 2", got, errs)
	}
}

func TestInt(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int64
		ok   bool
	}{
		{"0", 0, true},
		{"-1", -1, true},
		{"9223372036854775807", 1<<63 - 1, true},
		{"-9223372036854775808", -1 << 63, true},
		{"9223372036854775808", 0, false},
		{"1e3", 1000, true},
		{"5.0", 5, true},
		{"5.5", 0, false},
		{`"17"`, 17, true},
		{`"x"`, 0, false},
		{"null", 0, false},
		{"[1]", 0, false},
		{"1e400", 0, false},
	} {
		s := NewScanner(strings.NewReader(`{"a": ` + c.text + `}`))
		wrong := 0
		s.Wrong = func(int64, string) error { wrong++; return nil }
		s.Value()
		s.Object()
		first := true
		s.More(&first, '}')
		s.Key()
		n, ok := s.Int()
		if n != c.n || ok != c.ok || s.Err() != nil || !ok && c.text != "null" && wrong != 1 {
			t.Errorf("%s is %d %v (told wrong %d times, error %v), want %d %v", c.text, n, ok, wrong, s.Err(), c.n, c.ok)
		}
	}
}

// FuzzScanner: what encoding/json takes, the scanner takes; nothing panics.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{`{"a":[1,2,{"b":"c\u00e9"}],"d":null}`, `[{"x":-1.5e3},{"y":true}]`, "{}\n{}", `{"a":"\ud83d\ude00"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewScanner(iotest.HalfReader(strings.NewReader(string(data))))
		n := 0
		for s.Value() {
			tree(s)
			n++
		}
		deep := s.Err() != nil && strings.Contains(s.Err().Error(), "deeply")
		if len(data) > 0 && data[0] == '{' && json.Valid(data) && !deep && (s.Err() != nil || n != 1) {
			t.Fatalf("%q: %d values, error %v", data, n, s.Err())
		}
	})
}
