package modfair

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// explain says what the published gain comes from, and what it does not come
// from. All of it is computed from the reading's data.
func explain(d *paper.Data) string {
	gain := func(label string) string {
		return fmt.Sprintf("%s in A and %s in B", signed(savedIn(d, "A", original, label)), signed(savedIn(d, "B", original, label)))
	}
	g := d.Grid("B", modified)
	node, rack := stats.Mean(g.Mean(modified, paper.Noted("nodeDelayMs"))).Value, stats.Mean(g.Mean(modified, paper.Noted("rackDelayMs"))).Value
	return strings.Join([]string{
		fmt.Sprintf("Against Original, Modified changes the mean turnaround by %s; the paper has %s and %s.", gain(modified), percent(numbers.Value("waterfall", "A", modified)), percent(numbers.Value("waterfall", "B", modified))),
		fmt.Sprintf("M4's delays begin at 3000 ms and end at %.0f and %.0f ms in B: M4 alone differs from Original without any wait for locality by %s in A and %s in B.",
			node, rack, signed(savedIn(d, "A", noDelay, alone("m4"))), signed(savedIn(d, "B", noDelay, alone("m4")))),
		conclusion(d), layout(d), ceiling(),
	}, " ")
}

// conclusion says in which experiments Modified does more than the best of three
// settings of Original by 5 % or more, and what else gains so much.
func conclusion(d *paper.Data) string {
	var beaten []string
	gaining := ""
	for _, design := range []string{"A", "B"} {
		if _, over := d.Best(fasterIn(design)); over.Verdict() == paper.Holds {
			beaten = append(beaten, design)
		}
		labels, list := []string{noDelay, fifoInPools, noMaximum, fifo}, []string{}
		for _, m := range mechanisms {
			labels = append(labels, alone(m))
		}
		for _, label := range labels {
			if e := fasterThan(d, design, original, label); e.Verdict() == paper.Holds {
				list = append(list, fmt.Sprintf("“%s”", label))
			}
		}
		gaining += fmt.Sprintf(" In %s, of settings, FIFO and single mechanisms, 5 %% or more is gained over Original by %s.", design, either(list, "none"))
	}
	return "Modified gains 5 % or more over the best of three settings of Original in " + either(beaten, "neither experiment") + "." + gaining
}

func either(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

// layout says which layouts of blocks the paper's own tables exclude.
func layout(d *paper.Data) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, c := range columnsOf("A") {
		for _, label := range []string{original, modified} {
			x := numbers.Value("table6", label, c.Name)
			least, most = min(least, x), max(most, x)
		}
	}
	text := fmt.Sprintf("In Table 6, %.0f to %.0f %% of maps are node-local.", least, most)
	g := d.Grid("layouts", original)
	for k, layout := range g.Columns {
		ours := stats.MeanShare(g.Shares(original, paper.LocalRate, k))
		can := "can be"
		if ours.Lo > most || ours.Hi < least {
			can = "is excluded"
		}
		text += fmt.Sprintf(" With layout=%s, Original has %s, which %s.", layout, paper.Text(ours, "%"), can)
	}
	return text
}

// ceiling says which published gains are beyond what order and slots can give if
// tasks take equal time.
func ceiling() string {
	var beyond []string
	all := 0
	note := func(design string, jobs func(k int) []int) {
		slots := nodes * testbed{Experiment: design}.mapSlots()
		for k, column := range columnsOf(design) {
			all++
			saved := 100 * (1 - numbers.Value(table(design), modified, column.Name)/numbers.Value(table(design), original, column.Name))
			if limit := mostSaved(jobs(k), slots); saved > limit {
				beyond = append(beyond, fmt.Sprintf("%.0f %% in %s with %s (at most %.0f %%; tasks would have to differ by scheduler by a factor of %.1f)", saved, design, column.Name, limit, (100-limit)/(100-saved)))
			}
		}
	}
	note("A", jobsOfA)
	note("B", jobsOfB)
	return fmt.Sprintf("Of the %d published gains, %d are beyond what the best order of jobs on all slots can give if all tasks take equal time: %s.", all, len(beyond), strings.Join(beyond, ", "))
}

func jobsOfA(k int) []int { return slices.Repeat([]int{jobSizes[k/3]}, jobCounts[k%3]) }

// jobsOfB returns the sizes of jobs in ascending order.
func jobsOfB(k int) []int {
	list := slices.Repeat(sizes, k+1)
	slices.Sort(list)
	return list
}

// mostSaved is the time in percent that the shortest job first on all slots saves
// against Original, both in whole waves of equal maps.
func mostSaved(jobs []int, slots int) float64 {
	return 100 * (1 - shortestFirst(jobs, slots)/sharedWaves(jobs, slots))
}

// shortestFirst returns in how many waves of maps the jobs end, in the mean, if
// they run one after the other, the shortest first.
func shortestFirst(jobs []int, slots int) float64 {
	before, sum := 0, 0
	for _, maps := range slices.Sorted(slices.Values(jobs)) {
		before += maps
		sum += (before + slots - 1) / slots
	}
	return float64(sum) / float64(len(jobs))
}

// sharedWaves returns the same for Original: each wave shares the slots between
// the pools, at most 6 each, and in a pool between its jobs. What cannot be
// shared evenly goes to the pool and the job with most left, which keeps jobs
// level.
func sharedWaves(jobs []int, slots int) float64 {
	const most = 6
	left, sum := slices.Clone(jobs), 0
	for wave := 1; slices.Max(left) > 0; wave++ {
		running := make([]int, len(left))
		var ofPool, leftOf [pools]int
		for i := range left {
			leftOf[i%pools] += left[i]
		}
		for range slots {
			next := -1 // the job that gets the slot
			for i := range left {
				p := i % pools
				if left[i] == running[i] || ofPool[p] == most {
					continue
				}
				if next < 0 || cmp.Or(ofPool[p]-ofPool[next%pools], leftOf[next%pools]-leftOf[p], p-next%pools, running[i]-running[next], left[next]-left[i]) < 0 {
					next = i
				}
			}
			if next < 0 {
				break
			}
			running[next]++
			ofPool[next%pools]++
		}
		for i := range left {
			if left[i] -= running[i]; left[i] == 0 && running[i] > 0 {
				sum += wave
			}
		}
	}
	return float64(sum) / float64(len(jobs))
}

// signed writes a saving as a change of time.
func signed(e stats.Estimate) string {
	return fmt.Sprintf("%s [%s, %s]", percent(-e.Value), percent(-e.Hi), percent(-e.Lo))
}

// percent writes a change in percent with its sign; 0 has none.
func percent(x float64) string {
	if text := fmt.Sprintf("%+.1f", x); text != "-0.0" && text != "+0.0" {
		return text + " %"
	}
	return "0 %"
}
