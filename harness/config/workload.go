package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"heddle/harness/internal/nearest"
	"heddle/harness/internal/units"
	"heddle/hibench"
)

// Workload is one entry of an experiment file's list of workloads. Which keys it
// may have depends on its kind; see workloadKinds.
type Workload struct {
	// Name is the name of the workload: wordcount, sort or terasort, or one of
	// the queries that Hive runs: join, aggregation or scan.
	Name string `yaml:"name"`
	// Label is the name of the workload in trials and reports; by default Name.
	// Two workloads with the same Name need different labels.
	Label string `yaml:"label,omitempty"`
	// Profile is one of HiBench's input sizes, tiny to bigdata. Size is the
	// input size in bytes instead. Exactly one of Profile and Size must be
	// given.
	Profile string     `yaml:"profile,omitempty"`
	Size    units.Size `yaml:"size,omitempty"`
	// Visits and Pages are the numbers of rows of the two tables that a query
	// reads, in place of Profile. Pages may be missing; then it is 12 for 100
	// visits, as in HiBench.
	Visits int `yaml:"visits,omitempty"`
	Pages  int `yaml:"pages,omitempty"`
	// Maps is the number of maps that write the input. Reduces is the number of
	// reduces that write the output. 0 means 8, as in HiBench.
	Maps    int `yaml:"maps,omitempty"`
	Reduces int `yaml:"reduces,omitempty"`
	// Settings are Hadoop properties of the workload's jobs. They are written
	// to files and sent to YARN, so they must contain no secrets.
	Settings map[string]string `yaml:"settings,omitempty"`
	// Jobs is how many equal jobs of the workload run at the same time on the
	// same input; 0 means 1.
	Jobs int `yaml:"jobs,omitempty"`
}

// workloadKind is what an experiment file may say of workloads of one kind.
type workloadKind struct {
	// keys are the keys that an entry of this kind may have besides name,
	// label, settings and jobs, which all kinds have.
	keys []string
	// check adds what is wrong with the values of an entry of this kind.
	check func(w Workload, p *problems, path string)
}

// workloadKinds has the kinds of workloads by their names.
var workloadKinds = map[string]workloadKind{}

func init() {
	for _, name := range hibench.Workloads() {
		keys := []string{"profile", "size", "maps", "reduces"}
		if hibench.SQL(name) {
			keys = []string{"profile", "visits", "pages", "maps", "reduces"}
		}
		workloadKinds[name] = workloadKind{keys, Workload.hibenchProblems}
	}
}

func (w Workload) problems(p *problems, path string) {
	known := slices.Sorted(maps.Keys(workloadKinds))
	kind, ok := workloadKinds[w.Name]
	switch {
	case w.Name == "":
		p.addf(path+".name", "no name; want %s", strings.Join(known, ", "))
		return
	case !ok:
		hint := ""
		if near := nearest.Name(w.Name, known); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		p.addf(path+".name", "unknown workload %q; want %s%s", w.Name, strings.Join(known, ", "), hint)
		return
	case !fileName.MatchString(w.Label):
		p.addf(path+".label", "%q: want letters, digits and ._-, first a letter or digit", w.Label)
	}
	if w.Jobs < 0 || w.Jobs > 100 {
		p.addf(path+".jobs", "%d: want 1 to 100", w.Jobs)
	}
	for _, key := range w.keys() {
		if !slices.Contains(commonKeys, key) && !slices.Contains(kind.keys, key) {
			p.addf(path+"."+key, "%s has no such key; it has %s", w.Name, strings.Join(kind.keys, ", "))
		}
	}
	kind.check(w, p, path)
}

// commonKeys are the keys that entries of all kinds of workloads may have.
var commonKeys = []string{"name", "label", "settings", "jobs"}

// keys returns the names of the keys that have a value, in the order of their
// fields.
func (w Workload) keys() []string {
	var set []string
	v := reflect.ValueOf(w)
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); !v.Field(i).IsZero() {
			set = append(set, key)
		}
	}
	return set
}

// hibenchProblems adds what is wrong with one of HiBench's workloads.
func (w Workload) hibenchProblems(p *problems, path string) {
	if w.Profile != "" && !slices.Contains(hibench.Profiles(), w.Profile) {
		p.addf(path+".profile", "unknown profile %q; want %s", w.Profile, strings.Join(hibench.Profiles(), ", "))
		return
	}
	spec := w.Spec()
	settings := spec.Settings
	spec.Settings = nil
	err := spec.Validate()
	if err == nil {
		spec.Settings = settings
		path, err = path+".settings", spec.Validate()
	}
	if err != nil {
		p.addf(path, "%s", strings.TrimPrefix(err.Error(), "hibench: "))
	}
}

// Spec describes one of the workload's jobs in the form that package hibench
// needs to run it.
func (w Workload) Spec() hibench.Spec {
	return hibench.Spec{
		Workload: w.Name, Profile: w.Profile, SizeBytes: int64(w.Size), Visits: int64(w.Visits), Pages: int64(w.Pages),
		Maps: w.Maps, Reduces: w.Reduces, Settings: hibench.Settings(w.Settings),
	}
}
