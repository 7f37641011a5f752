package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"heddle/harness/option"
)

// unseen are the broken files that a schema accepts, each with the reason.
var unseen = map[string]string{
	"cluster-address.yaml":             "addresses",
	"cluster-namenode.yaml":            "addresses",
	"cluster-cgroup.yaml":              "a path that leaves its folder",
	"cluster-names.yaml":               "characters of a name",
	"cluster-fault-commands.yaml":      "one key needs another",
	"cluster-racks.yaml":               "two keys depend on each other",
	"experiment-capacity-two.yaml":     "two keys depend on each other",
	"experiment-capacity-none.yaml":    "one key needs another",
	"experiment-capacity-tells.yaml":   "one key needs another",
	"experiment-capacity-untold.yaml":  "two keys depend on each other",
	"experiment-cache-policy.yaml":     "two keys depend on each other",
	"experiment-fault-where.yaml":      "two keys depend on each other",
	"experiment-model-label.yaml":      "characters of a name",
	"experiment-external.yaml":         "one key needs another",
	"experiment-external-keeps.yaml":   "a key depends on another's value",
	"experiment-grid-many.yaml":        "a product of several lists",
	"experiment-grid-params.yaml":      "two elements of a list",
	"experiment-model-effect.yaml":     "two keys depend on each other",
	"experiment-model-params.yaml":     "a key depends on another's value",
	"experiment-model-recorded.yaml":   "a word that labels may not be",
	"experiment-model-twice.yaml":      "two elements of a list",
	"experiment-slots.yaml":            "two keys depend on each other",
	"experiment-sampling.yaml":         "the length of a duration",
	"experiment-zero.yaml":             "a key depends on another's value",
	"experiment-thresholds-units.yaml": "the units of metrics",
	"experiment-trials-many.yaml":      "a product of several keys",
	"experiment-workload-setting.yaml": "the names of settings",
	"experiment-workload-twice.yaml":   "two elements of a list",
}

// TestSchemas: the schemas accept every example, and refuse every broken file
// that is YAML, but for what a schema cannot see.
func TestSchemas(t *testing.T) {
	schemas := map[bool]*jsonschema.Schema{true: compiled(t, ClusterSchema()), false: compiled(t, ExperimentSchema())}
	files, err := filepath.Glob("testdata/*.yaml")
	broken, berr := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || berr != nil || len(files) == 0 || len(broken) == 0 {
		t.Fatalf("no files to test with: %v, %v", err, berr)
	}
	for _, file := range append(files, broken...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		var content any
		if yaml.Unmarshal(data, &content) != nil || content == nil {
			continue // an editor says itself that it is no YAML
		}
		cluster := strings.HasPrefix(name, "cluster") || name == "physical.yaml" || name == "slowdisks.yaml"
		err = schemas[cluster].Validate(plain(t, content))
		_, accepts := unseen[name]
		accepts = accepts || !slices.Contains(broken, file)
		if (err == nil) != accepts {
			t.Errorf("%s: the schema accepts it: %v, want %v: %v", file, err == nil, accepts, err)
		}
	}
	for name := range unseen {
		if !slices.Contains(broken, filepath.Join("testdata/broken", name)) {
			t.Errorf("unseen has %s, which is no broken file", name)
		}
	}
}

// TestSchemaKeys: every key that a file may have is described.
func TestSchemaKeys(t *testing.T) {
	for _, of := range []any{Experiment{}, Cluster{}} {
		for path, tag := range tagsOf(reflect.TypeOf(of), "") {
			if tag.Get("text") == "" && tag.Get("yaml") != "-" {
				t.Errorf("%T: key %s has no description", of, path)
			}
		}
	}
}

// The bounds and values of a schema are those that reading goes by: beyond them
// both refuse, at them both accept.
func TestSchemaBounds(t *testing.T) {
	schema := compiled(t, ExperimentSchema())
	for _, f := range keysOf(reflect.TypeFor[Experiment]()) {
		tag := f.Tag
		key, _, _ := strings.Cut(tag.Get("yaml"), ",")
		if strings.Contains(key, "seed") {
			continue // of keys further down, the broken files are the test
		}
		if strings.HasSuffix(key, "Slots") {
			continue // slots of one kind need slots of the other, and labels
		}
		if least, most, ok := option.Bounds(f.Type, tag); ok {
			for value, want := range map[float64]bool{least: true, most: true, least - 1: false, most + 1: false} {
				both(t, schema, key, value, want)
			}
		}
		for _, value := range valuesOf(tag) {
			both(t, schema, key, value, true)
		}
		if valuesOf(tag) != nil {
			both(t, schema, key, "nonsense", false)
		}
	}
}

// both reads an experiment with a key by the schema and by ParseExperiment.
func both(t *testing.T, schema *jsonschema.Schema, key string, value any, want bool) {
	t.Helper()
	data := must(json.Marshal(map[string]any{"workloads": []any{map[string]any{"name": "sort", "profile": "tiny"}}, key: value}))
	content := must(jsonschema.UnmarshalJSON(bytes.NewReader(data)))
	_, read := ParseExperiment("e.yaml", data) // JSON is YAML
	if seen := schema.Validate(content); (read == nil) != want || (seen == nil) != want {
		t.Errorf("%s: %v: accepted %v when read, %v by the schema; want %v\n%v", key, value, read == nil, seen == nil, want, read)
	}
}

func compiled(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	content := must(jsonschema.UnmarshalJSON(bytes.NewReader(schema)))
	c := jsonschema.NewCompiler()
	mustDo(t, c.AddResource("heddle.json", content))
	s := must(c.Compile("heddle.json"))
	return s
}

// plain turns what YAML gives into what JSON gives.
func plain(t *testing.T, content any) any {
	t.Helper()
	data := must(json.Marshal(content))
	content = must(jsonschema.UnmarshalJSON(bytes.NewReader(data)))
	return content
}

// tagsOf returns the tags of the keys that decode knows for a type, by their paths.
func tagsOf(t reflect.Type, path string) map[string]reflect.StructTag {
	found := map[string]reflect.StructTag{}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return found
	}
	for _, f := range keysOf(t) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue // Threshold's, which is one text in a file
		}
		found[join(path, name)] = f.Tag
		maps.Copy(found, tagsOf(f.Type, join(path, name)))
	}
	return found
}
