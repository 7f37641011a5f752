package clqlmrs

import (
	"strings"

	"heddle/harness/paper"
)

// explain says where the time of maps goes, for the paper's first application and for
// one that sorts. All of it is computed from the reading's data.
func explain(d *paper.Data) string {
	labels := []string{fifo, acl, learner, greedy, random}
	return strings.Join(append(d.WhereTimeGoes("apps", 0, labels...), d.WhereTimeGoes("apps", 1, labels...)...), " ")
}
