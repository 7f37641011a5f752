package steer

import (
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/require"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// idleLabel is the node label of workers on which no container may start: no job asks
// for this label.
const idleLabel = require.Parking

// Setup has the facts of a cluster that stay the same while it is steered.
type Setup struct {
	Address       string   // address of the ResourceManager, used only in messages
	AMLabel       string   // label of the nodes that ApplicationMasters start on
	Queue         string   // leaf queue whose jobs may use the node labels of steering
	Triples       []string // numbers NN of the node labels aNN (for ApplicationMasters), mNN (maps) and rNN (reduces), such as "00"
	Beat          time.Duration
	Smallest      state.Resource // YARN's minimum allocation: container sizes are rounded up to it
	CountCores    bool
	LocalityDelay bool // whether YARN's node-locality delay is set; steering must switch it off
	// GrantLimit is how long YARN may take at least to grant a container after a node
	// got a job's node label; where containers took long lately, YARN may take longer,
	// up to a minute, and until enough is known 4 times as long. 0 means 5 s, or ten NodeManager heartbeats if that is longer.
	GrantLimit time.Duration
	// MapSlots and ReduceSlots, if not 0, are how many maps and reduces a worker runs
	// at the same time at most. Memory and cores limit them too.
	MapSlots, ReduceSlots int32
	// Keep names hosts of workers that are not steered, so that they serve jobs
	// submitted by others. Those jobs would otherwise wait forever.
	Keep []string
}

// NoLocalityDelay switches off YARN's node-locality delay. YARN then grants a job a
// container on a node with the job's node label at once, even for a map whose input is
// elsewhere.
var NoLocalityDelay = yarnclient.SchedulerChange{Global: map[string]string{require.Queues + "node-locality-delay": "-1"}}

// worker says whether the node may be steered: it runs, is not in Keep, and has either
// no label or one of the labels that steering gives to workers ("idle", mNN or rNN).
func (s *Setup) worker(n yarnclient.Node) bool {
	label := n.Label()
	return n.State == "RUNNING" && !slices.Contains(s.Keep, n.Host) && (label == "" || require.InPool(label) && label[0] != 'a')
}

func (s *Submission) label(k state.Kind) string { return k.Letter() + s.Number }

func (s *Submission) amLabel() string { return "a" + s.Number }

// Settings returns the MapReduce properties that jobs of the Submission must have.
func (o *Options) Settings(s *Submission) map[string]string {
	if o.Actuator == config.ActuatorNone && (o.Splits == "" || o.Splits == config.SplitsAsSubmitted) {
		return nil // only the nodes' capacity is changed, and YARN schedules the jobs as always
	}
	am := o.Setup.AMLabel
	if o.Splits != "" && o.Splits != config.SplitsAsSubmitted {
		am = s.amLabel()
	}
	settings := map[string]string{
		"mapreduce.job.queuename":                o.Setup.Queue,
		"mapreduce.job.am.node-label-expression": am,
	}
	if o.Actuator != config.ActuatorNone {
		settings["mapreduce.map.node-label-expression"] = s.label(state.Map)
		settings["mapreduce.reduce.node-label-expression"] = s.label(state.Reduce)
		settings["mapreduce.map.speculative"] = "false"
		settings["mapreduce.reduce.speculative"] = "false"
		settings["mapreduce.job.ubertask.enable"] = "false"
		settings["yarn.app.mapreduce.am.job.node-blacklisting.enable"] = "false"
	}
	return settings
}
