package hibench

// Shape describes what a workload's job reads, shuffles and writes, as a
// simulation needs it. Ratios and times are typical ones. A calibration has
// those of a particular cluster.
type Shape struct {
	// Files is the number of input files, and FileBytes the length of each.
	Files     int
	FileBytes int64
	Reduces   int
	// MapOutputPerByte is the bytes shuffled per input byte.
	// ReduceOutputPerByte is the bytes written per shuffled byte.
	MapOutputPerByte    float64
	ReduceOutputPerByte float64
	// MapMsPerMiB is a core's computing time per MiB of input on a lab, and
	// ReduceMsPerMiB that per MiB shuffled. The JVM's start and waiting do not
	// count.
	MapMsPerMiB, ReduceMsPerMiB float64
}

// Shape returns what the spec's job reads, shuffles and writes.
func (s Spec) Shape() Shape {
	s = s.withDefaults()
	shape := workloads[s.Workload].shape
	shape.Files, shape.FileBytes, shape.Reduces = s.Maps, s.bytes()/int64(s.Maps), s.Reduces
	return shape
}

// WordCount's ratios were measured on a lab: its combiner leaves next to
// nothing of a text with a thousand different words. Sort shuffles what it
// reads; TeraSort adds 4 bytes to each row of 100. The times are guesses,
// rounded to tens.
var (
	wordcountShape = Shape{MapOutputPerByte: 0.0012, ReduceOutputPerByte: 0.29, MapMsPerMiB: 150, ReduceMsPerMiB: 100}
	sortShape      = Shape{MapOutputPerByte: 1, ReduceOutputPerByte: 1, MapMsPerMiB: 40, ReduceMsPerMiB: 60}
	terasortShape  = Shape{MapOutputPerByte: 1.04, ReduceOutputPerByte: 0.96, MapMsPerMiB: 40, ReduceMsPerMiB: 60}
)
