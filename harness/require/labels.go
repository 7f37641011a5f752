package require

import (
	"fmt"
	"regexp"
	"slices"

	"heddle/yarnclient"
)

// Parking is the label of nodes that must start no containers: no queue and no
// job uses it. To give only the root queue a capacity for it would stop the
// ResourceManager.
const Parking = "idle"

// Masters is the label of the nodes on which ApplicationMasters run.
const Masters = "am"

// Triples is the default number of jobs that can be steered at a time. Each
// job needs a triple of node labels: one for its ApplicationMaster (such as
// a00), one for its maps (m00) and one for its reduces (r00).
const Triples = 16

var triple = regexp.MustCompile(`^([amr])([0-9]{2})$`)

// InPool reports whether a label is one that steering gives to nodes: Parking,
// or one of the labels for the ApplicationMaster, maps or reduces of a steered
// job.
func InPool(label string) bool { return label == Parking || triple.MatchString(label) }

// Pool returns the node labels for steering triples jobs at a time. Each job has
// three labels: for its ApplicationMaster, its maps and its reduces.
func Pool(triples int) []string {
	var labels []string
	for _, role := range "amr" {
		for i := range triples {
			labels = append(labels, fmt.Sprintf("%c%02d", role, i))
		}
	}
	return labels
}

// Whole returns the numbers of those steered jobs, such as "00", for which the
// argument labels contains all three node labels: for ApplicationMaster, maps
// and reduces.
func Whole(labels []string) []string {
	roles := map[string]int{}
	for _, label := range labels {
		if m := triple.FindStringSubmatch(label); m != nil {
			roles[m[2]]++
		}
	}
	var numbers []string
	for number, n := range roles {
		if n == 3 {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Exclusive returns the names of those labels that are exclusive node labels
// in YARN.
func Exclusive(labels []yarnclient.NodeLabel) []string {
	var names []string
	for _, l := range labels {
		if l.Exclusive {
			names = append(names, l.Name)
		}
	}
	return names
}
