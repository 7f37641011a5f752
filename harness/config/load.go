package config

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"heddle/harness/internal/nearest"
)

// maxFileBytes is far above any file a person or an inventory writes.
const maxFileBytes = 1 << 20

// maxSourceRunes is how much of an offending line is shown.
const maxSourceRunes = 160

// read returns the content of a file that a user named.
func read(what, file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read %s file: %w", what, err)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("read %s file %s: %d bytes are too many for one; is it the right file?", what, file, info.Size())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s file: %w", what, err)
	}
	return data, nil
}

// decode fills v, a pointer to a struct with defaults in it, from YAML and
// then asks validate. Everything that is wrong is returned together, with its
// place. go-yaml only parses: its own decoder stops at the first error, does
// not say where a text was refused, and prints 1.0 as 1.
func decode(file string, data []byte, v any, validate func() problems) error {
	d := decoder{lines: strings.Split(string(data), "\n"), at: map[string]*token.Position{}}
	if body := d.parse(data); body != nil {
		d.value(body, reflect.ValueOf(v).Elem(), "")
	}
	// What could not be read is not judged again by its missing value.
	if len(d.problems) == 0 {
		for _, p := range validate() {
			d.problems = append(d.problems, d.locate(p))
		}
	}
	return d.problems.err(file)
}

// decoder walks a parsed file along the type that it shall fill.
type decoder struct {
	lines    []string
	at       map[string]*token.Position // where each path's value is
	problems problems
}

func (d *decoder) parse(data []byte) (body ast.Node) {
	defer func() {
		if r := recover(); r != nil { // the parser is not ours
			body = nil
			d.problems.addf("", "not understood as YAML: %v", r)
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var located yaml.Error
		if errors.As(err, &located) && located.GetToken() != nil {
			d.report(located.GetToken().Position, "", "%s", blot(located.GetMessage()))
		} else {
			d.problems.addf("", "not understood as YAML: %s", blot(err.Error()))
		}
		return nil
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.report(position(doc.Body), "", "a second document; want one a file")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		d.problems.addf("", "the file is empty")
	}
	return body
}

func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	if tag, ok := n.(*ast.TagNode); ok {
		n = tag.Value
	}
	d.at[path] = position(n)
	switch n.(type) {
	case *ast.NullNode:
		return // "key:" with nothing behind keeps the default
	case *ast.AnchorNode, *ast.AliasNode:
		d.report(position(n), path, "anchors and aliases are not read here; write the value out")
		return
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if s, ok := scalar(n); !ok {
			d.report(position(n), path, "want one value, found %s", kindOf(n))
		} else if err := text.UnmarshalText([]byte(s)); err != nil {
			d.report(position(n), path, "%v", err)
		}
		return
	}
	if short, ok := v.Addr().Interface().(interface{ shorten(string) }); ok {
		if s, ok := scalar(n); ok {
			short.shorten(s)
			return
		}
	}
	switch v.Kind() {
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

func (d *decoder) structure(n ast.Node, v reflect.Value, path string) {
	fields := map[string]int{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if name != "-" {
			fields[name] = i
		}
	}
	known := slices.Sorted(maps.Keys(fields))
	d.entries(n, path, known, func(key string, at *token.Position, value ast.Node) {
		i, ok := fields[key]
		if !ok {
			d.report(at, path, "unknown key %q; %s", key, nearest.Hint(key, known))
			return
		}
		d.value(value, v.Field(i), join(path, key))
	})
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) {
	m := reflect.MakeMap(v.Type())
	d.entries(n, path, nil, func(key string, _ *token.Position, value ast.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, join(path, key))
		m.SetMapIndex(reflect.ValueOf(key), element)
	})
	v.Set(m)
}

// entries calls each with every key of a mapping.
func (d *decoder) entries(n ast.Node, path string, known []string, each func(key string, at *token.Position, value ast.Node)) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		want := "keys and values"
		if len(known) > 0 {
			want += " (" + strings.Join(known, ", ") + ")"
		}
		d.report(position(n), path, "want %s, found %s", want, kindOf(n))
		return
	}
	for _, mv := range values {
		key, ok := scalar(mv.Key)
		if !ok {
			d.report(position(mv.Key), path, "want a plain key, found %s", kindOf(mv.Key))
			continue
		}
		each(key, position(mv.Key), mv.Value)
	}
}

func (d *decoder) list(n ast.Node, v reflect.Value, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		want := "a list"
		if s, ok := scalar(n); ok {
			want += ", such as [" + blot(s) + "]"
		}
		d.report(position(n), path, "want %s, found %s", want, kindOf(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, e := range seq.Values {
		d.value(e, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) {
	wrong := func(want string) { d.report(position(n), path, "want %s, found %s", want, kindOf(n)) }
	switch v.Kind() {
	case reflect.String:
		s, ok := scalar(n)
		if !ok {
			wrong("a text")
			return
		}
		v.SetString(s)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			wrong("true or false")
			return
		}
		v.SetBool(b.Value)
	case reflect.Int, reflect.Uint64:
		i, ok := n.(*ast.IntegerNode)
		if !ok {
			wrong("a whole number")
			return
		}
		whole := reflect.ValueOf(i.Value)
		switch {
		case v.Kind() == reflect.Uint64 && whole.CanUint():
			v.SetUint(whole.Uint())
		case v.Kind() == reflect.Uint64 && whole.Int() >= 0:
			v.SetUint(uint64(whole.Int()))
		case v.Kind() == reflect.Int && whole.CanInt():
			v.SetInt(whole.Int())
		case v.Kind() == reflect.Int && whole.Uint() <= math.MaxInt64:
			v.SetInt(int64(whole.Uint()))
		default:
			wrong("a smaller whole number, or not a negative one")
		}
	case reflect.Float64:
		switch f := n.(type) {
		case *ast.FloatNode:
			v.SetFloat(f.Value)
		case *ast.IntegerNode:
			v.Set(reflect.ValueOf(f.Value).Convert(v.Type())) // int64 or uint64
		default:
			wrong("a number")
		}
	default:
		panic("config: no decoder for " + v.Type().String())
	}
}

func (d *decoder) report(at *token.Position, path, format string, args ...any) {
	p := Problem{Path: path, Message: fmt.Sprintf(format, args...)}
	if at != nil {
		d.place(&p, at)
	}
	d.problems = append(d.problems, p)
}

// locate gives a problem of Validate its line: that of its path or, where the
// file does not have it, of the nearest thing around it.
func (d *decoder) locate(p Problem) Problem {
	for path := p.Path; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		if at := d.at[path]; at != nil {
			d.place(&p, at)
			break
		}
	}
	return p
}

func (d *decoder) place(p *Problem, at *token.Position) {
	p.Line, p.Column = at.Line, at.Column
	if at.Line < 1 || at.Line > len(d.lines) {
		return
	}
	source := []rune(blot(strings.TrimRight(d.lines[at.Line-1], "\r ")))
	if at.Column <= maxSourceRunes {
		p.Source = string(source[:min(len(source), maxSourceRunes)])
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// position is where a node begins; of a mapping, that is its first key.
func position(n ast.Node) *token.Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return position(m.Values[0])
		}
	case *ast.MappingValueNode:
		return position(m.Key)
	}
	if n == nil || n.GetToken() == nil {
		return nil
	}
	return n.GetToken().Position
}

// scalar is the text of a single value as it stands in the file.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return "a text"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "nothing"
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value
	default:
		return "something else"
	}
}
