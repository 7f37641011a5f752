// Package paper judges what a published paper says of a scheduler, by
// simulations and by runs on a cluster.
//
// A paper rarely says all that its experiments depend on. So a Paper is data:
// a set-up as printed, axes along which the text can be read in more than one
// way, claims, controls, the paper's figures with the numbers it prints, and
// an experiment for a real cluster. This package does the rest. It simulates
// each reading, judges all claims by one rule, puts each control in the place
// of the paper's own scheduler and judges again, and prints what comes out.
//
// The experiments of each paper are in a package below this one, and its scheduler
// models in a package below that. Those of others are in package sched. Numbers are
// not read off printed curves.
//
// Words:
//
//	set-up     the simulated cluster and its jobs; its properties have names, such as "containers"
//	axis       a property of the set-up or a parameter of a model that the paper leaves open, with its possible values
//	reading    one value for each axis; "as printed" is the first value of each
//	claimant   the scheduler that the paper proposes
//	control    a scheduler that is put in the claimant's place, to see whether a claim needs the claimant's method
//	design     the columns of a figure or table: what is varied there
//	effect     a difference that a claim asks for, with its 95 % interval
//	room       the largest effect that any scheduler could have, as an estimate from the same seeds
package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"heddle/harness/measure"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/stats"
)

// AsPrinted is the name of the reading with the first value of every axis.
const AsPrinted = "as printed"

// Paper contains the experiments of one published paper.
type Paper struct {
	Name   string // name of the paper in the command "heddle paper NAME"
	Title  string
	Source string // the paper's authors, where and when it was published
	Facts  []Fact // what is simulated, for readers
	Setup  Setting
	// Figures are figures of simulations for formulas, besides those that every paper has and
	// those that are noted.
	Figures map[string]func(*Simulation) float64
	// Schedulers are those that the figures compare. Claimant is the label of
	// the one that the paper proposes.
	Schedulers []Scheduler
	Claimant   string
	Controls   []Scheduler
	// Bars are labels of schedulers or controls that anybody could use instead. For claims with
	// Claim.Beats, the claimant must also gain enough over the best of them.
	Bars []string
	Axes []Axis
	// Readings are readings with a name, besides AsPrinted. From the last of
	// them, a matrix also changes each axis alone.
	Readings []Reading
	Designs  []Design
	Parts    []Part
	Claims   []Claim
	Sized    Sized // a matrix, unless it is told otherwise
	// NotJudged are statements of the paper that are no claims here, with the reason.
	NotJudged []NotJudged
	Numbers   Numbers   // what the paper states, for figures and claims
	Measures  []Measure // what a matrix shows of each reading, besides the claims
	// Explain returns a paragraph that says what explains the paper's results, from
	// the data of a reading. It may be nil.
	Explain func(*Data) string
	// Experiments are experiment files for a real cluster, at the size of a lab, with what they
	// name. Their thresholds are what a cluster can show of the claims.
	Experiments fs.FS
}

// Sized is the size of a matrix whose user asks for none. Without it a matrix has all
// judged claims, and as many seeds and jobs as a reading alone.
type Sized struct {
	Claims []string
	Seeds  int
	Set    map[string]string // properties of the set-up, as in Options.Set
}

// Size gives a matrix the paper's size where the user has not asked for another: an axis
// that is varied keeps its values.
func (p *Paper) Size(o *Options, vary Vary) {
	if len(o.Parts) == 0 {
		o.Parts = p.Sized.Claims
	}
	if o.Seeds == 0 {
		o.Seeds = p.Sized.Seeds
	}
	varied := func(key string) bool {
		return slices.ContainsFunc(vary.Axes, func(axis string) bool { return axis == AllAxes || p.Key(axis) == key })
	}
	for key, value := range p.Sized.Set {
		if _, set := o.Set[key]; !set && !varied(key) {
			o.Set[key] = value
		}
	}
}

// Setting is a simulated cluster and its jobs: everything in a simulation
// except the scheduler. A Setting is a struct of plain values, so that a text
// printed with %#v identifies it. It is a Staged or a Simulator too.
type Setting interface {
	// With returns the setting with one property changed. An unknown name or
	// value is an error that says which there are.
	With(name, value string) (Setting, error)
}

// Staged is a Setting that package sim simulates.
type Staged interface {
	// Stages returns simulations that run one after the other, each when the
	// one before has ended, such as the jobs of a query. The caller sets the
	// scheduler and the seed. Random choices depend only on the seed, so that
	// all schedulers meet the same ones.
	Stages(seed uint64) ([]Stage, error)
}

// Simulator is a Setting that simulates itself, such as a Monte Carlo of jobs without
// HDFS and heartbeats. The properties Offering and Training are not for it.
type Simulator interface {
	// Simulate simulates a scheduler with one seed. Random choices depend only on the
	// setting and the seed. It ends with the context's error once the context is done.
	Simulate(ctx context.Context, s Scheduler, seed uint64) (Simulation, error)
}

// Checker is a Setting with scheduler models of its own, which package sched does not
// know.
type Checker interface {
	// Check returns an error if there is no such scheduler, or if one of its
	// parameters is unknown or out of range.
	Check(Scheduler) error
}

// Noter is a Setting that computes figures of its own from a simulation, such as
// how unequal its jobs' times are.
type Noter interface {
	// Note adds notes, series and samples to a simulation, from one of its stages:
	// from the seed and the jobs that Stages gave for it, and from its figures.
	Note(to *Simulation, seed uint64, jobs []sim.Job, f *measure.Figures)
}

// Leaver is a Setting in which some of its properties may make no difference. What
// schedulers say of these is left out, so that such schedulers are simulated once.
type Leaver interface {
	Leaves(property string) bool
}

// Stage is a simulation without its scheduler: a cluster and jobs.
type Stage struct {
	Config sim.Config
	Jobs   []sim.Job
}

// Scheduler is a scheduler model with its parameters, and the name that the
// paper has for it. Besides the model's own parameters there is "splits": what
// an ApplicationMaster sees of a job's splits (asSubmitted, cachedOnly, plan).
type Scheduler struct {
	Label  string
	Model  string
	Params sched.Params
	// Set has properties of the set-up that differ in all simulations of this
	// scheduler, such as the number of slots that it needs.
	Set map[string]string
	// Ablated says that the scheduler is the claimant without a part of its method.
	// As a control it shows what that part does, and not that a claim could do
	// without the method.
	Ablated bool
}

// Fact is one property of the simulated set-up that is the same in all
// readings.
type Fact struct {
	Item string `json:"item"`
	Is   string `json:"is"`
	Why  string `json:"why,omitempty"`
}

// Mark says where the value of an axis is from.
type Mark string

// The marks of a value: the text has it, the authors' published code has it, the
// text suggests it, or it is our choice.
const (
	Printed  Mark = "printed"
	Code     Mark = "code"
	Inferred Mark = "inferred"
	Ours     Mark = "ours"
)

// Axis is a point that the paper leaves open.
type Axis struct {
	Name string `json:"name"`
	// Sets is the name of what the axis sets: a property of the set-up, a
	// parameter of a model ("acl.d"), of two ("adaptive+reverse.past") or of one scheduler
	// ("Original.inPool"), or one of this package's own, Offering and Training. If it is empty, it is the axis's name.
	Sets string `json:"sets,omitempty"`
	// Of says whether the axis is a way to read the text, or a cost of our own
	// simulated cluster.
	Of     AxisOf  `json:"of,omitempty"`
	About  string  `json:"about"`
	Values []Value `json:"values"` // the first is as printed, or nearest to the text
	// a matrix changes it alone, and mixes it with no other axis: its values take long to simulate, or would make too many readings
	Alone  bool `json:"alone,omitempty"`
	Chosen bool `json:"chosen"` // whether a matrix varies the axis unless it is told which to vary
}

// AxisOf says what an axis is about.
type AxisOf string

// What axes are about: the text, which can be read in more ways than one, or the costs
// of the simulated cluster, which we chose.
const (
	OfText AxisOf = ""
	Cost   AxisOf = "cost"
)

// Value is one value of an axis.
type Value struct {
	Value string `json:"value"`
	Mark  Mark   `json:"mark"`
	Why   string `json:"why,omitempty"`
}

func (a *Axis) key() string {
	if a.Sets != "" {
		return a.Sets
	}
	return a.Name
}

// Reading is a choice of values. What Set does not name is as printed.
type Reading struct {
	Name string
	Set  map[string]string // values by the names that axes set
}

// Design is what the columns of a figure vary.
type Design struct {
	ID      string
	X       string // what differs between the columns, such as "block size"
	Columns []Column
}

// Column is one setting of a design: properties of the set-up that differ from
// the reading's.
type Column struct {
	Name string
	Set  map[string]string
}

// Part is a published figure or table: schedulers in the columns of a design.
type Part struct {
	ID         string // such as "fig5"
	Title      string
	Design     string
	Schedulers []string // labels of the paper's schedulers
	Unit       string
	Kind       Kind  // empty means Line
	Rows       []Row // each gives the figure one row for each scheduler; of Line and Bars
	// Of is the name of the series or of the samples that a figure of kind Series or
	// CDF shows, in Simulation.Series or Simulation.Samples. X says what they are over.
	Of, X     string
	Published []Published
	// Compute returns the columns and rows of a figure that is no design. X says what
	// differs between its columns.
	Compute func(*Data) ([]string, []FigureRow)
	Notes   []string
}

// Row says what a figure shows of each scheduler.
type Row struct {
	Suffix string // appended to the scheduler's label
	Is     string // a formula, in which $s is the scheduler and $c the column; a figure alone is that of both
	// Once says that it is the same for all schedulers: the row then stands once, under the suffix alone.
	Once bool
}

// Published is one number that the paper states, with a function that computes
// ours. The number itself is in Paper.Numbers, in the row Label and column What of
// the part.
type Published struct {
	What, Label, Unit string
	Ours              func(*Data) stats.Estimate
}

// ClaimKind says what is done with a claim.
type ClaimKind string

// The kinds of claims. A check is arithmetic, such as that published numbers agree
// with each other: it needs no simulation, and no control can do as well.
const (
	Judged     ClaimKind = "" // by its effects, and with controls in the claimant's place
	Check      ClaimKind = "check"
	ReportOnly ClaimKind = "report only" // its effects are shown, and there is no verdict
)

// Claim is a statement of the paper. It is judged by its effects, see Judge.
type Claim struct {
	ID        string
	Kind      ClaimKind
	Text      string
	Published string
	Parts     []string // ids of the figures and tables that show its data
	// Effects returns what the claim asks for. The first effect is the main one,
	// see Judge.
	Effects func(*Data) []Effect
	// Beats returns what the claimant gains over the scheduler with this label.
	// Effect.Least is how much of that the claim needs of the method, besides what
	// Paper.Bars gain. It is nil for claims that are not about such a gain.
	Beats func(d *Data, bar string) Effect
}

// NotJudged is a statement of the paper that is not judged.
type NotJudged struct {
	Says string `json:"says"`
	Why  string `json:"why"`
}

// Measure is a number that a matrix shows of each reading.
type Measure struct {
	Name, Unit string
	Of         func(*Data) stats.Estimate
	OfSetup    bool // it is of the set-up, and not of the claimant
}

// ErrUnknown is wrapped by errors about a name that a paper does not have: of a
// part, a claim, an axis, a reading, a property or a parameter.
var ErrUnknown = errors.New("not known")

// Options say what of a paper to compute, and with how many seeds.
type Options struct {
	Parts    []string // ids of figures, tables and claims; empty means all
	Reading  string   // name of a reading; empty means AsPrinted
	Set      map[string]string
	Also     []Scheduler // schedulers to show and to judge beside the paper's
	Seed     uint64
	Seeds    int  // number of seeds; each case is simulated once with each
	Preview  bool // the seeds are few, for a first look; reports say so
	Workers  int  // number of simulations that may run at the same time
	Progress func(Progress)
	// Simulate replaces the simulator, for tests of claims; nil means the
	// simulator.
	Simulate func(Case, uint64) (Simulation, error)
}

// Progress says how much of a paper's experiments is done.
type Progress struct {
	Doing     string
	Simulated int // number of simulations done so far
	Trained   int // number of tables that models have learnt so far
	Done, All int // number of parts, claims and readings that are done, and of all of them
}

// Run computes the figures of a paper and judges its claims, in one reading.
func (p *Paper) Run(ctx context.Context, o Options) (*Report, error) {
	p, err := p.with(o)
	if err != nil {
		return nil, err
	}
	parts, claims, err := p.choose(o.Parts)
	if err != nil {
		return nil, err
	}
	reading, err := p.named(o.Reading)
	if err != nil {
		return nil, err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return nil, err
	}
	d, err := p.data(b, reading, o.Set, nil)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Paper:     p.Name,
		Title:     p.Title,
		Source:    p.Source,
		Reading:   reading.Name,
		Set:       d.differs(),
		Changed:   p.changed(reading, o.Set),
		Seed:      o.Seed,
		Seeds:     o.Seeds,
		Preview:   o.Preview,
		Facts:     p.Facts,
		NotJudged: p.NotJudged,
		Axes:      p.axes(d.values),
		Criteria:  []Criterion{},
		Figures:   []*Figure{},
	}
	b.all = len(parts) + len(claims)
	for _, part := range parts {
		b.tell(part.ID)
		f := part.figure(d)
		if d.err != nil {
			return nil, fmt.Errorf("%s: %w", part.ID, d.err)
		}
		r.Figures = append(r.Figures, f)
	}
	for _, claim := range claims {
		b.tell(claim.ID)
		c, err := d.judge(&claim)
		if err != nil {
			return nil, err
		}
		r.Criteria = append(r.Criteria, *c)
	}
	if p.Explain != nil && len(o.Parts) == 0 {
		r.Summary = p.Explain(d)
		if d.err != nil {
			return nil, fmt.Errorf("explain: %w", d.err)
		}
	}
	b.tell("done")
	r.NotNoted = d.notNoted()
	r.Kept.paper, r.Kept.seed = p.Name, o.Seed
	r.Kept.keep(d, false)
	return r, nil
}

// with returns the paper with the schedulers that were asked for besides its
// own: they stand in all figures, and are controls.
func (p *Paper) with(o Options) (*Paper, error) {
	if len(o.Also) == 0 {
		return p, nil
	}
	q := *p
	for _, s := range o.Also {
		if slices.ContainsFunc(slices.Concat(q.Schedulers, q.Controls), func(x Scheduler) bool { return x.Label == s.Label }) {
			return nil, fmt.Errorf("also %q: paper %s has it already: %w", s.Label, p.Name, ErrUnknown)
		}
		if err := p.check(s); err != nil {
			return nil, fmt.Errorf("also %q: %w: %w", s.Label, err, ErrUnknown)
		}
	}
	q.Schedulers = slices.Concat(p.Schedulers, o.Also)
	q.Controls = slices.Concat(p.Controls, o.Also)
	q.Parts = slices.Clone(p.Parts)
	for i := range q.Parts {
		for _, s := range o.Also {
			q.Parts[i].Schedulers = append(slices.Clone(q.Parts[i].Schedulers), s.Label)
		}
	}
	return &q, nil
}

// check returns an error if there is no such scheduler.
func (p *Paper) check(s Scheduler) error {
	if own, ok := p.Setup.(Checker); ok {
		return own.Check(s)
	}
	_, err := sched.New(s.Model, s.Params)
	return err
}

// choose returns the parts and claims with the given ids. It also returns the
// claims that are about a chosen part.
func (p *Paper) choose(ids []string) (parts []Part, claims []Claim, err error) {
	if len(ids) == 0 {
		return p.Parts, p.Claims, nil
	}
	wanted := map[string]bool{}
	var all []string
	for _, x := range p.Parts {
		all = append(all, x.ID)
	}
	for _, x := range p.Claims {
		all = append(all, x.ID)
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(x string) bool { return strings.EqualFold(x, id) })
		if i < 0 {
			return nil, nil, fmt.Errorf("part or claim %q: %w: paper %s has %s", id, ErrUnknown, p.Name, strings.Join(all, ", "))
		}
		wanted[all[i]] = true
	}
	for _, x := range p.Parts {
		if wanted[x.ID] {
			parts = append(parts, x)
		}
	}
	for _, x := range p.Claims {
		if wanted[x.ID] || slices.ContainsFunc(x.Parts, func(id string) bool { return wanted[id] }) {
			claims = append(claims, x)
		}
	}
	return parts, claims, nil
}
