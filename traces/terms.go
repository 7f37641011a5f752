package traces

// Terms are what the user of a job asks for, and says of the job, for scheduler
// models that heed it. Hadoop knows nothing of it. The zero value asks for
// nothing.
type Terms struct {
	// DeadlineMs is the time from the job's submission until which it should have
	// ended, in ms. 0 means that the job has no deadline.
	DeadlineMs int64 `json:"deadlineMs,omitempty" range:"ms"`
	// Price is what the job pays, in any unit: models compare the prices of jobs.
	Price float64  `json:"price,omitempty"`
	Hints JobHints `json:"hints,omitzero"`
}

// JobHints say how heavily the job's maps, and its reduces, use a node.
type JobHints struct {
	Map    Hints `json:"map,omitzero"`
	Reduce Hints `json:"reduce,omitzero"`
}

// Hints say how heavily one task uses a resource of its node, from 1, hardly at
// all, to MaxHint, as much as it gets. 0 means that the user does not say.
type Hints struct {
	CPU     uint8 `json:"cpu,omitempty" range:"hint"`
	Memory  uint8 `json:"memory,omitempty" range:"hint"`
	Disk    uint8 `json:"disk,omitempty" range:"hint"`
	Network uint8 `json:"network,omitempty" range:"hint"`
}

// MaxHint is the greatest value of a hint.
const MaxHint = 10
