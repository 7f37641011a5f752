package paper

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/compare"
)

// Numbers are the numbers that a paper states, and those that follow from them.
// They are a file of their own, in which a reader can look them up beside the paper.
type Numbers []Number

// Number is one number of a paper. If Figure is a part of the paper, and Row and
// Column are a row and a column of it, the number is a point of that figure.
type Number struct {
	Figure, Row, Column string
	Text                string  // the number as the file has it, or a word such as "rises"
	Value               float64 // NaN for a word
	Unit                string
	Origin              Origin
	Why                 string // how the number is derived, or what is wrong with it
}

// Origin says where a number is from.
type Origin string

// The origins of numbers: the paper prints it; it follows from numbers that the paper
// prints; the paper prints it and it cannot be right, so nothing is compared with it.
const (
	IsPrinted Origin = "printed"
	IsDerived Origin = "derived"
	IsWrong   Origin = "wrong"
)

// InWords is the unit of what a paper says in words alone.
const InWords = "in words"

const (
	numbersMaxBytes = 1 << 20
	numbersMaxLines = 10_000
)

var numbersHeader = []string{"figure", "row", "column", "value", "unit", "from"}

// readNumbers reads published numbers from a CSV file with the columns figure, row,
// column, value, unit and from. The last is "printed", "derived: how" or "wrong: why".
// A number may be there twice: as the paper prints it, and as it follows from others.
func readNumbers(file string, r io.Reader) (Numbers, error) {
	data, err := io.ReadAll(io.LimitReader(r, numbersMaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read published numbers: %s: %w", file, err)
	}
	if len(data) > numbersMaxBytes {
		return nil, fmt.Errorf("read published numbers: %s: more than %d bytes", file, numbersMaxBytes)
	}
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord = len(numbersHeader)
	var list Numbers
	lines := map[[4]string]int{}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read published numbers: %s: %w", file, err)
		}
		line, _ := in.FieldPos(0)
		if list == nil {
			if !slices.Equal(fields, numbersHeader) {
				return nil, fmt.Errorf(
					"read published numbers: %s:%d: the first line is %q: want %q",
					file,
					line,
					strings.Join(fields, ","),
					strings.Join(numbersHeader, ","),
				)
			}
			list = Numbers{}
			continue
		}
		n, err := newNumber(fields)
		if err != nil {
			return nil, fmt.Errorf("read published numbers: %s:%d: %w", file, line, err)
		}
		key := [4]string{n.Figure, n.Row, n.Column, string(n.Origin)}
		if lines[key] > 0 {
			return nil, fmt.Errorf("read published numbers: %s:%d: the same number is in line %d", file, line, lines[key])
		}
		lines[key] = line
		if list = append(list, n); len(list) > numbersMaxLines {
			return nil, fmt.Errorf("read published numbers: %s:%d: more than %d numbers", file, line, numbersMaxLines)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("read published numbers: %s: no numbers", file)
	}
	return list, nil
}

func newNumber(fields []string) (Number, error) {
	n := Number{Figure: fields[0], Row: fields[1], Column: fields[2], Text: fields[3], Value: math.NaN(), Unit: fields[4]}
	if n.Figure == "" || n.Row == "" || n.Column == "" || n.Text == "" {
		return n, errors.New("figure, row, column and value must not be empty")
	}
	kind, why, _ := strings.Cut(fields[5], ": ")
	n.Origin, n.Why = Origin(kind), why
	switch {
	case !slices.Contains([]Origin{IsPrinted, IsDerived, IsWrong}, n.Origin):
		return n, fmt.Errorf("from %q: want printed, derived or wrong", fields[5])
	case n.Origin != IsPrinted && why == "":
		return n, fmt.Errorf("from %q: want \"%s: \" and how or why", fields[5], kind)
	case n.Unit == InWords:
		return n, nil
	}
	var err error
	if n.Value, err = strconv.ParseFloat(n.Text, 64); err != nil || math.IsNaN(n.Value) || math.IsInf(n.Value, 0) {
		return n, fmt.Errorf("value %q: want a number, or the unit %q", n.Text, InWords)
	}
	return n, nil
}

// find returns a number as printed and as derived; nil where there is none.
func (n Numbers) find(figure, row, column string) (printed, derived *Number) {
	for i := range n {
		x := &n[i]
		if x.Figure != figure || x.Row != row || x.Column != column {
			continue
		}
		switch x.Origin {
		case IsPrinted:
			printed = x
		case IsDerived:
			derived = x
		}
	}
	return printed, derived
}

// Value returns a number as printed, or as derived if it is not printed. It is NaN if
// the paper does not state it.
func (n Numbers) Value(figure, row, column string) float64 {
	printed, derived := n.find(figure, row, column)
	switch {
	case printed != nil:
		return printed.Value
	case derived != nil:
		return derived.Value
	}
	return math.NaN()
}

// unstated is the text of a number that the paper does not state.
const unstated = "?"

// Text returns numbers of one row for people to read: as printed, with what follows
// from other numbers of the paper where that is not the same. A number that the paper
// does not state is unstated.
func (n Numbers) Text(figure, row string, columns ...string) string {
	var list []string
	for _, column := range columns {
		printed, derived := n.find(figure, row, column)
		switch {
		case printed == nil && derived == nil:
			list = append(list, unstated)
		case printed == nil:
			list = append(list, derived.Text+" (derived)")
		case derived == nil || derived.Value == printed.Value:
			list = append(list, printed.Text)
		default:
			list = append(list, fmt.Sprintf("%s (recomputed %s)", printed.Text, derived.Text))
		}
	}
	return strings.Join(list, ", ")
}

// points returns what the paper states of each column in a row of a figure, NaN where
// it states nothing. It is empty if it states nothing at all.
func (n Numbers) points(figure, row string, columns []string) []compare.Number {
	list := make([]compare.Number, len(columns))
	found := false
	for i, column := range columns {
		list[i] = compare.Number(n.Value(figure, row, column))
		found = found || !math.IsNaN(float64(list[i]))
	}
	if !found {
		return nil
	}
	return list
}
