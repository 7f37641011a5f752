package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A description has all keys that a simulation reads, and none that is only about
// reaching the cluster.
func TestDescribed(t *testing.T) {
	c := must(ParseCluster("x.yaml", []byte(`
name: x
resourceManagers: [http://rm:8088]
nameNodes: [nn:8020]
historyServer: http://history:19888
machines: {nodes: 3, racks: 1, slots: 2, container: 1GiB, cpus: [0.5, 2], blockSize: 16MiB, replication: 2,
           nmHeartbeat: 1s, amHeartbeat: 500ms}
rates: {disk: 80MB/s}
`)))
	want := map[string]string{
		"machines.nodes": "3", "machines.racks": "1", "machines.slots": "2", "machines.container": "1GiB", "machines.cpus": "0.5 2",
		"machines.blockSize": "16MiB", "machines.replication": "2", "machines.nmHeartbeat": "1s", "machines.amHeartbeat": "500ms",
		"rates.disk": "80MB/s",
	}
	if diff := cmp.Diff(want, c.Described()); diff != "" {
		t.Errorf("described (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{}, (&Cluster{}).Described()); diff != "" {
		t.Errorf("a cluster without machines (-want +got):\n%s", diff)
	}
}
