package doc

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Terminal says what a terminal can show. The zero value is a file.
type Terminal struct {
	// Columns is the width of the terminal; 0 for a file. On a terminal, tables have
	// columns more where there is room: intervals of differences and distributions drawn
	// with characters. Their numbers are in other columns, so files need none.
	Columns int
	Colour  bool // tones show as colours
}

// Spread returns the cell with a distribution: how many values are in each of some
// ranges of equal width between two values, which the texts say.
func (c Cell) Spread(low string, counts []int, high string) Cell {
	c.spread = &spread{low, high, counts}
	return c
}

type spread struct {
	low, high string
	counts    []int
}

// heights are the characters for one to eight eighths of the largest count.
var heights = []rune("▁▂▃▄▅▆▇█")

// String draws the distribution. A range without values is a space.
func (s *spread) String() string {
	if s == nil || len(s.counts) == 0 {
		return ""
	}
	most := max(1, slices.Max(s.counts))
	var b strings.Builder
	for _, n := range s.counts {
		if n <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(heights[(n*len(heights)+most-1)/most-1])
	}
	return b.String()
}

// drawing is a column that a terminal has beside another one.
type drawing struct {
	name  string
	cells []string // one for each row
}

// narrowest and widest are the numbers of characters for an interval.
const narrowest, widest = 15, 31

// drawn returns the drawings of a table that is so many columns wide without them, by
// the number of the column to whose right each is.
func (t *Table) drawn(columns, width int) map[int]drawing {
	list := map[int]drawing{}
	room := columns - width
	for k := range t.Columns {
		if d, ok := t.spreads(k); ok && room >= d.width()+2 {
			list[k] = d
			room -= d.width() + 2
		}
	}
	for k := range t.Columns {
		if _, has := list[k]; !has && room >= narrowest+2 {
			if d, ok := t.intervals(k, min(widest, room-2)); ok {
				list[k] = d
				break // one is enough to see the order of models
			}
		}
	}
	return list
}

func (d *drawing) width() (most int) {
	for _, s := range append(d.cells, d.name) {
		most = max(most, places(s))
	}
	return most
}

// cell returns a cell of a row, empty if the row is too short.
func (*Table) cell(row []Cell, k int) Cell {
	if k < len(row) {
		return row[k]
	}
	return Words("")
}

// spreads draws the distributions of a column.
func (t *Table) spreads(k int) (d drawing, ok bool) {
	low, high := 0, 0
	for _, row := range t.Rows {
		if s := t.cell(row, k).spread; s != nil {
			ok, low, high = true, max(low, places(s.low)), max(high, places(s.high))
		}
	}
	d.name = strings.Repeat(" ", low+1) + "spread"
	for _, row := range t.Rows {
		text := ""
		if s := t.cell(row, k).spread; s != nil {
			text = fmt.Sprintf("%s%s %v %s", strings.Repeat(" ", low-places(s.low)), s.low, s, s.high)
		}
		d.cells = append(d.cells, text)
	}
	return d, ok
}

// intervals draws the differences of a column and their intervals on one scale, with a
// line at no difference.
func (t *Table) intervals(k, width int) (d drawing, ok bool) {
	low, high, far, unit := 0.0, 0.0, 0.0, ""
	for _, row := range t.Rows {
		if c := t.cell(row, k); c.differs() {
			if ok && c.unit != unit {
				return d, false
			}
			ok, unit = true, c.unit
			low, high, far = min(low, c.lo), max(high, c.hi), max(far, math.Abs(c.value))
		}
	}
	if !ok || high == low {
		return d, false
	}
	if far > 0 { // the interval of two repeats may be a thousand times as wide as the difference
		low, high = max(low, -4*far), min(high, 4*far)
	}
	at := func(x float64) int {
		return int(math.Round((max(low, min(high, x)) - low) / (high - low) * float64(width-1)))
	}
	d.name = scale(low, high, at(0), width)
	for _, row := range t.Rows {
		line := []rune(strings.Repeat(" ", width))
		line[at(0)] = '│'
		if c := t.cell(row, k); c.differs() {
			from, to := at(c.lo), at(c.hi)
			for i := from; i <= to; i++ {
				line[i] = '─'
				if i == at(0) {
					line[i] = '┼'
				}
			}
			line[from], line[to] = '├', '┤'
			if c.lo < low {
				line[from] = '◂'
			}
			if c.hi > high {
				line[to] = '▸'
			}
			line[at(c.value)] = '●'
		}
		d.cells = append(d.cells, strings.TrimRight(string(line), " "))
	}
	return d, true
}

// differs reports whether the cell is a difference with an interval that can be drawn.
func (c Cell) differs() bool {
	return c.sign && c.interval && c.bounded && drawn(c.value) && drawn(c.lo) && drawn(c.hi)
}

// scale returns the head of a column of intervals: the ends of the scale, and 0.
func scale(low, high float64, zero, width int) string {
	line := []rune(strings.Repeat(" ", width))
	line[zero] = '0'
	put := func(at int, s string) {
		for i := max(0, at-1); i < min(width, at+len(s)+1); i++ {
			if line[i] != ' ' {
				return
			}
		}
		copy(line[at:], []rune(s))
	}
	put(0, fmt.Sprintf("%+.3g", low))
	if right := fmt.Sprintf("%+.3g", high); len(right) <= width {
		put(width-len(right), right)
	}
	return strings.TrimRight(string(line), " ")
}
