package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/internal/units"
)

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	for _, c := range []struct {
		want string
		bad  func(*Config)
	}{
		{`--name "Big Lab"`, func(c *Config) { c.Name = "Big Lab" }},
		{`--name "a.b"`, func(c *Config) { c.Name = "a.b" }},
		{"--nodes 0", func(c *Config) { c.Nodes = 0 }},
		{"--racks 5", func(c *Config) { c.Racks = 5 }},
		{"--slots 0", func(c *Config) { c.Slots = 0 }},
		{"--container 1MiB", func(c *Config) { c.Container = 1 << 20 }},
		{"--cpus 0.01", func(c *Config) { c.CPUs = CPUs{1, 0.01} }},
		{"--memory 1GiB", func(c *Config) { c.Memory = 1 << 30 }},
		{"--disk 1B/s", func(c *Config) { c.Disk = 1 }},
		{"--link 1B/s", func(c *Config) { c.Link = 1 }},
		{"--uplink 1B/s", func(c *Config) { c.Uplink = 1 }},
		{"--cache 1B", func(c *Config) { c.Cache = 1 }},
		{"--block-size 100000B", func(c *Config) { c.BlockSize = 100001 }},
		{"--replication 5", func(c *Config) { c.Replication = 5 }},
		{"--am-heartbeat 0s", func(c *Config) { c.AMHeartbeat = 0 }},
		{"--node-expiry 1s", func(c *Config) { c.NodeExpiry = units.Duration(time.Second) }},
		{"--node-expiry 2m", func(c *Config) { c.NMHeartbeat = units.Duration(50 * time.Second) }},
		{`--scheduler "fifo"`, func(c *Config) { c.Scheduler = "fifo" }},
	} {
		conf := Default()
		c.bad(&conf)
		err := conf.Validate()
		flag, _, _ := strings.Cut(c.want, " ")
		wantError(t, err, flag+" ")
	}
}

func TestConfigRoundTrip(t *testing.T) {
	want := Default()
	want.CPUs = CPUs{1, 0.4}
	data := must(json.Marshal(want))
	got := Config{Name: want.Name}
	mustDo(t, json.Unmarshal(data, &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings read back from %s differ:\n%s", data, diff)
	}
	if !sameConfig(want, got) {
		t.Errorf("read back settings count as different: %s", differences(want, got))
	}
}

// A lab that an earlier version of heddle has made can be opened: what its file lacks
// is as usual.
func TestOpenEarlier(t *testing.T) {
	if _, err := findCgroups("/"); err != nil {
		t.Skip(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root, err := stateFolder("old")
	if err == nil {
		err = os.MkdirAll(root, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "lab.json"), []byte(`{"config": {"nodes": 6, "racks": 2}, "network": 100}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := must(Open("old"))
	if c := l.Config(); c.Nodes != 6 || c.NodeExpiry != Default().NodeExpiry {
		t.Errorf("%d nodes, nodeExpiry %v; want 6 and %v", c.Nodes, c.NodeExpiry, Default().NodeExpiry)
	}
}

// A lab whose file lacks the racks, or has more of them than nodes, is refused: nobody
// can say which nodes it has.
func TestOpenWithoutRacks(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root, err := stateFolder("odd")
	if err == nil {
		err = os.MkdirAll(root, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{`{"nodes": 6}`, `{}`, `{"nodes": 2, "racks": 3}`, `{"nodes": 2, "racks": -1}`} {
		mustDo(t, os.WriteFile(filepath.Join(root, "lab.json"), []byte(`{"config": `+config+`, "network": 100}`), 0o600))
		wantError(t, errOf(Open("odd")), "racks")
	}
}

func TestDifferencesNameTheSetting(t *testing.T) {
	a, b := Default(), Default()
	b.Nodes, b.HadoopHome = 6, "/opt/hadoop"
	if got, want := differences(a, b), `hadoopHome none, not "/opt/hadoop"; nodes 4, not 6`; got != want {
		t.Errorf("differences = %q, want %q", got, want)
	}
}

func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		text, want string // want empty: an error
	}{{"1,0.4", "1,0.4"}, {" 2 , 0 ", "2,0"}, {"", ""}, {"1,,2", ""}, {"-1", ""}, {"NaN", ""}, {"inf", ""}} {
		cpus := CPUs{7}
		err := cpus.Set(c.text)
		switch {
		case c.want == "" && (err == nil || cpus.String() != "7"):
			t.Errorf("%q: %v, error %v; want an error and the old value", c.text, cpus, err)
		case c.want != "" && (err != nil || cpus.String() != c.want):
			t.Errorf("%q = %v, error %v; want %s", c.text, cpus, err, c.want)
		}
	}
}

func TestFoldersMustSuitHadoop(t *testing.T) {
	for _, dir := range []string{"relative", "/with space", "/with:colon", "/with,comma", "/with$dollar"} {
		t.Setenv("XDG_STATE_HOME", dir)
		if path, err := stateFolder("lab"); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
			t.Errorf("state folder below %q = %q, error %v; want an error that names XDG_STATE_HOME", dir, path, err)
		}
	}
	t.Setenv("XDG_STATE_HOME", "/var/lib/x")
	if path, err := stateFolder("a-1"); path != "/var/lib/x/heddle/labs/a-1" || err != nil {
		t.Errorf("state folder = %q, error %v", path, err)
	}
	if _, err := stateFolder("../x"); err == nil {
		t.Error("a lab may not be called ../x")
	}
}
