package compare

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/runs"
)

// Runs on unlike clusters are not repeats of each other, whatever their models and
// workloads are called.
func TestUnlikeClusters(t *testing.T) {
	base := map[string]string{"machines.nodes": "4", "rates.disk": "80MB/s"}
	slow := map[string]string{"machines.nodes": "4", "rates.disk": "8MB/s"}
	const file = `{name: x, machines: {nodes: 4, racks: 2, slots: 2, container: 1GiB, blockSize: 16MiB, replication: 2, nmHeartbeat: 1s, amHeartbeat: 1s}, rates: {disk: 80MB/s}}`
	simulated := func(d map[string]string) made { return made{world: runs.WorldSimulated, cluster: d} }
	replayed := func(d map[string]string) made {
		return made{world: runs.WorldSimulated, clusters: map[string]map[string]string{"wordcount": d}}
	}
	for name, c := range map[string]struct {
		a, b made
		want string // in the warning; "" for runs that are alike
	}{
		"alike": {simulated(base), simulated(base), ""},
		"a slower disk": {
			simulated(base), simulated(slow),
			" ran on unlike clusters, so they are kept apart: rates.disk (80MB/s, 8MB/s)",
		},
		"a key of one alone":      {simulated(base), simulated(map[string]string{"machines.nodes": "4"}), "rates.disk (80MB/s, none)"},
		"one did not record it":   {simulated(base), simulated(nil), "one of them did not record its cluster"},
		"neither recorded it":     {simulated(nil), simulated(nil), ""},
		"replays, alike":          {replayed(base), replayed(base), ""},
		"replays":                 {replayed(base), replayed(slow), "trace wordcount: rates.disk (80MB/s, 8MB/s)"},
		"replays of other traces": {replayed(base), made{world: runs.WorldSimulated, clusters: map[string]map[string]string{"sort": slow}}, ""},
		"measured":                {made{file: file}, made{file: strings.Replace(file, "nodes: 4", "nodes: 5", 1)}, "machines.nodes (4, 5)"},
		"measured, alike":         {made{file: file}, made{file: strings.Replace(file, "name: x", "name: y", 1)}, ""},
		"a file that is none":     {made{file: file}, made{file: "nodes"}, "cluster.yaml (none, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			var dirs []string
			for i, m := range []made{c.a, c.b} {
				m.workloads, m.models, m.repeats = []string{"wordcount"}, []string{"yarn"}, 3
				m.seconds = func(repeat int, _, _ string) float64 { return float64(50 + 5*i + repeat) }
				dirs = append(dirs, m.in(t, filepath.Join(root, string(rune('a'+i)))))
			}
			r := must(Runs(dirs, makespan))
			rows := mapped(r.Models, func(m Model) string { return m.Model })
			apart := !slices.Equal(rows, []string{"yarn"})
			said := slices.ContainsFunc(r.Warnings, func(w string) bool { return c.want != "" && strings.Contains(w, c.want) })
			if apart != (c.want != "") || said != apart {
				t.Errorf("rows %q, warnings %q; want %q", rows, r.Warnings, c.want)
			}
			if unlike := strings.Contains(strings.Join(r.Warnings, "\n"), "unlike"); unlike != apart {
				t.Errorf("rows %q, warnings %q", rows, r.Warnings)
			}
		})
	}
}
