package sched

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"heddle/harness/nearest"
)

// Info describes a scheduler model before it is made: name, summary, source
// and parameters, and how it is made.
type Info struct {
	Name    string  `json:"name"`    // by which commands and experiments know the model; see CheckName
	Summary string  `json:"summary"` // one line that says what the model does
	Source  string  `json:"source"`  // paper or program that the model's rule comes from
	Params  []Param `json:"params"`

	// Build makes the model. Its argument has a value for each of Params, the
	// default where none was given, within the bounds that Params has. Build
	// returns an error if the values do not go together.
	Build func(Args) (Model, error) `json:"-"`
}

// New makes the model with the given parameters, whether it is registered or
// not. An unknown parameter, or a value out of range, is an error that lists
// what is allowed.
func (m *Info) New(p Params) (Model, error) {
	made, err := m.build(p)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Name, err)
	}
	return made, nil
}

func (m *Info) build(p Params) (Model, error) {
	a, err := m.parse(p)
	if err != nil {
		return nil, err
	}
	made, err := m.Build(a)
	switch {
	case err != nil:
		return nil, err
	case *a.wrong != nil:
		return nil, *a.wrong
	case made == nil:
		return nil, errors.New("its Build returns no model and no error")
	}
	return made, nil
}

// parse converts the text of each parameter to its value. A parameter without
// text gets its default.
func (m *Info) parse(p Params) (Args, error) {
	var unknown []string
	for name := range p {
		if !slices.ContainsFunc(m.Params, func(x Param) bool { return x.Name == name }) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		if len(m.Params) == 0 {
			return Args{}, fmt.Errorf("no parameter %q; the model has none", unknown[0])
		}
		return Args{}, fmt.Errorf("no parameter %q; %s", unknown[0], nearest.Hint(unknown[0], names(m.Params, func(x Param) string { return x.Name })))
	}
	a := Args{values: map[string]any{}, wrong: new(error)}
	for _, x := range m.Params {
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

// Args are the values of all parameters of a model, from which Info.Build makes
// it. Each method returns the value of one parameter by its name, and is for
// parameters of one type. If Build asks for a parameter that Info.Params does
// not have, or for one of another type, it gets a zero and Info.New fails.
type Args struct {
	values map[string]any
	wrong  *error // first parameter that was asked for and is not there
}

// Int returns the value of a parameter of type Int, or Duration in nanoseconds.
func (a Args) Int(name string) int64 { return arg[int64](a, name) }

// Float returns the value of a parameter of type Float.
func (a Args) Float(name string) float64 { return arg[float64](a, name) }

// Bool returns the value of a parameter of type Bool.
func (a Args) Bool(name string) bool { return arg[bool](a, name) }

// Text returns the value of a parameter of type Choice.
func (a Args) Text(name string) string { return arg[string](a, name) }

// Set returns the words of a parameter of type Set.
func (a Args) Set(name string) map[string]bool { return arg[map[string]bool](a, name) }

// Table returns the numbers of a parameter of type Table, by name.
func (a Args) Table(name string) map[string]float64 { return arg[map[string]float64](a, name) }

func arg[T any](a Args, name string) T {
	value, ok := a.values[name].(T)
	if !ok && a.wrong != nil && *a.wrong == nil {
		*a.wrong = fmt.Errorf("its Build asks for the parameter %q as %T, which its Params do not have; correct one of them", name, value)
	}
	return value
}

var (
	modelName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+){0,4}$`)
	paramName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
)

// CheckName says why a model cannot have this name, nil if it can.
func CheckName(name string) error {
	const most = 40
	switch {
	case !modelName.MatchString(name) || len(name) < 3 || len(name) > most:
		return fmt.Errorf("%q is no name for a model: it takes 3 to %d characters of a-z, 0-9 and single hyphens, at most four, a letter first, as in my-model", name, most)
	case name == "yarn":
		return errors.New("yarn means the cluster's own scheduler; take another name")
	case name == "new" || name == "show":
		return fmt.Errorf("%[1]s means the command 'heddle models %[1]s'; take another name", name)
	}
	return nil
}

// Check says what is wrong with the description of a model, and what to change,
// nil if nothing is. It makes the model with its defaults to see that this can be
// done.
func (m *Info) Check() error {
	if err := CheckName(m.Name); err != nil {
		return fmt.Errorf("model %q: %w", m.Name, err)
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("model %s: %w", m.Name, err)
	}
	return nil
}

func (m *Info) check() error {
	switch {
	case m.Summary == "":
		return errors.New("no Summary; say in one line what the model does")
	case m.Source == "":
		return errors.New("no Source; say where its rule is from, or none")
	case m.Build == nil:
		return errors.New("no Build; set it to the function that makes the model")
	}
	for i, p := range m.Params {
		if slices.ContainsFunc(m.Params[:i], func(x Param) bool { return x.Name == p.Name }) {
			return fmt.Errorf("two Params with the Name %q; change one", p.Name)
		}
		if err := p.valid(); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	made, err := m.build(nil)
	if err != nil {
		return fmt.Errorf("it cannot be made by the defaults of its Params: %w", err)
	}
	if made.Name() != m.Name {
		return fmt.Errorf("the model that Build makes has the Name %q; both must be the same", made.Name())
	}
	return nil
}
