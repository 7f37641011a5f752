package sched_test

import (
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sched/schedtest"
)

func BenchmarkModels(b *testing.B) {
	for _, m := range sched.List() {
		schedtest.Benchmark(b, m, nil)
	}
}
