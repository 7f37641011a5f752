package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/traces/printable"
)

// mostNamed is how many queues the first sentence names of those with a difference.
const mostNamed = 3

// p95 is the place of the 95th percentile among the parts of a change; that of the mean is 0.
const p95 = 2

// alike is how many seconds a difference is surely below that the first sentence does not name.
const alike = 1

// looked is the part of waits by which queues are compared first: the 95th percentile, or the mean
// if no queue has jobs enough for an interval of that.
func (r *Report) looked() (part int, text string) {
	if slices.ContainsFunc(r.of(measure.ByQueue), func(g *Group) bool { return g.Waiting.Parts[p95].CI95.Bounded() }) {
		return p95, "95th percentile"
	}
	return 0, "mean"
}

// headline says what changes for whom, in completion times and waits, and how sure that is.
func (r *Report) headline() string {
	var refused []string
	all := r.Groups[0]
	at, what := r.looked()
	ends, some := r.clause(completion, 0, "complete", "sooner", "later")
	waits, others := r.clause(waiting, at, "wait", "less", "longer")
	text := fmt.Sprintf("With %s in place of %s, %s (means). Waits for the first task (%s): %s.", r.New, r.Old, ends, what, waits)
	if ends == "" {
		text = fmt.Sprintf("No job is left to compare, with %s in place of %s.", r.New, r.Old)
	} else if all.Waiting.Longer+all.Waiting.Shorter+all.Completion.Longer+all.Completion.Shorter == 0 && !some && !others {
		text = fmt.Sprintf("Nothing changes for jobs that both accept, with %s in place of %s.", r.New, r.Old)
	}
	for _, g := range r.of(measure.ByQueue) {
		if g.New.Refused+g.Old.Refused > 0 {
			refused = append(refused, fmt.Sprintf("%.4g of %s of %s (before: %.4g)", g.New.Refused, printable.Count(g.Jobs, "job"), name(g),
				g.Old.Refused))
		}
	}
	if len(refused) > 0 {
		text = "YARN refuses " + printable.First(mostNamed, refused) + ". " + text
	}
	if (some || others) && !r.LeftOut.Known() {
		text += " Other work of the cluster is "
		if math.IsNaN(float64(r.LeftOut.HeldPct)) {
			text += "not known"
		} else {
			text += percent(100-r.LeftOut.HeldPct) + " of all"
		}
		text += ", so none of this is shown for the cluster."
	}
	return text
}

// clause says how a part of a property changes by queue, in words for what jobs do, and whether
// anything of it can be told.
func (r *Report) clause(property, at int, do, less, more string) (text string, some bool) {
	var told, open, same []*Group
	part := func(g *Group) *Part { return &g.changes()[property].Parts[at] }
	for _, g := range r.of(measure.ByQueue) {
		switch p := part(g); {
		case max(g.Old.Refused, g.New.Refused) >= float64(g.Jobs): // none is left to compare
		case p.CI95[0] > -alike && p.CI95[1] < alike:
			same = append(same, g)
		case p.Says == compare.Shown, p.Says == compare.JustShown, p.Says == InHistories:
			told = append(told, g)
		default:
			open = append(open, g)
		}
	}
	slices.SortFunc(told, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(math.Abs(part(b).difference()), math.Abs(part(a).difference())), cmp.Compare(a.Name, b.Name))
	})
	var parts []string
	for _, g := range told[:min(len(told), mostNamed)] {
		p, word := part(g), more
		if p.difference() < 0 {
			word = less
		}
		parts = append(parts, fmt.Sprintf("jobs of %s %s %s %s (%s, was %s; 95 %% interval %s to %s: %s)", name(g), do,
			seconds(math.Abs(p.difference())), word, seconds(float64(p.New)), seconds(float64(p.Old)), signed(p.CI95[0]), signed(p.CI95[1]), p.Says))
	}
	if n := len(told) - mostNamed; n > 0 {
		parts = append(parts, "it changes in "+printable.Count(n, "other queue"))
	}
	if len(open) > 0 {
		parts = append(parts, fmt.Sprintf("it cannot be told whether jobs of %s %s %s or %s", names(open), do, less, more))
	}
	if len(same) > 0 {
		parts = append(parts, fmt.Sprintf("jobs of %s %s as before, within %d s", names(same), do, alike))
	}
	return strings.Join(parts, ", "), len(told) > 0
}

// of returns the groups of a kind.
func (r *Report) of(by string) (list []*Group) {
	for _, g := range r.Groups {
		if g.By == by {
			list = append(list, g)
		}
	}
	return list
}

func name(g *Group) string {
	return cmp.Or(g.Name, map[string]string{"": "all jobs"}[g.By], "(not named)")
}

// marked is the group's name, with a mark if it has applications of Spark.
func marked(g *Group) string {
	if g.Spark == 0 {
		return name(g)
	}
	return fmt.Sprintf("%s (%d of Spark)", name(g), g.Spark)
}

func names(list []*Group) string {
	var all []string
	for _, g := range list {
		all = append(all, name(g))
	}
	return printable.First(mostNamed, all)
}

func seconds(s float64) string { return doc.DurationText(1000 * s) }

func signed(s float64) string {
	if s < 0 {
		return "-" + seconds(-s)
	}
	return "+" + seconds(s)
}

// Doc returns the report as a document. basis says what the simulation takes for granted.
func (r *Report) Doc(basis doc.Doc) doc.Doc {
	_, what := r.looked()
	d := doc.Doc{doc.Heading(r.New + " in place of " + r.Old), doc.Lead(r.Headline)}
	if len(r.Differs) > 0 {
		t := doc.NewTable("what differs", "key", "old", "new")
		for _, x := range r.Differs {
			t.Add(x[0], cmp.Or(x[1], "-"), cmp.Or(x[2], "-"))
		}
		d = append(d, doc.Subheading("What differs between the files"), t)
	}
	d = append(append(d, doc.Heading("What is left out"), doc.List(r.LeftOut.Lines)), basis...)
	d = append(d, doc.Heading("By queue"), doc.Subheading("Waits for the first task, "+what+": "+r.New+" minus "+r.Old), r.forest())
	for _, n := range []int{waiting, completion, slowdown} {
		p := measure.JobProperties()[n]
		d = append(d, doc.Subheading(strings.ToUpper(p.Title[:1])+p.Title[1:]), r.table(n, p))
	}
	d = append(d, doc.Subheading("Use of the cluster, and jobs that did not succeed"), r.useTable(), doc.List(r.refusals()),
		doc.Heading("By user: waits, "+what), r.users())
	return append(d, doc.Heading("How sure"), doc.Text(r.how()))
}

// how says where the intervals are from.
func (r *Report) how() string {
	preempted := "nothing is preempted"
	if all := r.Groups[0]; all.Old.Preempted+all.New.Preempted > 0 {
		preempted = "or their containers are preempted, and the tasks run again: what these attempts had done is lost"
	}
	text := fmt.Sprintf("Each of %s is simulated under both files with the same seed (%s), and compared with itself. Intervals are of %s "+
		"of %.4g h: how much the difference would be in other such times. Jobs of one block depend on each other; what carries over to the "+
		"next block widens the interval (jackknife of blocks, adjusted for the correlation of neighbours). All queues of a table, and all "+
		"users, hold together (Bonferroni). Longer and shorter count jobs that change by more than 1 s and by more than a tenth; jobs that "+
		"one backlog delays are no independent cases, so many of them prove little. %s: as large a difference comes by chance in fewer than 1 "+
		"of 100 cases; %s: in fewer than 5; %s: in more, or too few jobs to tell. A percentile has an interval if %d jobs are beyond it, of "+
		"several blocks; nothing has one where jobs that last longer than half a block have a tenth of the time, as in a backlog. Slowdown is "+
		"completion by the job's mean time without the wait, of both files, as %d s or more. Killed attempts are reduces that end so that "+
		"maps of their jobs can run; %s.",
		printable.Count(r.Jobs, "job"), printable.Count(r.Seeds, "seed"), printable.Count(r.Blocks, "block"), r.BlockHours,
		compare.Shown, compare.JustShown, compare.CannotTell, beyond, shortRun, preempted)
	if !r.LeftOut.Known() {
		text += fmt.Sprintf(" %s: chance does not explain it, but the jobs had less than %d %% of the cluster's container-hours, or it is not "+
			"known how much.", InHistories, mostlyHeld)
	}
	return text
}

// cells are the figures of a part: as recorded, under both files, and the difference.
func (p *Part) cells(unit string, recorded bool) (row []any) {
	if recorded {
		row = append(row, doc.Number(p.Recorded, unit))
	}
	says := doc.Words(p.Says)
	if p.Says == compare.Shown {
		says = says.In(map[bool]doc.Tone{true: doc.Good, false: doc.Bad}[p.difference() < 0])
	}
	return append(row, doc.Number(p.Old, unit), doc.Number(p.New, unit),
		doc.Difference(p.difference(), p.CI95[0], p.CI95[1], unit).Rounded(map[string]int{"s": 1, "x": 2}[unit]), says)
}

// columns are those of cells behind the given ones.
func (r *Report) columns(first ...string) []string {
	if r.ran {
		first = append(first, "recorded")
	}
	return append(first, "old", "new", "difference", "verdict")
}

// table has the parts of a property by group, all jobs last.
func (r *Report) table(n int, p *measure.Property) *doc.Table {
	t := doc.NewTable(p.Title, r.columns("queue", "jobs", "longer", "shorter", "of")...)
	for _, g := range append(r.of(measure.ByQueue), r.Groups[0]) {
		c := g.changes()[n]
		for i := range c.Parts {
			row := []any{marked(g), c.Jobs, c.Longer, c.Shorter}
			if i > 0 {
				row = []any{"", "", "", ""}
			}
			t.Add(append(append(row, c.Parts[i].Of), c.Parts[i].cells(p.Unit, r.ran)...)...)
		}
	}
	return t
}

// forest draws the differences of waits by queue.
func (r *Report) forest() *doc.Forest {
	nan := math.NaN()
	part, what := r.looked()
	f := &doc.Forest{Name: "waits", Title: "Waits, " + what, Shared: true, What: "queue", Ours: "difference, 95 %"}
	for _, g := range r.of(measure.ByQueue) {
		p := &g.Waiting.Parts[part]
		f.Rows = append(f.Rows, doc.ForestRow{
			Name: name(g), Unit: "s", Ours: doc.Point{Value: p.difference(), Lo: p.CI95[0], Hi: p.CI95[1]}, Verdict: p.Says,
			Asked: nan, Published: nan, Room: doc.Point{Value: nan},
		})
	}
	return f
}

// useTable has what queues used of the cluster beside what they are guaranteed, and what became
// of their jobs. Columns without any figure are left out.
func (r *Report) useTable() *doc.Table {
	t := doc.NewTable("use of queues, and jobs that did not succeed", "queue", "old share", "old used", "new share", "new used")
	list := append(r.of(measure.ByQueue), r.Groups[0])
	rows := make([][]any, len(list))
	for i, g := range list {
		rows[i] = []any{
			marked(g), r.share(0, g.Name), doc.Number(g.Old.UsedPct, "%").Short(), r.share(1, g.Name), doc.Number(g.New.UsedPct, "%").Short(),
		}
	}
	for k, name := range counted {
		if *r.Groups[0].Old.counts()[k]+*r.Groups[0].New.counts()[k] == 0 {
			continue
		}
		t.Columns = append(t.Columns, "old "+name, "new "+name)
		for i, g := range list {
			rows[i] = append(rows[i], doc.Number(*g.Old.counts()[k], "").Short(), doc.Number(*g.New.counts()[k], "").Short())
		}
	}
	for _, row := range rows {
		t.Add(row...)
	}
	return t
}

// refusals are why YARN refuses jobs under the new file.
func (r *Report) refusals() (list []string) {
	for _, reason := range r.Groups[0].Refusals {
		list = append(list, r.New+": "+reason)
	}
	return list
}

// share is what a queue is guaranteed, and what it may use at most, under one side.
func (r *Report) share(side int, queue string) doc.Cell {
	q, err := r.files[side].Leaf(queue)
	if err != nil {
		q, err = r.files[side].Leaf("root." + queue)
	}
	if err != nil {
		return doc.Words("-")
	}
	label := ""
	if r.LeftOut.labelled() {
		label = q.DefaultLabel
	}
	has, all := r.LeftOut.byLabel[label], 0.0
	for _, x := range r.LeftOut.byLabel {
		all += float64(x.MemoryMB)
	}
	s := r.files[side].Shares(has, label)[q.Index]
	return doc.Span(100*float64(s.Part)*float64(has.MemoryMB)/all, 100*float64(s.Most.MemoryMB)/all, "%")
}

// mostUsers is how many users a table has.
const mostUsers = 50

// users has the waits of users, those with the most jobs first.
func (r *Report) users() doc.Part {
	list := r.of(measure.ByUser)
	part, _ := r.looked()
	slices.SortStableFunc(list, func(a, b *Group) int { return cmp.Compare(b.Jobs, a.Jobs) })
	t := doc.NewTable("waits of users", r.columns("user", "jobs")...)
	for _, g := range list[:min(len(list), mostUsers)] {
		t.Add(append([]any{marked(g), g.Jobs}, g.Waiting.Parts[part].cells("s", r.ran)...)...)
	}
	return t
}
