package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/units"
	"heddle/traces"
)

// Fault is something that goes wrong in each trial.
type Fault struct {
	// At is after the trial's first submission.
	At units.Duration `yaml:"at"`
	// Node is a worker's name, Rack that of a rack, which is all its workers, with
	// or without the slash in front.
	Node string `yaml:"node,omitempty"`
	Rack string `yaml:"rack,omitempty"`
	// What is one of FaultDown, FaultUp, FaultSlow and FaultFailAttempts.
	What string `yaml:"what"`
	// Speed is a slow node's from then on, against its own: 1 is as before.
	Speed float64 `yaml:"speed,omitempty"`
	// Share is the part of attempts that fail from then on; 0: no more do.
	Share float64 `yaml:"share,omitempty"`
}

// Values of Fault.What.
const (
	FaultDown         = "down"
	FaultUp           = "up"
	FaultSlow         = "slow"
	FaultFailAttempts = "failAttempts"
)

// Values of Experiment.Speculation and Experiment.CachePolicy.
const (
	SpeculationNone   = "none"
	SpeculationHadoop = "hadoop"
	SpeculationLATE   = "late"

	CacheStatic = "static" // what is cached when jobs come stays, and nothing else is
	CacheLRU    = "lru"    // nodes keep what they read last
)

// Faults are a list of them, as flags fill it: each --fault adds one.
type Faults []Fault

// Set adds the fault of a text such as "at=30s,node=r1n2,down".
func (l *Faults) Set(text string) error {
	var f Fault
	for _, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			key, value = "what", key
		}
		var err error
		switch key {
		case "at":
			err = f.At.Set(value)
		case "node":
			f.Node = value
		case "rack":
			f.Rack = value
		case "what":
			if f.What != "" {
				err = fmt.Errorf("want one of what happens, %s is said already", f.What)
			}
			f.What = value
		case "speed":
			f.Speed, err = strconv.ParseFloat(value, 64)
		case "share":
			f.Share, err = strconv.ParseFloat(value, 64)
		default:
			err = errors.New("want at=, node= or rack=, speed=, share=, and what happens")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
	}
	if f.What == "" {
		return fmt.Errorf("want what happens, too: %s, %s, %s or %s", FaultDown, FaultUp, FaultSlow, FaultFailAttempts)
	}
	var p problems
	if (Faults{f}).problems(&p); len(p) > 0 {
		return errors.New(p[0].Message)
	}
	*l = append(*l, f)
	return nil
}

func (l *Faults) String() string { return "" }

// hostName is a node's name as it may stand in a command.
var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

func (l Faults) problems(p *problems) {
	const longest = 365 * 24 * time.Hour
	for i, f := range l {
		path := fmt.Sprintf("faults[%d]", i)
		oneOf(p, path+".what", f.What, FaultDown, FaultUp, FaultSlow, FaultFailAttempts)
		wrong := func(bad bool, key, format string, args ...any) {
			if bad {
				p.addf(path+key, format, args...)
			}
		}
		onNodes, slows, fails := f.What != FaultFailAttempts, f.What == FaultSlow, f.What == FaultFailAttempts
		wrong(f.At < 0 || time.Duration(f.At) > longest, ".at", "%v: want a time after the first submission", f.At)
		wrong(onNodes && (f.Node == "") == (f.Rack == ""), "", "%s: want a node or a rack", f.What)
		wrong(fails && f.Node+f.Rack != "", "", "%s is for all nodes: leave node and rack out", f.What)
		wrong(f.Node != "" && !hostName.MatchString(f.Node), ".node", "%q is not a node's name", f.Node)
		wrong(slows && !(f.Speed >= 0.001 && f.Speed <= 1000), ".speed", "%v: want the node's speed from then on, such as 0.5 for half, 1 for what it was", f.Speed)
		wrong(!slows && f.Speed != 0, ".speed", "is for %s only", FaultSlow)
		wrong(fails && !(f.Share >= 0 && f.Share <= 1), ".share", "%v: want the part of attempts that fail, 0 to 1", f.Share)
		wrong(!fails && f.Share != 0, ".share", "is for %s only", FaultFailAttempts)
	}
}

// On are the nodes of a cluster that f is for.
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

// FaultCommands are what carries out faults on a cluster: a program and its
// arguments, run on this machine, not by a shell. In arguments {node} stands for
// the node's name and {speed} for its speed.
type FaultCommands struct {
	NodeDown []string `yaml:"nodeDown,flow,omitempty"`
	// NodeUp must do no harm to a node that runs.
	NodeUp []string `yaml:"nodeUp,flow,omitempty"`
	// NodeSlow at speed 1 has the node as it was.
	NodeSlow []string `yaml:"nodeSlow,flow,omitempty"`
}

func (c *FaultCommands) problems(p *problems) {
	for _, x := range []struct {
		key     string
		command []string
		needs   []string
	}{
		{"nodeDown", c.NodeDown, []string{"{node}"}}, {"nodeUp", c.NodeUp, []string{"{node}"}}, {"nodeSlow", c.NodeSlow, []string{"{node}", "{speed}"}},
	} {
		for _, need := range x.needs {
			if x.command != nil && !strings.Contains(strings.Join(x.command, " "), need) {
				p.addf("faults."+x.key, "%q: want a program and its arguments, with %s in one", x.command, need)
			}
		}
	}
	if (c.NodeDown == nil) != (c.NodeUp == nil) {
		p.addf("faults", "want nodeUp with nodeDown: nodes are brought back")
	}
}

// For is the command that does what a fault says to a node. Nil: there is none,
// or the name is none that may stand in a command.
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
