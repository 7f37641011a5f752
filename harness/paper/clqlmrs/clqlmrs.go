// Package clqlmrs contains the experiments of Ghazali, Adabi, Rezaee, Down,
// Movaghar, "CLQLMRS: improving cache locality in MapReduce job scheduling
// using Q-learning", Journal of Cloud Computing 11:45 (2022). They run in the
// simulator and on a cluster.
//
// Our figures are compared with numbers in the paper's text only: the paper
// prints no numbers for the curves of its Figures 5 to 9 and for most cells of
// its Tables 3 to 5. The scheduler model CLQLMRS itself is in package sched.
package clqlmrs

import (
	_ "embed"

	"heddle/harness/paper"
)

//go:embed live.yaml
var live []byte

// Paper returns the experiments of the paper on CLQLMRS.
func Paper() *paper.Paper {
	return &paper.Paper{
		Name:   "clqlmrs",
		Title:  "CLQLMRS: improving cache locality in MapReduce job scheduling using Q-learning",
		Source: "Ghazali, Adabi, Rezaee, Down, Movaghar, Journal of Cloud Computing 11:45 (2022)",
		Setup: []paper.Choice{
			{Item: "cluster", Taken: "6 DataNodes of 4, 6, 8, 4, 6, 8 GB in 2 racks, odd and even; 4 cores each; 10 Gb/s", Why: "as published"},
			{Item: "HDFS", Taken: "replication 3, one cached copy a block, blocks of 128 MB unless they vary", Why: "as published"},
			{Item: "cache", Taken: "8 GB unless it varies, of all nodes together: whole blocks, as many on each node as can be where replicas are", Why: "8 GB on each of nodes with 4 to 8 GB of memory cannot be"},
			{Item: "schedulers", Taken: "FIFO; Delay; ACL with C = 2, 5, else 3; CLQLMRS by SARSA with a reward per step", Why: "its formulas and its worked example; its title says Q-learning and its prose a cumulative reward, see learning"},
			{Item: "decisions", Taken: "carried out at once, on the task named", Why: "as the paper assumes; see actuators for what YARN makes of them"},
		},
		Open: []paper.Choice{
			{Item: "input", Taken: "100 maps of 128 MB (12.5 GB), all applications", Why: "60 GB and 1 TB, as printed, leave 13 and 0.8 % of the input cached, and no scheduler the 55 % of Table 4; 64 % cached do. Sensitivity: 60 GB"},
			{Item: "cache for fewer maps", Taken: "64 % of the maps, to the nearest map: 60 to 65 %; cached anywhere is what was measured"},
			{Item: "arrival", Taken: "each job alone. Sensitivity: all five at once"},
			{Item: "repeats", Taken: "one run a seed; all models see the same blocks and durations"},
			{Item: "heartbeat", Taken: "1 s, Hadoop's. Sensitivity: 0.3 and 3 s"},
			{Item: "containers a node", Taken: "2, 3, 4: one for 2 GB of memory, half of which is the system's and the cache's. Sensitivity: one for 1 GB"},
			{Item: "episodes", Taken: "until epsilon is 0.01 (46,030). See training"},
			{Item: "D of Delay and ACL", Taken: "6 opportunities, one a node. Sensitivity: Delay by time, 1.5 and 5 s"},
			{Item: "disks", Taken: "one of 120 MB/s a node, the rate of the time. Sensitivity: 60 and 240 MB/s"},
			{Item: "applications", Taken: "ratios of output to input from what the jobs do, compute times assumed, none measured on the paper's machines. Sensitivity: compute times halved and doubled"},
			{Item: "reduces", Taken: "8 a job, HiBench's default, after all its maps, so that they take no map's place. Sensitivity: from 5 % of the maps on, Hadoop's default"},
			{Item: "network", Taken: "10 Gb/s as published, no limit between racks. Sensitivity: 1 Gb/s"},
			{Item: "the ApplicationMaster", Taken: "on the NameNode's machine, in no worker's way"},
		},
		Parts: append(figures(), append(findings(), paper.Part{ID: "open", Kind: paper.Sensitivity, Title: "What the paper leaves open, and what comes of it: WordCount", Run: sensitivity})...),
		Rules: append(criteria(), ownRules()...),
		Live:  &paper.Live{Experiment: live},
	}
}
