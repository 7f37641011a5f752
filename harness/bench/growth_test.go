package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"heddle/harness/doc"
	"heddle/traces/errtest"
)

var update = flag.Bool("update", false, "measure how cost grows with the cluster, which takes minutes, and draw .github/growth.svg anew")

// growing are the loads that differ in the number of nodes alone.
var growing = []string{"synthetic-1k", "synthetic-3k", "synthetic-10k", "synthetic-30k", "synthetic-100k"}

// TestGrowth draws how the time and memory of a simulated task grow with the cluster,
// and compares the picture with .github/growth.svg. To measure and draw it anew, on a
// quiet machine:
//
//	go test ./harness/bench -run TestGrowth -update -timeout 1h
func TestGrowth(t *testing.T) {
	const data, picture = "testdata/growth.json", "../../.github/growth.svg"
	if *update {
		text := errtest.Must(json.MarshalIndent(measureGrowth(t), "", "\t"))
		errtest.None(t, os.WriteFile(data, append(text, '\n'), 0o644))
	}
	text := errtest.Must(os.ReadFile(data))
	var measures []*Measure
	if err := json.Unmarshal(text, &measures); err != nil || len(measures) != len(growing) {
		t.Fatalf("%s: %d loads, %v; want %v", data, len(measures), err, growing)
	}
	var drawn bytes.Buffer
	errtest.None(t, doc.WriteSVG(&drawn, growth(measures)))
	if *update {
		errtest.None(t, os.WriteFile(picture, drawn.Bytes(), 0o644))
	}
	kept := errtest.Must(os.ReadFile(picture))
	if !bytes.Equal(kept, drawn.Bytes()) {
		t.Errorf("%s is not what this tree draws of %s", picture, data)
	}
}

// measureGrowth runs the loads in turn, so that what else the machine does falls on all
// of them alike, and returns of each the run that took least CPU time.
func measureGrowth(t *testing.T) []*Measure {
	t.Helper()
	const turns = 3
	least := make([]*Measure, len(growing))
	for range turns {
		for i, name := range growing {
			for _, l := range Loads("") {
				if l.Name != name {
					continue
				}
				m := errtest.Must(l.Run(t.Context()))
				t.Logf("%s: %.2f s of CPU, %d MB", name, m.CPUSeconds, m.PeakBytes/1e6)
				if least[i] == nil || m.CPUSeconds < least[i].CPUSeconds {
					least[i] = m
				}
			}
		}
	}
	return least
}

// growth is a chart of what a task costs, in parts of what it costs on the smallest
// cluster.
func growth(measures []*Measure) *doc.Chart {
	type cost struct {
		name string
		of   func(*Measure) float64
	}
	costs := []cost{
		{"CPU time", func(m *Measure) float64 { return m.CPUSeconds / float64(m.Tasks) }},
		{"memory at its peak", func(m *Measure) float64 { return float64(m.PeakBytes) / float64(m.Tasks) }},
	}
	first := measures[0]
	c := &doc.Chart{
		Name: "growth", Kind: doc.Curves, Log: true, X: "nodes of the cluster", Y: "times that on 1,000 nodes",
		Title: fmt.Sprintf("Cost of a simulated task as the cluster grows; on 1,000 nodes %.2f µs of CPU time and %.0f bytes",
			first.CPUSeconds/float64(first.Tasks)*1e6, float64(first.PeakBytes)/float64(first.Tasks)),
	}
	for _, m := range measures {
		c.At = append(c.At, float64(m.Nodes))
	}
	none := math.Inf(1)
	for _, x := range costs {
		row := doc.ChartRow{Name: x.name}
		for _, m := range measures {
			row.Points = append(row.Points, doc.Point{Value: x.of(m) / x.of(first), Lo: -none, Hi: none})
		}
		c.Rows = append(c.Rows, row)
	}
	return c
}
