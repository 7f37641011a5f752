package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/require"
	"heddle/traces/printable"
	"heddle/yarnclient"
)

// needed returns the labels that steering needs on this cluster, which may have
// another name for that of the ApplicationMasters' nodes.
func (p *planner) needed(ctx context.Context) (require.Labels, error) {
	labels := require.All(p.Triples).Labels
	property := require.Of("amLabel")[0].Property
	if name, err := p.property(ctx, property); err == nil && name != "" {
		if !yarnclient.IsLabel(name) {
			return labels, fmt.Errorf("the ResourceManager says that %s is %.80q; want the name of a node label", property, name)
		}
		labels.Masters = name
	}
	return labels, nil
}

// labelSteps adds the commands that make labels and give one to the nodes of
// ApplicationMasters.
func (p *planner) labelSteps(labels require.Labels) {
	there := func(name string) bool {
		return slices.ContainsFunc(p.labels.value, func(l yarnclient.NodeLabel) bool { return l.Name == name })
	}
	if slices.ContainsFunc(append([]string{labels.Parking, labels.Masters}, labels.Jobs...), func(name string) bool { return !there(name) }) {
		p.then(p.prepare())
	}
	var candidates []string
	for _, n := range p.nodes.value {
		switch {
		case n.State != "RUNNING":
		case slices.Contains(n.Labels, labels.Masters):
			return
		default:
			candidates = append(candidates, n.ID)
		}
	}
	slices.Sort(candidates)
	p.then(labelOneNode(labels.Masters))
	p.note("HOST:PORT is a node that is to run ApplicationMasters and nothing else, one of %s. Until it has the label %s, the restarted ResourceManager starts no job", some(candidates), labels.Masters)
}

func (p *planner) prepare() string {
	command := "heddle labels prepare" + p.clusterFlag() + " --queue " + printable.ShellWord(p.Queue)
	if p.Triples != require.Triples {
		command += " --triples " + strconv.Itoa(p.Triples)
	}
	return command
}

func (p *planner) clusterFlag() string {
	if p.File == "" {
		return ""
	}
	return " --cluster " + printable.ShellWord(p.File)
}

// reported is what one daemon says of a setting.
type reported struct {
	who, value string
	err        error
}

// values asks every daemon that reads a setting for its value: the history
// server, or all ResourceManagers.
func (p *planner) values(ctx context.Context, s require.Setting) []reported {
	if s.File == "mapred-site.xml" || len(p.Config.ResourceManagers) == 1 {
		value, err := p.value(ctx, s)
		return []reported{{"", value, err}}
	}
	var all []reported
	for _, rm := range p.RM.Each() {
		value, err := unset(rm.Conf(ctx, s.Property))
		all = append(all, reported{rm.Address(), value, cause(err)})
	}
	return all
}

// describe returns one value if all daemons have the same, or who has which.
func describe(values []reported) string {
	var parts []string
	same := true
	for _, v := range values {
		text := cmp.Or(v.value, "not set")
		if v.err != nil {
			text = "not known"
		}
		parts = append(parts, text+" on "+v.who)
		same = same && v.err == nil && v.value == values[0].value
	}
	if same {
		return values[0].value
	}
	return strings.Join(parts, ", ")
}

// seen returns those settings of queues that the scheduler shows without being
// asked for its settings: labels and their capacities.
func seen(s yarnclient.Scheduler) map[string]string {
	rows := require.Of("queueLabels")
	conf := map[string]string{}
	for _, q := range s.Queues {
		for _, part := range q.Partitions {
			if part.Partition != "" && part.CapacityPct > 0 {
				conf[rows[0].In(q.Path, part.Partition)] = strconv.FormatFloat(part.CapacityPct, 'f', -1, 64)
			}
		}
		if len(q.Labels) > 0 {
			conf[rows[1].In(q.Path, "")] = strings.Join(q.Labels, ",")
		}
	}
	return conf
}
