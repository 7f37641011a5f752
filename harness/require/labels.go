package require

import (
	"fmt"
	"regexp"
	"slices"

	"heddle/yarnclient"
)

// Parking is the label of nodes that are to start nothing: no queue has it and
// no job asks for it. A capacity for it at the root alone would stop the
// ResourceManager.
const Parking = "idle"

// Masters is the label of the nodes that ApplicationMasters run on.
const Masters = "am"

// Triples is how many jobs can be steered at a time unless somebody says
// otherwise. Each takes a label for its ApplicationMaster (a00), for its maps (m00)
// and for its reduces (r00).
const Triples = 16

var triple = regexp.MustCompile(`^([amr])([0-9]{2})$`)

// InPool says whether a label is one that steering gives to nodes for a moment,
// Parking among them.
func InPool(label string) bool { return label == Parking || triple.MatchString(label) }

// Pool returns the labels of so many triples.
func Pool(triples int) []string {
	var labels []string
	for _, role := range "amr" {
		for i := range triples {
			labels = append(labels, fmt.Sprintf("%c%02d", role, i))
		}
	}
	return labels
}

// Whole returns the numbers, "00" and so on, of the triples that has says yes to
// all three labels of.
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

// Exclusive are the names of the labels that are exclusive.
func Exclusive(labels []yarnclient.NodeLabel) []string {
	var names []string
	for _, l := range labels {
		if l.Exclusive {
			names = append(names, l.Name)
		}
	}
	return names
}
