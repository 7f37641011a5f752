package config

import (
	"fmt"
	"math"
	"testing"

	"heddle/harness/measure"
)

// TestSizeClasses: classes are in ascending order, whatever their names and their
// order in the file, and the usual ones where the file has none.
func TestSizeClasses(t *testing.T) {
	schema := compiled(t, ExperimentSchema())
	both(t, schema, "sizeClasses", map[string]any{"small": 10, "medium": 100, "large": nil}, true)
	for keys, want := range map[string][]measure.SizeClass{
		"": measure.SizeClasses(),
		"sizeClasses: {small: 10, medium: 100, large: }": {
			{Name: "small", Most: 10},
			{Name: "medium", Most: 100},
			{Name: "large", Most: math.MaxInt},
		},
		"sizeClasses: {rest: 0, few: 5}": {{Name: "few", Most: 5}, {Name: "rest", Most: math.MaxInt}},
	} {
		e, err := ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\n"+keys))
		if err != nil {
			t.Errorf("%s: %v", keys, err)
		} else if got := e.SizeClasses.Measured(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", keys, got, want)
		}
	}
}
