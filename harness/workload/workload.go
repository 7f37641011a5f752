// Package workload is what experiments run, and what simulations run in its
// place. A workload is one or more YARN jobs over an input: HiBench's wordcount,
// sort and terasort so far, each in a file of its own.
//
// On a cluster a workload prepares its input, runs its jobs under a tag, checks
// their output and removes it. Its twin is the same jobs in virtual time: files of
// the same lengths, placed by the rules of the NameNode, read by as many maps.
//
// The package decides no placement and captures nothing; it knows neither trials
// nor run folders.
package workload

import (
	"context"
	"math/rand/v2"

	"heddle/harness/config"
	"heddle/hibench"
)

// Workload is what one entry of an experiment's workloads stands for.
type Workload interface {
	// On is the workload on a cluster.
	On(place hibench.Env) (Live, error)
	// Twin is the workload in virtual time, with what cache says of its input
	// cached. The error names a setting that simulations cannot honour.
	Twin(cache config.Cache) (*Twin, error)
}

// Live is a workload on a cluster. All that it makes there is told by tags, which
// also its YARN applications carry.
type Live interface {
	// Prepare makes the input, or finds that it is there. Its applications carry
	// tag + "-prep".
	Prepare(ctx context.Context, tag string) (hibench.Data, error)
	// Run runs the workload once, with these settings besides its own.
	Run(ctx context.Context, tag string, settings ...hibench.Setting) (hibench.Result, error)
	// Check compares a run's output with the input, and with the counters of its
	// applications. Its own applications carry tag + "-check".
	Check(ctx context.Context, tag string, c *hibench.Counters) (hibench.Check, error)
	// Clean removes a run's output.
	Clean(tag string) error
}

// Of is the workload that w describes.
func Of(w config.Workload) Workload { return hiBench{w} }

// ChooseFiles are the places, in a list of files in the order of their paths, of
// those to cache so that about a fraction of all bytes is cached. Whole files are
// the unit, as they are of HDFS's cache: they are shuffled by the seed, and one
// after the other is taken if more of it than not fits into what the fraction
// leaves. So the sum is off by at most half a file, the same seed takes the same
// files in every trial and in both worlds, and a larger fraction of files of one
// size takes those of a smaller one too.
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
