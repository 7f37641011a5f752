package synthetic

import "strconv"

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
// compress the data, or divide it by another rule. A map also reads on to the end
// of its buffer, so a buffer is no longer than a line of the input.
func Settings() map[string]string {
	return map[string]string{
		"io.file.buffer.size":                        strconv.Itoa(LineBytes),
		"mapreduce.map.output.compress":              "false",
		"mapreduce.output.fileoutputformat.compress": "false",
		"mapred.partitioner.class":                   "org.apache.hadoop.mapred.lib.HashPartitioner",
	}
}
