package replay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"heddle/harness/config"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// expirySetting is YARN's property for the time without a heartbeat after which a
// node counts as lost.
const expirySetting = "yarn.nm.liveness-monitor.expiry-interval-ms"

// addFaults sets the node losses, speculation, cache policy and fetches of the simulation, as
// the trace and the replay's settings say.
func (c *Config) addFaults(x *sim.Config, source *recorded.Source) error {
	x.Speculation = speculations[c.Speculation]
	if x.CacheReads = c.CachePolicy == config.CacheLRU; x.CacheReads {
		if len(c.Trace.List) > 0 {
			return fmt.Errorf("replay: cache policy %s: a job list does not say which jobs read the same blocks", config.CacheLRU)
		}
		if !slices.ContainsFunc(x.Cluster.Nodes, func(n sim.Node) bool { return n.CacheBytes > 0 }) {
			return fmt.Errorf("replay: cache policy %s: no node has a cache; give its size (--cache, or cache: in the cluster's machines)",
				config.CacheLRU)
		}
	}
	fetches := c.Fetches
	if fetches == "" && c.computes() && c.Calibration != nil && len(x.Cluster.Nodes) <= sim.MaxFetchNodes {
		fetches = c.Calibration.Fetches
	}
	if x.NodeFetches = fetches == config.FetchesNodes; x.NodeFetches && !c.computes() {
		return fmt.Errorf("replay: fetches from %s have no effect on recorded durations; give a calibration to model durations",
			config.FetchesNodes)
	}
	if c.Follow {
		if len(c.Faults) > 0 || x.Speculation != sim.NoSpeculation || x.CacheReads {
			return errors.New("replay: recorded heartbeats can only be followed with the recorded faults, speculation and cache policy")
		}
		return nil
	}
	if ms, err := strconv.Atoi(c.Trace.Header.Settings[expirySetting]); err == nil && ms > 0 {
		x.Costs.NodeExpiryMs = int32(min(ms, math.MaxInt32/4))
	}
	firstMs := c.Trace.FirstMs()
	for i := range c.Faults {
		if err := c.fault(x, &c.Faults[i], firstMs); err != nil {
			return err
		}
	}
	x.Faults = append(x.Faults, source.Outages(x.Costs.NodeExpiryMs)...)
	slices.SortStableFunc(x.Faults, func(a, b sim.Fault) int { return cmp.Compare(a.AtMs, b.AtMs) })
	return nil
}

func (c *Config) fault(x *sim.Config, f *config.Fault, firstMs int64) error {
	at := firstMs + time.Duration(f.At).Milliseconds()
	if f.What == config.FaultFailAttempts {
		x.Faults = append(x.Faults, sim.Fault{AtMs: at, What: sim.AttemptsFail, Share: f.Share})
		return nil
	}
	if f.What == config.FaultSlow && !c.computes() {
		return errors.New("replay: faults: a slow node has no effect on recorded durations; give a calibration (--calibration) to model " +
			"durations")
	}
	on, err := f.On(facts(c.Trace, &x.Cluster).Nodes)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	for n := range x.Cluster.Nodes {
		node := &x.Cluster.Nodes[n]
		if slices.Contains(on, traces.Node(node.Name)) {
			x.Faults = append(x.Faults, sim.Fault{
				AtMs: at, Node: state.NodeID(n), Speed: cmp.Or(node.Speed, 1) * f.Speed,
				What: map[string]sim.FaultKind{config.FaultDown: sim.NodeDown, config.FaultUp: sim.NodeUp, config.FaultSlow: sim.NodeSlow}[f.What],
			})
		}
	}
	return nil
}
