package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// The names of two files in a task's working folder, and the commands of a
// Streaming job that has these files.
const (
	ProgramFile = "heddle" // this program
	SpecFile    = "spec"   // the job's Spec
	Mapper      = "./" + ProgramFile + " task map"
	Reducer     = "./" + ProgramFile + " task reduce"
)

// Settings returns the Hadoop properties that a job needs, so that its counters
// show the bytes that its Spec asks for. Values of the cluster's own could
// compress the data, or divide it by another rule.
func Settings() map[string]string {
	return map[string]string{
		"mapreduce.map.output.compress":              "false",
		"mapreduce.output.fileoutputformat.compress": "false",
		"mapred.partitioner.class":                   "org.apache.hadoop.mapred.lib.HashPartitioner",
	}
}

// Popular chooses which input each of a number of jobs reads, by Zipf's law:
// the input with index i is chosen in proportion to 1/(i+1)^exponent. So with
// exponent 0 all inputs are alike. The same seed gives the same choice.
func Popular(jobs, inputs int, exponent float64, seed uint64) ([]int, error) {
	if jobs < 0 || inputs < 1 || !(exponent >= 0 && exponent <= 10) {
		return nil, fmt.Errorf("choose among %d inputs for %d jobs with exponent %v: want at least one input, and an exponent from 0 to 10", inputs, jobs, exponent)
	}
	upTo := make([]float64, inputs) // weight of the inputs up to this one
	sum := 0.0
	for i := range upTo {
		sum += math.Pow(float64(i+1), -exponent)
		upTo[i] = sum
	}
	random := rand.New(rand.NewPCG(seed, 0))
	chosen := make([]int, jobs)
	for i := range chosen {
		chosen[i] = min(sort.SearchFloat64s(upTo, random.Float64()*sum), inputs-1)
	}
	return chosen, nil
}
