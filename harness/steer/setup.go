package steer

import (
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/require"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// idleLabel is the label of parked nodes.
const idleLabel = require.Parking

// Setup is what holds for a cluster as long as it is steered.
type Setup struct {
	Address       string   // of the ResourceManager; only for messages
	AMLabel       string   // label of the nodes for masters
	Queue         string   // name of the leaf queue that may use the triples
	Triples       []string // numbers of the triples, such as "00" to "15"
	Beat          time.Duration
	Smallest      state.Resource // minimum allocation: YARN rounds containers up to it
	CountCores    bool
	LocalityDelay bool // whether YARN delays for locality and must not while steered
	// GrantLimit is how long YARN may take to grant a container in an opening. 0:
	// 5 s, or ten node heartbeats if that is longer.
	GrantLimit time.Duration
	// Keep names the hosts of workers that are not steered, for jobs that others
	// submit: these would wait forever else.
	Keep []string
}

// NoLocalityDelay switches off YARN's node-locality delay, so that a job uses an
// opened node at once, even for a map that is not local there.
var NoLocalityDelay = yarnclient.SchedulerChange{Global: map[string]string{require.Queues + "node-locality-delay": "-1"}}

// worker says whether the node may be steered: it runs, is not in Keep and has a
// label of the pool, or none.
func (s *Setup) worker(n yarnclient.Node) bool {
	label := n.Label()
	return n.State == "RUNNING" && !slices.Contains(s.Keep, n.Host) && (label == "" || require.InPool(label) && label[0] != 'a')
}

func (s *Submission) label(k state.Kind) string { return k.Letter() + s.Number }

func (s *Submission) amLabel() string { return "a" + s.Number }

// Settings returns the properties that jobs of the Submission must have.
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
