package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/state"
	"heddle/traces"
)

// Capacity is a timetable of the workers' capacity: which share of its memory and
// cores a worker has for containers, as if other load took the rest. The zero value
// leaves them all.
type Capacity struct {
	// Steps and Sine are two ways to give the timetable, of which one is used.
	Steps []CapacityStep `yaml:"steps,omitempty" text:"Changes, each with its time."`
	Sine  Sine           `yaml:"sine,omitempty" text:"A share that swings evenly around a mean, on all workers."`
	// Every is the time after which Steps happen again; 0 means that they happen
	// once.
	Every units.Duration `yaml:"every,omitempty" text:"The time after which the steps happen again." max:"8760h"`
	// Container, if above 0, makes workers keep whole containers of this memory,
	// and all workers together the share that is asked for, to the nearest container.
	Container units.Size `yaml:"container,omitempty" text:"Leave whole containers of this memory, and the share of all workers together."`
	// Told, Lag and Noise say what models are told of the timetable before the first
	// job. By default it is all of it.
	Told string `yaml:"told,omitempty" text:"What models are told of the timetable: all of it, ahead, or none of it." values:"ahead,none"`
	// Lag is how late each change is in what models are told.
	Lag units.Duration `yaml:"lag,omitempty" text:"How late each change is in what models are told." max:"8760h"`
	// Noise is the largest relative error of the other load in what models are told.
	// Each trial of a repeat has the same errors.
	Noise float64 `yaml:"noise,omitempty" text:"The largest relative error of the other load in what models are told, 0 to 1." min:"0" max:"1"`
}

// Values of Capacity.Told; "" means CapacityAhead.
const (
	CapacityAhead = "ahead"
	CapacityNone  = "none"
)

// CapacityStep is a change of the share that workers have left.
type CapacityStep struct {
	// At is the time of the change, counted from the trial's first submission.
	At   units.Duration `yaml:"at" text:"When, after the trial's first submission." max:"8760h"`
	Node string         `yaml:"node,omitempty" text:"The worker that changes; without node and rack, all do."`
	Rack string         `yaml:"rack,omitempty" text:"The rack instead: all its workers."`
	Left float64        `yaml:"left" text:"The share of its own memory and cores that a worker has left, 0 to 1." min:"0" max:"1"`
}

// Sine is a share that falls from Mean to Mean - Swing, rises to Mean + Swing and
// falls to Mean again in each Period.
type Sine struct {
	Mean   float64        `yaml:"mean" text:"The mean share that is left." min:"0" max:"1"`
	Swing  float64        `yaml:"swing" text:"How far the share falls below the mean, and rises above it." min:"0" max:"1"`
	Period units.Duration `yaml:"period" text:"The time from one fall to the next." min:"10s" max:"8760h"`
}

// Given reports whether the timetable changes anything.
func (c *Capacity) Given() bool { return len(c.Steps) > 0 || c.Sine != (Sine{}) }

// Set parses the text of a step, such as "at=30s,node=r1n2,left=0.5", and adds the
// step. So a Capacity holds the values of the command line flag --capacity.
func (c *Capacity) Set(text string) error {
	var s CapacityStep
	left := false
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if err := s.set(key, value); err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
		left = left || key == "left"
	}
	if !left {
		return errors.New("no share is given; want left=SHARE, 0 to 1")
	}
	var p problems
	(&Capacity{Steps: []CapacityStep{s}}).problems(&p)
	if len(p) > 0 {
		return errors.New(p[0].Message)
	}
	c.Steps = append(c.Steps, s)
	return nil
}

func (c *Capacity) String() string { return "" }

func (s *CapacityStep) set(key, value string) (err error) {
	switch key {
	case "at":
		err = s.At.Set(value)
	case "node":
		s.Node = value
	case "rack":
		s.Rack = value
	case "left":
		s.Left, err = strconv.ParseFloat(value, 64)
	default:
		err = errors.New("unknown key; want at, node, rack or left")
	}
	return err
}

func (c *Capacity) problems(p *problems) {
	wrong := func(bad bool, key, format string, args ...any) {
		if bad {
			p.addf("capacity"+key, format, args...)
		}
	}
	sine := c.Sine != (Sine{})
	wrong(sine && len(c.Steps) > 0, "", "both a sine and steps; want one of them")
	if sine {
		s := c.Sine
		p.keys(s, "capacity.sine")
		wrong(s.Mean-s.Swing < 0 || s.Mean+s.Swing > 1, ".sine.swing", "%v around %v: want a share between 0 and 1 at all times", s.Swing, s.Mean)
		wrong(c.Every != 0, ".every", "%v: want none: a sine has a period", c.Every)
	}
	wrong(!c.Given() && (c.Every != 0 || c.Container != 0), "", "no steps and no sine; want one of them")
	p.keys(*c, "capacity")
	wrong(!c.Given() && (c.Told != "" || c.Lag != 0 || c.Noise != 0), "",
		"told, lag and noise say what models are told of a timetable, and there is none; want steps or a sine")
	wrong(c.Told == CapacityNone && (c.Lag != 0 || c.Noise != 0), ".told",
		"none, and a lag or a noise; want one of them: models that are told nothing are told nothing late")
	for i, s := range c.Steps {
		path := fmt.Sprintf("capacity.steps[%d]", i)
		p.keys(s, path)
		switch {
		case c.Every > 0 && s.At >= c.Every:
			p.addf(path, "%v: want a time before the steps begin again, %v", s.At, c.Every)
		case s.Node != "" && s.Rack != "":
			p.addf(path, "both node %s and rack %s; want one of them, or none for all workers", s.Node, s.Rack)
		case s.Node != "" && !hostName.MatchString(s.Node):
			p.addf(path, "node %q: want a node's name: letters, digits and ._-", s.Node)
		}
	}
}

// part is a share of a whole, in millionths.
type part int64

const whole part = 1e6

func partOf(share float64) part { return part(math.Round(share * float64(whole))) }

// Telling says what models are told of the timetable.
func (c *Capacity) Telling() traces.Telling {
	return traces.Telling{None: c.Told == CapacityNone, LagMs: time.Duration(c.Lag).Milliseconds(), Noise: c.Noise}
}

// Timetable returns when the capacity of a cluster's workers changes, and to what.
// Times count from 0.
func (c *Capacity) Timetable(workers []traces.NodeFacts) (state.Timetable, error) {
	var t state.Timetable
	if !c.Given() {
		return t, nil
	}
	t.Telling = c.Telling()
	steps := slices.Clone(c.Steps)
	t.EveryMs = time.Duration(c.Every).Milliseconds()
	if c.Sine != (Sine{}) {
		steps = c.Sine.steps()
		t.EveryMs = time.Duration(c.Sine.Period).Milliseconds()
	}
	slices.SortStableFunc(steps, func(a, b CapacityStep) int { return cmp.Compare(a.At, b.At) })
	shares, has := make([]part, len(workers)), make([]state.Resource, len(workers))
	touched := make([]bool, len(workers))
	for i, n := range workers {
		shares[i], has[i] = whole, fullSize(n)
	}
	for i := 0; i < len(steps); {
		at := steps[i].At
		for ; i < len(steps) && steps[i].At == at; i++ {
			found := false
			for n, w := range workers {
				if s := &steps[i]; s.on(w) {
					shares[n], touched[n], found = partOf(s.Left), true, true
				}
			}
			if !found {
				return t, fmt.Errorf("capacity: the cluster has no worker for the step at %v: node %q, rack %q", at, steps[i].Node, steps[i].Rack)
			}
		}
		for n, left := range c.sizes(workers, shares) {
			if left != has[n] {
				has[n] = left
				t.Changes = append(t.Changes, state.CapacityChange{AtMs: time.Duration(at).Milliseconds(), Node: string(workers[n].Node), Left: left})
			}
		}
	}
	if t.EveryMs > 0 {
		t.Changes = beginAgain(t.Changes, workers, touched)
	}
	return t, nil
}

// beginAgain puts the sizes that workers have at the start of each repetition in front
// of the changes: their own, unless there is a change at once.
func beginAgain(changes []state.CapacityChange, workers []traces.NodeFacts, touched []bool) []state.CapacityChange {
	var first []state.CapacityChange
	for n, w := range workers {
		name := string(w.Node)
		if touched[n] && !slices.ContainsFunc(changes, func(c state.CapacityChange) bool { return c.AtMs == 0 && c.Node == name }) {
			first = append(first, state.CapacityChange{Node: name, Left: fullSize(w)})
		}
	}
	return append(first, changes...)
}

func (s *CapacityStep) on(n traces.NodeFacts) bool {
	return s.Node == string(n.Node) || s.Node == "" && (s.Rack == "" || strings.TrimPrefix(s.Rack, "/") == strings.TrimPrefix(n.Rack, "/"))
}

// steps returns the sine as a hundred steps a period, at least a second apart.
func (s *Sine) steps() (list []CapacityStep) {
	period := time.Duration(s.Period)
	n := int(min(100, period/time.Second))
	for i := range n {
		left := s.Mean - float64(s.Swing*math.Sin(2*math.Pi*float64(i)/float64(n)))
		list = append(list, CapacityStep{At: units.Duration(period / time.Duration(n) * time.Duration(i)), Left: min(1, max(0, left))})
	}
	return list
}

func fullSize(n traces.NodeFacts) state.Resource {
	return state.Resource{MemoryMB: int32(min(n.MemoryBytes>>20, math.MaxInt32)), VCores: n.VCores}
}

// sizes returns what each worker has left, given its share. In whole containers, all
// workers together have the share that is asked for, to the nearest container: those
// whose share was rounded down the most get one more each.
func (c *Capacity) sizes(workers []traces.NodeFacts, shares []part) []state.Resource {
	list := make([]state.Resource, len(workers))
	mb := int64(c.Container) >> 20
	if mb == 0 {
		for i, n := range workers {
			full := fullSize(n)
			list[i] = state.Resource{MemoryMB: of(full.MemoryMB, shares[i], false), VCores: of(full.VCores, shares[i], true)}
		}
		return list
	}
	count, rest := make([]int64, len(workers)), make([]part, len(workers))
	var sum part
	for i, n := range workers {
		exact := part(int64(fullSize(n).MemoryMB)/mb) * shares[i]
		count[i], rest[i] = int64(exact/whole), exact%whole
		sum += rest[i]
	}
	for more := (sum + whole/2) / whole; more > 0; more-- {
		most := 0
		for i := range rest {
			if rest[i] > rest[most] {
				most = i
			}
		}
		count[most]++
		rest[most] = 0
	}
	for i, n := range workers {
		full := fullSize(n)
		list[i] = full
		if all := int64(full.MemoryMB) / mb; shares[i] < whole && all > 0 {
			list[i] = state.Resource{MemoryMB: int32(count[i] * mb), VCores: of(full.VCores, part(count[i])*whole/part(all), true)}
		}
	}
	return list
}

// of returns the share of a number, rounded down, or up.
func of(n int32, share part, up bool) int32 {
	x := part(n) * share
	if up {
		x += whole - 1
	}
	return int32(x / whole)
}
