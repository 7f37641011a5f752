package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestGrids: an entry with lists stands for one entry for each combination of
// their values, and the labels name what varies.
func TestGrids(t *testing.T) {
	for _, c := range []struct {
		name, models, workloads string
		want                    []string // label and varied values of each model or workload
	}{
		{
			name: "parameters of a model", models: `[yarn, {model: delay, params: {nodeSkips: [0, 9], rackSkips: 3}}, fifo]`,
			want: []string{
				"yarn map[]", "delay-nodeSkips=0 map[nodeSkips:0 rackSkips:3]", "delay-nodeSkips=9 map[nodeSkips:9 rackSkips:3]",
				"fifo map[]",
			},
		},
		{
			name: "the last list varies fastest", models: `[{label: d, model: delay, params: {nodeSkips: [0, -1], rackSkips: [3, 4]}}]`,
			want: []string{
				"d-nodeSkips=0-rackSkips=3 map[nodeSkips:0 rackSkips:3]", "d-nodeSkips=0-rackSkips=4 map[nodeSkips:0 rackSkips:4]",
				"d-nodeSkips=-1-rackSkips=3 map[nodeSkips:-1 rackSkips:3]", "d-nodeSkips=-1-rackSkips=4 map[nodeSkips:-1 rackSkips:4]",
			},
		},
		{
			name: "models with and without a label", models: `[{model: [fifo, fair]}, {label: also, model: [fifo, fair]}]`,
			want: []string{"fifo map[]", "fair map[]", "also-model=fifo map[]", "also-model=fair map[]"},
		},
		{
			name: "clusters by their files' names", models: `[{model: fifo, cluster: [lab, sites/blue.yaml]}]`,
			want: []string{"fifo-cluster=lab map[]", "fifo-cluster=blue map[]"},
		},
		{
			name: "a value left out keeps the default", models: `[{model: fifo, splits: [null, cachedOnly]}]`,
			want: []string{"fifo-splits=default map[]", "fifo-splits=cachedOnly map[]"},
		},
		{
			name: "sizes of workloads", workloads: `[{name: [sort, wordcount], size: [8MiB, 1GiB], jobs: 2}]`,
			want: []string{"sort-size=8MiB 8388608", "sort-size=1GiB 1073741824", "wordcount-size=8MiB 8388608", "wordcount-size=1GiB 1073741824"},
		},
		{
			name: "traces by their files' names", workloads: `[{trace: [days/mon.tsv, tue.heddle], speed: [1, 2]}]`,
			want: []string{"mon-speed=1 0", "mon-speed=2 0", "tue-speed=1 0", "tue-speed=2 0"},
		},
		{
			name:      "settings by the ends of their names",
			workloads: `[{name: sort, size: 8MiB, settings: {mapreduce.job.reduce.slowstart.completedmaps: [0.05, 1.0]}}]`,
			want:      []string{"sort-completedmaps=0.05 8388608", "sort-completedmaps=1.0 8388608"},
		},
		{
			name: "characters that labels cannot have", workloads: `[{name: sort, size: [8 MiB, "9.5MiB"]}]`,
			want: []string{"sort-size=8_MiB 8388608", "sort-size=9.5MiB 9961472"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "actuator: labels\nworkloads: [{name: sort, profile: tiny}]\nmodels: " + c.models
			if c.models == "" {
				text = "workloads: " + c.workloads
			}
			e := must(parseExperiment("e.yaml", []byte(text), (*Experiment).unsupported))
			var got []string
			if c.models != "" {
				for _, m := range e.Models {
					got = append(got, fmt.Sprint(m.Label, " ", m.Params))
				}
			} else {
				for _, w := range e.Workloads {
					got = append(got, fmt.Sprint(w.Label, " ", int64(w.Size)))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("points (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGridIsItsPoints: a grid is read as its points are that are written one by
// one.
func TestGridIsItsPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := func(name string, from int) []int {
			return rapid.SliceOfNDistinct(rapid.IntRange(from, 50), 1, 4, rapid.ID[int]).Draw(t, name)
		}
		maps, reduces, slow := values("maps", 1), values("reduces", 1), values("slow", 0)
		list := func(values []int) string { return strings.ReplaceAll(fmt.Sprint(values), " ", ", ") }
		grid := fmt.Sprintf("workloads: [{name: sort, profile: small, maps: %s, settings: {a.slow: %s}, reduces: %s}]", list(maps), list(slow),
			list(reduces))
		points := "workloads:\n"
		for _, m := range maps {
			for _, s := range slow {
				for _, r := range reduces {
					points += fmt.Sprintf("- {label: sort-maps=%d-slow=%d-reduces=%d, name: sort, profile: small, maps: %d, settings: {a.slow: %d}, reduces: %d}\n", m, s, r, m, s, r)
				}
			}
		}
		got := must(ParseExperiment("e.yaml", []byte(grid)))
		want := must(ParseExperiment("e.yaml", []byte(points)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n(-points +grid):\n%s", grid, diff)
		}
	})
}
