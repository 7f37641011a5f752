package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"heddle/harness/measure"
	"heddle/harness/nearest"
)

// Limits on the size of a cluster or experiment file. They are far above what a
// person or an inventory writes: a cluster of 3,000 nodes with long names takes
// 600 KB.
const (
	maxFileBytes = 1 << 20
	// maxDepth is how deep mappings and lists in a file may be nested. An
	// experiment needs four levels.
	maxDepth = 20
	// maxProblems is how many problems of a file are shown. Further ones are
	// only counted.
	maxProblems = 20
	// maxSourceRunes is how many characters of a wrong line are shown.
	// maxTextRunes is how many characters of a message, which may quote the
	// file, are shown.
	maxSourceRunes = 160
	maxTextRunes   = 600
)

// read returns the content of a file that a user named. The file may be a pipe,
// whose length is unknown, so read stops after maxFileBytes. The argument what
// is the kind of file for error messages, such as "experiment".
func read(what, file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read %s file: %w", what, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s file: %w", what, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read %s file %s: it is longer than %d bytes, the most for such a file; is it the right one?", what, file,
			maxFileBytes)
	}
	return data, nil
}

// decode reads YAML into the struct to which v points, which already contains
// the defaults. Then it calls validate. All problems are returned together,
// each with its line and column. The YAML library only parses the text. Its own
// decoder is not used, since it does not say where a value was refused, and
// turns the text 1.0 into 1.
func decode(file string, data []byte, v any, validate func() problems) error {
	d := decoder{
		lines: strings.Split(lineEnds.Replace(string(data)), "\n"),
		at:    map[string]position{}, sources: map[int]string{}, places: map[string]string{},
	}
	if body := d.parse(data); body != nil {
		d.value(body, reflect.ValueOf(v).Elem(), "")
	}
	// Check the values only if all could be read. Otherwise validate would
	// report as missing what is there and could not be read.
	if len(d.problems) == 0 {
		for _, p := range d.byLine(validate()) {
			d.add(p)
		}
	}
	if d.untold > 0 {
		d.problems.addf("", "and %d more problems", d.untold)
	}
	return d.problems.err(file)
}

// lineEnds replaces every line end that YAML allows by \n, so that lines are
// counted as YAML does.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// position is a line and a column in a file, both counted from 1.
type position struct{ line, column int }

func positionOf(n *yaml.Node) position { return position{n.Line, n.Column} }

// decoder copies the values of a parsed YAML file into a struct and collects
// problems.
type decoder struct {
	lines    []string
	at       map[string]position // place of each value in the file; the key is its path, such as "workloads[1].size"
	sources  map[int]string      // text of each line as messages show it; the key is the line number
	places   map[string]string   // what messages call an element of a list that has grids; the key is its path
	problems problems
	untold   int // number of problems that are not shown because there are more than maxProblems
}

// parse returns the YAML document in a file. If the file does not have exactly
// one document, it reports a problem and returns nil.
func (d *decoder) parse(data []byte) (body *yaml.Node) {
	defer func() {
		if r := recover(); r != nil { // the YAML library may panic: report that as a problem of the file
			body = nil
			d.report(position{}, "", "not valid YAML: %v", r)
		}
	}()
	limits := loaderlimits.New(loaderlimits.DepthFunc(func(depth int, _ *loaderlimits.DepthContext) error {
		if depth > maxDepth {
			return fmt.Errorf("nested more than %d levels deep", maxDepth)
		}
		return nil
	}))
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithV4Defaults(), yaml.WithPlugin(limits))
	if err != nil {
		d.refused(err)
		return nil
	}
	var first, second yaml.Node
	if err := loader.Load(&first); errors.Is(err, io.EOF) || err == nil && isNull(content(&first)) {
		d.report(position{}, "", "the file is empty")
		return nil
	} else if err != nil {
		d.refused(err)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		d.report(positionOf(content(&second)), "", "a second YAML document; want one per file")
		return nil
	} else if !errors.Is(err, io.EOF) {
		d.refused(err)
		return nil
	}
	return content(&first)
}

// content returns the outermost value of a YAML document, usually a mapping.
func content(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		return n.Content[0]
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// refused adds a problem for an error of the YAML parser.
func (d *decoder) refused(err error) {
	var located *yaml.LoadError
	if !errors.As(err, &located) {
		d.report(position{}, "", "not valid YAML: %s", blot(err.Error()))
		return
	}
	text := located.Message
	if located.ContextMsg != "" {
		text = located.ContextMsg + ": " + text
	}
	mark := located.Mark
	if mark.Line == 0 {
		mark = located.ContextMark
	}
	if mark.Line <= len(d.lines) && mark.Line > 0 && strings.HasPrefix(strings.TrimLeft(d.lines[mark.Line-1], " "), "\t") {
		text = "the line begins with a tab; want spaces" // YAML's own message speaks of tokens, which users do not know
	}
	d.report(position{mark.Line, mark.Column}, "", "not valid YAML: %s", blot(text))
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	d.at[path] = positionOf(n)
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.report(positionOf(n), path, "an anchor or alias; want the value itself")
		return
	case isNull(n):
		return // a key without a value keeps the default
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if n.Kind != yaml.ScalarNode {
			d.report(positionOf(n), path, "want a single value, found %s", kindOf(n))
		} else if err := text.UnmarshalText([]byte(n.Value)); err != nil {
			d.report(positionOf(n), path, "%v", err)
		}
		return
	}
	if of, ok := v.Addr().Interface().(interface{ list() any }); ok && n.Kind != yaml.MappingNode {
		d.value(n, reflect.ValueOf(of.list()).Elem(), path)
		return
	}
	if short, ok := v.Addr().Interface().(interface{ shorten(string) }); ok && n.Kind == yaml.ScalarNode {
		short.shorten(n.Value)
		return
	}
	switch v.Kind() {
	case reflect.Pointer: // make what the pointer points to; a pointer whose key the file lacks stays nil
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path)
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		d.mapping(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	fields := map[string]reflect.Value{}
	for _, f := range keysOf(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		field := v.FieldByIndex(f.Index)
		if list, ok := field.Interface().(listed); ok {
			for name := range list.keys() {
				fields[name] = field
			}
		} else {
			fields[name] = field
		}
	}
	known := slices.Sorted(maps.Keys(fields))
	d.entries(n, path, known, func(key string, at position, value *yaml.Node) {
		if _, ok := fields[key]; !ok {
			key = measure.Spelt(key)
		}
		field, ok := fields[key]
		if begin, _, dotted := strings.Cut(key, "."); !ok && dotted {
			field, ok = fields[begin+"."+anyName]
		}
		if !ok {
			d.report(at, path, "unknown key %q; %s", key, nearest.Hint(key, known))
			return
		}
		if _, ok := field.Interface().(listed); ok {
			d.element(value, field, key, path)
			return
		}
		d.value(value, field, join(path, key))
	})
	if w, ok := v.Addr().Interface().(*Workload); ok {
		eachKey(n, func(key, value *yaml.Node) {
			if text := w.zero(key.Value); text != "" && value.ShortTag() == "!!int" {
				d.report(positionOf(value), join(path, key.Value), "%s", text)
			}
		})
	}
}

// listed is a map whose keys stand in a file beside those of the struct that has
// the map, and are of a list that is not in this package.
type listed interface {
	// keys returns the keys that the map may have, each with its description. One that ends
	// with anyName stands for all that begin alike.
	keys() map[string]string
}

// anyName stands for any name at the end of a key.
const anyName = "NAME"

// element reads a value of a map.
func (d *decoder) element(n *yaml.Node, m reflect.Value, key, path string) {
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	element := reflect.New(m.Type().Elem()).Elem()
	d.value(n, element, join(path, key))
	m.SetMapIndex(reflect.ValueOf(key), element)
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.entries(n, path, nil, func(key string, _ position, value *yaml.Node) { d.element(value, v, key, path) })
}

// entries calls the function each for every key of a YAML mapping, and reports
// keys that occur twice.
func (d *decoder) entries(n *yaml.Node, path string, known []string, each func(key string, at position, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		want := "keys and values"
		if len(known) > 0 {
			want += " (" + strings.Join(known, ", ") + ")"
		}
		d.report(positionOf(n), path, "want %s, found %s", want, kindOf(n))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.report(positionOf(key), path, "want a plain key, found %s", kindOf(key))
			continue
		}
		if first, twice := lines[key.Value]; twice {
			d.report(positionOf(key), path, "key %q occurs twice, first on line %d", key.Value, first)
			continue
		}
		lines[key.Value] = key.Line
		each(key.Value, positionOf(key), value)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	one, ok := v.Interface().(interface{ orOne() string })
	if ok && n.Kind == yaml.ScalarNode {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{n}}
	}
	if n.Kind != yaml.SequenceNode {
		want := "a list"
		if n.Kind == yaml.ScalarNode {
			want += ", such as [" + blot(n.Value) + "]"
		}
		if ok {
			want = one.orOne()
		}
		d.report(positionOf(n), path, "want %s, found %s", want, kindOf(n))
		return
	}
	elements := n.Content
	if kind, ok := reflect.New(v.Type().Elem()).Interface().(gridded); ok {
		elements = d.expand(elements, kind, path)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
	for i, e := range elements {
		d.value(e, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	wrong := func(want string) { d.report(positionOf(n), path, "want %s, found %s", want, kindOf(n)) }
	// The function into decodes a number or boolean, if the value's YAML type
	// is one of tags.
	into := func(want string, tags ...string) {
		if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) {
			wrong(want)
		} else if err := n.Decode(v.Addr().Interface()); err != nil {
			wrong(want + " of at most 64 bits")
		}
	}
	switch v.Kind() {
	case reflect.String:
		if n.Kind != yaml.ScalarNode {
			wrong("a text")
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		into("true or false", "!!bool")
	case reflect.Int:
		into("a whole number", "!!int")
	case reflect.Uint64:
		into("0 or a positive whole number", "!!int")
	case reflect.Float64:
		into("a number", "!!float", "!!int")
	default:
		panic("config: no decoder for " + v.Type().String())
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!bool":
		return short(n.Value, 40)
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return short(n.Value, 40)
	}
	if n.Value == "" {
		return "an empty text"
	}
	return fmt.Sprintf("the text %q", short(blot(n.Value), 40))
}
