package modfair

import (
	"math"
	"strings"
	"testing"
)

// TestNumbers holds what is derived, and the gains that are printed, against the times and rates
// that they follow from: a cell that was copied wrongly agrees with neither.
func TestNumbers(t *testing.T) {
	same := func(figure, row, column string, want, within float64) {
		t.Helper()
		there := false
		for _, x := range numbers {
			if x.Figure == figure && x.Row == row && x.Column == column {
				if there = true; !(math.Abs(x.Value-want) <= within) {
					t.Errorf("%s, %s, %s is %v, and follows as %v", figure, row, column, x.Value, want)
				}
			}
		}
		if !there {
			t.Errorf("%s, %s, %s is not there", figure, row, column)
		}
	}
	mean, logs, points := map[string]float64{}, map[string]float64{}, 0.0
	gains := func(figure, design string, within float64) {
		list := columnsOf(design)
		for _, c := range list {
			a, b := numbers.Value(figure, original, c.Name), numbers.Value(figure, modified, c.Name)
			same(figure, modified, "time saved, "+c.Name, 100*(1-b/a), within)
			mean[figure] += 100 * (1 - b/a) / float64(len(list))
			logs[figure] += math.Log(b/a) / float64(len(list))
		}
		same(figure, modified, "mean logarithm", logs[figure], 0.005)
		same("waterfall", design, modified, -mean[figure], 0.05)
	}
	gains("table5", "A", 0.1) // the paper truncates some gains and rounds others
	gains("table7", "B", 0.05)
	same("table5", modified, "time saved, mean of nine", mean["table5"], 0.05)
	same("table7", modified, "time saved, mean of three", mean["table7"], 0.05)
	for _, label := range []string{original, modified} {
		same("table5", label, "18 maps against 6 at 5 jobs", numbers.Value("table5", label, "18 maps, 5 jobs")/numbers.Value("table5",
			label, "6 maps, 5 jobs"), 0.05)
	}
	bySize, least, most := 0.0, math.Inf(1), 0.0
	for k, c := range columnsOf("A") {
		a, b := numbers.Value("table6", original, c.Name), numbers.Value("table6", modified, c.Name)
		same("table6", modified, "relative gain, "+c.Name, 100*(b/a-1), 0.05)
		same("table6", modified, "points gained, "+c.Name, b-a, 0)
		points, least, most = points+(b-a)/9, min(least, a, b), max(most, a, b)
		bySize += (b - a) / 3 * float64(k/3-1) // 18 maps minus 6
	}
	same("table6", "all schedulers", "least", least, 0)
	same("table6", "all schedulers", "most", most, 0)
	same("table6", modified, "points gained, mean of nine", points, 0.05)
	same("table6", modified, "points gained, 18 maps above 6", bySize, 0.05)
	for _, c := range columnsOf("B") {
		a, b, f := numbers.Value("table7", original, c.Name), numbers.Value("table7", modified, c.Name), numbers.Value("table7", fifo, c.Name)
		same("table7", fifo, "time saved, "+c.Name, 100*(1-f/a), 0.05)
		same("table7", modified, "time saved against FIFO, "+c.Name, 100*(1-b/f), 0.05)
	}
	var columns []string
	for _, c := range columnsOf("A") {
		columns = append(columns, "time saved, "+c.Name)
	}
	if got := numbers.Text("table5", modified, columns...); !strings.Contains(got, "47.8 (recomputed 47.9)") ||
		!strings.Contains(got, "54.6 (recomputed 54.7)") || !strings.Contains(got, "47.3 (recomputed 47.4)") {
		t.Errorf("gains %s: want those printed, and what the times give", got)
	}
	if x := numbers.Value("table8", modified, "10 jobs"); !math.IsNaN(x) {
		t.Errorf("Table 8 at 10 jobs is %v: it must not be compared", x)
	}
}
