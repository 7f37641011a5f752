package paper

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
)

// Setting is a cluster and the jobs on it: all of a simulation but the model.
// It is a struct of plain values: two that print alike with %#v are the same.
type Setting interface {
	// Config is a run's set-up, without Source, Model and Seed, and its jobs.
	// Whatever is random comes from the seed, by name, so that all models see the
	// same.
	Config(seed uint64) (sim.Config, []sim.Job, error)
}

// Case is a model in a setting.
type Case struct {
	Setting Setting
	Model   string
	Params  sched.Params
}

func (c Case) name() string {
	return fmt.Sprintf("%#v %s%v", c.Setting, c.Model, c.Params)
}

// Simulation is what one simulation came to.
type Simulation struct {
	Seconds float64 // mean of jobs, from submission to end
	Cached  int64   // maps whose block is cached anywhere
	sim.Result
}

// Bench simulates cases, each once for each seed, and remembers what they came
// to.
type Bench struct {
	ctx     context.Context
	seeds   []uint64
	workers int

	mu      sync.Mutex
	done    map[string][]Simulation
	count   int
	lessons *lessons
}

func newBench(ctx context.Context, o Options) *Bench {
	b := &Bench{ctx: ctx, workers: max(1, o.Workers), done: map[string][]Simulation{}, lessons: &lessons{saved: map[string]*lesson{}}}
	for i := range o.Seeds {
		b.seeds = append(b.seeds, uint64(draw.Stream(o.Seed, "paper").At(uint64(i))>>1))
	}
	return b
}

func (b *Bench) simulated() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// Trials are what cases came to: of each, a trial a seed in the same order.
func (b *Bench) Trials(cases ...Case) ([][]Simulation, error) {
	g, ctx := errgroup.WithContext(b.ctx)
	g.SetLimit(b.workers)
	fresh := map[string][]Simulation{}
	for _, c := range cases {
		name := c.name()
		if b.done[name] != nil || fresh[name] != nil {
			continue
		}
		fresh[name] = make([]Simulation, len(b.seeds))
		for i, seed := range b.seeds {
			to := &fresh[name][i]
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := b.run(c, seed, to); err != nil {
					return fmt.Errorf("%s, seed %d: %w", name, seed, err)
				}
				b.mu.Lock()
				defer b.mu.Unlock()
				b.count++
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	list := make([][]Simulation, len(cases))
	for name, trials := range fresh {
		b.done[name] = trials
	}
	for i, c := range cases {
		list[i] = b.done[c.name()]
	}
	return list, nil
}

// run simulates one case on one seed.
func (b *Bench) run(c Case, seed uint64, to *Simulation) error {
	config, jobs, err := c.Setting.Config(seed)
	if err != nil {
		return err
	}
	m, err := newModel(c, seed)
	if err != nil {
		return err
	}
	learner := b.lessons.teach(m)
	if learner != nil {
		m = learner
	}
	config.Source, config.Model, config.Seed = &sim.Jobs{List: jobs}, m, seed
	config.Interrupted = b.ctx.Err
	r, err := sim.Run(&config)
	if err == nil && learner != nil {
		err = learner.err
	}
	if err != nil {
		return err
	}
	*to = trialOf(r, jobs)
	return nil
}

// newModel is the case's model; one that draws random numbers draws others for
// each seed.
func newModel(c Case, seed uint64) (sched.Model, error) {
	p := sched.Params{}
	for _, info := range sched.List() {
		if info.Name == c.Model && slices.ContainsFunc(info.Params, func(p sched.Param) bool { return p.Name == "seed" }) {
			p["seed"] = strconv.FormatUint(seed>>33, 10)
		}
	}
	for name, value := range c.Params {
		p[name] = value
	}
	return sched.New(c.Model, p)
}

func trialOf(r *sim.Result, jobs []sim.Job) Simulation {
	t := Simulation{Result: *r}
	for _, j := range r.Jobs {
		t.Seconds += float64(j.EndMs-j.SubmitMs) / 1000 / float64(len(r.Jobs))
	}
	for i := range jobs {
		start := int32(0)
		for _, end := range jobs[i].Cached.Ends {
			if end > start {
				t.Cached++
			}
			start = end
		}
	}
	return t
}

// Each is a figure of each trial.
func Each[T any](trials []Simulation, of func(*Simulation) T) []T {
	xs := make([]T, len(trials))
	for i := range trials {
		xs[i] = of(&trials[i])
	}
	return xs
}

// Seconds is a job's time from submission to end.
func Seconds(t *Simulation) float64 { return t.Seconds }

// Rate is a share of a trial's maps. It is no number, so that it is estimated as
// a share.
type Rate func(*Simulation) stats.Share

// CacheRate is the share of maps that ran where their block was cached.
func CacheRate(t *Simulation) stats.Share { return t.upTo(state.LevelCache) }

// LocalRate is the share of maps that ran where their block was, cached or on
// disk.
func LocalRate(t *Simulation) stats.Share { return t.upTo(state.LevelNode) }

// RackRate is the share of maps that ran in a rack that has their block.
func RackRate(t *Simulation) stats.Share { return t.upTo(state.LevelRack) }

// CachedShare is the share of maps whose block was cached anywhere, the most that
// CacheRate can be.
func CachedShare(t *Simulation) stats.Share { return stats.Share{Part: t.Cached, Of: CacheRate(t).Of} }

// HitShare is the share of maps that ran where their block was cached, of those
// whose block was cached anywhere.
func HitShare(t *Simulation) stats.Share { return stats.Share{Part: CacheRate(t).Part, Of: t.Cached} }

// upTo is the share of maps whose block was as near as a level, or nearer.
func (t *Simulation) upTo(most state.Level) (s stats.Share) {
	for _, n := range t.Maps {
		s.Of += n
	}
	for level := state.LevelCache; level <= most; level++ {
		s.Part += t.Maps[level]
	}
	return s
}
