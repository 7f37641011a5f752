package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/internal/units"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/traces"
	"heddle/traces/printable"
)

// mostOffPct is how far, in percent, a replay of what was recorded may be off without a warning.
const mostOffPct = 20

// Distrust is in each warning of replays that are too far off, behind how far they are.
const Distrust = " Do not trust times of its replays"

// RecordedOrder says how far a replay of a trace is off what was recorded: under its own model,
// on its own cluster, over the jobs that succeeded in both. Its JSON keys are stable.
type RecordedOrder struct {
	MakespanPct   float64 `json:"makespanPct"`   // with its sign
	CompletionPct float64 `json:"completionPct"` // of the mean completion, with its sign
	Jobs          int     `json:"jobs"`

	was, is float64 // makespans in ms
	of      int     // jobs of the trace that succeeded
	others  int     // and that did not
}

// inRecordedOrder replays what was recorded, with the durations of c.
func (c *Config) inRecordedOrder() (*RecordedOrder, error) {
	again := Config{
		Trace: c.Trace, Model: c.Trace.OwnModel(), Behaviour: c.Trace.OwnBehaviour(),
		Seed: 1, Calibration: c.Calibration, Modelled: c.Modelled, Workload: c.Workload, WithoutEvents: true, Interrupted: c.Interrupted,
	}
	again.Fetches = c.Fetches
	if len(c.Trace.Nodes) == 0 {
		again.Change = recorded.Change{Nodes: c.Change.Nodes, Racks: c.Change.Racks, Slots: c.Change.Slots}
	}
	o, err := outcome(again)
	if err != nil {
		return nil, err
	}
	return compared(c.Trace.Jobs, o.JobList), nil
}

// compared compares the jobs that succeeded in both, a trace and a replay of it.
func compared(was []*recorded.Job, is []*measure.Job) *RecordedOrder {
	o, of := &RecordedOrder{}, map[traces.JobID]*recorded.Job{}
	for _, j := range was {
		if j.Outcome == traces.Succeeded && j.Finished > j.T && j.HasTasks() {
			of[j.Job] = j
		} else if j.HasTasks() {
			o.others++
		}
	}
	o.of = len(of)
	var recorded, replayed span
	var sums [2]float64
	for _, j := range is {
		w := of[j.ID]
		if w == nil || j.Outcome != traces.Succeeded {
			continue
		}
		o.Jobs++
		from, to := float64(w.T)/1e6, float64(w.Finished)/1e6
		recorded.add(from)
		recorded.add(to)
		replayed.add(j.SubmitMs)
		replayed.add(j.SubmitMs + j.CompletionMs)
		sums[0], sums[1] = sums[0]+to-from, sums[1]+j.CompletionMs
	}
	o.was, o.is = recorded.most-recorded.least, replayed.most-replayed.least
	o.MakespanPct, o.CompletionPct = off(o.is, o.was), off(sums[1], sums[0])
	return o
}

// off returns by how many percent x is more than was.
func off(x, was float64) float64 {
	if was <= 0 {
		return 0
	}
	return 100 * (x - was) / was
}

// String says how far the replay is off.
func (o *RecordedOrder) String() string {
	jobs := printable.Count(o.of, "job")
	if o.Jobs < o.of {
		jobs = fmt.Sprintf("%d of %s, as the others do not succeed in it", o.Jobs, jobs)
	}
	if o.of == 0 {
		return "The recorded order, replayed: nothing to compare, since no job succeeded when recorded."
	}
	if o.others > 0 {
		jobs += fmt.Sprintf(", without %d that did not succeed when recorded", o.others)
	}
	if o.Jobs == 0 {
		return "The recorded order, replayed: none of the jobs that succeeded does in it."
	}
	return fmt.Sprintf("The recorded order, replayed: %s for %s recorded (%+.1f %%), mean completion %+.1f %%, over %s.",
		doc.Number(o.is/1000, "s"), doc.Number(o.was/1000, "s"), o.MakespanPct, o.CompletionPct, jobs)
}

// doubts returns the warning of a replay that is too far off, with the likeliest causes first. Times are by
// a calibration, unless it is nil.
func (o *RecordedOrder) doubts(t *recorded.Trace, by *calibration.Calibration, assumed []string) (list []string) {
	if max(math.Abs(o.MakespanPct), math.Abs(o.CompletionPct)) <= mostOffPct && o.Jobs == o.of {
		return nil
	}
	causes := slices.Clone(t.Unlike)
	for _, kind := range slices.Sorted(maps.Keys(t.Header.Mended)) {
		causes = append(causes, fmt.Sprintf("%s (%s)", kind, printable.Count(t.Header.Mended[kind], "time")))
	}
	if len(assumed) > 0 && strings.HasSuffix(assumed[0], "(--slots)") && t.Parallel() {
		causes = append(causes, "assumed are "+assumed[0])
	}
	switch {
	case by != nil && slices.Contains(by.Traces, t.Name):
		causes = append(causes, fmt.Sprintf("the calibration is the mean of %s", printable.Count(len(by.Traces), "trace")))
	case by != nil:
		causes = append(causes, `a calibration to other jobs or machines: "heddle replay --calibrate" fits one to this trace`)
	case len(causes) == 0 && t.Foreign():
		causes = []string{"the time that Hadoop takes beside tasks, which is assumed"}
	}
	text := t.Name + ": " + o.String() + Distrust
	if len(causes) > 0 {
		text += "; what may be why: " + strings.Join(causes, "; ")
	}
	return []string{text}
}

// Basis says, below the outcomes of replays, what their times rest on.
func Basis(list []Outcome) (d doc.Doc) {
	for i := range list {
		o := &list[i]
		if o.IsRecorded() || i > 0 && !list[i-1].IsRecorded() && list[i-1].Trace == o.Trace {
			continue
		}
		name := ""
		if list[0].Trace != list[len(list)-1].Trace {
			name = o.Trace + ": "
		}
		if o.RecordedOrder != nil && o.RecordedOrder.of+o.RecordedOrder.others > 0 {
			text := name + o.RecordedOrder.String()
			if o.change.PlacesBlocks() && i > 0 && workers(&list[i-1]) > 0 {
				text += " That is on the recorded nodes and blocks; --nodes, --racks and --replication have blocks placed anew, on copies of the nodes."
			}
			d = append(d, doc.Text(text))
		} else if o.Durations == "rules" {
			d = append(d,
				doc.Text(name+"No job of the list has run, so nothing tells how far off these times are: compare models with each other, not with "+
					"a clock."))
		}
		if len(o.Assumed) > 0 {
			d = append(d, doc.Text(name+"Not recorded, so assumed: "+strings.Join(o.Assumed, "; ")+"."))
		}
	}
	return d
}

// assumed lists what a replay of another tool's trace takes for granted because the trace does
// not record it, each with the flag that changes it.
func (c *Config) assumed(x *sim.Config, h *traces.Header) (list []string) {
	t, change := c.Trace, &c.Change
	if !t.Foreign() {
		return nil
	}
	beat := func(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
	racks, rates := map[string]bool{}, false
	for _, n := range x.Cluster.Nodes {
		racks[n.Rack], rates = true, rates || n.DiskBytesPerSec > 0 || n.LinkBytesPerSec > 0
	}
	rules := t.Header.List
	if rules == nil {
		rules = &traces.ListRules{}
	}
	room := t.AssumedRoom(change, h.Cluster.Nodes)
	for _, a := range []struct {
		is   bool
		text string
	}{
		{room != "", room},
		{len(racks) == 1 && change.Racks == 0, "one rack (--racks)"},
		{t.Header.List != nil, fmt.Sprintf("a map for each %s of input, a reduce for each %s of shuffle, %d replicas a block, and times by "+
			"rules (heddle trace import has a flag for each)",
			units.Size(rules.BlockBytes), units.Size(rules.BytesPerReduce), rules.Replication)},
		{!c.computes(), "tasks take as long as recorded wherever they run (--calibration)"},
		{c.computes() && !rates, "no limits of disks and links (--disk, --link, --uplink)"},
		{change.NMHeartbeat == 0, fmt.Sprintf("nodes report every %v (--nm-heartbeat)", beat(x.Costs.NodeBeatMs))},
		{change.AMHeartbeat == 0, fmt.Sprintf("ApplicationMasters every %v (--am-heartbeat)", beat(max(1, x.Costs.AMBeatMs)))},
		{
			c.Model.Model == config.ModelYARN && t.Header.Settings[schedulerSetting] == "",
			"YARN has the Capacity scheduler as Hadoop ships it (--model)",
		},
		{t.StartUnknown(), fmt.Sprintf("ApplicationMasters take no room on nodes, and are up %v after a submission if that is not known",
			beat(x.Costs.SubmitMs+x.Costs.AMStartMs))},
		{t.SlowStartUnknown(), "reduces are asked for when 5 % of their job's maps are done"},
	} {
		if a.is {
			list = append(list, a.text)
		}
	}
	return list
}
