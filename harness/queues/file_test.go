package queues_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"heddle/harness/queues"
)

// two is a file of two queues, to which lines are added; the last of a key counts.
const two = "root.queues=a,b\nroot.a.capacity=40\nroot.b.capacity=60\n"

const tree = two + "root.a.queues=x,y\nroot.a.x.capacity=30\nroot.a.y.capacity=70\n"

// TestRefused has the files that stop a ResourceManager of Hadoop 3.4.2, as its scheduler was
// seen to refuse them.
func TestRefused(t *testing.T) {
	for more, want := range map[string]string{
		two + "root.b.capacity=50":                                                      "root.queues: the capacities of the children of root add up to 90 percent",
		two + "root.b.capacity=60.06":                                                   "add up to 100.06",
		two + "root.a.capacity=forty":                                                   `root.a.capacity: "forty" is no number`,
		two + "root.a.capacity=40%":                                                     "is no number",
		two + "root.a.capacity=-5\nroot.b.capacity=105":                                 "root.a.capacity: -5 percent is outside 0 to 100",
		two + "root.a.state=PAUSED":                                                     "want RUNNING or STOPPED",
		two + "root.a.maximum-applications=many":                                        `root.a.maximum-applications: "many" is no whole number`,
		two + "root.a.ordering-policy=fairest":                                          "want fifo or fair",
		two + "root.ordering-policy=fair":                                               "want utilization or priority-utilization",
		two + "resource-calculator=Dominant":                                            "none of Hadoop's",
		two + "root.b.capacity=3w":                                                      "that of root.a is a percentage, that of root.b weight",
		two + "root.b.capacity=[memory=4096,vcores=4]":                                  "mix capacities",
		two + "root.a.capacity=20000w\nroot.b.capacity=1w":                              "outside 0 to 10000",
		two + "root.a.user-settings.bob.weight=2":                                       "outside 0 to 100/minimum-user-limit-percent = 1",
		two + "root.a.accessible-node-labels=x\nroot.a.default-node-label-expression=y": "may not ask for label y",
		two + "root.a.accessible-node-labels.x.capacity=50":                             "for label x: the capacities of the children of root add up to 50 percent",
		tree + "root.a.state=STOPPED\nroot.a.x.state=RUNNING":                           "its parent root.a is STOPPED",
		tree + "root.a.x.capacity=0\nroot.a.y.capacity=0":                               "are all 0, but it has 40 percent itself",
		tree + "root.a.capacity=0\nroot.b.capacity=100":                                 "the capacity of root.a is 0, but its children have some",
		tree + "root.a.accessible-node-labels=x\nroot.a.x.accessible-node-labels=y":     "label y is not among those of its parent",
		"root.a.capacity=100":                                                           "the root has no queues",
		"":                                                                              "the root has no queues",
		"root.queues=a,b\nroot.a.capacity=[memory=4096,vcores=4]\nroot.b.capacity=[memory=1024]\nroot.a.maximum-capacity=[memory=2048]": "is more than its maximum-capacity",
		"rubbish":              `line 1: "rubbish" is no key=value`,
		"<html/>":              "want <configuration>",
		"<configuration><prop": "syntax error",
		"<configuration><include href='x'/></configuration>": "includes another file",
	} {
		_, err := queues.Read(strings.NewReader(more))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", more, err, want)
		}
	}
}

func read(t *testing.T, text string) *queues.File {
	t.Helper()
	f, err := queues.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRead reads a file of many keys, writes it in both ways and reads it again.
func TestRead(t *testing.T) {
	f := read(t, strings.ReplaceAll(`<?xml version="1.0" encoding="ISO-8859-1"?>
<configuration>
  <property><name>P.root.queues</name><value> etl , adhoc</value></property>
  <property><name>P.root.etl.capacity</name><value>${P.root.etl.share}</value></property>
  <property><name>P.root.etl.share</name><value>70</value></property>
  <property><name>P.root.etl.maximum-capacity</name><value>80</value><final>true</final></property>
  <property><name>P.root.etl.maximum-capacity</name><value>90</value></property>
  <property><name>P.root.adhoc.capacity</name><value>30</value></property>
  <property><name>P.root.adhoc.queues</name><value>people,etl</value></property>
  <property><name>P.root.adhoc.people.capacity</name><value>1w</value></property>
  <property><name>P.root.adhoc.etl.capacity</name><value>3w</value></property>
  <property><name>P.root.adhoc.people.ordering-policy</name><value>fair</value></property>
  <property><name>P.root.adhoc.people.minimum-user-limit-percent</name><value>25</value></property>
  <property><name>P.root.adhoc.user-settings.bob.weight</name><value>0.5</value></property>
  <property><name>P.maximum-am-resource-percent</name><value>0.2</value></property>
  <property><name>P.root.adhoc.etl.maximum-am-resource-percent</name><value></value></property>
  <property><name>P.root.gone.capacity</name><value>10</value></property>
  <property><name>P.root.etl.acl_submit_applications</name><value>bob</value></property>
  <property><name>P.root.etl.acl_administer_queue</name><value>bob</value></property>
  <property><name>P.root.etl.disable_preemption</name><value>true</value></property>
  <property><name>P.root.etl.accessible-node-labels</name><value>gpu</value></property>
  <property><name>P.root.adhoc.accessible-node-labels</name><value>*</value></property>
  <property><name>P.queue-mappings</name><value>u:bob:etl</value></property>
  <property><name>io.file.buffer.size</name><value>4096</value></property>
</configuration>`, "P.", queues.Prefix))
	for _, text := range []string{f.String(), f.XML()} {
		if again := read(t, text); again.String() != f.String() {
			t.Errorf("read again, it is\n%s\nand was\n%s", again, f)
		}
	}
	var paths []string
	for _, q := range f.Leaves() {
		paths = append(paths, fmt.Sprint(q.Path, " ", q.Capacity, " ", q.MaxCapacity, " ", q.AMPercent, " ", q.Fair, " ", q.UserWeights))
	}
	want := []string{
		"root.etl 70 80 0.2 false map[]", "root.adhoc.people 1w 100 0.2 true map[bob:0.5]", "root.adhoc.etl 3w 100 0.2 false map[bob:0.5]",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("queues %q, want %q", paths, want)
	}
	var list []string
	for _, k := range f.NotSimulated {
		list = append(list, k.Name+": "+k.Why)
	}
	want = []string{
		"queue-mappings: jobs go to the queue that they name",
		"root.etl.accessible-node-labels: " + queues.NoLabels,
		"root.etl.acl_submit_applications: everybody may submit to each queue",
		"root.etl.disable_preemption: yarn.resourcemanager.scheduler.monitor.enable is not true",
		"root.gone.capacity: no queue of the file has this path",
	}
	if !slices.Equal(list, want) {
		t.Errorf("not simulated %q, want %q", list, want)
	}
	for name, want := range map[string]string{"people": "root.adhoc.people", "root.etl": "root.etl", "etl": "several", "adhoc": "no queue"} {
		q, err := f.Leaf(name)
		if got := fmt.Sprint(err); err == nil && q.Path != want || err != nil && !strings.Contains(got, want) {
			t.Errorf("queue %s: %v, %v; want %s", name, q, err, want)
		}
	}
	if g, err := f.With(map[string]string{"root.etl.capacity": "60", "root.adhoc.capacity": "30"}); err == nil {
		t.Errorf("with 60 and 30 percent: %v", g)
	}
	labelled := two + "root.a.accessible-node-labels.gpu.capacity=60\nroot.b.accessible-node-labels.gpu.capacity=40\n"
	if g, err := read(t, labelled).With(map[string]string{"root.a.accessible-node-labels.gpu.capacity": "0"}); err != nil ||
		!strings.Contains(g.String(), "root.b.accessible-node-labels.gpu.capacity=100.000") {
		t.Errorf("without a share of gpu for a: %v, %v", g, err)
	}
	for text, want := range map[string]string{
		two: "root.b.capacity=90.000", "root.queues=a,b,c\nroot.a.capacity=20\nroot.b.capacity=60\nroot.c.capacity=20": "root.b.capacity=67.500\nroot.c.capacity=22.500",
		"root.queues=a,b\nroot.a.capacity=1w\nroot.b.capacity=3w": "mix capacities",
	} {
		g, err := read(t, text).With(map[string]string{"root.a.capacity": "10"})
		if err == nil && !strings.Contains(g.String(), want) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s with 10 percent for a: %v, %v; want %s", text, g, err, want)
		}
	}
	g, err := f.With(map[string]string{"root.etl.capacity": "60", "root.adhoc.capacity": "40", "queue-mappings": ""})
	if err != nil || g.Root.Children[0].Capacity.Value != 60 || f.Root.Children[0].Capacity.Value != 70 ||
		strings.Contains(g.String(), "mappings") {
		t.Errorf("with other capacities: %v, %v", g, err)
	}
}

// FuzzRead reads any text without a panic, and what it has read a second time.
func FuzzRead(f *testing.F) {
	f.Add(tree)
	f.Add("<configuration><property><name>" + queues.Prefix + "root.queues</name><value>a</value></property></configuration>")
	f.Add("root.queues=a\nroot.a.capacity=[memory=1Gi,vcores=1]\nroot.a.accessible-node-labels.x.capacity=1w")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := queues.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		if again := read(t, q.String()); again.String() != q.String() {
			t.Errorf("read again, it is\n%s\nand was\n%s", again, q)
		}
	})
}
