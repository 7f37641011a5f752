package steer

import (
	"fmt"
	"testing"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// asked is the number of the last question of a kind that a Core wants answered.
func asked(t *testing.T, c *Core, what What) (number int64) {
	t.Helper()
	for _, a := range c.out {
		if l, ok := a.(*Look); ok && l.What == what {
			number = l.Number
		}
	}
	if number == 0 {
		t.Fatalf("nothing asks for %s", what)
	}
	return number
}

// running has the job run its first map in a new container, which was decided.
func running(j *job, container string, attempt int32) *container {
	n := j.core.nodes[0]
	n.skipped = false
	j.core.decide(sched.Decision{Job: j.id, Kind: state.Map, Task: state.None})
	n.skipped = true
	j.newContainer(yarnclient.Container{ID: container, NodeID: "n:1", Priority: yarnclient.PriorityMap}, j.core.now)
	x := j.live[container]
	x.bind(0, traces.Attempt{Task: traces.Task{Job: j.jobID(), Kind: state.Map}, Number: attempt})
	return x
}

// TestOldAnswersOfTheMaster has what a master said of a task arrive when more is
// known of the task: it changes nothing.
func TestOldAnswersOfTheMaster(t *testing.T) {
	const id = "task_1_0001_m_000000"
	for _, c := range []struct {
		name string
		what What
		old  any
		// known is what happens between the question and the answer.
		known func(j *job)
		want  string
	}{
		{
			"it waited, and runs in a container that is not listed since a restart", AskTasks,
			[]yarnclient.Task{{ID: id, State: "SCHEDULED"}},
			func(j *job) { j.missing = []*container{running(j, "c1", 0)} },
			"1 runs, 0 done, 1 waits",
		},
		{
			"it had failed, and is done since", AskTaskAttempts,
			[]yarnclient.TaskAttempt{{ID: "attempt_1_0001_m_000000_0", Type: "MAP", State: "FAILED"}},
			func(j *job) { running(j, "c2", 1).went() },
			"0 runs, 1 done, 1 waits",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, _, j := oneJob(t, 1)
			j.attempt = "appattempt_1_0001_000001"
			j.sawPending(requests(2, 0), core.now)
			sent := core.now.Add(time.Second)
			core.now = sent
			if c.what == AskTasks {
				j.reconcile()
			} else {
				j.askWhere(0)
			}
			number := asked(t, core, c.what)
			core.now = sent.Add(time.Second)
			c.known(j)
			core.Step(sent.Add(2*time.Second), []Observation{{
				Answers: number, What: c.what, Sent: sent, Received: sent.Add(2 * time.Second),
				Answer: c.old,
			}})
			v := core.view
			got := fmt.Sprintf("%d runs, %d done, %d waits", v.Running(j.id, state.Map), v.Done(j.id, state.Map), v.Waiting(j.id, state.Map))
			if got != c.want {
				t.Errorf("of 2 maps %s, want %s", got, c.want)
			}
		})
	}
}

// TestParkedAfterRestart has a ResourceManager come back: all workers are parked
// anew before anything is decided, whatever labels it has kept.
func TestParkedAfterRestart(t *testing.T) {
	c, n, j := oneJob(t, 1)
	now := c.now
	answer := func(what What, with any) []Action {
		now = now.Add(10 * time.Millisecond)
		number := asked(t, c, what)
		actions, _ := c.Step(now, []Observation{{Answers: number, What: what, Sent: now, Received: now, Answer: with}})
		c.out = append([]Action{}, actions...) // so that asked finds the next questions
		return actions
	}
	c.suspect("its calls fail")
	answer(AskRM, yarnclient.ClusterInfo{ID: 2, HAState: yarnclient.HAActive})
	n.skipped = false
	j.sawPending(requests(2, 0), c.now)
	for _, a := range answer(AskNodes, c.Nodes) {
		if set, ok := a.(*SetLabels); ok {
			if set.LabelOf[n.yarn] != idleLabel {
				t.Errorf("the node is given label %q first, want %q", set.LabelOf[n.yarn], idleLabel)
			}
			return
		}
	}
	t.Error("the node is not parked")
}

// TestLostInARestart has a ResourceManager restart that loses a container of which
// the master never heard. Until the node has registered, and a moment longer, the
// container may still run; then its room is free, and the decision was not honoured.
func TestLostInARestart(t *testing.T) {
	c, n, j := oneJob(t, 1)
	j.attempt = "appattempt_1_0001_000001"
	began, now := c.now, c.now
	j.sawPending(requests(1, 0), c.now)
	n.skipped = false
	c.decide(sched.Decision{Job: j.id, Kind: state.Map, Task: state.None})
	n.skipped = true
	// What the ResourceManager and the master say; down means that it does not answer,
	// away that no node is registered, lists that the container is in lists.
	rm, down, away, lists := int64(1), false, false, true
	answer := func(l *Look) any {
		switch l.What {
		case AskRM:
			return yarnclient.ClusterInfo{ID: rm, HAState: yarnclient.HAActive}
		case AskNodes:
			if away {
				return []yarnclient.Node{}
			}
			return c.Nodes
		case AskApp:
			return yarnclient.App{ID: j.app.ID, State: "RUNNING", Use: requests(1, 0)}
		case AskContainers:
			list := []yarnclient.Container{{ID: "c0", NodeID: "master:1", Priority: yarnclient.PriorityAM}}
			if lists {
				list = append(list, yarnclient.Container{ID: "c1", NodeID: n.yarn, Priority: yarnclient.PriorityMap})
			}
			return list
		case AskTasks:
			return []yarnclient.Task{{ID: "task_1_0001_m_000000", State: "SCHEDULED"}, {ID: "task_1_0001_m_000001", State: "SCHEDULED"}}
		case AskTaskAttempts:
			return []yarnclient.TaskAttempt{}
		}
		return nil
	}
	var told *traces.Actuation
	freeAt := time.Duration(0)
	run := func(until time.Duration) {
		batch := []Observation(nil)
		for ; now.Sub(began) < until; now = now.Add(10 * time.Millisecond) {
			actions, _ := c.Step(now, batch)
			batch = nil
			for _, a := range actions {
				switch a := a.(type) {
				case *Look:
					o := Observation{Answers: a.Number, What: a.What, Sent: now, Received: now.Add(5 * time.Millisecond), Answer: answer(a)}
					if down {
						o.Answer, o.Err = nil, FailureOf(fmt.Errorf("no answer: %w", yarnclient.ErrUnreachable))
					}
					batch = append(batch, o)
				case *SetLabels:
					batch = append(batch, Observation{Answers: a.Number, Received: now.Add(5 * time.Millisecond)})
				case *Record:
					if e, ok := a.Event.(*traces.Actuation); ok && told == nil {
						told = e
					}
				}
			}
			if free := c.view.Free(n.id); freeAt == 0 && free.MemoryMB >= 512 {
				freeAt = now.Sub(began)
			}
		}
	}
	run(500 * time.Millisecond)
	if x := j.live["c1"]; x == nil || x.by == nil || freeAt != 0 {
		t.Fatalf("before the restart: container %+v, room free at %v", x, freeAt)
	}
	rm, down, away, lists = 2, true, true, false
	run(2 * time.Second)
	down = false
	run(8 * time.Second)
	if told != nil || freeAt != 0 {
		t.Fatalf("its node is not registered, and it is told as %+v, with its room free at %v", told, freeAt)
	}
	away = false
	run(20 * time.Second)
	if told == nil || told.Outcome != "unused" || told.Container != "c1" {
		t.Errorf("the decision's outcome is %+v, want unused", told)
	}
	if freeAt < 8*time.Second+listsAfter || freeAt > 8*time.Second+listsAfter+3*time.Second {
		t.Errorf("its room is free %v after the start, want about %v", freeAt, 8*time.Second+listsAfter)
	}
}
