package hosts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		stored, listed, ran []string
		same                map[string]string
		doubts              []string
		local               [][2]string
	}{
		"short in HDFS, with the domain in YARN": {
			stored: []string{"n1", "n2"}, ran: []string{"n1.example.org", "n2.example.org"},
			same: map[string]string{"n1": "n1.example.org", "n2": "n2.example.org"},
		},
		"the other way round, in capitals, with a dot": {
			stored: []string{"n1.example.org", "N2.example.org."}, ran: []string{"N1", "n2.EXAMPLE.org"},
			same: map[string]string{"n1.example.org": "N1", "N2.example.org.": "n2.EXAMPLE.org"},
		},
		"a list with both": {
			stored: []string{"n1"}, listed: []string{"n1", "n1.example.org"}, ran: []string{"n1.example.org"},
			same: map[string]string{"n1": "n1.example.org"},
		},
		"two machines of two domains": {
			stored: []string{"n1.a.org", "n1.b.org"}, ran: []string{"n1.a.org", "n1.b.org"},
			same: map[string]string{},
		},
		"a short name of two": {
			stored: []string{"n1"}, ran: []string{"n1.a.org", "n1.b.org"},
			same: map[string]string{}, doubts: []string{"n1 may be n1.a.org or n1.b.org: taken as a machine of its own"},
		},
		"two domains, one in HDFS and one in YARN": {
			stored: []string{"n1.data.org"}, ran: []string{"n1.work.org"},
			same: map[string]string{}, doubts: []string{"n1.data.org and n1.work.org may be one machine: taken as two"},
		},
		"both are nodes of YARN": {
			stored: []string{"n1"}, ran: []string{"n1", "n1.example.org"},
			same: map[string]string{}, doubts: []string{"n1 and n1.example.org are used side by side: taken as two machines"},
		},
		"addresses": {
			stored: []string{"10.0.0.1", "10.0.0.2", "10"}, ran: []string{"10.0.0.1", "10.0.0.2", "fe80::1"},
			same: map[string]string{},
		},
		"addresses in HDFS alone": {
			stored: []string{"10.0.0.1", "10.0.0.2"}, ran: []string{"n1", "n2"},
			same: map[string]string{}, doubts: []string{"blocks are on 10.0.0.1, and nodes are named otherwise, n1 first: taken as other machines, so that no map is near its input"},
		},
		"localhost": {
			stored: []string{"localhost"}, ran: []string{"localhost.localdomain"},
			same: map[string]string{"localhost": "localhost.localdomain"},
		},
		"one node, and names that each machine has for itself": {
			stored: []string{"localhost", "127.0.0.1", "::1"}, ran: []string{"laptop"},
			same: map[string]string{"localhost": "laptop", "127.0.0.1": "laptop", "::1": "laptop"},
		},
		"an address beside localhost": {
			stored: []string{"127.0.0.1"}, ran: []string{"localhost"}, same: map[string]string{"127.0.0.1": "localhost"},
		},
		"localhost beside two nodes": {
			stored: []string{"localhost", "n1"}, ran: []string{"n1", "n2"},
			same: map[string]string{}, doubts: []string{"localhost may be n1 or another node: taken as a machine of its own"},
		},
		"local maps tell an address": {
			stored: []string{"10.0.0.1", "10.0.0.2"}, ran: []string{"n1", "n2"},
			local: [][2]string{{"10.0.0.1", "n1"}, {"10.0.0.2", "n1"}, {"10.0.0.2", "n2"}},
			same:  map[string]string{"10.0.0.1": "n1"},
		},
		"one machine that is called localhost": {stored: []string{"localhost"}, ran: []string{"localhost"}, same: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var n Names
			for role, list := range map[Role][]string{Stored: c.stored, Listed: c.listed, Ran: c.ran} {
				for _, host := range list {
					n.See(host, role)
				}
			}
			for _, pair := range c.local {
				n.Local(pair[0], pair[1])
			}
			if d := cmp.Diff(c.same, n.Same()); d != "" {
				t.Errorf("names of one machine (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.doubts, n.Doubts()); d != "" {
				t.Errorf("doubts (-want +got):\n%s", d)
			}
		})
	}
}
