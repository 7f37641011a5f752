package model

import (
	"math"
	"slices"

	"heddle/harness/state"
)

// definitions are ways to predict when a job ends: with its share of the slots as now, of the
// forecast of the plans; the same if the slots of now last for ever; or with the share that it has
// if all jobs are served alike, of the forecast. The names are those of notes.
var definitions = [...]string{"predictionErrorPct", "predictionErrorPresentPct", "predictionErrorAlikePct"}

// predictions says how wrong predictions of jobs were that have ended, in percent of the time that
// was left: by each definition. Of how many jobs the first one was wrong about the deadline is
// counted too.
type predictions struct {
	errors      [len(definitions)][]float64
	told, wrong int
}

func (p *predictions) note(notes map[string]float64) {
	for k, name := range definitions {
		if errors := slices.Sorted(slices.Values(p.errors[k])); len(errors) > 0 {
			notes[name] = errors[len(errors)/2]
		}
	}
	if p.told > 0 {
		notes["predictionWrongPct"] = 100 * float64(p.wrong) / float64(p.told)
	}
}

// predict notes, once for each job, when it will end.
func (m *planner) predict(v *state.View, id state.JobID) {
	t := m.targets.Of(id)
	if t.hasPredicted || m.ahead == nil {
		return
	}
	present := now(v, id)
	t.predicted[0], t.hasPredicted = m.end(v, id, m.ahead, m.share(v, id, m.ahead))
	t.predicted[1], _ = m.end(v, id, present, m.share(v, id, present))
	t.predicted[2], _ = m.end(v, id, m.ahead, 1/float64(len(v.Active())))
	t.predictedAt = float64(v.Now()) / 1e9
}

// holdPrediction notes how wrong the predictions of a job that has ended were.
func (m *planner) holdPrediction(v *state.View, id state.JobID) {
	t, now := m.targets.Of(id), float64(v.Now())/1e9
	left := now - t.predictedAt
	if !t.hasPredicted || left <= 0 {
		return
	}
	for k, at := range t.predicted {
		m.errors[k] = append(m.errors[k], 100*math.Abs(at-now)/left)
	}
	if goal := float64(v.Deadline(id)) / 1e9; v.Deadline(id) != state.NoDeadline {
		m.told++
		if (t.predicted[0] > goal) != (now > goal) {
			m.wrong++
		}
	}
}

// PredictEnd implements sched.Predictor.
func (m *planner) PredictEnd(v *state.View, id state.JobID) (at int64, ok bool) {
	if m.ahead == nil { // no plan has been made
		m.demands = append(m.demands[:0], Demand{job: id})
		m.ahead = m.see(v)
	}
	end, ok := m.end(v, id, m.ahead, m.share(v, id, m.ahead))
	return int64(end * 1e9), ok
}

// share returns the job's share of the slots that a forecast has now. That of a job of which nothing has run is that
// of all jobs alike.
func (m *planner) share(v *state.View, id state.JobID, f *forecast) float64 {
	running := float64(v.Running(id, state.Map))
	if running == 0 && v.Done(id, state.Map) == 0 {
		return 1 / float64(len(v.Active()))
	}
	return max(1, running) / max(1, f.at(float64(v.Now())/1e9))
}

// end returns when the job will end, in seconds: with a share of the slots of a forecast, but no
// more slots than it has pending maps. What its running maps have done already counts.
func (m *planner) end(v *state.View, id state.JobID, f *forecast, share float64) (at float64, ok bool) {
	now, pending, mean := float64(v.Now())/1e9, float64(pendingMaps(v, id)), m.mean(id)
	waiting, work, least := pending, 0.0, 0.0
	for i, begun := range m.times.Of(id).begun {
		if v.RunsOn(id, v.Task(id, state.Map, int32(i))) != state.None {
			left := max(0, mean-(now-float64(begun)/1e9))
			waiting, work, least = waiting-1, work+left, max(least, left)
		}
	}
	if waiting > 0 {
		work, least = work+waiting*mean, mean
	}
	end, step := now, float64(m.cycleMs)/1000
	for range 100_000 { // steps, after which no end is predicted
		got := min(share*f.avail(end, end+step), pending*step)
		if got >= work {
			return max(now+least, end+step*work/max(got, sameGoal)), true
		}
		work, end = work-got, end+step
	}
	return 0, false
}
