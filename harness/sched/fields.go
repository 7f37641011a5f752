package sched

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// typeOf has the types of parameters by the Go types of their values. A string with words to
// choose from is a Choice.
var typeOf = map[string]Type{
	"int": Int, "int64": Int, "uint64": Int, "float64": Float, "bool": Bool, "time.Duration": Duration, "string": Text,
	"map[string]bool": Set, "map[string]float64": Table,
}

// ParamsOf describes the parameters whose values a struct T holds, for Info.Params. A field with the tag
// text is a parameter. Its name begins with a small letter. The tag text is Param.Doc, values are
// Param.Choices, separated by commas; default, unit, min and max are as in Param. Without a
// default it is the first of the values of a string, and else zero.
func ParamsOf[T any]() (list []Param) {
	eachParam[T](func(name string, f reflect.StructField) {
		p := Param{Name: name, Type: typeOf[f.Type.String()], Default: f.Tag.Get("default"), Unit: f.Tag.Get("unit"), Doc: f.Tag.Get("text")}
		p.Min, _ = strconv.ParseFloat(f.Tag.Get("min"), 64) // 0 without the tag
		p.Max, _ = strconv.ParseFloat(f.Tag.Get("max"), 64)
		if values := f.Tag.Get("values"); values != "" {
			p.Choices = strings.Split(values, ",")
		}
		if p.Type == Text && p.Choices != nil {
			p.Type = Choice
		}
		if zero := reflect.Zero(f.Type); p.Default == "" && p.Type == Choice {
			p.Default = p.Choices[0]
		} else if p.Default == "" && zero.Kind() != reflect.Map {
			p.Default = fmt.Sprint(zero)
		}
		list = append(list, p)
	})
	return list
}

// ValuesOf returns the values of the parameters that ParamsOf describes.
func ValuesOf[T any](a Args) (values T) {
	eachParam[T](func(name string, f reflect.StructField) {
		if x := arg[any](a, name); x != nil {
			reflect.ValueOf(&values).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(x).Convert(f.Type))
		}
	})
	return values
}

// eachParam calls a function for each field of a struct that is a parameter, with the parameter's name.
func eachParam[T any](each func(name string, f reflect.StructField)) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if f.Tag.Get("text") != "" {
			each(strings.ToLower(f.Name[:1])+f.Name[1:], f)
		}
	}
}
