package sim

import (
	"heddle/harness/state"
	"heddle/traces"
)

// fault carries out a fault: a node is lost, comes back or slows down, or a
// share of attempts begins to fail.
func (s *Sim) fault(f *Fault) {
	switch f.What {
	case NodeSlow:
		s.recorder.nodeSlowed(f.Node, f.Speed)
		s.nodes.slow(f.Node, f.Speed)
	case AttemptsFail:
		s.attempts.failing = f.Share
	case NodeDown:
		if s.nodes.lost.Has(f.Node) {
			return
		}
		s.nodes.lose(f.Node)
		s.caches.lose(f.Node)
		s.attempts.loseNode(f.Node)
		s.events.After(s.Costs.NodeExpiryMs, evExpire, uint32(f.Node), s.nodes.losses[f.Node])
	case NodeUp:
		if !s.nodes.lost.Has(f.Node) {
			return
		}
		if s.view.Up(f.Node) { // the node came back before the ResourceManager noticed its loss; the node's containers are gone all the same
			s.expire(f.Node)
			s.attempts.killLost(f.Node)
		}
		s.attempts.fetches.comeBack(f.Node)
		s.nodes.comeBack(f.Node)
		s.recorder.nodeUp(f.Node)
	}
}

// expire handles the moment when the ResourceManager notices that a node is
// lost. If reduces still need map output of that node, the ApplicationMaster
// asks again for containers for those maps. The attempts that ran on the node
// end later, in the function cleanUp.
func (s *Sim) expire(n state.NodeID) {
	if !s.nodes.lost.Has(n) || !s.view.Up(n) {
		return
	}
	s.state.NodeDown(n)
	s.recorder.nodeDown(n)
	for _, id := range s.view.Active() {
		slot := s.jobs.slot[id]
		j := &s.jobs.list[slot]
		s.attempts.loseOutput(slot, n)
		if j.amNode == n {
			s.loseMaster(slot, traces.KilledWithOwner)
		}
	}
	s.nodes.noteRoom(n)
	s.events.After(askAgainMs, evCleanUp, uint32(n), 1)
}

// cleanUp lets ApplicationMasters try to reach a lost node's NodeManager, to
// stop the attempts there. The parameter times counts their tries. When the
// NodeManager answers, or the last try has failed, these attempts count as
// killed. The ApplicationMaster then asks again for containers for their
// tasks.
//
// Source: Hadoop 3.4 ContainerLauncherImpl waits for the NodeManager as the
// settings yarn.client.nodemanager-connect.retry-interval-ms and .max-wait-ms
// say. On a lab, a node came back 15 s after its loss had been noticed, and
// its attempts were killed 7 s after that.
func (s *Sim) cleanUp(n state.NodeID, times uint32) {
	if s.nodes.lost.Has(n) && times*askAgainMs < giveUpMs {
		s.events.After(askAgainMs, evCleanUp, uint32(n), times+1)
		return
	}
	s.attempts.killLost(n)
}

const askAgainMs, giveUpMs = 10_000, 180_000

// loseMaster starts a new ApplicationMaster for a job whose ApplicationMaster
// was on a lost node, or was preempted. The new ApplicationMaster keeps the tasks that had
// succeeded, and asks again for containers for the other tasks.
func (s *Sim) loseMaster(slot int32, why string) {
	j := &s.jobs.list[slot]
	s.masters.leave(j, true)
	j.up = false
	j.gen++ // a new generation: events that were scheduled for the lost ApplicationMaster are now ignored
	j.beatSet, j.ended = false, false
	s.attempts.killAll(slot, why, true)
	s.containers.drop(j)
	s.masters.unaskAll(j)
	j.asked, j.unsent = 0, 0
	s.admit(slot)
}
