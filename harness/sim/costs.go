package sim

// Costs are the times, in milliseconds, that Hadoop's own steps take. Start
// from DefaultCosts. Each field names its default and where that is from: the
// settings that Hadoop 3.4 ships with, a measurement on a lab of four workers,
// or a guess.
type Costs struct {
	// NodeBeatMs is the heartbeat interval of a NodeManager. The default, 1000, is
	// Hadoop's. 0 means that a node reports as soon as its report can change
	// something.
	NodeBeatMs int32
	// AsyncMs, if above 0, is the time between two rounds of asynchronous
	// scheduling: the scheduler then goes through all nodes and does not wait for
	// heartbeats. The default, 0, is Hadoop's.
	AsyncMs int32
	// AMBeatMs is the heartbeat interval of an ApplicationMaster, at which it sends
	// the requests for containers that it made since the one before, and learns of those
	// allocated. The default, 1000, is Hadoop's. 0 means that the ApplicationMaster asks and learns at once.
	AMBeatMs int32
	// SubmitMs is the time from a job's submission until a container for its
	// ApplicationMaster can be allocated. The default, 300, is guessed.
	SubmitMs int32
	// AMStartMs is the time from the allocation of the ApplicationMaster's
	// container until the ApplicationMaster has registered. The default, 3000, is
	// guessed from a job with one map and one reduce of 1.4 s each, which took 7
	// s. If one machine runs all nodes, an ApplicationMaster that is on none of them
	// shares its cores meanwhile, see masterCores, and this is its time alone.
	AMStartMs int32
	// AMBesideMB is the memory, in MB, that an ApplicationMaster which is on none of the nodes
	// takes of Machines.MastersMB; 0 if that is not known.
	AMBesideMB int32
	// LaunchMs is the time from the choice of a container's task to the start of
	// the task's attempt. The default, 100, is guessed: 180 to 230 ms were
	// measured, but part of this was waiting for a heartbeat.
	LaunchMs int32
	// FreeMs is the time from an attempt's end until another can be launched in its place: its
	// JVM ends, and the NodeManager reports that. The default is 0: it is part of LaunchMs.
	FreeMs int32
	// TaskStartMs is the time to start and end an attempt's JVM. This time is part
	// of the attempt's duration, is longer on slow nodes, and uses CPU cores where
	// these are limited. The default, 1000, is guessed from attempts of 1.4 s that
	// do almost nothing.
	TaskStartMs int32
	// CommitMs is the time that an attempt takes at its end to commit its HDFS
	// output. The default, 50, is guessed.
	CommitMs int32
	// FetchMs is the time that a reduce takes for each map output it fetches,
	// without the transfer itself. The default, 2, is guessed. Fetchers is how
	// many map outputs a reduce fetches at a time. The default, 5, is Hadoop's.
	FetchMs, Fetchers int32
	// FinishMs is the time from the end of a job's last task to the end of the
	// job. The default, 500, is guessed.
	FinishMs int32
	// LabelMs has times from a scheduling decision until its container comes, when
	// a node label gives the node to the job. The times are quantiles of equally
	// spaced probability, from the shortest to the longest. The default was
	// measured with asynchronous scheduling: median 22, 95th percentile 80,
	// longest 182.
	LabelMs []int32
	// RampUp is the largest share of a job's memory that its reduces may ask for
	// while maps wait. The default, 0.5, is Hadoop's.
	RampUp float64
	// AMShare is the largest share of the cluster's memory that all
	// ApplicationMasters together may take. One ApplicationMaster may always run.
	// The default, 0.1, is Hadoop's.
	AMShare float64
	// NodeExpiryMs is the time from a node's loss until the ResourceManager
	// notices it. The default, 600000, is Hadoop's.
	NodeExpiryMs int32
}

// DefaultCosts returns the times that Hadoop's own steps take. Values that are
// Hadoop settings are as Hadoop ships them; the others fit machines like those
// of heddle's lab.
func DefaultCosts() Costs {
	return Costs{
		NodeBeatMs: 1000, AMBeatMs: 1000, SubmitMs: 300, AMStartMs: 3000, LaunchMs: 100, TaskStartMs: 1000,
		CommitMs: 50, FetchMs: 2, Fetchers: 5, FinishMs: 500, RampUp: 0.5, AMShare: 0.1, NodeExpiryMs: 600_000,
		LabelMs: []int32{12, 15, 17, 18, 19, 20, 20, 21, 21, 22, 22, 23, 24, 26, 29, 34, 42, 54, 68, 80, 182},
	}
}

// NoCosts returns costs for a cluster where Hadoop's own steps, such as
// starting containers, take no time. Only the tasks' own work takes time.
func NoCosts() Costs { return Costs{Fetchers: 5, RampUp: 0.5, AMShare: 0.1} }
