package modfair

import (
	"fmt"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says what the published gain comes from, and what it does not come
// from. All of it is computed from the reading's data.
func explain(d *paper.Data) string {
	gain := func(label string) string {
		return fmt.Sprintf("%s in A and %s in B", signed(savedIn(d, "A", 9, original, label)), signed(savedIn(d, "B", 3, original, label)))
	}
	s := []string{fmt.Sprintf("Against Original, Modified changes the mean turnaround by %s; the paper has %s and %s.", gain(modified), percent(publishedMean(table5)), percent(publishedMean(b7())))}
	var alones, lefts []string
	for _, m := range mechanisms {
		alones = append(alones, fmt.Sprintf("%s %s", upper(m), gain(alone(m))))
		lefts = append(lefts, fmt.Sprintf("%s %s", upper(m), gain(without(m))))
	}
	s = append(s, "One mechanism alone: "+strings.Join(alones, "; ")+".", "All but one, without "+strings.Join(lefts, "; without ")+".")
	g := d.Grid("B", modified)
	node, rack := stats.Mean(g.Mean(modified, noted("nodeDelayMs"))).Value, stats.Mean(g.Mean(modified, noted("rackDelayMs"))).Value
	if node < 300 && rack < 300 {
		s = append(s, fmt.Sprintf("M4's delays end at %.0f and %.0f ms, below the time between heartbeats: it switches the wait for locality off.", node, rack))
	} else {
		s = append(s, fmt.Sprintf("M4's delays end at %.0f and %.0f ms.", node, rack))
	}
	s = append(s, fmt.Sprintf("Without any of this, FIFO, which only changes the order of jobs and fills all slots, changes it by %s.", gain(fifo)))
	s = append(s, ceiling())
	return strings.Join(s, " ")
}

// ceiling says which published gains in B are beyond what order and slots can
// give, if tasks take equal time: those limits are of section 8.3 of our notes on
// the paper and are computed from whole waves of equal tasks.
func ceiling() string {
	limits := []float64{41, 48, 48}
	var beyond []string
	for k, x := range b7() {
		published := 100 * (1 - x[1]/x[0])
		if published > limits[k] {
			beyond = append(beyond, fmt.Sprintf("%.1f %% at %d jobs (at most about %.0f; tasks would have to differ by scheduler by a factor of %.1f)", published, jobCounts[k], limits[k], (100-limits[k])/(100-published)))
		}
	}
	return "Of the published gains in B, these are beyond what any order of jobs and any number of slots can give if tasks take equal time: " + strings.Join(beyond, ", ") + "."
}

// b7 has Original and Modified of Table 7.
func b7() (list [][2]float64) {
	for _, x := range table7 {
		list = append(list, [2]float64{x[0], x[1]})
	}
	return list
}

// publishedMean is the mean gain of a published table, in percent, negative if
// Modified is faster.
func publishedMean(pairs [][2]float64) float64 {
	sum := 0.0
	for _, x := range pairs {
		sum += 100 * (x[1]/x[0] - 1) / float64(len(pairs))
	}
	return sum
}

// signed writes a saving as a change of time.
func signed(e stats.Estimate) string {
	return fmt.Sprintf("%s [%s, %s]", percent(-e.Value), percent(-e.Hi), percent(-e.Lo))
}

func percent(x float64) string { return fmt.Sprintf("%+.1f %%", x) }

func upper(m string) string { return strings.ToUpper(m) }
