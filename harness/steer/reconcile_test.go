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
	j.newContainer(yarnclient.Container{ID: container, NodeID: "n:1", Priority: yarnclient.PriorityMap})
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
			j.sawPending(requests(2, 0))
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
			core.Step(sent.Add(2*time.Second), []Observation{{Answers: number, What: c.what, Sent: sent, Received: sent.Add(2 * time.Second), Answer: c.old}})
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
	j.sawPending(requests(2, 0))
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
