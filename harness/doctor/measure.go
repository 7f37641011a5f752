package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/node/agent"
	"heddle/harness/clients"
	"heddle/traces/printable"
)

// agentAnswer is what the agent of one node answered, or why it did not
// answer.
type agentAnswer struct {
	node   string
	info   agent.Info
	offset agent.ClockOffset
	err    error
}

// The method measure checks the agents, which measure CPU, memory, disk and
// network of the nodes.
func (e *examiner) measure(ctx context.Context) []Check {
	agents := e.askAgents(ctx)
	return []Check{e.agents(agents), coldReads(agents), nodeClocks(agents)}
}

func (e *examiner) askAgents(ctx context.Context) []agentAnswer {
	answers := make([]agentAnswer, len(e.Agents))
	var g errgroup.Group
	g.SetLimit(16)
	for i, a := range e.Agents {
		g.Go(func() error {
			answers[i] = askAgent(ctx, a)
			return nil
		})
	}
	_ = g.Wait() // ignore the error: the functions that run in this group return none
	return answers
}

func askAgent(ctx context.Context, a clients.Agent) agentAnswer {
	answer := agentAnswer{node: a.Node, err: a.Err}
	if answer.err == nil {
		answer.info, answer.err = a.Info(ctx)
	}
	if answer.err == nil {
		answer.offset, answer.err = a.ClockOffset(ctx)
	}
	return answer
}

const (
	startAgent = "on each node: heddle agent --allow-drop-caches --node NAME --token-file FILE, with --tls-cert and --tls-key or " +
		"--listen HOST:9177; then name them in the cluster file"
	restartAgent = "on these nodes: see whether `heddle agent` runs and what its log says, and start it again (as a service: systemctl " +
		"status, journalctl -u and systemctl restart of its unit)"
	agentTLS    = "in the cluster file, set url (http or https) and caFile of these agents to match their --tls-cert"
	agentToken  = "write the agents' present token into the tokenFile that the cluster file names, or that token into their --token-file"
	agentBroken = "install this machine's heddle on these nodes and start their agents again; see that nothing else listens on that port"
)

// agentRemedy says what to do about agents of which one failed with err.
func agentRemedy(err error, all bool) string {
	switch {
	case errors.Is(err, agent.ErrTLS):
		return agentTLS
	case errors.Is(err, agent.ErrUnauthorised):
		return agentToken
	case errors.Is(err, agent.ErrBadAnswer):
		return agentBroken
	case all:
		return startAgent
	}
	return restartAgent
}

func (e *examiner) agents(agents []agentAnswer) Check {
	c := check("agents", true, "CPU, memory, disk and network of the nodes, and reads from a cold page cache")
	if len(agents) == 0 {
		return c.bad("no agents in the cluster file").next(startAgent)
	}
	var failed, causes, without []string
	remedy := ""
	for _, a := range agents {
		if a.err == nil {
			continue
		}
		failed = append(failed, a.node)
		causes = append(causes, a.err.Error()) // an agent's error names its address
		if remedy == "" {
			remedy = agentRemedy(a.err, !slices.ContainsFunc(agents, func(a agentAnswer) bool { return a.err == nil }))
		}
	}
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" && !slices.ContainsFunc(agents, func(a agentAnswer) bool { return a.node == n.Host }) {
			without = append(without, n.Host)
		}
	}
	slices.Sort(without)
	switch {
	case len(failed) == len(agents):
		return c.bad("none of %s answers: %s", printable.Count(len(agents), "agent"), causes[0]).next(remedy)
	case len(failed) > 0:
		return c.bad("%d of %d agents do not answer (%s): %s", len(failed), len(agents), strings.Join(failed, ", "), some(causes)).next(remedy)
	case len(without) > 0:
		return c.warn("%s; none for %s", printable.Count(len(agents), "agent"), strings.Join(without, ", ")).next(startAgent)
	}
	if e.nodes.err != nil {
		return c.warn("%s; whether each running node has one is not known, as YARN's nodes are not", printable.Count(len(agents), "agent"))
	}
	return c.ok("%s, each running node has one", printable.Count(len(agents), "agent"))
}

func coldReads(agents []agentAnswer) Check {
	c := check("coldReads", false, "dropping page caches before a trial (coldReads), so that reads come from disk")
	var allow, refuse []string
	next := "start them with --allow-drop-caches, or set coldReads: false in experiments"
	for _, a := range agents {
		switch {
		case a.err != nil:
		case a.info.DropCaches:
			allow = append(allow, a.node)
		default:
			refuse = append(refuse, a.node)
			if why := a.info.NoDropCaches; why != "" {
				next = a.node + ": " + why + "; or set coldReads: false in experiments"
			}
		}
	}
	switch {
	case len(allow)+len(refuse) == 0:
		return c.unknown("no agent answers")
	case len(refuse) > 0:
		return c.bad("the agents of %s do not allow it", strings.Join(refuse, ", ")).next(next)
	}
	return c.ok("%s allow it", printable.Count(len(allow), "agent"))
}

// maxApart is the largest accepted difference between the clocks of two nodes.
// Any task takes longer than this, and clocks that a time daemon adjusts
// differ by less.
const maxApart = 50 * time.Millisecond

func nodeClocks(agents []agentAnswer) Check {
	c := check("nodeClocks", false, "putting events of different nodes in order")
	var clocks []agentAnswer
	var loose []string
	for _, a := range agents {
		if a.err != nil {
			continue
		}
		clocks = append(clocks, a)
		if a.info.Clock != nil && !a.info.Clock.Synchronised {
			loose = append(loose, a.node)
		}
	}
	if len(clocks) == 0 {
		return c.unknown("no agent answers")
	}
	slices.SortStableFunc(clocks, func(a, b agentAnswer) int { return cmp.Compare(a.offset.OffsetNs, b.offset.OffsetNs) })
	first, last := clocks[0], clocks[len(clocks)-1]
	apart := time.Duration(last.offset.OffsetNs - first.offset.OffsetNs)
	bound := time.Duration(last.offset.UncertaintyNs + first.offset.UncertaintyNs)
	found := fmt.Sprintf("at most %v apart", (apart + bound).Round(time.Millisecond/10))
	if apart-bound > maxApart {
		wrong := wrongClocks(clocks)
		return c.bad("%s: %s", found, some(wrong)).next("set these clocks and run a time daemon (chrony, ntpd) on all hosts")
	}
	if len(loose) > 0 {
		found += fmt.Sprintf("; no time daemon adjusts the clock of %s", some(loose))
	}
	return c.ok("%s", found)
}

// wrongClocks says by how much the clocks of nodes differ from the median of all,
// the furthest off first. Two nodes have no clock between them, so both are
// compared with this machine's. The clocks are in order of their offset.
func wrongClocks(clocks []agentAnswer) []string {
	middle, what := clocks[len(clocks)/2].offset, "most"
	if len(clocks) == 2 {
		middle, what = agent.ClockOffset{}, "this machine's"
	}
	off := func(a agentAnswer) time.Duration { return time.Duration(a.offset.OffsetNs - middle.OffsetNs) }
	slices.SortStableFunc(clocks, func(a, b agentAnswer) int { return cmp.Compare(off(b).Abs(), off(a).Abs()) })
	var wrong []string
	for _, a := range clocks {
		way := "ahead of"
		if off(a) < 0 {
			way = "behind"
		}
		if by := off(a).Abs(); by-time.Duration(a.offset.UncertaintyNs+middle.UncertaintyNs) > maxApart || len(wrong) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s is %v %s %s", a.node, by.Round(time.Millisecond), way, what))
		}
	}
	return wrong
}

// The function some lists at most three of the names, for a short message.
func some(names []string) string { return printable.First(3, names) }
