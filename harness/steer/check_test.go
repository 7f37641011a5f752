package steer

import (
	"fmt"
	"testing"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// TestRoomComesLate has a node of two containers that has room for the one decided
// only when more time has passed than an opening waits for room: its size is set all
// the same, since no size was given before that could have failed.
func TestRoomComesLate(t *testing.T) {
	free := yarnclient.Node{ID: "n:1", Host: "n", State: "RUNNING", AvailMB: 1024}
	full := free
	full.UsedMB, full.AvailMB = 1024, 0
	half := free
	half.UsedMB = 512
	for _, x := range []struct {
		name  string
		story func(tell func(after time.Duration, what What, answer any, err error))
	}{
		{"an answer is lost, and the ResourceManager is well again", func(tell func(time.Duration, What, any, error)) {
			tell(3*time.Second, AskNode, nil, fmt.Errorf("no answer: %w", yarnclient.ErrUnreachable))
			tell(5*time.Millisecond, AskRM, yarnclient.ClusterInfo{ID: 1, HAState: yarnclient.HAActive}, nil)
			tell(2*time.Millisecond, AskNode, free, nil)
		}},
		{"an answer is slow", func(tell func(time.Duration, What, any, error)) {
			tell(2100*time.Millisecond, AskNode, free, nil)
		}},
		{"a container ends just in time", func(tell func(time.Duration, What, any, error)) {
			tell(1985*time.Millisecond, AskNode, full, nil)
			tell(2*time.Millisecond, AskNode, half, nil)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, n, j := oneJob(t, 2)
			j.sawPending(requests(2, 0), c.now)
			n.skipped = false
			c.decide(sched.Decision{Job: j.id, Kind: state.Map, Task: state.None})
			n.skipped = true // no further decision
			now, sent := c.now, c.now
			c.out = nil
			actions, _ := c.Step(now, nil)
			sizes := 0
			x.story(func(after time.Duration, what What, answer any, err error) {
				number := int64(0)
				for _, a := range actions {
					if l, ok := a.(*Look); ok && l.What == what {
						number = l.Number
					}
				}
				if number == 0 {
					t.Fatalf("%v after the start: %s was not asked", now.Sub(sent), what)
				}
				asked := now
				now = now.Add(after)
				actions, _ = c.Step(now, []Observation{{Answers: number, What: what, Sent: asked, Received: now, Answer: answer, Err: FailureOf(err)}})
				now = now.Add(20 * time.Millisecond)
				more, _ := c.Step(now, nil)
				actions = append(actions, more...)
				for _, a := range actions {
					if _, ok := a.(*SetSize); ok {
						sizes++
					}
				}
			})
			if sizes == 0 || n.active == nil {
				t.Errorf("%d sizes set, opening %v: want a size and the opening alive", sizes, n.active)
			}
		})
	}
}
