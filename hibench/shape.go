package hibench

// Shape is what a workload's job reads, ships and writes, as plain data: what a
// simulation needs to know of it. Ratios and times are typical ones. A
// calibration has those of a cluster.
type Shape struct {
	// Files of the input, FileBytes long each.
	Files     int
	FileBytes int64
	Reduces   int
	// MapOutputPerByte is what reduces fetch of each byte of the input,
	// ReduceOutputPerByte what they write of each byte fetched.
	MapOutputPerByte    float64
	ReduceOutputPerByte float64
	// MapMsPerMiB and ReduceMsPerMiB are what a core of a lab computes for a MiB of
	// input and a MiB fetched, without the start of the JVM and without waiting.
	MapMsPerMiB, ReduceMsPerMiB float64
}

// Shape is what the spec's job does.
func (s Spec) Shape() Shape {
	s = s.withDefaults()
	shape := workloads[s.Workload].shape
	shape.Files, shape.FileBytes, shape.Reduces = s.Maps, s.bytes()/int64(s.Maps), s.Reduces
	return shape
}

// WordCount's ratios were measured on a lab: its combiner leaves next to nothing
// of a text of a thousand words. Sort ships what it reads, and TeraSort adds 4
// bytes to each row of 100. Times are guesses, in whole tens.
var (
	wordcountShape = Shape{MapOutputPerByte: 0.0012, ReduceOutputPerByte: 0.29, MapMsPerMiB: 150, ReduceMsPerMiB: 100}
	sortShape      = Shape{MapOutputPerByte: 1, ReduceOutputPerByte: 1, MapMsPerMiB: 40, ReduceMsPerMiB: 60}
	terasortShape  = Shape{MapOutputPerByte: 1.04, ReduceOutputPerByte: 0.96, MapMsPerMiB: 40, ReduceMsPerMiB: 60}
)
