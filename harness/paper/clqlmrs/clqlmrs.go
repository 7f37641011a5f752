// Package clqlmrs contains the experiments of Ghazali, Adabi, Rezaee, Down,
// Movaghar, "CLQLMRS: improving cache locality in MapReduce job scheduling
// using Q-learning", Journal of Cloud Computing 11:45 (2022).
//
// Ours is compared with numbers in the paper's text only: it prints none for
// the curves of its Figures 5 to 9 and for most cells of its Tables 3 to 5. The
// scheduler model itself is in package model below this one.
package clqlmrs

import (
	"embed"

	"heddle/harness/paper"
	"heddle/harness/sched"
)

//go:embed live.yaml lab.yaml
var experiments embed.FS

//go:embed published.csv
var publishedFile []byte

// Labels of the schedulers, as the paper names them.
const fifo, delay, acl, acl2, acl5, learner = "FIFO", "Delay", "ACL", "ACL C=2", "ACL C=5", "CLQLMRS"

// Labels of the controls.
const matching, random, acl0, greedy = "matching", "random", "ACL C=0", "cached first"

// four are the schedulers of all figures except Figure 5, which has fifth.
var four, fifth = []string{fifo, delay, acl, learner}, []string{fifo, acl2, acl5, learner}

// Paper returns the experiments of the paper on CLQLMRS.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name:   "clqlmrs",
		Title:  "CLQLMRS: improving cache locality in MapReduce job scheduling using Q-learning",
		Source: "Ghazali, Adabi, Rezaee, Down, Movaghar, Journal of Cloud Computing 11:45 (2022)",
		Setup:  standard,
		Schedulers: []paper.Scheduler{
			{Label: fifo, Model: "fifo"},
			{Label: delay, Model: "delay"},
			{Label: acl, Model: "acl", Params: sched.Params{"c": "3"}},
			{Label: acl2, Model: "acl", Params: sched.Params{"c": "2"}},
			{Label: acl5, Model: "acl", Params: sched.Params{"c": "5"}},
			{Label: learner, Model: "clqlmrs"},
		},
		Claimant: learner,
		Controls: []paper.Scheduler{
			{Label: matching, Model: "matching"},
			{Label: random, Model: "random"},
			{Label: acl0, Model: "acl", Params: sched.Params{"c": "0"}},
			{Label: greedy, Model: "cached-first"},
		},
		Bars: []string{matching, acl0, greedy},
		Axes: axes,
		Readings: []paper.Reading{
			{Name: "default", Set: map[string]string{"clqlmrs.reward": "step", "clqlmrs.episode": "job"}},
			{Name: "repaired", Set: map[string]string{"clqlmrs.reward": "step", "clqlmrs.episode": "job", "clqlmrs.episodes": "1000"}},
		},
		Designs:     designs(),
		Parts:       parts,
		Claims:      claims,
		NotJudged:   notJudged,
		Explain:     explain,
		Numbers:     numbers,
		Measures:    measures,
		Curves:      "apps",
		Facts:       facts,
		Experiments: experiments,
	}
}

// axes are what the paper leaves open, or says so that it can be read in more
// than one way. Those that are chosen make the matrix.
var axes = []paper.Axis{
	{Name: "reward", Sets: "clqlmrs.reward", Chosen: true, About: "what a placement is worth", Values: []paper.Value{
		{
			Value: "cumulative",
			Mark:  paper.Printed,
			Why:   "a fixed weight times the number of tasks that have achieved the locality, in all five formulas",
		},
		{Value: "step", Mark: paper.Ours, Why: "the weight alone; the paper's worked example fits both"},
	}},
	{Name: "episode", Sets: "clqlmrs.episode", Chosen: true, About: "when an episode of training ends", Values: []paper.Value{
		{
			Value: "wave",
			Mark:  paper.Printed,
			Why:   "no task is left, or all slots are busy",
		},
		{Value: "job", Mark: paper.Ours, Why: "no task is left; slots come free again"},
	}},
	{Name: "episodes", Sets: "clqlmrs.episodes", Chosen: true, Alone: true, About: "how long the learner is trained", Values: []paper.Value{
		{Value: "46030", Mark: paper.Inferred, Why: "not given: until epsilon, by the decay that is printed, is .01"},
		{Value: "1000", Mark: paper.Ours, Why: "epsilon ends at .90"},
		{Value: "5000", Mark: paper.Ours, Why: "epsilon ends at .61"},
	}},
	{Name: "table", Sets: "clqlmrs.table", Chosen: true, About: "of which actions the learner keeps values", Values: []paper.Value{
		{
			Value: "task",
			Mark:  paper.Printed,
			Why:   "five states times tasks times nodes",
		},
		{Value: "class", Mark: paper.Ours, Why: "25 values for any job: locality of the last and of the next task"},
	}},
	{Name: "execution", Sets: "clqlmrs.splits", Chosen: true, About: "how the trained table is used", Values: []paper.Value{
		{
			Value: "asSubmitted",
			Mark:  paper.Inferred,
			Why:   "closed loop: the best of what is free, as it comes free",
		},
		{Value: "plan", Mark: paper.Inferred, Why: "the placement that training ended with, as it is"},
	}},
	{
		Name:   "offering",
		Sets:   paper.Offering,
		Chosen: true,
		About:  "on which nodes schedulers may start tasks at a heartbeat",
		Values: []paper.Value{
			{
				Value: paper.OfferPrivilege,
				Mark:  paper.Printed,
				Why:   "the learner lists all free slots; the others see the node that reported, as in Hadoop",
			},
			{Value: paper.OfferAll, Mark: paper.Ours, Why: "every scheduler may start tasks on all free nodes"},
			{Value: paper.OfferReported, Mark: paper.Ours, Why: "every scheduler on the node that reported"},
		},
	},
	{Name: "containers", Chosen: true, About: "how many containers a node has", Values: []paper.Value{
		{
			Value: "8",
			Mark:  paper.Printed,
			Why:   "remaining parameters have Hadoop's defaults: 8 GB for containers of 1 GB",
		},
		{Value: "ram", Mark: paper.Ours, Why: "2, 3 and 4 by the nodes' memory, half of which is the system's and the cache's"},
	}},
	{Name: "cacheBy", Chosen: true, About: "how the cache's size is divided among nodes", Values: []paper.Value{
		{Value: "equal", Mark: paper.Inferred, Why: "not given"}, {Value: "spare", Mark: paper.Inferred, Why: "by what each node has above 3 GB"},
	}},
	{Name: "cut", Chosen: true, About: "which blocks the cache holds", Values: []paper.Value{
		{
			Value: "whole",
			Mark:  paper.Ours,
			Why:   "as many as all nodes' caches together could hold",
		},
		{Value: "node", Mark: paper.Inferred, Why: "as many whole blocks as each node's cache holds"},
	}},
	{
		Name:   "training",
		Sets:   paper.Training,
		Chosen: true,
		About:  "whether a job waits until the learner is trained for it",
		Values: []paper.Value{
			{
				Value: "free",
				Mark:  paper.Inferred,
				Why:   "execution times are given without it, though it is named as the method's limit",
			},
			{Value: "20us", Mark: paper.Ours, Why: "so much for each task placed in training, about what a step of a Gym environment costs"},
		},
	},
	{Name: "join", Chosen: true, About: "what the Join query is", Values: []paper.Value{
		{
			Value: "stages",
			Mark:  paper.Printed,
			Why:   "multiple-stage; later stages read what earlier ones wrote",
		},
		{Value: "single", Mark: paper.Ours, Why: "its first job alone"},
	}},
	{Name: "actuator", Chosen: true, About: "how decisions are carried out", Values: []paper.Value{
		{
			Value: "ideal",
			Mark:  paper.Printed,
			Why:   "at once, on the task named",
		},
		{Value: "labels", Mark: paper.Ours, Why: "as on a real cluster: node labels bring the container, the ApplicationMaster chooses its task"},
	}},
	{
		Name:   "update",
		Sets:   "clqlmrs.update",
		Chosen: true,
		Alone:  true,
		About:  "towards which next action a value moves",
		Values: []paper.Value{
			{
				Value: "sarsa",
				Mark:  paper.Printed,
				Why:   "the one taken: formula, flow chart and both algorithms",
			},
			{Value: "q", Mark: paper.Inferred, Why: "the best: the title says Q-learning"},
		},
	},
	{Name: "waiting", Sets: "delay.form", About: "how Delay counts its patience", Values: []paper.Value{
		{
			Value: "skips",
			Mark:  paper.Inferred,
			Why:   "neither D nor W is given: one opportunity a node",
		},
		{Value: "time", Mark: paper.Inferred, Why: "5 s for the node and 5 s for the rack"},
	}},
	{Name: "maps", Chosen: true, Alone: true, About: "the size of the input, in blocks", Values: []paper.Value{
		{
			Value: "100",
			Mark:  paper.Printed,
			Why:   "the most of Table 4, and near what Figure 5 needs: 25 points more for 4 GB more of cache is an input of 16 GB at most",
		},
		{
			Value: "480",
			Mark:  paper.Printed,
			Why:   "60 GB: of which 8 GB of cache is 13 %, so that no scheduler reaches the 25 points of Figure 5 or the 55 % of Table 4",
		},
	}},
	{
		Name:   "compute",
		Of:     paper.Cost,
		Chosen: true,
		About:  "computing times, against those assumed for the applications",
		Values: []paper.Value{
			{Value: "1", Mark: paper.Ours},
			{Value: "0.5", Mark: paper.Ours},
			{Value: "0.2", Mark: paper.Ours},
			{Value: "2", Mark: paper.Ours},
		},
	},
	{
		Name:   "disk",
		Of:     paper.Cost,
		Chosen: true,
		About:  "rate of a node's disk",
		Values: []paper.Value{
			{Value: "120MB/s", Mark: paper.Inferred, Why: "one disk of the time"},
			{Value: "60MB/s", Mark: paper.Ours},
			{Value: "30MB/s", Mark: paper.Ours},
			{Value: "240MB/s", Mark: paper.Ours},
		},
	},
	{
		Name:   "link",
		Of:     paper.Cost,
		Chosen: true,
		About:  "rate of a node's link",
		Values: []paper.Value{{Value: "10Gbit", Mark: paper.Printed}, {Value: "1Gbit", Mark: paper.Ours}},
	},
	{
		Name:   "beat",
		Of:     paper.Cost,
		Chosen: true,
		About:  "time between a node's heartbeats",
		Values: []paper.Value{
			{Value: "1s", Mark: paper.Inferred, Why: "Hadoop's default"},
			{Value: "300ms", Mark: paper.Ours},
			{Value: "3s", Mark: paper.Ours},
		},
	},
	{
		Name:   "slowstart",
		Of:     paper.Cost,
		Chosen: true,
		About:  "share of maps that are done before reduces start",
		Values: []paper.Value{
			{Value: "1", Mark: paper.Ours, Why: "reduces take no map's place"},
			{Value: "0.05", Mark: paper.Inferred, Why: "Hadoop's default"},
		},
	},
}

var facts = []paper.Fact{
	{
		Item: "cluster",
		Is:   "6 DataNodes of 4, 6, 8, 4, 6, 8 GB in 2 racks, odd and even; 4 cores each; no limit between racks",
		Why:  "as published",
	},
	{Item: "HDFS", Is: "replication 3, one cached copy a block, blocks of 128 MB unless they vary", Why: "as published"},
	{Item: "cache", Is: "8 GB unless it varies, of all nodes together", Why: "8 GB on each of nodes with 4 to 8 GB of memory cannot be"},
	{
		Item: "input",
		Is:   "12.5 GB in 100 maps, all applications, each with blocks of its own; 64 % cached",
		Why:  "the paper prints 100 maps too; 60 GB and 1 TB, as it also prints, leave 13 and 0.8 % cached",
	},
	{Item: "10 to 100 maps", Is: "60 % cached for all numbers of maps"},
	{Item: "arrival", Is: "each job alone, one run a seed; all schedulers see the same blocks and durations"},
	{Item: "D of Delay and ACL", Is: "6 opportunities, one a node", Why: "not given"},
	{Item: "applications", Is: "ratios of output to input from what the jobs do, computing times assumed; 8 reduces", Why: "not given"},
	{Item: "the ApplicationMaster", Is: "on the NameNode's machine, in no worker's way"},
}
