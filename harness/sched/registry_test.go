package sched

import "testing"

// TestUnknownParameter: a message lists the parameters that there are, if there are
// any.
func TestUnknownParameter(t *testing.T) {
	for want, params := range map[string][]Param{
		`no parameter "b"; the model has none`: nil,
		`no parameter "b"; known here: a, c`:   {{Name: "a"}, {Name: "c"}},
	} {
		m := Info{Params: params}
		if _, err := m.parse(Params{"b": "1"}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
