package clqlmrs

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/clqlmrs/model"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// upsideDown is the learner with its own table upside down: all values that it has learnt
// for a job are negated, so that it takes the action that it holds for the worst.
type upsideDown struct{ learns }

// learns is what the paper's frame asks of the learner.
type learns interface {
	sched.Model
	sched.Course
	sched.Warmup
}

func (m upsideDown) Name() string        { return "upside-down" }
func (m upsideDown) Unwrap() sched.Model { return m.learns }

// LoadJob negates the values of a table: one for each class of the map before, map and
// node. They stand last in what is saved, before a checksum.
func (m upsideDown) LoadJob(v *state.View, job state.JobID, data []byte) error {
	learnt := slices.Clone(data[:len(data)-crc32.Size])
	for i, values := 1, 5*int(v.Tasks(job, state.Map))*v.Nodes(); i <= values; i++ {
		learnt[len(learnt)-8*i+7] ^= 0x80 // the sign of a float64
	}
	return m.learns.LoadJob(v, job, binary.LittleEndian.AppendUint32(learnt, crc32.ChecksumIEEE(learnt)))
}

var upsideDownInfo = sched.Info{
	Name: "upside-down", Summary: "clqlmrs with its table negated, for a test", Source: "ours", Params: model.Info.Params,
	Build: func(a sched.Args) (sched.Model, error) {
		m, err := model.Info.Build(a)
		if err != nil {
			return nil, err
		}
		return upsideDown{m.(learns)}, nil
	},
}

// claimedBy returns the paper with another scheduler as the one that it proposes. With
// reference, the paper's own controls stay.
func claimedBy(model string, params sched.Params, controls bool) *paper.Paper {
	p := Paper()
	if !controls {
		p.Controls, p.Bars = nil, nil
	}
	// readings set them
	p.Controls = append(slices.Clone(p.Controls), paper.Scheduler{Label: "the learner's parameters", Model: "clqlmrs", Ablated: true})
	// that set-up needs one for its price of remote maps
	if !controls {
		p.Measures = nil
	}
	p.Schedulers = slices.Clone(p.Schedulers)
	i := slices.IndexFunc(p.Schedulers, func(s paper.Scheduler) bool { return s.Label == learner })
	p.Schedulers[i] = paper.Scheduler{Label: learner, Model: model, Params: params}
	return p
}

// few200 is a short training, for tests.
var few200 = map[string]string{"clqlmrs.episodes": "200"}

// TestPutWrong puts another scheduler in the place of the paper's own, simulated as the
// paper was repaired. Each claim must then get the verdict that it should: what learns
// nothing saves nothing, what is worse is reversed, and what matching does needs no method.
func TestPutWrong(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		model string
		want  map[string]paper.Verdict
		needs bool // whether C5 may need the method
	}{
		{"clqlmrs", map[string]paper.Verdict{"C2": paper.Direction, "C5": paper.Reversed}, false}, // ACL has the higher cache rate
		{"upside-down", map[string]paper.Verdict{"C2": paper.Reversed, "C3": paper.Reversed, "C4": paper.Reversed, "C5": paper.Reversed}, false},
		{"fifo", map[string]paper.Verdict{"C2": paper.Fails, "C3": paper.Reversed, "C5": paper.Reversed}, false},
		{"random", map[string]paper.Verdict{"C2": paper.Fails, "C4": paper.Reversed, "C5": paper.Reversed}, false},
		{"matching", map[string]paper.Verdict{"C2": paper.Direction, "C5": paper.Direction}, false},
	} {
		var params sched.Params
		if x.model == "upside-down" { // readings and options set those of clqlmrs
			params = sched.Params{"reward": "step", "episode": "job", "episodes": few200["clqlmrs.episodes"]}
		}
		p := claimedBy(x.model, params, true)
		r := errtest.Must(p.Run(t.Context(), paper.Options{
			Parts: []string{"C2", "C3", "C4", "C5"}, Reading: "repaired", Seed: 1, Seeds: 6,
			Workers: 2, Set: few200,
		}))
		for id, want := range x.want {
			c := criterion(r, id)
			if c.Verdict != want {
				t.Errorf("%s as claimant: %s %s, want %s: %s", x.model, id, c.Verdict, want, c.Note)
			}
			if c.NeededMethod != x.needs {
				t.Errorf("%s as claimant: %s needs the method: %v: %+v", x.model, id, c.NeededMethod, c.Controls)
			}
		}
	}
}

// TestUpsideDownAsPrinted has the learner's table upright and upside down in the paper as
// printed. The rates, which rest on the table, are then lower. The time does not rest on
// it: it is longer than FIFO's, ACL's and Delay's either way, and no longer upside down.
func TestUpsideDownAsPrinted(t *testing.T) {
	t.Parallel()
	judged := func(claimant, id string) paper.Criterion {
		p := claimedBy(claimant, sched.Params{"reward": "cumulative", "episode": "wave", "episodes": few200["clqlmrs.episodes"]}, false)
		r := errtest.Must(p.Run(t.Context(), paper.Options{Parts: []string{id}, Seed: 1, Seeds: 6, Workers: 2, Set: few200}))
		return criterion(r, id)
	}
	for id, byTable := range map[string]bool{"C4": true, "C5": true, "C2": false, "C3": false, "C16": false} {
		upright, turned := judged("clqlmrs", id), judged("upside-down", id)
		a, b := upright.Effects[0], turned.Effects[0]
		switch {
		case turned.Verdict != paper.Reversed || b.Sign != paper.Opposite:
			t.Errorf("%s upside down: %s, want %s: %s", id, turned.Verdict, paper.Reversed, turned.Note)
		case byTable && !(b.CI95[1] < a.CI95[0]):
			t.Errorf("%s: %v upside down, %v upright: want it below", id, b.CI95, a.CI95)
		case !byTable && (upright.Verdict != paper.Reversed || b.CI95[1] < a.CI95[0]):
			t.Errorf("%s: %v upside down, %v upright (%s): want it reversed both ways, and no worse upside down", id, b.CI95, a.CI95,
				upright.Verdict)
		}
	}
	if c := judged("clqlmrs", "C4"); c.Effects[0].Sign != paper.Shown {
		t.Errorf("upright, more maps than FIFO's are local: %s, want %s", c.Effects[0].Sign, paper.Shown)
	}
}

// beyond returns the effects that are larger than the room that there is said to be for them.
func beyond(list []paper.Criterion) (names []string) {
	for _, c := range list {
		for _, e := range c.Effects {
			if e.RoomWhy != "" && float64(e.Ours) > float64(e.Room)+1e-9 {
				names = append(names, c.ID+": "+e.What)
			}
		}
	}
	return names
}

// TestRoomIsABound holds the paper's scheduler and every control against the room of every
// effect, in the readings of the matrix (of one axis if the test is short). None may pass it.
// With half of the room, some do.
func TestRoomIsABound(t *testing.T) {
	t.Parallel()
	claimants := append([]paper.Scheduler{{Label: learner, Model: "clqlmrs"}, {Label: fifo, Model: "fifo"}}, Paper().Controls...)
	o := paper.Options{Seed: 1, Seeds: 4, Workers: 2, Set: few200}
	var vary paper.Vary
	if testing.Short() {
		claimants, vary.Axes = claimants[:3], []string{"actuator"}
		o.Parts, o.Seeds = []string{"C2", "C5", "C6"}, 2
	}
	for _, x := range claimants {
		m := errtest.Must(claimedBy(x.Model, x.Params, false).Matrix(t.Context(), o, vary))
		for _, r := range m.Readings {
			for _, name := range beyond(r.Criteria) {
				t.Errorf("%s in reading %q passes the room of %s", x.Label, r.Reading, name)
			}
		}
	}
	p := claimedBy("matching", nil, false)
	for i := range p.Claims {
		p.Claims = slices.Clone(p.Claims)
		of := p.Claims[i].Effects
		p.Claims[i].Effects = func(d *paper.Data) []paper.Effect {
			list := of(d)
			for k := range list {
				e := &list[k]
				e.Room.Value = e.None + (e.Room.Value-e.None)/2
			}
			return list
		}
	}
	r := errtest.Must(p.Run(t.Context(), paper.Options{
		Parts: []string{"C5", "C6"}, Reading: "repaired", Seed: 1, Seeds: 2, Workers: 2,
		Set: few200,
	}))
	if len(beyond(r.Criteria)) == 0 {
		t.Error("with half of the room, nothing passes it")
	}
}
