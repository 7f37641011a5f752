package traces

// What Hadoop 3.4 says of attempts that were killed, or how that begins. Simulated traces
// say the same in [AttemptFinished.Error].
const (
	KilledForMaps   = "Reducer preempted to make room for pending map attempts"
	KilledByYARN    = "Container preempted by scheduler"
	KilledAsSlower  = "Speculation: "
	KilledWithNode  = "TaskAttempt killed because it ran on unusable node"
	KilledOnLost    = "Container released on a *lost* node"
	KilledWithTask  = "Task KILL is received. Killing attempt!"
	KilledWithOwner = "its ApplicationMaster was lost with its node" // only simulated: a killed ApplicationMaster says nothing
)
