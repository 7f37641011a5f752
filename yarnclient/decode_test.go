package yarnclient

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
)

// sample has every kind of target that the answers use.
type sample struct {
	Text   string   `wire:"text" json:"text"`
	Count  int64    `wire:"count" json:"count"`
	Small  int      `wire:"small" json:"small"`
	Ratio  float64  `wire:"ratio" json:"ratio"`
	Flag   bool     `wire:"flag" json:"flag"`
	Names  []string `wire:"names" json:"names"`
	Inner  inner    `wire:"inner" json:"inner"`
	Inners []inner  `wire:"inners" json:"inners"`
	Deep   int      `wire:"a>b" json:"-"`
	Deeper []inner  `wire:"a>c>d" json:"-"`
}

type inner struct {
	Name string `wire:"name" json:"name"`
	N    int    `wire:"n" json:"n"`
}

func TestDecodeDialects(t *testing.T) {
	want := sample{
		Text: "x", Count: 7, Ratio: 0.5, Flag: true, Names: []string{"a"}, Inners: []inner{{"i", 1}}, Deep: 3,
		Deeper: []inner{{"d", 0}},
	}
	for name, text := range map[string]string{
		"natural":     `{"root":{"text":"x","count":7,"ratio":0.5,"flag":true,"names":["a"],"inners":[{"name":"i","n":1}],"a":{"b":3,"c":{"d":[{"name":"d"}]}}}}`,
		"mapped":      `{"text":"x","count":"7","ratio":"0.5","flag":"true","names":"a","inners":{"name":"i","n":"1"},"a":{"b":"3","c":{"d":{"name":"d"}}}}`,
		"empties":     `{"root":{"text":"x","count":7,"small":null,"ratio":0.5,"flag":true,"names":["a"],"inner":null,"inners":[{"name":"i","n":1}],"a":{"b":3,"c":[{"d":{"name":"d"}},{"d":""}]}}}`,
		"key by key":  `{"root":{"text":"x","count":7,"ratio":0.5,"flag":true,"names":[],"names":"a","inners":{"name":"i","n":1},"inners":{},"a":{"b":3},"a":{"c":{"d":[{"name":"d"}]}}}}`,
		"XML":         `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><root><text>x</text><count>7</count><ratio>0.5</ratio><flag>true</flag><names>a</names><inners><name>i</name><n>1</n></inners><a><b>3</b><c><d><name>d</name></d></c></a></root>`,
		"indented":    "\n<root>\n <text>x</text> <count> 7 </count><small/><ratio>0.5</ratio><flag>true</flag><names>a</names>\n<inners><name>i</name><n>1</n></inners><a><b>3</b><c><d><name>d</name></d></c></a></root>\n",
		"whole float": `{"root":{"text":"x","count":7.0,"small":"","ratio":5e-1,"flag":true,"names":["a"],"inners":[{"name":"i","n":1e0}],"a":{"b":3,"c":{"d":[{"name":"d"}]}}}}`,
		"bare":        `{"root":{"more":-INF,"small":NaN,"inners":[{"name":"i","n":1}],"text":"x","count":7,"ratio":0.5,"flag":true,"names":["a"],"a":{"b":3,"c":{"d":[{"name":"d"},NaN]}},"last":Infinity}}`,
		"bare text":   `{"root":{"more":"\\\"NaN","last":NaN,"text":"x","count":7,"ratio":0.5,"flag":true,"names":["a"],"inners":[{"name":"i","n":1}],"a":{"b":3,"c":{"d":[{"name":"d"}]}}}}`,
		"skipped":     `{"root":{"more":{"x":[1,{"y":"}]\""}]},"text":"x","count":7,"ratio":0.5,"flag":true,"names":["a"],"inners":[{"name":"i","n":1}],"a":{"b":3,"c":{"d":[{"name":"d"}]}},"last":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var got sample
			errtest.None(t, decode([]byte(text), &got, "root"))
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeEmptyLists(t *testing.T) {
	for _, text := range []string{
		`{"nodes":{}}`, `{"nodes":null}`, `{"nodes":{"node":[]}}`, `{"nodes":{"node":null}}`, `{"nodes":""}`, `{}`, `null`, `""`,
		`<nodes/>`, `<nodes></nodes>`, `<nodes><node/></nodes>`, `<?xml version="1.0"?> <!-- none --> <nodes> </nodes>`,
	} {
		var got []inner
		if err := decode([]byte(text), &got, "nodes", "node"); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v; want an empty list", text, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "cut off",
		`{"root":{"text":"x"`:       "cut off",
		`{"root":{"text":"x`:        "cut off",
		`{"root":{"more":[1,2`:      "cut off",
		`{"foo":1}`:                 `no "root"`,
		`{"root":{"count":"many"}}`: "whole number expected",
		`{"root":{"count":1.5}}`:    "whole number expected",
		`{"root":{"count":99999999999999999999}}`: "whole number expected",
		`{"root":{"count":{"x":1}}}`:              "found an object",
		`{"root":{"flag":"perhaps"}}`:             "bool expected",
		`{"root":{"ratio":"much"}}`:               "number expected",
		`{"root":{"inner":"text"}}`:               "object expected",
		`{"root":{"inner":[{"n":1},{"n":2}]}}`:    "several values of inner",
		`{"root":{"text":["a","b"]}}`:             "several values",
		`{"root":{"names":[["a"]]}}`:              "list in a list",
		`{"root":{}} and more`:                    "text after the end",
		`{"root":{"text":"\u12"}}`:                "invalid escape",
		`<root><text>x</root>`:                    "XML",
		`<root><text>x</text>`:                    "XML",
		`<root><text>&nope;</text></root>`:        "XML",
		`There is no active RM right now.`:        "object expected",
	} {
		var got sample
		if err := decode([]byte(text), &got, "root"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	deep := strings.Repeat(`{"a":`, 100000)
	var got sample
	if err := decode([]byte(`{"root":`+deep), &got, "root"); err == nil {
		t.Error("endless nesting was accepted")
	}
	if err := decode([]byte(strings.Repeat("<a>", 100000)), &got, "root"); err == nil {
		t.Error("endless XML nesting was accepted")
	}
}

// FuzzDecode: no input panics, and what encoding/json can read into the same
// struct decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"text":"x\u00e9\n","count":7,"small":-1,"ratio":1e-3,"flag":true,"names":["a","b"],"inner":{"name":"i","n":1},"inners":[{"n":2},{}]}`,
		`{"root":{"a":{"b":"3"}}}`, `<root><a><b>3</b></a></root>`, `null`, `[]`, `{"names":"a"}`, `{"count":"0" }}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got sample
		err := decode(data, &got)
		var want sample
		if strings.Contains(string(data), `\u0000`) || json.Unmarshal(data, &want) != nil || !strict(data) {
			return
		}
		if err != nil {
			t.Fatalf("encoding/json reads it, we do not: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, encoding/json %+v", got, want)
		}
	})
}

// strict says whether encoding/json and decode promise the same: one object in
// which no name occurs twice or in other case, and no list holds an empty
// element, which decode leaves out.
func strict(data []byte) bool {
	text := string(data)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || strings.Contains(text, "null") || strings.Contains(text, `""`) {
		return false
	}
	compact := strings.Join(strings.Fields(text), "")
	if strings.Contains(compact, "{}") || strings.Contains(compact, "[]") || strings.Contains(text, `\`) ||
		text != strings.ToValidUTF8(text, "") {
		return false
	}
	for _, name := range []string{"text", "count", "small", "ratio", "flag", "names", "inner", "inners", "name", "n", "a"} {
		if strings.Count(strings.ToLower(text), `"`+name+`"`) > 1 || strings.Contains(strings.ToLower(text), `"`+name+`"`) &&
			!strings.Contains(text, `"`+name+`"`) {
			return false
		}
	}
	return !strings.Contains(text, `"a"`) && strings.ToLower(text) == text && len(data) < 1<<16
}

// FuzzAnswers feeds the recorded answers, damaged, to the targets of all calls.
func FuzzAnswers(f *testing.F) {
	files := must(filepath.Glob("testdata/*/*.??*"))
	for _, path := range files {
		if b, err := os.ReadFile(path); err == nil && len(b) < 10000 && !strings.HasSuffix(path, ".golden") && !strings.HasSuffix(path, ".gz") {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{
			new([]Node), new([]App), new([]Container), new([]NodeLabel), new(wireQueue), new(Job), new([]TaskAttempt),
			new([]property), new(ClusterInfo),
		} {
			_ = decode(data, v, "nodes", "node")
			_ = decode(data, v, "job")
		}
		_, _ = refusal(404, data, "", "ResourceManager")
		_ = firstWords(data)
	})
}
