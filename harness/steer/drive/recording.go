package drive

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/steer"
)

// A recording holds the observations that a steering Core was given, and the actions
// that it returned, for each call of the Core. It consists of JSON lines, compressed
// with zstd: the first is a recordingHead, all others are recordedSteps. Replay gives
// the same observations to a new Core.

const recordingFormat = 2

// maxLineBytes is the longest line of a recording. A line has an answer of the
// ResourceManager for each question, such as 500 bytes for each node.
const maxLineBytes = 64 << 20

// ErrDiffers means that a Core did something else than a recording says.
var ErrDiffers = errors.New("the actions differ")

// recordingHead is the first line of a recording: the settings that steering started
// with.
type recordingHead struct {
	Recording int          `json:"recording"` // version of the recording format
	Model     config.Model `json:"model"`
	steer.Options
}

// recordedStep is one recorded call of the Core's method Step or End.
type recordedStep struct {
	Now          time.Time             `json:"now"`
	Observations []recordedObservation `json:"observations,omitempty"`
	// Said holds the texts of those actions that a recording keeps, such as changes of
	// the cluster and decisions. The texts contain call numbers, so one call more or
	// less changes all later texts.
	Said []string `json:"said,omitempty"`
	End  bool     `json:"end,omitempty"`
}

// recordedObservation is an Observation whose answer is given as a number: answers are
// numbered from 1 in the order in which they first occur. The answer itself is written
// only with its first use, because most answers repeat an earlier one.
type recordedObservation struct {
	steer.Observation
	Answer json.RawMessage `json:"answer,omitempty"`
	Number int             `json:"answerNumber,omitempty"`
}

// Recorder writes a recording of steering: what a steering Core was told and what it
// did.
type Recorder struct {
	model   config.Model
	seed    uint64
	out     *zstd.Encoder
	numbers map[string]int // number of each answer written so far, by the answer's JSON
	flushed time.Time
	err     error
}

// NewRecorder starts a recording of steering on w. The scheduler model is recorded as
// its description and seed; Replay makes the model anew from these.
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

func (r *Recorder) begin(o steer.Options) {
	if r != nil {
		o.Seed, o.Origin = r.seed, o.Origin.Round(0)
		r.line(recordingHead{recordingFormat, r.model, o})
	}
}

// observed makes the record of one Core.Step before the Core gets the observations in
// batch, because the Core may change the answers in them.
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
	if step.Now.Sub(r.flushed) > time.Second { // flush every second, so that the recording of a killed run lacks at most its last second
		r.flushed = step.Now
		r.err = errors.Join(r.err, r.out.Flush())
	}
}

// The method close ends the recording. The returned error says what could not be
// written.
func (r *Recorder) close() error {
	if r == nil {
		return nil
	}
	if err := errors.Join(r.err, r.out.Close()); err != nil {
		return fmt.Errorf("record observations: %w", err)
	}
	return nil
}

// textsOf returns the texts of those actions that a recording keeps, such as changes of
// the cluster and decisions.
func textsOf(actions []steer.Action) (said []string) {
	for _, a := range actions {
		if steer.Matters(a) {
			said = append(said, a.String())
		}
	}
	return said
}

// Replay gives the observations of a recording to a new steering Core. After each step
// of the recording, it calls the function passed as each (unless nil) with the Core's
// actions and the time since Origin. The returned error names the first step whose
// actions differ from the recorded ones.
func Replay(in io.Reader, each func(after time.Duration, actions []steer.Action)) error {
	unzipped, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return fmt.Errorf("read recording: %w", err)
	}
	defer unzipped.Close()
	return replayLines(unzipped, each)
}

// replayLines is Replay for a recording that is not compressed.
func replayLines(in io.Reader, each func(after time.Duration, actions []steer.Action)) error {
	lines := linesOf(in)
	var head recordingHead
	if whole, err := next(lines, &head); err != nil || !whole {
		return fmt.Errorf("read recording: first line: %w", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	if head.Recording != recordingFormat {
		return fmt.Errorf("read recording: format %d, this version reads %d", head.Recording, recordingFormat)
	}
	o := head.Options
	if head.Model.Model == config.ModelExternal { // a file must not start a program
		return errors.New("replay recording: a program of its own decided, which is not started again for a recording")
	}
	if head.Model.Model != config.ModelYARN {
		var err error
		if o.Model, err = head.Model.Scheduler(head.Seed); err != nil {
			return fmt.Errorf("replay recording: %w", err)
		}
	}
	core, _, err := steer.New(o)
	if err != nil {
		return fmt.Errorf("replay recording: %w", err)
	}
	var answers []json.RawMessage
	for n := 1; ; n++ {
		var step recordedStep
		if whole, err := next(lines, &step); err != nil {
			return fmt.Errorf("read recording: step %d: %w", n, err)
		} else if !whole {
			return nil
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
			return fmt.Errorf("replay recording: step %d, %v after the origin: %w: the core says %q, the recording has %q",
				n, step.Now.Sub(o.Origin), ErrDiffers, said, step.Said)
		}
	}
}

// linesOf returns the whole lines of a recording. It drops a last line without its
// end: the run was killed while it wrote this line.
func linesOf(in io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return end + 1, data[:end], nil
		}
		if atEOF {
			return len(data), nil, nil
		}
		return 0, nil, nil
	})
	return lines
}

// next decodes the next line of a recording into v. It reports whether there was a
// whole line.
func next(lines *bufio.Scanner, v any) (bool, error) {
	if !lines.Scan() {
		err := lines.Err()
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			err = fmt.Errorf("a line is longer than %v", units.Size(maxLineBytes))
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = nil // the run was killed, so the compressed data has no end
		}
		return false, err
	}
	return true, json.Unmarshal(lines.Bytes(), v)
}

// batch returns the recorded step's observations, each with its answer. It adds new
// answers to those that were read so far; the one with number n has the index n-1.
func (s *recordedStep) batch(answers *[]json.RawMessage) ([]steer.Observation, error) {
	var batch []steer.Observation
	for _, x := range s.Observations {
		o := x.Observation
		o.Answer = nil
		if x.Answer != nil {
			*answers = append(*answers, x.Answer)
		}
		if x.Number < 0 || x.Number > len(*answers) {
			return nil, fmt.Errorf("answer number %d: the recording has 1 to %d so far", x.Number, len(*answers))
		}
		if x.Number > 0 {
			var err error
			if o.Answer, err = steer.DecodeAnswer(o.What, (*answers)[x.Number-1]); err != nil {
				return nil, err
			}
		}
		batch = append(batch, o)
	}
	return batch, nil
}
