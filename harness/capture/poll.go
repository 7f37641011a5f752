package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/node/agent"
	"heddle/harness/clients"
	"heddle/traces"
	"heddle/yarnclient"
)

// pollRM asks the ResourceManager for applications, and records what has changed since its
// last call. Instead of making a call, it may use an answer that another part of the program
// got, if that call began at most maxAge ago.
func (s *Session) pollRM(ctx context.Context, maxAge time.Duration) error {
	apps, err := s.apps(ctx, maxAge)
	if err != nil {
		return s.pollFailed(ctx, "ResourceManager", err)
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	listed := map[string]bool{}
	for _, app := range apps {
		listed[app.ID] = true
		if _, joined := s.joined[app.ID]; joined {
			continue
		}
		j := s.alive[app.ID]
		if j == nil {
			j = newJobRecord(app)
			s.alive[app.ID] = j
			s.loops.Go(func() { s.follow(j) })
		}
		if j.gone() {
			continue
		}
		j.since = 0
		if j.app = app; app.Ended() {
			j.endedAt = time.Now()
			close(j.ended)
			s.record(s.joiner.finished(j))
		}
	}
	for id, j := range s.alive {
		if !listed[id] && !j.gone() {
			s.noteUnlisted(now, j)
		}
	}
	return nil
}

// pollNodes does the same as pollRM for nodes.
func (s *Session) pollNodes(ctx context.Context, maxAge time.Duration) error {
	nodes, err := s.watch.Nodes(ctx, maxAge)
	if err != nil {
		return s.pollFailed(ctx, "ResourceManager", err)
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for _, n := range nodes {
		seen[n.Host] = true
		s.noteNode(now, n)
	}
	for _, host := range slices.Sorted(maps.Keys(s.nodes)) {
		// a node is not listed, for example, if it has not registered with a restarted ResourceManager yet
		if r := s.nodes[host]; !seen[host] && r.up {
			r.up = false
			s.record(&traces.NodeDown{T: now, Node: traces.Node(host), Reason: "unknown to the ResourceManager"})
		}
	}
	return nil
}

// The method apps lists the captured applications. If the option Tags is set, the
// answer may be up to maxAge old; otherwise it is always new.
func (s *Session) apps(ctx context.Context, maxAge time.Duration) ([]yarnclient.App, error) {
	if len(s.options.Tags) == 0 {
		return s.watch.AppsSince(ctx, s.start)
	}
	return s.watch.Apps(ctx, s.options.Tags, maxAge)
}

// noteUnlisted gives up a job that YARN has not listed for too long. Without this, the
// capture would wait for its end for ever.
func (s *Session) noteUnlisted(now traces.Time, j *jobRecord) {
	if j.since == 0 {
		j.since = now
	}
	if time.Duration(now-j.since) < lostAfter {
		return
	}
	j.lost, j.endedAt = true, time.Now()
	close(j.ended)
	s.warn(fmt.Sprintf("%s: the ResourceManager has not listed it for %v, as after a restart without recovery, so how it ended is not known",
		j.id, lostAfter))
}

// The method node returns what is known of a node.
func (s *Session) node(host string) *nodeRecord {
	if s.nodes[host] == nil {
		s.nodes[host] = &nodeRecord{cache: -1}
	}
	return s.nodes[host]
}

// noteNode records in the trace if the node came up or went down, and if its label
// changed.
func (s *Session) noteNode(now traces.Time, n yarnclient.Node) {
	name, running := traces.Node(n.Host), n.State == "RUNNING"
	r := s.node(n.Host)
	switch {
	case running && !r.up:
		s.record(&traces.NodeUp{T: now, NodeFacts: traces.NodeFacts{
			Node: name, Rack: n.Rack, MemoryBytes: n.Total.MemoryMB << 20, VCores: int32(n.Total.VCores), Worker: true,
		}})
	case !running && r.up:
		if n.State == "UNHEALTHY" {
			s.warnAbout("node "+n.Host, "its health", fmt.Sprintf("YARN took it out of use during the capture: %.200q; put that right, such "+
				"as a full disk, and repeat", n.HealthReport))
		}
		s.record(&traces.NodeDown{T: now, Node: name, Reason: strings.ToLower(n.State)})
	}
	if running && !s.labelsAdded && n.Label() != r.label {
		r.label = n.Label()
		s.record(&traces.NodeLabel{T: now, Node: name, Label: r.label})
	}
	r.up, r.yarn = running, n
}

// pollDataNodes asks how much of each DataNode's HDFS cache is used. For each node that
// has no agent, it records a node sample with the used cache and with what YARN reports
// of the node.
func (s *Session) pollDataNodes(ctx context.Context) error {
	dataNodes, err := s.watch.DataNodes(ctx)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // HDFS gives the list of DataNodes to superusers only
		return s.pollFailed(ctx, "NameNode", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range dataNodes {
		if r := s.nodes[d.Host]; r != nil {
			r.cache = d.CacheUsed
		}
	}
	now := s.now()
	for _, host := range slices.Sorted(maps.Keys(s.nodes)) {
		if r := s.nodes[host]; r.up && !r.agent {
			e := unmeasured(now, host, s.options.EveryLocations)
			r.describe(e)
			s.record(e)
		}
	}
	return nil
}

// agentPoll returns a function that fetches from one node's agent the metrics measured
// since the last call, and records them.
func (s *Session) agentPoll(a clients.Agent) func(context.Context) error {
	follower, subject := a.Follow(), agentOf(a.Node)
	return func(ctx context.Context) error {
		for {
			batch, err := follower.Next(ctx)
			if err != nil {
				return s.pollFailed(ctx, subject, err)
			}
			newest := s.recordBatch(a.Node, batch)
			if newest != nil && s.options.Sampled != nil {
				s.options.Sampled(*newest)
			}
			if !batch.More {
				return nil
			}
		}
	}
}

// recordBatch records the metrics that a node's agent has measured. It returns the
// newest, nil if there are none.
func (s *Session) recordBatch(node string, b agent.Batch) (newest *traces.NodeSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.node(node)
	switch {
	case !r.agent:
		r.before = -1 // not known yet
	case b.Restarted:
		r.before = 0 // an agent that measures a control group starts at 0
	}
	r.agent = true
	s.warnOfBatch(node, b)
	for i, sample := range b.Samples {
		e := nodeSample(s.start, node, sample, b.Clock)
		if e.T < 0 {
			continue
		}
		if i == 0 {
			e.AgentLostSamples = int32(b.Lost)
		}
		r.describe(e)
		if len(s.options.Tags) > 0 {
			r.forget(e)
		}
		s.record(e)
		newest = e
	}
	return newest
}

func agentOf(node string) string { return "agent of " + node }

// clockApart is the difference between the clocks of a node and of this machine from
// which a capture warns of it. It is shorter than most tasks.
const clockApart = 500 * time.Millisecond

// warnOfBatch adds warnings of what is missing in a batch of samples, and of a clock
// that is wrong.
func (s *Session) warnOfBatch(node string, b agent.Batch) {
	subject := agentOf(node)
	switch {
	case b.Restarted && b.Lost > 0:
		s.warnAbout(subject, "restarts", fmt.Sprintf("it was started again; about %d samples are missing; its log and the node's say why "+
			"it ended", b.Lost))
	case b.Restarted:
		s.warnAbout(subject, "restarts", "it was started again; its log and the node's say why it ended")
	case b.Lost > 0:
		s.warnAbout(subject, "missing samples", fmt.Sprintf("%d samples are missing: it did not have them any more", b.Lost))
	}
	off, bound := time.Duration(b.Clock.OffsetNs), time.Duration(b.Clock.UncertaintyNs)
	if off.Abs()-bound > clockApart {
		way := "ahead of"
		if off < 0 {
			way = "behind"
		}
		s.warnAbout(subject, "the clock", fmt.Sprintf("the node's clock is %v %s this machine's: the agent's samples are put right, times "+
			"in Hadoop's histories are not; run a time daemon (chrony, ntpd) on all hosts",
			off.Abs().Round(100*time.Millisecond), way))
	}
}

// pollFailed adds a warning that a repeated call to the cluster failed, unless the
// capture is being stopped. It returns the call's error.
func (s *Session) pollFailed(ctx context.Context, subject string, err error) error {
	if ctx.Err() == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warnAbout(subject, "requests", err.Error())
	}
	return err
}

// forget takes out of a sample's load average what ran before the first sample of an
// agent. Of that, the average of one minute keeps e^(-t/60 s) after the time t.
func (r *nodeRecord) forget(e *traces.NodeSample) {
	if e.Load1 < 0 {
		return
	}
	if r.before < 0 {
		r.before, r.beforeAt = e.Load1, e.T
	}
	e.Load1 = max(0, e.Load1-float64(r.before*math.Exp(-time.Duration(e.T-r.beforeAt).Minutes())))
}

// describe adds to a node sample what YARN and HDFS report of the node: running
// containers, allocated memory and vcores, and used bytes of the HDFS cache.
func (r *nodeRecord) describe(e *traces.NodeSample) {
	e.ContainersRunning = int32(r.yarn.Containers)
	e.AllocatedMemoryBytes = r.yarn.UsedMB << 20
	e.AllocatedVCores = int32(r.yarn.UsedVCores)
	e.HDFSCacheUsedBytes = r.cache
}

// unmeasured returns a node sample in which each metric is -1: not measured.
func unmeasured(t traces.Time, host string, interval time.Duration) *traces.NodeSample {
	return &traces.NodeSample{
		T: t, Node: traces.Node(host), IntervalNs: int64(interval),
		CPUUser: -1, CPUSystem: -1, CPUIOWait: -1, CPUSteal: -1, CPUThrottledNs: -1, Load1: -1,
		MemoryUsedBytes: -1, PageCacheBytes: -1, MemoryFreeBytes: -1,
		DiskReadBytesPerSec: -1, DiskWriteBytesPerSec: -1, DiskQueue: -1,
		NetRecvBytesPerSec: -1, NetSentBytesPerSec: -1,
	}
}

// nodeSample makes a trace event from metrics that a node's agent has measured, at a
// time by this machine's clock.
func nodeSample(start time.Time, host string, m agent.TimedSample, offset agent.ClockOffset) *traces.NodeSample {
	e := unmeasured(traces.Time(m.At.Sub(start)), host, time.Duration(m.IntervalNs))
	e.ClockOffsetNs, e.ClockUncertaintyNs = offset.OffsetNs, offset.UncertaintyNs
	if c := m.CPU; c != nil {
		e.CPUUser, e.CPUSystem = c.UserCores, c.SystemCores
		e.CPUIOWait, e.CPUSteal = orUnmeasured(c.IowaitCores), orUnmeasured(c.StealCores)
	}
	if m.Quota != nil {
		e.CPUThrottledNs = int64(m.Quota.ThrottledNs)
	}
	if m.Load != nil {
		e.Load1 = m.Load.Load1
	}
	if r := m.Memory; r != nil {
		e.PageCacheBytes, e.MemoryFreeBytes = int64(r.PageCacheBytes), int64(r.FreeBytes)
		e.MemoryUsedBytes = int64(r.TotalBytes) - int64(r.FreeBytes) - int64(r.PageCacheBytes)
	}
	if m.Disks != nil {
		e.DiskReadBytesPerSec, e.DiskWriteBytesPerSec = 0, 0
		for _, d := range m.Disks {
			e.DiskReadBytesPerSec += d.ReadBytesPerSec
			e.DiskWriteBytesPerSec += d.WriteBytesPerSec
			if d.QueueMean != nil {
				e.DiskQueue = max(e.DiskQueue, 0) + *d.QueueMean
			}
		}
	}
	if m.Networks != nil {
		e.NetRecvBytesPerSec, e.NetSentBytesPerSec = 0, 0
		for _, n := range m.Networks {
			if n.Interface != "lo" {
				e.NetRecvBytesPerSec += n.ReceiveBytesPerSec
				e.NetSentBytesPerSec += n.TransmitBytesPerSec
			}
		}
	}
	return e
}

func orUnmeasured(x *float64) float64 {
	if x == nil {
		return -1
	}
	return *x
}

// readAgentsLimit is the time limit for the first answers of all agents. An agent that
// is slower only costs the trace the number of its node's cores.
const readAgentsLimit = 5 * time.Second

// readAgents asks all agents at once for facts about their nodes.
func (s *Session) readAgents(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, readAgentsLimit, fmt.Errorf("no whole answer within %v", readAgentsLimit))
	defer cancel()
	agents := s.watch.Agents()
	infos, errs := make([]agent.Info, len(agents)), make([]error, len(agents))
	var asked sync.WaitGroup
	for i, a := range agents {
		asked.Go(func() { infos[i], errs[i] = a.Info(ctx) })
	}
	asked.Wait()
	for i, a := range agents {
		if errs[i] != nil {
			s.warnAbout(agentOf(a.Node), "requests", errs[i].Error())
			continue
		}
		s.header.Software["kernel"] = infos[i].Kernel
		nodes := s.header.Cluster.Nodes
		for j := range nodes {
			if string(nodes[j].Node) == a.Node {
				nodes[j].Cores = float64(infos[i].CPUs)
			}
		}
	}
}
