package replay_test

import (
	"fmt"
	"os"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
)

const trace = "../fidelity/testdata/run/trials/r01-wordcount-yarn/trace.heddle"

// A run of a real cluster again, under the scheduler it had and two models. Tasks
// take as long as they took then.
func ExampleOutcomes() {
	measured, err := recorded.Load(trace)
	if err != nil {
		panic(err)
	}
	var replays []replay.Config
	for _, name := range []string{"yarn", "fifo", "delay"} {
		replays = append(replays, replay.Config{Trace: measured, Model: config.Model{Label: name, Model: name}, Seed: 1})
	}
	outcomes, err := replay.Outcomes(replays)
	if err != nil {
		panic(err)
	}
	if err := doc.WriteText(os.Stdout, replay.Doc(outcomes, nil), false); err != nil {
		panic(err)
	}
	// Output:
	// model  actuator  splits       seed  jobs  makespan  mean completion  cache  node  rack  off  digest
	// yarn   none      asSubmitted  1        2   56.58 s          47.02 s      0    32     0    0  c5e3b8278fc3e252
	// fifo   labels    asSubmitted  1        2   60.53 s          48.74 s      0    27     5    0  0a95e971fbc0103b
	// delay  labels    asSubmitted  1        2   59.83 s          49.77 s      0    31     1    0  7e8f63c60db5a86d
}

// The same jobs on a cluster that nobody has: twice the nodes, faster disks. Tasks
// take what was fitted to the trace.
func ExampleCalibrate() {
	measured, err := recorded.Load(trace)
	if err != nil {
		panic(err)
	}
	costs, err := replay.Calibrate([]*recorded.Trace{measured}, recorded.Change{}, "")
	if err != nil {
		panic(err)
	}
	larger := recorded.Change{Nodes: 2 * len(measured.Nodes)}
	if err := larger.Disk.Set("500MB/s"); err != nil {
		panic(err)
	}
	for _, change := range []recorded.Change{{}, larger} {
		r, header, err := replay.Run(&replay.Config{
			Trace: measured, Model: config.Model{Label: "fifo", Model: "fifo"}, Seed: 1,
			Change: change, Calibration: costs, Modelled: true,
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d nodes: %.0f s\n", len(header.Cluster.Nodes), float64(r.MakespanMs)/1000)
	}
	// Output:
	// 4 nodes: 58 s
	// 8 nodes: 34 s
}
