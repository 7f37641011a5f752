package paper

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/stats"
	"heddle/traces"
)

// A formula says in a paper's file what is computed from simulations, such as
//
//	local[apps: CLQLMRS] - local[apps: FIFO]
//
// A term is a figure of a scheduler in columns of a design, one value for each seed:
// figure[design: scheduler; column; column]. The design may be left out where the place
// has one, and the columns where all are meant. Figures are those of shareOf and numberOf,
// those of the paper's code, and what models and set-ups note. A number may be {figure; row; column},
// which is one that the paper states. Terms are calculated with + - * / seed by seed.
//
// What stands outermost becomes an estimate: a - b is the mean of paired differences, a / b the
// ratio of means, and everything else a mean over seeds. Functions are in estimate and values.
type formula struct {
	op   string // "term", "number", an operator, or a function's name
	text string // of a term: its figure
	in   string // of a term: what stands in brackets
	x    float64
	args []*formula
}

// scope is where a formula is computed: the design that terms mean if they name none, and
// what stands for $bar, $s (a scheduler) and $c (a column).
type scope struct {
	d      *Data
	design string
	with   *strings.Replacer
}

// shareOf are the figures that are shares of maps.
var shareOf = map[string]Rate{
	"cache": CacheRate, "local": LocalRate, "cachedAnywhere": CachedShare, // on any node: no scheduler can have a higher "cache"
	// "rack" are the maps that ran in a rack that has their block, "all" all maps: no share can be higher.
	"rack": func(s *Simulation) stats.Share { return s.maps(int64(s.Locality.Known() - s.Locality.Off)) },
	"all":  func(s *Simulation) stats.Share { return s.maps(int64(s.Locality.Known())) },
}

// numberOf are the figures that are numbers.
var numberOf = map[string]func(*Simulation) float64{
	"time":  func(s *Simulation) float64 { return s.Seconds },
	"least": func(s *Simulation) float64 { return s.Least },
	// Where the time of a map went in the mean, in s: from its job's submission until it started; reading its input,
	// spread over all maps; computing with a core of its own, and what that took longer.
	"mapStart":    perMap(func(t *MapTimes) float64 { return t.BeforeStart }),
	"fromCache":   perMap(func(t *MapTimes) float64 { return t.Levels[traces.LevelCache].Read }),
	"fromDisk":    perMap(func(t *MapTimes) float64 { return t.Levels[traces.LevelNode].Read }),
	"overNetwork": perMap(func(t *MapTimes) float64 { return t.Levels[traces.LevelRack].Read + t.Levels[traces.LevelOff].Read }),
	"computing":   perMap(func(t *MapTimes) float64 { return t.Computing }),
	"forCores":    perMap(func(t *MapTimes) float64 { return t.all().Took - t.all().Read - t.Computing }),
	// How many maps read at once on a node that reads, and the share of cores that are busy while maps run.
	"readersAtOnce": func(s *Simulation) float64 { return s.Times.all().Read / s.Times.Reading },
	"coresBusy":     func(s *Simulation) float64 { return 100 * s.Times.Computing / s.Times.Cores },
	"remoteMs":      price(false, remote, local), "remotePct": price(true, remote, local),
	"uncachedMs": price(false, disk, cached), "uncachedPct": price(true, disk, cached),
}

// Estimate computes a formula, whose terms name their designs.
func (d *Data) Estimate(text string) stats.Estimate {
	f, err := parseFormula(text)
	if err != nil {
		d.fail(err)
		return nan()
	}
	return (&scope{d, "", strings.NewReplacer()}).estimate(f)
}

// estimate computes a formula over seeds.
func (s *scope) estimate(f *formula) (e stats.Estimate) {
	a := f.args
	switch f.op {
	case "saved": // by how many percent b is below a, as the geometric mean over seeds
		return Saved(s.values(a[0]), s.values(a[1]))
	case "savedEach": // the same where each column counts equally
		e = stats.Mean(s.logs(a[0], a[1]))
		e.Value, e.Lo, e.Hi = 100*(1-math.Exp(e.Value)), 100*(1-math.Exp(e.Hi)), 100*(1-math.Exp(e.Lo))
		return e
	case "less": // by how many percent the mean of b is below that of a
		e = Times(s.values(a[0]), s.values(a[1]))
		e.Value, e.Lo, e.Hi = 100*(1-e.Value), 100*(1-e.Hi), 100*(1-e.Lo)
		return e
	case "given": // a share that the set-up fixes
		return Given(s.shares(a[0]))
	case "minus": // an estimate turned round
		e = s.estimate(a[0])
		e.Value, e.Lo, e.Hi = -e.Value, -e.Hi, -e.Lo
		return e
	case "ofBoth":
		// a, whose interval has that of b in it too if the two have different signs: a then hangs
		// on what differs between them, and no number of seeds tells
		e = s.estimate(a[0])
		if other := s.estimate(a[1]); e.Hi < 0 && other.Lo > 0 || e.Lo > 0 && other.Hi < 0 {
			e.Lo, e.Hi, e.N = min(e.Lo, other.Lo), max(e.Hi, other.Hi), 1
		}
		return e
	case "mean": // over seeds, also of a difference
		return stats.Mean(s.values(a[0]))
	case "known": // the mean over the seeds that have a value
		return stats.Mean(slices.DeleteFunc(s.values(a[0]), math.IsNaN))
	case "oneMore": // with the interval of one more value, and not that of the mean
		e = stats.Mean(s.values(a[0]))
		wider := math.Sqrt(float64(e.N + 1))
		e.Lo, e.Hi = e.Value-(e.Value-e.Lo)*wider, e.Value+(e.Hi-e.Value)*wider
		return e
	case "steadier":
		return s.steadier(a[0], a[1])
	case "pairedRatio": // how many times a is b, as the geometric mean over seeds
		return stats.PairedRatio(s.values(a[1]), s.values(a[0])).Estimate
	}
	return s.combined(f)
}

// combined computes what is no function over seeds.
func (s *scope) combined(f *formula) stats.Estimate {
	switch {
	case f.isShare():
		return stats.MeanShare(s.shares(f))
	case f.op == "-" && f.args[0].isShare() && f.args[1].isShare():
		return More(s.shares(f.args[1]), s.shares(f.args[0]))
	case f.op == "-" && !f.args[0].constant() && !f.args[1].constant():
		return stats.PairedDifference(s.values(f.args[1]), s.values(f.args[0])).Estimate
	case f.op == "/" && !f.args[0].constant() && !f.args[1].constant():
		return Times(s.values(f.args[1]), s.values(f.args[0]))
	case f.constant():
		return Exactly(s.values(f)[0])
	}
	return stats.Mean(s.values(f))
}

func (f *formula) isShare() bool { return f.op == "term" && shareOf[f.text] != nil }

func (f *formula) constant() bool {
	return f.op != "term" && !slices.ContainsFunc(f.args, func(a *formula) bool { return !a.constant() })
}

// values returns a value for each seed.
func (s *scope) values(f *formula) []float64 {
	switch f.op {
	case "term":
		if f.isShare() {
			return Percents(s.shares(f))
		}
		g, label, columns := s.grid(f)
		list := g.Mean(label, s.d.paper.figureOf(f.text), columns...)
		if own := numberOf[f.text] == nil && s.d.paper.Figures[f.text] == nil; own && slices.ContainsFunc(list, math.IsNaN) {
			s.d.lacking[f.text] = true
		}
		return list
	case "number":
		return slices.Repeat([]float64{f.x}, len(s.d.bench.seeds))
	case "stated":
		x := s.d.paper.Numbers.Value(threeOf(s.with.Replace(f.text)))
		if math.IsNaN(x) {
			s.d.fail(fmt.Errorf("%s has no number %q", NumbersFile, f.text))
		}
		return slices.Repeat([]float64{x}, len(s.d.bench.seeds))
	case "logs":
		return s.logs(f.args[0], f.args[1])
	case "savings": // by how many percent b is below a, where each column counts equally
		return s.eachColumn(f.args[0], f.args[1], func(a, b float64) float64 { return 100 * (1 - b/a) })
	case "percent": // of a share, where each column counts equally
		g, label, columns := s.grid(f.args[0])
		return g.Mean(label, func(x *Simulation) float64 { return shareOf[f.args[0].text](x).Percent() }, columns...)
	case "abs":
		list := s.values(f.args[0])
		return each(list, func(x *float64) float64 { return math.Abs(*x) })
	}
	a, b := s.values(f.args[0]), s.values(f.args[1])
	list := make([]float64, min(len(a), len(b)))
	for i := range list {
		switch f.op {
		case "+":
			list[i] = a[i] + b[i]
		case "-":
			list[i] = a[i] - b[i]
		case "*":
			list[i] = a[i] * b[i]
		default:
			list[i] = a[i] / b[i]
		}
	}
	return list
}

// figureOf returns a figure by its name: one that is built in, one of the paper's code, or one
// that a model or the set-up notes, which is not a number where it is not noted.
func (p *Paper) figureOf(name string) func(*Simulation) float64 {
	if of := numberOf[name]; of != nil {
		return of
	}
	if of := p.Figures[name]; of != nil {
		return of
	}
	return func(s *Simulation) float64 {
		if x, ok := s.Notes[name]; ok {
			return x
		}
		return math.NaN()
	}
}

func (s *scope) shares(f *formula) []stats.Share {
	g, label, columns := s.grid(f)
	return g.Shares(label, shareOf[f.text], columns...)
}

// eachColumn returns the mean of a function of two terms over their columns, one value for each seed.
func (s *scope) eachColumn(a, b *formula, of func(a, b float64) float64) []float64 {
	g, x, columns := s.grid(a)
	h, y, _ := s.grid(b)
	if len(columns) == 0 {
		for k := range g.Columns {
			columns = append(columns, k)
		}
	}
	list := make([]float64, len(s.d.bench.seeds))
	for _, k := range columns {
		p, q := g.Mean(x, s.d.paper.figureOf(a.text), k), h.Mean(y, s.d.paper.figureOf(b.text), k)
		for i := range min(len(p), len(q)) {
			list[i] += of(p[i], q[i]) / float64(len(columns))
		}
	}
	return list
}

// logs are the logarithms of b/a.
func (s *scope) logs(a, b *formula) []float64 {
	return s.eachColumn(a, b, func(a, b float64) float64 { return math.Log(b / a) })
}

// grid returns the simulations that a term is about, its scheduler and its columns.
func (s *scope) grid(f *formula) (g *Grid, label string, columns []int) {
	design, rest, named := strings.Cut(s.with.Replace(f.in), ": ")
	if !named {
		design, rest = s.design, design
	}
	parts := strings.Split(rest, "; ")
	g = s.d.gridOf(design, parts[0])
	for _, name := range parts[1:] {
		k := slices.Index(g.Columns, name)
		if k < 0 && s.d.err == nil {
			s.d.fail(fmt.Errorf("%s[%s]: design %q has no column %q", f.text, f.in, design, name))
		}
		columns = append(columns, max(0, k))
	}
	return g, parts[0], columns
}

// threeOf splits "figure; row; column".
func threeOf(text string) (a, b, c string) {
	parts := append(strings.SplitN(text, "; ", 3), "", "")
	return parts[0], parts[1], parts[2]
}

// arity says how many arguments functions have.
var arity = map[string]int{
	"saved": 2, "savedEach": 2, "less": 2, "given": 1, "minus": 1, "ofBoth": 2, "mean": 1, "known": 1, "oneMore": 1, "steadier": 2,
	"pairedRatio": 2, "logs": 2, "savings": 2, "percent": 1, "abs": 1,
}

// ofTerms are the functions that look at the columns of terms.
var ofTerms = map[string]bool{"logs": true, "savings": true, "savedEach": true, "percent": true, "given": true, "steadier": true}

// mostNested is how deep parentheses of a formula may stand in each other.
const mostNested = 100

// parseFormula reads a formula.
func parseFormula(text string) (*formula, error) {
	p := &formulaParser{rest: text}
	f, err := p.sum()
	if p.space(); err == nil && p.rest != "" {
		err = fmt.Errorf("%q is left", p.rest)
	}
	if err != nil {
		return nil, fmt.Errorf("formula %q: %w", text, err)
	}
	return f, nil
}

type formulaParser struct {
	rest   string
	nested int
}

func (p *formulaParser) space() { p.rest = strings.TrimLeft(p.rest, " ") }

func (p *formulaParser) eats(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

// until returns the text before a sign, and goes on behind it.
func (p *formulaParser) until(sign string) (string, error) {
	text, rest, ok := strings.Cut(p.rest, sign)
	if p.rest = rest; !ok {
		return "", fmt.Errorf("want %q after %q", sign, text)
	}
	return text, nil
}

func (p *formulaParser) sum() (*formula, error) { return p.chain([]string{"+", "-"}, p.product) }

func (p *formulaParser) product() (*formula, error) { return p.chain([]string{"*", "/"}, p.atom) }

func (p *formulaParser) chain(operators []string, next func() (*formula, error)) (*formula, error) {
	f, err := next()
	for err == nil {
		i := slices.IndexFunc(operators, p.eats)
		if i < 0 {
			break
		}
		var g *formula
		g, err = next()
		f = &formula{op: operators[i], args: []*formula{f, g}}
	}
	return f, err
}

func (p *formulaParser) atom() (f *formula, err error) {
	if p.nested++; p.nested > mostNested {
		return nil, fmt.Errorf("nested more than %d deep", mostNested)
	}
	defer func() { p.nested-- }()
	switch {
	case p.eats("("):
		if f, err = p.sum(); err == nil && !p.eats(")") {
			err = fmt.Errorf("want ) before %q", p.rest)
		}
		return f, err
	case p.eats("{"):
		text, err := p.until("}")
		return &formula{op: "stated", text: text}, err
	}
	word := p.rest
	if i := strings.IndexAny(p.rest, " []()+-*/{},;"); i >= 0 {
		word = p.rest[:i]
	}
	p.rest = p.rest[len(word):]
	if x, err := strconv.ParseFloat(word, 64); err == nil {
		return &formula{op: "number", x: x}, nil
	}
	switch {
	case word == "":
		return nil, fmt.Errorf("want a figure, a number or ( before %q", p.rest)
	case p.eats("["):
		in, err := p.until("]")
		return &formula{op: "term", text: word, in: in}, err
	case !p.eats("("):
		return nil, fmt.Errorf("%q: want [scheduler; column] or (…) behind it", word)
	}
	return p.call(word)
}

// call reads the arguments of a function behind its parenthesis.
func (p *formulaParser) call(word string) (f *formula, err error) {
	f = &formula{op: word}
	for err == nil {
		var arg *formula
		arg, err = p.sum()
		f.args = append(f.args, arg)
		if p.eats(")") {
			break
		}
		if err == nil && !p.eats(",") {
			err = errors.New("want , or ) in " + word + "(…)")
		}
	}
	if err == nil && len(f.args) != arity[word] {
		err = fmt.Errorf("no function %s of %d", word, len(f.args))
	}
	for _, arg := range f.args {
		shares := word == "percent" || word == "given" || word == "steadier"
		if err == nil && (shares && !arg.isShare() || ofTerms[word] && arg.op != "term") {
			err = fmt.Errorf("%s: want figure[scheduler] in it, for percent, given and steadier one of maps", word)
		}
	}
	return f, err
}
