package paper

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"heddle/harness/measure"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/stats"
	"heddle/traces"
)

// Case is a scheduler in a setting, and how it is run there.
type Case struct {
	Setting   Setting
	Scheduler Scheduler
	Offering  string // one of the values of the property Offering
	// AssignmentMs is how many ms of the job's time the training of a model
	// takes for each map that it places.
	AssignmentMs float64
	// Episodes are numbers of training episodes that other cases need with the
	// same set-up and rule. One training then serves all of them.
	Episodes []int
}

// name returns a text that is equal for cases with the same result.
func (c *Case) name() string {
	return fmt.Sprintf("%#v %s%v %s %g", c.Setting, c.Scheduler.Model, c.Scheduler.Params, c.Offering, c.AssignmentMs)
}

// Simulation is the result of a case with one seed.
type Simulation struct {
	Seconds    float64 // mean time of the jobs from submission to end; stages are added up
	Least      float64 // a lower bound of Seconds that no scheduler passes with this seed; 0 if none is known
	Locality   measure.Locality
	Cached     int64 // number of maps whose block is cached on some node, wherever the map ran
	Trained    int64 // number of maps that the model placed in training, all episodes together
	TrainingMs float64
	Stages     []*measure.Figures // of each stage, without lists of jobs and nodes
	Times      MapTimes           // where the time of maps went, all stages together
	Notes      map[string]float64 // figures of the model's own and of the setting's, of the last stage that has them
	// Series are values inside the simulation, such as the load over time, in ascending
	// order of X. Samples are values without order, such as the time of each job.
	Series  map[string][]Point
	Samples map[string][]float64
}

// add adds the figures of a stage. These are the figures that any run has,
// simulated or not.
func (s *Simulation) add(f *measure.Figures, config *sim.Config, jobs []sim.Job) {
	s.Seconds += f.MeanCompletionMs / 1000
	s.Locality.Cache += f.Locality.Cache
	s.Locality.Node += f.Locality.Node
	s.Locality.Rack += f.Locality.Rack
	s.Locality.Off += f.Locality.Off
	for i := range jobs {
		s.Least += float64(config.LeastMs(&jobs[i])) / 1000 / float64(len(jobs))
		start := int32(0)
		for _, end := range jobs[i].Cached.Ends {
			if end > start {
				s.Cached++
			}
			start = end
		}
	}
}

// maps returns the share that so many maps are of all whose locality is known.
func (s *Simulation) maps(part int64) stats.Share {
	return stats.Share{Part: part, Of: int64(s.Locality.Known())}
}

// Rate is a share of a simulation's maps.
type Rate func(*Simulation) stats.Share

// CacheRate returns the share of maps that ran on a node with their block in
// its cache.
func CacheRate(s *Simulation) stats.Share {
	return s.maps(int64(s.Locality.Cache))
}

// LocalRate returns the share of maps that ran on a node with their block in
// its cache or on its disk.
func LocalRate(s *Simulation) stats.Share {
	return s.maps(int64(s.Locality.Cache + s.Locality.Node))
}

// CachedShare returns the share of maps whose block is cached on some node. No
// scheduler can have a higher CacheRate.
func CachedShare(s *Simulation) stats.Share {
	return s.maps(s.Cached)
}

// bench simulates cases, each once for each seed, and keeps the results.
type bench struct {
	ctx      context.Context
	seeds    []uint64
	workers  int
	simulate func(Case, uint64) (Simulation, error)
	progress func(Progress)
	lessons  *lessons

	mu        sync.Mutex
	done      map[string][]Simulation
	simulated int
	all, at   int
	doing     string
}

func newBench(ctx context.Context, o Options) (*bench, error) {
	if o.Seeds < 2 {
		return nil, fmt.Errorf("%d seeds: an interval needs 2 or more", o.Seeds)
	}
	b := &bench{
		ctx:      ctx,
		workers:  max(1, o.Workers),
		done:     map[string][]Simulation{},
		lessons:  &lessons{saved: map[string]*lesson{}},
		simulate: o.Simulate,
		progress: o.Progress,
		at:       -1,
	}
	for i := range o.Seeds {
		b.seeds = append(b.seeds, uint64(draw.Stream(o.Seed, "paper").At(uint64(i))>>1))
	}
	if b.simulate == nil {
		b.simulate = b.run
	}
	return b, nil
}

// tell reports that the part, claim or reading before is done, and the next
// has begun.
func (b *bench) tell(doing string) {
	b.mu.Lock()
	b.at, b.doing = b.at+1, doing
	b.mu.Unlock()
	b.report()
}

func (b *bench) report() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.progress != nil {
		b.progress(Progress{Doing: b.doing, Simulated: b.simulated, Done: b.at, All: b.all, Trained: b.lessons.count()})
	}
}

// trials returns the simulations of each case, one for each seed.
func (b *bench) trials(cases []Case) ([][]Simulation, error) {
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
			g.Go(func() (err error) {
				if err := ctx.Err(); err != nil {
					return err
				}
				if *to, err = b.simulate(c, seed); err != nil {
					return fmt.Errorf("simulate %s with seed %d: %w", c.Scheduler.Label, seed, err)
				}
				b.mu.Lock()
				b.simulated++
				b.mu.Unlock()
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	maps.Copy(b.done, fresh)
	list := make([][]Simulation, len(cases))
	for i, c := range cases {
		list[i] = b.done[c.name()]
	}
	return list, nil
}

// run simulates one case with one seed.
func (b *bench) run(c Case, seed uint64) (Simulation, error) {
	switch x := c.Setting.(type) {
	case Simulator:
		s, err := x.Simulate(b.ctx, c.Scheduler, seed)
		if s.Stages == nil { // rows of a run folder have figures
			s.Stages = []*measure.Figures{{}}
		}
		return s, err
	case Staged:
		stages, err := x.Stages(seed)
		if err != nil {
			return Simulation{}, err
		}
		return b.runStages(stages, c, seed)
	}
	return Simulation{}, fmt.Errorf("set-up %T is neither Staged nor a Simulator", c.Setting)
}

// runStages simulates all stages of one case with one seed. A sched.Learner goes on in
// a stage with what it learnt in those before.
func (b *bench) runStages(stages []Stage, c Case, seed uint64) (Simulation, error) {
	s := Simulation{Notes: map[string]float64{}, Series: map[string][]Point{}, Samples: map[string][]float64{}}
	var learnt []byte
	for i := range stages {
		m, splits, err := newModel(&c.Scheduler, seed)
		if err == nil && learnt != nil {
			err = sched.LoadState(m, learnt)
		}
		if err != nil {
			return s, err
		}
		p := newPlayer(m, &c, b.lessons)
		config := stages[i].Config
		config.Source, config.Model, config.Seed, config.Interrupted = &sim.Jobs{List: stages[i].Jobs}, p, seed, b.ctx.Err
		if config.Splits == sim.AsSubmitted {
			config.Splits = splits
		}
		var ended []sim.AttemptEnd
		config.Ended = func(e sim.AttemptEnd) { ended = append(ended, e) }
		f, r, err := measure.Simulate(traces.Header{}, &config)
		if err == nil {
			err = p.err
		}
		if err != nil {
			return s, err
		}
		s.add(f, &config, stages[i].Jobs)
		s.Times.add(&config, stages[i].Jobs, ended)
		s.Stages = append(s.Stages, f.Summary())
		maps.Copy(s.Notes, r.Notes)
		if n, ok := c.Setting.(Noter); ok {
			n.Note(&s, seed, stages[i].Jobs, f)
		}
		s.Trained += p.trained
		s.TrainingMs += p.trainingMs
		for name, points := range p.curve {
			if s.Series[name] == nil {
				s.Series[name] = points
			}
		}
	}
	return s, nil
}

// newModel returns a scheduler's model, and what its jobs' splits name. A model
// that draws random numbers gets a seed of its own, from the simulation's.
func newModel(s *Scheduler, seed uint64) (sched.Model, sim.Splits, error) {
	p, splits := sched.Params{}, sim.AsSubmitted
	if takes(s.Model, "seed") {
		p["seed"] = strconv.FormatUint(seed>>33, 10)
	}
	if takes(s.Params["reduces"], "seed") {
		p["reduces.seed"] = strconv.FormatUint(seed>>33, 10)
	}
	for name, value := range s.Params {
		if name != splitsParam {
			p[name] = value
			continue
		}
		i := slices.Index([]string{"asSubmitted", "cachedOnly", "plan"}, value)
		if i < 0 {
			return nil, 0, fmt.Errorf("splits %q: want asSubmitted, cachedOnly or plan", value)
		}
		splits = []sim.Splits{sim.AsSubmitted, sim.CachedOnly, sim.Planned}[i]
	}
	m, err := sched.New(s.Model, p)
	return m, splits, err
}

const splitsParam = "splits"

// takes reports whether a scheduler model has a parameter of that name.
func takes(model, param string) bool {
	for _, info := range sched.List() {
		if info.Name == model {
			return slices.ContainsFunc(info.Params, func(p sched.Param) bool { return p.Name == param })
		}
	}
	return false
}

// each calls a function for every element of a list and returns its results.
func each[S, T any](list []S, of func(*S) T) []T {
	xs := make([]T, len(list))
	for i := range list {
		xs[i] = of(&list[i])
	}
	return xs
}

// nan is an estimate of nothing.
func nan() stats.Estimate {
	return stats.Estimate{Value: math.NaN(), Lo: math.Inf(-1), Hi: math.Inf(1)}
}
