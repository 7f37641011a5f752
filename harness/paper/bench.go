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

// Setting is a simulated cluster and the jobs that run on it: everything in a
// simulation except the scheduler model. A Setting is a struct of plain values,
// so that a text printed with %#v identifies it.
type Setting interface {
	// Config returns the configuration of a simulation and the jobs to
	// simulate. The caller sets Source, Model and Seed of the configuration.
	// Random choices, such as where blocks are placed, depend only on the seed.
	// So all scheduler models meet the same ones.
	Config(seed uint64) (sim.Config, []sim.Job, error)
}

// Case is a scheduler model in a setting: a cluster and its jobs.
type Case struct {
	Setting Setting
	Model   string
	Params  sched.Params
}

func (c Case) name() string {
	return fmt.Sprintf("%#v %s%v", c.Setting, c.Model, c.Params)
}

// Simulation is the result of simulating one scheduler model with one seed.
type Simulation struct {
	Seconds float64 // mean time of the jobs from submission to end
	Cached  int64   // number of maps whose block is cached on some node
	sim.Result
}

// Bench simulates cases (scheduler models in settings). It simulates each case
// once for each seed, and keeps the results for later requests.
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

// Trials returns the simulations of the given cases (scheduler models in
// settings), in the order of the cases. Each case has one simulation for each
// seed, in the order of the seeds.
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

// run simulates one scheduler model in one setting with one seed.
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

// newModel returns the scheduler model of a case. A model that draws random
// numbers gets a seed of its own, derived from the simulation's seed.
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

// Each calls a function for every simulation and returns its results in the
// order of the simulations.
func Each[T any](trials []Simulation, of func(*Simulation) T) []T {
	xs := make([]T, len(trials))
	for i := range trials {
		xs[i] = of(&trials[i])
	}
	return xs
}

// Seconds returns the mean time of a simulation's jobs from submission to end.
func Seconds(t *Simulation) float64 { return t.Seconds }

// Rate is a function that returns a share of a simulation's maps, such as the
// share that read from a cache. The result is a stats.Share and not a number,
// because the confidence interval of a share is computed from its two counts.
type Rate func(*Simulation) stats.Share

// CacheRate returns the share of maps that ran on a node with their block in
// its cache.
func CacheRate(t *Simulation) stats.Share { return t.upTo(state.LevelCache) }

// LocalRate returns the share of maps that ran on a node with their block in
// its cache or on its disk.
func LocalRate(t *Simulation) stats.Share { return t.upTo(state.LevelNode) }

// RackRate returns the share of maps that ran in a rack in which some node
// stores their block.
func RackRate(t *Simulation) stats.Share { return t.upTo(state.LevelRack) }

// CachedShare returns the share of maps whose block was cached on some node,
// wherever the map ran. The share of maps that read from a cache, CacheRate,
// cannot be higher.
func CachedShare(t *Simulation) stats.Share { return stats.Share{Part: t.Cached, Of: CacheRate(t).Of} }

// HitShare returns how well a scheduler used the cache: of the maps whose block
// was cached on some node, the share that ran on such a node.
func HitShare(t *Simulation) stats.Share { return stats.Share{Part: CacheRate(t).Part, Of: t.Cached} }

// upTo returns the share of maps that ran at least as near to a copy of their
// block as the given level says. The levels are, from near to far: cache, node,
// rack.
func (t *Simulation) upTo(most state.Level) (s stats.Share) {
	for _, n := range t.Maps {
		s.Of += n
	}
	for level := state.LevelCache; level <= most; level++ {
		s.Part += t.Maps[level]
	}
	return s
}
