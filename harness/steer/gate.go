package steer

import (
	"fmt"
	"slices"
	"time"

	"heddle/harness/require"
	"heddle/yarnclient"
)

// gate lets ApplicationMasters start one after the other, each after the rewriting of
// its job's splits. Each asks for a label aNN that no node has, so its job stays
// ACCEPTED. The gate gives that label to a node kept for ApplicationMasters until the
// container has started. So no ApplicationMaster starts on a worker.
type gate struct {
	core  *Core
	queue []*job // jobs whose ApplicationMasters wait for a node to start on, the next one first
	now   *job   // job whose ApplicationMaster may start at present; nil: none
	node  string // node ("host:port") that has the label aNN for the job's ApplicationMaster
	stage gateStage
	until time.Time // deadline for the ApplicationMaster's container; after it, the next job's ApplicationMaster may start
	look  *alarm

	failed int // how many calls that change labels failed in a row
}

type gateStage uint8

const (
	gateShut    gateStage = iota
	gateMoving            // a node is being chosen for the job's ApplicationMaster, or is being given its label
	gateOpen              // the node has the ApplicationMaster's label until the container is seen
	gateClosing           // the node is being given back the label of nodes for ApplicationMasters
)

// masterStart is the state of an ApplicationMaster's start: held back, waiting for a
// node, or started.
type masterStart uint8

const (
	masterHeld    masterStart = iota // the ApplicationMaster must not start yet: its job's splits are not rewritten
	masterQueued                     // the job waits until a node gets the label that its ApplicationMaster asks for
	masterStarted                    // the ApplicationMaster has started: YARN has listed its container
)

// gateEvery is the pause before steering tries again to let an ApplicationMaster start,
// after a call failed or when no running node was kept for ApplicationMasters.
const gateEvery = 200 * time.Millisecond

// startMaster queues the job until a node can get the label that the job's
// ApplicationMaster asks for.
func (j *job) startMaster() {
	if j.master == masterQueued || j.ended {
		return
	}
	j.master = masterQueued
	j.core.gate.queue = append(j.core.gate.queue, j)
	j.core.gate.look.in(0)
}

// startMasterAgain lets a job's ApplicationMaster start again if it was lost: YARN
// lists the job as ACCEPTED, and its latest application attempt has no container.
func (j *job) startMasterAgain() {
	if j.master != masterStarted || j.ended || j.core.now.Sub(j.masterSeenAt) < gateEvery {
		return
	}
	j.masterSeenAt = j.core.now
	j.askMaster(func(last yarnclient.AppAttempt, _ time.Time, err error) {
		if err == nil && last.ContainerID == "" && j.master == masterStarted {
			j.note("its next ApplicationMaster attempt may start")
			j.startMaster()
		}
	})
}

// askMaster asks YARN for the latest attempt of the application. It has a container if its
// ApplicationMaster has.
func (j *job) askMaster(then func(last yarnclient.AppAttempt, sent time.Time, err error)) {
	ask(j.core, Look{What: AskAppAttempts, Of: j.app.ID}, func(list []yarnclient.AppAttempt, sent time.Time, err error) {
		var last yarnclient.AppAttempt
		if err != nil {
			j.core.failed("list attempts of "+j.app.ID, err)
		} else if len(list) > 0 {
			last = list[len(list)-1]
		}
		then(last, sent, err)
	})
}

// step takes the next action that lets a job's ApplicationMaster start, or that
// gives the node its own label back afterwards.
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
		j.askMaster(func(last yarnclient.AppAttempt, sent time.Time, err error) {
			switch {
			case g.stage != gateOpen:
			case err != nil:
				g.look.in(gateEvery)
			case last.ContainerID != "":
				j.master, j.masterSeenAt = masterStarted, c.now
				g.shut()
			case c.now.After(g.until): // this job's turn is over: the ApplicationMaster of another job may fit on the node
				c.log(Warn, "the ApplicationMaster did not start while a node had its label; other jobs have their turn",
					"application", j.app.ID, "node", g.node)
				g.queue = append(g.queue, j)
				g.shut()
			default:
				g.look.in(max(5*time.Millisecond, c.now.Sub(sent)))
			}
		})
	}
}

// choose takes the first job in the queue, and the node with most free memory among
// those kept for ApplicationMasters. It gives that node the label for the job's
// ApplicationMaster.
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
			g.stage, g.until = gateOpen, c.now.Add(c.grantWait.limit())
			g.look.in(0)
		})
	})
}

// shut takes the label for one job's ApplicationMaster from the node: the node gets
// the label of nodes for ApplicationMasters again.
func (g *gate) shut() {
	g.stage = gateClosing
	g.label(g.core.Setup.AMLabel, func() {
		g.stage, g.now = gateShut, nil
		g.look.in(0)
	})
}

// mend gives a node for ApplicationMasters its own label back, if the node still has
// the label aNN of one job. That happens if a call that changes labels timed out, but
// took effect later.
func (g *gate) mend(n yarnclient.Node) {
	if g.core.holdsMasters() && g.stage == gateShut && n.State == "RUNNING" && require.InPool(n.Label()) && n.Label()[0] == 'a' {
		g.core.log(Warn, "a node for ApplicationMasters kept the label of one job; it gets its own label back",
			"node", n.Host, "label", n.Label())
		g.node = n.ID
		g.shut()
	}
}

// The method label gives a label to the node that the gate has chosen. It calls the
// function in its argument then when YARN has confirmed the label. If the call to YARN
// fails, it tries again up to mostFailures times; after that, steering ends.
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
		c.after(gateEvery, func() { g.label(label, then) })
	})
}
