package sched

import "heddle/harness/state"

// Predictor is a model that predicts when jobs end. It is an Observer too. Drivers that
// record a trace ask it, and write down what it says. Drivers find out with As whether a
// model is a Predictor.
type Predictor interface {
	// PredictEnd returns when the job will end, in the unit of View.Now, and false if
	// the model cannot say. It is asked when the job is submitted, and when half and 90 %
	// of its tasks have succeeded, right after Observe was told so.
	PredictEnd(v *state.View, id state.JobID) (at int64, ok bool)
}

// Predictions asks a Predictor at the right moments. All drivers use it, so that they
// ask at the same ones. The zero value has no model to ask.
type Predictions struct {
	of    Predictor
	asked PerJob[uint8] // share of the tasks, in percent, at which it was asked last
}

// PredictionsOf returns the Predictions of a model, which asks nothing if the model is no
// Predictor.
func PredictionsOf(m Model) *Predictions {
	p := &Predictions{}
	p.of, _ = As[Predictor](m)
	return p
}

// Heard asks for the prediction that is due after an event, which the model has
// observed. It returns which share of the job's tasks, in percent, has succeeded at
// least, and the time at which the job is to end. The result ok is false if nothing is due.
func (p *Predictions) Heard(v *state.View, e Event) (donePct uint8, end int64, ok bool) {
	if p.of == nil || e.What != JobSubmitted && (e.What != TaskEnded || e.Failed || v.Ended(e.Job)) {
		return 0, 0, false
	}
	if e.What == TaskEnded {
		done, all := int64(v.Done(e.Job, state.Map)+v.Done(e.Job, state.Reduce)), int64(v.Tasks(e.Job, state.Map)+v.Tasks(e.Job, state.Reduce))
		switch {
		case done >= all:
			return 0, 0, false
		case 10*done >= 9*all:
			donePct = 90
		case 2*done >= all:
			donePct = 50
		}
		asked := p.asked.Of(e.Job)
		if donePct <= *asked {
			return 0, 0, false
		}
		*asked = donePct
	}
	end, ok = p.of.PredictEnd(v, e.Job)
	return donePct, max(end, v.Now()), ok
}
