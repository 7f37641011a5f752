package require

import (
	"fmt"
	"regexp"
	"slices"

	"heddle/yarnclient"
)

// Parking is the label of nodes that must start nothing: no queue and no job
// uses it. A capacity for it at the root queue alone would stop the
// ResourceManager.
const Parking = "idle"

// Masters is the label of the nodes that run ApplicationMasters.
const Masters = "am"

// Triples is the default number of jobs that can be steered at a time. Each job
// needs a triple of labels: for its ApplicationMaster (a00), for its maps (m00)
// and for its reduces (r00).
const Triples = 16

var triple = regexp.MustCompile(`^([amr])([0-9]{2})$`)

// InPool reports whether steering gives this label to nodes: Parking, or one of
// a triple.
func InPool(label string) bool { return label == Parking || triple.MatchString(label) }

// Pool returns the labels of the given number of triples.
func Pool(triples int) []string {
	var labels []string
	for _, role := range "amr" {
		for i := range triples {
			labels = append(labels, fmt.Sprintf("%c%02d", role, i))
		}
	}
	return labels
}

// Whole returns the numbers, such as "00", of the triples whose three labels
// are all among labels.
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

// Exclusive returns the names of the exclusive labels.
func Exclusive(labels []yarnclient.NodeLabel) []string {
	var names []string
	for _, l := range labels {
		if l.Exclusive {
			names = append(names, l.Name)
		}
	}
	return names
}
