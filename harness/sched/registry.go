package sched

import (
	"fmt"
	"slices"

	"heddle/harness/nearest"
)

// Info describes a scheduler model before it is made: name, summary, source
// and parameters.
type Info struct {
	Name    string  `json:"name"`
	Summary string  `json:"summary"` // one line that says what the model does
	Source  string  `json:"source"`  // paper or program that the model's rule comes from
	Params  []Param `json:"params"`

	build func(a args) (Model, error)
}

// New makes the scheduler model with this name. An unknown model or parameter,
// or a value out of range, is an error that lists what is allowed.
func New(name string, p Params) (Model, error) {
	i := slices.IndexFunc(models, func(m Info) bool { return m.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no model %q; %s", name, nearest.Hint(name, names(models, func(m Info) string { return m.Name })))
	}
	a, err := models[i].parse(p)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	m, err := models[i].build(a)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, nil
}

// models are all scheduler models of this package, sorted by name.
var models = []Info{
	aclInfo,
	capacityInfo,
	clqlmrsInfo,
	delayInfo,
	fairInfo,
	fair1Info,
	fifoInfo,
	fifo1Info,
	matchingInfo,
	modfairInfo,
	plannedInfo,
	randomInfo,
}

// List returns the descriptions of all scheduler models, sorted by name.
func List() []Info { return slices.Clone(models) }

func names[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = name(x)
	}
	return names
}

// args are the values of all parameters of a scheduler model, converted from
// text by parse.
type args map[string]any

func (a args) int(name string) int64                { return a[name].(int64) }
func (a args) float(name string) float64            { return a[name].(float64) }
func (a args) bool(name string) bool                { return a[name].(bool) }
func (a args) text(name string) string              { return a[name].(string) }
func (a args) set(name string) map[string]bool      { return a[name].(map[string]bool) }
func (a args) table(name string) map[string]float64 { return a[name].(map[string]float64) }

// parse converts the text of each parameter to its value. A parameter without
// text gets its default.
func (m *Info) parse(p Params) (args, error) {
	var unknown []string
	for name := range p {
		if !slices.ContainsFunc(m.Params, func(x Param) bool { return x.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		if len(m.Params) == 0 {
			return nil, fmt.Errorf("no parameter %q; the model has none", unknown[0])
		}
		return nil, fmt.Errorf("no parameter %q; %s", unknown[0], nearest.Hint(unknown[0], names(m.Params, func(x Param) string { return x.Name })))
	}
	a := args{}
	for _, x := range m.Params {
		text, ok := p[x.Name]
		if !ok {
			text = x.Default
		}
		value, err := x.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
		a[x.Name] = value
	}
	return a, nil
}
