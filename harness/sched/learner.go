package sched

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// Learner is a scheduler model that learns while it decides, and whose learned
// state may outlive a run. SaveState and LoadState put the state into a file and
// take it out again. A Learner is about all jobs; what a model learns for one job
// alone, and only while that job is there, is a Memory.
type Learner interface {
	// LearntFor says what the state serves, as text: the goal and those
	// parameters without which it has no meaning, such as "target=1 bins=10". A
	// state that was learnt for something else is refused.
	LearntFor() string
	// Save returns the learned state as bytes, and changes nothing. The same
	// state gives the same bytes.
	Save() ([]byte, error)
	// Load replaces the learned state by one that Save returned. The bytes may
	// come from anywhere: Load refuses what Save cannot have written, and then
	// changes nothing.
	Load(data []byte) error
	// Learnt shows the state to people, as tables.
	Learnt() []LearntTable
}

// LearntTable is a table that shows what a model has learnt.
type LearntTable struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// State is the learned state of a model as it stands in a file.
type State struct {
	Format int    `json:"format"` // stateFormat
	Model  string `json:"model"`
	// Params are the model's parameters that differ from the defaults, so that
	// the model can be made again.
	Params Params `json:"params,omitempty"`
	For    string `json:"for"` // text of Learner.LearntFor
	Learnt []byte `json:"learnt"`
	Sum    uint32 `json:"sum"` // checksum of the fields before
}

const (
	stateFormat = 1
	// MaxStateBytes is the largest size of a file with learned state.
	MaxStateBytes = 32 << 20
)

// sum returns the checksum of a state: CRC-32 of its JSON without a checksum.
func (s State) sum() uint32 {
	s.Sum = 0
	data, err := json.Marshal(s)
	if err != nil {
		panic("sched: checksum of a learned state: " + err.Error()) // this cannot happen: a State has only values that JSON can express
	}
	return crc32.ChecksumIEEE(data)
}

// ErrNoLearner says that a model has no state that could be kept.
var ErrNoLearner = errors.New("the model learns nothing that could be kept")

// SaveState returns the learned state of a model as the content of a file. The
// argument p has the parameters that the model was made with.
func SaveState(m Model, p Params) ([]byte, error) {
	l, ok := As[Learner](m)
	if !ok {
		return nil, fmt.Errorf("save state of model %s: %w", m.Name(), ErrNoLearner)
	}
	learnt, err := l.Save()
	if err != nil {
		return nil, fmt.Errorf("save state of model %s: %w", m.Name(), err)
	}
	s := State{Format: stateFormat, Model: m.Name(), Params: p, For: l.LearntFor(), Learnt: learnt}
	s.Sum = s.sum()
	data, err := json.Marshal(s)
	if err == nil && len(data) > MaxStateBytes {
		err = fmt.Errorf("%d bytes: at most %d can be kept", len(data), MaxStateBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("save state of model %s: %w", m.Name(), err)
	}
	return append(data, '\n'), nil
}

// ReadState reads the content of a file that SaveState wrote. It refuses one that
// is damaged, or of another version.
func ReadState(data []byte) (*State, error) {
	if len(data) > MaxStateBytes+1 {
		return nil, fmt.Errorf("read learned state: %d bytes: want at most %d", len(data), MaxStateBytes)
	}
	s := &State{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read learned state: %w; it is no file of learned state, or cut off", err)
	}
	if s.Format != stateFormat {
		return nil, fmt.Errorf("read learned state: format %d: this version of heddle reads format %d", s.Format, stateFormat)
	}
	if s.Sum != s.sum() {
		return nil, errors.New("read learned state: the checksum is wrong: the file is damaged or was changed by hand")
	}
	return s, nil
}

// LoadState gives a model the learned state from the content of a file. It refuses
// the state of another model, and one that was learnt for another goal.
func LoadState(m Model, data []byte) error {
	s, err := ReadState(data)
	if err != nil {
		return err
	}
	l, ok := As[Learner](m)
	switch {
	case !ok:
		return fmt.Errorf("load state: model %s: %w", m.Name(), ErrNoLearner)
	case s.Model != m.Name():
		return fmt.Errorf("load state: it was learnt by model %s, not by %s", s.Model, m.Name())
	case s.For != l.LearntFor():
		return fmt.Errorf("load state of model %s: it was learnt for %s, and the model is for %s; give the model the same parameters, or "+
			"let it learn anew (state: fresh)", m.Name(), s.For, l.LearntFor())
	}
	if err := l.Load(s.Learnt); err != nil {
		return fmt.Errorf("load state of model %s: %w", m.Name(), err)
	}
	return nil
}

// Show makes the model that learnt the state, and returns what it says of it.
func (s *State) Show() ([]LearntTable, error) {
	m, err := New(s.Model, s.Params)
	if err != nil {
		return nil, fmt.Errorf("show learned state: %w", err)
	}
	l, ok := As[Learner](m)
	if !ok {
		return nil, fmt.Errorf("show learned state: model %s: %w", s.Model, ErrNoLearner)
	}
	if err := l.Load(s.Learnt); err != nil {
		return nil, fmt.Errorf("show learned state of model %s: %w", s.Model, err)
	}
	return l.Learnt(), nil
}
