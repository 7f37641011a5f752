package cmd

import (
	"io/fs"
	"testing"

	"heddle/harness/config"
	"heddle/harness/paper"
)

// TestPaperExperiments: each paper's experiments for a cluster can be read, steer through labels,
// and have thresholds; each names models of its own, and the lab that it is made for is described.
func TestPaperExperiments(t *testing.T) {
	for _, of := range papers {
		p := of()
		files, err := fs.Glob(p.Experiments, "*.yaml")
		if err != nil || len(files) < 2 {
			t.Errorf("%s: experiments %v, error %v", p.Name, files, err)
		}
		for _, file := range files {
			data := must(fs.ReadFile(p.Experiments, file))
			if file == paper.PaperFile {
				continue
			}
			if file == "lab.yaml" {
				if c, err := config.ParseCluster(file, data); err != nil || c.Machines == nil {
					t.Errorf("%s: %s: %+v, error %v", p.Name, file, c, err)
				}
				continue
			}
			e, err := config.ParseExperiment(file, data)
			if err != nil || e.Actuator != "labels" || e.Thresholds.Len() == 0 {
				t.Errorf("%s: %s: error %v; want labels and thresholds", p.Name, file, err)
			}
		}
	}
}
