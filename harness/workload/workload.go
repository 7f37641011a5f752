// Package workload contains what experiments run on clusters, and what
// simulations run in its place. A workload is one or more YARN jobs over an
// input: HiBench's wordcount, sort and terasort so far, each in a file of its
// own.
//
// On a cluster, a workload prepares its input, runs its jobs under a YARN tag,
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

// Workload is one entry in an experiment file's list of workloads. It can run
// on a real cluster or be simulated.
type Workload interface {
	// On returns the workload, ready to run on the cluster that the
	// argument place describes.
	On(place hibench.Env) (Live, error)
	// Twin returns the simulated counterpart of the workload. cache says which
	// part of its input is in the HDFS cache. The error names a setting that a
	// simulation cannot honour.
	Twin(cache config.Cache) (*Twin, error)
}

// Live is a workload that runs on a real cluster. Everything that it makes
// there, including its YARN applications, has a name that contains the tag
// which the caller gives.
type Live interface {
	// Prepare makes the workload's input, unless the input exists already. The
	// YARN applications that make it have the tag tag + "-prep".
	Prepare(ctx context.Context, tag string) (hibench.Data, error)
	// Run runs the workload once. The given Hadoop settings are added to the
	// workload's own.
	Run(ctx context.Context, tag string, settings ...hibench.Setting) (hibench.Result, error)
	// Check checks the output of the run with the given tag. It compares the
	// output with the input, and with the counters of the run's applications.
	// YARN applications that do this have the tag tag + "-check".
	Check(ctx context.Context, tag string, c *hibench.Counters) (hibench.Check, error)
	// Clean removes the output of the run with the given tag.
	Clean(tag string) error
}

// Of returns the workload that the entry w of an experiment file describes.
func Of(w config.Workload) Workload { return hiBench{w} }

// ChooseFiles chooses the files to put into the HDFS cache, since HDFS caches
// whole files. It returns their indexes in a list of files sorted by path.
// Their lengths add up to about fraction of all bytes, and at most half a file
// more or less. The files are shuffled by the seed and considered one after the
// other. A file is taken if at least half of it fits into what is left of the
// fraction. The same seed takes the same files in every trial, on a cluster and
// in simulations. Among files of equal size, a larger fraction takes all files
// of a smaller one.
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
