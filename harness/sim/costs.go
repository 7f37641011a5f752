package sim

// Costs are the times, in milliseconds, that Hadoop's own steps take. Start
// from DefaultCosts. Each field names its default and where that is from: the
// settings that Hadoop 3.4 ships with, a measurement on a lab of four workers,
// or a guess.
type Costs struct {
	// NodeBeatMs is the heartbeat interval of a NodeManager: 1000, as shipped.
	// 0: nodes report at once.
	NodeBeatMs int32
	// AsyncMs, above 0, is how often the scheduler goes through all nodes by
	// itself (asynchronous scheduling) instead of waiting for heartbeats: 0, as
	// shipped.
	AsyncMs int32
	// AMBeatMs is the heartbeat interval of an ApplicationMaster, at which it
	// asks for containers and learns of those it got: 1000, as shipped. 0: at
	// once.
	AMBeatMs int32
	// SubmitMs is the time from submission until the ApplicationMaster's
	// container can be allocated: 300, guessed.
	SubmitMs int32
	// AMStartMs is the time from the ApplicationMaster's container to its first
	// heartbeat: 3000, guessed from 7 s for a job with a map and a reduce of
	// 1.4 s each.
	AMStartMs int32
	// LaunchMs is the time from binding a task to the start of its attempt:
	// 100. Measured were 180 to 230 with a heartbeat of 200, half of which is
	// waiting for the heartbeat.
	LaunchMs int32
	// TaskStartMs is the time to start and end an attempt's JVM, part of the
	// attempt: 1000, guessed from attempts of 1.4 s that do almost nothing. It
	// takes longer on slow nodes, and shares the cores where these are counted.
	TaskStartMs int32
	// CommitMs is the time at the end of an attempt that writes to HDFS: 50,
	// guessed.
	CommitMs int32
	// FetchMs is the time for each map whose output a reduce fetches, besides
	// the transfer: 2, guessed. Fetchers is how many outputs it fetches at a
	// time: 5, as shipped.
	FetchMs, Fetchers int32
	// FinishMs is the time from the end of the last task to the end of the job:
	// 500, guessed.
	FinishMs int32
	// LabelMs is the time from a decision to its container under node labels,
	// as quantiles at equal distances from the shortest to the longest.
	// Measured with asynchronous scheduling: p50 22, p95 80, longest 182.
	LabelMs []int32
	// RampUp is the largest share of what a job may use that its reduces may
	// ask for while maps wait: 0.5, as shipped.
	RampUp float64
	// AMShare is the largest share of the cluster's memory that
	// ApplicationMasters may take: 0.1, as shipped. One ApplicationMaster may
	// always run.
	AMShare float64
	// NodeExpiryMs is the time from a node's loss until the ResourceManager
	// notices it: 600000, as shipped.
	NodeExpiryMs int32
}

// DefaultCosts returns the times that Hadoop's own steps take. Settings are as
// Hadoop ships them; other values fit machines like those of heddle's lab.
func DefaultCosts() Costs {
	return Costs{
		NodeBeatMs: 1000, AMBeatMs: 1000, SubmitMs: 300, AMStartMs: 3000, LaunchMs: 100, TaskStartMs: 1000,
		CommitMs: 50, FetchMs: 2, Fetchers: 5, FinishMs: 500, RampUp: 0.5, AMShare: 0.1, NodeExpiryMs: 600_000,
		LabelMs: []int32{12, 15, 17, 18, 19, 20, 20, 21, 21, 22, 22, 23, 24, 26, 29, 34, 42, 54, 68, 80, 182},
	}
}

// NoCosts returns costs of a cluster whose own steps, such as starting
// containers, take no time. Only the tasks' own work takes time.
func NoCosts() Costs { return Costs{Fetchers: 5, RampUp: 0.5, AMShare: 0.1} }
