package lease

import (
	"fmt"
	"regexp"
)

// Parking is the label of nodes that are to start nothing: no job asks for it.
const Parking = "idle"

var pooled = regexp.MustCompile(`^(idle|[amr][0-9]{2})$`)

// InPool says whether a label is one that steering gives to nodes for a moment:
// a00 for an ApplicationMaster, m00 for maps, r00 for reduces, and Parking.
func InPool(label string) bool { return pooled.MatchString(label) }

// Pool returns the labels of so many triples, without Parking.
func Pool(triples int) []string {
	var labels []string
	for _, role := range "amr" {
		for i := range triples {
			labels = append(labels, fmt.Sprintf("%c%02d", role, i))
		}
	}
	return labels
}
