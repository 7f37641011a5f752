package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"heddle/harness/internal/units"
	"heddle/harness/option"
	"heddle/traces"
)

// Fault is a failure that heddle causes on purpose in each trial, such as a
// node that goes down.
type Fault struct {
	// At is the time of the fault, counted from the trial's first submission.
	At units.Duration `yaml:"at" flag:"at" text:"When, after the trial's first submission." max:"8760h"`
	// Node is the name of the worker on which the fault happens. Rack is the
	// name of a rack, with or without its slash; the fault then happens on all
	// its workers. Only one of the two is given.
	Node string `yaml:"node,omitempty" flag:"node" text:"The worker that the fault is for."`
	Rack string `yaml:"rack,omitempty" flag:"rack" text:"The rack instead: all its workers."`
	// What is the kind of fault: FaultDown, FaultUp, FaultSlow or
	// FaultFailAttempts.
	What string `yaml:"what" flag:"what" text:"The kind of fault; failAttempts only with --simulate." required:"true" values:"down,up,slow,failAttempts"`
	// Speed is the speed of a slow node after the fault, relative to its normal
	// speed 1.
	Speed float64 `yaml:"speed,omitempty" flag:"speed" text:"A slow node's speed; 1 is its normal one." min:"0.001" max:"1000"`
	// Share is the part of task attempts that fail after the fault, 0 to 1.
	Share float64 `yaml:"share,omitempty" flag:"share" text:"The part of attempts that fail, 0 to 1." min:"0" max:"1"`
}

// Kinds of fault: the node goes down, comes up again, or becomes slow; or a
// part of all task attempts fails.
const (
	FaultDown         = "down"
	FaultUp           = "up"
	FaultSlow         = "slow"
	FaultFailAttempts = "failAttempts"
)

// Faults is a list of faults. It also holds the values of the command line flag
// --fault; each use of the flag adds one fault.
type Faults []Fault

// Set parses the text of a fault, such as "at=30s,node=r1n2,down", and adds the
// fault to the list.
func (l *Faults) Set(text string) error {
	var f Fault
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			key, value = "what", key
		}
		if key == "what" && f.What != "" {
			return fmt.Errorf("%q: two kinds of fault, %s and %s; want one", part, f.What, value)
		}
		if err := option.Set(option.Of(&f), key, value); err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
	}
	if f.What == "" {
		return fmt.Errorf("no kind of fault; want %s, %s, %s or %s", FaultDown, FaultUp, FaultSlow, FaultFailAttempts)
	}
	var p problems
	if (Faults{f}).problems(&p); len(p) > 0 {
		return errors.New(p[0].Message)
	}
	*l = append(*l, f)
	return nil
}

func (l *Faults) String() string { return "" }

// The pattern hostName matches names of nodes that are safe as part of a
// command.
var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

func (l Faults) problems(p *problems) {
	for i, f := range l {
		path := fmt.Sprintf("faults[%d]", i)
		p.keys(f, path)
		wrong := func(bad bool, key, format string, args ...any) {
			if bad {
				p.addf(path+key, format, args...)
			}
		}
		onNodes, slows, fails := f.What != FaultFailAttempts, f.What == FaultSlow, f.What == FaultFailAttempts
		wrong(onNodes && f.Node == "" && f.Rack == "", "", "%s: no node and no rack; want one of them", f.What)
		wrong(onNodes && f.Node != "" && f.Rack != "", "", "%s: both node %s and rack %s; want one of them", f.What, f.Node, f.Rack)
		wrong(fails && f.Node+f.Rack != "", "", "%s: want no node and no rack: it is for all nodes", f.What)
		wrong(f.Node != "" && !hostName.MatchString(f.Node), ".node", "%q: want a node's name: letters, digits and ._-", f.Node)
		wrong(slows && f.Speed == 0, ".speed", "%v: want 0.001 to 1000: 0.5 is half the node's normal speed, 1 restores it", f.Speed)
		wrong(!slows && f.Speed != 0, ".speed", "%v: want none: only a fault %s has a speed", f.Speed, FaultSlow)
		wrong(!fails && f.Share != 0, ".share", "%v: want none: only a fault %s has a share", f.Share, FaultFailAttempts)
	}
}

// On returns those nodes of a cluster on which the fault happens.
func (f *Fault) On(nodes []traces.NodeFacts) ([]traces.Node, error) {
	var on []traces.Node
	for _, n := range nodes {
		if string(n.Node) == f.Node || f.Rack != "" && strings.TrimPrefix(n.Rack, "/") == strings.TrimPrefix(f.Rack, "/") {
			on = append(on, n.Node)
		}
	}
	if len(on) == 0 && f.What != FaultFailAttempts {
		where := "node " + f.Node
		if f.Node == "" {
			where = "rack " + f.Rack
		}
		return nil, fmt.Errorf("faults: the cluster has no %s", where)
	}
	return on, nil
}

// FaultCommands are commands that carry out faults on a cluster. Each is a
// program and its arguments, which this machine runs without a shell. In
// arguments, {node} stands for the node's name and {speed} for its speed.
type FaultCommands struct {
	NodeDown []string `yaml:"nodeDown,flow,omitempty" text:"Takes a node down."`
	// NodeUp is the command that starts a node again. It must do no harm to a
	// node that is up.
	NodeUp []string `yaml:"nodeUp,flow,omitempty" text:"Brings a node back; must do no harm to one that runs."`
	// NodeSlow is the command that changes a node's speed. With speed 1 it
	// restores the normal speed.
	NodeSlow []string `yaml:"nodeSlow,flow,omitempty" text:"Changes a node's speed, {speed}."`
}

func (c *FaultCommands) problems(p *problems) {
	for _, x := range []struct {
		key     string
		command []string
		needs   []string
	}{
		{"nodeDown", c.NodeDown, []string{"{node}"}},
		{"nodeUp", c.NodeUp, []string{"{node}"}},
		{"nodeSlow", c.NodeSlow, []string{"{node}", "{speed}"}},
	} {
		for _, need := range x.needs {
			if x.command != nil && !strings.Contains(strings.Join(x.command, " "), need) {
				p.addf("faults."+x.key, "%q: want a program and its arguments, with %s in one", x.command, need)
			}
		}
	}
	if c.NodeDown != nil && c.NodeUp == nil {
		p.addf("faults.nodeDown", "no nodeUp; want both, to bring a node back")
	}
	if c.NodeUp != nil && c.NodeDown == nil {
		p.addf("faults.nodeUp", "no nodeDown; want both or none")
	}
}

// For returns the command that causes a kind of fault on a node. It
// returns nil if the cluster file has no such command, or if the node's name is
// not safe as part of a command.
func (c *FaultCommands) For(what string, node traces.Node, speed float64) []string {
	if c == nil || !hostName.MatchString(string(node)) {
		return nil
	}
	var command []string
	for _, arg := range map[string][]string{FaultDown: c.NodeDown, FaultUp: c.NodeUp, FaultSlow: c.NodeSlow}[what] {
		arg = strings.ReplaceAll(arg, "{node}", string(node))
		command = append(command, strings.ReplaceAll(arg, "{speed}", strconv.FormatFloat(speed, 'g', -1, 64)))
	}
	return command
}
