package config

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"heddle/harness/measure"
)

// Sweep is the content of a sweep file: many replays of traces, and which of their
// combinations are run. One combination of a model, its parameters and a changed
// cluster is a setting; each setting replays each trace with each seed.
type Sweep struct {
	// Name is the name of the sweep; the default is that of its file.
	Name   string       `yaml:"name" text:"Name of the sweep; by default that of the file."`
	Traces []SweepTrace `yaml:"traces" text:"Paths of traces, in any form that 'heddle replay' reads." required:"true"`
	Models []Model      `yaml:"models" text:"Scheduler models; yarn is the cluster's own." required:"true"`
	Behaviour
	// Cluster has what is changed in all replays, by the name of the flag of heddle
	// replay. Vary has what differs between settings: such a name, or MODEL.PARAMETER.
	Cluster map[string]string `yaml:"cluster,omitempty" text:"What is changed in all replays, by the names of flags of 'heddle replay', such as nodes."`
	Vary    map[string]Axis   `yaml:"vary,omitempty" text:"What differs between settings: flags of 'heddle replay', such as nodes, or MODEL.PARAMETER."`
	// Sample says which combinations of the axes are run: a value of Samples.
	Sample string `yaml:"sample" text:"Which combinations of what varies are run." values:"grid,pairs,random,latinHypercube,saltelli"`
	// Points is the number of points of a sample that is not of levels.
	Points int `yaml:"points,omitempty" text:"How many points are drawn; saltelli makes as many times the number of axes and two." min:"1" max:"100000"`
	// Seeds is the number of seeds of each setting, which are Seed, Seed+1 and so on.
	// Seed also decides which points are drawn.
	Seeds int `yaml:"seeds" text:"How many seeds each setting is run with." min:"1" max:"10000"`
	// MostSeeds lets the sweep add seeds, Seeds at a time, to the best setting and those that
	// are not told from it by the first metric, until they are told or have so many.
	// 0 adds none.
	MostSeeds int    `yaml:"mostSeeds,omitempty" text:"Seeds are added, as many as seeds says at a time, to the best setting and those that are not told from it, up to so many." min:"0" max:"10000"`
	Seed      uint64 `yaml:"seed" text:"The first seed; it also decides which points are drawn." min:"0" max:"1.8446744073709552e19"`
	// Calibration is the path of a calibration, with which tasks' times are modelled.
	Calibration string `yaml:"calibration,omitempty" text:"A calibration of 'heddle replay --calibrate', with which tasks' times are modelled."`
	// Metrics are names of metrics. By the first, settings are chosen.
	Metrics []string `yaml:"metrics" text:"Metrics that are told; settings are chosen by the first, and compared by the first two."`
	// Thresholds are what a setting must keep to be chosen.
	Thresholds limits `yaml:"thresholds,omitempty" text:"What a setting must keep to be chosen, such as waiting.p95 of adhoc < 30s, or end of nightly < 06:00."`
}

// Values of Sweep.Sample.
const (
	SampleGrid     = "grid"           // all combinations
	SamplePairs    = "pairs"          // every pair of values of two axes
	SampleRandom   = "random"         // points drawn independently
	SampleLatin    = "latinHypercube" // points drawn so that each axis is covered evenly
	SampleSaltelli = "saltelli"       // points from which Sobol' indices are estimated
)

// SweepTrace is a trace of a sweep. A file may give its path alone.
type SweepTrace struct {
	Label string `yaml:"label,omitempty" text:"The trace's name in results; by default that of its file."`
	Path  string `yaml:"path" text:"Path of the trace; a relative one starts from this file's folder." required:"true"`
}

func (t *SweepTrace) shorten(path string) { t.Path = path }

// Axis is what a setting has one value of: a list of values, or a range of numbers that
// may have a unit. A file may give the list alone.
type Axis struct {
	Values []string `yaml:"values,omitempty" text:"The values."`
	From   string   `yaml:"from,omitempty" text:"The least number, which may have a unit. Of two whole numbers, all are whole: write 1.0 for others."`
	To     string   `yaml:"to,omitempty" text:"The largest number, with the same unit."`
	Scale  string   `yaml:"scale,omitempty" text:"Whether equal differences or equal ratios are equally likely; linear by default." values:"linear,log"`
	// Steps is how many numbers of the range a sample of levels has.
	Steps int `yaml:"steps,omitempty" text:"How many numbers of the range a grid or pairs take." min:"2" max:"1000"`
}

func (a *Axis) list() any { return &a.Values }

// Scales of an Axis.
const (
	scaleLinear = "linear"
	scaleLog    = "log"
)

// numberWithUnit matches a bound of a range.
var numberWithUnit = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) *([A-Za-z/%]*)$`)

// LoadSweep reads and checks a sweep file. It also returns the file's content. The
// error, an *Error, lists everything that is wrong with it.
func LoadSweep(file string) (s *Sweep, source []byte, err error) {
	if source, err = read("sweep", file); err != nil {
		return nil, nil, err
	}
	s, err = ParseSweep(file, source)
	return s, source, err
}

// ParseSweep parses and checks the content of a sweep file. Traces need not exist.
func ParseSweep(file string, data []byte) (*Sweep, error) {
	s := defaultSweep()
	if err := decode(file, data, s, func() problems {
		s.fill(file)
		return s.problems()
	}); err != nil {
		return nil, err
	}
	return s, nil
}

func defaultSweep() *Sweep {
	return &Sweep{
		Behaviour: Behaviour{Actuator: ActuatorLabels, Splits: SplitsAsSubmitted}, Sample: SampleGrid, Seeds: 1, Seed: 1,
		Metrics: []string{"jobCompletion", "makespan"},
	}
}

// SweepSchema returns the JSON Schema of sweep files, with which editors check and
// complete them.
func SweepSchema() []byte { return schema("heddle sweep", *defaultSweep(), nil) }

func (s *Sweep) fill(file string) {
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	beside(file, &s.Calibration)
	for i := range s.Models {
		_ = s.Models[i].readQueues(file) // which modelProblems does again, and tells
	}
	for i := range s.Traces {
		t := &s.Traces[i]
		beside(file, &t.Path)
		if t.Label != "" {
			continue
		}
		t.Label = traceLabel(t.Path)
		if dir := filepath.Base(filepath.Dir(t.Path)); filepath.Base(t.Path) == "trace.heddle" && dir != "." { // that of a trial
			t.Label = labelText(dir)
		}
	}
	e := s.experiment()
	for i := range s.Models {
		s.Models[i].fill(e, file)
	}
	for name, a := range s.Vary {
		if a.Scale == "" {
			a.Scale = scaleLinear
		}
		s.Vary[name] = a
	}
}

// experiment returns an experiment with the models of the sweep, since the same rules
// are for both.
func (s *Sweep) experiment() *Experiment {
	return &Experiment{Models: s.Models, Behaviour: s.Behaviour}
}

func (s *Sweep) problems() problems {
	var p problems
	if !fileName.MatchString(s.Name) {
		p.addf("name", "%q: want letters, digits and ._-, first a letter or digit", s.Name)
	}
	if len(s.Traces) == 0 {
		p.addf("traces", "want at least one, such as run.heddle")
	}
	s.traceProblems(&p)
	if len(s.Models) == 0 {
		p.addf("models", "want at least one, such as %s", ModelYARN)
	}
	e := s.experiment()
	e.modelProblems(&p)
	for i := range s.Models {
		switch m := &s.Models[i]; {
		case m.Keeps():
			p.addf(fmt.Sprintf("models[%d].state", i), "%s: replays of a sweep are independent; remove the key", m.State)
		case m.Model == ModelExternal: // a result is known by what it follows from, and nothing says which program that was
			p.addf(fmt.Sprintf("models[%d]", i), "a sweep has no %s models; use heddle replay or heddle run", ModelExternal)
		}
	}
	if len(p) == 0 {
		p = append(p, e.unsupported()...)
	}
	p.keys(*s, "")
	s.Behaviour.problems(&p)
	s.axisProblems(&p)
	if s.MostSeeds != 0 && s.MostSeeds < s.Seeds {
		p.addf("mostSeeds", "%d: want at least seeds, which is %d", s.MostSeeds, s.Seeds)
	}
	for i := range s.Thresholds {
		t, path := &s.Thresholds[i], fmt.Sprintf("thresholds[%d]", i)
		if t.Model = "setting"; !t.End.IsZero() {
			continue
		}
		if t.problems(&p, path, t.Metric); t.Other != "" {
			p.addf(path, "%q: want a number: settings are not compared here", t.Text)
		}
	}
	if len(s.Metrics) == 0 {
		p.addf("metrics", "want at least one, such as makespan")
	}
	for i, name := range s.Metrics {
		path := fmt.Sprintf("metrics[%d]", i)
		if list, err := measure.Find([]string{name}); err != nil {
			p.addf(path, "%v", err)
		} else if name == "all" {
			p.addf(path, "all: want the names of metrics; settings are chosen by the first")
		} else if i < 2 && list[0].Better == "" {
			p.addf(path,
				"%s: neither more nor less of it is better; want another one: settings are chosen by the first, and compared by the first two", name)
		}
	}
	return p
}

func (s *Sweep) traceProblems(p *problems) {
	labels := map[string]bool{}
	for i, t := range s.Traces {
		path := fmt.Sprintf("traces[%d]", i)
		switch {
		case t.Path == "":
			p.addf(path+".path", "want the path of a trace")
		case !labelName.MatchString(t.Label):
			p.addf(path+".label", "%q: %s", t.Label, wantLabel)
		case labels[t.Label]:
			p.addf(path, "%q is listed twice; give one of them a label", t.Label)
		}
		labels[t.Label] = true
	}
}

func (s *Sweep) axisProblems(p *problems) {
	for name, a := range s.Vary {
		path := "vary." + name
		p.keys(a, path)
		if _, fixed := s.Cluster[name]; fixed {
			p.addf("cluster."+name, "%s is in cluster and in vary; want it in one of them", name)
		}
		if err := a.check(s.hasLevels()); err != nil {
			p.addf(path, "%v", err)
		}
	}
	switch {
	case s.hasLevels() && s.Points > 0:
		p.addf("points", "%d: have no effect with sample %s; remove the key", s.Points, s.Sample)
	case !s.hasLevels() && s.Points == 0:
		p.addf("sample", "%s: want the number of points with it, such as points: 50", s.Sample)
	case !s.hasLevels() && len(s.Vary) == 0:
		p.addf("sample", "%s: nothing varies; want vary with it", s.Sample)
	}
}

// hasLevels reports whether the sample takes combinations of given values, and not
// points between them.
func (s *Sweep) hasLevels() bool { return s.Sample == SampleGrid || s.Sample == SamplePairs }

func (a *Axis) isRange() bool { return a.From != "" || a.To != "" }

func (a *Axis) check(levels bool) error {
	switch {
	case len(a.Values) > 0 && (a.isRange() || a.Steps > 0):
		return fmt.Errorf("values and a range; want one of them")
	case !a.isRange() && len(a.Values) == 0:
		return fmt.Errorf("want a list of values, or from and to")
	case !a.isRange():
		return nil
	}
	from, fromUnit, fok := bound(a.From)
	to, toUnit, tok := bound(a.To)
	switch {
	case !fok || !tok:
		return fmt.Errorf("from %q to %q: want two numbers, such as 0.5, or 10Mbit", a.From, a.To)
	case fromUnit != toUnit:
		return fmt.Errorf("from %q to %q: want one unit", a.From, a.To)
	case !(from < to):
		return fmt.Errorf("from %s to %s: want a larger number after to", a.From, a.To)
	case a.Scale == scaleLog && from <= 0:
		return fmt.Errorf("from %s: want more than 0 with scale log", a.From)
	case levels && a.Steps == 0:
		return fmt.Errorf("a range has no values that a grid could take; want a list, or steps with it, such as steps: 5")
	case !levels && a.Steps > 0:
		return fmt.Errorf("steps have no effect on a sample of points; remove the key")
	}
	return nil
}

// bound reads a bound of a range.
func bound(text string) (number float64, unit string, ok bool) {
	m := numberWithUnit.FindStringSubmatch(text)
	if m == nil {
		return 0, "", false
	}
	number, err := strconv.ParseFloat(m[1], 64)
	return number, m[2], err == nil && math.Abs(number) <= 1e15
}

// Number returns the number that a value of an axis is, without its unit.
func Number(value string) (x float64, ok bool) {
	x, _, ok = bound(value)
	return x, ok
}

// Levels returns the values of an axis, or the steps of its range.
func (a *Axis) Levels() []string {
	if !a.isRange() {
		return a.Values
	}
	list := make([]string, a.Steps)
	for i := range list {
		list[i] = a.number(float64(i) / float64(a.Steps-1))
	}
	return list
}

// At returns the value of an axis at a coordinate from 0 to below 1. Values of a list
// take equal parts of it.
func (a *Axis) At(x float64) string {
	if !a.isRange() {
		return a.Values[min(int(x*float64(len(a.Values))), len(a.Values)-1)]
	}
	if from, _, _ := bound(a.From); a.whole() { // each whole number takes an equal part
		to, unit, _ := bound(a.To)
		if a.Scale != scaleLog {
			return strconv.FormatFloat(min(to, from+math.Floor(x*(to-from+1))), 'f', -1, 64) + unit
		}
	}
	return a.number(x)
}

// number returns the number of a range at a coordinate from 0 to 1, with four digits: so
// many tell settings apart, and can be read.
func (a *Axis) number(x float64) string {
	from, unit, _ := bound(a.From)
	to, _, _ := bound(a.To)
	y := from + x*(to-from)
	if a.Scale == scaleLog {
		y = math.Exp(math.Log(from) + x*(math.Log(to)-math.Log(from)))
	}
	if a.whole() {
		return strconv.FormatFloat(math.Round(y), 'f', -1, 64) + unit
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(y, 'g', 4, 64), 64)
	return strconv.FormatFloat(short, 'f', -1, 64) + unit
}

// whole reports whether both bounds are written as whole numbers.
func (a *Axis) whole() bool { return isWhole(a.From) && isWhole(a.To) }

func isWhole(text string) bool {
	m := numberWithUnit.FindStringSubmatch(text)
	return m != nil && !strings.ContainsAny(m[1], ".e")
}
