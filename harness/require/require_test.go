package require

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"heddle/harness/internal/golden"
	"heddle/traces/errtest"
)

// What people and other programs read, whole. Run with -update after a change
// that is meant.
func TestGolden(t *testing.T) {
	r := All(2)
	var text, data bytes.Buffer
	errtest.None(t, r.WriteText(&text))
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	errtest.None(t, enc.Encode(r))
	golden.Check(t, "testdata/requirements.txt", text.Bytes())
	golden.Check(t, "testdata/requirements.json", data.Bytes())
}

// The Ansible collection has the same requirements. Run with -update after a
// change of the table.
func TestAnsible(t *testing.T) {
	var b bytes.Buffer
	errtest.None(t, All(Triples).WriteAnsible(&b))
	golden.Check(t, "../../ansible/roles/hadoop/vars/requirements.yml", b.Bytes())
	var vars struct {
		Requirements []struct{ Property, Value, File, Feature string } `yaml:"hadoop_requirements"`
		Labels       Labels                                            `yaml:"hadoop_requirement_labels"`
	}
	errtest.None(t, yaml.Unmarshal(b.Bytes(), &vars))
	if d := cmp.Diff(All(Triples).Labels, vars.Labels); d != "" {
		t.Errorf("labels (-want +got):\n%s", d)
	}
	seen := map[string]bool{}
	for _, r := range vars.Requirements {
		if seen[r.Property] || r.Value == "" || r.File == "" || r.Feature == "" ||
			strings.ContainsAny(strings.Replace(r.Property, ".LABEL.", "", 1), "QLF") {
			t.Errorf("%+v: lacks something, is there twice, or has a word in place of which something has to stand", r)
		}
		seen[r.Property] = true
	}
	for _, s := range settings {
		for _, name := range s.names() {
			if !seen[name] && s.Value != "BYTES" {
				t.Errorf("no property %s", name)
			}
		}
	}
}

// Every row says all that its readers rely on, and its own value is good.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if s.Feature == "" || s.Check == "" || s.Why == "" || seen[s.Property] {
			t.Errorf("%+v: a row lacks something, or is there twice", s)
		}
		seen[s.Property] = true
		if s.Value != "BYTES" && !s.Met(s.Value) {
			t.Errorf("%s: its value %s is not good", s.Property, s.Value)
		}
	}
	for _, s := range settings {
		if s.Or != "" && !seen[s.Or] {
			t.Errorf("%s: %s, which does instead, is no row", s.Property, s.Or)
		}
	}
}

func TestMet(t *testing.T) {
	for _, c := range []struct {
		property, value string
		want            bool
	}{
		{"hadoop.security.authentication", "", true},
		{"hadoop.security.authentication", "kerberos", true},
		{"hadoop.security.authentication", "custom", false},
		{"mapreduce.jobhistory.done-dir", "hdfs://a/done", true},
		{"mapreduce.jobhistory.done-dir", "file:///done", false},
		{"mapreduce.jobhistory.jhist.format", "binary", true},
		{"yarn.node-labels.fs-store.root-dir", "", false},
		{"yarn.node-labels.fs-store.root-dir", "file:///tmp/x", false},
		{"yarn.node-labels.fs-store.root-dir", "hdfs://a/tmp/x", true},
		{Queues + "node-locality-delay", "", false},
		{Queues + "node-locality-delay", "-1", true},
		{Queues + "schedule-asynchronously.scheduling-interval-ms", "", true},
		{Queues + "schedule-asynchronously.scheduling-interval-ms", "5000", false},
		{"yarn.cluster.max-application-priority", "0", false},
		{"yarn.scheduler.configuration.store.class", "", false},
		{"yarn.scheduler.configuration.store.class", "zk", true},
		{Queues + "QUEUE.maximum-am-resource-percent", "0", false},
		{Queues + "QUEUE.maximum-am-resource-percent", "0.25", true},
	} {
		for _, s := range settings {
			if s.Property == c.property && s.Met(c.value) != c.want {
				t.Errorf("%s = %q: met is %v, want %v", c.property, c.value, !c.want, c.want)
			}
		}
	}
}

func TestWhole(t *testing.T) {
	got := Whole([]string{"a01", "m00", "a00", "r00", "m01", "idle", "am", "r1", "r02"})
	if d := cmp.Diff([]string{"00"}, got); d != "" {
		t.Error(d)
	}
	for label, want := range map[string]bool{"idle": true, "a00": true, "am": false, "": false, "m001": false} {
		if InPool(label) != want {
			t.Errorf("InPool(%q) is %v", label, !want)
		}
	}
}
