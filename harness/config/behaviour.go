package config

import (
	"cmp"
	"reflect"
	"strings"

	"heddle/harness/option"
)

// Behaviour says how a cluster behaves in a trial: what its scheduler, its
// ApplicationMasters and its caches do, and what happens to its nodes. It is a part of
// experiments, sweeps and replays, which hand it on as one value, so that none of them
// simulates another cluster than was meant. Its fields are keys of experiment and sweep
// files and flags of "heddle replay".
type Behaviour struct {
	// Actuator says how a scheduler model's decisions take effect. Without it, it is
	// ActuatorLabels if a model of heddle's decides where tasks run, and else
	// ActuatorNone.
	Actuator string `yaml:"actuator,omitempty" flag:"actuator" key:"set" text:"How decisions become containers: none leaves them to the cluster's scheduler, labels moves nodes into a job's label, and ideal starts each at once, only in virtual time." values:"none,labels,ideal" without:"none for yarn, labels for others"`
	// Splits says which hosts an ApplicationMaster sees for each split;
	// SplitsAsSubmitted by default. With SplitsPlan, jobs under the model
	// ModelYARN keep the hosts that the client submitted, since ModelYARN makes
	// no plan.
	Splits string `yaml:"splits,omitempty" flag:"splits" key:"set" text:"Which hosts of each split ApplicationMasters see." values:"asSubmitted,cachedOnly,plan" without:"asSubmitted"`
	// MapSlots and ReduceSlots limit how many maps and how many reduces a
	// scheduler model runs on a worker at the same time, as the slots of Hadoop 1
	// did. If both are 0, only memory and cores limit them. They are no limit for
	// the model ModelYARN, since YARN knows no slots.
	MapSlots    int `yaml:"mapSlots,omitempty" flag:"map-slots" key:"set" text:"Maps that a model runs on a worker at the same time at most, whatever memory it has." min:"0" max:"1000" without:"as recorded, or no limit"`
	ReduceSlots int `yaml:"reduceSlots,omitempty" flag:"reduce-slots" key:"set" text:"Reduces that a model runs on a worker at the same time at most." min:"0" max:"1000" without:"as recorded, or no limit"`
	// CachePolicy says which blocks stay in memory during a simulation:
	// CacheStatic, the default, or CacheLRU. A real cluster supports only the
	// default.
	CachePolicy string `yaml:"cachePolicy,omitempty" flag:"cache-policy" key:"set" text:"Which blocks stay in memory: those cached at the start, or, only in virtual time, those that a node read last." values:"static,lru" without:"static"`
	// Fetches says from where reduces fetch map output in a simulation:
	// FetchesRacks or FetchesNodes. The default is that with which a calibration
	// was fitted, else FetchesRacks. A real cluster ignores it.
	Fetches string `yaml:"fetches,omitempty" flag:"fetches" key:"set" text:"In virtual time, whether reduces fetch map output from whole racks or from the nodes that ran the maps." values:"racks,nodes" without:"as the calibration was fitted, else racks"`
	// Speculation is the rule that starts speculative attempts. The default is
	// the cluster's own setting on a real cluster, and SpeculationNone in a
	// simulation, in which recorded tasks still have their recorded attempts.
	Speculation string `yaml:"speculation,omitempty" flag:"speculation" key:"set" text:"The rule that starts speculative attempts; late only in virtual time." values:"none,hadoop,late" without:"only the recorded ones"`
	// Faults are the faults, such as a node that goes down, that happen in each
	// trial.
	Faults Faults `yaml:"faults,omitempty" flag:"fault" text:"What goes wrong in each trial." of:"FAULT" usage:"FAULT in addition to the trace's, such as at=30s,node=n2,down; as in an experiment's faults; may be repeated" without:"the trace's" costs:"true"`
	// Capacity takes memory and cores from workers for a time, in each trial.
	Capacity Capacity `yaml:"capacity,omitempty" flag:"capacity" key:"set" text:"A timetable of what other load leaves of the workers, in each trial." of:"STEP" usage:"STEP of what other load leaves of the nodes, such as at=30s,node=n2,left=0.5, in place of the trace's; as in an experiment's capacity; may be repeated" without:"the trace's"`
}

// Values of Behaviour's fields.
const (
	ActuatorNone   = "none"   // actuator: the cluster's own scheduler decides where tasks run
	ActuatorLabels = "labels" // actuator: each decision gives the node a YARN node label, on which only containers of the decided job may run
	ActuatorIdeal  = "ideal"  // actuator: decisions happen at once, on the task named; in virtual time only

	SplitsAsSubmitted = "asSubmitted" // split hosts: the hosts of all replicas
	SplitsCachedOnly  = "cachedOnly"  // split hosts: the hosts of cached replicas, or of all replicas if none is cached
	SplitsPlan        = "plan"        // split hosts: the single host that the scheduler model chose

	CacheStatic = "static" // cache policy: blocks cached at the start stay, and no others are cached later
	CacheLRU    = "lru"    // cache policy: each node keeps the blocks that it read last in memory

	FetchesRacks = "racks" // fetches: from whole racks, whose nodes' links limit nothing
	FetchesNodes = "nodes" // fetches: from each node that ran maps, and without the network from the reduce's own; up to 64 nodes

	SpeculationNone   = "none"
	SpeculationHadoop = "hadoop"
	SpeculationLATE   = "late"
)

// Check returns an error if a value is none of those that its field may have.
func (b *Behaviour) Check() error { return option.CheckAll(b) }

// Under returns how the cluster behaves under a scheduler model: the splits are those
// of the model if it has some, and YARN's own decisions need no actuator, and know no slots. A model with a
// file of queues is the ResourceManager that reads it.
func (b Behaviour) Under(m Model) Behaviour {
	b.Splits = cmp.Or(m.Splits, b.Splits, SplitsAsSubmitted)
	if m.FollowsQueues() && b.Actuator == ActuatorLabels {
		b.Actuator = ActuatorNone
	}
	if m.Model == ModelYARN {
		b.Actuator, b.MapSlots, b.ReduceSlots = ActuatorNone, 0, 0
		if b.Splits == SplitsPlan {
			b.Splits = SplitsAsSubmitted
		}
	}
	return b
}

// Differs returns the keys in which two behaviours differ; with costs, of those that change
// the costs of tasks.
func (b *Behaviour) Differs(from *Behaviour, costs bool) (keys []string) {
	v, was := reflect.ValueOf(b).Elem(), reflect.ValueOf(from).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		key, _, _ := strings.Cut(tag.Get("yaml"), ",")
		if same := reflect.DeepEqual(v.Field(i).Interface(), was.Field(i).Interface()); !same && (!costs || tag.Get("costs") != "") {
			keys = append(keys, key)
		}
	}
	return keys
}

func (b *Behaviour) problems(p *problems) {
	for _, x := range []struct {
		key   string
		slots int
	}{{"mapSlots", b.MapSlots}, {"reduceSlots", b.ReduceSlots}} {
		switch {
		case x.slots == 0 && b.MapSlots+b.ReduceSlots > 0:
			p.addf(x.key, "0: want 1 or more, since there are slots of the other kind; jobs would wait for ever")
		case x.slots > 0 && b.Actuator == ActuatorNone:
			p.addf(x.key, "%d: has no effect with actuator %s, since YARN knows no slots; set actuator: %s", x.slots, ActuatorNone, ActuatorLabels)
		}
	}
	b.Faults.problems(p)
	b.Capacity.problems(p)
}
