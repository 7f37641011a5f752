package sched

import "heddle/harness/state"

// Warmup is a scheduler model that is trained before it decides. Drivers find
// out with As whether a model is a Warmup. They train it for a job while the
// job's ApplicationMaster starts. Otherwise the model trains when it
// first has to decide, and again when its training is out of date.
type Warmup interface {
	// Study prepares a training for a job whose input is known. The same job, places
	// of blocks, parameters and seed give the same training.
	Study(v *state.View, job state.JobID) (Study, error)
	// Training returns the record of the training that the model's decisions
	// for a job rest on. The record is nil if the model was not trained for the
	// job yet, or the job has ended.
	Training(job state.JobID) *Training
}

// Study is a training. It may take long, and may run in any goroutine while the model
// decides for other jobs. It asks now and then whether to go on, unless goOn is nil. The
// returned function gives the model what was learnt, and must run where the model decides;
// nil: goOn said no, and nothing is kept.
type Study func(goOn func() bool) (keep func())

// Train trains a model for a job.
func Train(w Warmup, v *state.View, job state.JobID) error {
	study, err := w.Study(v, job)
	if err == nil {
		study(nil)()
	}
	return err
}

// Memory is a scheduler model that can save what it has learnt for a job, as bytes
// that the caller stores, so that several runs of the same job need one training. A
// model that does not learn for each job separately ignores the argument job. What
// goes on from one run to the next, whatever its jobs, is a Learner's.
type Memory interface {
	// Fingerprint returns the same text whenever training would give the same
	// result. The text can serve as the name under which the bytes of SaveJob are
	// stored.
	Fingerprint(v *state.View, job state.JobID) string
	// SaveJob returns what the model has learnt for a job, as bytes. It returns
	// an error if nothing has been learnt.
	SaveJob(v *state.View, job state.JobID) ([]byte, error)
	// LoadJob restores what SaveJob returned, in place of a training. It refuses
	// data that do not fit the job, its blocks or the model's parameters. Then
	// it changes nothing and says why in the error.
	LoadJob(v *state.View, job state.JobID, data []byte) error
}

// Course is a Memory that is trained in episodes, and whose parameter "episodes"
// says how many at most. The training of a model passes through what the same
// model with fewer episodes would have learnt, so that one training serves all
// of them.
type Course interface {
	Memory
	// Follow trains for a job, and returns what models would learn that differ
	// from this one in the parameter episodes alone: one lesson for each value
	// in the argument episodes, in ascending order. The model itself is left as
	// it is. Follow returns no lesson if the model keeps nothing for this job
	// alone.
	Follow(v *state.View, job state.JobID, episodes []int) ([]Lesson, error)
}

// Lesson is what a model has learnt for one job by the end of a training.
type Lesson struct {
	Fingerprint string // text that Memory.Fingerprint returns for a model with this many episodes
	// Learnt is what Memory.LoadJob takes. To save room, it lacks the record of the
	// episodes, which is in Training.
	Learnt   []byte
	Training Training
}

// Training records how the results of a model's training changed from episode
// to episode.
type Training struct {
	Episodes []Episode // results of the training episodes, in order; empty if there was nothing to learn
	Epsilon  float64   // probability of a random action at the end of the training
	// Assignments is the number of maps that all episodes placed together. It
	// says how much work the training was, whatever computer did it.
	Assignments int64
}

// Episode is the result of one training episode of a scheduler model: one pass
// over all maps of a job.
type Episode struct {
	Return    float64 // sum of the rewards in the training episode
	LocalRate float64 // share of the episode's maps that were placed cache-local or node-local
	CacheRate float64 // share of the episode's maps that were placed cache-local
}
