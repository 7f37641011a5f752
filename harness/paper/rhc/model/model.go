// Package model has the rules for reduce slots of package policy as scheduler models, which
// place reduces beside any model for maps.
package model

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/paper/rhc/policy"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/harness/stats"
)

// placer places a job's reduces on the slots that a rule picks.
//
// Rule. The first job in FIFO order with waiting reduces gets slots, all of them as a
// group. Free slots go in order of cost, which is that of fetching the job's map output
// to the node, see sched.PlacesByCost. The rule sees how many bytes the job's maps will put out: the output
// that is known, times all maps over those whose output is known. A job whose output is
// not known at all gets the cheapest slots.
//
// Source. Tan, Meng, Zhang, "Improving ReduceTask Data Locality for Sequential MapReduce
// Jobs", INFOCOM 2013, sections III and IV.
//
// Differs. The paper gives a slot one cost for all jobs; here it follows from where the
// job's maps ran. The largest partition gets the cheapest slot where partitions are known,
// which they are in simulations, and decisions take effect at once. Otherwise all count as
// equal, or the ApplicationMaster hands containers to reduces as it likes. If it asks for
// a part of the reduces, that part is placed as a job with its share of the data.
type placer struct {
	sched.PlacesByCost
	name string
	rule policy.Policy

	jobs  sched.PerJob[job]
	last  policy.Job // of the last decision
	known int32      // of how many of its maps the output was known
	ranks []int
	on    []sched.ReduceSlot
	// How many jobs were placed, how many of these deferred, and how many of these had
	// really cheaper slots left alone.
	placed, deferred, dearer int
	errors                   []float64 // of the estimates of jobs that have ended, in percent
}

// job is what the model knows of a job.
type job struct {
	present          int     // other jobs when it came
	estimate         float64 // bytes of map output; 0 while they are not known
	output           int64   // that of all maps, once they are done
	deferred, dearer bool
}

// params are those of placing by cost, where a job's reduces are a group unless the user has it otherwise.
var params = func() []sched.Param {
	list := sched.ParamsOf[sched.PlacesByCost]()
	list[slices.IndexFunc(list, func(p sched.Param) bool { return p.Name == "groups" })].Default = "true"
	return list
}()

// control are the parameters of rhc.
type control struct {
	Window int     `default:"100" unit:"jobs" min:"1" max:"100000" text:"jobs that the next job's data and the load are estimated from; not given in the paper"`
	P      float64 `max:"1" text:"probability that a job is still there when the next comes; 0: estimated"`
}

// Info describes the model rhc: receding horizon control.
var Info = sched.Info{
	Name: "rhc",
	Use:  sched.ForReduces,
	Summary: "places a job's reduces by receding horizon control: small jobs leave the cheapest slots to the next; as reduces: beside a " +
		"model for maps, or with fifo",
	Source: "Tan, Meng, Zhang, INFOCOM 2013",
	Params: append(sched.ParamsOf[control](), params...),
	Build: func(a sched.Args) (sched.Model, error) {
		c := sched.ValuesOf[control](a)
		return newPlacer("rhc", &policy.RHC{Window: c.Window, Fixed: c.P}, a), nil
	},
}

// With describes the model rhc with another rule in the place of its own.
func With(rule policy.Policy) sched.Info {
	x := Info
	x.Build = func(a sched.Args) (sched.Model, error) { return newPlacer("rhc", rule, a), nil }
	return x
}

// OptimalInfo describes the model reduce-optimal: Theorem 2.
var OptimalInfo = sched.Info{
	Name: "reduce-optimal",
	Use:  sched.ForReduces,
	Summary: "places the reduces of a number of jobs that never leave at the least expected cost; as reduces: beside a model for maps, " +
		"or with fifo",
	Source: "Tan, Meng, Zhang, INFOCOM 2013, Theorem 2",
	Params: append(sched.ParamsOf[optimal](), params...),
	Build: func(a sched.Args) (sched.Model, error) {
		o := sched.ValuesOf[optimal](a)
		rule, err := policy.NewOptimal(o.law(), o.Jobs, o.Form == "printed")
		if err != nil {
			return nil, err
		}
		return newPlacer("reduce-optimal", rule, a), nil
	},
}

func newPlacer(name string, rule policy.Policy, a sched.Args) sched.Model {
	return sched.WithFIFOMaps(&placer{PlacesByCost: sched.ValuesOf[sched.PlacesByCost](a), name: name, rule: rule})
}

// megabyte is the unit of a law's data, in bytes.
const megabyte = 1_000_000

// optimal are the parameters of reduce-optimal.
type optimal struct {
	Jobs    int     `default:"20" min:"1" max:"100" text:"how many jobs come; after these it begins anew"`
	Reduces int     `default:"10" min:"1" max:"100" text:"most reduces of a job; 1 and up to that are each as likely"`
	Data    float64 `default:"10000" unit:"MB" min:"0.01" max:"1e9" text:"most map output of a job; 1 to 100 hundredths of it are each as likely"`
	Form    string  `values:"exact,printed" text:"the recursion of the thresholds: mended, or as printed"`
}

// law returns the law of jobs, in bytes: as in the paper, 1 to so many
// reduces and 1 to 100 hundredths of the most data, each as likely.
func (o *optimal) law() *policy.Law {
	l := &policy.Law{Data: policy.Uniform(1, 100)}
	for _, x := range policy.Uniform(1, o.Reduces) {
		l.Reduces = append(l.Reduces, x.P)
	}
	for i := range l.Data {
		l.Data[i].Value *= o.Data / 100 * megabyte
	}
	return l
}

func (m *placer) Name() string { return m.name }

// Round implements sched.Model.
func (m *placer) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	id, slots, reduces := m.Next(v, free)
	if reduces == 0 {
		return out
	}
	m.SortByCost(v, id, slots)
	j := m.jobs.Of(id)
	x := policy.Job{Data: estimate(v, id), Reduces: int(v.Tasks(id, state.Reduce)), Present: j.present}
	m.last, m.known = x, v.MapOutputs(id)
	if x.Data == 0 {
		return m.On(v, id, slots[:reduces], sched.Reduces, out)
	}
	if j.estimate == 0 {
		j.estimate = x.Data
		m.rule.Arrive(&x)
		m.placed++
	}
	x.Data, x.Reduces = x.Data*m.ShareOf(v, id, reduces), reduces
	m.ranks = m.rule.Place(&x, len(slots), m.ranks[:0])
	m.on = m.on[:0]
	for i, rank := range m.ranks {
		m.on = append(m.on, slots[rank])
		note(&j.deferred, &m.deferred, rank > i)
		note(&j.dearer, &m.dearer, slots[rank].Cost > slots[i].Cost)
	}
	return m.On(v, id, m.on, sched.Reduces, out)
}

// Explain returns how many bytes the last decision's job was expected to shuffle, and by what.
func (m *placer) Explain() string {
	if m.last.Data == 0 {
		return ""
	}
	return fmt.Sprintf("%s=%.0f knownMaps=%d otherJobs=%d", sched.EstimatedBytes, m.last.Data, m.known, m.last.Present)
}

// note counts a job once of which something is so.
func note(of *bool, count *int, so bool) {
	if so && !*of {
		*of = true
		*count++
	}
}

// estimate returns how many bytes all maps of a job will put out, 0 if nothing is known.
func estimate(v *state.View, id state.JobID) float64 {
	return float64(output(v, id)) * float64(v.Tasks(id, state.Map)) / float64(max(1, v.MapOutputs(id)))
}

// output returns the map output that is known of a job, in bytes.
func output(v *state.View, id state.JobID) (sum int64) {
	for _, bytes := range v.MapOutput(id) {
		sum += bytes
	}
	return sum
}

// Observe implements sched.Observer. It keeps how many jobs one meets, and how much its
// maps put out in the end, which is what its reduces fetch.
func (m *placer) Observe(v *state.View, e sched.Event) {
	m.PlacesByCost.Observe(v, e)
	switch e.What {
	case sched.JobSubmitted:
		m.jobs.Of(e.Job).present = len(v.Active()) - 1
	case sched.TaskEnded:
		if !v.Ended(e.Job) && v.Done(e.Job, state.Map) == v.Tasks(e.Job, state.Map) {
			m.jobs.Of(e.Job).output = output(v, e.Job)
		}
	case sched.JobEnded:
		if j := m.jobs.Of(e.Job); j.estimate > 0 && j.output > 0 {
			m.errors = append(m.errors, 100*math.Abs(j.estimate/float64(j.output)-1))
		}
	}
}

// Notes implements sched.Noter.
func (m *placer) Notes() map[string]float64 {
	if m.placed == 0 {
		return nil
	}
	n := map[string]float64{"jobsPlaced": float64(m.placed), "jobsDeferred": float64(m.deferred), "jobsOnDearerSlots": float64(m.dearer)}
	if len(m.errors) > 0 {
		n["estimates"], n["estimateErrorMedianPercent"], n["estimateErrorLargestPercent"] = float64(
			len(m.errors),
		), stats.Quantile(
			m.errors,
			0.5,
		), slices.Max(
			m.errors,
		)
	}
	return n
}
