package why

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/printable"
)

// Words for levels of locality.
var levelWords = map[traces.Level]string{
	traces.LevelCache: "cache-local", traces.LevelNode: "node-local", traces.LevelRack: "rack-local", traces.LevelOff: "off-rack",
}

// MarshalJSON writes the time in milliseconds.
func (t Ms) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(t)/1e6, 'f', -1, 64), nil
}

func (t Ms) String() string { return seconds(float64(t) / 1e9) }

// seconds writes a time in seconds, with two digits after the point if it is below 10.
func seconds(s float64) string {
	digits := 1
	if s > -10 && s < 10 {
		digits = 2
	}
	return strconv.FormatFloat(s, 'f', digits, 64) + " s"
}

// Sentences says why the attempt ran where it ran, in plain words. The first one is the
// answer in short; what is not known stands last. They begin in lower case and have no full
// stop, so that they can stand in a list or be joined. Names in them are as in the trace.
func (x *Explanation) Sentences() []string {
	list := []string{x.Short()}
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if x.Unlaunched {
		say("it got a container there, which was never launched")
	}
	x.sayBefore(say)
	if x.Killed != nil {
		say("%s", "it "+sayKilled(*x.Killed, x.KilledBy))
	}
	if x.Asked != nil && x.Before == nil && x.Start > *x.Asked {
		say("it had waited %s for a container, since its ApplicationMaster asked for it", seconds(float64(x.Start-*x.Asked)/1e9))
	}
	if d := x.Decision; d != nil {
		x.sayDecision(say, d)
	}
	list = append(list, x.Unknown...)
	for i := range list {
		list[i] = x.Attempt.Job.Words(list[i])
	}
	return list
}

// Short is the first of the Sentences.
func (x *Explanation) Short() string {
	var b strings.Builder
	what := levelWords[x.Level]
	switch {
	case x.Attempt.Kind == traces.Reduce:
		what = "a reduce"
	case what == "":
		what = "a map"
	}
	fmt.Fprintf(&b, "%s on %s at %v", what, orNone(x.Node), x.Start)
	switch reason := x.reason(); {
	case reason != "":
		b.WriteString(": " + reason)
	case x.Attempt.Kind == traces.Reduce:
		b.WriteString(": it reads no block, so any node with room will do")
	case len(x.Nearer) > 0:
		b.WriteString(": " + x.sayNearer())
	case x.Level == traces.LevelCache:
		b.WriteString(": the node has its block in the cache")
	case x.Level == traces.LevelNode && x.BySplit:
		b.WriteString(": its split names the node")
	case x.Level == traces.LevelNode:
		b.WriteString(": the node has a replica of its block")
	}
	if d := x.Decision; d != nil && d.WaitUnit != traces.WaitNone && d.Farthest != traces.LevelUnknown &&
		(d.Waited > 0 || x.Level > traces.LevelNode) {
		b.WriteString("; " + x.sayWait(d))
	}
	return b.String()
}

// reason says why the model chose the node, if it was not by how near it is.
func (x *Explanation) reason() string {
	if x.Decision == nil || x.Decision.Meant != nil {
		return ""
	}
	switch x.Decision.Reason {
	case "rerun":
		return "a map that runs again goes first, on any node with room"
	case "plan":
		return "the plan that " + x.model + " made of the job names this node, or nodes that are all down"
	case "random":
		return x.model + " drew it at random"
	}
	return ""
}

func orNone(n traces.Node) string {
	if n == "" {
		return "an unknown node"
	}
	return string(n)
}

// sayNearer lists the nearer nodes, those that cache the block first.
func (x *Explanation) sayNearer() string {
	cached, other := x.Nearer, []Nearer(nil)
	for i := range x.Nearer {
		if x.Nearer[i].Level != traces.LevelCache {
			cached, other = x.Nearer[:i], x.Nearer[i:]
			break
		}
	}
	var parts []string
	if len(cached) > 0 {
		parts = append(parts, "its block is cached on "+listed(cached))
	}
	switch {
	case len(other) == 0:
	case x.namesSplit:
		parts = append(parts, "its split names "+listed(other))
	case len(cached) > 0:
		parts = append(parts, "and on the disks of "+listed(other))
	default:
		parts = append(parts, "its block is on "+listed(other))
	}
	text := strings.Join(parts, ", ")
	if x.MoreNearer > 0 {
		text += fmt.Sprintf(", and on %d more", x.MoreNearer)
	}
	return text
}

// listed names nodes with what is known of their room, once if it is the same for all.
func listed(nodes []Nearer) string {
	names, rooms, same := make([]string, len(nodes)), make([]string, len(nodes)), true
	for i, n := range nodes {
		names[i], rooms[i] = string(n.Node), n.roomWords()
		same = same && rooms[i] == rooms[0]
	}
	if same && len(nodes) > 1 {
		all := "all "
		if len(nodes) == 2 {
			all = "both "
		}
		return and(names) + ", " + all + strings.Replace(rooms[0], " its ", " their ", 1)
	}
	for i := range names {
		names[i] += " (" + rooms[i] + ")"
	}
	if len(nodes) == 1 {
		return string(nodes[0].Node) + ", " + rooms[0]
	}
	return and(names)
}

func (n *Nearer) roomWords() string {
	switch {
	case n.Room == RoomUnknown && n.Running == 1:
		return "where 1 task ran"
	case n.Room == RoomUnknown:
		return fmt.Sprintf("where %d tasks ran", n.Running)
	case n.Room == RoomFree:
		return "with room"
	}
	room := n.Room
	if n.Slots {
		room = "with all its map slots taken"
	}
	if n.Since == nil {
		return room
	}
	return fmt.Sprintf("%s since %v", room, *n.Since)
}

// and joins names as in "a, b and c".
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// sayWait says how long the job had waited for a nearer node, and what the model allows.
func (x *Explanation) sayWait(d *Decision) string {
	text := ""
	switch d.WaitUnit {
	case traces.WaitSkips:
		text = fmt.Sprintf("%s; %s's limit is %d", passedOver(d.Waited), x.model, d.Limit)
	case traces.WaitMs:
		text = fmt.Sprintf("its job had waited %s; %s's limit is %s", seconds(float64(d.Waited)/1e3), x.model, seconds(float64(d.Limit)/1e3))
	case traces.WaitOffers:
		text = fmt.Sprintf("its job had let pass %s; %s's limit is %d", printable.Count(d.Waited, "offered node"), x.model, d.Limit)
	default:
		text = fmt.Sprintf("its job had waited %d %v; %s's limit is %d", d.Waited, d.WaitUnit, x.model, d.Limit)
	}
	if x.Level > traces.LevelNode && d.Waited < d.Limit {
		switch d.Farthest {
		case traces.LevelRack:
			text += ", but its job may go as far as the rack"
		case traces.LevelOff:
			text += ", but its job may go anywhere"
		}
	}
	return text
}

func passedOver(times int64) string {
	switch times {
	case 0:
		return "not passed over before"
	case 1:
		return "passed over once"
	case 2:
		return "passed over twice"
	}
	return fmt.Sprintf("passed over %d times", times)
}

func (x *Explanation) sayBefore(say func(string, ...any)) {
	b := x.Before
	switch {
	case b == nil && x.Speculative:
		say("it is a speculative attempt, beside a slow one")
	case b == nil:
	case x.Speculative:
		say("it is a speculative attempt beside attempt %d, which ran on %s", b.Number, orNone(b.Node))
	case b.Outcome == traces.Killed:
		say("attempt %d before it, on %s, %s", b.Number, orNone(b.Node), sayKilled(*b.End, b.KilledBy))
	case b.End != nil && b.Outcome != traces.Unfinished:
		say("attempt %d before it, on %s, %v at %v", b.Number, orNone(b.Node), b.Outcome, *b.End)
	default:
		say("attempt %d before it ran on %s", b.Number, orNone(b.Node))
	}
}

func (x *Explanation) sayDecision(say func(string, ...any), d *Decision) {
	if d.ViewAgeMs > 0 {
		say("%s decided at %v, by what was seen %s before", x.model, d.At, seconds(float64(d.ViewAgeMs)/1e3))
	} else if d.At != x.Start {
		say("%s decided at %v", x.model, d.At)
	}
	if m := d.Meant; m != nil {
		say("the decision was meant for %v %d of the job; its ApplicationMaster started %v %d in the container", m.Kind, m.Index,
			x.Attempt.Kind, x.Attempt.Index)
	}
	if d.OneNode && x.Seen {
		var free []string
		for _, n := range x.Nearer {
			if n.Room == RoomFree {
				free = append(free, string(n.Node))
			}
		}
		if len(free) > 0 {
			say("%s was asked about %s alone, whose heartbeat had come; %s had room and was not asked about", x.model, orNone(x.Node), and(free))
		}
	}
	x.sayPassed(say, d)
	if d.Values != "" {
		say("%s says of the decision: %s", x.model, d.Values)
	}
}

// sayPassed lists the jobs that came before the attempt's job.
func (x *Explanation) sayPassed(say func(string, ...any), d *Decision) {
	var names []string
	for _, p := range d.Passed {
		why := p.Why.String()
		switch p.Why {
		case traces.PassedNoRoom:
			why = fmt.Sprintf("%s had no room for its container", orNone(x.Node))
		case traces.PassedWaits:
			switch why = "it waits for a node nearer to its data"; d.WaitUnit {
			case traces.WaitSkips:
				why += ", " + passedOver(p.Waited)
			case traces.WaitMs:
				why += ", for " + seconds(float64(p.Waited)/1e3)
			case traces.WaitOffers:
				why += ", after " + printable.Count(p.Waited, "offered node")
			}
		case traces.PassedModel:
			why = "it does not say why"
		}
		names = append(names, fmt.Sprintf("%s (%s)", p.Job, why))
	}
	if d.MorePassed > 0 {
		names = append(names, fmt.Sprintf("%d more", d.MorePassed))
	}
	if len(names) > 0 {
		say("before it, %s passed over %s", x.model, and(names))
	}
}

// tellUnknown lists what the trace does not tell of the attempt.
func (x *Explanation) tellUnknown() {
	tell := func(text string) { x.Unknown = append(x.Unknown, text) }
	if x.Attempt.Kind == traces.Map && !x.Seen && len(x.Nearer) == 0 && !x.hasInput {
		switch x.Level {
		case traces.LevelUnknown:
			tell("the trace does not say where its input is")
		case traces.LevelRack, traces.LevelOff:
			tell("the trace does not say which nodes have its block")
		}
	}
	for i := range x.Nearer {
		if x.Nearer[i].Room == RoomUnknown {
			tell("the trace does not say how many tasks these nodes hold")
			break
		}
	}
	switch {
	case x.Seen:
	case x.byYARN:
		tell("the cluster's own scheduler chose the node and says no reason: this is told from where tasks ran")
	case x.Decision == nil && !x.Speculative:
		tell("no decision in the trace is known to be that for this attempt: this is told from where tasks ran")
	case x.Decision != nil && x.Decision.Meant == nil && x.Attempt.Kind == traces.Map && x.Level > traces.LevelCache:
		tell("the trace does not say what " + x.model + " saw: this is told from where tasks ran")
	}
}
