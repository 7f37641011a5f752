// Package learning contains the experiments of Dhok, Varma, "Using Pattern
// Classification for Task Assignment in MapReduce" (IIIT Hyderabad).
//
// The paper does not say what load a task puts on a node. Here it is 4 divided by the
// number of tasks that Figure 11 prints, so that those numbers are no result. The
// scheduler models learning and load-rule are in package model below this one; load
// averages are those of the kernel's formula.
package learning

import (
	"embed"

	"heddle/harness/paper"
	"heddle/harness/sched"
)

//go:embed live.yaml long.yaml lab.yaml
var experiments embed.FS

//go:embed published.csv
var publishedFile []byte

// numbers are the numbers of the paper.
var numbers = paper.MustNumbers("harness/paper/learning/published.csv", publishedFile)

// Labels of the schedulers. Native is Hadoop's FIFO with the published five slots.
const (
	learner, native, rule, rule85, nearest = "learning", "native", "rule", "rule at .85", "slots"
	shuffled, equal, fresh                 = "learning, hints shuffled", "learning, hints equal", "learning, fresh each run"
)

var slots5 = paper.Scheduler{Label: native, Model: "fifo", Set: map[string]string{"slots": "5"}}

// Paper returns the experiments of the paper on pattern classification.
func Paper() *paper.Paper {
	controls := []paper.Scheduler{
		{Label: rule, Model: "load-rule"},
		{Label: rule85, Model: "load-rule", Params: sched.Params{"gate": "0.85"}},
		{Label: nearest, Model: "fifo", Set: map[string]string{"slots": "nearest"}},
		{Label: "always good", Model: "load-rule", Params: sched.Params{"gate": "0"}},
		{Label: "random", Model: "load-rule", Params: sched.Params{"gate": "0"}, Set: map[string]string{"chance": "matched"}},
		{Label: shuffled, Model: "learning", Set: map[string]string{"hints": "shuffled"}, Ablated: true},
		{Label: "FIFO, 11 slots", Model: "fifo", Set: map[string]string{"slots": "11"}},
		{Label: fresh, Model: "learning", Set: map[string]string{"state": "fresh"}, Ablated: true},
	}
	equalHints := paper.Scheduler{Label: equal, Model: "learning", Set: map[string]string{"hints": "equal"}}
	return &paper.Paper{
		Name:       "learning",
		Title:      "Using Pattern Classification for Task Assignment in MapReduce",
		Source:     "Dhok, Varma, IIIT Hyderabad; code learnsched, December 2009",
		Setup:      standard,
		Schedulers: append([]paper.Scheduler{{Label: learner, Model: "learning"}, slots5, equalHints}, controls...),
		Claimant:   learner,
		Controls:   controls,
		Bars:       []string{rule, rule85},
		Axes:       axes,
		Readings: []paper.Reading{
			{Name: "as coded", Set: map[string]string{
				"learning.trainOn": "all", "learning.escape": "forced", "learning.gate": "1", "learning.label": "margin", "learning.boost": "2",
				"learning.unseen": "one", "learning.cap": "10000", "learning.choose": "all", "learning.mapsUntil": "ended",
			}},
		},
		Designs:     designs(),
		Parts:       parts(),
		Claims:      claims,
		NotJudged:   notJudged,
		Numbers:     numbers,
		Measures:    measures,
		Facts:       facts,
		Explain:     explain,
		Experiments: experiments,
	}
}

func values(printed string, why string, more ...paper.Value) []paper.Value {
	return append([]paper.Value{{Value: printed, Mark: paper.Printed, Why: why}}, more...)
}

func coded(value string) paper.Value { return paper.Value{Value: value, Mark: paper.Code} }
func ours(value string) paper.Value  { return paper.Value{Value: value, Mark: paper.Ours} }

// axes are the points that the paper leaves open. Where it says nothing, the first
// value is the plainest one.
var axes = []paper.Axis{
	{
		Name:   "trainOn",
		Sets:   "learning.trainOn",
		About:  "decisions that are learnt from",
		Chosen: true,
		Values: values("assignments", "the paper tells of judging an assigned task", coded("all")),
	},
	{
		Name:   "escape",
		Sets:   "learning.escape",
		About:  "when all jobs are bad",
		Chosen: true,
		Values: values("none", "nothing is assigned", coded("forced")),
	},
	{
		Name:   "gate",
		Sets:   "learning.gate",
		About:  "load, of the limit, at which a node gets nothing",
		Chosen: true,
		Values: values("0", "the paper has none", coded("1")),
	},
	{
		Name:   "label",
		Sets:   "learning.label",
		About:  "when a class is good",
		Chosen: true,
		Values: []paper.Value{{Value: "larger", Mark: paper.Inferred}, coded("margin"), coded("log")},
	},
	{Name: "tie", Sets: "learning.tie", About: "class of equal products", Chosen: true, Values: []paper.Value{ours("good"), ours("bad")}},
	{
		Name:   "boost",
		Sets:   "learning.boost",
		About:  "samples of a good judgement",
		Chosen: true,
		Values: []paper.Value{{Value: "1", Mark: paper.Inferred}, coded("2")},
	},
	{
		Name:   "unseen",
		Sets:   "learning.unseen",
		About:  "likelihood of a value not seen",
		Chosen: true,
		Values: []paper.Value{
			{Value: "addOne", Mark: paper.Inferred, Why: "a likelihood of 0 in both classes would leave most decisions to the tie"},
			coded("one"),
			{Value: "zero", Mark: paper.Inferred, Why: "a simple histogram"},
		},
	},
	{
		Name:  "score",
		Sets:  "learning.score",
		About: "probability in the expected utility",
		Values: []paper.Value{
			{Value: "product", Mark: paper.Printed, Why: "equation 4"},
			{Value: "posterior", Mark: paper.Printed, Why: "equation 1"},
		},
	},
	{
		Name:   "start",
		Sets:   "learning.start",
		About:  "before anything is learnt",
		Values: []paper.Value{coded("accept"), {Value: "refuse", Mark: paper.Inferred, Why: "nodes are underused at first, says the paper"}},
	},
	{
		Name:   "judgeAfter",
		Sets:   "learning.judgeAfter",
		About:  "heartbeats until a decision is judged",
		Chosen: true,
		Values: values("1", "the next heartbeat", ours("12")),
	},
	{Name: "cap", Sets: "learning.cap", About: "samples after which nothing is learnt", Values: values("0", "none", coded("10000"))},
	{
		Name:   "bins",
		Sets:   "learning.bins",
		About:  "bins of a load of 1",
		Chosen: true,
		Values: []paper.Value{coded("10"), ours("1"), ours("100")},
	},
	{
		Name:   "choose",
		Sets:   "learning.choose",
		About:  "candidates",
		Values: values("good", "the good job of the largest expected utility", coded("all")),
	},
	{
		Name:   "mapsUntil",
		Sets:   "learning.mapsUntil",
		About:  "until when maps have a utility",
		Values: []paper.Value{ours("started"), coded("ended")},
	},
	{
		Name:   "tieKind",
		Sets:   "learning.tieKind",
		About:  "a job's map and reduce of equal utility",
		Values: []paper.Value{coded("reduce"), coded("map")},
	},
	{
		Name:  "utility",
		Sets:  "learning.utility",
		About: "utility of a job",
		Values: values(
			"constant",
			"for Figures 9 and 11",
			paper.Value{Value: "fifo", Mark: paper.Printed},
			paper.Value{Value: "budget", Mark: paper.Printed, Why: "IV-B 3"},
			paper.Value{Value: "dedicated", Mark: paper.Printed},
			paper.Value{Value: "revenue", Mark: paper.Printed},
			coded("sjf"), coded("fair"), ours("priority"),
		),
	},
	{
		Name:   "classifier",
		Alone:  true,
		Sets:   "learning.classifier",
		About:  "classifier",
		Chosen: true,
		Values: values(
			"bayes",
			"all figures",
			paper.Value{Value: "perceptron", Mark: paper.Printed, Why: "equation 5"},
			coded("perceptronCoded"),
		),
	},
	{Name: "hints", Alone: true, About: "hints of jobs", Chosen: true, Values: values("given", "Figure 7", ours("equal"), ours("shuffled"))},
	{
		Name:   "times",
		Alone:  true,
		About:  "whether an overloaded node stretches its tasks",
		Chosen: true,
		Values: values("fixed", "tasks take 60 s, says Figure 11", ours("stretched")),
	},
	{
		Name:   "window",
		About:  "time that counts for loads and tasks",
		Values: values("run", "the mean during each run, on 10 GB", ours("steady")),
	},
	{
		Name:   "reduces",
		About:  "of each job",
		Values: []paper.Value{ours("0"), {Value: "1", Mark: paper.Inferred, Why: "WordCount has reduces"}},
	},
	{
		Name:   "taskTime",
		About:  "of the maps of Figure 9, which the paper does not give",
		Values: []paper.Value{{Value: "60s", Mark: paper.Inferred, Why: "as in Figure 11"}, ours("30s")},
	},
	{
		Name:   "grep",
		About:  "tasks of Grep on a node at a load of 4",
		Values: []paper.Value{{Value: "2.31", Mark: paper.Inferred, Why: "as WordCount"}, ours("5.09")},
	},
	{
		Name:   "noise",
		Alone:  true,
		About:  "of a task's load each time the kernel looks",
		Chosen: true,
		Values: []paper.Value{ours("0.15"), ours("0")},
	},
}

var facts = []paper.Fact{
	{Item: "cluster", Is: "7 workers of 4 CPUs, a heartbeat every 5 s"},
	{Item: "tasks", Is: "maps of 60 s, 5 % more or less, that wait for no data", Why: "the paper made its tasks take 60 s in Figure 11"},
	{
		Item: "load of a task",
		Is:   "4 divided by the tasks of Figure 11, 15 % more or less each time the kernel looks",
		Why:  "not given; so Figure 11 is no result, and L1 a check",
	},
	{Item: "load average", Is: "of 1 minute, by the kernel's formula every 5 s", Why: "overload is said to be judged by it"},
	{Item: "a run", Is: "160 maps; of Figures 8 1,120 maps of 31 s, of Figure 9 an hour, of Figure 10 as long as 1,500 decisions take"},
}
