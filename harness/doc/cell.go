package doc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"heddle/harness/internal/units"
)

// Cell is one cell of a table: words, or a number with its unit and perhaps an
// interval. The zero value is the number 0; an empty cell is Words("").
type Cell struct {
	words  string // the text; of a number, the text in place of the value and unit
	isWord bool
	value  float64
	lo, hi float64 // bounds of the interval, if bounded is true
	unit   string
	sign   bool // a plus sign stands before a positive number
	digits int  // number of digits after the point; negative for significant digits
	// interval says that the number has an interval. Too few measurements give
	// one without bounds.
	interval, bounded bool
	detail            string // shown when a reader of a page points at the cell
	after             string // words after the number and its interval, such as a p-value
	tone              Tone
}

// Tone says whether a cell is good news. Terminals and pages show it as a colour.
type Tone string

// Tones of a cell.
const (
	Good     Tone = "good"
	Fair     Tone = "fair"
	Bad      Tone = "bad"
	Opposite Tone = "opposite"
	Notable  Tone = "notable"
	Faint    Tone = "faint"
)

// Numbers of significant digits, for the field digits of a cell.
const (
	four  = -4
	three = -3
)

// Words returns a cell with a text.
func Words(text string) Cell { return Cell{words: text, isWord: true} }

// Wordsf returns a cell with a formatted text.
func Wordsf(format string, args ...any) Cell { return Words(fmt.Sprintf(format, args...)) }

// numeric is what has a value.
type numeric interface {
	~int | ~int32 | ~int64 | ~uint64 | ~float64
}

// Count returns a cell with a whole number.
func Count[N numeric](n N) Cell { return Cell{value: float64(n)} }

// CellOf returns the cell of a value: a cell itself, a count, or the words that fmt prints.
func CellOf(v any) Cell {
	switch v := v.(type) {
	case Cell:
		return v
	case int:
		return Count(v)
	case int32:
		return Count(v)
	case int64:
		return Count(v)
	}
	return Words(fmt.Sprint(v))
}

// Known returns a value for a row, "-" if it is not known.
func Known(known bool, v any) any {
	if known {
		return v
	}
	return "-"
}

// Number returns a cell with a number in a unit, such as "s" or "%". It shows four
// significant digits. If x is not a number, the cell shows "-".
func Number[N numeric](x N, unit string) Cell {
	return Cell{value: float64(x), unit: unit, digits: four}
}

// Fixed returns a cell with so many digits after the point.
func Fixed[N numeric](x N, digits int, unit string) Cell {
	return Cell{value: float64(x), unit: unit, digits: digits}
}

// Span returns a cell with a range of numbers, such as "9.9 s to 12.1 s".
func Span(lo, hi float64, unit string) Cell {
	return Words(Number(lo, unit).String() + " to " + Number(hi, unit).String())
}

// Estimate returns a cell with a number and its interval. An interval whose bounds
// are not finite is left out: there were too few measurements.
func Estimate[N numeric](x N, lo, hi float64, unit string) Cell {
	c := Number(x, unit)
	c.lo, c.hi, c.interval = lo, hi, !math.IsNaN(c.value)
	c.bounded = !math.IsInf(lo, 0) && !math.IsInf(hi, 0) && !math.IsNaN(lo) && !math.IsNaN(hi)
	return c
}

// Difference returns a cell with a signed number, one digit after the point, and
// its interval.
func Difference[N numeric](x N, lo, hi float64, unit string) Cell {
	c := Estimate(x, lo, hi, unit)
	c.sign, c.digits = true, 1
	return c
}

// Signed returns a cell with a signed number and so many digits after the point.
func Signed[N numeric](x N, digits int, unit string) Cell {
	return Cell{value: float64(x), unit: unit, digits: digits, sign: true}
}

// Duration returns a cell with a time that is given in milliseconds.
func Duration[N numeric](ms N) Cell {
	return Cell{words: DurationText(ms), value: float64(ms) / 1000, unit: "s"}
}

// Bytes returns a cell with a number of bytes, such as "65.2 MiB".
func Bytes(n int64) Cell {
	return Cell{words: units.Size(n).Rounded(), value: float64(n), unit: "B"}
}

// Share returns a cell like "349 of 350", whose number is the share in percent.
func Share(part, of int) Cell {
	return Cell{words: fmt.Sprintf("%d of %d", part, of), value: 100 * float64(part) / float64(max(of, 1)), unit: "%", digits: four}
}

// Rounded returns the cell with so many digits after the point.
func (c Cell) Rounded(digits int) Cell { c.digits = digits; return c }

// Short returns the cell with three significant digits.
func (c Cell) Short() Cell { c.digits = three; return c }

// As returns the cell with words in place of its number, which CSV still has.
func (c Cell) As(words string) Cell { c.words = words; return c }

// After returns the cell with words after its number.
func (c Cell) After(words string) Cell { c.after = words; return c }

// Detail returns the cell with words that are shown when a reader of a page points at it.
func (c Cell) Detail(words string) Cell { c.detail = words; return c }

// In returns the cell with a tone.
func (c Cell) In(t Tone) Cell { c.tone = t; return c }

// main returns the cell's text without its interval and the words after it.
func (c Cell) main() string {
	switch {
	case c.isWord || c.words != "":
		return c.words
	case math.IsNaN(c.value):
		return "-"
	}
	text := figure(c.value, c.digits)
	if c.sign && c.value > 0 && text != "0" {
		text = "+" + text
	}
	if c.unit != "" {
		text += " " + c.unit
	}
	return text
}

// rest returns the interval and the words after it.
func (c Cell) rest() string {
	text := ""
	if c.interval {
		text = c.bounds()
	}
	return strings.TrimSpace(text + " " + c.after)
}

func (c Cell) bounds() string {
	if !c.bounded {
		return ""
	}
	lo, hi := figure(c.lo, c.digits), figure(c.hi, c.digits)
	if c.sign {
		lo, hi = fmt.Sprintf("%+.*f", c.digits, c.lo), fmt.Sprintf("%+.*f", c.digits, c.hi)
		if c.unit == "%" && c.hi > 999 { // the interval of two trials may reach millions of percent: such digits say nothing
			hi = "> +999"
		}
	}
	return "[" + lo + ", " + hi + "]"
}

// String returns the whole text of the cell.
func (c Cell) String() string { return strings.TrimSpace(c.main() + " " + c.rest()) }

// InWords is like String, for a sentence or a picture: it says that there is no interval
// in words.
func (c Cell) InWords() string {
	if !c.interval || c.bounded {
		return c.String()
	}
	return strings.TrimSuffix(c.main()+", "+c.after, ", ") + ": too few repeats for an interval"
}

func (c Cell) isNumber() bool { return !c.isWord }

// figure formats x with so many digits after the point. If digits is negative, it
// is the number of significant digits of a number from 1 to 1,000; smaller numbers
// have as many digits after the point as 1, and larger ones none.
func figure(x float64, digits int) string {
	if digits < 0 {
		most := -digits - 1
		for digits = most; digits > 0 && math.Abs(x) >= math.Pow10(most-digits+1)-math.Pow10(-digits)/2; digits-- {
		}
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	return text
}

// DurationText formats a time given in milliseconds: "35.2 ms", "6.98 s", from a
// minute on "12m34s". It returns "-" if ms is not a number.
func DurationText[N numeric](n N) string {
	ms := float64(n)
	switch {
	case math.IsNaN(ms):
		return "-"
	case ms == 0:
		return "0 s"
	case math.Abs(ms) < 999.95:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case math.Abs(ms) < 59_995:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
	}
	return time.Duration(ms * 1e6).Round(time.Second).String()
}
