package sched

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"heddle/harness/state"
)

// Warmup is a scheduler model that is trained before it decides. Drivers find
// out with As whether a model is a Warmup. They train the model before the run,
// or while a job's ApplicationMaster waits. Otherwise the model trains when it
// first has to decide, and again when its training is out of date.
type Warmup interface {
	// Warmup trains the model for a job whose input is known, or with
	// state.None for all jobs that have not ended. The same job, places of
	// blocks, parameters and seed give the same training. Warmup calls
	// progress now and then, unless progress is nil. If progress returns
	// false, the training ends with ErrWarmupStopped and nothing is kept.
	Warmup(v *state.View, job state.JobID, progress func(Progress) bool) error
	// Training returns the record of the training that the model's decisions
	// for a job rest on. The record is nil if the model was not trained for the
	// job yet, or the job has ended.
	Training(job state.JobID) *Training
}

// Memory is a scheduler model that can save what it has learnt, as bytes that
// the caller stores. A model that does not learn for each job separately
// ignores the argument job.
type Memory interface {
	// Fingerprint returns the same text whenever training would give the same
	// result. The text can serve as the name under which the bytes of Save are
	// stored.
	Fingerprint(v *state.View, job state.JobID) string
	// Save returns what the model has learnt for a job, as bytes. It returns
	// an error if nothing has been learnt.
	Save(v *state.View, job state.JobID) ([]byte, error)
	// Load restores what Save returned, in place of a training. It refuses
	// data that do not fit the job, its blocks or the model's parameters. Then
	// it changes nothing and says why in the error.
	Load(v *state.View, job state.JobID, data []byte) error
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
	// Learnt is what Memory.Load takes. To save room, it lacks the record of the
	// episodes, which is in Training.
	Learnt   []byte
	Training Training
}

// ErrWarmupStopped is the error of a training that the caller's progress
// callback ended.
var ErrWarmupStopped = errors.New("training was stopped")

// Progress says how far the training of a scheduler model is.
type Progress struct {
	Job          state.JobID // the job that the model is trained for; state.None: the training serves any job
	Episodes, Of int         // training episodes done so far, and the largest number that there can be
	Last         Episode
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

const sealed = "heddle training 2\n"

// seal puts a header and a checksum around the bytes that a scheduler model has
// learnt, so that unseal can notice damage. The argument params is the text of
// the parameters that the learnt data depend on.
func seal(model, params string, learnt []byte) []byte {
	out := fmt.Appendf(make([]byte, 0, len(learnt)+len(params)+64), "%s%s\n%s\n", sealed, model, params)
	out = append(out, learnt...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// unseal returns the bytes that were given to seal. It fails if the data are
// damaged, or if the model's name or its parameters differ.
func unseal(model, params string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte(sealed)) {
		return nil, fmt.Errorf("not a saved training of this version: its %d bytes do not begin with %q", len(data), sealed[:len(sealed)-1])
	}
	end := len(data) - crc32.Size
	if end < len(sealed) || binary.LittleEndian.Uint32(data[end:]) != crc32.ChecksumIEEE(data[:end]) {
		return nil, fmt.Errorf("the saved training is damaged or cut off: its checksum is wrong")
	}
	by, rest, _ := bytes.Cut(data[len(sealed):end], []byte("\n"))
	with, learnt, _ := bytes.Cut(rest, []byte("\n"))
	switch {
	case string(by) != model:
		return nil, fmt.Errorf("the saved training is of model %q, not %q", by, model)
	case string(with) != params:
		return nil, fmt.Errorf("the saved training has parameters %s, but the model has %s", with, params)
	}
	return learnt, nil
}

// appendTraining appends training record t to the bytes b. cutTraining is its
// reverse: it reads the record from the front of b.
func appendTraining(b []byte, t *Training) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, t.Epsilon)
	b, _ = binary.Append(b, binary.LittleEndian, t.Assignments)
	b, _ = binary.Append(b, binary.LittleEndian, uint64(len(t.Episodes)))
	b, _ = binary.Append(b, binary.LittleEndian, t.Episodes)
	return b
}

func cutTraining(b []byte) (*Training, []byte, error) {
	var head struct {
		Epsilon     float64
		Assignments int64
		Count       uint64
	}
	n, err := binary.Decode(b, binary.LittleEndian, &head)
	if err != nil || head.Count > uint64(len(b)-n)/uint64(binary.Size(Episode{})) {
		return nil, nil, fmt.Errorf("the record of episodes is cut off: %d bytes", len(b))
	}
	t := &Training{Epsilon: head.Epsilon, Assignments: head.Assignments, Episodes: make([]Episode, head.Count)}
	m, err := binary.Decode(b[n:], binary.LittleEndian, t.Episodes)
	return t, b[n+m:], err
}
