package steer

import (
	"fmt"
	"slices"
	"time"

	"heddle/harness/require"
	"heddle/yarnclient"
)

// gate lets ApplicationMasters start that were held. Each asks for a label of
// its own that no node has, so its job stays ACCEPTED. A node that is kept for
// ApplicationMasters takes one such label at a time, until the container is
// there, and goes back to its own: to workers no master ever comes.
type gate struct {
	core  *Core
	queue []*job // to be let in, in order
	now   *job   // whose label the node has; nil: none
	node  string // "host:port"
	stage gateStage
	until time.Time // now gives way to the next then
	look  *alarm

	failed int // calls in a row
}

type gateStage uint8

const (
	gateShut    gateStage = iota
	gateMoving            // a node is chosen and moved
	gateOpen              // a container is awaited
	gateClosing           // the node goes back
)

// passage is how far a job's ApplicationMaster is.
type masterStart uint8

const (
	masterHeld    masterStart = iota // until its splits are rewritten
	masterQueued                     // for the gate
	masterStarted                    // it had a container
)

// gateEvery is how often the gate looks again, where a call has failed or there
// is no node.
const gateEvery = 200 * time.Millisecond

// startMaster has a job's master start.
func (j *job) startMaster() {
	if j.master == masterQueued || j.ended {
		return
	}
	j.master = masterQueued
	j.core.gate.queue = append(j.core.gate.queue, j)
	j.core.gate.look.in(0)
}

// startMasterAgain lets in the next attempt of a master that was lost: an application that
// is accepted and has no container waits for its label.
func (j *job) startMasterAgain() {
	if j.master != masterStarted || j.ended || j.core.now.Sub(j.masterSeenAt) < gateEvery {
		return
	}
	j.masterSeenAt = j.core.now
	j.askMaster(func(has bool, _ time.Time, err error) {
		if err == nil && !has && j.master == masterStarted {
			j.core.note(string(j.jobID()) + ": its next ApplicationMaster is let in")
			j.startMaster()
		}
	})
}

// askMaster asks whether the latest attempt of an application has a container
// for its ApplicationMaster.
func (j *job) askMaster(then func(has bool, sent time.Time, err error)) {
	ask(j.core, Look{What: AskAppAttempts, Of: j.app.ID}, func(list []yarnclient.AppAttempt, sent time.Time, err error) {
		if err != nil {
			j.core.failed("list attempts of "+j.app.ID, err)
		}
		then(len(list) > 0 && list[len(list)-1].ContainerID != "", sent, err)
	})
}

// step is the gate's next one.
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
			case c.now.After(g.until): // others may fit
				c.log(Warn, "no ApplicationMaster started while its label was open", "application", j.app.ID, "node", g.node)
				g.queue = append(g.queue, j)
				g.shut()
			default:
				g.look.in(max(5*time.Millisecond, c.now.Sub(sent)))
			}
		})
	}
}

// choose gives the node with the most memory left the label of the first in line.
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

// shut gives the node its own label back.
func (g *gate) shut() {
	g.stage = gateClosing
	g.label(g.core.Setup.AMLabel, func() {
		g.stage, g.now = gateShut, nil
		g.look.in(0)
	})
}

// mend shuts a node that a call has opened late, after it was given up.
func (g *gate) mend(n yarnclient.Node) {
	if g.core.holdsMasters() && g.stage == gateShut && n.State == "RUNNING" && require.InPool(n.Label()) && n.Label()[0] == 'a' {
		g.core.log(Warn, "a node for ApplicationMasters was open though it was shut", "node", n.Host, "label", n.Label())
		g.node = n.ID
		g.shut()
	}
}

// label gives the node a label, however often that has to be tried.
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
