package rhc

import (
	"math"
	"math/rand/v2"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// How jobs are made up whose intermediate data is estimated: the paper's two jobs have 64
// and 224 maps. How unlike maps and jobs are is ours.
const (
	estimatedJobs = 2000
	mapDeviation  = 0.1 // of a map's output
	jobDeviation  = 0.1 // of the ratio of output to input, from job to job
	firstTenth    = 2.0 // with inputs=first, how many times as much the first tenth of a job's maps put out
)

// estimates returns by how many percent estimates of a job's data are wrong. The data is
// estimated from the first maps, as all maps over those that are done times their output;
// or, to compare with, from the ratio of output to input of the job before.
func (x monteCarlo) estimates(ofLastJob bool, seed uint64) paper.Simulation {
	random := rand.New(rand.NewPCG(seed, 4))
	var wrong []float64
	last := math.NaN() // output of a map of the job before
	for i := range estimatedJobs {
		maps, job := []int{64, 224}[i%2], math.Exp(jobDeviation*random.NormFloat64())
		done, all, first := int(math.Ceil(x.Share*float64(maps))), 0.0, 0.0
		for k := range maps {
			out := job * max(0, 1+mapDeviation*random.NormFloat64())
			if x.Inputs == "first" && 10*k < maps {
				out *= firstTenth
			}
			if all += out; k < done {
				first += out
			}
		}
		guess := first * float64(maps) / float64(done)
		if ofLastJob {
			guess = last * float64(maps)
		}
		if last = all / float64(maps); !math.IsNaN(guess) {
			wrong = append(wrong, 100*math.Abs(guess/all-1))
		}
	}
	return paper.Simulation{Notes: map[string]float64{"error": stats.Quantile(wrong, 0.5)}, Samples: map[string][]float64{"error": wrong}}
}
