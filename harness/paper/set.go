package paper

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// SetField sets the field of a setting that has the tag `set:"name"` from text,
// for the method Setting.With. The argument to is a pointer to a struct. A field
// is an int, a float64, a type that reads itself from text, or a string; with the
// tag `of:"a b c"` it must be one of these words.
func SetField(to any, name, value string) error {
	x := reflect.ValueOf(to).Elem()
	var names []string
	for i := range x.NumField() {
		tag := x.Type().Field(i).Tag
		if tag.Get("set") == "" {
			continue
		}
		if names = append(names, tag.Get("set")); tag.Get("set") == name {
			if words := strings.Fields(tag.Get("of")); len(words) > 0 && !slices.Contains(words, value) {
				return fmt.Errorf("want %s", strings.Join(words, ", "))
			}
			return setValue(x.Field(i), value)
		}
	}
	return fmt.Errorf("no such property of the set-up: there are %s", strings.Join(names, ", "))
}

func setValue(field reflect.Value, value string) error {
	if reads, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return reads.UnmarshalText([]byte(value))
	}
	switch field.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return fmt.Errorf("want a whole number, not negative")
		}
		field.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !(x >= 0) || x > 1e12 {
			return fmt.Errorf("want a number, not negative")
		}
		field.SetFloat(x)
	default:
		field.SetString(value)
	}
	return nil
}
