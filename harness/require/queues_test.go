package require

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnclient"
)

func TestLackingQueueSettings(t *testing.T) {
	s := yarnclient.Scheduler{Queues: []yarnclient.Queue{
		{Path: "root"},
		{Path: "root.a", Parent: "root", Leaf: true, AbsolutePct: 30},
		{Path: "root.b", Parent: "root", AbsolutePct: 70},
		{Path: "root.b.c", Parent: "root.b", Leaf: true, AbsolutePct: 28},
		{Path: "root.b.d", Parent: "root.b", Leaf: true, AbsolutePct: 42},
	}}
	if got := LargestLeaf(s); got != "root.b.d" {
		t.Errorf("the largest leaf is %q, want root.b.d", got)
	}
	others := yarnclient.Scheduler{Queues: []yarnclient.Queue{
		{Path: "root", AbsolutePct: 100},
		{Path: "root.a", Parent: "root", Leaf: true, Terms: yarnclient.InWeights, AbsolutePct: 25, Labels: []string{"gpu"}},
		{Path: "root.b", Parent: "root", Leaf: true, Terms: yarnclient.InAbsolute, Partitions: []yarnclient.QueuePartition{
			{Partition: "", MinMemoryMB: 6144}, {Partition: "am", AbsolutePct: 40}, {Partition: "m00", MinMemoryMB: absoluteMB},
		}},
		{Path: "root.users", Parent: "root", AbsolutePct: 60},
		{Path: "root.users.alice", Parent: "root.users", Leaf: true, AutoCreated: true, AbsolutePct: 60},
		{Path: "root.mixed", Parent: "root", Leaf: true, Terms: "mixed"},
	}}
	if got := LargestLeaf(others); got != "root.a" {
		t.Errorf("the largest leaf is %q, want root.a: not what YARN made for a user", got)
	}
	if got := WholeLabels(others.Queues[2]); !slices.Equal(got, []string{"m00"}) {
		t.Errorf("whole labels %v, want m00", got)
	}
	labels := Labels{Masters: "am", Jobs: []string{"m00"}}
	for _, c := range []struct {
		name, queue string
		conf        map[string]string // without the part that all names begin with
		want        []string          // NAME=VALUE of what is lacking, and +ADDED
		wrong       string
	}{
		{"nothing set", "root.a", nil, []string{
			"root.a.accessible-node-labels=am,m00", "root.a.accessible-node-labels.am.capacity=100",
			"root.a.accessible-node-labels.m00.capacity=100",
			"root.accessible-node-labels.am.capacity=100", "root.accessible-node-labels.m00.capacity=100",
		}, ""},
		{"all set", "root.a", map[string]string{
			"root.a.accessible-node-labels": "*", "root.a.accessible-node-labels.am.capacity": "30",
			"root.a.accessible-node-labels.m00.capacity": "100.0",
			"root.accessible-node-labels.am.capacity":    "100", "root.accessible-node-labels.m00.capacity": "100",
		}, nil, ""},
		{"lists are added to", "root.b.c", map[string]string{
			"root.b.c.accessible-node-labels": "gpu, am", "root.b.c.accessible-node-labels.am.capacity": "100",
			"root.b.c.accessible-node-labels.m00.capacity": "100",
			"root.b.accessible-node-labels":                "gpu", "root.b.accessible-node-labels.am.capacity": "100",
			"root.b.accessible-node-labels.m00.capacity": "50",
			"root.accessible-node-labels.am.capacity":    "100", "root.accessible-node-labels.m00.capacity": "100",
		}, []string{
			"root.b.c.accessible-node-labels=gpu,am,m00", "root.b.accessible-node-labels=gpu,am,m00",
			"root.b.accessible-node-labels.m00.capacity=100",
		}, ""},
		{
			"another queue has a part", "root.b.c",
			map[string]string{"root.b.d.accessible-node-labels.m00.capacity": "20"},
			nil,
			"queue root.b.d has the capacity 20 of label m00",
		},
		{
			"in weights", "own root.a",
			map[string]string{"root.a.accessible-node-labels": "*", "root.a.accessible-node-labels.m00.capacity": "0w"},
			[]string{
				"root.a.accessible-node-labels.am.capacity=1w", "root.a.accessible-node-labels.m00.capacity=1w",
				"root.accessible-node-labels.am.capacity=100", "root.accessible-node-labels.m00.capacity=100",
			},
			"",
		},
		{"another queue has a weight", "own root.a", map[string]string{
			"root.a.accessible-node-labels.m00.capacity": "2w",
			"root.b.accessible-node-labels.m00.capacity": "1w",
		}, nil, "root.b has the capacity 1w of label m00"},
		{"in absolute terms", "own root.b", map[string]string{
			"root.b.accessible-node-labels":             "*",
			"root.b.accessible-node-labels.am.capacity": "[memory=512,vcores=1]",
		}, []string{
			"root.b.accessible-node-labels.m00.capacity=[memory=1000000000,vcores=1000000]",
			"root.accessible-node-labels.am.capacity=100", "root.accessible-node-labels.m00.capacity=100",
		}, ""},
		{"no settings known", "own root.a", nil, nil, "root.b has the capacity 40 % of label am"},
		{"no settings known, absolute terms", "own root.b", nil, []string{
			"root.b.accessible-node-labels=am,m00", "root.accessible-node-labels.am.capacity=100", "root.accessible-node-labels.m00.capacity=100",
		}, ""},
		{"made by YARN", "own root.users.alice", nil, nil, "root.users.alice was made by YARN"},
		{"mixed terms", "own root.mixed", nil, nil, "legacy-queue-mode.enabled"},
		{"not the legacy mode", "root.a", map[string]string{"legacy-queue-mode.enabled": "false"}, nil, "set it to true"},
		{"a queue with children", "root.b", nil, nil, `no leaf queue "root.b"`},
		{"no such queue", "root.x", nil, nil, `no leaf queue "root.x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var conf map[string]string
			if c.conf != nil {
				conf = map[string]string{}
			}
			for name, value := range c.conf {
				conf[Queues+name] = value
			}
			in, queue := s, c.queue
			if own, found := strings.CutPrefix(c.queue, "own "); found {
				in, queue = others, own
			}
			lacking, err := LackingQueueSettings(in, conf, queue, labels)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("error %v, want %q in it", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range lacking {
				got = append(got, strings.TrimPrefix(q.Name, Queues)+"="+q.Value)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
