package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"heddle/harness/internal/units"
	"heddle/harness/measure"
	"heddle/harness/option"
	"heddle/hibench"
)

// ExperimentSchema returns the JSON Schema of experiment files, with which
// editors check and complete them. It is made from the structs into which such
// files are read. It does not contain rules about two values, such as a label
// that occurs twice. Only ParseExperiment checks these.
func ExperimentSchema() []byte {
	return schema("heddle experiment", *defaultExperiment(), nil)
}

// ClusterSchema returns the JSON Schema of cluster files, with which editors
// check and complete them.
func ClusterSchema() []byte {
	return schema("heddle cluster", Cluster{}, object{"anyOf": []object{
		{"required": []string{"resourceManagers", "nameNodes", "historyServer"}},
		{"required": []string{"machines"}},
	}})
}

// The tags of a field say of its key, beside those of package option: required, true if a
// file must have it; values in braces, the name of a list that valuesOf knows; one, lists
// of keys, separated by blanks, of which a file must have exactly one; costs, true if tasks
// take another time with another value.

// valuesOf returns the texts that a key may have, nil if it may have any.
func valuesOf(tag reflect.StructTag) []string {
	switch tag.Get("values") {
	case "{models}":
		return ModelNames()
	case "{profiles}":
		return hibench.Profiles()
	case "{workloads}":
		return slices.Sorted(maps.Keys(workloadKinds))
	}
	return option.Values(tag)
}

// boundsOf returns the bounds of a key, or of the elements of a list.
func boundsOf(t reflect.Type, tag reflect.StructTag) (least, most float64, ok bool) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return option.Bounds(t, tag)
}

// object is a JSON object: a part of a JSON Schema.
type object map[string]any

// schema returns the JSON Schema of files that are read into a struct like
// defaults. The argument more contains further rules for the whole file.
func schema(title string, defaults any, more object) []byte {
	s := schemaOf(reflect.ValueOf(defaults), "")
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", title
	maps.Copy(s, more)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // this cannot happen: a schema has only values that JSON can express
	}
	return append(data, '\n')
}

// schemaOf returns the JSON Schema of the values that decode reads into the
// variable v, whose field has the given tag. The present value of v becomes the default.
func schemaOf(v reflect.Value, tag reflect.StructTag) object {
	s := typeOf(v, tag)
	if text := tag.Get("text"); text != "" {
		s["description"] = text
	}
	if values := valuesOf(tag); values != nil {
		delete(s, "type")
		s["enum"] = values
	}
	limited := s
	if items, ok := s["items"].(object); ok {
		limited = items
	}
	if least, most, ok := boundsOf(v.Type(), tag); ok && limited["pattern"] == nil {
		limited["minimum"] = least
		if !math.IsInf(most, 1) {
			limited["maximum"] = most
		}
	}
	if !v.IsZero() && v.Kind() != reflect.Slice && v.Kind() != reflect.Struct {
		s["default"] = v.Interface()
		if text, said := s["description"].(string); said && !strings.Contains(text, "by default") { // editors show this one
			s["description"] = fmt.Sprintf("%s Default: %v.", text, v.Interface())
		}
	}
	return s
}

const thresholdPattern = ` *([^ <>]+ *)?[<>] *[^ <>=][^ <>]*( +[*+-] +[^ <>]+)? *$`

// amount returns the JSON Schema of a number with a unit. most is the largest number that may
// stand without one, nil for any.
func amount(pattern string, most any) object {
	s := object{"type": []string{"string", "integer"}, "pattern": pattern, "minimum": 0}
	if most != nil {
		s["maximum"] = most
	}
	return s
}

// textOf returns the JSON Schema of a type that is one text in a file, nil for other types.
func textOf(pointer any) object {
	switch pointer.(type) {
	case *units.Size:
		return amount(`^ *[0-9]+(\.[0-9]+)? *(([kKmMgGtT][iI]?)?B|([kmgt]i?)?b)? *$`, nil)
	case *units.Rate:
		return amount(`^ *(0|[0-9]+(\.[0-9]+)? *[a-zA-Z]+(/s)?) *$`, 0)
	case *units.Duration:
		return amount(`^ *(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+ *$`, 0)
	case *Deadline:
		return object{
			"type":    "string",
			"pattern": `^ *([0-9.]+x( *recorded)?|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*) *$`,
		}
	case *SizeClasses:
		each := object{"type": []string{"integer", "null"}, "minimum": 0}
		return object{"type": "object", "additionalProperties": each, "minProperties": 2, "maxProperties": maxSizeClasses}
	case *Threshold:
		return object{"type": "string", "pattern": `^` + thresholdPattern}
	case *Limit:
		limit := strings.TrimPrefix(thresholdPattern, ` *([^ <>]+ *)?`)
		names := strings.Join(append(measure.Names(), "end", regexp.QuoteMeta(measure.NotePrefix)+`[^ <>]+`), "|")
		return object{"type": "string", "pattern": `^ *(` + names + `)( of [^<>]+)? *` + limit}
	}
	return nil
}

// typeOf returns the part of a JSON Schema that follows from the Go type of a
// value.
func typeOf(v reflect.Value, tag reflect.StructTag) object {
	t := v.Type()
	zero := func() reflect.Value { return reflect.Zero(t.Elem()) }
	pointer := reflect.New(t).Interface()
	if s := textOf(pointer); s != nil {
		return s
	}
	if _, ok := pointer.(encoding.TextUnmarshaler); ok {
		panic("config: schema of " + t.String() + " is not known")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(zero(), tag)
	case reflect.Struct:
		s := structureOf(v, tag)
		if _, ok := pointer.(*Model); ok { // it may be given by its name alone, or by a mapping
			return object{"anyOf": []object{{"enum": ModelNames()}, s}}
		}
		if _, ok := pointer.(interface{ shorten(string) }); ok {
			return object{"anyOf": []object{{"type": "string"}, s}}
		}
		if of, ok := pointer.(interface{ list() any }); ok {
			return object{"anyOf": []object{typeOf(reflect.ValueOf(of.list()).Elem(), ""), s}}
		}
		return s
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(zero(), "")}
	case reflect.Slice:
		element := typeOf(zero(), tag)
		if _, ok := v.Interface().(interface{ orOne() string }); ok {
			return object{"anyOf": []object{element, {"type": "array", "items": element}}}
		}
		s := object{"type": "array", "items": element}
		if tag.Get("required") != "" {
			s["minItems"] = 1
		}
		return s
	case reflect.String: // texts such as 1.0 need no quotes in YAML and then are numbers, so allow these types too
		return object{"type": []string{"string", "number", "boolean"}}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	panic(fmt.Sprintf("config: schema of %v is not known", t))
}

func structureOf(v reflect.Value, tag reflect.StructTag) object {
	properties, patterns, required := object{}, object{}, []string{}
	_, grids := reflect.New(v.Type()).Interface().(gridded)
	for _, f := range keysOf(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		field := v.FieldByIndex(f.Index)
		if list, ok := field.Interface().(listed); ok {
			for name, text := range list.keys() {
				element := typeOf(reflect.Zero(f.Type.Elem()), "")
				element["description"] = text
				if begin, any := strings.CutSuffix(name, anyName); any {
					patterns["^"+regexp.QuoteMeta(begin)+"."] = element
				} else {
					properties[name] = element
				}
			}
			continue
		}
		properties[name] = schemaOf(field, f.Tag)
		if grids && name != "label" {
			properties[name] = orList(properties[name].(object), f.Type)
		}
		if f.Tag.Get("required") != "" {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(patterns) > 0 {
		s["patternProperties"] = patterns
	}
	if len(required) > 0 {
		s["required"] = required
	}
	if one := tag.Get("one"); one != "" {
		var either []object
		for keys := range strings.SplitSeq(one, ",") {
			either = append(either, object{"required": strings.Fields(keys)})
		}
		s["oneOf"] = either
	}
	return s
}

// orList returns the JSON Schema of a key of a grid. Where the type t has a
// single value, it allows a list of values too.
func orList(s object, t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Map && single(t.Elem()):
		s["additionalProperties"] = orList(s["additionalProperties"].(object), t.Elem())
	case single(t):
		text := s["description"]
		delete(s, "description")
		s = object{"anyOf": []object{s, {"type": "array", "items": s, "minItems": 1}}}
		if text != nil {
			s["description"] = text
		}
	}
	return s
}

// keys adds a problem for each value of a struct of keys that the key's tag excludes. Keys
// that a file may leave out may be zero.
func (p *problems) keys(of any, path string) {
	v := reflect.ValueOf(of)
	for _, f := range keysOf(v.Type()) {
		field := reflect.Indirect(v.FieldByIndex(f.Index))
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !field.IsValid() || options == "omitempty" && field.IsZero() {
			continue
		}
		check := func(v reflect.Value, path string) {
			if err := option.Check(v, f.Tag); err != nil {
				p.addf(path, "%v", err)
			}
		}
		if _, _, bounded := boundsOf(f.Type, f.Tag); !bounded || field.Kind() != reflect.Slice {
			check(field, join(path, name))
			continue
		}
		for i := range field.Len() {
			check(field.Index(i), fmt.Sprintf("%s[%d]", join(path, name), i))
		}
	}
}

// keysOf returns the fields of a struct that are keys of a file, with those of embedded
// structs.
func keysOf(t reflect.Type) []reflect.StructField {
	if known, ok := keysOfTypes.Load(t); ok {
		return known.([]reflect.StructField)
	}
	fields := slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous || f.Tag.Get("yaml") == "-" })
	keysOfTypes.Store(t, fields)
	return fields
}

// keysOfTypes has what keysOf found, since it is asked for each value of a list.
var keysOfTypes sync.Map
