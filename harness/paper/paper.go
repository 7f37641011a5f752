// Package paper puts what a published paper says of a scheduler beside what the
// simulator, or a run on a cluster, says of the same model.
//
// A Paper is parts (figures, tables, findings of our own, sensitivity to what it
// leaves open) and rules: criteria that its claims are held to. All parts share
// one Bench, which simulates a case once for each seed, whoever asks. The
// experiments of each paper are in a package below this one. Left out: the
// models, which are package sched's, and numbers read off printed curves.
package paper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/stats"
)

// Paper is one paper's experiments.
type Paper struct {
	Name   string // as in heddle paper NAME
	Title  string
	Source string // authors, where, when
	Setup  []Choice
	Open   []Choice
	Parts  []Part
	Rules  []Rule
	Live   *Live // nil: nothing runs on a cluster
}

// Choice is something about the set-up: as published, or what is taken where the
// paper is silent.
type Choice struct {
	Item  string `json:"item"`
	Taken string `json:"taken"`
	Why   string `json:"why,omitempty"`
}

// Kind is what a part is.
type Kind string

// Kinds of part.
const (
	Published   Kind = "published" // a figure or table of the paper
	Finding     Kind = "finding"   // our own
	Sensitivity Kind = "sensitivity"
)

// Part is a figure or table.
type Part struct {
	ID    string // "fig5"
	Kind  Kind
	Title string
	Run   func(*Bench) (*Figure, error)
}

// Figure is a part's data: a row a model, a column a setting.
type Figure struct {
	ID      string     `json:"id"`
	Kind    Kind       `json:"kind"`
	Title   string     `json:"title"`
	Unit    string     `json:"unit"` // of cells; "" where columns have their own
	X       string     `json:"x"`    // what columns differ by
	Columns []string   `json:"columns"`
	Rows    []Row      `json:"rows"`
	Beside  []Quantity `json:"published,omitempty"`
	Notes   []string   `json:"notes,omitempty"`
}

// Row is one line of a figure, a cell a column.
type Row struct {
	Name  string  `json:"name"`
	Cells []Value `json:"cells"`
}

// Value is a mean over seeds with its interval.
type Value struct {
	Value compare.Number   `json:"value"`
	CI95  compare.Interval `json:"ci95"`
}

// ValueOf is an estimate as a Value.
func ValueOf(e stats.Estimate) Value {
	return Value{compare.Number(e.Value), compare.Interval{e.Lo, e.Hi}}
}

// Quantity is one number that the paper states, and ours.
type Quantity struct {
	What      string `json:"what"`
	Model     string `json:"model"`
	Unit      string `json:"unit"`
	Published string `json:"published"`
	Value
}

// Verdict is how a criterion came out.
type Verdict string

// Verdicts. Direction: the sign or order is shown, the size or all of the order
// is not.
const (
	Holds       Verdict = "holds"
	Direction   Verdict = "direction"
	Fails       Verdict = "fails"
	NotTestable Verdict = "not testable"
)

// Rule is a criterion that can be judged.
type Rule struct {
	ID        string
	Parts     []string // that show its data
	Own       bool     // ours, not a claim of the paper
	Text      string
	Published string
	Unit      string
	Judge     func(*Bench) (Judgement, error)
}

// Judgement is what a rule came to.
type Judgement struct {
	Ours    stats.Estimate
	Verdict Verdict
	Note    string // why
}

// Criterion is a rule with its judgement.
type Criterion struct {
	ID        string           `json:"id"`
	Parts     []string         `json:"parts"`
	Text      string           `json:"text"`
	Published string           `json:"published"`
	Ours      compare.Number   `json:"ours"`
	CI95      compare.Interval `json:"ci95"`
	Unit      string           `json:"unit"`
	Verdict   Verdict          `json:"verdict"`
	Note      string           `json:"note"`
}

// Report is a paper's tables beside ours. Its JSON keys are stable.
type Report struct {
	Paper  string `json:"paper"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Seed   uint64 `json:"seed"`
	Seeds  int    `json:"seeds"`
	// Criteria are the paper's claims, Findings rules of our own.
	Criteria []Criterion `json:"criteria"`
	Findings []Criterion `json:"findings"`
	Figures  []*Figure   `json:"figures"`
	Setup    []Choice    `json:"setup"`
	Open     []Choice    `json:"open"`
	Live     *LiveTable  `json:"live,omitempty"`
}

// ErrUnknown is that a paper has no part of a name.
var ErrUnknown = errors.New("no such figure")

// Options say what of a paper to work out.
type Options struct {
	// Parts are ids of parts or rules; none: all.
	Parts    []string
	Seed     uint64
	Seeds    int // how many to simulate
	Workers  int // simulations at a time
	Progress func(Progress)
}

// Progress is how far the work is.
type Progress struct {
	Part       string
	Simulated  int // runs so far
	Parts, All int // parts and rules done, of all
}

// Run works out a paper's parts and judges its rules.
func (p *Paper) Run(ctx context.Context, o Options) (*Report, error) {
	parts, rules, err := p.choose(o.Parts)
	if err != nil {
		return nil, err
	}
	if o.Seeds < 2 {
		return nil, fmt.Errorf("%d seeds: intervals take 2 or more", o.Seeds)
	}
	b := newBench(ctx, o)
	r := &Report{
		Paper: p.Name, Title: p.Title, Source: p.Source, Seed: o.Seed, Seeds: o.Seeds, Setup: p.Setup, Open: p.Open,
		Criteria: []Criterion{}, Findings: []Criterion{}, Figures: []*Figure{},
	}
	all := len(parts) + len(rules)
	tell := func(what string, done int) {
		if o.Progress != nil {
			o.Progress(Progress{what, b.simulated(), done, all})
		}
	}
	for i, part := range parts {
		tell(part.ID, i)
		f, err := part.Run(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.ID, err)
		}
		f.ID, f.Kind, f.Title = part.ID, part.Kind, part.Title
		r.Figures = append(r.Figures, f)
	}
	for i, rule := range rules {
		tell(rule.ID, len(parts)+i)
		j, err := rule.Judge(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rule.ID, err)
		}
		c := Criterion{
			ID: rule.ID, Parts: rule.Parts, Text: rule.Text, Published: rule.Published, Unit: rule.Unit,
			Ours: compare.Number(j.Ours.Value), CI95: compare.Interval{j.Ours.Lo, j.Ours.Hi}, Verdict: j.Verdict, Note: j.Note,
		}
		if rule.Own {
			r.Findings = append(r.Findings, c)
		} else {
			r.Criteria = append(r.Criteria, c)
		}
	}
	tell("done", all)
	return r, nil
}

// choose are the parts with the ids, and the rules that they show the data of.
func (p *Paper) choose(ids []string) (parts []Part, rules []Rule, err error) {
	if len(ids) == 0 {
		return p.Parts, p.Rules, nil
	}
	wanted := map[string]bool{}
	for _, id := range ids {
		known := slices.ContainsFunc(p.Parts, func(x Part) bool { return x.ID == id })
		wanted[id] = known
		for _, r := range p.Rules {
			if strings.EqualFold(r.ID, id) {
				known, wanted[r.ID] = true, true
			}
		}
		if !known {
			return nil, nil, fmt.Errorf("%w: %q in paper %s; there are %s", ErrUnknown, id, p.Name, strings.Join(p.ids(), ", "))
		}
	}
	for _, x := range p.Parts {
		if wanted[x.ID] {
			parts = append(parts, x)
		}
	}
	for _, r := range p.Rules {
		if wanted[r.ID] || slices.ContainsFunc(r.Parts, func(id string) bool { return wanted[id] }) {
			rules = append(rules, r)
		}
	}
	return parts, rules, nil
}

func (p *Paper) ids() []string {
	var list []string
	for _, x := range p.Parts {
		list = append(list, x.ID)
	}
	for _, r := range p.Rules {
		list = append(list, r.ID)
	}
	return list
}
