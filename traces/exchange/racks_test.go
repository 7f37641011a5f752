package exchange

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
)

// oneMap is a Rumen job of one map that ran on host, its split on the given
// hosts: "/rack/host" or "host" alone.
func oneMap(number int, host string, split ...string) string {
	var locations []string
	for _, s := range split {
		layers, _ := json.Marshal(strings.Split(strings.TrimPrefix(s, "/"), "/"))
		locations = append(locations, fmt.Sprintf(`{"layers":%s}`, layers))
	}
	id := fmt.Sprintf("1400000000000_%04d", number)
	return fmt.Sprintf(`{"jobID":"job_%s","submitTime":1400000000000,"finishTime":1400000030000,"outcome":"SUCCESS","totalMaps":1,"totalReduces":0,`+
		`"mapTasks":[{"taskID":"task_%s_m_000000","taskStatus":"SUCCESS","startTime":1400000001000,"finishTime":1400000009000,"preferredLocations":[%s],`+
		`"attempts":[{"attemptID":"attempt_%s_m_000000_0","hostName":"%s","result":"SUCCESS","startTime":1400000002000,"finishTime":1400000008900}]}]}`+"\n",
		id, id, strings.Join(locations, ","), id, host)
}

// TestRacksOfBareHosts: a host that an attempt or a split names alone has the
// rack that a topology or any other place of the files tells, before or after it.
func TestRacksOfBareHosts(t *testing.T) {
	const (
		topology = `{"name":"<root>","children":[{"name":"r1","children":[{"name":"n1","children":null},{"name":"n2","children":null}]},` +
			`{"name":"r2","children":[{"name":"n3","children":null}]}]}`
		cleanup = `"otherTasks":[{"taskType":"CLEANUP","attempts":[{"result":"SUCCESS","hostName":"/r1/n2"}]}],`
	)
	teller := oneMap(9, "/r1/n2", "/r1/n2")
	for _, c := range []struct {
		name     string
		files    []string
		level    traces.Level // of the first job's map
		rack     string       // of its attempt
		hosts    int          // whose rack stays unknown
		attempts int
	}{
		{"told after it", []string{oneMap(1, "n2", "/r1/n1") + teller}, traces.LevelRack, "/r1", 0, 0},
		{"told before it", []string{teller + oneMap(1, "n2", "/r1/n1")}, traces.LevelRack, "/r1", 0, 0},
		{"told by a later file", []string{oneMap(1, "n2", "/r1/n1"), teller}, traces.LevelRack, "/r1", 0, 0},
		{"told by a split", []string{oneMap(1, "n2", "/r1/n1") + oneMap(9, "/r1/n1", "/r1/n2")}, traces.LevelRack, "/r1", 0, 0},
		{
			"told by a clean-up",
			[]string{oneMap(1, "n2", "/r1/n1") + strings.Replace(teller, `"mapTasks"`, cleanup+`"mapTasks"`, 1)},
			traces.LevelRack, "/r1", 0, 0,
		},
		{"told by the topology", []string{oneMap(1, "n2", "/r1/n1"), topology}, traces.LevelRack, "/r1", 0, 0},
		{"all told by the topology", []string{topology, oneMap(1, "n2", "n1")}, traces.LevelRack, "/r1", 0, 0},
		{"another rack", []string{oneMap(1, "n2", "/r2/n3") + teller}, traces.LevelOff, "/r1", 0, 0},
		{"a split's bare host", []string{oneMap(1, "/r2/n3", "n2") + teller}, traces.LevelOff, "/r2", 0, 0},
		{"its own split", []string{oneMap(1, "n2", "/r1/n2", "/r2/n3")}, traces.LevelNode, "/r1", 0, 0},
		{"not told", []string{oneMap(1, "n2", "/r1/n1")}, traces.LevelUnknown, "", 1, 1},
		{"a split's not told", []string{oneMap(1, "/r1/n2", "n1", "/r2/n3")}, traces.LevelUnknown, "/r1", 1, 0},
		{"one of the rack is enough", []string{oneMap(1, "/r1/n2", "n3", "/r1/n1")}, traces.LevelRack, "/r1", 1, 0},
		{"not told and its own", []string{oneMap(1, "n2", "n2")}, traces.LevelNode, "", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var inputs []string
			for i, text := range c.files {
				inputs = append(inputs, filepath.Join(t.TempDir(), fmt.Sprintf("%d.json", i)))
				mustDo(t, os.WriteFile(inputs[i], []byte(text), 0o644))
			}
			path, r := mustImport(t, DefaultImport, inputs...)
			if len(r.Mended) > 0 || r.RacklessHosts != c.hosts || r.RacklessAttempts != c.attempts {
				t.Errorf("mended %v, %d hosts and %d attempts without a rack; want %d and %d", r.Mended, r.RacklessHosts, r.RacklessAttempts, c.hosts,
					c.attempts)
			}
			_, events := readTrace(t, path)
			for _, e := range events {
				if s, ok := e.(*traces.AttemptStarted); ok && s.Attempt.Job == "job_1400000000000_0001" {
					if s.SplitLocality != c.level || s.Rack != c.rack {
						t.Errorf("level %v in rack %q, want %v in %q", s.SplitLocality, s.Rack, c.level, c.rack)
					}
					return
				}
			}
			t.Fatal("the attempt is not there")
		})
	}
}

// TestSharedRacks holds the levels of public traces against racks that another
// decoder found in the whole of the trace and its topology.
func TestSharedRacks(t *testing.T) {
	for _, c := range []struct {
		trace, topology string
		bare            int // map attempts that name a host without its rack
	}{
		{"rumen/input-trace.json", "rumen/input-topology.json", 71},
		{"rumen/input-trace.json", "", 71},
		{"rumen/trace_3m.json.gz", "", 0},
	} {
		t.Run(filepath.Base(c.trace)+" "+filepath.Base(c.topology), func(t *testing.T) {
			inputs := []string{shared(t, c.trace)}
			known := map[string]string{}
			if c.topology != "" {
				inputs = append(inputs, shared(t, c.topology))
				data := must(os.ReadFile(inputs[1]))
				var tree struct {
					Children []struct {
						Name     string
						Children []struct{ Name string }
					}
				}
				mustDo(t, json.Unmarshal(data, &tree))
				for _, rack := range tree.Children {
					for _, host := range rack.Children {
						known[host.Name] = "/" + rack.Name
					}
				}
			}
			path, r := mustImport(t, DefaultImport, inputs...)
			_, events := readTrace(t, path)
			named := map[string]bool{} // by an attempt, without a rack
			layers := map[string]string{}
			for _, line := range rumenLines(t, inputs[0]) {
				place, text, _ := strings.Cut(line, " = ")
				layers[place] = text
				if !strings.HasSuffix(place, ".hostName") {
					continue
				}
				if i := strings.LastIndexByte(text, '/'); i >= 0 {
					known[text[i+1:]] = text[:i]
				} else {
					named[text] = true
				}
			}
			for place, host := range layers {
				if at, ok := strings.CutSuffix(place, ".layers[1]"); ok {
					known[host] = "/" + layers[at+".layers[0]"]
				}
			}
			splits := map[traces.Task][]traces.Node{}
			bare, resolved, wrong := 0, 0, 0
			check := func(a traces.Attempt, node traces.Node, level traces.Level) {
				if a.Kind != traces.Map || !named[string(node)] {
					return
				}
				bare++
				rack, want := known[string(node)], traces.LevelOff
				for _, h := range splits[a.Task] {
					switch of := known[string(h)]; {
					case h == node:
						want = traces.LevelNode
					case want == traces.LevelNode:
					case of != "" && of == rack:
						want = traces.LevelRack
					case want != traces.LevelRack && (of == "" || rack == ""):
						want = traces.LevelUnknown
					}
				}
				if len(splits[a.Task]) == 0 {
					want = traces.LevelUnknown
				}
				if rack != "" {
					resolved++
				}
				if level != want {
					wrong++
					t.Errorf("%v on %s (%s): %v, want %v", a, node, rack, level, want)
				}
			}
			for _, e := range events {
				switch e := e.(type) {
				case *traces.TaskScheduled:
					splits[e.Task] = slices.Clone(e.SplitHosts)
				case *traces.AttemptStarted:
					check(e.Attempt, e.Node, e.SplitLocality)
				case *traces.AttemptFinished:
					if e.Unlaunched {
						check(e.Attempt, e.Node, e.SplitLocality)
					}
				}
			}
			if bare < c.bare {
				t.Errorf("%d map attempts on such hosts, want %d or more", bare, c.bare)
			}
			t.Logf("%d of %d map attempts on hosts that an attempt names alone have a wrong level; the rack of %d is known; %d hosts stay without one",
				wrong, bare, resolved, r.RacklessHosts)
		})
	}
}
