package traces

// Visitor has a method for each type of event field. The method Fields of an
// event calls these methods for one field after the other, in the order in
// which a trace file stores the fields. Encoders and digests read the fields;
// decoders set them.
//
// To keep old files readable, a new field is added at the end of its event, and
// its zero value must mean "not reported". Structs that several events contain
// (Task, Attempt, Counters, NodeFacts) must never get a new field.
type Visitor interface {
	// When is called for T, the time of the event itself. For all other times of
	// an event, the method Time is called.
	When(*Time)
	Time(*Time)
	Int64(*int64)
	Int32(*int32)
	Uint8(*uint8)
	Uint64(*uint64)
	Float64(*float64)
	Bool(*bool)
	// Name is called for a text that many events share, such as a host or a
	// queue.
	Name(*string)
	// More is called before fields that came later, at the end of an event. The
	// argument set says whether one of these fields has a value, and the result
	// whether the visit goes on with them. Encoders and digests leave them out if
	// none has a value, so that events of older traces keep their bytes and their
	// digest. All other visitors go on.
	More(set bool) bool
	// Text is called for a text that is rarely the same in two events.
	Text(*string)
	Nodes(*[]Node)
	Blocks(*[]Block)
	// Count is called before the elements of a list, with their number and how many fields
	// each has. It returns how many elements the list is to have: decoders return the number
	// in the trace, all others n. The fields of the elements follow.
	Count(n, fields int) int
}

func (t *Task) fields(v Visitor) {
	v.Name((*string)(&t.Job))
	v.Uint8((*uint8)(&t.Kind))
	v.Int32(&t.Index)
}

func (a *Attempt) fields(v Visitor) {
	a.Task.fields(v)
	v.Int32(&a.Number)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *NodeUp) Fields(v Visitor) {
	v.When(&e.T)
	e.NodeFacts.fields(v)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *NodeDown) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Node))
	v.Name(&e.Reason)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *NodeCapacity) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Node))
	v.Int64(&e.MemoryBytes)
	v.Int32(&e.VCores)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *NodeSpeed) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Node))
	v.Float64(&e.Speed)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *JobPredicted) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Job))
	v.Uint8(&e.DonePct)
	v.Int64((*int64)(&e.End))
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *NodeSample) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Node))
	v.Int64(&e.IntervalNs)
	v.Float64(&e.CPUUser)
	v.Float64(&e.CPUSystem)
	v.Float64(&e.CPUIOWait)
	v.Float64(&e.CPUSteal)
	v.Int64(&e.CPUThrottledNs)
	v.Float64(&e.Load1)
	v.Int64(&e.MemoryUsedBytes)
	v.Int64(&e.PageCacheBytes)
	v.Int64(&e.MemoryFreeBytes)
	v.Float64(&e.DiskReadBytesPerSec)
	v.Float64(&e.DiskWriteBytesPerSec)
	v.Float64(&e.DiskQueue)
	v.Float64(&e.NetRecvBytesPerSec)
	v.Float64(&e.NetSentBytesPerSec)
	v.Int32(&e.ContainersRunning)
	v.Int64(&e.AllocatedMemoryBytes)
	v.Int32(&e.AllocatedVCores)
	v.Int64(&e.HDFSCacheUsedBytes)
	v.Int32(&e.AgentLostSamples)
	v.Int64(&e.ClockOffsetNs)
	v.Int64(&e.ClockUncertaintyNs)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *NodeLabel) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Node))
	v.Name(&e.Label)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *JobSubmitted) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Job))
	v.Name(&e.Name)
	v.Name(&e.User)
	v.Name(&e.Queue)
	v.Int32(&e.Priority)
	v.Int32(&e.Maps)
	v.Int32(&e.Reduces)
	v.Name(&e.Workload)
	v.Int64(&e.MapMemoryBytes)
	v.Int32(&e.MapVCores)
	v.Int64(&e.ReduceMemoryBytes)
	v.Int32(&e.ReduceVCores)
	v.Float64(&e.SlowStart)
	v.Name(&e.MapLabel)
	v.Name(&e.ReduceLabel)
	v.Bool(&e.Speculation)
	if v.More(e.Pool != "" || e.Terms != Terms{} || e.Costs != "") {
		v.Name(&e.Pool)
		e.Terms.fields(v, e.Costs != "")
	}
	if v.More(e.Costs != "") {
		v.Name(&e.Costs)
	}
}

// fields visits the terms. The argument more says whether a later field of the event
// has a value.
func (t *Terms) fields(v Visitor, more bool) {
	if !v.More(more || *t != Terms{}) {
		return
	}
	v.Int64(&t.DeadlineMs)
	v.Float64(&t.Price)
	for _, h := range []*Hints{&t.Hints.Map, &t.Hints.Reduce} {
		v.Uint8(&h.CPU)
		v.Uint8(&h.Memory)
		v.Uint8(&h.Disk)
		v.Uint8(&h.Network)
	}
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *JobStarted) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Job))
	v.Name((*string)(&e.AMNode))
	v.Int32(&e.AMAttempt)
	v.Int64(&e.AMMemoryBytes)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *JobFinished) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Job))
	v.Uint8((*uint8)(&e.Outcome))
	v.Text(&e.Diagnostics)
	e.Counters.fields(v)
	v.Int64(&e.DataLocalMaps)
	v.Int64(&e.RackLocalMaps)
	v.Int64(&e.OtherLocalMaps)
	v.Int64(&e.LaunchedMaps)
	v.Int64(&e.LaunchedReds)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *TaskScheduled) Fields(v Visitor) {
	v.When(&e.T)
	e.Task.fields(v)
	v.Nodes(&e.SplitHosts)
	v.Name(&e.Path)
	v.Int64(&e.OffsetBytes)
	v.Int64(&e.LengthBytes)
	v.Blocks(&e.Blocks)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *TaskFinished) Fields(v Visitor) {
	v.When(&e.T)
	e.Task.fields(v)
	v.Uint8((*uint8)(&e.Outcome))
	v.Int32(&e.Winner)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *AttemptStarted) Fields(v Visitor) {
	v.When(&e.T)
	e.Attempt.fields(v)
	v.Name((*string)(&e.Node))
	v.Name(&e.Rack)
	v.Text(&e.Container)
	v.Uint8((*uint8)(&e.SplitLocality))
	v.Uint8((*uint8)(&e.ReplicaLocality))
	v.Int64(&e.SampleAgeNs)
	v.Bool(&e.Speculative)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *AttemptFinished) Fields(v Visitor) {
	v.When(&e.T)
	e.Attempt.fields(v)
	v.Uint8((*uint8)(&e.Outcome))
	v.Bool(&e.Unlaunched)
	v.Time(&e.MapDone)
	v.Time(&e.ShuffleDone)
	v.Time(&e.SortDone)
	v.Text(&e.Error)
	e.Counters.fields(v)
	v.Name((*string)(&e.Node))
	v.Uint8((*uint8)(&e.SplitLocality))
}

func (c *Counters) fields(v Visitor) {
	v.Int64(&c.HDFSReadBytes)
	v.Int64(&c.HDFSWrittenBytes)
	v.Int64(&c.FileReadBytes)
	v.Int64(&c.FileWrittenBytes)
	v.Int64(&c.ShuffleBytes)
	v.Int64(&c.MapOutputBytes)
	v.Int64(&c.InputRecords)
	v.Int64(&c.OutputRecords)
	v.Int64(&c.SpilledRecords)
	v.Int64(&c.CPUMs)
	v.Int64(&c.GCMs)
	v.Int64(&c.PhysicalBytes)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *BlockReplica) Fields(v Visitor) {
	v.When(&e.T)
	v.Uint64((*uint64)(&e.Block))
	v.Name((*string)(&e.Node))
	v.Name(&e.Path)
	v.Int64(&e.OffsetBytes)
	v.Int64(&e.LengthBytes)
	v.Bool(&e.Gone)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *BlockCached) Fields(v Visitor) {
	v.When(&e.T)
	v.Uint64((*uint64)(&e.Block))
	v.Name((*string)(&e.Node))
	v.Bool(&e.Gone)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *Decision) Fields(v Visitor) {
	v.When(&e.T)
	v.Int64(&e.ID)
	v.Name((*string)(&e.Job))
	v.Uint8((*uint8)(&e.What))
	v.Name((*string)(&e.Node))
	v.Int32(&e.TaskIndex)
	v.Int32(&e.BindIndex)
	v.Name(&e.BindBranch)
	v.Int64(&e.Group)
	v.Name(&e.Reason)
	if v.More(e.Values != "" || e.Seen != nil) {
		v.Text(&e.Values)
		e.seen(v)
	}
}

// seen passes the field Seen to a Visitor, as a list of one element or none.
func (e *Decision) seen(v Visitor) {
	n := 0
	if e.Seen != nil {
		n = 1
	}
	if !v.More(n > 0) {
		return
	}
	switch v.Count(n, 5) { // the fields that stand in each Seen
	case 0:
		e.Seen = nil
		return
	case n:
	default:
		e.Seen = new(Seen)
	}
	e.Seen.fields(v)
}

// fields passes the fields to a Visitor, those first that are set most often: most
// decisions end before More.
func (s *Seen) fields(v Visitor) {
	v.Bool(&s.OneNode)
	v.Int64(&s.Limit)
	v.Uint8((*uint8)(&s.WaitUnit))
	v.Uint8((*uint8)(&s.Farthest))
	if n := v.Count(len(s.Passed), 3); n != len(s.Passed) { // never so in an encoder or digest
		s.Passed = make([]PassedJob, n)
	}
	for i := range s.Passed {
		p := &s.Passed[i]
		v.Name((*string)(&p.Job))
		v.Uint8((*uint8)(&p.Why))
		v.Int64(&p.Waited)
	}
	if !v.More(s.Waited != 0 || s.MorePassed != 0 || s.ViewAgeMs != 0 || len(s.Candidates) > 0 || s.MoreCandidates != 0) {
		return
	}
	v.Int64(&s.Waited)
	v.Int32(&s.MorePassed)
	v.Int64(&s.ViewAgeMs)
	if n := v.Count(len(s.Candidates), 4); n != len(s.Candidates) {
		s.Candidates = make([]Candidate, n)
	}
	for i := range s.Candidates {
		c := &s.Candidates[i]
		v.Name((*string)(&c.Node))
		v.Uint8((*uint8)(&c.Level))
		v.Uint8((*uint8)(&c.Room))
		v.Int64(&c.ForMs)
	}
	v.Int32(&s.MoreCandidates)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *Actuation) Fields(v Visitor) {
	v.When(&e.T)
	v.Int64(&e.Decision)
	v.Time(&e.AskedAt)
	v.Time(&e.GrantedAt)
	v.Name(&e.Outcome)
	v.Text(&e.Container)
	e.Bound.fields(v)
	v.Text(&e.Cause)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *Heartbeat) Fields(v Visitor) {
	v.When(&e.T)
	v.Name((*string)(&e.Node))
	v.Int64(&e.FreeMemoryBytes)
	v.Int32(&e.FreeVCores)
	v.Int32(&e.ContainersFree)
	v.Int32(&e.RunningContainer)
}

// Fields implements Event: it passes each field of the event to a Visitor, such
// as an encoder or a decoder.
func (e *Note) Fields(v Visitor) {
	v.When(&e.T)
	v.Text(&e.Text)
}

func (f *NodeFacts) fields(v Visitor) {
	v.Name((*string)(&f.Node))
	v.Name(&f.Rack)
	v.Int64(&f.MemoryBytes)
	v.Int32(&f.VCores)
	v.Int64(&f.CacheBytes)
	v.Float64(&f.Cores)
	v.Bool(&f.Worker)
}
