package paper

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"heddle/harness/sched"
	"heddle/harness/stats"
)

// Data gives figures and claims the simulations of a paper in one reading. The
// first error is kept: after it all results are empty.
type Data struct {
	paper   *Paper
	bench   *bench
	reading Reading
	values  map[string]string // by the names that axes set: those of the reading, and those fixed by the user
	setup   Setting
	inPlace *Scheduler // control in the claimant's place; nil: the claimant itself
	asked   bool       // whether the claimant's results were asked for
	seen    *[]seen    // what was simulated, for the rows of Report.Rows; shared by the controls' Data
	// episodes are the numbers of training episodes of all readings that are
	// computed together, by the rule of training that they share.
	episodes map[string][]int
	grids    map[string]*Grid // of one scheduler in a design, for formulas
	lacking  map[string]bool  // figures that a simulation which was asked for them does not note
	err      error
}

// seen is a scheduler in one column of a design.
type seen struct {
	design, column string
	scheduler      Scheduler
	trials         []Simulation
}

// data returns the Data of a reading, in which the values in fixed replace the
// reading's. The argument beside has other readings that are computed too.
func (p *Paper) data(b *bench, r Reading, fixed map[string]string, beside []Reading) (*Data, error) {
	d := &Data{
		paper: p, bench: b, reading: r, values: p.values(r, fixed), setup: p.Setup, seen: &[]seen{},
		episodes: map[string][]int{}, grids: map[string]*Grid{}, lacking: map[string]bool{},
	}
	_, staged := p.Setup.(Staged)
	for _, key := range slices.Sorted(maps.Keys(d.values)) {
		value := d.values[key]
		model, param, isParam := strings.Cut(key, ".")
		var err error
		switch {
		case isParam:
			for _, of := range strings.Split(model, "+") {
				err = cmp.Or(err, p.checkParam(of, param, value))
			}
		case key == Offering && staged:
			err = checkOffering(value)
		case key == Training && staged:
			_, err = assignmentMs(value)
		default:
			if d.setup, err = d.setup.With(key, value); err != nil {
				err = fmt.Errorf("set %s=%s: %w: %w", key, value, err, ErrUnknown)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, x := range append(beside, r) {
		rule, n, ok := trainingRule(p.values(x, fixed), d.claimant().Model)
		if ok && !slices.Contains(d.episodes[rule], n) {
			d.episodes[rule] = append(d.episodes[rule], n)
		}
	}
	return d, nil
}

func (p *Paper) values(r Reading, fixed map[string]string) map[string]string {
	values := p.printed()
	maps.Copy(values, r.Set)
	maps.Copy(values, fixed)
	return values
}

// checkParam returns an error if no scheduler of the paper has the parameter, or
// the value is not one of the parameter's.
func (p *Paper) checkParam(model, param, value string) error {
	known := []string{}
	for _, s := range slices.Concat(p.Schedulers, p.Controls) {
		if s.Label == model {
			model = s.Model
		}
		if s.Model == model {
			if _, staged := p.Setup.(Staged); param == splitsParam && staged {
				return nil
			}
			if err := p.check(Scheduler{Model: model, Params: sched.Params{param: value}}); err != nil {
				return fmt.Errorf("set %s.%s=%s: %w: %w", model, param, value, err, ErrUnknown)
			}
			return nil
		}
		if !slices.Contains(known, s.Model) {
			known = append(known, s.Model)
		}
	}
	return fmt.Errorf("set %s.%s: %w: paper %s has the models %s", model, param, ErrUnknown, p.Name, strings.Join(known, ", "))
}

// trainingRule returns a text of all values but the number of episodes, which
// is equal for readings that one training can serve.
func trainingRule(values map[string]string, model string) (rule string, episodes int, ok bool) {
	rest := maps.Clone(values)
	n, ok := episodesOf(rest[model+".episodes"])
	for _, key := range []string{model + ".episodes", model + "." + splitsParam, Offering, Training} {
		delete(rest, key)
	}
	return fmt.Sprint(rest), n, ok
}

// differs returns the values of the reading that differ from those as printed.
func (d *Data) differs() map[string]string {
	set, printed := map[string]string{}, d.paper.printed()
	for key, value := range d.values {
		if printed[key] != value {
			set[key] = value
		}
	}
	return set
}

func (d *Data) claimant() Scheduler {
	for _, s := range d.paper.Schedulers {
		if s.Label == d.paper.Claimant {
			return s
		}
	}
	return Scheduler{}
}

// with returns the same data with a control in the claimant's place.
func (d *Data) with(control *Scheduler) *Data {
	c := *d
	c.inPlace, c.asked, c.grids = control, false, map[string]*Grid{}
	return &c
}

// notNoted returns the figures of formulas that no simulation notes.
func (d *Data) notNoted() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(d.lacking)) {
		noted := false
		for x, i := range d.all() {
			_, has := x.trials[i].Notes[name]
			noted = noted || has
		}
		if !noted {
			names = append(names, name)
		}
	}
	return names
}

func (d *Data) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// scheduler returns the scheduler that a label means, with the parameters that
// the reading gives its model.
func (d *Data) scheduler(label string) Scheduler {
	s := Scheduler{}
	if label == d.paper.Claimant {
		d.asked = true
	}
	if label == d.paper.Claimant && d.inPlace != nil {
		s = *d.inPlace
	} else if list := slices.Concat(d.paper.Schedulers, d.paper.Controls); slices.ContainsFunc(list, func(s Scheduler) bool {
		return s.Label == label
	}) {
		s = list[slices.IndexFunc(list, func(s Scheduler) bool { return s.Label == label })]
	} else {
		d.fail(fmt.Errorf("paper %s has no scheduler %q", d.paper.Name, label))
		return s
	}
	params := maps.Clone(s.Params)
	if params == nil {
		params = sched.Params{}
	}
	for _, own := range []bool{false, true} { // what is set by the label goes before what is set by the model
		for _, key := range slices.Sorted(maps.Keys(d.values)) {
			of, param, ok := strings.Cut(key, ".")
			if ok && (own && of == s.Label || !own && slices.Contains(strings.Split(of, "+"), s.Model)) {
				params[param] = d.values[key]
			}
		}
	}
	s.Params = params
	return s
}

// Grid returns the simulations of schedulers in the columns of a design.
func (d *Data) Grid(design string, labels ...string) *Grid {
	g := &Grid{cells: map[string][][]Simulation{}}
	i := slices.IndexFunc(d.paper.Designs, func(x Design) bool { return x.ID == design })
	if i < 0 {
		d.fail(fmt.Errorf("paper %s has no design %q", d.paper.Name, design))
	}
	if d.err != nil {
		return g
	}
	x := d.paper.Designs[i]
	g.X = x.X
	var cases []Case
	for _, c := range x.Columns {
		g.Columns = append(g.Columns, c.Name)
	}
	for _, label := range labels {
		for _, c := range x.Columns {
			cases = append(cases, d.newCase(label, c))
		}
	}
	if d.err != nil {
		return g
	}
	trials, err := d.bench.trials(cases)
	if err != nil {
		d.fail(err)
		return g
	}
	for k, label := range labels {
		g.cells[label] = trials[k*len(x.Columns):][:len(x.Columns)]
		for c := range x.Columns {
			*d.seen = append(*d.seen, seen{x.ID, x.Columns[c].Name, cases[k*len(x.Columns)].Scheduler, g.cells[label][c]})
		}
	}
	return g
}

// gridOf is Grid for one scheduler, whose result is kept: formulas ask for it often.
func (d *Data) gridOf(design, label string) *Grid {
	d.asked = d.asked || label == d.paper.Claimant
	name := design + "\n" + label
	if d.grids[name] == nil {
		d.grids[name] = d.Grid(design, label)
	}
	return d.grids[name]
}

// newCase returns the case of a scheduler in one column of a design.
func (d *Data) newCase(label string, column Column) Case {
	c := Case{Setting: d.setup, Scheduler: d.scheduler(label), Offering: d.values[Offering]}
	var err error
	if c.Setting, err = withAll(c.Setting, column.Set); err != nil {
		d.fail(fmt.Errorf("design column %q: %w", column.Name, err))
		return c
	}
	if x, ok := c.Setting.(Leaver); ok {
		c.Scheduler.Set = maps.Clone(c.Scheduler.Set)
		maps.DeleteFunc(c.Scheduler.Set, func(name, _ string) bool { return x.Leaves(name) })
	}
	if c.Setting, err = withAll(c.Setting, c.Scheduler.Set); err != nil {
		d.fail(fmt.Errorf("scheduler %q: %w", label, err))
		return c
	}
	if takes(c.Scheduler.Model, "episodes") {
		c.AssignmentMs, _ = assignmentMs(d.values[Training])
		rule, _, _ := trainingRule(d.values, c.Scheduler.Model)
		c.Episodes = d.episodes[rule]
	}
	return c
}

// withAll returns a setting with properties changed.
func withAll(x Setting, set map[string]string) (Setting, error) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		var err error
		if x, err = x.With(name, set[name]); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, set[name], err)
		}
	}
	return x, nil
}

// Grid has simulations of schedulers in the columns of a design.
type Grid struct {
	X       string
	Columns []string
	cells   map[string][][]Simulation
}

// Column returns the name of a column, "" if there is none.
func (g *Grid) Column(k int) string {
	if k >= len(g.Columns) {
		return ""
	}
	return g.Columns[k]
}

// at returns the simulations of a scheduler in the given columns, all columns if
// none are given.
func (g *Grid) at(label string, columns []int) [][]Simulation {
	cells := g.cells[label]
	if len(columns) == 0 || len(cells) == 0 {
		return cells
	}
	var list [][]Simulation
	for _, k := range columns {
		if k < len(cells) { // it may be a column of another design
			list = append(list, cells[k])
		}
	}
	return list
}

// Shares returns a rate of a scheduler over the given columns together (all if
// none are given), one value for each seed.
func (g *Grid) Shares(label string, of Rate, columns ...int) []stats.Share {
	var sum []stats.Share
	for _, trials := range g.at(label, columns) {
		if sum == nil {
			sum = make([]stats.Share, len(trials))
		}
		for i, x := range each(trials, of) {
			sum[i] = sum[i].Plus(x)
		}
	}
	return sum
}

// Seconds returns the mean time of a scheduler's jobs over the given columns
// (all if none are given), one value for each seed.
func (g *Grid) Seconds(label string, columns ...int) []float64 {
	return g.Mean(label, func(s *Simulation) float64 { return s.Seconds }, columns...)
}

// Mean returns the mean of a number over the given columns (all if none are
// given), one value for each seed.
func (g *Grid) Mean(label string, of func(*Simulation) float64, columns ...int) []float64 {
	var sum []float64
	cells := g.at(label, columns)
	for _, trials := range cells {
		if sum == nil {
			sum = make([]float64, len(trials))
		}
		for i, x := range each(trials, of) {
			sum[i] += x / float64(len(cells))
		}
	}
	return sum
}

// Saved returns by how many percent the times b are below the times a, as the
// geometric mean over pairs of the same seed.
func Saved(a, b []float64) stats.Estimate {
	r := stats.PairedRatio(a, b).Estimate
	r.Value, r.Lo, r.Hi = 100*(1-r.Value), 100*(1-r.Hi), 100*(1-r.Lo)
	return r
}

// KthSaved returns in which column the time that scheduler b saves against a is the
// k-th largest (from 1 on), and how large it is. Its interval knows that the column
// was picked for its value: it follows from intervals that hold for all columns
// together.
func (g *Grid) KthSaved(k int, a, b string) (column int, e stats.Estimate) {
	var list []stats.Comparison
	for c := range g.Columns {
		list = append(list, stats.PairedRatio(g.Seconds(b, c), g.Seconds(a, c)))
	}
	var speeds []stats.Estimate
	for _, c := range stats.Together(list) {
		speeds = append(speeds, c.Estimate)
	}
	e = stats.KthLargest(k, speeds)
	column = slices.IndexFunc(speeds, func(x stats.Estimate) bool { return x.Value == e.Value })
	bounded := e.Bounded() && e.Lo > 0
	e.Value, e.Lo, e.Hi = 100*(1-1/e.Value), 100*(1-1/e.Lo), 100*(1-1/e.Hi)
	if !bounded { // no bounds of a ratio are none of what is saved
		e.Lo, e.Hi = math.Inf(-1), math.Inf(1)
	}
	return column, e
}

// More returns by how many percentage points the shares b are above the shares
// a, as the mean over pairs of the same seed.
func More(a, b []stats.Share) stats.Estimate { return stats.PairedShareDifference(a, b).Estimate }

// Numbers are the numbers that the paper states.
func (d *Data) Numbers() Numbers { return d.paper.Numbers }

// Stated returns a number that the paper states, not a number if it states none.
func (d *Data) Stated(figure, row, column string) float64 {
	return d.paper.Numbers.Value(figure, row, column)
}

// Exactly returns a value that is proven, as an estimate without error.
func Exactly(x float64) stats.Estimate { return stats.Estimate{Value: x, Lo: x, Hi: x} }

// Times returns the mean of b divided by the mean of a, for pairs of the same
// seed, with Fieller's interval. How many times nothing, or less than nothing,
// something is, is not known.
func Times(a, b []float64) stats.Estimate { return stats.PairedRatioOfMeans(a, b) }

// Percents returns shares in percent.
func Percents(shares []stats.Share) []float64 {
	xs := make([]float64, len(shares))
	for i, s := range shares {
		xs[i] = s.Percent()
	}
	return xs
}

// Given returns the mean of a share that the set-up fixes, such as that of
// cached blocks. If it is the same with every seed, its interval has no width.
func Given(shares []stats.Share) stats.Estimate {
	e := stats.MeanShare(shares)
	if len(shares) > 0 && !slices.ContainsFunc(shares, func(s stats.Share) bool { return s.Percent() != shares[0].Percent() }) {
		e.Lo, e.Hi = e.Value, e.Value
	}
	return e
}

// errNoCases is the error of a part or claim that asks for nothing.
var errNoCases = errors.New("it compares nothing")
