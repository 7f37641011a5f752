package sched

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/nearest"
)

// Param describes a parameter of a scheduler model: its name, type and allowed
// values. A model with random numbers has a parameter "seed" of type Int: drivers
// set it to the seed of the run, unless the user has.
type Param struct {
	Name    string `json:"name"`
	Type    Type   `json:"type"`
	Default string `json:"default"`
	Unit    string `json:"unit,omitempty"`
	// Min and Max are the smallest and the largest number allowed for the
	// parameter. Max 0 means that there is no largest number.
	Min float64 `json:"min"`
	Max float64 `json:"max,omitempty"`
	// Choices are the values allowed for a parameter of type Choice, or the words
	// for one of type Set.
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`
}

// Values says in a few words which values the parameter may have, for help and tables.
func (p *Param) Values() string {
	switch p.Type {
	case Choice:
		return strings.Join(p.Choices, "|")
	case Set:
		return strings.Join(p.Choices, "+")
	case Int, Float:
		text := string(p.Type) + " >= " + strconv.FormatFloat(p.Min, 'g', -1, 64)
		if p.Max != 0 {
			text += ", <= " + strconv.FormatFloat(p.Max, 'f', -1, 64)
		}
		return text
	}
	return string(p.Type)
}

// Params are the parameter values given to a scheduler model, as text, by
// parameter name. A parameter that is missing has its default.
type Params map[string]string

// Type is the type of a parameter's values, such as integer or duration.
type Type string

// The types that a parameter's values can have.
const (
	Int      Type = "int"
	Float    Type = "float"
	Bool     Type = "bool"
	Duration Type = "duration" // parameter type: text that gives a time with its unit, such as 450ms or 5s
	Choice   Type = "choice"   // parameter type: text that is one of the words in Param.Choices
	Set      Type = "set"      // parameter type: text that has some of the words in Param.Choices, such as m1+m3, or none of them
	Text     Type = "text"     // parameter type: any text; NAME.PART is a parameter too
	Table    Type = "table"    // parameter type: text that gives numbers by name, such as default=60,batch=40
)

var types = []Type{Int, Float, Bool, Duration, Choice, Set, Table, Text}

// ParseParams returns the values of the described parameters, by their texts. A
// parameter without text has its default. An unknown parameter, or a value out of range,
// is an error that lists what is allowed.
func ParseParams(list []Param, p Params) (Args, error) {
	known := names(list, func(x Param) string { return x.Name })
	for _, name := range slices.Sorted(maps.Keys(p)) {
		text, _, part := strings.Cut(name, ".")
		switch {
		case slices.Contains(known, name):
		case part && slices.ContainsFunc(list, func(x Param) bool { return x.Name == text && x.Type == Text }):
		case len(known) == 0:
			return Args{}, fmt.Errorf("no parameter %q; there are none", name)
		default:
			return Args{}, fmt.Errorf("no parameter %q; %s", name, nearest.Hint(name, known))
		}
	}
	a := Args{values: map[string]any{}, wrong: new(error), parts: p}
	for _, x := range list {
		text, ok := p[x.Name]
		if !ok {
			text = x.Default
		}
		value, err := x.parse(text)
		if err != nil {
			return Args{}, fmt.Errorf("%s: %w", x.Name, err)
		}
		a.values[x.Name] = value
	}
	return a, nil
}

// CheckParams says what is wrong with the descriptions of parameters, nil if nothing is.
func CheckParams(list []Param) error {
	for i, p := range list {
		if slices.ContainsFunc(list[:i], func(x Param) bool { return x.Name == p.Name }) {
			return fmt.Errorf("two Params with the Name %q; change one", p.Name)
		}
		if err := p.valid(); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	return nil
}

var paramName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// valid says what is wrong with the description of a parameter, nil if nothing is.
func (p *Param) valid() error {
	switch {
	case !paramName.MatchString(p.Name):
		return errors.New("its Name must be of letters and digits, a letter first")
	case !slices.Contains(types, p.Type):
		return fmt.Errorf("no Type %q; want one of %v", p.Type, types)
	case p.Name == "seed" && p.Type != Int:
		return errors.New("an experiment's seed is its value, so it must have the Type int")
	case p.Doc == "":
		return errors.New("no Doc; say what the parameter sets")
	case (p.Type == Choice || p.Type == Set) && len(p.Choices) == 0:
		return errors.New("no Choices; list its words")
	}
	if _, err := p.parse(p.Default); err != nil {
		return fmt.Errorf("its Default: %w; give another", err)
	}
	return nil
}

// parse converts text to the parameter's value: int64 (a Duration in
// nanoseconds), float64, bool, string, map[string]bool or map[string]float64.
func (p *Param) parse(text string) (any, error) {
	switch p.Type {
	case Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", text)
		}
		return n, p.check(float64(n), text)
	case Float:
		x, err := number(text)
		if err != nil {
			return nil, err
		}
		return x, p.check(x, text)
	case Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return b, nil
	case Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a duration such as 450ms or 5s", text)
		}
		if d < 0 {
			return nil, fmt.Errorf("duration %s is negative", text)
		}
		return int64(d), nil
	case Text:
		return text, nil
	case Choice:
		if !slices.Contains(p.Choices, text) {
			return nil, fmt.Errorf("%q is not one of %s", text, strings.Join(p.Choices, ", "))
		}
		return text, nil
	case Set:
		return p.parseSet(text)
	case Table:
		return p.parseTable(text)
	}
	return nil, fmt.Errorf("no Type %q; want one of %v", p.Type, types)
}

func (p *Param) parseSet(text string) (map[string]bool, error) {
	set := map[string]bool{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == '+' || r == ',' }) {
		switch {
		case !slices.Contains(p.Choices, word):
			return nil, fmt.Errorf("%q is not one of %s", word, strings.Join(p.Choices, ", "))
		case set[word]:
			return nil, fmt.Errorf("%s is given twice", word)
		}
		set[word] = true
	}
	return set, nil
}

func (p *Param) parseTable(text string) (map[string]float64, error) {
	table := map[string]float64{}
	if text == "" {
		return table, nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q does not have the form name=number", entry)
		}
		if _, twice := table[name]; twice {
			return nil, fmt.Errorf("the name %q is given twice", name)
		}
		x, err := number(value)
		if err == nil {
			err = p.check(x, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		table[name] = x
	}
	return table, nil
}

func number(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a finite number", text)
	}
	return x, nil
}

func (p *Param) check(x float64, text string) error {
	switch {
	case p.Max != 0 && (x < p.Min || x > p.Max):
		return fmt.Errorf("%s is outside %v to %v", text, p.Min, p.Max)
	case x < p.Min:
		return fmt.Errorf("%s is below %v, the smallest value allowed", text, p.Min)
	}
	return nil
}

// Args are the values of all parameters of a model, from which Info.Build makes
// it. Each method returns the value of one parameter by its name, and is for
// parameters of one type. If Build asks for a parameter that Info.Params does
// not have, or for one of another type, it gets a zero and Info.New fails with Err.
type Args struct {
	values map[string]any
	parts  Params
	wrong  *error // first parameter that was asked for and is not there
}

// Err returns an error if a parameter was asked for that is not there.
func (a Args) Err() error {
	if a.wrong == nil {
		return nil
	}
	return *a.wrong
}

// Int returns the value of a parameter of type Int, or Duration in nanoseconds.
func (a Args) Int(name string) int64 { return arg[int64](a, name) }

// Float returns the value of a parameter of type Float.
func (a Args) Float(name string) float64 { return arg[float64](a, name) }

// Bool returns the value of a parameter of type Bool.
func (a Args) Bool(name string) bool { return arg[bool](a, name) }

// Text returns the value of a parameter of type Choice or Text.
func (a Args) Text(name string) string { return arg[string](a, name) }

// Parts returns the values of parameters NAME.PART of one of type Text, by PART.
func (a Args) Parts(name string) map[string]string {
	parts := map[string]string{}
	for full, value := range a.parts {
		if part, ok := strings.CutPrefix(full, name+"."); ok {
			parts[part] = value
		}
	}
	return parts
}

// Set returns the words of a parameter of type Set.
func (a Args) Set(name string) map[string]bool { return arg[map[string]bool](a, name) }

// Table returns the numbers of a parameter of type Table, by name.
func (a Args) Table(name string) map[string]float64 { return arg[map[string]float64](a, name) }

func arg[T any](a Args, name string) T {
	value, ok := a.values[name].(T)
	if !ok && a.wrong != nil && *a.wrong == nil {
		*a.wrong = fmt.Errorf("its code asks for the parameter %q as %T, which its Params do not have; correct one of them", name, value)
	}
	return value
}
