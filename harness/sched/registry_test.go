package sched

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestUnknownParameter: a message lists the parameters that there are, if there are
// any.
func TestUnknownParameter(t *testing.T) {
	for want, params := range map[string][]Param{
		`no parameter "b"; there are none`:   nil,
		`no parameter "b"; known here: a, c`: {{Name: "a"}, {Name: "c"}},
	} {
		if _, err := ParseParams(params, Params{"b": "1"}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestList has the models of this package described in full, in order.
func TestList(t *testing.T) {
	list := List()
	for i := range list {
		if err := list[i].Check(); err != nil {
			t.Error(err)
		}
		if i > 0 && list[i].Name <= list[i-1].Name {
			t.Errorf("%s stands behind %s", list[i].Name, list[i-1].Name)
		}
	}
}

// idle is a model that starts nothing.
type idle struct {
	name string
	all  []any // values of all types of parameters
}

func (m *idle) Name() string                                             { return m.name }
func (m *idle) Round(*state.View, []state.NodeID, []Decision) []Decision { return nil }

// idleInfo describes an idle model with a parameter of each type.
func idleInfo(name string) Info {
	return Info{
		Name: name, Summary: "starts nothing", Source: "none",
		Params: []Param{
			{Name: "n", Type: Int, Default: "1", Max: 9, Doc: "a number"},
			{Name: "share", Type: Float, Default: "0.5", Doc: "a share"},
			{Name: "on", Type: Bool, Default: "true", Doc: "a switch"},
			{Name: "wait", Type: Duration, Default: "2s", Doc: "a time"},
			{Name: "form", Type: Choice, Default: "a", Choices: []string{"a", "b"}, Doc: "a word"},
			{Name: "parts", Type: Set, Default: "a+b", Choices: []string{"a", "b"}, Doc: "words"},
			{Name: "weights", Type: Table, Default: "q=3", Doc: "numbers"},
		},
		Build: func(a Args) (Model, error) {
			all := []any{a.Int("n"), a.Float("share"), a.Bool("on"), a.Int("wait"), a.Text("form"), len(a.Set("parts")), a.Table("weights")["q"]}
			return &idle{name, all}, nil
		},
	}
}

// TestRegister has models of other packages made by name, and stand in the list
// in order.
func TestRegister(t *testing.T) {
	before := models
	defer func() { models = before }()
	mustDo(t, Register(idleInfo("zeal"), idleInfo("bee")))
	m := errtest.Must(New("bee", Params{"n": "7"}))
	if got, want := m.(*idle).all, []any{int64(7), 0.5, true, int64(2e9), "a", 2, 3.0}; !slices.Equal(got, want) {
		t.Errorf("bee was made of %v, want %v", got, want)
	}
	got := names(List(), func(m Info) string { return m.Name })
	if !slices.IsSorted(got) || len(got) != len(before)+2 {
		t.Errorf("models %v, want bee and zeal in their places", got)
	}
	errtest.Has(t, errtest.Of(New("zeaal", nil)), `did you mean "zeal"`)
	errtest.Has(t, Register(idleInfo("wasp"), idleInfo("bee")), "there is a model of this name already; change the field Name")
	if _, err := New("wasp", nil); err == nil {
		t.Error("wasp was added beside a model that is refused")
	}
}

// TestRegisterRefuses has a message that says what to change for all that can be
// wrong with a model.
func TestRegisterRefuses(t *testing.T) {
	before := len(models)
	built := func(err error) func(*Info) {
		return func(m *Info) { m.Build = func(Args) (Model, error) { return nil, err } }
	}
	param := func(change func(p *Param)) func(m *Info) {
		return func(m *Info) { change(&m.Params[0]) }
	}
	for want, change := range map[string]func(m *Info){
		`model "": "" is no name for a model: it takes 3 to 40 characters`: func(m *Info) { m.Name = "" },
		`"My" is no name`:                        func(m *Info) { m.Name = "My" },
		`"a-b-c-d-e-f" is`:                       func(m *Info) { m.Name = "a-b-c-d-e-f" },
		"yarn means the cluster's own scheduler": func(m *Info) { m.Name = "yarn" },
		"new means the command":                  func(m *Info) { m.Name = "new" },
		"model acl: the model that Build makes has the Name \"bee\"": func(m *Info) { m.Name = "acl" },
		"model bee: no Summary":                        func(m *Info) { m.Summary = "" },
		"no Source":                                    func(m *Info) { m.Source = "" },
		"no Build; set it":                             func(m *Info) { m.Build = nil },
		`two Params with the Name "share"`:             param(func(p *Param) { p.Name = "share" }),
		`parameter "a.b": its Name must be of letters`: param(func(p *Param) { p.Name = "a.b" }),
		`parameter "n": no Type "word"; want one of [int float bool`: param(func(p *Param) { p.Type = "word" }),
		`parameter "seed": an experiment's seed`: param(func(p *Param) {
			p.Name,
				p.Type = "seed", Float
		}),
		`parameter "n": no Doc`:                                          param(func(p *Param) { p.Doc = "" }),
		`parameter "n": no Choices`:                                      param(func(p *Param) { p.Type = Choice }),
		`parameter "n": its Default: "" is not a whole number`:           param(func(p *Param) { p.Default = "" }),
		`parameter "n": its Default: 11 is outside 0 to 9; give another`: param(func(p *Param) { p.Default = "11" }),
		`the defaults of its Params: its code asks for the parameter "n" as int64, which its Params do not`: param(func(p *Param) { p.Type = Float }),
		"the defaults of its Params: its Build returns no model":                                            built(nil),
		"the defaults of its Params: too many":                                                              built(errors.New("too many")),
	} {
		m := idleInfo("bee")
		change(&m)
		if err := Register(m); err == nil || !strings.HasPrefix(err.Error(), "register model ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if len(models) != before {
		t.Errorf("%d models, %d before", len(models), before)
	}
}
