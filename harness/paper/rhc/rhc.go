// Package rhc contains the experiments of Tan, Meng, Zhang, "Improving ReduceTask Data
// Locality for Sequential MapReduce Jobs", INFOCOM 2013.
//
// The paper gives each reduce slot a cost for a byte that is fetched there, and proposes
// receding horizon control (RHC): a job with little data leaves the cheapest slots to the
// next one. Its main experiment is a Monte Carlo simulation of slots and jobs, without
// HDFS, tasks and heartbeats: the set-up of this package is that simulation. The rules
// are in package policy below this one.
package rhc

import (
	"embed"
	"fmt"
	"maps"

	"heddle/harness/paper"
	"heddle/harness/sched"
)

//go:embed live.yaml fig3.yaml lab.yaml jobs.jsonl
var experiments embed.FS

//go:embed published.csv
var publishedFile []byte

var numbers = paper.MustNumbers("harness/paper/rhc/published.csv", publishedFile)

// Labels of the schedulers.
const (
	claimant, greedy, random = "RHC", "Greedy", "Random"
	lawOfR, coin             = "law of R", "coin"
	eighth, quarter          = "constant 1/8", "constant 1/4"
	known, optimal, printed  = "RHC, load known", "Optimal", "Optimal, printed form"
	lowest                   = "bound"
)

// Paper returns the experiments of the paper on receding horizon control.
func Paper() *paper.Paper {
	controls := []paper.Scheduler{
		{Label: greedy, Model: "greedy"},
		{Label: random, Model: "random"},
		{Label: coin, Model: "coin"},
		{Label: eighth, Model: "constant", Params: sched.Params{"p": "0.125"}},
		{Label: quarter, Model: "constant", Params: sched.Params{"p": "0.25"}},
		{Label: lawOfR, Model: "lawOfR"},
	}
	return &paper.Paper{
		Name:   "rhc",
		Title:  "Improving ReduceTask Data Locality for Sequential MapReduce Jobs",
		Source: "Tan, Meng, Zhang, IEEE INFOCOM 2013",
		Setup:  standard,
		Schedulers: append([]paper.Scheduler{
			{Label: claimant, Model: "rhc"},
			{Label: known, Model: "known"},
			{Label: optimal, Model: "optimal"},
			{Label: printed, Model: "optimal", Params: sched.Params{"form": "printed"}},
			{Label: lowest, Model: "bound"},
		}, controls...),
		Claimant: claimant,
		Controls: controls,
		Bars:     []string{greedy},
		Axes:     axes,
		Readings: []paper.Reading{
			{Name: "correlated", Set: map[string]string{"service": "size"}},
			{Name: "skewed", Set: map[string]string{"sizes": "rare"}},
		},
		Designs:     designs(),
		Parts:       parts(),
		Claims:      claims,
		Numbers:     numbers,
		Facts:       facts,
		NotJudged:   notJudged,
		Explain:     explain,
		Experiments: experiments,
		Measures: []paper.Measure{
			{Name: "saving over Greedy at 0.6", Unit: "%", Of: savedAt(greedy, claimant, 4)},
			{Name: "largest possible saving there", Unit: "%", Of: savedAt(greedy, lowest, 4)},
			{Name: "saving over Random at 0.6", Unit: "%", Of: savedAt(random, claimant, 4)},
		},
	}
}

var axes = []paper.Axis{
	{Name: "sizes", Chosen: true, About: "the law of a job's data, which ranges from 1 to 100", Values: []paper.Value{
		{Value: "uniform", Mark: paper.Inferred, Why: "whole numbers, each as likely; the law is not said"},
		{Value: "perReduce", Mark: paper.Inferred, Why: "the range is of each reduce task, all of a job equal"},
		{Value: "own", Mark: paper.Inferred, Why: "each reduce task draws its own"},
		{Value: "even", Mark: paper.Ours, Why: "1 or 100"},
		{
			Value: "rare",
			Mark:  paper.Ours,
			Why:   "100 with the probability of the axis rare, else 1: found by searching for what comes near to the claims",
		},
		{Value: "log", Mark: paper.Ours, Why: "uniform in the logarithm"},
	}},
	{Name: "costs", Chosen: true, About: "the law of slot costs", Values: []paper.Value{
		{
			Value: "real",
			Mark:  paper.Printed,
			Why:   "uniform on [1,100]",
		},
		{Value: "integer", Mark: paper.Inferred},
		{Value: "fromZero", Mark: paper.Ours, Why: "uniform on [0,100]: the best slots then cost almost nothing"},
	}},
	{Name: "service", Chosen: true, About: "how long a job's maps take", Values: []paper.Value{
		{
			Value: "exponential",
			Mark:  paper.Printed,
			Why:   "section V-B",
		},
		{Value: "withSize", Mark: paper.Inferred, Why: "exponential, with a mean in proportion to the data: Remark 1"},
		{Value: "size", Mark: paper.Inferred, Why: "in proportion to the data: Remark 1"},
	}},
	{
		Name:   "reduces",
		Chosen: true,
		About:  "the number of reduce tasks of a job",
		Values: []paper.Value{{Value: "uniform", Mark: paper.Inferred, Why: "1 to 10, each as likely"}, {Value: "ten", Mark: paper.Ours}},
	},
	{Name: "queue", Chosen: true, About: "how jobs share the cluster", Values: []paper.Value{
		{
			Value: "sharing",
			Mark:  paper.Printed,
			Why:   "processor sharing, as the paper's model has it",
		},
		{Value: "fifo", Mark: paper.Ours, Why: "one after the other; jobs that wait hold slots"},
		{Value: "none", Mark: paper.Ours, Why: "each as if alone"},
	}},
	{
		Name:   "list",
		Chosen: true,
		About:  "the ordered list of slots, whose first ones a deferred job leaves alone",
		Values: []paper.Value{
			{Value: "free", Mark: paper.Ours, Why: "of free slots"},
			{Value: "all", Mark: paper.Inferred, Why: "of all slots; taken ones are skipped"},
		},
	},
	{
		Name:   "present",
		Chosen: true,
		About:  "the jobs present when one comes",
		Values: []paper.Value{
			{Value: "others", Mark: paper.Ours, Why: "without that job: only so is the formula of p right"},
			{Value: "all", Mark: paper.Inferred, Why: "with it"},
		},
	},
	{
		Name:   "p",
		Sets:   "rhc.p",
		Chosen: true,
		About:  "the probability that a job is still there when the next one comes",
		Values: []paper.Value{
			{Value: "window", Mark: paper.Printed, Why: "estimated from the last jobs"},
			{Value: "known", Mark: paper.Ours, Why: "computed from the load"},
		},
	},
	{
		Name:   "next",
		Sets:   "rhc.next",
		Chosen: true,
		About:  "the number of reduce tasks of the next job",
		Values: []paper.Value{
			{Value: "same", Mark: paper.Printed, Why: "as many as this job has"},
			{Value: "law", Mark: paper.Ours, Why: "by its law, as R varies from 1 to 10"},
		},
	},
	{
		Name:   "tau",
		Sets:   "rhc.tau",
		Chosen: true,
		About:  "the number of jobs that estimates are made from",
		Values: []paper.Value{
			{Value: "100", Mark: paper.Ours, Why: "not given"},
			{Value: "10", Mark: paper.Ours},
			{Value: "1000", Mark: paper.Ours},
		},
	},
	{
		Name:   "rare",
		About:  "with sizes=rare, the probability of a large job",
		Values: []paper.Value{{Value: "0.1", Mark: paper.Ours}, {Value: "0.05", Mark: paper.Ours}, {Value: "0.2", Mark: paper.Ours}},
	},
	{Name: "links", Of: paper.Cost, About: "links of the nodes of Figure 10", Values: []paper.Value{
		{Value: "uneven", Mark: paper.Inferred, Why: "1 Gbit/s, and a half to a fifth: costs from 1 to 5 can be learnt only if nodes differ"},
		{Value: "even", Mark: paper.Ours, Why: "1 Gbit/s each: there is nothing to learn"},
	}},
}

var facts = []paper.Fact{
	{
		Item: "slots and jobs",
		Is:   "1,000 reduce slots, 50,000 jobs, at most 100 at once; loads of 0.2 to 0.6",
		Why:  "as printed; at most 100, so that there is always room",
	},
	{
		Item: "a seed",
		Is:   "one draw of slot costs and one stream of jobs, the same for all rules",
		Why:  "only the 10 to 30 cheapest slots matter, so that one draw decides much; the paper's run is one draw",
	},
	{Item: "cost", Is: "the sum over reduce tasks of slot cost times data, divided by the number of jobs", Why: "as printed"},
	{Item: "start", Is: "an empty system; no job is left out; the window of estimates is empty", Why: "ours"},
	{
		Item: "bound",
		Is:   "what no rule can be below that knows all jobs before, seed by seed",
		Why:  "the most data that k slots can take, for each k",
	},
	{
		Item: "cluster of Figure 10",
		Is: "15 nodes of 4 map and 2 reduce slots in two racks with uplinks of 1 Gbit/s; maps by delay scheduling; the costs of slots, 1 to 5, " +
			"are learnt from the times of the reduces of 15 Sort jobs before",
		Why: "the paper gives neither its network nor how a time becomes one of five costs",
	},
}

// loads are the loads of Figure 9.
var loads = []float64{0.2, 0.3, 0.4, 0.5, 0.6}

func loadName(k int) string { return fmt.Sprint(loads[k]) }

// literal are the values of V-B as the specification reads it, which checks rest on
// whatever the reading is.
var literal = map[string]string{
	"sizes":   "uniform",
	"costs":   "real",
	"service": "exponential",
	"reduces": "uniform",
	"queue":   "sharing",
	"list":    "free",
	"present": "others",
}

func designs() []paper.Design {
	over := func(id string, set map[string]string) paper.Design {
		d := paper.Design{ID: id, X: "load"}
		for k := range loads {
			c := paper.In(loadName(k), "load", loadName(k))
			maps.Copy(c.Set, set)
			d.Columns = append(d.Columns, c)
		}
		return d
	}
	with := func(name, value string) map[string]string {
		set := maps.Clone(literal)
		set[name] = value
		return set
	}
	batches := paper.Design{ID: "batches", X: "jobs that stay until all have come"}
	for _, n := range []string{"2", "5", "10", "20"} {
		batches.Columns = append(batches.Columns, paper.Column{Name: n, Set: with("batch", n)})
	}
	return []paper.Design{
		over(
			"loads",
			nil,
		),
		over("literal", with("batch", "0")),
		over("correlated", map[string]string{"service": "size"}),
		over("skewed", with("sizes", "rare")),
		{ID: "fig10", Columns: []paper.Column{{Name: "15 nodes", Set: map[string]string{"cluster": "fig10"}}}},
		batches,
		{ID: "none", X: ""},
	}
}
