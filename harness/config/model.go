package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/external"
	"heddle/harness/internal/units"
	"heddle/harness/nearest"
	"heddle/harness/queues"
	"heddle/harness/sched"
)

// Model is a scheduler model as an experiment uses it. In an experiment file it
// is the model's name alone, or a mapping that also has parameters, splits or
// another cluster.
type Model struct {
	// Label is the name of this scheduler model in trials and reports, so that
	// one model can be used twice with different parameters. The default is
	// Model.
	Label string `yaml:"label,omitempty" text:"The model's name in trials and reports; by default its name."`
	// Model is the name of a scheduler model. "yarn" means the cluster's own
	// scheduler.
	Model string `yaml:"model" text:"The name of a model; 'heddle models' describes each." required:"true" values:"{models}"`
	// Reduces is the name of a second scheduler model that places the reduces, while
	// this one places only maps; see sched.Compose. "" means that this model places
	// both. Its parameters stand in Params with "reduces." before their names.
	Reduces string `yaml:"reduces,omitempty" text:"A model that places the reduces, beside this one for the maps; its parameters stand in params as reduces.NAME." values:"{models}"`
	// Params are those parameters whose values differ from the scheduler
	// model's defaults.
	Params map[string]string `yaml:"params,omitempty" text:"Parameters that differ from the model's defaults."`
	// Command is the program that decides, with its arguments, if Model is
	// ModelExternal. Params are then the program's own. Traces do not have it: what a
	// trace says must not start a program.
	Command []string `yaml:"command,omitempty" text:"The program that decides and its arguments, with model: external. A relative path that is a file beside the experiment means that file."`
	// Limit is how long the program may take for one answer.
	Limit units.Duration `yaml:"limit,omitempty" text:"How long the program of an external model may take for one answer; by default 10s."`
	// Splits and Cluster replace the values of the experiment for this
	// scheduler model, unless they are empty.
	Splits  string `yaml:"splits,omitempty" text:"Replaces the experiment's splits for this model." values:"asSubmitted,cachedOnly,plan"`
	Cluster string `yaml:"cluster,omitempty" text:"Replaces the experiment's cluster for this model."`
	// State says what the model knows at the start of a trial: nothing
	// (StateFresh, the default), or what it has learnt in the trials before
	// (StateKeep). Its trials are then a series: they run in the file's order, and
	// are not independent repeats.
	State string `yaml:"state,omitempty" text:"keep: the model goes on with what it learnt in the trials before. fresh, the default: each trial begins without." values:"keep,fresh"`
}

// Values of Model.State.
const (
	StateKeep  = "keep"
	StateFresh = "fresh"
)

// Keeps reports whether the model goes on in a trial with what it learnt in the
// trials before.
func (m *Model) Keeps() bool { return m.State == StateKeep }

// FollowsQueues reports whether the model is YARN's Capacity scheduler with a file of queues, which needs
// no actuator.
func (m *Model) FollowsQueues() bool { return m.Model != ModelExternal && m.Params[queuesParam] != "" }

const queuesParam = "queues"

// readQueues replaces the path of a file of queues, which is beside another file, by what it says.
func (m *Model) readQueues(file string) error {
	path := m.Params[queuesParam]
	if !m.FollowsQueues() || strings.ContainsAny(path, "=<\n") {
		return nil
	}
	beside(file, &path)
	m.Params[queuesParam] = path
	f, err := ReadQueues(path)
	if err == nil {
		m.Params[queuesParam] = f.String()
	}
	return err
}

// ReadQueues reads a capacity-scheduler.xml, or its lines of key=value.
func ReadQueues(path string) (*queues.File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := queues.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// The method shorten sets the scheduler model's name. It is called if an
// experiment file gives only the name and no mapping.
func (m *Model) shorten(name string) { m.Model = name }

func (m *Model) fill(e *Experiment, file string) {
	m.PlaceReduces(m.Reduces)
	_ = m.readQueues(file) // which modelProblems does again, and tells
	m.Command = slices.Clone(m.Command)
	for i, word := range m.Command {
		beside, err := filepath.Abs(filepath.Join(filepath.Dir(file), word))
		if err == nil && !filepath.IsAbs(word) && (i > 0 || strings.Contains(word, "/")) && isFile(beside) {
			m.Command[i] = beside
		}
	}
	switch {
	case m.Cluster == "":
		m.Cluster = e.Cluster
	case IsClusterFile(m.Cluster):
		beside(file, &m.Cluster)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// PlaceReduces lets a second model place the reduces, beside this one for the maps;
// see Reduces. Without a name there is none. It also sets the label if there is none.
func (m *Model) PlaceReduces(by string) {
	if m.Reduces = by; by != "" {
		m.Params = maps.Clone(m.Params)
		if m.Params == nil {
			m.Params = map[string]string{}
		}
		m.Params[reducesParam] = by
	}
	if m.Label == "" {
		m.Label = m.Model
		if by != "" {
			m.Label += "-" + by
		}
	}
}

func (e *Experiment) modelProblems(p *problems) {
	labels := map[string]bool{}
	for i, m := range e.Models {
		path := fmt.Sprintf("models[%d]", i)
		switch {
		case !fileName.MatchString(m.Model):
			p.addf(path, "%q: want the name of a model; 'heddle models' lists them", m.Model)
		case !labelName.MatchString(m.Label):
			p.addf(path+".label", "%q: %s", m.Label, wantLabel)
		case m.Label == ModelRecorded:
			p.addf(path+".label", "%q: is what a trace beside its replays is called; want another", m.Label)
		case m.Model == ModelYARN && m.Reduces != "":
			p.addf(path+".reduces", "want none for %s: the cluster's own scheduler places maps and reduces", ModelYARN)
		case m.Model != ModelExternal && (len(m.Command) > 0 || m.Limit != 0):
			p.addf(path, "command and limit are of a model that is a program; set model: %s, or remove them", ModelExternal)
		case m.Model == ModelExternal && len(m.Command) == 0:
			p.addf(path, "want the program that decides, such as command: [python3, my.py]")
		case m.Model == ModelExternal && m.Reduces != "":
			p.addf(path+".reduces", "want none for %s: its program places maps and reduces", ModelExternal)
		case labels[m.Label]:
			p.addf(path, "%q is listed twice; use repeats to run it more often, or give one of them a label", m.Label)
		case m.Model == ModelYARN && m.Keeps():
			p.addf(path+".state", "%s: the cluster's own scheduler learns nothing; remove the key", m.State)
		case m.Model == ModelYARN && len(m.Params) > 0:
			p.addf(path+".params", "want none for %s: the cluster's own configuration sets its scheduler's parameters", ModelYARN)
		}
		if err := m.readQueues(""); err != nil {
			p.addf(path+".params."+queuesParam, "%v; want a file, or its text", err)
		}
		labels[m.Label] = true
		p.keys(m, path)
	}
}

// ModelNames returns the names that Model.Model may have.
func ModelNames() []string {
	names := []string{ModelYARN, ModelExternal}
	for _, info := range sched.List() {
		names = append(names, info.Name)
	}
	return names
}

// Scheduler returns a new scheduler model, or nil if the cluster's own
// scheduler decides. Its random numbers come from seed, unless Params contains
// a seed.
func (m *Model) Scheduler(seed uint64) (sched.Model, error) {
	switch m.Model {
	case ModelYARN:
		return nil, nil
	case ModelExternal:
		made, err := external.New(external.Options{
			Command: m.Command, Limit: time.Duration(m.Limit), Params: m.Params, Seed: seed % math.MaxInt64,
		})
		if err != nil {
			return nil, err
		}
		return made, nil
	}
	params := sched.Params{}
	known := ModelNames()
	takesSeed := func(name string) bool { return slices.Contains(paramsOf(name), "seed") }
	if !slices.Contains(known, m.Model) {
		return nil, fmt.Errorf("no model %q; %s", m.Model, nearest.Hint(m.Model, known))
	}
	if takesSeed(m.Model) {
		params["seed"] = strconv.FormatUint(seed%math.MaxInt64, 10)
	}
	if takesSeed(m.Params[reducesParam]) {
		params[reducesParam+".seed"] = strconv.FormatUint(seed%math.MaxInt64, 10)
	}
	maps.Copy(params, m.Params)
	return sched.New(m.Model, params)
}

// reducesParam is the parameter by which sched.New and trace headers know
// Model.Reduces.
const reducesParam = "reduces"

// wrongParam returns the place of the first parameter that its scheduler model
// refuses, such as ".params.nodeSkips", or nothing if no parameter alone is
// wrong.
func (m *Model) wrongParam() string {
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		alone := Model{Model: m.Model, Params: map[string]string{name: m.Params[name]}}
		if strings.HasPrefix(name, reducesParam+".") {
			alone.Params[reducesParam] = m.Params[reducesParam]
		}
		if _, err := alone.Scheduler(0); err != nil {
			if name == reducesParam && m.Reduces != "" {
				return ".reduces"
			}
			return ".params." + name
		}
	}
	return ""
}

// SetParam sets a parameter of scheduler models from text, such as a command
// line flag. NAME=VALUE sets it for all models that have such a parameter,
// MODEL.NAME=VALUE for one model, and reduces.NAME=VALUE for the models that place
// the reduces beside others. Params of the models must not be nil.
func SetParam(models []Model, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("want NAME=VALUE or MODEL.NAME=VALUE")
	}
	model, param, only := strings.Cut(name, ".")
	if only && model == reducesParam {
		return setReducesParam(models, param, value)
	}
	if only = only && model != queuesParam; !only {
		param = name
	}
	of, _, _ := strings.Cut(param, ".") // queues.KEY is of queues
	var names, known []string
	found := false
	for _, m := range models {
		names = append(names, m.Model)
		if only && m.Model != model {
			continue
		}
		if m.Model == ModelExternal { // its program knows its parameters
			m.Params[param] = value
			found = true
			continue
		}
		params := paramsOf(m.Model)
		known = append(known, params...)
		if slices.Contains(params, of) {
			m.Params[param] = value
			if err := m.readQueues(""); err != nil {
				return err
			}
			found = true
		}
	}
	switch {
	case found:
		return nil
	case only && !slices.Contains(names, model):
		return fmt.Errorf("no model %q in this replay; %s", model, nearest.Hint(model, names))
	case len(known) == 0:
		return fmt.Errorf("model %s has no parameters; 'heddle models' lists those of each model", strings.Join(names, ", "))
	}
	slices.Sort(known)
	return fmt.Errorf("model %s has no parameter %q; %s", strings.Join(names, ", "), param, nearest.Hint(param, slices.Compact(known)))
}

// setReducesParam sets a parameter of those models that place the reduces beside
// others.
func setReducesParam(models []Model, param, value string) error {
	found := false
	var known []string
	for _, m := range models {
		params := paramsOf(m.Params[reducesParam])
		known = append(known, params...)
		if slices.Contains(params, param) {
			m.Params[reducesParam+"."+param] = value
			found = true
		}
	}
	if found {
		return nil
	}
	if len(known) == 0 {
		return fmt.Errorf("no model places only reduces, or none that does has parameters; name one beside the model for the maps, as %s",
			reducesParam)
	}
	slices.Sort(known)
	return fmt.Errorf("no model for the reduces has a parameter %q; %s", param, nearest.Hint(param, slices.Compact(known)))
}

func paramsOf(model string) []string {
	var names []string
	for _, info := range sched.List() {
		for _, p := range info.Params {
			if info.Name == model {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// Clusters returns the names or paths of the clusters on which the experiment's
// models run, starting with the experiment's own cluster.
func (e *Experiment) Clusters() []string {
	names := []string{e.Cluster}
	seen := map[string]bool{e.Cluster: true}
	for _, m := range e.Models {
		if !seen[m.Cluster] {
			seen[m.Cluster] = true
			names = append(names, m.Cluster)
		}
	}
	return names
}
