package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/node/agent"
	"heddle/harness/config"
)

// agentAnswer is what the agent of one node answered, or why it did not
// answer.
type agentAnswer struct {
	config.Agent
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
	answers := make([]agentAnswer, len(e.cluster.Agents))
	var g errgroup.Group
	g.SetLimit(16)
	for i, a := range e.cluster.Agents {
		g.Go(func() error {
			answers[i] = e.askAgent(ctx, a)
			return nil
		})
	}
	_ = g.Wait() // ignore the error: the functions that run in this group return none
	return answers
}

func (e *examiner) askAgent(ctx context.Context, a config.Agent) agentAnswer {
	answer := agentAnswer{Agent: a}
	client, err := agent.NewClient(agent.ClientOptions{
		URL: a.URL, TokenFile: a.TokenFile, CAFile: a.CAFile, DialContext: e.cluster.DialContext(), Timeout: callTimeout,
	})
	if err != nil {
		answer.err = err
		return answer
	}
	defer client.Close()
	if answer.info, answer.err = client.Info(ctx); answer.err == nil {
		answer.offset, answer.err = client.ClockOffset(ctx)
	}
	return answer
}

const (
	startAgent = "on each node: heddle agent --allow-drop-caches --node NAME --token-file FILE, with --tls-cert and --tls-key or --listen HOST:9177; then name them in the cluster file"
	agentTLS   = "in the cluster file, set url (http or https) and caFile of these agents to match their --tls-cert"
)

func (e *examiner) agents(agents []agentAnswer) Check {
	c := check("agents", true, "CPU, memory, disk and network of the nodes, and reads from a cold page cache")
	if len(agents) == 0 {
		return c.bad("no agents in the cluster file").next(startAgent)
	}
	var failed, without []string
	var cause error
	remedy := startAgent
	for _, a := range agents {
		if a.err != nil {
			failed = append(failed, a.Node)
			cause = a.err
		}
	}
	if errors.Is(cause, agent.ErrTLS) {
		remedy = agentTLS
	}
	for _, n := range e.nodes.value {
		if n.State == "RUNNING" && !slices.ContainsFunc(agents, func(a agentAnswer) bool { return a.Node == n.Host }) {
			without = append(without, n.Host)
		}
	}
	slices.Sort(without)
	switch {
	case len(failed) == len(agents):
		return c.bad("none of %s answers: %v", count(len(agents), "agent"), cause).next(remedy)
	case len(failed) > 0:
		return c.bad("%d of %d agents do not answer (%s): %v", len(failed), len(agents), strings.Join(failed, ", "), cause).next(remedy)
	case len(without) > 0:
		return c.warn("%s; none for %s", count(len(agents), "agent"), strings.Join(without, ", ")).next(startAgent)
	}
	return c.ok("%s, each running node has one", count(len(agents), "agent"))
}

func coldReads(agents []agentAnswer) Check {
	c := check("coldReads", false, "dropping page caches before a trial (coldReads), so that reads come from disk")
	var allow, refuse []string
	for _, a := range agents {
		switch {
		case a.err != nil:
		case a.info.DropCaches:
			allow = append(allow, a.Node)
		default:
			refuse = append(refuse, a.Node)
		}
	}
	switch {
	case len(allow)+len(refuse) == 0:
		return c.unknown("no agent answers")
	case len(refuse) > 0:
		return c.bad("the agents of %s do not allow it", strings.Join(refuse, ", ")).
			next("start them with --allow-drop-caches, or set coldReads: false in experiments")
	}
	return c.ok("%s allow it", count(len(allow), "agent"))
}

// maxApart is the largest accepted difference between the clocks of two nodes.
// Any task takes longer than this, and clocks that a time daemon adjusts
// differ by less.
const maxApart = 50 * time.Millisecond

func nodeClocks(agents []agentAnswer) Check {
	c := check("nodeClocks", false, "putting events of different nodes in order")
	var first, last *agentAnswer
	var loose []string
	for i := range agents {
		a := &agents[i]
		if a.err != nil {
			continue
		}
		if first == nil || a.offset.OffsetNs < first.offset.OffsetNs {
			first = a
		}
		if last == nil || a.offset.OffsetNs > last.offset.OffsetNs {
			last = a
		}
		if a.info.Clock != nil && !a.info.Clock.Synchronised {
			loose = append(loose, a.Node)
		}
	}
	if first == nil {
		return c.unknown("no agent answers")
	}
	apart := time.Duration(last.offset.OffsetNs - first.offset.OffsetNs)
	bound := time.Duration(last.offset.UncertaintyNs + first.offset.UncertaintyNs)
	found := fmt.Sprintf("at most %v apart", (apart + bound).Round(time.Millisecond/10))
	const next = "run a time daemon (chrony, ntpd) on all hosts"
	if apart-bound > maxApart {
		return c.bad("%s (%s behind, %s ahead)", found, first.Node, last.Node).next(next)
	}
	if len(loose) > 0 {
		found += fmt.Sprintf("; no time daemon adjusts the clock of %s", some(loose))
	}
	return c.ok("%s", found)
}

// The function some lists at most three of the names, for a short message.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, ", ")
}
