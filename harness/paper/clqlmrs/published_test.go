package clqlmrs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/paper"
)

// byHand are the paper's numbers as they were copied by hand, apart from published.csv.
var byHand = map[[2]string]string{
	{"fig5", "rise from 4 to 8 GB"}:        "FIFO 3;ACL C=2 17;ACL C=5 25;CLQLMRS 24",
	{"fig5", "rise above that of C=2"}:     "ACL C=5 8",
	{"table4", "100 maps"}:                 "FIFO, cache 25;Delay, cache 35;ACL, cache 46;CLQLMRS, cache 55",
	{"table4", "100 maps, times FIFO's"}:   "CLQLMRS, cache 2.2",
	{"table4", "10 maps"}:                  "Delay, cache or data 99;ACL, cache or data 99;Delay, rack 100;ACL, rack 100",
	{"fig8", "mean above FIFO"}:            "Delay 13.8;ACL 17.6;CLQLMRS 20.8",
	{"fig8", "WordCount above FIFO"}:       "CLQLMRS 17",
	{"fig8", "Sort above FIFO"}:            "CLQLMRS 22",
	{"fig8", "TeraSort above FIFO"}:        "CLQLMRS 20",
	{"fig8", "Join above FIFO"}:            "CLQLMRS 22",
	{"fig8", "Aggregation above FIFO"}:     "CLQLMRS 23",
	{"fig9", "mean gain over FIFO"}:        "Delay 8.6;ACL 19.4;CLQLMRS 26.54",
	{"fig9", "mean gain over Delay"}:       "CLQLMRS 19.63",
	{"fig9", "mean gain over ACL"}:         "CLQLMRS 8.98",
	{"table5", "Sort, gain over FIFO"}:     "CLQLMRS 20;ACL 10.31",
	{"table5", "Sort, gain over ACL"}:      "CLQLMRS 10.8",
	{"table5", "TeraSort, gain over FIFO"}: "CLQLMRS 18.45;ACL 14.7",
	{"table5", "TeraSort, gain over ACL"}:  "CLQLMRS 4.4",
}

func faults(n paper.Numbers) (list []string) {
	known := map[string]bool{}
	for at, line := range byHand {
		for _, x := range strings.Split(line, ";") {
			i := strings.LastIndex(x, " ")
			row := x[:i]
			var want float64
			fmt.Sscan(x[i+1:], &want)
			known[fmt.Sprint(at, row)] = true
			if got := n.Value(at[0], row, at[1]); got != want {
				list = append(list, fmt.Sprintf("%s, %s, %s is %v, want %v", at[0], row, at[1], got, want))
			}
		}
	}
	for _, x := range n {
		if at := [2]string{x.Figure, x.Column}; x.Unit != paper.InWords && !known[fmt.Sprint(at, x.Row)] {
			list = append(list, fmt.Sprintf("%s, %s, %s is not among the numbers copied by hand", x.Figure, x.Row, x.Column))
		}
	}
	return list
}

// TestNumbers holds the file of published numbers against those copied by hand.
func TestNumbers(t *testing.T) {
	for _, fault := range faults(numbers) {
		t.Error(fault)
	}
}

// TestNumbersMutated reverses a row of Table 4, and changes each number: TestNumbers must
// notice.
func TestNumbersMutated(t *testing.T) {
	reversed := slices.Clone(numbers)
	var at []int
	for i, x := range reversed {
		if x.Figure == "table4" && x.Column == "100 maps" {
			at = append(at, i)
		}
	}
	for i := range len(at) / 2 {
		a, b := &reversed[at[i]], &reversed[at[len(at)-1-i]]
		a.Value, b.Value = b.Value, a.Value
	}
	if len(at) != 4 || len(faults(reversed)) == 0 {
		t.Errorf("the row of %d cells in Table 4 is reversed, and no test notices", len(at))
	}
	for i := range numbers {
		if printed := numbers[i].Origin == paper.IsPrinted; math.IsNaN(numbers[i].Value) || !printed && numbers[i].Text == "8.86" {
			continue // words, and what a printed number hides
		}
		changed := slices.Clone(numbers)
		changed[i].Value++
		if len(faults(changed)) == 0 {
			t.Errorf("%s, %s, %s: %v instead of %v, and no test notices", changed[i].Figure, changed[i].Row, changed[i].Column, changed[i].Value, numbers[i].Value)
		}
	}
}
