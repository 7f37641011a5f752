package config

import (
	"strings"
	"testing"

	"heddle/traces"
)

const machinesFile = `
name: tall
rates: {disk: 80MB/s, uplink: 60Mbit}
machines: {nodes: 5, racks: 2, slots: 3, container: 1GiB, cpus: [1, 0.5], cache: 64MiB, blockSize: 128MiB,
           replication: 3, nmHeartbeat: 1s, amHeartbeat: 200ms, async: true}
`

// TestMachines reads a cluster that is described for simulations alone.
func TestMachines(t *testing.T) {
	c := must(ParseCluster("tall.yaml", []byte(machinesFile)))
	wantError(t, c.Supported(), "--simulate")
	facts, settings := c.Machines.Facts(c.Name, c.Rates)
	var names []string
	for _, n := range facts.Nodes {
		names = append(names, n.Rack+"/"+string(n.Node))
	}
	if got, want := strings.Join(names, " "), "/rack1/r1n1 /rack1/r1n2 /rack1/r1n3 /rack2/r2n1 /rack2/r2n2"; got != want {
		t.Errorf("nodes %s, want %s", got, want)
	}
	if n := facts.Nodes[3]; n != (traces.NodeFacts{
		Node: "r2n1", Rack: "/rack2", Worker: true, MemoryBytes: 3 << 30, VCores: 3,
		CacheBytes: 64 << 20, Cores: 0.5,
	}) {
		t.Errorf("the fourth node is %+v", n)
	}
	if len(facts.Disks) != 5 || len(facts.Links) != 2 || settings[settingAMBeat] != "200" || settings[settingAsync] != "true" {
		t.Errorf("%d disks, %d links, settings %v", len(facts.Disks), len(facts.Links), settings)
	}
}

// TestBadMachines names the key of what cannot be.
func TestBadMachines(t *testing.T) {
	for _, c := range []struct{ old, new, says string }{
		{"nodes: 5", "nodes: 0", "machines.nodes: 0: want 1 to 100000"},
		{"racks: 2", "racks: 6", "machines.racks: 6: want 1 to the number of nodes, 5"},
		{"replication: 3", "replication: 9", "machines.replication: 9"},
		{"cpus: [1, 0.5]", "cpus: [-1]", "machines.cpus"},
		{"nmHeartbeat: 1s", "nmHeartbeat: 1us", "machines.nmHeartbeat"},
		{"async: true", "scheduler: fifo", "machines.scheduler"},
		{"slots: 3", "slots: 3, queues: q.xml, labels: {a: 9223372036854775807, b: 1}", `machines.labels: "a": 9223372036854775807`},
		{"slots: 3", "slots: 3, queues: q.xml, labels: {a: 3, b: 3}", "6 nodes have a label: want 5 at most"},
		{"slots: 3", "slots: 3, labels: {a: 3}", "and queues that use them"},
		{"slots: 3", "slotz: 3", `did you mean "slots"`},
	} {
		_, err := ParseCluster("tall.yaml", []byte(strings.Replace(machinesFile, c.old, c.new, 1)))
		wantError(t, err, c.says)
	}
}
