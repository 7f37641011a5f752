// Package external lets a program in any language decide as a scheduler model. The
// program runs beside heddle, reads lines of JSON from its standard input and writes
// lines of JSON to its standard output. README.md describes the lines.
//
// New makes a sched.Model that passes every question on to such a program, so that the
// same program serves simulations and real clusters. Each request has what changed in
// the View since the request before. The model checks each answer before it returns it.
// If the program ends, hangs or answers what cannot be, the model fails: drivers ask for
// the error (sched.Process) and end the trial.
//
// The package leaves out what the protocol does not have: metrics of nodes, plans of
// splits, training, and states that outlive a trial.
package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// Name is the name of all models that are programs.
const Name = "external"

// DecisionLimit is how long a program may take for an answer if Options do not say.
const DecisionLimit = 10 * time.Second

// startLimit is how long a program may take at least to start and to say hello.
const startLimit = time.Minute

// mostEvents is how many events wait for a node with room at most.
const mostEvents = 5000

// Options say which program decides.
type Options struct {
	Command []string      // the program and its arguments
	Limit   time.Duration // how long an answer may take; 0: DecisionLimit
	Params  sched.Params  // the program's parameters, which heddle does not know
	Seed    uint64
}

// Model is a scheduler model that asks a program. Drivers call Start before anything
// else, and Close at the end.
type Model struct {
	options Options
	process *process // nil: it was not started, or has ended
	seen    seen
	events  []event
	hears   bool // the program wants events
	failed  error
	ended   bool
	cost    Cost
}

// Cost is what the conversation with the program took so far.
type Cost struct {
	Requests, Decisions     int64
	BytesSent, BytesAnswers int64
	// Own is the time that heddle took to write requests and to read answers, Waited
	// the time until answers came, and Model what the program says that its rule took
	// of it; 0: it does not say.
	Own, Waited, Model time.Duration
}

// New returns a model that asks a program. The program is not started yet.
func New(o Options) (*Model, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, fmt.Errorf("model %s: no command; say which program decides, such as command: [python3, my.py]", Name)
	}
	if o.Limit < 0 {
		return nil, fmt.Errorf("model %s: limit %v is negative", Name, o.Limit)
	}
	if o.Limit == 0 {
		o.Limit = DecisionLimit
	}
	return &Model{options: o}, nil
}

// Name implements sched.Model.
func (m *Model) Name() string { return Name }

// Start starts the program and waits until it says hello.
func (m *Model) Start() error {
	if m.process != nil || m.ended {
		return m.fail(errors.New("started twice; make a new model for each trial"))
	}
	var err error
	if m.process, err = start(m.options.Command); err != nil {
		return m.fail(err)
	}
	params := sched.Params{} // never nil
	maps.Copy(params, m.options.Params)
	line, err := json.Marshal(struct {
		Hello  int          `json:"hello"`
		Seed   uint64       `json:"seed"`
		Params sched.Params `json:"params"`
	}{protocol, m.options.Seed, params})
	if err != nil {
		return m.fail(err)
	}
	said, err := m.process.exchange(line, max(m.options.Limit, startLimit))
	if err != nil {
		return m.fail(fmt.Errorf("hello: %w", err))
	}
	if m.hears, err = readHello(said); err != nil {
		return m.fail(err)
	}
	return nil
}

// Failed returns why the program can decide no more, nil if it can.
func (m *Model) Failed() error { return m.failed }

// Cost returns what the conversation with the program took so far.
func (m *Model) Cost() Cost { return m.cost }

// Close says goodbye to the program and ends it, with all that it started. The error
// says that it ended badly, unless Failed has said so before.
func (m *Model) Close() error {
	m.ended = true
	if m.process == nil {
		return nil
	}
	seconds, err := m.process.end()
	m.process = nil
	if err != nil {
		return m.fail(fmt.Errorf("at the end: %w", err))
	}
	m.cost.Model = time.Duration(seconds * 1e9)
	return nil
}

// fail ends the program and remembers why, with what it wrote to its standard error.
func (m *Model) fail(why error) error {
	if m.process != nil {
		why = m.process.kill(why)
		m.process = nil
	}
	m.failed = fmt.Errorf("model %s, %q: %w", Name, m.options.Command, why)
	return m.failed
}

// Observe implements sched.Observer. Events go with the next request.
func (m *Model) Observe(v *state.View, e sched.Event) {
	if m.process == nil || e.What == sched.NodeReported {
		return
	}
	m.seen.note(e)
	if !m.hears {
		return
	}
	m.events = append(m.events, eventOf(v.Now(), e))
	if len(m.events) == mostEvents { // much happens, and no node has room
		m.decide(v, state.None, nil)
	}
}

// Round implements sched.Model.
func (m *Model) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	if m.process == nil {
		if m.failed == nil {
			_ = m.fail(errors.New("asked before it was started, or after its end"))
		}
		return out
	}
	return m.decide(v, free[0], out)
}

// decide asks the program what to start on node n; with state.None it only tells of
// events.
func (m *Model) decide(v *state.View, n state.NodeID, out []sched.Decision) []sched.Decision {
	began := time.Now()
	m.cost.Requests++
	line, err := m.seen.request(v, m.cost.Requests, n, m.events)
	if err != nil {
		_ = m.fail(err)
		return out
	}
	m.events = m.events[:0]
	sent := time.Now()
	said, err := m.process.exchange(line, m.options.Limit)
	got := time.Now()
	if err != nil {
		_ = m.fail(fmt.Errorf("request %d: %w", m.cost.Requests, err))
		return out
	}
	decided, err := readAnswer(v, m.cost.Requests, n, said, out)
	if err != nil {
		_ = m.fail(err)
		return out
	}
	m.cost.Decisions += int64(len(decided) - len(out))
	m.cost.BytesSent += int64(len(line))
	m.cost.BytesAnswers += int64(len(said))
	m.cost.Waited += got.Sub(sent)
	m.cost.Own += sent.Sub(began) + time.Since(got)
	return decided
}
