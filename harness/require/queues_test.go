package require

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnclient"
)

func TestLackingQueueSettings(t *testing.T) {
	s := yarnclient.Scheduler{Queues: []yarnclient.Queue{
		{Path: "root"},
		{Path: "root.a", Parent: "root", Leaf: true, CapacityPct: 30},
		{Path: "root.b", Parent: "root", CapacityPct: 70},
		{Path: "root.b.c", Parent: "root.b", Leaf: true, CapacityPct: 40},
		{Path: "root.b.d", Parent: "root.b", Leaf: true, CapacityPct: 60},
	}}
	if got := LargestLeaf(s); got != "root.b.d" {
		t.Errorf("the largest leaf is %q, want root.b.d", got)
	}
	labels := Labels{Masters: "am", Jobs: []string{"m00"}}
	for _, c := range []struct {
		name, queue string
		conf        map[string]string // without the part that all names begin with
		want        []string          // NAME=VALUE of what is lacking, and +ADDED
		wrong       string
	}{
		{"nothing set", "root.a", nil, []string{
			"root.a.accessible-node-labels=am,m00+am,m00", "root.a.accessible-node-labels.am.capacity=100", "root.a.accessible-node-labels.m00.capacity=100",
			"root.accessible-node-labels.am.capacity=100", "root.accessible-node-labels.m00.capacity=100",
		}, ""},
		{"all set", "root.a", map[string]string{
			"root.a.accessible-node-labels": "*", "root.a.accessible-node-labels.am.capacity": "30", "root.a.accessible-node-labels.m00.capacity": "100.0",
			"root.accessible-node-labels.am.capacity": "100", "root.accessible-node-labels.m00.capacity": "100",
		}, nil, ""},
		{"lists are added to", "root.b.c", map[string]string{
			"root.b.c.accessible-node-labels": "gpu, am", "root.b.c.accessible-node-labels.am.capacity": "100", "root.b.c.accessible-node-labels.m00.capacity": "100",
			"root.b.accessible-node-labels": "gpu", "root.b.accessible-node-labels.am.capacity": "100", "root.b.accessible-node-labels.m00.capacity": "50",
			"root.accessible-node-labels.am.capacity": "100", "root.accessible-node-labels.m00.capacity": "100",
		}, []string{"root.b.c.accessible-node-labels=gpu,am,m00+m00", "root.b.accessible-node-labels=gpu,am,m00+am,m00", "root.b.accessible-node-labels.m00.capacity=100"}, ""},
		{"another queue has a part", "root.b.c", map[string]string{"root.b.d.accessible-node-labels.m00.capacity": "20"}, nil, "queue root.b.d has 20 % of label m00"},
		{"a queue with children", "root.b", nil, nil, `no leaf queue "root.b"`},
		{"no such queue", "root.x", nil, nil, `no leaf queue "root.x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := map[string]string{}
			for name, value := range c.conf {
				conf[Queues+name] = value
			}
			lacking, err := LackingQueueSettings(s, conf, c.queue, labels)
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
				line := strings.TrimPrefix(q.Name, Queues) + "=" + q.Value
				if q.Added != "" {
					line += "+" + q.Added
				}
				if q.Present != conf[q.Name] {
					t.Errorf("%s is %q, want %q", q.Name, q.Present, conf[q.Name])
				}
				got = append(got, line)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
