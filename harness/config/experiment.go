package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"heddle/harness/internal/nearest"
	"heddle/harness/internal/units"
	"heddle/harness/sched"
	"heddle/hibench"
)

// Experiment says what to run: every workload under every model, repeated.
type Experiment struct {
	// Name appears in the run folder's name; by default the file's, without
	// its ending.
	Name string `yaml:"name,omitempty"`
	// Cluster is the name of a lab or the path of a cluster file (see
	// IsClusterFile); by default "lab". A relative path is taken from the
	// experiment file's folder.
	Cluster string `yaml:"cluster"`
	// Workloads, Models and Repeats span the trials.
	Workloads []Workload `yaml:"workloads"`
	// Models are scheduler models; "yarn", the default, is the cluster's own.
	Models []Model `yaml:"models"`
	// Repeats is how often everything is run, 1 by default.
	Repeats int `yaml:"repeats"`
	// Seed decides the order of models, and everything random below; 1 by
	// default. A model's own seed is it plus the number of the repeat, from 0.
	Seed uint64 `yaml:"seed"`
	// Actuator carries decisions out; by default ActuatorNone.
	Actuator string `yaml:"actuator"`
	// Splits is what an ApplicationMaster sees of where its input is; by
	// default SplitsAsSubmitted. ModelYARN plans nothing: under SplitsPlan its
	// jobs run as submitted.
	Splits string `yaml:"splits"`
	// KeepNodes are workers that steering leaves alone, by name: for jobs that
	// others submit meanwhile, which wait else until a trial ends.
	KeepNodes []string `yaml:"keepNodes,omitempty"`
	// Cache is what of the inputs is put into the HDFS cache before a trial.
	Cache Cache `yaml:"cache,omitempty"`
	// CachePolicy is what of what is read stays in memory: CacheStatic, the
	// default, or CacheLRU, in simulations alone.
	CachePolicy string `yaml:"cachePolicy,omitempty"`
	// Speculation is the rule by which slow attempts get a copy; by default the
	// cluster's settings, or SpeculationNone in a simulation.
	Speculation string `yaml:"speculation,omitempty"`
	// Faults go wrong in each trial.
	Faults Faults `yaml:"faults,omitempty"`
	// ColdReads drops the nodes' page caches before each trial, which agents
	// have to allow; true by default.
	ColdReads bool `yaml:"coldReads"`
	// Sampling is how often the cluster is looked at.
	Sampling Sampling `yaml:"sampling"`
	// Timeout limits one trial; 1h by default, 0 is no limit.
	Timeout units.Duration `yaml:"timeout"`
}

// Workload is a HiBench workload of one size.
type Workload struct {
	// Name is wordcount, sort or terasort.
	Name string `yaml:"name"`
	// Label is its name in trials and reports, by default Name. Two workloads
	// of the same name need labels.
	Label string `yaml:"label,omitempty"`
	// Profile is a size of HiBench's (tiny to bigdata); Size one of one's own.
	// One of them is given.
	Profile string     `yaml:"profile,omitempty"`
	Size    units.Size `yaml:"size,omitempty"`
	// Maps write the input and Reduces the output; 0: 8, as in HiBench.
	Maps    int `yaml:"maps,omitempty"`
	Reduces int `yaml:"reduces,omitempty"`
	// Settings are Hadoop properties of its jobs. They end up in files and in
	// YARN: no secrets.
	Settings map[string]string `yaml:"settings,omitempty"`
	// Jobs is how many copies run at once, over the same input; 0: 1.
	Jobs int `yaml:"jobs,omitempty"`
}

// Cache says how much of an input is cached. The zero value caches nothing.
type Cache struct {
	// Fraction of the input's bytes, 0 to 1, in whole files chosen by Seed: the
	// same ones in every trial.
	Fraction float64 `yaml:"fraction"`
	// Replicas of each block that are cached; 0: 1.
	Replicas int `yaml:"replicas,omitempty"`
	// Seed chooses the files; 0: the experiment's.
	Seed uint64 `yaml:"seed,omitempty"`
}

// Sampling holds intervals.
type Sampling struct {
	// Locations of blocks and caches (1s), ResourceManager and
	// ApplicationMasters (200ms), node metrics of agents (1s).
	Locations units.Duration `yaml:"locations"`
	RM        units.Duration `yaml:"rm"`
	Agents    units.Duration `yaml:"agents"`
}

// Values of Experiment.Actuator and Experiment.Splits, and the model that is
// no model of ours.
const (
	ActuatorNone   = "none"   // the cluster's scheduler decides
	ActuatorLabels = "labels" // decisions move nodes between labels

	SplitsAsSubmitted = "asSubmitted" // all replicas
	SplitsCachedOnly  = "cachedOnly"  // cached replicas where there are any
	SplitsPlan        = "plan"        // what the model says

	ModelYARN = "yarn"
)

// maxTrials of one experiment are days of any cluster's time.
const maxTrials = 20_000

// LoadExperiment reads and checks an experiment file, and returns its content
// too. All that is wrong with it is in the error, an *Error.
func LoadExperiment(file string) (e *Experiment, source []byte, err error) {
	if source, err = read("experiment", file); err != nil {
		return nil, nil, err
	}
	e, err = ParseExperiment(file, source)
	return e, source, err
}

// ParseExperiment is LoadExperiment of a file's content; file is its name.
func ParseExperiment(file string, data []byte) (*Experiment, error) {
	e := &Experiment{
		Cluster: "lab", Models: []Model{{Model: ModelYARN}}, Repeats: 1, Seed: 1,
		Actuator: ActuatorNone, Splits: SplitsAsSubmitted, ColdReads: true,
		Sampling: Sampling{
			Locations: units.Duration(time.Second),
			RM:        units.Duration(200 * time.Millisecond),
			Agents:    units.Duration(time.Second),
		},
		Timeout: units.Duration(time.Hour),
	}
	if err := decode(file, data, e, func() problems { e.fill(file); return e.problems() }); err != nil {
		return nil, err
	}
	return e, nil
}

// fill sets the defaults that follow from other values.
func (e *Experiment) fill(file string) {
	if e.Name == "" {
		e.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if IsClusterFile(e.Cluster) && !filepath.IsAbs(e.Cluster) {
		e.Cluster = filepath.Join(filepath.Dir(file), e.Cluster)
	}
	for i := range e.Models {
		e.Models[i].fill(e, file)
	}
	for i := range e.Workloads {
		w := &e.Workloads[i]
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
}

// Validate says what is wrong with e, all of it, as an *Error.
func (e *Experiment) Validate() error { return e.problems().err("") }

// fileName is what may be part of a trial's folder.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._]{0,39}(-[A-Za-z0-9._]{1,40}){0,4}$`)

func (e *Experiment) problems() problems {
	var p problems
	if !fileName.MatchString(e.Name) {
		p.addf("name", "%q: want letters, digits and ._- in it, a letter or digit first", e.Name)
	}
	if e.Cluster == "" {
		p.addf("cluster", "want the name of a lab or the path of a cluster file")
	}
	if len(e.Workloads) == 0 {
		p.addf("workloads", "want at least one, such as {name: wordcount, profile: tiny}")
	}
	labels := map[string]int{}
	for i, w := range e.Workloads {
		path := fmt.Sprintf("workloads[%d]", i)
		if first, twice := labels[w.Label]; twice {
			p.addf(path, "workloads %d and %d are both called %q; give each a label", first+1, i+1, w.Label)
		} else {
			labels[w.Label] = i
		}
		w.problems(&p, path)
	}
	if len(e.Models) == 0 {
		p.addf("models", "want at least one, such as %s", ModelYARN)
	}
	e.modelProblems(&p)
	if e.Repeats < 1 || e.Repeats > 10000 {
		p.addf("repeats", "%d: want 1 to 10000", e.Repeats)
	}
	if most := maxTrials / max(1, len(e.Workloads)*len(e.Models)); e.Repeats <= 10000 && e.Repeats > most {
		p.addf("repeats", "%d: of %d workloads under %d models, want at most %d trials in all", e.Repeats, len(e.Workloads), len(e.Models), maxTrials)
	}
	oneOf(&p, "actuator", e.Actuator, ActuatorNone, ActuatorLabels)
	oneOf(&p, "splits", e.Splits, SplitsAsSubmitted, SplitsCachedOnly, SplitsPlan)
	if !(e.Cache.Fraction >= 0 && e.Cache.Fraction <= 1) {
		p.addf("cache.fraction", "%v: want 0 to 1", e.Cache.Fraction)
	}
	if e.Cache.Replicas < 0 {
		p.addf("cache.replicas", "%d: want 1 or more", e.Cache.Replicas)
	}
	if e.CachePolicy != "" {
		oneOf(&p, "cachePolicy", e.CachePolicy, CacheStatic, CacheLRU)
	}
	if e.CachePolicy == CacheLRU && e.Cache.Fraction > 0 {
		p.addf("cache.fraction", "caches are empty at the start with cachePolicy %s", CacheLRU)
	}
	if e.Speculation != "" {
		oneOf(&p, "speculation", e.Speculation, SpeculationNone, SpeculationHadoop, SpeculationLATE)
	}
	e.Faults.problems(&p)
	e.Sampling.problems(&p)
	return p
}

func (w Workload) problems(p *problems, path string) {
	known := hibench.Workloads()
	switch {
	case w.Name == "":
		p.addf(path+".name", "no name; want %s", strings.Join(known, ", "))
		return
	case !slices.Contains(known, w.Name):
		p.addf(path+".name", "unknown workload %q; want %s", w.Name, strings.Join(known, ", "))
		return
	case !fileName.MatchString(w.Label):
		p.addf(path+".label", "%q: want letters, digits and ._- in it, a letter or digit first", w.Label)
	}
	if w.Jobs < 0 || w.Jobs > 100 {
		p.addf(path+".jobs", "%d: want 1 to 100", w.Jobs)
	}
	if w.Profile != "" && !slices.Contains(hibench.Profiles(), w.Profile) {
		p.addf(path+".profile", "unknown profile %q; want %s", w.Profile, strings.Join(hibench.Profiles(), ", "))
		return
	}
	if err := w.Spec().Validate(); err != nil {
		p.addf(path, "%s", strings.TrimPrefix(err.Error(), "hibench: "))
	}
}

func (s Sampling) problems(p *problems) {
	const least, most = 10 * time.Millisecond, time.Hour
	for _, f := range []struct {
		path string
		d    units.Duration
	}{{"locations", s.Locations}, {"rm", s.RM}, {"agents", s.Agents}} {
		if d := time.Duration(f.d); d < least || d > most {
			p.addf("sampling."+f.path, "%v: want %v to %v", d, least, most)
		}
	}
}

func oneOf(p *problems, path, value string, known ...string) {
	if slices.Contains(known, value) {
		return
	}
	hint := ""
	if near := nearest.Name(value, known); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	p.addf(path, "%q: want %s%s", value, strings.Join(known, ", "), hint)
}

// Spec is the workload as hibench runs it, one copy.
func (w Workload) Spec() hibench.Spec {
	return hibench.Spec{
		Workload: w.Name, Profile: w.Profile, SizeBytes: int64(w.Size),
		Maps: w.Maps, Reduces: w.Reduces, Settings: hibench.Settings(w.Settings),
	}
}

// Supported says whether this version can run e. A file that asks for more is
// valid all the same.
func (e *Experiment) Supported() error {
	var errs []error
	for _, m := range e.Models {
		if m.Model == ModelYARN {
			continue
		}
		model, err := m.Scheduler(0)
		_, plans := model.(sched.JobPlanner)
		switch {
		case err != nil:
			errs = append(errs, err)
		case m.Splits == SplitsPlan && !plans:
			errs = append(errs, fmt.Errorf("model %q plans no splits; set splits: %s, or take a model that does, such as planned", m.Model, SplitsAsSubmitted))
		case e.Actuator == ActuatorNone && m.Splits != SplitsPlan:
			errs = append(errs, fmt.Errorf("model %q decides nothing with actuator %s; set actuator: %s", m.Model, ActuatorNone, ActuatorLabels))
		}
	}
	return errors.Join(errs...)
}
