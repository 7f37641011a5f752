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
const fifo, fair, adaptive, reverse, edf, ofMean = "FIFO", "Fair", "Adaptive", "Reverse", "EDF", "Reverse, mean"

// shown are the schedulers of all figures.
var shown = []string{fifo, fair, adaptive, reverse, edf}

// Paper returns the experiments of the paper on Reverse-Adaptive.
func Paper() *paper.Paper {
	stock := []paper.Scheduler{
		{Label: edf, Model: "edf"},
		{Label: fair, Model: "adaptive", Params: sched.Params{"need": "none"}},
		{Label: fifo, Model: "fifo"},
	}
	mean := paper.Scheduler{Label: ofMean, Model: "reverse", Params: sched.Params{"forecast": "mean"}}
	return &paper.Paper{
		Name:   "reverse",
		Title:  "Adaptive MapReduce Scheduling in Shared Environments",
		Source: "Narayan, Vinay M, Vinay A, Sagar R, Nithin S, IJERT ICESMART (2015), after Polo et al., CCGrid (2014)",
		Setup:  standard,
		Schedulers: append([]paper.Scheduler{
			{Label: adaptive, Model: "adaptive"}, {Label: reverse, Model: "reverse"}, mean,
		}, stock...),
		Claimant: reverse,
		Controls: append([]paper.Scheduler{
			{Label: "Reverse, present", Model: "reverse", Params: sched.Params{"forecast": "now"}},
			{Label: "Adaptive, forecast", Model: "adaptive", Params: sched.Params{"need": "forecast"}},
		}, stock...),
		Bars:        []string{ofMean},
		Axes:        axes,
		Designs:     designs(),
		Parts:       parts(),
		Claims:      claims(),
		Sized:       paper.Sized{Claims: []string{"R2-missed", "R2-lateness", "R2-p90", "R6"}, Seeds: 10, Set: map[string]string{"jobs": "200"}},
		Numbers:     numbers,
		Measures:    measures,
		Facts:       facts,
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
		Is: "when half of a job's maps are done: with its share of the slots at that time, no more slots than pending maps, running maps " +
			"counted by what is left of them; Reverse foresees the slots, Adaptive takes those of that time for ever",
		Why: "the paper defines no measure of its third claim",
	},
	{Item: "not simulated", Is: "reduces, preemption, jobs without goals"},
}
