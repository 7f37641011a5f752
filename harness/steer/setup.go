package steer

import (
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/require"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// idleLabel parks nodes.
const idleLabel = require.Parking

// Setup is what of a cluster holds for the whole of a steering.
type Setup struct {
	Address       string   // of the ResourceManager, for messages
	AMLabel       string   // of the nodes that ApplicationMasters start on
	Queue         string   // name of the leaf that may use the labels
	Triples       []string // "00" to "15"
	Beat          time.Duration
	Smallest      state.Resource // container
	CountCores    bool
	LocalityDelay bool // has to be switched off
	// GrantLimit is how long a container may take to appear; 0 is 5 s, or ten
	// heartbeats of the nodes if that is longer.
	GrantLimit time.Duration
	// Keep are workers, by host name, that stay as they are: for jobs that others
	// submit, which would wait else.
	Keep []string
}

// NoLocalityDelay has YARN take a node that was opened for a job at once, also
// for a map that is not local there.
var NoLocalityDelay = yarnclient.SchedulerChange{Global: map[string]string{require.Queues + "node-locality-delay": "-1"}}

// worker says whether a node is ours to move.
func (s *Setup) worker(n yarnclient.Node) bool {
	label := n.Label()
	return n.State == "RUNNING" && !slices.Contains(s.Keep, n.Host) && (label == "" || require.InPool(label) && label[0] != 'a')
}

func (s *Submission) label(k state.Kind) string { return k.Letter() + s.Number }

func (s *Submission) amLabel() string { return "a" + s.Number }

// Settings are the properties that the jobs of a Submission must have.
func (o *Options) Settings(s *Submission) map[string]string {
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
