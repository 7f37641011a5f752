package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"heddle/harness/external"
	"heddle/harness/internal/units"
	"heddle/harness/sched"
)

// Experiment says what to run: each workload under each scheduler model,
// repeated. It is the content of an experiment file.
type Experiment struct {
	// Name is the experiment's name and part of the run folder's name. The
	// default is the name of the experiment file without its ending.
	Name string `yaml:"name,omitempty" text:"Part of the run folder's name; by default the file's name without its ending."`
	// Cluster is the name of a lab (a Hadoop cluster that heddle started on
	// this machine) or the path of a cluster file; see IsClusterFile. The
	// default is "lab". A relative path starts from the folder of the
	// experiment file.
	Cluster string `yaml:"cluster" text:"The name of a lab, or the path of a cluster file, which starts from this file's folder."`
	// Workloads are the workloads to run. Each of them runs once under each
	// scheduler model in each repeat. Such a run is called a trial.
	Workloads []Workload `yaml:"workloads" text:"What runs: each workload, under each model, in each repeat." required:"true" one:"name profile,name size,trace"`
	// Models are the scheduler models to compare. The default, "yarn", is the
	// cluster's own scheduler.
	Models []Model `yaml:"models" text:"Scheduler models. yarn is the cluster's own scheduler, and all there is by default."`
	// Repeats is how many times each workload runs under each model; 1 by
	// default.
	Repeats int `yaml:"repeats" text:"How often each workload runs under each model." min:"1" max:"10000"`
	// Warmups is how many unmeasured trials run first, so that the first
	// measured trial does not meet a cold cluster. The default is none. No
	// figure counts them.
	Warmups int `yaml:"warmups,omitempty" text:"Trials before the first measured one, which no figure counts." min:"0" max:"100"`
	// Order is the order of the models within a repeat: OrderRandom or
	// OrderAsListed. The default is OrderAsListed if a model keeps its state, and
	// else OrderRandom.
	Order string `yaml:"order,omitempty" text:"The order of the models within a repeat; by default asListed if a model keeps its state, else random." values:"random,asListed"`
	// Seed decides the order of models and all other random choices; 1 by
	// default. A scheduler model gets Seed plus the number of the repeat,
	// counted from 0.
	Seed uint64 `yaml:"seed" text:"Decides the order of models and all other random choices." min:"0" max:"1.8446744073709552e19"`
	Behaviour
	// KeepNodes are the names of workers whose node labels heddle does not
	// change while a model decides where tasks run. Jobs of other users run on
	// these workers. If there are none, other users' jobs wait until a trial
	// ends.
	KeepNodes []string `yaml:"keepNodes,omitempty" text:"Workers that steering leaves alone."`
	// Cache says which part of the inputs is put into the HDFS cache before a
	// trial.
	Cache Cache `yaml:"cache,omitempty" text:"Which part of the inputs is in the HDFS cache."`
	// ColdReads says that the nodes' page caches are dropped before each trial;
	// true by default. The heddle agents on the nodes must allow it.
	ColdReads bool `yaml:"coldReads" text:"Drop the nodes' page caches before each trial."`
	// Sampling says how often heddle asks the cluster's daemons for its state.
	Sampling Sampling `yaml:"sampling" text:"How often the cluster is asked."`
	// Reasons says that the traces of steered and simulated trials have, with each decision
	// of a scheduler model, what the model saw; true by default.
	Reasons bool `yaml:"reasons" text:"Record with each decision of a model what it saw, so that heddle trace why says why a task ran where it did."`
	// Thresholds are limits for what the measured trials show, such as "fifo <
	// yarn * 1.1", by metric.
	Thresholds Thresholds `yaml:"thresholds,omitempty" text:"What the trials must show, by metric: such as fifo < yarn * 1.1."`
	// SizeClasses are the classes of jobs by their number of maps, for figures by
	// size. The default are those of measure.SizeClasses.
	SizeClasses SizeClasses `yaml:"sizeClasses,omitempty" text:"Classes of jobs by their number of maps, for figures by size: the largest number of each class, and nothing for the class of all larger jobs."`
	// Timeout is the longest time that a trial may take; 1h by default, 0 means
	// no limit.
	Timeout units.Duration `yaml:"timeout" text:"Limit of one trial; 0 for none."`
}

// Cache says which part of an input is put into the HDFS cache. The zero value
// means none.
type Cache struct {
	// Fraction is the part of the input's bytes to cache, 0 to 1. Only whole
	// files are cached. Seed chooses them, the same ones in every trial.
	Fraction float64 `yaml:"fraction" text:"The part of the input's bytes to cache, 0 to 1." min:"0" max:"1"`
	// Replicas is how many replicas of each block are cached; 0 means 1.
	Replicas int `yaml:"replicas,omitempty" text:"How many replicas of each block are cached; 1 by default." min:"1"`
	// Seed decides which files are cached; 0 means the experiment's seed.
	Seed uint64 `yaml:"seed,omitempty" text:"Chooses the files to cache; by default the experiment's seed." min:"0" max:"1.8446744073709552e19"`
}

// Sampling contains the times between two requests to a cluster for its state.
type Sampling struct {
	// Locations is the time between two requests for the locations of blocks
	// and cached blocks (1s by default). RM is that for requests to the
	// ResourceManager and ApplicationMasters (200ms). Agents is that for node
	// metrics (1s).
	Locations units.Duration `yaml:"locations" text:"For the locations of blocks and cached blocks." min:"10ms" max:"1h"`
	RM        units.Duration `yaml:"rm" text:"For ResourceManager and ApplicationMasters." min:"10ms" max:"1h"`
	Agents    units.Duration `yaml:"agents" text:"For node metrics." min:"10ms" max:"1h"`
}

// Values of Experiment.Order. ModelYARN is the model name for the cluster's own scheduler, ModelExternal that of a
// program that Model.Command starts, ModelRecorded that of a
// trace that stands beside its replays.
const (
	OrderRandom   = "random"   // order of models: random, drawn from the seed; each model runs first equally often
	OrderAsListed = "asListed" // order of models: as in the experiment file, the same in each repeat

	ModelYARN     = "yarn"
	ModelExternal = external.Name
	ModelRecorded = "recorded"
)

// maxTrials is the largest number of trials in an experiment. A cluster would
// need weeks for so many.
const maxTrials = 20_000

// LoadExperiment reads and checks an experiment file that is to be run. It also
// returns the file's content. The error, an *Error, lists everything that is
// wrong, what this version of heddle cannot do, and traces that are missing.
func LoadExperiment(file string) (e *Experiment, source []byte, err error) {
	if source, err = read("experiment", file); err != nil {
		return nil, nil, err
	}
	e, err = parseExperiment(file, source, func(e *Experiment) problems {
		return slices.Concat(e.unsupported(), e.missingTraces(), e.badJars())
	})
	return e, source, err
}

// ParseExperiment parses and checks the content of an experiment file. file is
// the file's name, for messages and relative paths. The experiment may use
// models that this version of heddle does not have, since another version may
// have run it; see Supported.
func ParseExperiment(file string, data []byte) (*Experiment, error) {
	return parseExperiment(file, data, func(*Experiment) problems { return nil })
}

// parseExperiment parses and checks the content of an experiment file. It also
// reports what the function more finds, unless something else is wrong with the
// same value. The function is not called if there are too many models.
func parseExperiment(file string, data []byte, more func(*Experiment) problems) (*Experiment, error) {
	e := defaultExperiment()
	if err := decode(file, data, e, func() problems {
		e.fill(file)
		p := e.problems()
		if len(e.Models) > maxTrials {
			return p
		}
		return append(p, slices.DeleteFunc(more(e), func(x Problem) bool {
			return slices.ContainsFunc(p, func(y Problem) bool { return within(x.Path, y.Path) || within(y.Path, x.Path) })
		})...)
	}); err != nil {
		return nil, err
	}
	return e, nil
}

// defaultExperiment returns an experiment with those defaults that do not
// depend on other values in the file.
func defaultExperiment() *Experiment {
	return &Experiment{
		Cluster: "lab", Models: []Model{{Model: ModelYARN}}, Repeats: 1, Seed: 1,
		Behaviour: Behaviour{Splits: SplitsAsSubmitted}, ColdReads: true, Reasons: true,
		Sampling: Sampling{
			Locations: units.Duration(time.Second),
			RM:        units.Duration(200 * time.Millisecond),
			Agents:    units.Duration(time.Second),
		},
		Thresholds: Thresholds{CannotTell: CannotTellFail},
		Timeout:    units.Duration(time.Hour),
	}
}

// fill sets those defaults of an experiment that depend on other values in its
// file.
func (e *Experiment) fill(file string) {
	if e.Name == "" {
		e.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if IsClusterFile(e.Cluster) {
		beside(file, &e.Cluster)
	}
	for i := range e.Models {
		e.Models[i].fill(e, file)
	}
	if e.Order == "" && slices.ContainsFunc(e.Models, func(m Model) bool { return m.Keeps() }) {
		e.Order = OrderAsListed
	}
	if e.Actuator == "" {
		e.Actuator = ActuatorNone
		if slices.ContainsFunc(e.Models, func(m Model) bool {
			return m.Model != ModelYARN && !m.FollowsQueues() && cmp.Or(m.Splits, e.Splits) != SplitsPlan
		}) {
			e.Actuator = ActuatorLabels
		}
	}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		w.fillFiles(file)
		if w.Label == "" {
			w.Label = w.Name
		}
		if w.Jobs == 0 {
			w.Jobs = 1
		}
	}
	if e.Cache.Fraction > 0 && e.Cache.Replicas == 0 {
		e.Cache.Replicas = 1
	}
	if e.Cache.Seed == 0 {
		e.Cache.Seed = e.Seed
	}
	e.fillThresholds()
}

// Validate returns an *Error that lists everything that is wrong with the
// experiment, nil if nothing is.
func (e *Experiment) Validate() error { return e.problems().err("") }

// The pattern fileName matches names that may be part of the name of a run
// folder.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._]{0,39}(-[A-Za-z0-9._]{1,40}){0,4}$`)

// The pattern labelName matches labels of workloads and models. Two of them are
// part of the name of a trial's folder.
var labelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=-]{0,89}$`)

// wantLabel says which labels are allowed.
const wantLabel = "want at most 90 letters, digits and ._=-, first a letter or digit"

func (e *Experiment) problems() problems {
	var p problems
	if !fileName.MatchString(e.Name) {
		p.addf("name", "%q: want letters, digits and ._-, first a letter or digit", e.Name)
	}
	if e.Cluster == "" {
		p.addf("cluster", "want the name of a lab or the path of a cluster file")
	}
	if len(e.Workloads) == 0 {
		p.addf("workloads", "want at least one, such as {name: wordcount, profile: tiny}")
	}
	labels := map[string]bool{}
	for i, w := range e.Workloads {
		path := fmt.Sprintf("workloads[%d]", i)
		if labels[w.Label] {
			p.addf(path, "%q is listed twice; give one of them a label", w.Label)
		}
		labels[w.Label] = true
		w.problems(&p, path)
	}
	if len(e.Models) == 0 {
		p.addf("models", "want at least one, such as %s", ModelYARN)
	}
	e.modelProblems(&p)
	p.keys(*e, "")
	p.keys(e.Cache, "cache")
	if most := maxTrials / max(1, len(e.Workloads)*len(e.Models)); e.Repeats <= 10000 && e.Repeats > most {
		p.addf("repeats", "%d: they are %d trials; want at most %d trials, which are %d repeats", e.Repeats,
			e.Repeats*len(e.Workloads)*len(e.Models), maxTrials, most)
	}
	e.Behaviour.problems(&p)
	if e.CachePolicy == CacheLRU && e.Cache.Fraction > 0 {
		p.addf("cache.fraction", "%v: want 0 with cachePolicy %s, which starts with empty caches", e.Cache.Fraction, CacheLRU)
	}
	p.keys(e.Sampling, "sampling")
	e.thresholdProblems(&p)
	e.SizeClasses.problems(&p)
	return p
}

// Supported returns an error if a valid experiment uses something that this
// version of heddle cannot do.
func (e *Experiment) Supported() error {
	var errs []error
	for _, p := range e.unsupported() {
		errs = append(errs, errors.New(p.Message))
	}
	return errors.Join(errs...)
}

// unsupported returns what a valid experiment uses and this version of heddle
// cannot do.
func (e *Experiment) unsupported() problems {
	var p problems
	for i, m := range e.Models {
		if m.Model == ModelYARN {
			continue
		}
		path := fmt.Sprintf("models[%d]", i)
		model, err := m.Scheduler(0)
		planned := cmp.Or(m.Splits, e.Splits) == SplitsPlan
		_, plans := sched.As[sched.JobPlanner](model)
		_, learns := sched.As[sched.Learner](model)
		switch {
		case err != nil:
			p.addf(path+m.wrongParam(), "%v", err)
		case m.Keeps() && !learns:
			p.addf(path+".state", "%s: model %q learns nothing that could be kept; remove the key", m.State, m.Model)
		case planned && !plans:
			p.addf(path, "model %q makes no plan of splits; set splits: %s, or use a model that makes one, such as planned", m.Model,
				SplitsAsSubmitted)
		case e.Actuator == ActuatorNone && !planned && !m.FollowsQueues():
			p.addf(path, "model %q has no effect with actuator %s; set actuator: %s", m.Model, ActuatorNone, ActuatorLabels)
		}
	}
	return p
}
