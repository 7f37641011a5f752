package hibench

// Shape describes what a workload's job reads, shuffles and writes, so that a
// simulation can run it. Its ratios and times are typical ones. A calibration
// takes their place with values measured on a particular cluster.
type Shape struct {
	// Files is the number of the job's input files. FileBytes is the length of
	// each file in bytes.
	Files     int
	FileBytes int64
	Reduces   int
	// MapOutputPerByte is the number of bytes shuffled for each input byte.
	// ReduceOutputPerByte is the number of bytes written for each byte
	// shuffled.
	MapOutputPerByte    float64
	ReduceOutputPerByte float64
	// MapMsPerMiB is how long, in ms, a core computes for each MiB that a map
	// reads. ReduceMsPerMiB is the same for each MiB that a reduce fetches.
	// Neither includes the start of the JVM or waiting.
	MapMsPerMiB, ReduceMsPerMiB float64
	// Maps is the number of maps of a job that reads no files.
	Maps int
	// MapSleepMs is how long, in ms, a map waits without using a core. ReduceSleepMs
	// is the same for a reduce.
	MapSleepMs, ReduceSleepMs float64
}

// Shape returns what the spec's job reads, shuffles and writes, for a
// simulation.
func (s Spec) Shape() Shape {
	s = s.withDefaults()
	shape := workloads[s.Workload].shape
	bytes := s.bytes()
	switch {
	case s.Workload == Sleep:
		ofMap, ofReduce := s.Sleeps()
		return Shape{Maps: s.Maps, Reduces: s.Reduces, MapSleepMs: ofMap.Seconds() * 1000, ReduceSleepMs: ofReduce.Seconds() * 1000}
	case DFSIO(s.Workload):
		// A map reads a file that says which file it writes or reads. That is no part
		// of the job's input, as Hadoop sees it.
		shape.Files, shape.FileBytes, shape.Reduces = s.Maps, dfsioControlBytes, 1
		shape.MapSleepMs = dfsioMsPerMiB * float64(s.FileBytes()/mebi)
		return shape
	}
	if SQL(s.Workload) {
		bytes = s.dataSize() * visitBytes
	}
	shape.Files, shape.FileBytes, shape.Reduces = s.Maps, bytes/int64(s.Maps), s.Reduces
	if s.Workload == "scan" {
		shape.Reduces = 0
	}
	return shape
}

// visitBytes is how many bytes a row of the table uservisits takes in its file,
// about.
const visitBytes = 199

// dfsioControlBytes is the length of the file that tells a map of dfsioe what to do,
// about. dfsioMsPerMiB is how long it takes for each MiB, a guess.
const (
	dfsioControlBytes = 112
	dfsioMsPerMiB     = 15
)

// Typical ratios and times of the workloads. The ratios of wordcount, of the
// join's first job and of the aggregation were measured on a cluster. The
// combiner of wordcount leaves almost nothing of a text with a thousand
// different words. sort shuffles as many bytes as it reads. terasort adds 4
// bytes to each row of 100 bytes. grep finds little. The times are guesses,
// rounded to tens.
var (
	wordcountShape   = Shape{MapOutputPerByte: 0.0012, ReduceOutputPerByte: 0.29, MapMsPerMiB: 150, ReduceMsPerMiB: 100}
	joinShape        = Shape{MapOutputPerByte: 0.004, ReduceOutputPerByte: 1.3, MapMsPerMiB: 150, ReduceMsPerMiB: 100}
	aggregationShape = Shape{MapOutputPerByte: 0.17, ReduceOutputPerByte: 1.1, MapMsPerMiB: 150, ReduceMsPerMiB: 200}
	scanShape        = Shape{MapOutputPerByte: 1, ReduceOutputPerByte: 1, MapMsPerMiB: 100}
	grepShape        = Shape{MapOutputPerByte: 0.001, ReduceOutputPerByte: 0.5, MapMsPerMiB: 40, ReduceMsPerMiB: 100}
	dfsioShape       = Shape{MapOutputPerByte: 1, ReduceOutputPerByte: 0.5}
	sortShape        = Shape{MapOutputPerByte: 1, ReduceOutputPerByte: 1, MapMsPerMiB: 40, ReduceMsPerMiB: 60}
	terasortShape    = Shape{MapOutputPerByte: 1.04, ReduceOutputPerByte: 0.96, MapMsPerMiB: 40, ReduceMsPerMiB: 60}
)
