package calibration_test

import (
	"testing"

	"heddle/harness/replay/calibration"
	"heddle/traces"
)

// TestCoresNobodySaid: without a calibration and without numbers of cores, containers of a
// node wait for no core; where cores are said, or shared, they count.
func TestCoresNobodySaid(t *testing.T) {
	for name, c := range map[string]struct {
		facts     traces.ClusterFacts
		has, want float64
	}{
		"nothing said": {traces.ClusterFacts{Nodes: []traces.NodeFacts{{VCores: 4}, {VCores: 4}}}, 0, 4},
		"cores said":   {traces.ClusterFacts{Nodes: []traces.NodeFacts{{VCores: 8, Cores: 2}}}, 2, 2},
	} {
		if got := calibration.Uncalibrated(c.facts).Cores(c.has); got != c.want {
			t.Errorf("%s: %v cores, want %v", name, got, c.want)
		}
	}
	fitted := calibration.Calibration{Sharing: 0.75, NodeCores: 2}
	if got := fitted.Cores(0); got != 1.5 {
		t.Errorf("fitted to nodes of two cores: %v of a node of which nothing is known, want 1.5", got)
	}
}
