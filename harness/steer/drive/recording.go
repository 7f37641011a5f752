package drive

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"heddle/harness/config"
	"heddle/harness/steer"
	"heddle/yarnclient"
)

// A recording is what a Core was told, step by step, and what it said to that: JSON
// lines, compressed with zstd. The first line is a recordingHead, each other one a
// recordedStep. It can be gone through again with Replay.

const recordingFormat = 1

// recordingHead is what a Core begins with.
type recordingHead struct {
	Recording int               `json:"recording"` // recordingFormat
	Model     config.Model      `json:"model"`
	Seed      uint64            `json:"seed"`
	Actuator  string            `json:"actuator"`
	Splits    string            `json:"splits"`
	Setup     steer.Setup       `json:"setup"`
	Origin    time.Time         `json:"origin"`
	RM        int64             `json:"rm"`
	Nodes     []yarnclient.Node `json:"nodes"`
}

// recordedStep is one Step, or the End.
type recordedStep struct {
	Now          time.Time             `json:"now"`
	Observations []recordedObservation `json:"observations,omitempty"`
	// Said are the texts of the actions that matter. They hold numbers that count all
	// that was asked before, so that a question more or less shows in the next of them.
	Said []string `json:"said,omitempty"`
	End  bool     `json:"end,omitempty"`
}

// recordedObservation has its answer as the number of one of the recording's
// answers, from 1, which stands where it is used first: most answers say what one
// before has said.
type recordedObservation struct {
	steer.Observation
	Answer json.RawMessage `json:"answer,omitempty"`
	Number int             `json:"answerNumber,omitempty"`
}

// Recorder writes a recording.
type Recorder struct {
	model   config.Model
	seed    uint64
	out     *zstd.Encoder
	numbers map[string]int // of answers, by their JSON
	flushed time.Time
	err     error
}

// NewRecorder writes a recording of a model's steering to w. The model is made
// anew from its description, with the seed, when the recording is replayed.
func NewRecorder(w io.Writer, model config.Model, seed uint64) (*Recorder, error) {
	out, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("record observations: %w", err)
	}
	return &Recorder{model: model, seed: seed, out: out, numbers: map[string]int{}}, nil
}

func (r *Recorder) line(v any) {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = r.out.Write(append(data, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

func (r *Recorder) begin(o *steer.Options) {
	if r != nil {
		r.line(recordingHead{recordingFormat, r.model, r.seed, o.Actuator, o.Splits, o.Setup, o.Origin.Round(0), o.RM, o.Nodes})
	}
}

// observed is a step's batch as it is written: before the Core has it, which may
// change what it was given.
func (r *Recorder) observed(now time.Time, batch []steer.Observation) *recordedStep {
	if r == nil {
		return nil
	}
	step := &recordedStep{Now: now}
	for _, o := range batch {
		x := recordedObservation{Observation: o}
		if o.Answer != nil {
			data, err := json.Marshal(o.Answer)
			r.err = errors.Join(r.err, err)
			if x.Number = r.numbers[string(data)]; x.Number == 0 {
				x.Number = len(r.numbers) + 1
				r.numbers[string(data)] = x.Number
				x.Answer = data
			}
		}
		step.Observations = append(step.Observations, x)
	}
	return step
}

func (r *Recorder) said(step *recordedStep, actions []steer.Action) {
	if r == nil {
		return
	}
	step.Said = textsOf(actions)
	r.line(step)
	if step.Now.Sub(r.flushed) > time.Second { // what a killed run has recorded can be read
		r.flushed = step.Now
		r.err = errors.Join(r.err, r.out.Flush())
	}
}

// close ends the recording, and says what of it could not be written.
func (r *Recorder) close() error {
	if r == nil {
		return nil
	}
	if err := errors.Join(r.err, r.out.Close()); err != nil {
		return fmt.Errorf("record observations: %w", err)
	}
	return nil
}

// textsOf are the texts of the actions that matter.
func textsOf(actions []steer.Action) (said []string) {
	for _, a := range actions {
		if steer.Matters(a) {
			said = append(said, a.String())
		}
	}
	return said
}

// Replay goes through a recording again with a new Core, and calls each with the
// actions of each step, so long after the trace's start. The error names the first step at which they are not those
// recorded.
func Replay(in io.Reader, each func(after time.Duration, actions []steer.Action)) error {
	unzipped, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return fmt.Errorf("read recording: %w", err)
	}
	defer unzipped.Close()
	lines := json.NewDecoder(bufio.NewReader(unzipped))
	var head recordingHead
	if err := lines.Decode(&head); err != nil {
		return fmt.Errorf("read recording: %w", err)
	}
	if head.Recording != recordingFormat {
		return fmt.Errorf("read recording: format %d, this version reads %d", head.Recording, recordingFormat)
	}
	o := steer.Options{Actuator: head.Actuator, Splits: head.Splits, Setup: head.Setup, Origin: head.Origin, RM: head.RM, Nodes: head.Nodes}
	if head.Model.Model != config.ModelYARN {
		if o.Model, err = head.Model.Scheduler(head.Seed); err != nil {
			return fmt.Errorf("replay recording: %w", err)
		}
	}
	core, _, err := steer.New(o)
	if err != nil {
		return fmt.Errorf("replay recording: %w", err)
	}
	answers := []json.RawMessage{nil}
	for n := 1; ; n++ {
		var step recordedStep
		if err := lines.Decode(&step); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a run that was killed
			return nil
		} else if err != nil {
			return fmt.Errorf("read recording: step %d: %w", n, err)
		}
		batch, err := step.batch(&answers)
		if err != nil {
			return fmt.Errorf("read recording: step %d: %w", n, err)
		}
		var actions []steer.Action
		if step.End {
			actions = core.End(step.Now)
		} else {
			actions, _ = core.Step(step.Now, batch)
		}
		if each != nil {
			each(step.Now.Sub(o.Origin), actions)
		}
		if said := textsOf(actions); !slices.Equal(said, step.Said) {
			return fmt.Errorf("replay recording: step %d, %v after the origin: the core says %q, said %q", n, step.Now.Sub(o.Origin), said, step.Said)
		}
	}
}

// batch is a step's observations, with their answers.
func (s *recordedStep) batch(answers *[]json.RawMessage) ([]steer.Observation, error) {
	var batch []steer.Observation
	for _, x := range s.Observations {
		o := x.Observation
		o.Answer = nil
		if x.Answer != nil {
			*answers = append(*answers, x.Answer)
		}
		if x.Number < 0 || x.Number >= len(*answers) {
			return nil, fmt.Errorf("answer %d of %d", x.Number, len(*answers)-1)
		}
		if x.Number > 0 {
			var err error
			if o.Answer, err = steer.DecodeAnswer(o.What, (*answers)[x.Number]); err != nil {
				return nil, err
			}
		}
		batch = append(batch, o)
	}
	return batch, nil
}
