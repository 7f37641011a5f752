package rhc

import (
	"io/fs"
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/paper"
	"heddle/harness/stats"
)

// TestLiveFiles: both experiments can be read, with the models and workloads that the notes speak
// of, steered through labels on a lab with slow uplinks.
func TestLiveFiles(t *testing.T) {
	for file, want := range map[string]string{"": "random greedy rhc: mixed", "fig3": "greedy random1 random2 random3: sort"} {
		name, err := Paper().Live.Experiment(file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := fs.ReadFile(live, name)
		if err != nil {
			t.Fatal(err)
		}
		e, err := config.ParseExperiment(name, data)
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, m := range e.Models {
			labels = append(labels, m.Label)
		}
		if got := strings.Join(labels, " ") + ": " + e.Workloads[0].Label; got != want || e.Actuator != "labels" || e.Fetches != config.FetchesNodes {
			t.Errorf("%s: %q by %s, fetches from %s; want %q by labels, from nodes", name, got, e.Actuator, e.Fetches, want)
		}
	}
	lab, err := fs.ReadFile(live, paper.LabFile)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := config.ParseCluster(paper.LabFile, lab); err != nil || c.Machines == nil || c.Machines.Nodes != 4 || c.Machines.Racks != 2 || c.Rates.Uplink*10 > c.Rates.Link {
		t.Errorf("lab %+v, %v: want 4 nodes in 2 racks, with uplinks a tenth as fast as links or slower", c, err)
	}
}

// TestExpectLive says how many jobs rhc places otherwise than greedy.
func TestExpectLive(t *testing.T) {
	of := func(x float64) paper.Cell { return paper.CellOf(stats.Mean([]float64{x, x})) }
	rows := []paper.LiveRow{{Workload: "none", Model: "random"}, {Workload: "none", Model: "rhc", Notes: map[string]paper.Cell{"jobsPlaced": of(6), "jobsDeferred": of(3), "jobsOnDearerSlots": of(2)}}}
	notes := expectLive(&paper.LiveTable{Rows: rows})
	if want := "rhc leaves the slots that greedy would take to others for 3.0 of 6.0, and cheaper ones for 2.0"; len(notes) != 1 || !strings.Contains(notes[0], want) {
		t.Errorf("%q, want one note: %q", notes, want)
	}
}

// TestExplainNothing: without trials, no claim has a verdict.
func TestExplainNothing(t *testing.T) {
	if notes := explainLive(&paper.LiveTable{}); len(notes) != 1 || !strings.Contains(notes[0], "not testable") {
		t.Errorf("of no trial: %q", notes)
	}
}
