package sched

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"heddle/harness/state"
)

// Warmup is a model that is trained before it decides. Drivers find it by type
// assertion, and call it before the run or while a job's ApplicationMaster
// waits. Without that, the model trains when it first has to decide, and again
// when its training is out of date.
type Warmup interface {
	// Warmup trains for a job whose input is known, or with state.None for all
	// jobs that have not ended. The same job, layout and parameters, seed
	// included, give the same training. It calls progress, which may be nil,
	// now and then. If progress returns false, training ends with
	// ErrWarmupStopped and leaves nothing behind.
	Warmup(v *state.View, job state.JobID, progress func(Progress) bool) error
	// Training returns the record of the training that decides for a job. It is
	// nil if there is none yet or the job has ended.
	Training(job state.JobID) *Training
}

// Memory is a model that can save what it has learnt, as bytes that others
// store. Models that do not learn for each job ignore job.
type Memory interface {
	// Fingerprint is equal where training would give the same result. It can
	// serve as the name under which Save's bytes are stored.
	Fingerprint(v *state.View, job state.JobID) string
	// Save returns what has been learnt for a job, or an error if nothing has.
	Save(v *state.View, job state.JobID) ([]byte, error)
	// Load takes what Save returned instead of training. It refuses data that
	// do not fit the job, its layout or the model's parameters, says why, and
	// then changes nothing.
	Load(v *state.View, job state.JobID, data []byte) error
}

// ErrWarmupStopped says that the caller ended the training.
var ErrWarmupStopped = errors.New("training was stopped")

// Progress says how far a training is.
type Progress struct {
	Job          state.JobID // the job that is trained for; state.None: any job
	Episodes, Of int         // episodes done, and the most there can be
	Last         Episode
}

// Training records how the results of a training changed over its episodes.
type Training struct {
	Episodes []Episode // in order; empty if there was nothing to learn
	Epsilon  float64   // share of random actions at the end
}

// Episode is one pass over all maps of a job in training.
type Episode struct {
	Return    float64 // sum of rewards
	LocalRate float64 // share of maps placed cache-local or node-local
	CacheRate float64 // share of maps placed cache-local
}

const sealed = "heddle training 1\n"

// seal puts a header and a check sum around what a model has learnt. params are
// the parameters that it depends on, as text.
func seal(model, params string, learnt []byte) []byte {
	out := fmt.Appendf(make([]byte, 0, len(learnt)+len(params)+64), "%s%s\n%s\n", sealed, model, params)
	out = append(out, learnt...)
	return binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// unseal returns what seal was given. It fails if the data are damaged, or if
// model or params differ.
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

// appendTraining appends t to b; cutTraining takes it from the front of b.
func appendTraining(b []byte, t *Training) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, t.Epsilon)
	b, _ = binary.Append(b, binary.LittleEndian, uint64(len(t.Episodes)))
	b, _ = binary.Append(b, binary.LittleEndian, t.Episodes)
	return b
}

func cutTraining(b []byte) (*Training, []byte, error) {
	var head struct {
		Epsilon float64
		Count   uint64
	}
	n, err := binary.Decode(b, binary.LittleEndian, &head)
	if err != nil || head.Count > uint64(len(b)-n)/uint64(binary.Size(Episode{})) {
		return nil, nil, fmt.Errorf("the record of episodes is cut off: %d bytes", len(b))
	}
	t := &Training{Epsilon: head.Epsilon, Episodes: make([]Episode, head.Count)}
	m, err := binary.Decode(b[n:], binary.LittleEndian, t.Episodes)
	return t, b[n+m:], err
}
