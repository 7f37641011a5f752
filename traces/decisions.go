package traces

// Decision says that a scheduler model decided to start a task of a job on a
// node.
type Decision struct {
	T    Time     `json:"t"`
	ID   int64    `json:"id" range:"id"` // number of the decision, from 1; no other decision of the run has it
	Job  JobID    `json:"job" range:"some"`
	What TaskKind `json:"what"`
	Node Node     `json:"node"`
	// TaskIndex is the index of the task that the model chose; -1 means any task
	// of the job.
	TaskIndex int32 `json:"taskIndex" range:"tasks,-1"`
	// BindIndex is the index of the map that the ApplicationMaster was expected
	// to start in the container; -1 means that no map was predicted. Of off-rack
	// maps another may start as well: which one depends on what comes first.
	BindIndex int32 `json:"bindIndex" range:"tasks,-1"`
	// BindBranch is the ApplicationMaster's rule for choosing a map, on which
	// BindIndex is based: rerun (a map that failed before), node (a map with its
	// split on the node), rack (a map with its split in the rack), any (any map).
	BindBranch string `json:"bindBranch,omitempty"`
	Group      int64  `json:"group,omitempty" range:"any"`
	Reason     string `json:"reason,omitempty"`
	// Values are what the model says of the decision, such as probabilities and features:
	// names and numbers, as in "pGood=0.25 load=12". It is empty if the model says nothing.
	Values string `json:"values,omitempty" file:"text,later"`
	// Seen is what the model saw; nil if that was not recorded. In a trace that recorded
	// reasons (Header.Reasons) it is nil for a decision of which there is nothing to tell: no
	// node was nearer to the map's input, the job had not waited, and no job was passed over.
	Seen *Seen `json:"seen,omitempty" file:"later"`
}

// Seen is what a scheduler model saw when it made a decision, in traces of runs that
// recorded reasons.
type Seen struct {
	// OneNode is true if the model could choose a task for this node only: the one
	// whose heartbeat had arrived. Otherwise it could choose among all nodes with room.
	OneNode bool `json:"oneNode,omitempty"`
	// Limit and Waited are numbers of a model that lets a job wait for nodes with its input,
	// in the unit WaitUnit: how long the job has to wait to start a map so far from its input,
	// or for a map at its input, to start one farther away, and how long it had waited when the
	// decision was made. WaitUnit is 0 if the model counts nothing. If Farthest is unknown, the
	// task need not wait, such as a reduce.
	Limit    int64    `json:"limit,omitempty"`
	WaitUnit WaitUnit `json:"waitUnit,omitzero"`
	// Farthest is how far from its input the model let the job start a map; unknown if the
	// model did not limit that.
	Farthest Level `json:"farthest,omitempty"`
	// Passed are jobs with a waiting task of the same kind that came before the decision's
	// job in the model's order, and in which the model started nothing. The list is cut, and
	// MorePassed counts the others.
	Passed     []PassedJob `json:"passed,omitempty" range:"few"`
	Waited     int64       `json:"waited,omitempty" file:"later"`
	MorePassed int32       `json:"morePassed,omitempty" range:"tasks"`
	// ViewAgeMs is how old what the model saw of the job was, in ms. It is 0 in
	// simulations.
	ViewAgeMs int64 `json:"viewAgeMs,omitempty" range:"ms"`
	// Candidates are the nodes nearer than the decision's node to the input of the map that
	// the decision was meant to start: those that cache its block, then those with a replica
	// of it. The map is the decision's BindIndex, or its TaskIndex if it has none; a reduce
	// has no candidates. The list is cut, and MoreCandidates counts the others.
	Candidates     []Candidate `json:"candidates,omitempty" range:"few"`
	MoreCandidates int32       `json:"moreCandidates,omitempty" range:"tasks"`
}

// Candidate is a node that has the input of a map, at the time of a decision.
type Candidate struct {
	Node  Node  `json:"node" range:"some"`
	Level Level `json:"level"` // LevelCache: the node caches the block; LevelNode: it has a replica
	Room  Room  `json:"room"`
	// ForMs is how long the node had had no room, or been down, in ms; -1 if that is not known. It is
	// 0 if the node had room.
	ForMs int64 `json:"forMs,omitempty" range:",-1"`
}

// PassedJob is a job that came before the job of a decision and in which the model
// started nothing.
type PassedJob struct {
	Job JobID     `json:"job" range:"some"`
	Why PassedWhy `json:"why"`
	// Waited is how long the job had waited for a nearer node, in the WaitUnit of Seen; 0 if
	// Why is not PassedWaits.
	Waited int64 `json:"waited,omitempty"`
}

// Actuation says what became of a decision: whether the cluster started a
// container as the model had decided.
type Actuation struct {
	T        Time  `json:"t"` // time at which the outcome of the decision was known
	Decision int64 `json:"decision" range:"id"`
	AskedAt  Time  `json:"askedAt"` // time at which the cluster was asked to carry out the decision
	// GrantedAt is the time at which YARN first reported the container for the
	// decision; 0 means that it reported none.
	GrantedAt Time `json:"grantedAt,omitempty"`
	// Outcome is the result of the decision: honoured (one container came), surplus (more
	// than one), unused (one came, and no task ran in it), none (no container), cancelled
	// (the decision was withdrawn).
	Outcome   string  `json:"outcome"`
	Container string  `json:"container,omitempty" file:"text"`
	Bound     Attempt `json:"bound" range:"maybe"` // attempt that ran in the decision's container; empty if unknown
	Cause     string  `json:"cause,omitempty" file:"text"`
}
