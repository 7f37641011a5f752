package members

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestSplit: members that were put together come apart the same, and make a
// valid object.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "members")
		var text []byte
		for key, value := range want {
			text = AppendString(text, key, value)
		}
		got := map[string]string{}
		for _, m := range Split(string(text)) {
			var key, value string
			if json.Unmarshal([]byte(m.Key), &key) != nil || json.Unmarshal([]byte(m.Value), &value) != nil {
				t.Fatalf("%q: member %+v", text, m)
			}
			got[key] = value
		}
		// Bytes that are no UTF-8 are replaced; rapid draws none.
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
		o := Begin(nil, string(text))
		if object := o.End(); !json.Valid(object) {
			t.Fatalf("not JSON: %s", object)
		}
	})
}

func TestObject(t *testing.T) {
	o := Begin(nil, `"a":1,"b":null,"c":[1,{"d":"x,\"y"}],broken,"e":`)
	o.Int("a", 9)
	o.Int("b", 9)
	o.Int("e", 5)
	o.Text("f", "")
	if got, want := string(o.End()), `{"a":1,"c":[1,{"d":"x,\"y"}],"e":5,"f":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAppendRaw(t *testing.T) {
	for raw, want := range map[string]string{
		"null": "", "-1": "", "[ ]": "", "{ }": "", "0": `"k":0`, `[ 1 , "a b" ]`: `"k":[1,"a b"]`, `{ "x" : "\" }" }`: `"k":{"x":"\" }"}`,
	} {
		if got := string(AppendRaw(nil, "k", []byte(raw))); got != want {
			t.Errorf("%s makes %s, want %s", raw, got, want)
		}
	}
}
