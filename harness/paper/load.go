package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/stats"
)

// Program is what a paper has besides its files: the set-up, and what no formula says. A paper
// that is files alone has a Testbed.
type Program struct {
	Setup     Setting
	Figures   map[string]func(*Simulation) float64                  // figures for formulas
	Effects   map[string]func(*Data) []Effect                       // of claims
	Estimates map[string]func(d *Data, label string) stats.Estimate // of measures, and of published numbers with their label
	Compute   map[string]func(*Data) ([]string, []FigureRow)        // of figures, as Part.Compute
	Explain   map[string]func(*Data) string                         // what $name stands for in what explains the results
}

// Files are the names of a paper's files: what it says and how it is read, and its numbers.
const (
	PaperFile   = "paper.yaml"
	NumbersFile = "published.csv"
)

// Must is Load for files that are part of the program.
func Must(files fs.FS, c Program) *Paper {
	p, err := Load(files, c)
	if err != nil {
		panic(err)
	}
	return p
}

// Load reads a paper from its files. Other YAML files beside them are experiments for a cluster.
func Load(files fs.FS, c Program) (*Paper, error) {
	f, err := readPaperFile(files)
	if err != nil {
		return nil, fmt.Errorf("read paper: %s: %w", PaperFile, err)
	}
	published, err := files.Open(NumbersFile)
	if err != nil {
		return nil, fmt.Errorf("read paper %s: %w", f.Name, err)
	}
	defer published.Close()
	numbers, err := readNumbers(NumbersFile, published)
	if err != nil {
		return nil, fmt.Errorf("read paper %s: %w", f.Name, err)
	}
	p := &Paper{
		Name: f.Name, Title: f.Title, Source: f.Source, Claimant: f.Claimant, Bars: f.Bars, Sized: f.Sized,
		Setup: c.Setup, Figures: c.Figures, Numbers: numbers, Experiments: experiments{files},
	}
	l := &loader{Paper: p, code: &c}
	if c.Setup == nil {
		if p.Setup, err = withAll(testbed, f.Setup); err != nil {
			return nil, fmt.Errorf("read paper %s: setup: %w", f.Name, err)
		}
	}
	l.words(f)
	if l.check(f); l.err != nil {
		return nil, l.err
	}
	for _, x := range f.Figures {
		l.at = x.ID
		p.Parts = append(p.Parts, l.part(&x))
	}
	for _, x := range f.Claims {
		l.at = x.ID
		p.Claims = append(p.Claims, l.claim(&x))
	}
	for _, x := range f.Measures {
		l.at = x.Name
		p.Measures = append(p.Measures, Measure{x.Name, x.Unit, l.estimate(x.Is, x.Go, x.In, ""), x.OfSetup})
	}
	if f.Explain != "" {
		p.Explain = func(d *Data) string {
			text := f.Explain
			for name, of := range c.Explain {
				says := of(d)
				if says == "" {
					return ""
				}
				text = strings.ReplaceAll(text, "$"+name, says)
			}
			return d.Filled(text)
		}
	}
	if l.err == nil && c.Setup == nil {
		l.at = "the paper"
		l.fail(p.dry())
	}
	return p, l.err
}

// dry says what is wrong with names and values of a paper: it computes all of it, in each value of each
// axis, and simulates nothing.
func (p *Paper) dry() error {
	o := Options{Seeds: 2, Simulate: func(Case, uint64) (Simulation, error) { return Simulation{}, nil }}
	_, err := p.Run(context.Background(), o)
	if err == nil {
		_, err = p.Matrix(context.Background(), o, Vary{Screen: true})
	}
	return err
}

// experiments are a paper's files but those that Load reads.
type experiments struct{ fs.FS }

func (x experiments) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(x.FS, name)
	own := func(f fs.DirEntry) bool { return f.Name() == PaperFile || f.Name() == NumbersFile }
	return slices.DeleteFunc(list, own), err
}

// loader makes a paper of its file. It keeps the first error.
type loader struct {
	*Paper
	code *Program
	at   string // the figure, claim or measure that is read
	err  error
}

func (l *loader) fail(err error) {
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("read paper %s: %s: %w", l.Name, l.at, err)
	}
}

// words fills in what needs no formula.
func (l *loader) words(f *paperFile) {
	for _, x := range f.Facts {
		x = append(x, "", "")
		l.Facts = append(l.Facts, Fact{x[0], x[1], x[2]})
	}
	for _, x := range f.NotJudged {
		x = append(x, "", "")
		l.NotJudged = append(l.NotJudged, NotJudged{l.filled(x[0]), l.filled(x[1])})
	}
	l.Schedulers = f.Schedulers
	for _, x := range f.Controls {
		if i := slices.IndexFunc(l.Schedulers, func(s Scheduler) bool { return s.Label == x.Label }); i >= 0 && x.Model == "" {
			x = l.Schedulers[i]
		}
		l.Controls = append(l.Controls, x)
	}
	for _, x := range f.Axes {
		a := Axis{Name: x.Name, Sets: x.Sets, About: x.About, Alone: x.Alone, Chosen: x.Chosen}
		if x.Cost {
			a.Of = Cost
		}
		for _, v := range x.Values {
			v = append(v, "", "")
			a.Values = append(a.Values, Value{v[0], Mark(v[1]), v[2]})
		}
		l.Axes = append(l.Axes, a)
	}
	for _, x := range f.Readings {
		l.Readings = append(l.Readings, Reading{x.Key, x.Value})
	}
	for _, x := range f.Designs {
		d := Design{ID: x.ID, X: x.X}
		like := l.design(x.Like)
		if l.at = "design " + x.ID; x.Like != "" && like == nil {
			l.fail(fmt.Errorf("like %q: %w among those above it", x.Like, ErrUnknown))
		}
		if like != nil {
			d.X = cmp.Or(d.X, like.X)
			for _, c := range like.Columns {
				d.Columns = append(d.Columns, Column{c.Name, merged(c.Set, x.Set)})
			}
		}
		for _, c := range x.Columns {
			d.Columns = append(d.Columns, Column{c.Key, merged(x.Set, c.Value)})
		}
		l.Designs = append(l.Designs, d)
	}
}

func merged(a, b map[string]string) map[string]string {
	set := map[string]string{}
	maps.Copy(set, a)
	maps.Copy(set, b)
	return set
}

func (p *Paper) design(id string) *Design {
	if i := slices.IndexFunc(p.Designs, func(x Design) bool { return x.ID == id }); i >= 0 {
		return &p.Designs[i]
	}
	return nil
}

// filled returns a text in which each {figure; row; column; column} is what the paper states.
func (l *loader) filled(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		in, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return b.String() + text
		}
		parts := append(strings.Split(in, "; "), "", "")
		stated := l.Numbers.Text(parts[0], parts[1], parts[2:max(3, len(parts)-2)]...)
		if strings.Contains(stated, unstated) {
			l.fail(fmt.Errorf("%s states not all of {%s}", NumbersFile, in))
		}
		b.WriteString(before + stated)
		text = after
	}
}

func (l *loader) part(x *figureFile) Part {
	p := Part{
		ID: x.ID, Title: l.filled(x.Title), Design: x.Design, Schedulers: x.Schedulers, Unit: x.Unit, Kind: x.Kind, Of: x.Of, X: x.X,
	}
	for _, note := range x.Notes {
		p.Notes = append(p.Notes, l.filled(note))
	}
	if x.Go != "" {
		if p.Compute = l.code.Compute[x.Go]; p.Compute == nil {
			l.fail(fmt.Errorf("no figure %q in the paper's code", x.Go))
		}
	}
	for _, r := range x.Rows {
		for _, each := range bindings(r.Each) {
			with := strings.NewReplacer(each...)
			row := Row{Suffix: with.Replace(r.Row), Is: with.Replace(r.Is), Once: r.Once}
			_, err := row.formula()
			l.fail(err)
			p.Rows = append(p.Rows, row)
		}
	}
	for _, q := range x.Published {
		for _, each := range bindings(q.Each) {
			for _, label := range q.For {
				with := strings.NewReplacer(append(each, "$s", label)...)
				p.Published = append(p.Published, Published{
					with.Replace(q.What), label, q.Unit, l.estimate(with.Replace(q.Is), q.Go, x.Design, label),
				})
			}
		}
	}
	return p
}

func (l *loader) formula(text string) *formula {
	f, err := parseFormula(text)
	l.fail(err)
	return f
}

// estimate returns what a formula gives, or else a function of the paper's code.
func (l *loader) estimate(is, code, design, label string) func(*Data) stats.Estimate {
	if code != "" {
		of := l.code.Estimates[code]
		if of == nil {
			l.fail(fmt.Errorf("no estimate %q in the paper's code", code))
		}
		return func(d *Data) stats.Estimate { return of(d, label) }
	}
	f := l.formula(is)
	return func(d *Data) stats.Estimate { return (&scope{d, design, strings.NewReplacer()}).estimate(f) }
}

func (l *loader) claim(x *claimFile) Claim {
	c := Claim{ID: x.ID, Kind: x.Kind, Text: l.filled(x.Text), Published: l.filled(x.Published), Parts: x.Figures}
	var asked []func(*Data, string) Effect
	for _, e := range x.Asks {
		asked = append(asked, l.effects(e, x.In)...)
	}
	c.Effects = func(d *Data) (list []Effect) {
		for _, of := range asked {
			list = append(list, of(d, ""))
		}
		return list
	}
	if x.Go != "" {
		if c.Effects = l.code.Effects[x.Go]; c.Effects == nil {
			l.fail(fmt.Errorf("no effects %q in the paper's code", x.Go))
		}
	}
	if of := c.Effects; x.Gaining != nil {
		gain := l.one(x.Gaining, x.In)
		c.Effects = func(d *Data) []Effect { return Gaining(gain(d, ""), of(d)...) }
	}
	if of := c.Effects; x.LeastFirst {
		c.Effects = func(d *Data) []Effect {
			return slices.SortedStableFunc(slices.Values(of(d)), func(a, b Effect) int { return cmp.Compare(a.Value, b.Value) })
		}
	}
	if x.Beats != nil {
		c.Beats = l.one(x.Beats, x.In)
	}
	return c
}

// bindings are what stands for $1, $2 and so on, in each of a list's elements.
func bindings(each []any) (list [][]string) {
	if len(each) == 0 {
		return [][]string{nil}
	}
	for _, e := range each {
		row, ok := e.([]any)
		if !ok {
			row = []any{e}
		}
		var with []string
		for i, x := range row {
			with = append(with, fmt.Sprint("$", i+1), fmt.Sprint(x))
		}
		list = append(list, with)
	}
	return list
}

// one returns the function of an effect that is not for each of a list.
func (l *loader) one(x *effectFile, design string) func(*Data, string) Effect {
	list := l.effects(*x, design)
	if len(list) > 1 {
		l.fail(errors.New("beats and gaining are one effect: want no each"))
	}
	return list[0]
}

// effects returns the functions of an effect's bindings, of the data and the bar.
func (l *loader) effects(x effectFile, design string) (list []func(*Data, string) Effect) {
	for _, each := range bindings(x.Each) {
		with := strings.NewReplacer(each...)
		y := x
		for _, text := range []*string{&y.What, &y.Unit, &y.Is, &y.In, &y.Room, &y.Why, &y.Third} {
			*text = with.Replace(*text)
		}
		y.In = cmp.Or(y.In, design)
		for _, words := range []*[]string{&y.Saves, &y.Above, &y.Rises, &y.Steadier, &y.At, &y.Near} {
			*words = replacedAll(with, *words)
		}
		if len(y.Near) == 2 {
			at, err := strconv.ParseFloat(y.Near[0], 64)
			l.fail(err)
			y.at, y.by = at, l.formula(y.Near[1])
		}
		if y.Third != "" {
			y.published = l.Numbers.Value(threeOf(y.Third))
			if y.Least = y.published / 3; math.IsNaN(y.Least) {
				l.fail(fmt.Errorf("third: %s has no number %q", NumbersFile, y.Third))
			}
		}
		list = append(list, l.effect(&y))
	}
	return list
}

func replacedAll(with *strings.Replacer, words []string) (list []string) {
	for _, w := range words {
		list = append(list, with.Replace(w))
	}
	return list
}

func (l *loader) effect(x *effectFile) func(*Data, string) Effect {
	if !x.spelt() {
		l.fail(fmt.Errorf("effect %q: want is: formula, or one of saves: [a, b], above: [rate, a, b], steadier: [rate, a, b] and "+
			"rises: [rate, scheduler, from, to], with a rate of maps; of within and near two values", x.What))
		return nil
	}
	if x.Most > 0 && x.Least > x.Most || len(x.Within) == 2 && x.Within[0] > x.Within[1] {
		l.fail(fmt.Errorf("effect %q: least %v, most %v, within %v: want the lower one first", x.What, x.Least, x.Most, x.Within))
	}
	is, room := l.formula(x.Is), (*formula)(nil)
	if x.Room != "" {
		room = l.formula(x.Room)
	}
	return func(d *Data, bar string) Effect {
		with := strings.NewReplacer("$bar", bar)
		s := &scope{d, x.In, with}
		e := Effect{
			What: with.Replace(x.What), Unit: with.Replace(x.Unit), Estimate: s.estimate(is),
			None: x.None, Least: cmp.Or(x.Least, x.None), Most: x.Most, Published: x.published,
		}
		if len(x.Within) == 2 {
			e.Band = [2]float64(x.Within)
		}
		if x.by != nil {
			by := s.estimate(x.by).Value
			e.Band = [2]float64{x.at - by, x.at + by}
		}
		if room == nil {
			return e
		}
		if most := s.estimate(room); !math.IsNaN(most.Value) {
			e.Room, e.RoomWhy = most, s.computed(with.Replace(x.Why))
		}
		return e
	}
}

// Filled returns a text in which each <formula> is its value; terms name their designs.
func (d *Data) Filled(text string) string {
	return (&scope{d, "", strings.NewReplacer()}).computed(text)
}

// computed returns a text in which each <formula> is its value, and each <± formula> also has its interval.
func (s *scope) computed(text string) string {
	for {
		before, rest, ok := strings.Cut(text, "<")
		in, after, closed := strings.Cut(rest, ">")
		if !ok || !closed {
			return text
		}
		in, interval := strings.CutPrefix(in, "±")
		f, err := parseFormula(in)
		if err != nil {
			s.d.fail(err)
			return text
		}
		e := s.estimate(f)
		value := fmt.Sprintf("%.1f", e.Value)
		if interval {
			value = Text(e, "")
		}
		text = before + value + after
	}
}
