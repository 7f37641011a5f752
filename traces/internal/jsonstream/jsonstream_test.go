package jsonstream

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"heddle/traces/mend"
)

type object struct {
	N     int64
	Text  string
	Texts []string
	Inner *object
}

func (o *object) read(r *Reader) error {
	*o = object{}
	return r.Object(func(key []byte) error {
		switch string(key) {
		case "n":
			n, ok, err := r.Int()
			if ok {
				o.N = n
			}
			return err
		case "text":
			return r.String(&o.Text)
		case "texts":
			return r.List(func() error {
				text, _, err := r.Text()
				o.Texts = append(o.Texts, string(text))
				return err
			})
		case "inner":
			o.Inner = &object{}
			return o.Inner.read(r)
		}
		return r.Skip()
	})
}

// readAll reads the objects of a file.
func readAll(in io.Reader, log *mend.Log) (all []object, err error) {
	r := New(in, log)
	for {
		var o object
		err := r.Next(func() error { return o.read(r) })
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, o)
	}
}

// TestNext: objects are found however a file has them, and behind damage.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  []int64
		mends []mend.Kind
		place string // of the first mend
	}{
		{"", nil, nil, ""},
		{" \n", nil, nil, ""},
		{`{"n":1}{"n":2}`, []int64{1, 2}, nil, ""},
		{"[{\"n\":1},\n {\"n\":2}]\n[{\"n\":3}]{\"n\":4}[]", []int64{1, 2, 3, 4}, nil, ""},
		{"{\"n\":1},\n{\"n\":2}", []int64{1, 2}, nil, ""},
		{"{\"n\":1}\n{\"n\":oops,\n \"text\":[{}]}\n{\"n\":3}\n", []int64{1, 3}, []mend.Kind{Damaged}, "byte 13"},
		{"[{\"n\":1},\n{\"n\":!},\n{\"n\":3},\n{\"n\":4}]\n{\"n\":5}", []int64{1, 3, 4, 5}, []mend.Kind{Damaged}, "byte 15"},
		{"{\"n\":1}\n{\"n\":", []int64{1}, []mend.Kind{CutOff}, "byte 13"},
		{"[{\"n\":1}", []int64{1}, []mend.Kind{CutOff}, "byte 8"},
		{"{\"n\":1,\n{\"n\":2}\n{\"n\":3}", []int64{2, 3}, []mend.Kind{Damaged}, "byte 8"},
		{"[{\"n\":1}{\"n\":2}]\n{\"n\":3}", []int64{1, 3}, []mend.Kind{Damaged}, "byte 8"},
		{"[{\"n\":1},]\n{\"n\":3}", []int64{1, 3}, []mend.Kind{Damaged}, "byte 8"},
		{"{\"n\":1,}\n{\"n\":3}", []int64{3}, []mend.Kind{Damaged}, "byte 6"},
		{"5\n{\"n\":1}", []int64{1}, []mend.Kind{Damaged}, "byte 0"},
		{"text\n{\"n\":1}", []int64{1}, []mend.Kind{Damaged}, "byte 0"},
		{`{"inner":{"n":7},"n":1,"text":[2]}`, []int64{1}, []mend.Kind{WrongType}, "byte 33"},
		{`{"inner":[],"texts":{},"n":1}`, []int64{1}, []mend.Kind{WrongType}, "byte 11"},
		{`{"x":` + strings.Repeat("[", 20000), nil, []mend.Kind{Damaged}, "byte 10004"},
	} {
		for _, slow := range []bool{false, true} {
			in := io.Reader(strings.NewReader(c.text))
			if slow {
				in = iotest.OneByteReader(in)
			}
			log := &mend.Log{File: "f"}
			all, err := readAll(in, log)
			var got []int64
			for _, o := range all {
				got = append(got, o.N)
			}
			var kinds []string
			for _, k := range c.mends {
				kinds = append(kinds, k.String())
			}
			if err != nil || !slices.Equal(got, c.want) || !slices.Equal(slices.Sorted(maps.Keys(log.Counts())), kinds) {
				t.Errorf("%.60q: %v, mended %v, %v; want %v, %v", c.text, got, log.Counts(), err, c.want, kinds)
			}
			if len(kinds) > 0 && !strings.HasPrefix(log.First(kinds[0]), "f: "+c.place+": ") {
				t.Errorf("%.60q: mended at %q, want %q", c.text, log.First(kinds[0]), c.place)
			}
			if _, err := readAll(strings.NewReader(c.text), &mend.Log{Strict: true}); (err != nil) != (len(kinds) > 0) {
				t.Errorf("%.60q, strict: %v", c.text, err)
			}
			if _, err := readAll(strings.NewReader(c.text), nil); (err != nil) != (len(kinds) > 0) || err != nil &&
				!strings.Contains(err.Error(), "byte ") {
				t.Errorf("%.60q, without a log: %v", c.text, err)
			}
		}
	}
}

// TestReadError: an error of the file is no damage, and ends the reading.
func TestReadError(t *testing.T) {
	broken := errors.New("broken disk")
	for _, text := range []string{"", `{"n":1}`, `{"n":`, "x"} {
		in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
		if _, err := readAll(in, &mend.Log{}); !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestInt(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-1": "-1", "9223372036854775807": "9223372036854775807", "-9223372036854775808": "-9223372036854775808",
		"1e3": "1000", "5.0": "5", `"17"`: "17", `"1\u0037"`: "17", "null": "none",
		"9223372036854775808": "wrong", "5.5": "6", `"x"`: "wrong", "[1]": "wrong", "true": "wrong", "1e400": "wrong",
	} {
		log := &mend.Log{}
		all, err := readAll(strings.NewReader(`{"n": `+text+`,"inner":{"n":3}}`), log)
		if err != nil || len(all) != 1 || all[0].Inner.N != 3 {
			t.Errorf("%s: %v, %v", text, all, err)
			continue
		}
		got := fmt.Sprint(all[0].N)
		switch {
		case log.Counts() != nil:
			got = "wrong"
		case text == "null":
			got = "none"
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestHasKey(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":1,"b":`: true, `[{"x":{"b":1}},{"b`: false, `[{"x":{"b":1}},{"b":1}]`: true, `{"x":["b"],"y":"b"}`: false, "b": false, "": false,
		`{"\u0062":1}`: true,
	} {
		if got := HasKey([]byte(text), "b", "c"); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// FuzzReader: whatever a file has, it is read, and parts of any length give the same.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		`{"n":1,"text":"c\u00e9","texts":["a","b"],"inner":{"n":-3}}`, "[{\"n\":-15e2},\n{\"text\":true}]", "{}\n{}", `{"text":"\ud83d\ude00"}`,
		"{\"n\":!}\n{\"n\":2}",
		`{"x":[-0,1.5E+3,tru]}`, "{\"x\":\"a\tb\"}", `{"n":1,}`, "{\"a\":[{},[null,false]],        \"n\": 7}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		log := &mend.Log{}
		got, err := readAll(strings.NewReader(string(data)), log)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		inParts := &mend.Log{}
		if again, err := readAll(iotest.OneByteReader(strings.NewReader(string(data))), inParts); err != nil || !reflect.DeepEqual(again, got) ||
			unquoted(inParts) != unquoted(log) {
			t.Fatalf("%q: %+v, mended %v, %v; byte by byte %+v, mended %v", data, got, log, err, again, inParts)
		}
	})
}

func unquoted(log *mend.Log) string {
	return regexp.MustCompile(`(?s)(byte \d+): .*`).ReplaceAllString(fmt.Sprintf("%+v", log), "$1")
}
