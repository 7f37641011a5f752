package modfair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// conclusion says in which experiments Modified does more than the best of three
// settings of Original by 5 % or more.
func conclusion(d *paper.Data) string {
	var list, best []string
	for _, design := range []string{"A", "B"} {
		bar, over := d.Best(func(d *paper.Data, bar string) paper.Effect {
			return paper.Effect{Estimate: savedIn(d, design, bar, modified), Least: 5}
		})
		if best = append(best, fmt.Sprintf("“%s” in %s", bar, design)); over.Verdict() == paper.Holds {
			list = append(list, design)
		}
	}
	return fmt.Sprintf(
		"Modified gains 5 %% or more over the best of three settings of Original in %s. The best are %s.",
		cmp.Or(strings.Join(list, ", "), "neither experiment"),
		strings.Join(best, " and "),
	)
}

// layout says which layouts of blocks the paper's own tables exclude.
func layout(d *paper.Data) string {
	least, most := d.Stated("table6", "all schedulers", "least"), d.Stated("table6", "all schedulers", "most")
	text := fmt.Sprintf("In Table 6, %.0f to %.0f %% of maps are node-local.", least, most)
	g := d.Grid("layouts", original)
	for k, layout := range g.Columns {
		ours, can := stats.MeanShare(g.Shares(original, paper.LocalRate, k)), "allows"
		if ours.Lo > most || ours.Hi < least {
			can = "excludes"
		}
		text += fmt.Sprintf(" With layout=%s, Original has %s, which the table %s.", layout, paper.Text(ours, "%"), can)
	}
	return text
}

// ceiling says which published gains are beyond what the shortest job first on all
// slots saves, where all maps take about equally long.
func ceiling(d *paper.Data) string {
	var beyond []string
	for id, x := range map[string]string{"table5": "A, best order", "table7": "B, best order"} {
		g := d.Grid(x, original, fifo)
		for k, column := range g.Columns {
			saved := 100 * (1 - d.Stated(id, modified, column)/d.Stated(id, original, column))
			if limit := paper.Saved(g.Seconds(original, k), g.Seconds(fifo, k)); saved > limit.Hi {
				beyond = append(
					beyond,
					fmt.Sprintf(
						"%.0f %% in %s with %s (at most %.0f %%; tasks would have to differ by scheduler by a factor of %.1f)",
						saved,
						x[:1],
						column,
						limit.Value,
						(100-limit.Value)/(100-saved),
					),
				)
			}
		}
	}
	slices.Sort(beyond)
	return "Published gains beyond what the shortest job first on all slots saves if all maps take equally long: " + cmp.Or(
		strings.Join(beyond, ", "),
		"none",
	) + "."
}
