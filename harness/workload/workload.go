// Package workload contains what experiments run on clusters, and what
// simulations run in its place. A workload is one or more YARN jobs over an
// input: HiBench's wordcount, sort and terasort so far, each in a file of its
// own.
//
// On a cluster, a workload prepares its input, runs its jobs under a tag,
// checks their output and removes it. Its twin is the same jobs in virtual
// time: files of the same lengths, placed by the NameNode's rules and read by
// as many maps.
//
// The package does not place tasks and captures nothing. It knows neither
// trials nor run folders.
package workload

import (
	"context"
	"math/rand/v2"

	"heddle/harness/config"
	"heddle/hibench"
)

// Workload is what one entry in an experiment's workloads describes.
type Workload interface {
	// On returns the workload on a cluster.
	On(place hibench.Env) (Live, error)
	// Twin returns the workload in virtual time, with part of its input cached
	// as cache says. The error names a setting that a simulation cannot honour.
	Twin(cache config.Cache) (*Twin, error)
}

// Live is a workload on a cluster. Its tags name everything that it makes
// there, including its YARN applications.
type Live interface {
	// Prepare makes the input unless it exists. Its applications carry tag +
	// "-prep".
	Prepare(ctx context.Context, tag string) (hibench.Data, error)
	// Run runs the workload once. settings come in addition to its own.
	Run(ctx context.Context, tag string, settings ...hibench.Setting) (hibench.Result, error)
	// Check compares a run's output with the input, and with the counters of
	// its applications. The applications of the check carry tag + "-check".
	Check(ctx context.Context, tag string, c *hibench.Counters) (hibench.Check, error)
	// Clean removes a run's output.
	Clean(tag string) error
}

// Of returns the workload that w describes.
func Of(w config.Workload) Workload { return hiBench{w} }

// ChooseFiles returns the indexes, in a list of files sorted by path, of the
// files to cache so that about fraction of all bytes is cached. HDFS caches
// whole files. The files are shuffled by the seed and considered one after the
// other; a file is taken if at least half of it fits into what is left of the
// fraction. So the sum is off by at most half a file. The same seed takes the
// same files in every trial, on a cluster and in simulations. Among files of
// equal size, a larger fraction takes all files of a smaller one.
func ChooseFiles(lengths []int64, fraction float64, seed uint64) []int {
	left := 0.0
	order := make([]int, len(lengths))
	for i, bytes := range lengths {
		order[i] = i
		left += float64(bytes) * fraction
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var chosen []int
	for _, i := range order {
		if bytes := float64(lengths[i]); bytes > 0 && bytes/2 <= left {
			left -= bytes
			chosen = append(chosen, i)
		}
	}
	return chosen
}
