package config

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/internal/units"
	"heddle/traces"
)

func TestFaultText(t *testing.T) {
	for _, c := range []struct {
		text, problem string
		want          Fault
	}{
		{text: "at=30s,node=r1n2,down", want: Fault{At: units.Duration(30 * time.Second), Node: "r1n2", What: FaultDown}},
		{text: "at=1m, rack=/rack1, what=up", want: Fault{At: units.Duration(time.Minute), Rack: "/rack1", What: FaultUp}},
		{text: "slow,speed=0.5,node=n", want: Fault{Node: "n", What: FaultSlow, Speed: 0.5}},
		{text: "failAttempts,share=0.1,at=5s", want: Fault{At: units.Duration(5 * time.Second), What: FaultFailAttempts, Share: 0.1}},
		{text: "", problem: "want"},
		{text: "at=5s,node=n", problem: "no kind of fault; want down"},
		{text: "5s,node=n,down", problem: `"5s": want down, up, slow, failAttempts`},
		{text: "up,node=n,down", problem: "two kinds of fault, up and down; want one"},
		{text: "at=-5s,node=n,down", problem: "-5s"},
		{text: "at=soon,node=n,down", problem: "at=soon"},
		{text: "node=n,rack=r,down", problem: "both node n and rack r; want one"},
		{text: "down", problem: "no node and no rack; want one"},
		{text: "node=n,down,speed=1", problem: "1: want none: only a fault slow"},
		{text: "node=n,slow", problem: "want 0.001 to 1000"},
		{text: "node=n,slow,speed=NaN", problem: "want 0.001 to 1000"},
		{text: "node=n,failAttempts,share=0.5", problem: "is for all nodes"},
		{text: "failAttempts,share=1.5", problem: "0 to 1"},
		{text: "node=n;reboot,down", problem: `"n;reboot": want a node's name`},
		{text: "color=red,node=n,down", problem: "color=red"},
	} {
		var list Faults
		err := list.Set(c.text)
		if c.problem != "" {
			wantError(t, err, c.problem)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if d := cmp.Diff(Faults{c.want}, list); d != "" {
			t.Errorf("%q: %s", c.text, d)
		}
	}
}

func TestFaultOn(t *testing.T) {
	nodes := []traces.NodeFacts{{Node: "a", Rack: "/rack1"}, {Node: "b", Rack: "/rack1"}, {Node: "c", Rack: "/rack2"}}
	for _, c := range []struct {
		fault Fault
		want  []traces.Node
	}{
		{Fault{Node: "b", What: FaultDown}, []traces.Node{"b"}},
		{Fault{Rack: "rack1", What: FaultDown}, []traces.Node{"a", "b"}},
		{Fault{Rack: "/rack2", What: FaultUp}, []traces.Node{"c"}},
		{Fault{What: FaultFailAttempts}, nil},
	} {
		if on, err := c.fault.On(nodes); err != nil || !slices.Equal(on, c.want) {
			t.Errorf("%+v: on %v, %v; want %v", c.fault, on, err, c.want)
		}
	}
	for _, f := range []Fault{{Node: "d", What: FaultDown}, {Rack: "rack", What: FaultSlow}} {
		if on, err := f.On(nodes); err == nil {
			t.Errorf("%+v: on %v", f, on)
		}
	}
}

// TestFaultCommand has no name of a node become more than one argument, or an
// option.
func TestFaultCommand(t *testing.T) {
	c := &FaultCommands{NodeDown: []string{"ssh", "{node}", "halt"}, NodeSlow: []string{"slow", "--node={node}", "{speed}"}}
	if got := c.For(FaultDown, "n 1", 0); got != nil {
		t.Errorf("%q of a name with a space", got)
	}
	for _, name := range []traces.Node{"", "-o", "a;b", "$(b)", "a\nb", "../a"} {
		if got := c.For(FaultDown, name, 0); got != nil {
			t.Errorf("%q of %q", got, name)
		}
	}
	if got := c.For(FaultSlow, "n1", 0.25); !slices.Equal(got, []string{"slow", "--node=n1", "0.25"}) {
		t.Errorf("%q", got)
	}
	if got := c.For(FaultUp, "n1", 0); got != nil {
		t.Errorf("%q where there is no command", got)
	}
}
