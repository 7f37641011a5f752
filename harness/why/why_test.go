package why

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/internal/golden"
	"heddle/traces/tracefile"
)

// TestScenarios has small traces, each of which shows a thing: what a model saw when it decided, slots that are the limit
// and not memory, what is told from where tasks ran, and who killed a reduce. Beside each is all that is said of it.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d scenarios, %v", len(paths), err)
	}
	for _, path := range paths {
		h, events, err := tracefile.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := Read(&h, slices.Values(events))
		var text strings.Builder
		for _, id := range slices.SortedFunc(maps.Keys(all), Compare) {
			fmt.Fprintf(&text, "%v\n  %s\n", id, strings.Join(all[id].Sentences(), "\n  "))
		}
		golden.Check(t, strings.TrimSuffix(path, ".jsonl")+".txt", text.String())
	}
}
