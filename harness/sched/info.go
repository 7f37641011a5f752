package sched

import (
	"errors"
	"fmt"
	"regexp"
)

// Info describes a scheduler model before it is made: name, summary, source
// and parameters, and how it is made.
type Info struct {
	Name    string  `json:"name"`    // by which commands and experiments know the model; see CheckName
	Summary string  `json:"summary"` // one line that says what the model does
	Use     string  `json:"use"`     // what people want it for: one of Uses; empty: of somebody's own
	Source  string  `json:"source"`  // paper or program that the model's rule comes from
	Params  []Param `json:"params"`

	// Build makes the model. Its argument has a value for each of Params, the
	// default where none was given, within the bounds that Params has. Build
	// returns an error if the values do not go together.
	Build func(Args) (Model, error) `json:"-"`
}

// What models are for, in the order in which they are listed.
const (
	ForClusters  = "as clusters do"
	ForLocality  = "for locality"
	ForDeadlines = "for deadlines"
	ForLoad      = "for load"
	ForReduces   = "for reduces"
	ForControl   = "bounds and controls"
)

// Uses returns what models are for, those of somebody's own first.
func Uses() []string {
	return []string{"", ForClusters, ForLocality, ForDeadlines, ForLoad, ForReduces, ForControl}
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
	a, err := ParseParams(m.Params, p)
	if err != nil {
		return nil, err
	}
	made, err := m.Build(a)
	switch {
	case err != nil:
		return nil, err
	case a.Err() != nil:
		return nil, a.Err()
	case made == nil:
		return nil, errors.New("its Build returns no model and no error")
	}
	return made, nil
}

var modelName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+){0,4}$`)

// CheckName says why a model cannot have this name, nil if it can.
func CheckName(name string) error {
	const most = 40
	switch {
	case !modelName.MatchString(name) || len(name) < 3 || len(name) > most:
		return fmt.Errorf("%q is no name for a model: it takes 3 to %d characters of a-z, 0-9 and single hyphens, at most four, a letter "+
			"first, as in my-model", name, most)
	case name == "yarn":
		return errors.New("yarn means the cluster's own scheduler; take another name")
	case name == "external":
		return errors.New("external means a program that decides; take another name")
	case name == "new" || name == "show":
		return fmt.Errorf("%[1]s means the command 'heddle models %[1]s'; take another name", name)
	}
	return nil
}

// Check says what is wrong with the description of a model, and what to change,
// nil if nothing is. It makes the model with its defaults to see that this can be
// done.
func (m Info) Check() error {
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
	if err := CheckParams(m.Params); err != nil {
		return err
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
