// Package modfair contains the experiments of Lo, Cheng, "Improving the
// Performance of Fair Scheduler in Hadoop", ASTESJ 2(3) 1050-1058 (2017).
//
// The paper changes the Fair Scheduler of Hadoop 1.2.1 by five mechanisms, M1 to
// M5. The scheduler models are fair1, fifo1 and modfair in package model below this
// one. Task times are made up: the paper gives none, and times of its own cluster
// per wave differ by scheduler and size in a way that it does not explain.
package modfair

import (
	"embed"
	"slices"
	"strings"

	"heddle/harness/paper"
	"heddle/harness/sched"
)

//go:embed live.yaml lab.yaml jobs.jsonl
var experiments embed.FS

//go:embed published.csv
var publishedFile []byte

// Labels of the schedulers, as the paper names them.
const original, modified, fifo = "Original", "Modified", "FIFO"

// limits are the minimum and the maximum of each user's pool in map slots.
func limits(more ...string) sched.Params {
	p := sched.Params{"minMaps": "*=3", "maxMaps": "*=6"}
	for i := 0; i < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return p
}

// base has the delay that the paper gives for the original scheduler.
func base(more ...string) sched.Params {
	return limits(append([]string{"nodeDelayMs", "3000"}, more...)...)
}

// Paper returns the experiments of the paper on the Modified Fair Scheduler.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name:   "modfair",
		Title:  "Improving the Performance of Fair Scheduler in Hadoop",
		Source: "Lo, Cheng, Advances in Science, Technology and Engineering Systems Journal 2(3) 1050-1058 (2017)",
		Setup:  standard,
		Schedulers: slices.Concat(
			[]paper.Scheduler{
				{Label: original, Model: "fair1", Params: base()},
				{Label: modified, Model: "modfair", Params: base()},
				{Label: fifo, Model: "fifo1"},
			},
			stock,
			ablation(),
		),
		Claimant: modified,
		Bars:     []string{noDelay, fifoInPools, noMaximum},
		Controls: slices.Concat(stock, []paper.Scheduler{
			{Label: "Original, 450 ms", Model: "fair1", Params: limits()},
			{Label: fifo, Model: "fifo1"},
			{Label: "Modified without M4", Model: "modfair", Params: base("mechanisms", "m1+m2+m3+m5"), Ablated: true},
		}),
		Axes:    axes,
		Designs: []paper.Design{designA, designB, sameA, bestA, bestB, layouts()},
		Parts:   parts(),
		Claims:  claims,
		Numbers: numbers,
		NotJudged: []paper.NotJudged{
			{
				Says: "locality is " + numbers.Text("text", modified, "turnaround by locality") + " of turnaround (section 4.2)",
				Why:  "no size is named; the price of a remote map says how much locality can count for here",
			},
			{Says: "few small jobs mean at most one small job for each slave (section 3.1)", Why: "it follows only if each job has one slot"},
			{Says: "M4 raises locality (Table 2)", Why: "section 4.1 says that only M5 looks at locality, which F12 judges"},
		},
		Measures:    measures,
		Facts:       facts,
		Explain:     explain,
		Experiments: experiments,
	}
}

// stock are settings of the original scheduler that anybody can choose.
const noDelay, fifoInPools, noMaximum = "Original, no delay", "Original, no delay, FIFO in pools", "Original, no maximum"

var stock = []paper.Scheduler{
	{Label: noDelay, Model: "fair1", Params: limits("nodeDelayMs", "0")},
	{Label: fifoInPools, Model: "fair1", Params: limits("nodeDelayMs", "0", "inPool", "fifo")},
	{Label: noMaximum, Model: "fair1", Params: sched.Params{"minMaps": "*=3", "nodeDelayMs": "3000"}},
}

// mechanisms are the paper's five, by the names that the model has for them.
var mechanisms = []string{"m1", "m2", "m3", "m4", "m5"}

// alone and without are labels of the modified scheduler with one mechanism, and
// with all others.
func alone(m string) string   { return m + " alone" }
func without(m string) string { return "without " + m }

// added are the labels of a waterfall from Original to Modified.
func added() []string {
	return []string{original, alone("m1"), "m1+m2", "m1+m2+m3", without("m5"), modified}
}

// ablated are the labels of each mechanism alone, and of all others.
func ablated() (list []string) {
	for _, m := range mechanisms {
		list = append(list, alone(m), without(m))
	}
	return list
}

func ablation() (list []paper.Scheduler) {
	add := func(label, has string) {
		list = append(list, paper.Scheduler{Label: label, Model: "modfair", Params: base("mechanisms", has)})
	}
	for _, label := range added()[2:4] {
		add(label, label)
	}
	for _, m := range mechanisms {
		add(alone(m), m)
		add(without(m), strings.Replace("+m1+m2+m3+m4+m5", "+"+m, "", 1)[1:])
	}
	return list
}

// axes are what the paper leaves open, and our costs. Almost all change a verdict, as axes=all
// shows. Those that move the paper's main claims, F1, F4 and F6, most are chosen: a run folder has
// room for the rows of 23 readings with 20 seeds.
var axes = []paper.Axis{
	{
		Name:   "layout",
		Chosen: true,
		About:  "where the only replica of each block is",
		Values: []paper.Value{
			{
				Value: "hot",
				Mark:  paper.Inferred,
				Why: "not given: on one node, as HDFS does if that node uploads the file; of the three, it is nearest to the locality of the " +
					"paper's tables",
			},
			{Value: "hotRack", Mark: paper.Ours, Why: "on the nodes of one server"},
			{
				Value: "spread",
				Mark:  paper.Ours,
				Why:   "on any node, as if written from outside the cluster; the locality of the paper's tables excludes it",
			},
		},
	},
	{
		Name:   "order",
		Chosen: true,
		About:  "in which order jobs of different sizes are submitted",
		Values: []paper.Value{
			{Value: "shuffled", Mark: paper.Ours, Why: "not given"},
			{Value: "ascending", Mark: paper.Ours},
			{Value: "descending", Mark: paper.Ours},
		},
	},
	{
		Name:   "wait",
		Sets:   "modfair.wait",
		Chosen: true,
		About:  "what M4 takes the mean of",
		Values: []paper.Value{
			{Value: "passedOver", Mark: paper.Inferred, Why: "the time for which the job was passed over, as Hadoop counts it"},
			{Value: "pending", Mark: paper.Inferred, Why: "the time since the task became pending: waiting time is not defined"},
		},
	},
	{
		Name:   "share",
		Sets:   "modfair.share",
		Chosen: true,
		About:  "which slots M2 divides among pools",
		Values: []paper.Value{
			{Value: "free", Mark: paper.Printed, Why: "the remaining free slots, added to what a pool runs, at most 6 in all"},
			{Value: "total", Mark: paper.Inferred, Why: "all slots but sharedPool's, since running tasks hold their pool's"},
			{Value: "freeOnly", Mark: paper.Inferred, Why: "the remaining free slots; 6 limits only what is added, so that pools pass it"},
		},
	},
	{
		Name:   "mostPending",
		Sets:   "modfair.mostPending",
		Chosen: true,
		About:  "where M3 puts the job with most pending tasks",
		Values: []paper.Value{
			{Value: "first", Mark: paper.Printed},
			{Value: "last", Mark: paper.Inferred, Why: "the stated motive is shortest job first"},
		},
	},
	{
		Name:   "table3",
		Sets:   "modfair.table3",
		Chosen: true,
		Alone:  true,
		About:  "M5 after an off-rack map and a node-local one",
		Values: []paper.Value{
			{Value: "printed", Mark: paper.Printed, Why: "the priority falls, which equals another row and must be a misprint"},
			{Value: "repaired", Mark: paper.Inferred, Why: "it rises, by the rule that the prose has"},
		},
	},
	{
		Name:   "owner",
		Sets:   "modfair.owner",
		Chosen: true,
		About:  "what M4's two timers belong to, and which maps are drawn after both",
		Values: []paper.Value{
			{Value: "pool", Mark: paper.Printed, Why: "section 3.4 says pool"},
			{Value: "job", Mark: paper.Inferred, Why: "as in Hadoop"},
		},
	},
	{
		Name:  "meanOf",
		Sets:  "modfair.delayMean",
		About: "which launches M4 takes the mean of",
		Values: []paper.Value{
			{Value: "all", Mark: paper.Printed, Why: "the counters described"},
			{Value: "recent", Mark: paper.Inferred, Why: "the text says recently"},
		},
	},
	{
		Name:   "rackTimer",
		Sets:   "modfair.rackTimer",
		About:  "when M4's long timer begins",
		Values: []paper.Value{{Value: "afterNode", Mark: paper.Inferred, Why: "as in Hadoop"}, {Value: "sameStart", Mark: paper.Inferred}},
	},
	{
		Name:   "emptyDelay",
		Sets:   "modfair.emptyDelayMs",
		About:  "M4's delay in ms before the first launch",
		Values: []paper.Value{{Value: "3000", Mark: paper.Ours, Why: "as configured for the original"}, {Value: "0", Mark: paper.Ours}},
	},
	{
		Name:   "pick",
		Sets:   "modfair.pick",
		About:  "which map starts after both delays",
		Values: []paper.Value{{Value: "random", Mark: paper.Printed}, {Value: "next", Mark: paper.Inferred, Why: "as in Hadoop"}},
	},
	{
		Name:  "endLevel",
		Sets:  "modfair.endLevel",
		About: "when M5 steps back from the highest or lowest priority",
		Values: []paper.Value{
			{Value: "table", Mark: paper.Printed},
			{Value: "prose", Mark: paper.Printed, Why: "the prose differs from the table"},
		},
	},
	{
		Name:   "round",
		Sets:   "modfair.round",
		About:  "how M2's shares become whole slots",
		Values: []paper.Value{{Value: "remainder", Mark: paper.Ours}, {Value: "floor", Mark: paper.Ours}, {Value: "ceil", Mark: paper.Ours}},
	},
	{
		Name:   "cap",
		Sets:   "modfair.cap",
		Chosen: true,
		About:  "whether pools may use slots that all others leave",
		Values: []paper.Value{
			{Value: "hard", Mark: paper.Printed, Why: "section 4.2 has an upper bound"},
			{Value: "borrow", Mark: paper.Printed, Why: "section 2.2 has pools that borrow"},
		},
	},
	{
		Name:   "grant",
		Sets:   "modfair.grant",
		About:  "when sharedPool gets its slots",
		Values: []paper.Value{{Value: "once", Mark: paper.Printed, Why: "when it is enabled without any"}, {Value: "each", Mark: paper.Inferred}},
	},
	{
		Name:   "sharedPlace",
		Sets:   "modfair.sharedPlace",
		About:  "when sharedPool is served",
		Values: []paper.Value{{Value: "first", Mark: paper.Ours}, {Value: "sorted", Mark: paper.Ours}, {Value: "last", Mark: paper.Ours}},
	},
	{
		Name:   "sharedOrder",
		Sets:   "modfair.sharedOrder",
		About:  "the order of jobs in sharedPool",
		Values: []paper.Value{{Value: "fifo", Mark: paper.Printed}, {Value: "factors", Mark: paper.Printed}},
	},
	{
		Name:  "minimum",
		Sets:  "modfair.minimum",
		About: "whether a minimum that M3 lowered rises again",
		Values: []paper.Value{
			{Value: "ratchet", Mark: paper.Printed, Why: "no: the text assigns it"},
			{Value: "afresh", Mark: paper.Ours, Why: "yes: it is taken anew each time"},
		},
	},
	{
		Name:   "baseDelay",
		Sets:   original + ".nodeDelayMs",
		Chosen: true,
		Alone:  true,
		About:  "ms that Original's jobs wait for a node with their input, and again for its rack",
		Values: []paper.Value{
			{Value: "3000", Mark: paper.Printed},
			{Value: "-1", Mark: paper.Inferred, Why: "Hadoop's default is 450 ms on 8 nodes"},
			{Value: "0", Mark: paper.Ours},
		},
	},
	{
		Name:  "basePool",
		Sets:  original + ".inPool",
		About: "the order of jobs in Original's pools",
		Values: []paper.Value{
			{Value: "fair", Mark: paper.Inferred, Why: "Hadoop's default"},
			{Value: "fifo", Mark: paper.Inferred, Why: "the other stock setting; the paper names none"},
		},
	},
	{
		Name:  "baseMaximum",
		Sets:  original + ".maxMaps",
		About: "map slots that Original's pools may use",
		Values: []paper.Value{
			{Value: "*=6", Mark: paper.Inferred, Why: "the limits are given for each user pool"},
			{Value: "*=32", Mark: paper.Inferred, Why: "the limits are M2's alone"},
		},
	},
	{
		Name:   "arrival",
		Of:     paper.Cost,
		Chosen: true,
		Alone:  true,
		About:  "when jobs are submitted",
		Values: []paper.Value{
			{Value: "together", Mark: paper.Ours, Why: "not given"},
			{Value: "apart", Mark: paper.Ours, Why: "2 s apart"},
			{Value: "poisson", Mark: paper.Ours, Why: "2 s apart in the mean"},
		},
	},
	{
		Name:  "cores",
		Of:    paper.Cost,
		About: "a node's cores, which its tasks share",
		Values: []paper.Value{
			{Value: "2", Mark: paper.Printed, Why: "dual-core"},
			{Value: "0", Mark: paper.Ours, Why: "tasks do not slow each other"},
		},
	},
	{
		Name:  "map",
		Of:    paper.Cost,
		About: "computing time of a map",
		Values: []paper.Value{
			{Value: "40s", Mark: paper.Ours, Why: "not given"},
			{Value: "145s", Mark: paper.Ours, Why: "about what the paper's times per wave say"},
		},
	},
	{
		Name:   "uplink",
		Of:     paper.Cost,
		Chosen: true,
		About:  "rate between the two servers",
		Values: []paper.Value{
			{Value: "200Mbit", Mark: paper.Ours, Why: "not given"},
			{Value: "25Mbit", Mark: paper.Ours, Why: "two buildings: remote maps then cost more than waiting"},
		},
	},
	{
		Name:   "slowstart",
		Of:     paper.Cost,
		About:  "share of a job's maps that end before its reduce starts",
		Values: []paper.Value{{Value: "0.05", Mark: paper.Inferred, Why: "Hadoop's default"}, {Value: "1", Mark: paper.Ours}},
	},
}

var facts = []paper.Fact{
	{Item: "cluster", Is: "8 slaves on 2 servers, each server a rack; 2 cores each", Why: "as printed; the master is a slave too"},
	{Item: "slots of a node", Is: "4 map and 1 reduce slot in experiment A, 2 and 1 in B", Why: "as printed"},
	{
		Item: "pools",
		Is:   "3 of equal weight, minimum 3 and maximum 6 map slots; jobs are in them by turns",
		Why:  "as printed; 5 and 10 jobs cannot be spread evenly",
	},
	{
		Item: "original",
		Is:   "fair1 with 3 s for the node and 3 s for the rack",
		Why:  "the paper calls 3000 ms Hadoop's default; on 8 nodes it is 450 ms",
	},
	{Item: "replication", Is: "1", Why: "as printed"},
	{
		Item: "jobs",
		Is:   "WordCount, 1 reduce each; A: 5, 10, 15 jobs of 6, 10 or 18 maps; B: 6, 10, 16, 21 and 25 maps, each once, twice or three times",
		Why:  "as printed",
	},
	{
		Item: "task times",
		Is:   "40 s of computing for 64 MiB, 20 s for a reduce, 20 % up and down; links of 1 Gbit/s, 200 Mbit/s between servers",
		Why:  "ours: the paper gives none",
	},
	{Item: "left out", Is: "the control FIFO with sharedPool, since sharedPool is one of pools, which FIFO does not have"},
	{Item: "not simulated", Is: "setup and cleanup tasks, speculation, failures, paging of machines with 4 GB"},
}
