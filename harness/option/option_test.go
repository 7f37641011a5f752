package option_test

import (
	"reflect"
	"testing"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/option"
)

type machine struct {
	Nodes int     `flag:"nodes" min:"1" max:"100"`
	Speed float64 `flag:"speed"`
}

type options struct {
	machine `heading:"Machines"`
	Wait    units.Duration `flag:"wait" min:"10ms" max:"1h"`
	Rule    string         `flag:"rule,r" values:"none,hadoop,late" text:"the RULE of copies" of:"RULE" without:"none"`
	Params  []string       `flag:"param"`
	Seeds   []uint64       `flag:"seed" list:","`
	Cores   []float64      `flag:"cpus" list:","`
	Quiet   bool           `flag:"quiet"`
	Other   int
}

func TestOptions(t *testing.T) {
	got := options{Rule: "none"}
	list := option.Of(&got)
	for _, x := range [][3]string{
		{"nodes", "4"},
		{"nodes", "200", "nodes: 200: want 1 to 100"},
		{"nodes", "x", `nodes: "x": want a whole number`},
		{"speed", "fast", `speed: "fast": want a number`},
		{"rule", "lat", `rule: "lat": want none, hadoop, late; did you mean "late"?`},
		{"rule", "hadoop"},
		{"wait", "2h", "wait: 2h0m0s: want 10ms to 1h"},
		{"wait", "1s"},
		{"param", "a=1,b=2"},
		{"param", "c=3"},
		{"seed", "1,2"},
		{"seed", "-1", `seed: "-1": want 0 or a positive whole number`},
		{"cpus", "0.5, 1"},
		{"cpus", "1,x", `cpus: "x": want a number`},
		{"quiet", "true"},
		{"node", "1", `unknown name "node"; did you mean "nodes"?`},
	} {
		text := ""
		if err := option.Set(list, x[0], x[1]); err != nil {
			text = err.Error()
		}
		if text != x[2] {
			t.Errorf("%s=%s: %q, want %q", x[0], x[1], text, x[2])
		}
	}
	if err := option.CheckAll(&got); err != nil {
		t.Error(err)
	}
	want := options{
		machine{Nodes: 4},
		units.Duration(time.Second), "hadoop",
		[]string{"a=1,b=2", "c=3"},
		[]uint64{1, 2},
		[]float64{0.5, 1, 1},
		true, 0,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	got.Nodes = -1
	if err := option.CheckAll(&got); err == nil || err.Error() != "nodes: -1: want 1 to 100" {
		t.Error(err)
	}
	got.Nodes = 4
	if o := list[0]; o.Heading != "Machines" || o.String() != "4" {
		t.Errorf("option %q stands under %q", o, o.Heading)
	}
	if o := list[3]; o.Name != "rule" || o.Aliases[0] != "r" || o.Usage != "the `RULE` of copies" || o.Without != "none" ||
		len(o.Values()) != 3 {
		t.Errorf("%+v", o)
	}
}
