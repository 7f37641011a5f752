package traces

func (e *NodeUp) At() Time   { return e.T }
func (e *NodeUp) Kind() Kind { return KindNodeUp }

func (e *NodeDown) At() Time   { return e.T }
func (e *NodeDown) Kind() Kind { return KindNodeDown }

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
