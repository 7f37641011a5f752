package steer

import (
	"fmt"
	"slices"
	"time"

	"heddle/harness/require"
	"heddle/yarnclient"
)

// gate lets held masters start. Each asks for a label aNN that no node has, so its
// job stays ACCEPTED. The gate gives one of the nodes for masters that label until
// the master's container is there, and then the node's own label again. So a
// master never starts on a worker.
type gate struct {
	core  *Core
	queue []*job // jobs whose masters may start, in order
	now   *job   // job whose master may start at present; nil: none
	node  string // node for masters that has that job's label, "host:port"
	stage gateStage
	until time.Time // time limit for the master's container; then the next job has its turn
	look  *alarm

	failed int // failed label calls in a row
}

type gateStage uint8

const (
	gateShut    gateStage = iota
	gateMoving            // a node is chosen and given aNN
	gateOpen              // the master's container is awaited
	gateClosing           // the node gets its own label back
)

// masterStart is how far the start of a held master is.
type masterStart uint8

const (
	masterHeld    masterStart = iota // its splits are not rewritten yet
	masterQueued                     // its job waits for the gate
	masterStarted                    // its container was seen
)

// gateEvery is how long the gate waits before it tries again, after a failed call
// or where no node can serve.
const gateEvery = 200 * time.Millisecond

// startMaster puts the job into the gate's queue.
func (j *job) startMaster() {
	if j.master == masterQueued || j.ended {
		return
	}
	j.master = masterQueued
	j.core.gate.queue = append(j.core.gate.queue, j)
	j.core.gate.look.in(0)
}

// startMasterAgain puts a job into the gate's queue again if its master was lost:
// the job is ACCEPTED and its next attempt has no container.
func (j *job) startMasterAgain() {
	if j.master != masterStarted || j.ended || j.core.now.Sub(j.masterSeenAt) < gateEvery {
		return
	}
	j.masterSeenAt = j.core.now
	j.askMaster(func(has bool, _ time.Time, err error) {
		if err == nil && !has && j.master == masterStarted {
			j.core.note(string(j.jobID()) + ": its next ApplicationMaster attempt may start")
			j.startMaster()
		}
	})
}

// askMaster asks whether the latest attempt of the application has a container for
// its master.
func (j *job) askMaster(then func(has bool, sent time.Time, err error)) {
	ask(j.core, Look{What: AskAppAttempts, Of: j.app.ID}, func(list []yarnclient.AppAttempt, sent time.Time, err error) {
		if err != nil {
			j.core.failed("list attempts of "+j.app.ID, err)
		}
		then(len(list) > 0 && list[len(list)-1].ContainerID != "", sent, err)
	})
}

// step does what is due at the gate's stage.
func (g *gate) step() {
	c := g.core
	switch {
	case c.trouble != "":
		g.look.in(gateEvery)
	case g.stage == gateShut:
		g.queue = slices.DeleteFunc(g.queue, func(j *job) bool { return j.ended })
		if len(g.queue) > 0 {
			g.stage = gateMoving
			g.choose()
		}
	case g.stage == gateOpen && g.now.ended:
		g.shut()
	case g.stage == gateOpen:
		j := g.now
		j.askMaster(func(has bool, sent time.Time, err error) {
			switch {
			case g.stage != gateOpen:
			case err != nil:
				g.look.in(gateEvery)
			case has:
				j.master, j.masterSeenAt = masterStarted, c.now
				g.shut()
			case c.now.After(g.until): // another job's master may fit on the node
				c.log(Warn, "the ApplicationMaster did not start while a node had its label; other jobs have their turn", "application", j.app.ID, "node", g.node)
				g.queue = append(g.queue, j)
				g.shut()
			default:
				g.look.in(max(5*time.Millisecond, c.now.Sub(sent)))
			}
		})
	}
}

// choose gives the label of the first job in the queue to the node for masters
// that has the most memory left.
func (g *gate) choose() {
	c := g.core
	ask(c, Look{What: AskNodes, Of: "RUNNING"}, func(list []yarnclient.Node, _ time.Time, err error) {
		var best yarnclient.Node
		for _, n := range list {
			if n.Label() == c.Setup.AMLabel && (best.ID == "" || n.AvailMB > best.AvailMB) {
				best = n
			}
		}
		if err != nil || best.ID == "" {
			if err != nil {
				c.failed("list nodes", err)
			} else {
				c.log(Warn, "no running node has the ApplicationMasters' label", "label", c.Setup.AMLabel)
			}
			g.stage = gateShut
			g.look.in(gateEvery)
			return
		}
		j := g.queue[0]
		g.queue = slices.Delete(g.queue, 0, 1)
		g.now, g.node = j, best.ID
		g.label(j.sub.amLabel(), func() {
			g.stage, g.until = gateOpen, c.now.Add(c.Setup.GrantLimit)
			g.look.in(0)
		})
	})
}

// shut gives the node for masters its own label back.
func (g *gate) shut() {
	g.stage = gateClosing
	g.label(g.core.Setup.AMLabel, func() {
		g.stage, g.now = gateShut, nil
		g.look.in(0)
	})
}

// mend shuts a node for masters that still has a label aNN: a call that was given
// up has taken effect late.
func (g *gate) mend(n yarnclient.Node) {
	if g.core.holdsMasters() && g.stage == gateShut && n.State == "RUNNING" && require.InPool(n.Label()) && n.Label()[0] == 'a' {
		g.core.log(Warn, "a node for ApplicationMasters kept the label of one job; it gets its own label back", "node", n.Host, "label", n.Label())
		g.node = n.ID
		g.shut()
	}
}

// label gives the node a label and calls then. It tries again up to mostFailures
// times.
func (g *gate) label(label string, then func()) {
	c, set := g.core, &SetLabels{LabelOf: map[string]string{g.node: label}}
	c.change(set, &set.Number, func(err error) {
		if err == nil {
			g.failed = 0
			then()
			return
		}
		what := "give node " + g.node + " label " + label
		if g.failed++; g.failed > mostFailures && c.trouble == "" {
			c.stop(fmt.Errorf("given up after %d attempts to %s: %w", g.failed, what, err))
			return
		}
		c.failed(what, err)
		c.newAlarm(func() { g.label(label, then) }).in(gateEvery)
	})
}
