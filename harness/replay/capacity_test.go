package replay

import (
	"fmt"
	"slices"
	"testing"

	"heddle/harness/config"
	"heddle/harness/replay/recorded"
	"heddle/harness/sched/schedtest"
	"heddle/traces"
)

// TestCapacityAgain replays a trace in which a node's capacity fell to half and came back:
// the replay has the same changes at the same times. A cluster of other nodes has none.
func TestCapacityAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	n := x.Nodes[0]
	x.Capacity = []traces.NodeCapacity{
		{T: 3e9, Node: n.Node, MemoryBytes: n.MemoryBytes / 2, VCores: n.VCores},
		{T: 9e9, Node: n.Node, MemoryBytes: n.MemoryBytes, VCores: n.VCores},
	}
	for _, c := range []struct {
		name   string
		change recorded.Change
		again  bool
	}{{"the same cluster", recorded.Change{}, true}, {"other nodes", recorded.Change{Nodes: 8}, false}} {
		got := []string{}
		_, _, err := Run(&Config{Trace: x, Model: x.OwnModel(), Seed: 1, Change: c.change, Record: func(e traces.Event) {
			if e, ok := e.(*traces.NodeCapacity); ok {
				got = append(got, fmt.Sprint(e.T, " ", e.Node, " ", e.MemoryBytes))
			}
		}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := []string{}
		if c.again {
			want = []string{
				fmt.Sprint(traces.Time(3e9), " ", n.Node, " ", n.MemoryBytes/2),
				fmt.Sprint(traces.Time(9e9), " ", n.Node, " ", n.MemoryBytes),
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// TestToldAgain replays a trace whose model was told of the capacity late, or not at all: a
// model of the replay is told as much, and the replay's own trace says so. A timetable that
// the replay is given comes with its own.
func TestToldAgain(t *testing.T) {
	x := loaded(t, "r01-wordcount-yarn")
	n := x.Nodes[0]
	x.Capacity = []traces.NodeCapacity{{T: 3e9, Node: n.Node, MemoryBytes: n.MemoryBytes / 2, VCores: n.VCores}}
	made := schedtest.RegisterListener(t, 1000)
	for _, c := range []struct {
		told  traces.Telling
		given config.Capacity
		want  string
	}{
		{traces.Telling{}, config.Capacity{}, "3000"},
		{traces.Telling{LagMs: 2500}, config.Capacity{}, "5500"},
		{traces.Telling{None: true}, config.Capacity{}, "nothing"},
		{traces.Telling{None: true}, config.Capacity{Steps: []config.CapacityStep{{Left: 0.5}}}, "0"},
	} {
		x.Header.Told = c.told
		_, h, err := Run(&Config{Trace: x, Model: config.Model{Model: "test-listener"}, Seed: 1, Behaviour: config.Behaviour{Capacity: c.given}})
		mustDo(t, err)
		got := "nothing"
		if told := (*made)[len(*made)-1].Told; told != nil {
			change, _ := told.Change(0)
			got = fmt.Sprint(change.AtMs - x.FirstMs()*int64(len(c.given.Steps)))
		}
		want := c.told
		if c.given.Given() {
			want = traces.Telling{}
		}
		if got != c.want || h.Told != want {
			t.Errorf("%+v, given %+v: told of a change at %s, header %+v; want %s", c.told, c.given, got, h.Told, c.want)
		}
	}
}
