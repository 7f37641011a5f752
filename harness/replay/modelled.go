package replay

import (
	"cmp"
	"errors"
	"fmt"

	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/traces"
)

// unknown stands in place of a task's output bytes if these must be computed from
// the calibration.
const unknown = -1

// modelled gives the tasks of jobs the times of the replay's calibration. It
// implements recorded.Costs.
type modelled struct{ *Config }

// Set sets how long the tasks of a job take, from the calibration of the job's
// workload. Reading and shuffling take as long as the distance of the data requires.
func (m modelled) Set(j *recorded.Job, x *sim.Job) {
	m.set(j, x)
	if m.Repeats {
		m.vary(x)
	}
}

func (m modelled) set(j *recorded.Job, x *sim.Job) {
	if w, ok := m.Work[j.Job]; ok {
		copy(x.MapWork, w.Maps)
		copy(x.ReduceWork, w.Reduces)
		x.ReduceShares = w.Shares
		return
	}
	w, standIn, _ := m.costsOf(j) // ignore the error: the method checkCosts has refused jobs of unknown workloads before
	for i := range x.MapWork {
		x.MapWork[i] = sim.Work{InputBytes: j.Tasks[traces.Map][i].Input(), OutputBytes: unknown}
	}
	for i := range x.ReduceWork {
		x.ReduceWork[i].OutputBytes = unknown
		if a := j.Tasks[traces.Reduce][i].Won; standIn && a != nil {
			x.ReduceWork[i].OutputBytes = a.WrittenBytes
		}
	}
	if standIn {
		recorded.SpreadOutput(j, x.MapWork)
	}
	m.compute(w, x)
}

// checkCosts returns an error if the costs of a job are not known, or do not fit it.
func (c *Config) checkCosts() error {
	for _, j := range c.Trace.Jobs {
		if len(j.Tasks[traces.Map])+len(j.Tasks[traces.Reduce]) == 0 {
			continue
		}
		if w, ok := c.Work[j.Job]; ok {
			if len(w.Maps) != len(j.Tasks[traces.Map]) || len(w.Reduces) != len(j.Tasks[traces.Reduce]) {
				return fmt.Errorf("trace %s: work of %d maps and %d reduces is given for job %s, which has %d and %d",
					c.Trace.Name, len(w.Maps), len(w.Reduces), j.Job, len(j.Tasks[traces.Map]), len(j.Tasks[traces.Reduce]))
			}
		} else if _, _, err := c.costsOf(j); c.Modelled && err != nil {
			return err
		}
	}
	for i := range c.Trace.List {
		if _, _, err := c.costsNamed(c.Trace.List[i].Name); c.Modelled && err != nil {
			return err
		}
	}
	return nil
}

// costsOf returns the calibration's costs of a job's workload. A calibration fitted to
// traces without Costs has them by the workload's label.
func (c *Config) costsOf(j *recorded.Job) (w *calibration.Workload, standIn bool, err error) {
	name, label := j.Kind(), cmp.Or(j.Workload, j.Name)
	if c.Calibration.Of(name) == nil && c.Calibration.Of(label) != nil {
		name = label
	}
	return c.costsNamed(name)
}

// ErrNoCosts says that a calibration was fitted to no runs of the workload of a trace.
var ErrNoCosts = errors.New("the calibration lacks the costs of")

// costsNamed returns the calibration's costs of a workload. If the calibration lacks
// this workload, it returns the costs of the stand-in: the workload that the user
// named for such cases. It fails if neither is there.
func (c *Config) costsNamed(name string) (w *calibration.Workload, standIn bool, err error) {
	if w = c.Calibration.Of(name); w == nil && c.Workload != "" {
		w, standIn = c.Calibration.Of(c.Workload), true
	}
	if w == nil {
		err = fmt.Errorf("trace %s: %w %q; it has %s; fit it to a run with such jobs, or name one to use in its place, with heddle replay "+
			"--set workload=NAME", c.Trace.Name, ErrNoCosts, name, c.Calibration.Names())
	}
	return w, standIn, err
}

// compute sets the computing times of tasks and their output, by the bytes that the
// maps read.
func (m modelled) compute(w *calibration.Workload, x *sim.Job) {
	var in, out int64
	for i := range x.MapWork {
		t := &x.MapWork[i]
		in += t.InputBytes
		if t.OutputBytes == unknown {
			t.OutputBytes = int64(w.MapOutputPerByte * float64(t.InputBytes))
		}
		t.ComputeMs, t.CoresPercent, t.SpreadPercent = w.Map.WholeMs(t.InputBytes), w.Map.CoresPercent(t.InputBytes), 0
		out += t.OutputBytes
	}
	for i := range x.ReduceWork {
		t, share := &x.ReduceWork[i], out/int64(x.Reduces)
		if t.OutputBytes == unknown {
			t.OutputBytes = int64(w.ReduceOutputPerByte * float64(share))
		}
		t.ComputeMs, t.SpreadPercent = w.Reduce.WholeMs(share), 0
	}
	x.Spread = [2][]sim.Ratio{w.Map.Ratios(in / int64(max(1, len(x.MapWork)))), w.Reduce.Ratios(out / int64(max(1, x.Reduces)))}
}

// SetListed gives the tasks of a job from a job list the computing times of the job's
// workload. If the costs of another workload are used instead, tasks write as many
// bytes as the list says.
func (m modelled) SetListed(j *traces.JobListed, x *sim.Job) {
	w, standIn, _ := m.costsNamed(j.Name)
	x.MapWork, x.ReduceWork = eachTask(x.MapWork, x.Maps, standIn), eachTask(x.ReduceWork, x.Reduces, standIn)
	m.compute(w, x)
}

// eachTask returns the work of n tasks, one entry for each task. All tasks but the
// last get the first entry of list; the last task gets the last entry. If told is
// false, the output bytes of the tasks are unknown.
func eachTask(list []sim.Work, n int32, told bool) []sim.Work {
	if n == 0 {
		return list
	}
	first, last := list[0], list[len(list)-1]
	list = recorded.Cleared(list, int(n))
	for i := range list {
		if list[i] = first; i == len(list)-1 {
			list[i] = last
		}
		if !told {
			list[i].OutputBytes = unknown
		}
	}
	return list
}
