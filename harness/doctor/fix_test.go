package doctor

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"heddle/collectors/hdfs"
	"heddle/harness/internal/golden"
	"heddle/harness/require"
)

// fixFor are the options of the tests' plans.
func fixFor(features ...string) FixOptions {
	o := DefaultFix()
	if o.Triples, o.File = 2, "blue.yaml"; len(features) > 0 {
		o.Features = features
	}
	return o
}

// handMade is a cluster as its owner set it up: labels are off, and the scheduler
// reads a file.
func handMade(f *fake) {
	lacks["stock-settings"](f)
	f.conf["yarn.node-labels.enabled"] = "false"
	f.conf["yarn.admin.acl"] = "yarn,hdfs"
	lacks["no-labels"](f)
	lacks["no-cache"](f)
	f.instead["rm /ws/v1/cluster/nodes"] = reply{200, "application/json", `{"nodes":{"node":[
		{"id":"r1n1:45454","nodeHostName":"r1n1","state":"RUNNING","version":"3.4.2"},
		{"id":"r1n2:45454","nodeHostName":"r1n2","state":"RUNNING","version":"3.4.2"}]}}`}
	f.instead["rm /ws/v1/cluster/scheduler"] = reply{
		200, "application/json",
		`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queuePath":"root","queues":{"queue":[
		{"queueName":"etl","queuePath":"root.etl","capacity":70,"queues":{"queue":[
			{"type":"capacitySchedulerLeafQueueInfo","queueName":"night","queuePath":"root.etl.night","capacity":90,"nodeLabels":["gpu"]}]}},
		{"type":"capacitySchedulerLeafQueueInfo","queueName":"adhoc","queuePath":"root.adhoc","capacity":30}]}}}}`,
	}
}

// withSettings makes the scheduler report these settings, in this store.
func withSettings(store string, settings map[string]string) func(*fake) {
	return func(f *fake) {
		handMade(f)
		f.conf["yarn.scheduler.configuration.store.class"] = store
		text := "<configuration>"
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			text += "<property><name>" + require.Queues + name + "</name><value>" + settings[name] + "</value></property>"
		}
		f.instead["rm /ws/v1/cluster/scheduler-conf"] = reply{200, "application/xml", text + "</configuration>"}
	}
}

// fixes are clusters and what is planned for them, by the name of golden files.
var fixes = map[string]struct {
	lack    func(*fake)
	options func(*FixOptions)
}{
	"healthy":       {func(*fake) {}, nil},
	"hand-made":     {handMade, nil},
	"one-queue":     {handMade, func(o *FixOptions) { o.Queue, o.Triples, o.Features = "root.adhoc", 1, []string{Steered} }},
	"cache-folder":  {handMade, func(o *FixOptions) { o.CacheFolder, o.Features = "/mnt/cache", []string{Cached} }},
	"captured-only": {func(f *fake) { f.historyConf["mapreduce.jobhistory.done-dir"] = "file:///done" }, func(o *FixOptions) { o.Features = []string{Captured} }},
	"fair": {func(f *fake) {
		lacks["fair-scheduler"](f)
		f.conf["yarn.resourcemanager.scheduler.class"] = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
	}, nil},
	"kerberos":     {lacks["kerberos"], nil},
	"admin-group":  {lacks["label-writes-group"], nil},
	"store-zk":     {withSettings("zk", map[string]string{"root.etl.night.accessible-node-labels": "gpu", "node-locality-delay": "-1"}), nil},
	"store-memory": {withSettings("memory", map[string]string{"root.etl.accessible-node-labels.am.capacity": "30"}), nil},
	"two-masters": {func(f *fake) {
		handMade(f)
		f.conf["yarn.node-labels.fs-store.root-dir"] = "file:///var/lib/hadoop-yarn/node-labels"
		f.conf["fs.defaultFS"] = "hdfs://blue"
		f.cluster.ResourceManagers = []string{f.serve(f.t, "standby", "http://rm2:8088", map[string]string{}, map[string]string{
			"yarn.node-labels.enabled": "true", "yarn.cluster.max-application-priority": "0",
		})}
		f.cluster.NameNodes = append(f.cluster.NameNodes, "namenode2:8020")
		f.conf["dfs.encrypt.data.transfer"] = "true"
	}, nil},
}

// TestFixPlans: a plan is as its golden files say, in all its forms.
func TestFixPlans(t *testing.T) {
	for name, c := range fixes {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			c.lack(f)
			o := fixFor()
			if c.options != nil {
				c.options(&o)
			}
			p := f.plan(t, o)
			for ending, write := range map[string]func(io.Writer) error{"txt": p.WriteText, "xml": p.WriteXML, "yml": p.WriteAnsible} {
				golden.Check(t, "testdata/golden/fix/"+name+"."+ending, f.written(t, write))
			}
			golden.Check(t, "testdata/golden/fix/"+name+".json", f.written(t, func(out io.Writer) error {
				enc := json.NewEncoder(out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(p)
			}))
			checkForms(t, p)
		})
	}
}

// checkForms: the XML is what Hadoop reads in an element configuration, Ansible's
// variables are YAML, and both have the changes that take effect in files.
func checkForms(t *testing.T, p *FixPlan) {
	t.Helper()
	var text, vars bytes.Buffer
	if err := errors.Join(p.WriteXML(&text), p.WriteAnsible(&vars)); err != nil {
		t.Fatal(err)
	}
	var inXML struct {
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal([]byte("<configuration>"+text.String()+"</configuration>"), &inXML); err != nil {
		t.Fatal(err)
	}
	var inYAML struct {
		Properties map[string]map[string]string `yaml:"steering_properties"`
		Restart    []string                     `yaml:"steering_restart"`
	}
	if err := yaml.Unmarshal(vars.Bytes(), &inYAML); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(inYAML.Restart, p.Restart) {
		t.Errorf("restart %v, want %v", inYAML.Restart, p.Restart)
	}
	changes := p.inFiles()
	if len(inXML.Properties) != len(changes) {
		t.Fatalf("%d properties in XML, want %d", len(inXML.Properties), len(changes))
	}
	for i, c := range changes {
		if got := inXML.Properties[i]; got.Name != c.Property || got.Value != c.Value {
			t.Errorf("XML has %v, want %s = %s", got, c.Property, c.Value)
		}
		if got := inYAML.Properties[c.File][c.Property]; got != c.Value {
			t.Errorf("YAML has %s = %q, want %q", c.Property, got, c.Value)
		}
	}
}

// TestFixOfEachRequirement: a requirement that is broken is in the plan of its
// feature, and in none of another.
func TestFixOfEachRequirement(t *testing.T) {
	for property, breach := range breaches() {
		t.Run(property, func(t *testing.T) {
			i := slices.IndexFunc(require.All(0).Settings, func(s require.Setting) bool { return s.Property == property })
			s := require.All(0).Settings[i]
			for _, feature := range []string{Captured, Steered, Cached} {
				f := newFake(t)
				breach(f)
				o := fixFor(feature)
				if strings.Contains(property, "pmem") {
					o.CacheFolder = "/mnt/cache"
				}
				p := f.plan(t, o)
				planned := slices.ContainsFunc(p.Changes, func(c Change) bool {
					return c.File == s.File && strings.HasPrefix(c.Property, strings.Split(s.Property, "QUEUE")[0]) && (c.Property == s.Property || strings.Contains(s.Property, "QUEUE"))
				})
				if planned != (feature == s.Feature) {
					t.Errorf("to be %s: planned is %v; plan %+v", feature, planned, p.Changes)
				}
			}
		})
	}
}

// TestFixNeedsTheResourceManager: without it nothing is known, and a plan of all
// requirements would be wrong.
func TestFixNeedsTheResourceManager(t *testing.T) {
	for _, name := range []string{"rm-down", "rm-denied", "rm-wrong-port"} {
		f := newFake(t)
		lacks[name](f)
		if p, err := f.tryPlan(t, fixFor()); err == nil {
			t.Errorf("%s: plan %+v, want an error", name, p)
		}
	}
	f := newFake(t)
	handMade(f)
	f.hdfs.root = hdfs.ErrUnreachable
	p := f.plan(t, fixFor(Cached))
	if len(p.Changes) != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "cannot be known") {
		t.Errorf("without NameNode: %+v, want a note and no change", p)
	}
	o := fixFor(Steered)
	o.Queue = "root.etl"
	f = newFake(t)
	handMade(f)
	if _, err := f.tryPlan(t, o); err == nil || !strings.Contains(err.Error(), `no leaf queue "root.etl"`) {
		t.Errorf("a queue with children: error %v", err)
	}
}

func (f *fake) plan(t *testing.T, o FixOptions) *FixPlan {
	t.Helper()
	p, err := f.tryPlan(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f *fake) tryPlan(t *testing.T, o FixOptions) (*FixPlan, error) {
	e := f.start(t)
	defer e.Close()
	return e.plan(t.Context(), o)
}

func (f *fake) written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return f.stable(b.String())
}
