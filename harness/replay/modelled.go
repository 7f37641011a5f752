package replay

import (
	"fmt"

	"heddle/harness/sim"
	"heddle/traces"
)

// unknown stands in place of a task's output bytes if these must be computed from
// the calibration.
const unknown = -1

// model sets how long the tasks of a job take, from the calibration of the job's
// workload. Reading and shuffling take as long as the distance of the data requires.
func (m *jobMaker) model(j *Job, x *sim.Job) {
	if w, ok := m.Work[j.Job]; ok {
		copy(x.MapWork, w.Maps)
		copy(x.ReduceWork, w.Reduces)
		return
	}
	w, standIn, _ := m.costsOf(j.workload()) // ignore the error: the method check has refused jobs of unknown workloads before
	for i := range x.MapWork {
		x.MapWork[i] = sim.Work{InputBytes: j.Tasks[traces.Map][i].input(), OutputBytes: unknown}
	}
	for i := range x.ReduceWork {
		x.ReduceWork[i].OutputBytes = unknown
		if a := j.Tasks[traces.Reduce][i].Won; standIn && a != nil {
			x.ReduceWork[i].OutputBytes = a.written
		}
	}
	if standIn {
		spreadOutput(j, x.MapWork)
	}
	m.compute(w, x)
}

// costsOf returns the calibration's costs of a workload. If the calibration lacks
// this workload, it returns the costs of the stand-in: the workload that the user
// named for such cases. It fails if neither is there.
func (m *jobMaker) costsOf(name string) (w *Workload, standIn bool, err error) {
	if !m.Modelled {
		return nil, false, nil
	}
	if w = m.Calibration.workload(name); w == nil && m.Workload != "" {
		w, standIn = m.Calibration.workload(m.Workload), true
	}
	if w == nil {
		err = fmt.Errorf("trace %s: the calibration lacks its workload %q; it has %s; heddle replay --workload names one to use in its place", m.Trace.Name, name, m.Calibration.names())
	}
	return w, standIn, err
}

// compute sets the computing times of tasks and their output, by the bytes that the
// maps read.
func (m *jobMaker) compute(w *Workload, x *sim.Job) {
	x.Spread = [2][]sim.Ratio{w.Map.ratios(), w.Reduce.ratios()}
	var out int64
	for i := range x.MapWork {
		t := &x.MapWork[i]
		if t.OutputBytes == unknown {
			t.OutputBytes = int64(w.MapOutputPerByte * float64(t.InputBytes))
		}
		t.ComputeMs, t.SpreadPercent = w.Map.wholeMs(t.InputBytes), 0
		out += t.OutputBytes
	}
	for i := range x.ReduceWork {
		t, share := &x.ReduceWork[i], out/int64(x.Reduces)
		if t.OutputBytes == unknown {
			t.OutputBytes = int64(w.ReduceOutputPerByte * float64(share))
		}
		t.ComputeMs, t.SpreadPercent = w.Reduce.wholeMs(share), 0
	}
}
