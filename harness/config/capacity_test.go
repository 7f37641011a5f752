package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/harness/internal/units"
	"heddle/traces"
)

// fourWorkers are two racks of two workers, each of 2,000 MiB and 4 cores.
var fourWorkers = []traces.NodeFacts{
	{Node: "a", Rack: "/rack1", MemoryBytes: 2000 << 20, VCores: 4},
	{Node: "b", Rack: "/rack1", MemoryBytes: 2000 << 20, VCores: 4},
	{Node: "c", Rack: "/rack2", MemoryBytes: 2000 << 20, VCores: 4},
	{Node: "d", Rack: "/rack2", MemoryBytes: 2000 << 20, VCores: 4},
}

// capacityOf parses the capacity of an experiment file.
func capacityOf(t *testing.T, folder, text string) (*Capacity, error) {
	t.Helper()
	file := filepath.Join(folder, "x.yaml")
	text = "workloads: [{name: sort, profile: tiny}]\ncapacity: " + text + "\n"
	mustDo(t, os.WriteFile(file, []byte(text), 0o600))
	e, _, err := LoadExperiment(file)
	if err != nil {
		return nil, err
	}
	return &e.Capacity, nil
}

// TestTimetables has timetables as "seconds node memory/cores".
func TestTimetables(t *testing.T) {
	folder := t.TempDir()
	for _, x := range []struct{ text, want string }{
		{"{steps: [{left: 0.5}]}", "0 a 1000/2, 0 b 1000/2, 0 c 1000/2, 0 d 1000/2"},
		{"{steps: [{at: 9s, left: 1}, {at: 3s, node: b, left: 0}]}", "3 b 0/0, 9 b 2000/4"},
		// Cores are rounded up, so that a worker with memory left has a core.
		{"{steps: [{at: 3s, rack: rack2, left: 0.1}]}", "3 c 200/1, 3 d 200/1"},
		// A step that changes nothing is none.
		{"{steps: [{at: 1s, left: 1}]}", ""},
		// 3 containers of 600 MiB a worker, 12 in all. A half of them is 6: one each, and one more for the first two.
		{"{container: 600MiB, steps: [{at: 2s, left: 0.5}]}", "2 a 1200/3, 2 b 1200/3, 2 c 600/2, 2 d 600/2"},
		// 0.45 of 12 is 5.4, so 5. A worker with all of its share keeps all of its memory.
		{
			"{container: 600MiB, steps: [{at: 2s, left: 0.45}, {at: 4s, rack: rack1, left: 1}]}",
			"2 a 1200/3, 2 b 600/2, 2 c 600/2, 2 d 600/2, 4 a 2000/4, 4 b 2000/4, 4 c 1200/3",
		},
		// Each repetition begins with what workers had first.
		{"{every: 60s, steps: [{at: 20s, node: a, left: 0.5}, {at: 40s, node: a, left: 1}]}", "0 a 2000/4, 20 a 1000/2, 40 a 2000/4, every 60"},
		{"{every: 60s, steps: [{at: 20s, node: a, left: 0.5}]}", "0 a 2000/4, 20 a 1000/2, every 60"},
	} {
		c, err := capacityOf(t, folder, x.text)
		if err != nil {
			t.Errorf("%s: %v", x.text, err)
			continue
		}
		if got := words(t, c); got != x.want {
			t.Errorf("%s: %s\nwant %s", x.text, got, x.want)
		}
	}
}

// words is the timetable of four workers in words.
func words(t *testing.T, c *Capacity) string {
	t.Helper()
	table, err := c.Timetable(fourWorkers)
	if err == nil {
		err = table.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, x := range table.Changes {
		list = append(list, fmt.Sprintf("%v %s %d/%d", float64(x.AtMs)/1000, x.Node, x.Left.MemoryMB, x.Left.VCores))
	}
	if table.EveryMs > 0 {
		list = append(list, fmt.Sprint("every ", table.EveryMs/1000))
	}
	return strings.Join(list, ", ")
}

// TestSine has a sine of 40 s fall for the first quarter to its least share, and rise to its
// most after three quarters.
func TestSine(t *testing.T) {
	c := must(capacityOf(t, t.TempDir(), "{sine: {mean: 0.5, swing: 0.4, period: 40s}}"))
	text := words(t, c)
	for _, want := range []string{"0 a 1000/2", "10 a 200/1", "30 a 1800/4", "every 40"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestWholeContainers: workers keep whole containers, none more than it holds, and all
// together the share to the nearest container.
func TestWholeContainers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const mb = 512
		var workers []traces.NodeFacts
		all := int64(0)
		for i := range rapid.IntRange(1, 9).Draw(t, "workers") {
			slots := rapid.Int64Range(1, 9).Draw(t, "slots")
			all += slots
			workers = append(workers, traces.NodeFacts{Node: traces.Node(fmt.Sprint("n", i)), MemoryBytes: slots * mb << 20, VCores: int32(slots)})
		}
		left := rapid.Float64Range(0, 1).Draw(t, "left")
		c := Capacity{Container: mb << 20, Steps: []CapacityStep{{Left: left}}}
		table := must(c.Timetable(workers))
		has := map[string]int32{}
		for _, n := range workers {
			has[string(n.Node)] = int32(n.MemoryBytes >> 20)
		}
		for _, x := range table.Changes {
			if x.Left.MemoryMB%mb != 0 || x.Left.MemoryMB > has[x.Node] || x.Left.MemoryMB < 0 || (x.Left.VCores > 0) != (x.Left.MemoryMB > 0) {
				t.Fatalf("%+v of %d MiB", x, has[x.Node])
			}
			has[x.Node] = x.Left.MemoryMB
		}
		sum := int64(0)
		for _, n := range workers {
			sum += int64(has[string(n.Node)]) / mb
		}
		if d := float64(sum) - left*float64(all); d > 0.501 || d < -0.501 {
			t.Fatalf("%d of %d containers are left; want %v of them", sum, all, left)
		}
	})
}

// TestWrongSteps has flags that are refused, and a node that is not there.
func TestWrongSteps(t *testing.T) {
	for text, want := range map[string]string{
		"at=3s,node=a,left=0.5": "", "left=0": "", "at=3s,node=a": "no share is given", "left=2": "2: want 0 to 1", "color=red": "unknown key",
		"at=-3s,left=1": "want a positive one", "node=a,rack=b,left=1": "both node a and rack b",
	} {
		var c Capacity
		if err := c.Set(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("flag %q: %v, want %q", text, err, want)
		}
	}
	c := Capacity{Steps: []CapacityStep{{At: units.Duration(time.Second), Node: "e"}}}
	wantError(t, errOf(c.Timetable(fourWorkers)), `no worker for the step at 1s: node "e"`)
}
