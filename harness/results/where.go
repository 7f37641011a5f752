package results

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"heddle/harness/measure"
	"heddle/harness/nearest"
)

// Row is one trial among those of several runs.
type Row struct {
	Run     string // base name of the run's folder
	World   string // "cluster" or runs.WorldSimulated
	Trial   *Trial
	Figures []*measure.Figures // of each stage of the trial
}

// A Filter chooses rows. The nil Filter chooses all.
type Filter struct{ of func(*Row) bool }

// Where returns the Filter that a text describes, such as
//
//	model=fifo && (repeat<=4 || workload~sort) && jobCompletion>60
//
// A comparison has a key, one of = != < <= > >= ~ !~ and a value, which may stand in
// quotes. Keys are run, world, trial, workload, model, reading, repeat, seed and the names of
// metrics. ~ compares with a regular expression, which may match any part. && binds
// more than ||, and ! turns what follows it around. A row that has no value of a
// metric fulfils no comparison with it. An error names the column where the text is
// wrong.
func Where(text string) (*Filter, error) {
	p := filterParser{text: text}
	of, err := p.or()
	if err == nil && p.peek() != "" {
		err = p.wrong("%q follows what is a whole condition already", p.peek())
	}
	if err != nil {
		return nil, fmt.Errorf("condition %q: %w", text, err)
	}
	return &Filter{of}, nil
}

// Match reports whether the filter chooses the row.
func (f *Filter) Match(r *Row) bool { return f == nil || f.of(r) }

// texts are the keys whose values are texts, and numbers those whose values are
// numbers. Metrics are numbers too.
var (
	texts = map[string]func(*Row) string{
		"run":      func(r *Row) string { return r.Run },
		"world":    func(r *Row) string { return r.World },
		"trial":    func(r *Row) string { return r.Trial.Name },
		"workload": func(r *Row) string { return r.Trial.Workload },
		"model":    func(r *Row) string { return r.Trial.Model },
		"reading":  func(r *Row) string { return r.Trial.Reading },
	}
	numbers = map[string]func(*Row) float64{
		"repeat": func(r *Row) float64 { return float64(r.Trial.Repeat) },
		"seed":   func(r *Row) float64 { return float64(r.Trial.Seed) },
	}
)

// Keys returns the keys that a condition can compare, those of metrics last.
func Keys() []string {
	return append([]string{"run", "world", "trial", "workload", "model", "reading", "repeat", "seed"}, measure.Names()...)
}

// mostNested is how deep parentheses may stand in each other.
const mostNested = 100

// filterParser reads a condition by recursive descent: a method for each level of
// binding.
type filterParser struct {
	text   string
	at     int // where the next token begins
	nested int
}

var filterToken = regexp.MustCompile(`^\s*(&&|\|\||[!<>]=|!~|[=<>~!()]|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s=<>~!()&|"']+)`)

// peek returns the next token, "" at the end of the text, and what is left of the
// text if no token can be made of it.
func (p *filterParser) peek() string {
	rest := p.text[p.at:]
	if m := filterToken.FindStringSubmatch(rest); m != nil {
		return m[1]
	}
	return strings.TrimSpace(rest)
}

// next returns the next token and goes on behind it.
func (p *filterParser) next() string {
	token := p.peek()
	p.at += strings.Index(p.text[p.at:], token) + len(token)
	return token
}

// wrong is an error about the next token.
func (p *filterParser) wrong(format string, args ...any) error {
	rest := p.text[p.at:]
	column := p.at + len(rest) - len(strings.TrimLeft(rest, " \t\r\n")) + 1
	return fmt.Errorf("column %d: %s", column, fmt.Sprintf(format, args...))
}

// or and and read conditions that are joined by || and by &&.
func (p *filterParser) or() (func(*Row) bool, error) { return p.chain("||", true, p.and) }

func (p *filterParser) and() (func(*Row) bool, error) { return p.chain("&&", false, p.one) }

// chain reads conditions that an operator joins. Where the left one is decides, so is the whole; else it is the right one.
func (p *filterParser) chain(operator string, decides bool, part func() (func(*Row) bool, error)) (func(*Row) bool, error) {
	a, err := part()
	for err == nil && p.peek() == operator {
		p.next()
		left := a
		var right func(*Row) bool
		right, err = part()
		a = func(r *Row) bool {
			if left(r) == decides {
				return decides
			}
			return right(r)
		}
	}
	return a, err
}

func (p *filterParser) one() (func(*Row) bool, error) {
	if p.nested++; p.nested > mostNested {
		return nil, p.wrong("more than %d conditions stand in each other", mostNested)
	}
	defer func() { p.nested-- }()
	switch p.peek() {
	case "!":
		p.next()
		of, err := p.one()
		return func(r *Row) bool { return !of(r) }, err
	case "(":
		p.next()
		of, err := p.or()
		if err == nil && p.peek() != ")" {
			err = p.wrong("want ) or another condition with && or ||")
		}
		p.next()
		return of, err
	}
	return p.comparison()
}

func (p *filterParser) comparison() (func(*Row) bool, error) {
	key := p.peek()
	text, number := texts[key], numbers[key]
	if text == nil && number == nil {
		list, err := measure.Find([]string{key})
		switch {
		case key == "":
			return nil, p.wrong("want a condition such as model=fifo")
		case err != nil || len(list) != 1:
			return nil, p.wrong("unknown key %q; %s", key, nearest.Hint(key, Keys()))
		}
		number = func(r *Row) float64 { return list[0].Of(r.Figures...) }
	}
	p.next()
	op := p.peek()
	switch op {
	case "=", "!=", "<", "<=", ">", ">=", "~", "!~":
	default:
		return nil, p.wrong("want one of = != < <= > >= ~ !~ after %s", key)
	}
	p.next()
	value, err := p.value(key + op)
	if err != nil {
		return nil, err
	}
	switch {
	case op == "~" || op == "!~":
		return p.matching(text, number, value, op == "~")
	case text != nil:
		return func(r *Row) bool { return holds(op, cmp.Compare(text(r), value)) }, nil
	}
	limit, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(limit) {
		return nil, fmt.Errorf("%s%s%s: want a number", key, op, value)
	}
	return func(r *Row) bool {
		x := number(r)
		return !math.IsNaN(x) && holds(op, cmp.Compare(x, limit))
	}, nil
}

// value returns the value of a comparison, without its quotes.
func (p *filterParser) value(after string) (string, error) {
	token := p.peek()
	switch {
	case token == "" || strings.ContainsAny(token[:1], "=<>~!()&|"):
		return "", p.wrong("want a value after %s", after)
	case token[0] == '"':
		value, err := strconv.Unquote(token)
		if err != nil {
			return "", p.wrong("%s: quotes do not end, or a character after \\ is unknown", token)
		}
		p.next()
		return value, nil
	case token[0] == '\'':
		if len(token) < 2 || token[len(token)-1] != '\'' {
			return "", p.wrong("%s: quotes do not end", token)
		}
		p.next()
		return token[1 : len(token)-1], nil
	}
	return p.next(), nil
}

// matching compares with a regular expression.
func (p *filterParser) matching(text func(*Row) string, number func(*Row) float64, pattern string, want bool) (func(*Row) bool, error) {
	if number != nil {
		return nil, p.wrong("a number cannot be compared with the regular expression %q", pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, p.wrong("%q is no regular expression: %v", pattern, err)
	}
	return func(r *Row) bool { return re.MatchString(text(r)) == want }, nil
}

// holds reports whether a comparison holds whose sides compare like order to 0.
func holds(op string, order int) bool {
	return strings.Contains(op, "<=>"[order+1:order+2]) != (op == "!=")
}
