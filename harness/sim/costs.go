package sim

// Costs is the time that the cluster's own machinery takes. Start from
// DefaultCosts. Each says whether its default was measured, on Hadoop 3.4 on a
// lab of four workers, or is guessed.
type Costs struct {
	// NodeBeatMs is a NodeManager's heartbeat, 1000 as Hadoop ships. 0: nodes
	// report at once.
	NodeBeatMs int32
	// AsyncMs, above 0, is how often the scheduler goes through all nodes by
	// itself (asynchronous scheduling) instead of when a node reports; 0 as Hadoop
	// ships.
	AsyncMs int32
	// AMBeatMs is an ApplicationMaster's heartbeat, 1000 as Hadoop ships: when it
	// asks, and hears of containers. 0: at once.
	AMBeatMs int32
	// SubmitMs is from submission until the ApplicationMaster's container can be
	// allocated; 300, guessed.
	SubmitMs int32
	// AMStartMs is from the ApplicationMaster's container to its first heartbeat;
	// 3000, guessed from 7 s for a job with a map and a reduce of 1.4 s each.
	AMStartMs int32
	// LaunchMs is from when the ApplicationMaster binds a task to the start of
	// the attempt; 100, measured: 180 to 230 with a heartbeat of 200, half of
	// which is waiting for it.
	LaunchMs int32
	// TaskStartMs is within the attempt, its JVM's start and end; 1000, guessed
	// from attempts of 1.4 s that do next to nothing. It is slower on slow nodes,
	// and shares cores where these are counted.
	TaskStartMs int32
	// CommitMs is at the end of an attempt that writes to HDFS; 50, guessed.
	CommitMs int32
	// FetchMs is for each map whose output a reduce fetches, besides the bytes;
	// 2, guessed. Fetchers is how many it fetches at a time, 5 as Hadoop ships.
	FetchMs, Fetchers int32
	// FinishMs is from the end of the last task to the end of the job; 500,
	// guessed.
	FinishMs int32
	// LabelMs is how long a decision takes to become a container under node
	// labels: quantiles at even distances from the least to the longest. Measured
	// with asynchronous scheduling: p50 22, p95 80, most 182.
	LabelMs []int32
	// RampUp is the most of what a job may use that its reduces are asked to take
	// while maps wait; 0.5 as Hadoop ships.
	RampUp float64
	// AMShare is the most of the cluster's memory that ApplicationMasters take,
	// 0.1 as Hadoop ships; one may always.
	AMShare float64
	// NodeExpiryMs is from a node's loss until it is noticed; 600000 as Hadoop
	// ships.
	NodeExpiryMs int32
}

// DefaultCosts are those of Hadoop as it ships, on machines as the lab's.
func DefaultCosts() Costs {
	return Costs{
		NodeBeatMs: 1000, AMBeatMs: 1000, SubmitMs: 300, AMStartMs: 3000, LaunchMs: 100, TaskStartMs: 1000,
		CommitMs: 50, FetchMs: 2, Fetchers: 5, FinishMs: 500, RampUp: 0.5, AMShare: 0.1, NodeExpiryMs: 600_000,
		LabelMs: []int32{12, 15, 17, 18, 19, 20, 20, 21, 21, 22, 22, 23, 24, 26, 29, 34, 42, 54, 68, 80, 182},
	}
}

// NoCosts are those of a cluster where nothing takes time but the tasks
// themselves.
func NoCosts() Costs { return Costs{Fetchers: 5, RampUp: 0.5, AMShare: 0.1} }
