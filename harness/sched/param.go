package sched

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Param is a parameter of a model.
type Param struct {
	Name    string `json:"name"`
	Type    Type   `json:"type"`
	Default string `json:"default"`
	Unit    string `json:"unit,omitempty"`
	// Min and Max bound numbers; Max 0 is no bound above.
	Min float64 `json:"min"`
	Max float64 `json:"max,omitempty"`
	// Choices are the values of a Choice.
	Choices []string `json:"choices,omitempty"`
	Doc     string   `json:"doc"`
}

// Params are values of parameters by name, as text; those left out have their
// default.
type Params map[string]string

// Type is what values of a parameter look like.
type Type string

// Types.
const (
	Int      Type = "int"
	Float    Type = "float"
	Bool     Type = "bool"
	Duration Type = "duration" // 450ms, 5s
	Choice   Type = "choice"   // one of Choices
	Table    Type = "table"    // name=number,…
)

// skipsParam is a parameter that says for how many opportunities a job waits.
func skipsParam(name, def, doc string) Param {
	return Param{Name: name, Type: Int, Default: def, Unit: "skips", Min: -1, Doc: doc + "; -1: as many as nodes are up"}
}

// parse is the value of a text: int64 (nanoseconds of a Duration), float64,
// bool, string or map[string]float64.
func (p *Param) parse(text string) (any, error) {
	switch p.Type {
	case Int:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", text)
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
		if err != nil || d < 0 {
			return nil, fmt.Errorf("%q is no duration such as 450ms or 5s", text)
		}
		return int64(d), nil
	case Choice:
		if !slices.Contains(p.Choices, text) {
			return nil, fmt.Errorf("%q is not one of %s", text, strings.Join(p.Choices, ", "))
		}
		return text, nil
	default:
		return p.parseTable(text)
	}
}

func (p *Param) parseTable(text string) (map[string]float64, error) {
	table := map[string]float64{}
	if text == "" {
		return table, nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not name=number", entry)
		}
		if _, twice := table[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
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
		return 0, fmt.Errorf("%q is no number", text)
	}
	return x, nil
}

func (p *Param) check(x float64, text string) error {
	switch {
	case x < p.Min && p.Max != 0:
		return fmt.Errorf("%s is not in %v to %v", text, p.Min, p.Max)
	case x < p.Min:
		return fmt.Errorf("%s is below %v", text, p.Min)
	case p.Max != 0 && x > p.Max:
		return fmt.Errorf("%s is above %v", text, p.Max)
	}
	return nil
}
