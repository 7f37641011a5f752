package qlearn

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkPaper is 50,000 episodes in the paper's environment: 8 maps, 8 nodes
// with a slot each.
func BenchmarkPaper(b *testing.B) {
	rule := paper()
	rule.MinEpsilon = 0
	layout := Random(rand.New(rand.NewPCG(1, 2)), 8, 8, 1, 3, 0.5)
	b.ReportAllocs()
	for b.Loop() {
		episodes := 0
		Train(layout, rule, 1, func(Episode) bool { episodes++; return true })
		if episodes != 50_000 {
			b.Fatalf("%d episodes", episodes)
		}
	}
}
