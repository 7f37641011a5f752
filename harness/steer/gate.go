package steer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/yarnclient"
)

// gate lets ApplicationMasters start that were held. Each asks for a label of
// its own that no node has, so its job stays ACCEPTED. A node that is kept for
// ApplicationMasters takes one such label at a time, until the container is
// there, and goes back to its own: to workers no master ever comes.
type gate struct {
	line  []*job // to be let in, in order
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
type passage uint8

const (
	held    passage = iota // until its splits are rewritten
	waiting                // for the gate
	passed                 // it had a container
)

// gateEvery is how often the gate looks again, where a call has failed or there
// is no node.
const gateEvery = 200 * time.Millisecond

// letIn has a job's master start.
func (d *Driver) letIn(j *job) {
	if j.passage == waiting || j.ended {
		return
	}
	j.passage = waiting
	d.gate.line = append(d.gate.line, j)
	d.gate.look.in(0)
}

// letInAgain lets in the next attempt of a master that was lost: an application that
// is accepted and has no container waits for its label.
func (d *Driver) letInAgain(j *job) {
	if j.passage != passed || j.ended || time.Since(j.passedAt) < gateEvery {
		return
	}
	j.passedAt = time.Now()
	d.askMaster(j, func(has bool, err error) {
		if err == nil && !has && j.passage == passed {
			d.note(string(j.jobID()) + ": its next ApplicationMaster is let in")
			d.letIn(j)
		}
	})
}

// askMaster asks whether the latest attempt of an application has a container
// for its ApplicationMaster.
func (d *Driver) askMaster(j *job, then func(has bool, err error)) {
	ask(d, func(ctx context.Context) ([]yarnclient.AppAttempt, error) { return d.rm.Attempts(ctx, j.app.ID) }, func(list []yarnclient.AppAttempt, err error) {
		if err != nil {
			d.failed("list attempts of "+j.app.ID, err)
		}
		then(len(list) > 0 && list[len(list)-1].ContainerID != "", err)
	})
}

// atGate is the gate's next step.
func (d *Driver) atGate() {
	g := &d.gate
	switch {
	case d.trouble != "":
		g.look.in(gateEvery)
	case g.stage == gateShut:
		g.line = slices.DeleteFunc(g.line, func(j *job) bool { return j.ended })
		if len(g.line) > 0 {
			g.stage = gateMoving
			d.chooseGate()
		}
	case g.stage == gateOpen && g.now.ended:
		d.shutGate()
	case g.stage == gateOpen:
		began, j := time.Now(), g.now
		d.askMaster(j, func(has bool, err error) {
			switch {
			case g.stage != gateOpen:
			case err != nil:
				g.look.in(gateEvery)
			case has:
				j.passage, j.passedAt = passed, time.Now()
				d.shutGate()
			case time.Now().After(g.until): // others may fit
				d.log.Warn("no ApplicationMaster started while its label was open", "application", j.app.ID, "node", g.node)
				g.line = append(g.line, j)
				d.shutGate()
			default:
				g.look.in(max(5*time.Millisecond, time.Since(began)))
			}
		})
	}
}

// chooseGate gives the node with the most memory left the label of the first in
// line.
func (d *Driver) chooseGate() {
	g := &d.gate
	ask(d, func(ctx context.Context) ([]yarnclient.Node, error) { return d.rm.Nodes(ctx, "RUNNING") }, func(list []yarnclient.Node, err error) {
		var best yarnclient.Node
		for _, n := range list {
			if n.Label() == d.set.amLabel && (best.ID == "" || n.AvailMB > best.AvailMB) {
				best = n
			}
		}
		if err != nil || best.ID == "" {
			if err != nil {
				d.failed("list nodes", err)
			} else {
				d.log.Warn("no running node has the ApplicationMasters' label", "label", d.set.amLabel)
			}
			g.stage = gateShut
			g.look.in(gateEvery)
			return
		}
		j := g.line[0]
		g.line = slices.Delete(g.line, 0, 1)
		g.now, g.node = j, best.ID
		d.label(g.node, j.sub.amLabel(), func() {
			g.stage, g.until = gateOpen, time.Now().Add(d.set.grantLimit)
			g.look.in(0)
		})
	})
}

// shutGate gives the node its own label back.
func (d *Driver) shutGate() {
	g := &d.gate
	g.stage = gateClosing
	d.label(g.node, d.set.amLabel, func() {
		g.stage, g.now = gateShut, nil
		g.look.in(0)
	})
}

// label gives a node a label, however often that has to be tried.
func (d *Driver) label(node, label string, then func()) {
	d.change(func(ctx context.Context) error { return d.changes.ReplaceLabels(ctx, map[string]string{node: label}) }, func(err error) {
		if err == nil {
			d.gate.failed = 0
			then()
			return
		}
		what := "give node " + node + " label " + label
		if d.gate.failed++; d.gate.failed > mostFailures && d.trouble == "" {
			d.stop(fmt.Errorf("given up after %d attempts to %s: %w", d.gate.failed, what, err))
			return
		}
		d.failed(what, err)
		d.newAlarm(func() { d.label(node, label, then) }).in(gateEvery)
	})
}

func (s *Submission) amLabel() string { return "a" + s.number }
