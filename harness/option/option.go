// Package option reads the fields of structs by their tags, so that the key of a file, the
// flag of a command and the axis of a sweep that mean the same are read in one place.
//
// The tags of a field:
//
//	flag     its name as a flag, and further names behind commas; a field without the tag
//	         is no option; * takes the options of a struct that is not embedded
//	only     beside flag:"*", the names of those that are taken, separated by commas
//	unit     of a whole number of 64 bits: bytes, rate (bytes/s) or ms
//	text     what it is
//	usage    what the usage of the flag says instead
//	of       the word of the usage that stands for the value: NAME
//	without  what applies without it, for help: "as recorded"
//	heading  the heading of help under which it stands; of an embedded struct, for all of it
//	key      whatever it says, the option is a key of the flag --set
//	values   the texts that it may have, separated by commas
//	min,max  the smallest and the largest number, size or time: min:"10ms" max:"1h"
//	list     what separates the values of a slice in one text; without it, each text is one
package option

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/nearest"
)

// Option is a field of a struct, as text. It is a flag.Value.
type Option struct {
	Name    string   // its first name
	Aliases []string // its other names
	Usage   string   // in which back quotes are around the word for its value
	Without string
	Heading string
	tag     reflect.StructTag
	value   reflect.Value
}

// Of returns the options of the struct to which p points. Those of embedded structs stand
// in their place.
func Of(p any) []*Option { return of(reflect.ValueOf(p).Elem(), "") }

func of(v reflect.Value, heading string) (list []*Option) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		under := cmp.Or(field.Tag.Get("heading"), heading)
		names, ok := field.Tag.Lookup("flag")
		switch {
		case names == "*", !ok && field.Anonymous && field.Type.Kind() == reflect.Struct:
			for _, o := range of(v.Field(i), under) {
				if only := field.Tag.Get("only"); only == "" || slices.Contains(strings.Split(only, ","), o.Name) {
					list = append(list, o)
				}
			}
		case ok && names != "-":
			all := strings.Split(names, ",")
			usage := cmp.Or(field.Tag.Get("usage"), field.Tag.Get("text"))
			if word := field.Tag.Get("of"); word != "" {
				usage = strings.Replace(usage, word, "`"+word+"`", 1)
			}
			list = append(list, &Option{all[0], all[1:], usage, field.Tag.Get("without"), under, field.Tag, v.Field(i)})
		}
	}
	return list
}

// Set sets one of the options by its name.
func Set(list []*Option, name, text string) error {
	var names []string
	for _, o := range list {
		if o.Name == name {
			if err := o.Set(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return fmt.Errorf("unknown name %q; %s", name, nearest.Hint(name, names))
}

// Bool returns where the option is, nil if it is none that is true or false.
func (o *Option) Bool() *bool {
	p, _ := o.value.Addr().Interface().(*bool)
	return p
}

// Take sets the option to what another one is, of the same field of another struct.
func (o *Option) Take(from *Option) { o.value.Set(from.value) }

// Tag returns a further tag of its field.
func (o *Option) Tag(key string) string { return o.tag.Get(key) }

// Values returns the texts that the option may have, nil if it may have others.
func (o *Option) Values() []string { return Values(o.tag) }

// Set reads the option from text. An option that is a list gets one more value.
func (o *Option) Set(text string) error { return set(o.value, o.tag, text) }

func set(v reflect.Value, tag reflect.StructTag, text string) (err error) {
	if v.Kind() == reflect.Pointer { // nil if the option is not given
		to := reflect.New(v.Type().Elem())
		if err := set(to.Elem(), tag, text); err != nil {
			return err
		}
		v.Set(to)
		return nil
	}
	read := reflect.New(v.Type()).Elem()
	read.Set(v)
	of := read.Addr().Interface()
	setter, sets := of.(interface{ Set(string) error })
	reader, reads := of.(encoding.TextUnmarshaler)
	switch {
	case sets:
		err = setter.Set(text)
	case reads:
		err = reader.UnmarshalText([]byte(text))
	case read.Kind() == reflect.Slice:
		return add(v, tag, text)
	case read.Kind() == reflect.Int64:
		err = amount(read, tag.Get("unit"), text)
	default:
		err = scalar(read, text)
	}
	if err == nil {
		err = Check(read, tag)
	}
	if err == nil {
		v.Set(read)
	}
	return err
}

// add reads the values of a list from text.
func add(v reflect.Value, tag reflect.StructTag, text string) error {
	texts := []string{text}
	if by := tag.Get("list"); by != "" {
		texts = strings.Split(text, by)
	}
	for _, text := range texts {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := set(element, tag, strings.TrimSpace(text)); err != nil {
			return err
		}
		v.Set(reflect.Append(v, element))
	}
	return nil
}

func scalar(read reflect.Value, text string) (err error) {
	switch read.Kind() {
	case reflect.String:
		read.SetString(text)
	case reflect.Bool:
		var x bool
		x, err = strconv.ParseBool(text)
		read.SetBool(x)
	case reflect.Int:
		var x int
		x, err = strconv.Atoi(text)
		read.SetInt(int64(x))
	case reflect.Uint64:
		var x uint64
		x, err = strconv.ParseUint(text, 10, 64)
		read.SetUint(x)
	case reflect.Float64:
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		read.SetFloat(x)
	default:
		panic("option: " + read.Type().String() + " cannot be read")
	}
	if err != nil {
		return fmt.Errorf("%q: want %s", text, wanted[read.Kind()])
	}
	return nil
}

// amount reads a whole number with its unit, or a time.
func amount(read reflect.Value, unit, text string) (err error) {
	var x int64
	switch {
	case read.Type() == reflect.TypeFor[time.Duration]():
		var d time.Duration
		if d, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%q: want a time such as 30s", text)
		}
		x = int64(d)
	case unit == "bytes":
		var size units.Size
		err = size.Set(text)
		x = int64(size)
	case unit == "rate":
		var rate units.Rate
		err = rate.Set(text)
		x = int64(rate)
	case unit == "ms":
		var d units.Duration
		err = d.Set(text)
		x = time.Duration(d).Milliseconds()
	default:
		if x, err = strconv.ParseInt(text, 10, 64); err != nil {
			err = fmt.Errorf("%q: want a whole number", text)
		}
	}
	read.SetInt(x)
	return err
}

var wanted = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Uint64: "0 or a positive whole number", reflect.Float64: "a number",
}

// String returns the option as text, "" if it is zero.
func (o *Option) String() string {
	if o == nil || !o.value.IsValid() || o.value.IsZero() { // package flag makes a zero one, to tell what a default is
		return ""
	}
	if x, ok := o.value.Interface().(int64); ok {
		switch o.tag.Get("unit") {
		case "bytes":
			return units.Size(x).String()
		case "rate":
			return units.Rate(x).String()
		case "ms":
			return (time.Duration(x) * time.Millisecond).String()
		}
	}
	if o.value.Kind() == reflect.Slice {
		return strings.Trim(fmt.Sprint(o.value), "[]")
	}
	return fmt.Sprint(o.value)
}

// CheckAll returns an error if an option of the struct to which p points is none of those
// that its tag allows. What is zero is not given, and allowed.
func CheckAll(p any) error {
	for _, o := range Of(p) {
		values := []reflect.Value{o.value}
		if o.value.Kind() == reflect.Slice {
			values = nil
			for i := range o.value.Len() {
				values = append(values, o.value.Index(i))
			}
		}
		for _, v := range values {
			if v.IsZero() {
				continue
			}
			if err := Check(v, o.tag); err != nil {
				return fmt.Errorf("%s: %w", o.Name, err)
			}
		}
	}
	return nil
}

// Check returns an error if a value is none of those that its tag allows.
func Check(v reflect.Value, tag reflect.StructTag) error {
	if values := Values(tag); values != nil && !slices.Contains(values, v.String()) {
		return OneOf(v.String(), values)
	}
	least, most, ok := Bounds(v.Type(), tag)
	if !ok || least <= number(v) && number(v) <= most { // NaN is not within
		return nil
	}
	told := func(bound string, x float64) string {
		if _, err := strconv.ParseFloat(bound, 64); err == nil {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return bound
	}
	switch from, to := told(tag.Get("min"), least), told(tag.Get("max"), most); {
	case to == "":
		return fmt.Errorf("%v: want %s or more", v, from)
	case from == "":
		return fmt.Errorf("%v: want at most %s", v, to)
	default:
		return fmt.Errorf("%v: want %s to %s", v, from, to)
	}
}

func number(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

// OneOf returns the error of a text that is none of the values.
func OneOf(text string, values []string) error {
	hint := ""
	if near := nearest.Name(text, values); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("%q: want %s%s", text, strings.Join(values, ", "), hint)
}

// Values returns the texts that a field with the tag may have, nil if it may have others.
func Values(tag reflect.StructTag) []string {
	if values := tag.Get("values"); values != "" && values[0] != '{' {
		return strings.Split(values, ",")
	}
	return nil
}

// Bounds returns the smallest and the largest value, as numbers, that a field of the type
// with the tag may have; ok is false if it may have any.
func Bounds(t reflect.Type, tag reflect.StructTag) (least, most float64, ok bool) {
	bound := func(key string, none float64) float64 {
		text := tag.Get(key)
		if text == "" {
			return none
		}
		ok = true
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
		x := reflect.New(t).Elem()
		if err := set(x, "", text); err != nil {
			panic("option: tag " + key + ": " + err.Error())
		}
		return number(x)
	}
	return bound("min", math.Inf(-1)), bound("max", math.Inf(1)), ok
}
