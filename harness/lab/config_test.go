package lab

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{`--scheduler "fifo"`, func(c *Config) { c.Scheduler = "fifo" }},
	} {
		conf := Default()
		c.bad(&conf)
		err := conf.Validate()
		flag, _, _ := strings.Cut(c.want, " ")
		if err == nil || !strings.Contains(err.Error(), flag+" ") {
			t.Errorf("%s: got error %v", c.want, err)
		}
	}
}

func TestConfigRoundTrip(t *testing.T) {
	want := Default()
	want.CPUs = CPUs{1, 0.4}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := Config{Name: want.Name}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings read back from %s differ:\n%s", data, diff)
	}
	if !sameConfig(want, got) {
		t.Errorf("read back settings count as different: %s", differences(want, got))
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
