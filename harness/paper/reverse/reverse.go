// Package reverse contains the experiments of Narayan, Vinay M, Vinay A, Sagar R,
// Nithin S, "Adaptive MapReduce Scheduling in Shared Environments", IJERT ICESMART
// (2015), which restates Polo, Becerra, Carrera, Torres, Ayguadé, Spreitzer,
// Steinder, CCGrid (2014).
//
// The paper gives its scheduler in words and claims without numbers. The scheduler
// models adaptive, reverse and edf are in package model below this one. The cluster,
// the jobs and the other load are ours.
package reverse

import (
	"embed"

	"heddle/harness/paper"
	"heddle/harness/sched"
)

//go:embed live.yaml quota.yaml lab.yaml jobs.jsonl
var experiments embed.FS

//go:embed published.csv
var publishedFile []byte

var numbers = paper.MustNumbers("harness/paper/reverse/published.csv", publishedFile)

// Labels of the schedulers.
const (
	fifo, fair, adaptive, reverse, edf = "FIFO", "Fair", "Adaptive", "Reverse", "EDF"
	ofMean, nearest, onePeriod         = "Reverse, mean", "Reverse, next goal alone", "Reverse, one period"
	anyNeed                            = "random needs"
)

// shown are the schedulers of all figures.
var shown = []string{fifo, fair, adaptive, reverse, edf}

// Paper returns the experiments of the paper on Reverse-Adaptive.
func Paper() *paper.Paper {
	stock := []paper.Scheduler{
		{Label: edf, Model: "edf"},
		{Label: fair, Model: "adaptive", Params: sched.Params{"need": "none"}},
		{Label: fifo, Model: "fifo"},
	}
	return &paper.Paper{
		Name:   "reverse",
		Title:  "Adaptive MapReduce Scheduling in Shared Environments",
		Source: "Narayan, Vinay M, Vinay A, Sagar R, Nithin S, IJERT ICESMART (2015), after Polo et al., CCGrid (2014)",
		Setup:  standard,
		Schedulers: append([]paper.Scheduler{
			{Label: adaptive, Model: "adaptive"},
			{Label: reverse, Model: "reverse"},
			{Label: ofMean, Model: "reverse", Params: sched.Params{"forecast": "mean"}},
			{Label: nearest, Model: "reverse", Params: sched.Params{"horizon": "next"}},
			{Label: onePeriod, Model: "reverse", Params: sched.Params{"horizon": "one"}},
			{Label: anyNeed, Model: "adaptive", Params: sched.Params{"need": "random"}},
		}, stock...),
		Claimant: reverse,
		Controls: append([]paper.Scheduler{
			{Label: "Reverse, present", Model: "reverse", Params: sched.Params{"forecast": "now"}},
			{Label: "Adaptive, forecast", Model: "adaptive", Params: sched.Params{"need": "forecast"}},
		}, stock...),
		Bars:        []string{ofMean, nearest, onePeriod, anyNeed, fair},
		Axes:        axes,
		Designs:     designs(),
		Parts:       parts(),
		Claims:      claims(),
		Sized:       paper.Sized{Claims: []string{"R2-missed", "R2-lateness", "R2-p90", "R6"}, Seeds: 10, Set: map[string]string{"jobs": "200"}},
		Numbers:     numbers,
		Measures:    measures,
		Facts:       facts,
		NotJudged:   notJudged,
		Explain:     explain,
		Experiments: experiments,
	}
}

var axes = []paper.Axis{
	{Name: "share", Sets: "reverse.share", Chosen: true, About: "how jobs share a period between two goals", Values: []paper.Value{
		{Value: "maxmin", Mark: paper.Ours, Why: "the text says the same utility, without a formula"},
		{Value: "ldf", Mark: paper.Ours, Why: "the latest goal first; the paper's example fits both"},
	}},
	{Name: "first", Sets: "reverse.first", Chosen: true, About: "the period whose need a plan gives out", Values: []paper.Value{
		{Value: "mean", Mark: paper.Ours, Why: "the mean until the first goal"},
		{Value: "cycle", Mark: paper.Inferred, Why: "the text has the need of the next cycle, and all else as late as possible"},
	}},
	{Name: "from", Sets: "reverse.from", Chosen: true, About: "what a plan of Reverse deals out", Values: []paper.Value{
		{Value: "running", Mark: paper.Inferred, Why: "free slots: a placement is enforced as tasks end"},
		{Value: "anew", Mark: paper.Ours, Why: "all slots, and jobs above their target get none until they are at it"},
	}},
	{Name: "pending", Sets: "adaptive+reverse.pending", About: "the maps that a job's work counts", Values: []paper.Value{
		{Value: "completed", Mark: paper.Printed, Why: "all that have not completed: the count changes when a map completes"},
		{Value: "waiting", Mark: paper.Ours, Why: "those that do not run yet"},
		{Value: "elapsed", Mark: paper.Ours, Why: "all, without what running maps have done"},
	}},
	{Name: "tasks", Sets: "reverse.tasks", Chosen: true, About: "what fits into a period between two goals", Values: []paper.Value{
		{Value: "seconds", Mark: paper.Ours, Why: "work as if it could be divided at will"},
		{Value: "half", Mark: paper.Ours, Why: "half a map's time less"},
		{Value: "whole", Mark: paper.Inferred, Why: "maps that begin and end in it: the text places whole tasks, and does not say how"},
	}},
	{Name: "back", About: "how slots are taken back", Values: []paper.Value{
		{Value: "ends", Mark: paper.Ours, Why: "as maps end; not said"},
		{Value: "kill", Mark: paper.Ours, Why: "at once: the youngest maps of the node are killed, and run again"},
	}},
	{Name: "replan", Sets: "adaptive+reverse.replan", About: "when a plan is made", Values: []paper.Value{
		{Value: "cycle", Mark: paper.Printed, Why: "each cycle, until whose end a plan is in force"},
		{Value: "jobs", Mark: paper.Ours, Why: "also when a job comes or ends"},
	}},
	{Name: "past", Sets: "adaptive+reverse.past", Chosen: true, About: "what a job needs whose goal is past", Values: []paper.Value{
		{Value: "urgent", Mark: paper.Ours, Why: "all that is left, as soon as can be; not said"},
		{Value: "none", Mark: paper.Ours, Why: "nothing"},
	}},
	{Name: "error", Chosen: true, About: "how R6 measures predictions at half of a job's maps", Values: []paper.Value{
		{Value: "own", Mark: paper.Ours, Why: "with the job's share of the slots then, by each scheduler's own forecast; the paper has none"},
		{Value: "present", Mark: paper.Ours, Why: "with that share of the slots then for ever, alike for all schedulers"},
		{Value: "alike", Mark: paper.Ours, Why: "as if all jobs were served alike from then on, by each scheduler's own forecast"},
		{Value: "late", Mark: paper.Ours, Why: "share of jobs of which the first one says wrongly whether they meet their goals"},
	}},
	{Name: "swing", Chosen: true, About: "period of the other load", Values: []paper.Value{
		{Value: "2h", Mark: paper.Ours, Why: "not given"}, {Value: "30m", Mark: paper.Ours}, {Value: "15m", Mark: paper.Ours},
	}},
	{Name: "load", About: "work of the jobs, by the slots that the other load leaves in the mean", Values: []paper.Value{
		{Value: "0.7", Mark: paper.Ours, Why: "not given"}, {Value: "0.5", Mark: paper.Ours},
	}},
	{Name: "lag", Chosen: true, About: "by how much the other load is told late", Values: []paper.Value{
		{
			Value: "0s",
			Mark:  paper.Printed,
			Why:   "known in advance",
		},
		{Value: "30m", Mark: paper.Ours, Why: "the introduction says that availability depends on what is not known beforehand"},
	}},
	{
		Name:   "noise",
		About:  "largest relative error of the other load as it is told",
		Values: []paper.Value{{Value: "0", Mark: paper.Printed, Why: "known in advance"}, {Value: "0.5", Mark: paper.Ours}},
	},
	{
		Name:   "told",
		About:  "whether the other load is told",
		Values: []paper.Value{{Value: "ahead", Mark: paper.Printed, Why: "known in advance"}, {Value: "none", Mark: paper.Ours}},
	},
	{
		Name:   "cycle",
		Sets:   "reverse.cycle",
		About:  "time from one plan to the next",
		Values: []paper.Value{{Value: "10s", Mark: paper.Ours, Why: "not given"}, {Value: "60s", Mark: paper.Ours}},
	},
	{
		Name:   "map",
		About:  "time of a map",
		Values: []paper.Value{{Value: "60s", Mark: paper.Ours, Why: "not given"}, {Value: "20s", Mark: paper.Ours}},
	},
	{
		Name:   "jobs",
		About:  "number of jobs",
		Values: []paper.Value{{Value: "400", Mark: paper.Ours, Why: "not given"}, {Value: "200", Mark: paper.Ours}},
	},
}

var facts = []paper.Fact{
	{Item: "cluster", Is: "4 nodes of 30 slots, all in one rack", Why: "ours; not given"},
	{
		Item: "other load",
		Is: "leaves 120·(0.5 − 0.4 sin 2πt/2h) slots in experiments 2 and 3, whole slots, 120 steps a period; experiment 3 halves that in " +
			"one twelfth of a period of four; running maps stay when slots go",
		Why: "ours; the paper has a transactional load that changes, and bursts",
	},
	{Item: "jobs", Is: "Poisson arrivals; maps lognormal with mean 60 and sigma 1; no reduces; no locality", Why: "ours; not given"},
	{
		Item: "goals",
		Is:   "1 to 2 (tight), 1.5 to 4 (mid), 1.5 to 10 (relaxed) times the time that a job takes alone on a quarter of the mean slots",
		Why:  "ours; not given",
	},
	{Item: "time that Hadoop takes", Is: "none; a slot that is free is given at once", Why: "ours"},
	{
		Item: "Fair",
		Is:   "adaptive without any need: the lowest share of its pending maps goes first",
		Why:  "a control: the utility loop without estimates",
	},
	{Item: "bursts", Is: "bursts are known ahead, as all of the other load", Why: "the text has known in advance"},
	{
		Item: "predictions",
		Is:   "when half of a job's maps are done: no more slots than pending maps, running maps counted by what is left of them",
		Why:  "the paper defines no measure of its third claim: see the axis error",
	},
}
