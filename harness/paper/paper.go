// Package paper compares what a published paper says of a scheduler with what
// the simulator, or a run on a cluster, says of the same scheduler model.
//
// A Paper has parts and rules. A part is a figure or table of the paper, a
// finding of our own, or the sensitivity to what the paper does not specify. A
// rule judges a claim. All parts share one Bench, which simulates each case
// once for each seed. The experiments of each paper are in a package below this
// one. The scheduler models are in package sched. Numbers are not read off
// printed curves.
//
// Words:
//
//	setting    a cluster and its jobs
//	case       a scheduler model in a setting
//	criterion  a claim of the paper with its verdict
//	finding    a statement of our own, judged in the same way
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

// Paper contains the experiments of one published paper.
type Paper struct {
	Name   string // name of the paper in the command "heddle paper NAME"
	Title  string
	Source string // the paper's authors, where and when it was published
	Setup  []Choice
	Open   []Choice
	Parts  []Part
	Rules  []Rule
	Live   *Live // the paper's experiment on a real cluster; nil if there is none
}

// Choice is one property of the simulated set-up, such as the size of a block.
// Its value is as the paper says, or chosen here because the paper does not
// say.
type Choice struct {
	Item  string `json:"item"`
	Taken string `json:"taken"`
	Why   string `json:"why,omitempty"`
}

// Kind says where a part of the comparison (a figure or table) comes from: the
// paper or us.
type Kind string

// Kinds of a comparison's parts (figures and tables): from the paper, or our
// own.
const (
	Published   Kind = "published" // a figure or table of the paper
	Finding     Kind = "finding"   // a figure or table for a finding of our own
	Sensitivity Kind = "sensitivity"
)

// Part is a figure or table of the comparison. Its function Run computes it.
type Part struct {
	ID    string // id of the part, such as "fig5"
	Kind  Kind
	Title string
	Run   func(*Bench) (*Figure, error)
}

// Figure contains the data of a figure or table, with one row for each
// scheduler model and one column for each setting.
type Figure struct {
	ID      string     `json:"id"`
	Kind    Kind       `json:"kind"`
	Title   string     `json:"title"`
	Unit    string     `json:"unit"` // unit of all cells; "" if columns have different units
	X       string     `json:"x"`    // what differs between the columns, such as "block size"
	Columns []string   `json:"columns"`
	Rows    []Row      `json:"rows"`
	Beside  []Quantity `json:"published,omitempty"`
	Notes   []string   `json:"notes,omitempty"`
}

// Row is one row of a figure, with one cell for each column.
type Row struct {
	Name  string  `json:"name"`
	Cells []Value `json:"cells"`
}

// Value is a mean over seeds with its 95 % confidence interval.
type Value struct {
	Value compare.Number   `json:"value"`
	CI95  compare.Interval `json:"ci95"`
}

// ValueOf converts an estimate with its confidence interval to a Value, the
// form that reports use.
func ValueOf(e stats.Estimate) Value {
	return Value{compare.Number(e.Value), compare.Interval{e.Lo, e.Hi}}
}

// Quantity is one number that the paper states, with our value for the same.
type Quantity struct {
	What      string `json:"what"`
	Model     string `json:"model"`
	Unit      string `json:"unit"`
	Published string `json:"published"`
	Value
}

// Verdict says whether a claim of the paper was confirmed by our results.
type Verdict string

// Verdicts on a claim. Direction means that the claim's sign, or part of its
// order, is confirmed, but not its size or the whole order.
const (
	Holds       Verdict = "holds"
	Direction   Verdict = "direction"
	Fails       Verdict = "fails"
	NotTestable Verdict = "not testable"
)

// Rule is a claim together with the function that judges it.
type Rule struct {
	ID        string
	Parts     []string // ids of the figures and tables that show the data by which the claim is judged
	Own       bool     // whether the claim is our own and not the paper's
	Text      string
	Published string
	Unit      string
	Judge     func(*Bench) (Judgement, error)
}

// Judgement is the result of judging a claim.
type Judgement struct {
	Ours    stats.Estimate
	Verdict Verdict
	Note    string // reason for the verdict in words
}

// Criterion is a claim with the result of judging it.
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

// Report contains the paper's tables beside ours, and the verdicts on its
// claims. Other programs may rely on its JSON keys.
type Report struct {
	Paper  string `json:"paper"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Seed   uint64 `json:"seed"`
	Seeds  int    `json:"seeds"`
	// Criteria are the paper's claims with their verdicts. Findings are
	// statements of our own, judged in the same way.
	Criteria []Criterion `json:"criteria"`
	Findings []Criterion `json:"findings"`
	Figures  []*Figure   `json:"figures"`
	Setup    []Choice    `json:"setup"`
	Open     []Choice    `json:"open"`
	Live     *LiveTable  `json:"live,omitempty"`
}

// ErrUnknown says that a paper has no part (figure or table) or rule with a
// given id.
var ErrUnknown = errors.New("no such part or rule")

// Options say which figures, tables and claims of a paper to compute, and with
// how many seeds.
type Options struct {
	// Parts are the ids of the figures, tables and claims to compute; empty
	// means all.
	Parts    []string
	Seed     uint64
	Seeds    int // number of seeds; each case (scheduler model in a setting) is simulated once with each
	Workers  int // number of simulations that may run at the same time
	Progress func(Progress)
}

// Progress says how much of a paper's experiments is done.
type Progress struct {
	Part       string
	Simulated  int // number of simulations done so far
	Parts, All int // number of parts and rules of the paper that are done, and of all of them
}

// Run computes the figures and tables of a paper and judges its claims.
func (p *Paper) Run(ctx context.Context, o Options) (*Report, error) {
	parts, rules, err := p.choose(o.Parts)
	if err != nil {
		return nil, err
	}
	if o.Seeds < 2 {
		return nil, fmt.Errorf("%d seeds: an interval needs 2 or more", o.Seeds)
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

// choose returns the parts (figures, tables) and rules (claims) with the given
// ids. It also returns the rules that judge the data of a chosen part.
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
			return nil, nil, fmt.Errorf("%w: %q in paper %s, which has %s", ErrUnknown, id, p.Name, strings.Join(p.ids(), ", "))
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
