package traces

import "fmt"

// kinds describes each kind of event: its name, how to make an empty event, and
// its rank, which orders events with the same time. The index in kinds is the
// number of the kind.
var kinds = [...]struct {
	name string
	make func() Event
	// rank orders events with the same time T: an event that can cause another
	// has the lower rank.
	rank uint8
}{
	KindNodeUp:          {"nodeUp", empty[NodeUp], 0},
	KindNodeDown:        {"nodeDown", empty[NodeDown], 12},
	KindNodeSample:      {"nodeSample", empty[NodeSample], 3},
	KindNodeLabel:       {"nodeLabel", empty[NodeLabel], 1},
	KindJobSubmitted:    {"jobSubmitted", empty[JobSubmitted], 4},
	KindJobStarted:      {"jobStarted", empty[JobStarted], 5},
	KindJobFinished:     {"jobFinished", empty[JobFinished], 11},
	KindTaskScheduled:   {"taskScheduled", empty[TaskScheduled], 6},
	KindTaskFinished:    {"taskFinished", empty[TaskFinished], 10},
	KindAttemptStarted:  {"attemptStarted", empty[AttemptStarted], 8},
	KindAttemptFinished: {"attemptFinished", empty[AttemptFinished], 9},
	KindBlockReplica:    {"blockReplica", empty[BlockReplica], 2},
	KindBlockCached:     {"blockCached", empty[BlockCached], 2},
	KindDecision:        {"decision", empty[Decision], 7},
	KindActuation:       {"actuation", empty[Actuation], 9},
	KindHeartbeat:       {"heartbeat", empty[Heartbeat], 7},
	KindNote:            {"note", empty[Note], 13},
	18:                  {name: "source"}, // no longer written: imports of earlier versions of heddle wrote events of this kind
	KindJobListed:       {"jobListed", empty[JobListed], 4},
	KindNodeCapacity:    {"nodeCapacity", empty[NodeCapacity], 1},
	KindNodeSpeed:       {"nodeSpeed", empty[NodeSpeed], 1},
	KindJobPredicted:    {"jobPredicted", empty[JobPredicted], 10},

	KindSparkApplication: {"sparkApplication", empty[SparkApplication], 4},
	KindSparkExecutor:    {"sparkExecutor", empty[SparkExecutor], 5},
	KindSparkQuery:       {"sparkQuery", empty[SparkQuery], 5},
	KindSparkStage:       {"sparkStage", empty[SparkStage], 6},
	KindSparkTask:        {"sparkTask", empty[SparkTask], 8},
}

// empty makes an event of the struct T.
func empty[T any, E interface {
	*T
	Event
}]() Event {
	return E(new(T))
}

// Kinds is the highest number of a known kind of event, plus one: the length of
// an array that has an element for each kind.
const Kinds = Kind(len(kinds))

// Known reports whether this version of heddle can read events of this kind.
func (k Kind) Known() bool { return k < Kinds && kinds[k].make != nil }

// String returns the kind's name in JSON Lines, such as "attemptStarted".
func (k Kind) String() string {
	if k >= Kinds || kinds[k].name == "" {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// New returns an empty event of kind k, or nil if this version of heddle does
// not know k.
func New(k Kind) Event {
	if !k.Known() {
		return nil
	}
	return kinds[k].make()
}

// ParseKind returns the kind of event with a name such as "attemptStarted".
func ParseKind(name string) (Kind, error) {
	for k := Kind(1); k < Kinds; k++ {
		if k.Known() && kinds[k].name == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("read event kind: %q is not one this program knows", name)
}

func (e *NodeUp) At() Time   { return e.T }
func (e *NodeUp) Kind() Kind { return KindNodeUp }

func (e *NodeDown) At() Time   { return e.T }
func (e *NodeDown) Kind() Kind { return KindNodeDown }

func (e *NodeCapacity) At() Time   { return e.T }
func (e *NodeCapacity) Kind() Kind { return KindNodeCapacity }

func (e *NodeSpeed) At() Time   { return e.T }
func (e *NodeSpeed) Kind() Kind { return KindNodeSpeed }

func (e *JobPredicted) At() Time   { return e.T }
func (e *JobPredicted) Kind() Kind { return KindJobPredicted }

func (e *NodeSample) At() Time   { return e.T }
func (e *NodeSample) Kind() Kind { return KindNodeSample }

func (e *NodeLabel) At() Time   { return e.T }
func (e *NodeLabel) Kind() Kind { return KindNodeLabel }

func (e *JobSubmitted) At() Time   { return e.T }
func (e *JobSubmitted) Kind() Kind { return KindJobSubmitted }

func (e *JobStarted) At() Time   { return e.T }
func (e *JobStarted) Kind() Kind { return KindJobStarted }

func (e *JobFinished) At() Time   { return e.T }
func (e *JobFinished) Kind() Kind { return KindJobFinished }

func (e *TaskScheduled) At() Time   { return e.T }
func (e *TaskScheduled) Kind() Kind { return KindTaskScheduled }

func (e *TaskFinished) At() Time   { return e.T }
func (e *TaskFinished) Kind() Kind { return KindTaskFinished }

func (e *AttemptStarted) At() Time   { return e.T }
func (e *AttemptStarted) Kind() Kind { return KindAttemptStarted }

func (e *AttemptFinished) At() Time   { return e.T }
func (e *AttemptFinished) Kind() Kind { return KindAttemptFinished }

func (e *BlockReplica) At() Time   { return e.T }
func (e *BlockReplica) Kind() Kind { return KindBlockReplica }

func (e *BlockCached) At() Time   { return e.T }
func (e *BlockCached) Kind() Kind { return KindBlockCached }

func (e *Decision) At() Time   { return e.T }
func (e *Decision) Kind() Kind { return KindDecision }

func (e *Actuation) At() Time   { return e.T }
func (e *Actuation) Kind() Kind { return KindActuation }

func (e *Heartbeat) At() Time   { return e.T }
func (e *Heartbeat) Kind() Kind { return KindHeartbeat }

func (e *Note) At() Time   { return e.T }
func (e *Note) Kind() Kind { return KindNote }

func (e *JobListed) At() Time   { return e.T }
func (e *JobListed) Kind() Kind { return KindJobListed }

func (e *SparkApplication) At() Time   { return e.T }
func (e *SparkApplication) Kind() Kind { return KindSparkApplication }

func (e *SparkQuery) At() Time   { return e.T }
func (e *SparkQuery) Kind() Kind { return KindSparkQuery }

func (e *SparkStage) At() Time   { return e.T }
func (e *SparkStage) Kind() Kind { return KindSparkStage }

func (e *SparkExecutor) At() Time   { return e.T }
func (e *SparkExecutor) Kind() Kind { return KindSparkExecutor }

func (e *SparkTask) At() Time   { return e.T }
func (e *SparkTask) Kind() Kind { return KindSparkTask }
