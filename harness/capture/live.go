package capture

import (
	"context"
	"errors"
	"strings"
	"time"

	"heddle/traces"
	"heddle/yarnclient"
)

// askMaster asks the ApplicationMaster again and again for the job's progress, and records tasks and
// attempts that have started or ended. The job's history file is more exact, but
// exists only after the job's end.
func (s *Session) askMaster(ctx context.Context, j *jobRecord) {
	master := s.watch.Cluster.RM.AM("application_" + strings.TrimPrefix(string(j.id), "job_"))
	ask := sparing(s.pause, func(ctx context.Context) error { return s.askProgress(ctx, master, j) })
	list := sparing(s.pause, func(ctx context.Context) error { return s.listTasks(ctx, master, j) })
	every(ctx, max(s.options.EveryRM, masterInterval), func(ctx context.Context) error {
		err := ask(ctx)
		if err == nil && j.last != j.lastListed { // else no task started or ended since the last list of tasks
			err = list(ctx)
		}
		return err
	})
}

func (s *Session) askProgress(ctx context.Context, master *yarnclient.AM, j *jobRecord) error {
	job, err := master.Job(ctx)
	if err != nil {
		if errors.Is(err, yarnclient.ErrJobEnded) || errors.Is(err, yarnclient.ErrNoMaster) {
			return nil
		}
		return s.pollFailed(ctx, string(j.id)+": ApplicationMaster", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.last.ID == "" {
		host, _, _ := strings.Cut(j.app.AMHost, ":")
		s.record(&traces.JobStarted{T: s.joiner.at(job.StartedMs), Job: j.id, AMNode: traces.Node(host), AMAttempt: 1})
	}
	j.last = job
	if s.options.Progress != nil {
		s.options.Progress(s.progress())
	}
	return nil
}

// listTasks records what has changed in the job's tasks. It gives no warning: the job may have ended; if it
// has not, the next call tries again.
func (s *Session) listTasks(ctx context.Context, master *yarnclient.AM, j *jobRecord) error {
	job := j.last
	tasks, err := master.Tasks(ctx)
	for _, t := range tasks {
		if err == nil {
			err = s.askTask(ctx, master, j, job, t)
		}
	}
	if err == nil {
		j.lastListed = job
	}
	return err
}

// stage is what was last recorded of a task or task attempt: that it waits, runs or has
// ended; 0: nothing is recorded.
type stage int8

const (
	waiting stage = iota + 1
	running
	ended
)

// askTask records what has changed in a task since it was last listed. It asks the
// ApplicationMaster for the task's attempts when the task starts to run, and again if
// an attempt was added or failed.
func (s *Session) askTask(ctx context.Context, master *yarnclient.AM, j *jobRecord, job yarnclient.Job, t yarnclient.Task) error {
	was := j.seen[t.ID]
	if was == ended || t.State == "NEW" {
		return nil
	}
	known := j.seen[t.SuccessfulAttempt] == running || t.State == "SCHEDULED" && was != running ||
		t.State == "RUNNING" && was == running && attemptCounts(job) == attemptCounts(j.lastListed)
	var list []yarnclient.TaskAttempt
	if !known {
		var err error
		if list, err = master.Attempts(ctx, t.ID); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordTask(j, t, list)
	return nil
}

// attemptCounts returns two counts: first the attempts that failed or were killed,
// second the running attempts beyond one per running task, such as speculative ones. A
// change in either means that the attempts must be listed again.
func attemptCounts(j yarnclient.Job) [2]int {
	return [2]int{
		j.FailedMapAttempts + j.KilledMapAttempts + j.FailedReduceAttempts + j.KilledReduceAttempts,
		max(0, j.RunningMapAttempts-j.MapsRunning) + max(0, j.RunningReduceAttempts-j.ReducesRunning),
	}
}

func (s *Session) recordTask(j *jobRecord, t yarnclient.Task, list []yarnclient.TaskAttempt) {
	id, err := traces.ParseTask(t.ID)
	if err != nil {
		return
	}
	at := func(unixMs int64) traces.Time {
		if unixMs <= 0 {
			return s.now()
		}
		return s.joiner.at(unixMs)
	}
	if j.seen[t.ID] == 0 {
		e := &traces.TaskScheduled{T: at(t.StartedMs), Task: id}
		s.joiner.locate(e, j)
		s.record(e)
		j.seen[t.ID] = waiting
	}
	if len(list) > 0 {
		j.seen[t.ID] = running
	}
	end := func(attempt, state string, ms int64) {
		if id, err := traces.ParseAttempt(attempt); err == nil && j.seen[attempt] == running {
			s.record(&traces.AttemptFinished{T: at(ms), Attempt: id, Outcome: outcomes[state], Counters: traces.NoCounters})
			j.seen[attempt] = ended
		}
	}
	for _, a := range list {
		attempt, err := traces.ParseAttempt(a.ID)
		if err == nil && j.seen[a.ID] == 0 && a.StartedMs > 0 {
			host, _, _ := strings.Cut(a.NodeHTTPAddress, ":")
			e := &traces.AttemptStarted{T: at(a.StartedMs), Attempt: attempt, Node: traces.Node(host), Rack: a.Rack, Container: a.ContainerID}
			s.joiner.setReplicaLocality(e, j)
			s.record(e)
			j.seen[a.ID] = running
		}
		switch {
		case a.FinishedMs > 0:
			end(a.ID, a.State, a.FinishedMs)
		case a.StartedMs == 0: // the attempt waits for its start: list the attempts of its task again later
			j.seen[t.ID] = waiting
		}
	}
	if outcome := outcomes[t.State]; outcome != traces.Unfinished {
		winner := int32(-1)
		if w, err := traces.ParseAttempt(t.SuccessfulAttempt); err == nil {
			winner = w.Number
			end(t.SuccessfulAttempt, t.State, t.FinishedMs)
		}
		s.record(&traces.TaskFinished{T: at(t.FinishedMs), Task: id, Outcome: outcome, Winner: winner})
		j.seen[t.ID] = ended
	}
}

// outcomes maps the state that Hadoop reports for a task, attempt or application to the
// outcome in the trace.
var outcomes = map[string]traces.Outcome{"SUCCEEDED": traces.Succeeded, "FAILED": traces.Failed, "KILLED": traces.Killed}

// The method add adds the task counts of one job to the sums in p.
func (p *Progress) add(j *jobRecord) {
	p.Jobs++
	x := j.last
	if j.app.Ended() { // its ApplicationMaster was asked before that
		p.JobsEnded++
		x.MapsRunning, x.ReducesRunning = 0, 0
		if j.app.FinalStatus == "SUCCEEDED" {
			x.MapsCompleted, x.ReducesCompleted = x.Maps, x.Reduces
		}
	}
	p.Maps, p.MapsDone, p.MapsRunning = p.Maps+x.Maps, p.MapsDone+x.MapsCompleted, p.MapsRunning+x.MapsRunning
	p.Reduces, p.ReducesDone, p.ReducesRunning = p.Reduces+x.Reduces, p.ReducesDone+x.ReducesCompleted, p.ReducesRunning+x.ReducesRunning
}

// progress returns the task counts summed over all jobs that the capture has seen.
func (s *Session) progress() Progress {
	p := s.joinedProgress
	for _, j := range s.alive {
		p.add(j)
	}
	return p
}

// masterInterval is the shortest time between two calls that ask one ApplicationMaster
// for its job's progress.
const masterInterval = 500 * time.Millisecond

// pause is for how long an ApplicationMaster is not asked again after a call, or a list of tasks, that took
// so long. Each call is work for the ResourceManager's proxy: those of many jobs take half of the time together,
// unless progress were older than 10 s then.
func (s *Session) pause(took time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(took*time.Duration(max(4, 2*len(s.alive))), max(4*took, 10*time.Second))
}
