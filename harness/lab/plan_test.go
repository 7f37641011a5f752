package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/harness/internal/golden"
	"heddle/harness/require"
)

// testPlan is a plan with fixed paths.
func testPlan(c Config) plan {
	return newPlan("/state/lab", savedPlan{
		Cfg: c, Network: 100, Java: "/java", Classpath: "/jars/*", Archive: "/cache/classes.jsa",
	})
}

func TestPlanAddresses(t *testing.T) {
	c := Default()
	c.Nodes, c.Racks, c.CPUs = 5, 2, CPUs{1, 0.5}
	addresses := func(nodes []node) (list []string) {
		for _, n := range nodes {
			list = append(list, fmt.Sprintf("%s %s %s %g %v", n.name, n.ip, rackPath(n.rack), n.cores, n.daemons))
		}
		return list
	}
	want := []string{
		"master 10.100.0.1 /core 0 [namenode resourcemanager historyserver nodemanager]",
		"r1n1 10.100.1.1 /rack1 1 [datanode nodemanager]",
		"r1n2 10.100.1.2 /rack1 0.5 [datanode nodemanager]",
		"r1n3 10.100.1.3 /rack1 1 [datanode nodemanager]",
		"r2n1 10.100.2.1 /rack2 0.5 [datanode nodemanager]",
		"r2n2 10.100.2.2 /rack2 1 [datanode nodemanager]",
	}
	if diff := cmp.Diff(want, addresses(testPlan(c).nodes)); diff != "" {
		t.Error(diff)
	}
	c.HA = true
	want = append([]string{
		"master 10.100.0.1 /core 0 [namenode resourcemanager historyserver nodemanager zkfc]",
		"master2 10.100.0.2 /core 0 [namenode resourcemanager zkfc]",
		"keeper 10.100.0.3 /core 0 [zookeeper journalnode]",
	}, want[1:]...)
	p := testPlan(c)
	if diff := cmp.Diff(want, addresses(p.nodes)); diff != "" {
		t.Error("with two masters:", diff)
	}
	if diff := cmp.Diff(want[3:], addresses(p.workers())); diff != "" {
		t.Error("workers, with two masters:", diff)
	}
}

// Every plan has all its nodes, no name or address twice, racks that differ by
// at most one node, and device names that Linux takes.
func TestPlanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Default()
		c.Nodes = rapid.IntRange(1, 250).Draw(t, "nodes")
		c.Racks = rapid.IntRange(1, c.Nodes).Draw(t, "racks")
		c.HA = rapid.Bool().Draw(t, "ha")
		p := testPlan(c)
		if len(p.workers()) != c.Nodes {
			t.Fatalf("%d workers, want %d", len(p.workers()), c.Nodes)
		}
		seen, inRack := map[string]bool{}, map[int]int{}
		for _, n := range p.nodes {
			inRack[n.rack]++
			for _, id := range []string{n.name, n.ip.String()} {
				if seen[id] {
					t.Fatalf("%s twice", id)
				}
				seen[id] = true
			}
			if dev := p.device(n.name); len(dev) > 15 {
				t.Fatalf("device name %s is longer than 15", dev)
			}
		}
		if seen[p.hostIP().String()] {
			t.Fatalf("a node has this machine's address %s", p.hostIP())
		}
		for rack := 1; rack <= c.Racks; rack++ {
			if n := inRack[rack]; n != c.Nodes/c.Racks && n != c.Nodes/c.Racks+1 {
				t.Fatalf("%d nodes in rack %d of %d, %d nodes in all", n, rack, c.Racks, c.Nodes)
			}
		}
	})
}

func TestLabNamesNeverOverlap(t *testing.T) {
	if strings.HasPrefix(namespacePrefix("a-b"), namespacePrefix("a")) {
		t.Error("taking lab a down would take namespaces of lab a-b")
	}
}

// What Hadoop and shells get to read, whole. Run with -update after a change
// that is meant.
func TestGolden(t *testing.T) {
	fair := Default()
	fair.Scheduler, fair.Cache = Fair, 0
	ha := Default()
	ha.HA = true
	secured := Default()
	secured.Kerberos = true
	for _, c := range []struct {
		dir  string
		conf Config
	}{{"capacity", Default()}, {"fair", fair}, {"ha", ha}, {"secured", secured}} {
		p := testPlan(c.conf)
		files, err := p.hadoopConf()
		if err != nil {
			t.Fatal(err)
		}
		l := &Lab{plan: p, cgroups: cgroups{mounts: map[string]string{"cpu": "/sys/cpu", "memory": "/sys/memory", "blkio": "/sys/blkio"}}}
		if c.dir == "secured" { // the rest is as without Kerberos
			delete(files, "log4j.properties")
			delete(files, "topology.table")
			if files["hadoop.sh"], err = l.script("hadoop.sh"); err != nil {
				t.Fatal(err)
			}
			files["enter"] = l.enterScript(l.nodes[1])
		}
		if c.dir == "capacity" {
			for _, script := range []string{"hadoop.sh", "java.sh"} {
				if files[script], err = l.script(script); err != nil {
					t.Fatal(err)
				}
			}
			views := []view{{"/private", []string{"/jars", "/java"}}, {"/state", []string{"/lab"}}}
			if files["unprivileged.sh"], err = l.script("unprivileged.sh", views...); err != nil {
				t.Fatal(err)
			}
			files["enter"] = l.enterScript(l.nodes[1])
			files["argv"] = []byte(strings.Join(l.argv(l.nodes[1], dataNode), "\n") + "\n")
		}
		if c.dir == "ha" { // the other files are those of one master
			maps.DeleteFunc(files, func(name string, _ []byte) bool {
				return !slices.Contains([]string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "topology.table"}, name)
			})
			files["argv"] = []byte(strings.Join(l.argv(l.nodes[2], zooKeeper), "\n") + "\n")
		}
		for name, got := range files {
			golden.Check(t, filepath.Join("testdata", c.dir, name), got)
		}
	}
}

// The files hold all that the requirements ask for.
func TestRequirementsAreMet(t *testing.T) {
	two := Default()
	two.HA = true
	for name, c := range map[string]Config{"one master": Default(), "two masters": two} {
		t.Run(name, func(t *testing.T) { requirementsAreMet(t, testPlan(c)) })
	}
}

func requirementsAreMet(t *testing.T, p plan) {
	files := must(p.hadoopConf())
	value := map[string]string{}
	for name, data := range files {
		for _, m := range regexp.MustCompile(`<name>(.*)</name><value>(.*)</value>`).FindAllStringSubmatch(string(data), -1) {
			value[name+" "+m[1]] = m[2]
		}
	}
	for _, s := range require.All(0).Settings {
		names := []string{s.In(jobQueue, "")}
		if strings.Contains(s.Property, "LABEL.") {
			names = nil
			for _, label := range append([]string{require.Masters}, require.Pool(require.Triples)...) {
				names = append(names, s.In("root", label), s.In(jobQueue, label))
			}
		}
		for _, name := range names {
			if !s.Met(value[s.File+" "+name]) && (s.Or == "" || value[s.File+" "+s.Or] == "") {
				t.Errorf("%s: %s is %q, want %s %s", s.File, name, value[s.File+" "+name], s.Value, s.Rule)
			}
		}
	}
}

func TestPropertiesAreEscaped(t *testing.T) {
	got := string(propertiesXML("# a comment = not a property\nk=a&b<c=d\n\n"))
	if !strings.Contains(got, "<name>k</name><value>a&amp;b&lt;c=d</value>") || strings.Contains(got, "comment") {
		t.Errorf("got %s", got)
	}
}

func TestEndOfLogHasTheReason(t *testing.T) {
	log := "INFO start\n2026 WARN disk: Failed to add storage\njava.io.IOException: Incompatible clusterIDs in /data\n" +
		strings.Repeat("\tat some.Code(Line.java:1)\n", 20) + strings.Repeat("INFO ending\n", 9)
	got := endOfLog([]byte(log))
	if !strings.Contains(got, "Incompatible clusterIDs") || strings.Count(got, "\n") > 12 || strings.Contains(got, "INFO start") {
		t.Errorf("got %q", got)
	}
	if got := endOfLog(nil); got != "" {
		t.Errorf("of an empty log: %q", got)
	}
}
