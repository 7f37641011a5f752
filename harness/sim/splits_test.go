package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// submittedAs returns the hosts that the master and the scheduler know of each map after
// a job of three maps was submitted: "splits|replicas", and where the input really is.
func submittedAs(t *testing.T, c *Config, hosts *state.Hosts) (string, *state.Hosts, *Job, error) {
	t.Helper()
	x := simpleJob("a", 0, 3, 0, Work{InputBytes: 1}, Work{InputBytes: 2}, Work{InputBytes: 3})
	x.Replicas.Add(0, 1)
	x.Replicas.Add(1, 2)
	x.Replicas.Add(2, 3)
	x.Cached.Add(1)
	x.Cached.Add()
	x.Cached.Add(3)
	x.Blocks = []traces.Block{10, 11, 12}
	x.SplitHosts = hosts
	s := stateOf(t, 4)
	c.Cluster = slots(4, 1)
	var p splits
	p.begin(c, s)
	id, real, err := p.submit(&x)
	if err != nil {
		return "", nil, &x, err
	}
	text := ""
	for m := range state.TaskID(3) {
		text += fmt.Sprint(s.View().SplitHosts(id, m), "|", s.View().Replicas(id, m), " ")
	}
	return strings.TrimSpace(text), real, &x, nil
}

// The master sees what Config.Splits says. The cluster's own scheduler (Native) knows
// nothing but that, and then the simulator has to remember where the input is.
func TestSplits(t *testing.T) {
	one := func() *state.Hosts {
		h := &state.Hosts{}
		h.Add(3)
		h.Add(3)
		h.Add(0)
		return h
	}
	plan := sched.SplitPlan{{Split: 2, Node: 1}, {Split: 0, Node: 3}, {Split: 1, Node: 0}}
	const all = "[0 1]|[0 1] [1 2]|[1 2] [2 3]|[2 3]"
	for _, c := range []struct {
		name   string
		config Config
		hosts  *state.Hosts
		want   string
		hidden bool // the scheduler does not know the replicas
	}{
		{"all replicas", Config{Actuator: Labels}, nil, all, false},
		{"all replicas, own scheduler", Config{}, nil, all, false},
		{"hosts of the recorded splits", Config{Actuator: Labels}, one(), "[3]|[0 1] [3]|[1 2] [0]|[2 3]", false},
		{"hosts of the recorded splits, own scheduler", Config{}, one(), "[3]|[3] [3]|[3] [0]|[0]", true},
		{"cached copies", Config{Splits: CachedOnly, Actuator: Ideal}, nil, "[1]|[0 1] [1 2]|[1 2] [3]|[2 3]", false},
		{"cached copies, own scheduler", Config{Splits: CachedOnly}, nil, "[1]|[1] [1 2]|[1 2] [3]|[3]", true},
		{"planned", Config{Splits: Planned, Actuator: Labels, Model: &planner{plan: plan}}, nil, "[1]|[2 3] [3]|[0 1] [0]|[1 2]", false},
		{"planned, own scheduler", Config{Splits: Planned, Model: &planner{plan: plan}}, nil, "[1]|[1] [3]|[3] [0]|[0]", true},
		{"a model that has no plan for the job", Config{Splits: Planned, Model: &planner{}}, nil, all, false},
		{"a plan that nobody asks for", Config{Model: &planner{plan: plan}}, nil, all, false},
	} {
		got, real, x, err := submittedAs(t, &c.config, c.hosts)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
			continue
		}
		if (real != nil) != c.hidden {
			t.Errorf("%s: the simulator remembers %v", c.name, real)
		}
		if planned := c.want[:3] == "[1]" && c.config.Splits == Planned; planned != (x.MapWork[0].InputBytes == 3 && x.Blocks[0] == 12) {
			t.Errorf("%s: the maps' order is %v, blocks %v", c.name, x.MapWork, x.Blocks)
		}
		if c.hidden {
			for m := range int32(3) {
				if got := of(real, m); !slices.Equal(got, of(&x.Replicas, m)) {
					t.Errorf("%s: map %d is remembered to be on %v, want %v", c.name, m, got, of(&x.Replicas, m))
				}
			}
		}
	}
}

// A plan puts maps into another order. Each keeps what it reads, and where that is; and the
// lists of the job, which its source may give again, stay as they are.
func TestPlansMoveMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		node := rapid.Custom(func(t *rapid.T) state.NodeID { return state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "node")) })
		maps := rapid.IntRange(1, 12).Draw(t, "maps")
		x := simpleJob("a", 0, int32(maps), 0)
		order := make([]int, maps)
		for m := range maps {
			order[m] = m
			x.MapWork = append(x.MapWork, Work{InputBytes: int64(m)})
			x.Blocks = append(x.Blocks, traces.Block(100+m))
			x.Replicas.Add(rapid.SliceOfNDistinct(node, 0, nodes, rapid.ID[state.NodeID]).Draw(t, "replicas")...)
			x.Cached.Add()
		}
		var plan sched.SplitPlan
		for _, m := range rapid.Permutation(order).Draw(t, "order") {
			plan = append(plan, sched.PlannedSplit{Split: state.TaskID(m), Node: node.Draw(t, "planned")})
		}
		s := stateOf(t, nodes)
		var p splits
		p.begin(&Config{Cluster: slots(nodes, 1), Actuator: Labels, Splits: Planned, Model: &planner{plan: plan}}, s)
		before := x
		id, _, err := p.submit(&x)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range plan {
			m := state.TaskID(i)
			if x.MapWork[i].InputBytes != int64(e.Split) || x.Blocks[i] != traces.Block(100+e.Split) || before.MapWork[i].InputBytes != int64(i) ||
				before.Blocks[i] != traces.Block(100+i) {
				t.Fatalf("map %d is split %v of block %v, want split %d", i, x.MapWork[i], x.Blocks[i], e.Split)
			}
			if at := s.View().Replicas(id, m); !slices.Equal(at, of(&before.Replicas, int32(e.Split))) ||
				!slices.Equal(s.View().SplitHosts(id, m), []state.NodeID{e.Node}) {
				t.Fatalf("map %d reads from %v by its split on %v; split %d is on %v, and planned for %d", i, at, s.View().SplitHosts(id, m), e.Split,
					of(&before.Replicas, int32(e.Split)), e.Node)
			}
		}
	})
}
