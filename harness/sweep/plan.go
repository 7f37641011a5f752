// Package sweep runs many replays: traces under models, with other parameters, clusters
// and seeds. A sweep file says which; [New] makes the [Plan] of all replays. They run
// on all cores. Each result is a row of a table
// of results, kept in a run folder as soon as it is known, so that a sweep that was
// killed goes on where it was. The finished table has its rows in the plan's order: it
// is the same, byte for byte, in whatever order the replays ran.
//
// A replay has a key: a hash of all that its result follows from. Each key has one row in
// the end. Two results of one key must be equal, else the sweep fails.
//
// The package decides nothing about a replay (package replay does), and does not choose
// points (package design does). It needs the events of no replay: metrics that do are
// without a value.
//
// Words:
//
//	setting   a model with its parameters on a changed cluster; what is compared
//	axis      what settings differ in, such as nodes or delay.nodeSkips
//	point     one value for each axis, whatever the model
package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"heddle/harness/config"
	"heddle/harness/design"
	"heddle/harness/option"
	"heddle/harness/queues"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/harness/sched"
)

// Plan is all replays of a sweep. It is a value that can be written to a file: a task on
// another machine makes the same replays of it.
type Plan struct {
	Name string
	// Build is the SHA-256 of the program that made the plan. Only the same program runs
	// replays of it: another one may have other models, or another simulator.
	Build       string
	Traces      []Input
	Calibration *Input // nil: recorded times, or those of a list's rules
	Metrics     []string
	Thresholds  []config.Limit
	// Sample is how points were drawn, a value of config.Sweep.Sample. Axes are the
	// names of the axes in ascending order.
	Sample string
	Axes   []string
	// Seeds is how many repeats of each setting the plan began with, MostSeeds up to how many
	// extend adds.
	Seeds, MostSeeds int
	Seed             uint64
	Settings         []Setting
	// Points has for each model the setting of each point, by its index in Settings.
	// Several points may have one setting, since not all axes concern all models.
	Points map[string][]int
	// Replays are in the order in which they are begun: repeat by repeat, so that a part
	// of them is about equally many of each setting. Those that extend added are at the end.
	Replays []Replay

	in *inputs // that have been read
}

// Input is a file that replays read.
type Input struct {
	Label  string
	Path   string // absolute
	SHA256 string
}

// Setting is a model with its parameters on a changed cluster.
type Setting struct {
	Model config.Model
	config.Behaviour
	// Cluster has what is changed, by the names of flags of heddle replay.
	Cluster map[string]string
	// Values are those of the axes that concern the model. Label has the model's label and
	// its parameters among them, Change the changes of the cluster.
	Values        map[string]string
	Label, Change string
}

// Replay is one replay of a plan.
type Replay struct {
	Key            string
	Trace, Setting int // indexes in Plan.Traces and Plan.Settings
	Repeat         int // from 1
	Seed           uint64
}

// workload returns what the table of results calls the workload of a replay: settings that
// differ in the cluster are no repeats of each other.
func (p *Plan) workload(r *Replay) string {
	return strings.TrimSuffix(p.Traces[r.Trace].Label+","+p.Settings[r.Setting].Change, ",")
}

// trialName returns the name of a replay's row in the table of results.
func (p *Plan) trialName(r *Replay) string {
	return config.TrialName(r.Repeat, p.workload(r), p.Settings[r.Setting].Label)
}

// New returns the plan of a sweep. It reads the files that the sweep names, for their
// hashes, and refuses values of axes that no replay could have.
func New(s *config.Sweep) (*Plan, error) {
	p := &Plan{
		Name: s.Name, Build: build(), Metrics: s.Metrics, Thresholds: s.Thresholds, Sample: s.Sample,
		Seeds: s.Seeds, MostSeeds: s.MostSeeds, Seed: s.Seed,
		Axes: slices.Sorted(maps.Keys(s.Vary)), Points: map[string][]int{},
	}
	var err error
	for _, t := range s.Traces {
		in, ierr := inputOf(t.Label, t.Path)
		if ierr != nil {
			return nil, ierr
		}
		p.Traces = append(p.Traces, in)
	}
	if s.Calibration != "" {
		in, err := inputOf("calibration", s.Calibration)
		if err != nil {
			return nil, err
		}
		p.Calibration = &in
	}
	if err := known(s); err != nil {
		return nil, err
	}
	points, err := pointsOf(s, p.Axes)
	if err != nil {
		return nil, err
	}
	if err := p.addSettings(s, points); err != nil {
		return nil, err
	}
	if err := p.checkSize(); err != nil {
		return nil, err
	}
	for repeat := range s.Seeds {
		for t := range p.Traces {
			for i := range p.Settings {
				p.add(t, i, repeat+1)
			}
		}
	}
	return p, nil
}

// build returns the SHA-256 of this program, "" if its file cannot be read. A version would
// not tell two builds of changed code apart.
var build = sync.OnceValue(func() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	sum, err := hashOf(program)
	if err != nil {
		return ""
	}
	return sum
})

// checkBuild returns an error if another program than this one made the plan.
func (p *Plan) checkBuild() error {
	if p.Build == build() {
		return nil
	}
	return fmt.Errorf("sweep %s: another build of heddle began it, and results of two builds are not mixed: the SHA-256 of that program "+
		"is %.12s, that of this one %.12s; go on with that program, or begin the sweep anew under another name",
		p.Name, cmp.Or(p.Build, "not known"), cmp.Or(build(), "not known"))
}

// add appends a replay to the plan. Repeats have consecutive seeds, so all settings have
// the same random numbers in a repeat.
func (p *Plan) add(trace, setting, repeat int) {
	r := Replay{Trace: trace, Setting: setting, Repeat: repeat, Seed: p.Seed + uint64(repeat-1)}
	r.Key = p.key(&r)
	p.Replays = append(p.Replays, r)
}

// key returns the hash of all that the result of a replay follows from, but this program.
func (p *Plan) key(r *Replay) string {
	s := &p.Settings[r.Setting]
	costs := ""
	if p.Calibration != nil {
		costs = p.Calibration.SHA256
	}
	of := []any{
		p.Traces[r.Trace].SHA256, costs, s.Model.Model, s.Model.Reduces, s.Model.Params, s.Model.Splits,
		s.Behaviour, s.Cluster, r.Seed, p.workload(r), s.Label, r.Repeat,
	}
	if len(p.Thresholds) > 0 {
		of = append(of, p.Thresholds)
	}
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // these are plain values
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func inputOf(label, path string) (Input, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Input{}, fmt.Errorf("find %s: %w", path, err)
	}
	sum, err := hashOf(path)
	return Input{Label: label, Path: path, SHA256: sum}, err
}

// hashOf returns the SHA-256 of a file, or of all files in a folder with their names.
func hashOf(path string) (string, error) {
	h := sha256.New()
	path, err := filepath.EvalSymlinks(path) // a folder may be a link
	if err != nil {
		return "", fmt.Errorf("read input of the sweep: %w", err)
	}
	err = filepath.WalkDir(path, func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := os.Stat(at); err != nil || at != path && !info.Mode().IsRegular() || info.IsDir() {
			return err
		}
		f, err := os.Open(at)
		if err != nil {
			return err
		}
		defer f.Close()
		_, _ = io.WriteString(h, at[len(path):]) // a hash takes all
		_, err = io.Copy(h, f)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read input of the sweep: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// modelOf returns the label of the model that an axis has a parameter of, "" for none.
func modelOf(axis string, models []config.Model) (label, param string) {
	for i := range models {
		if name, ok := strings.CutPrefix(axis, models[i].Label+"."); ok && len(models[i].Label) > len(label) {
			label, param = models[i].Label, name
		}
	}
	return label, param
}

// known returns an error if an axis is neither a change of the cluster nor a parameter of
// a model, or if a value of the cluster cannot be.
func known(s *config.Sweep) error {
	var names []string
	for _, o := range changes(new(recorded.Change), new(config.Behaviour)) {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	for _, axis := range slices.Sorted(maps.Keys(s.Vary)) {
		if label, _ := modelOf(axis, s.Models); label == "" && !slices.Contains(names, axis) {
			return fmt.Errorf("sweep %s: vary %q: want MODEL.PARAMETER with the label of one of its models, or one of %s",
				s.Name, axis, strings.Join(names, ", "))
		}
	}
	if _, _, err := changed(s.Behaviour, s.Cluster); err != nil {
		return fmt.Errorf("sweep %s: cluster: %w", s.Name, err)
	}
	return nil
}

// changes returns what a sweep may change or vary of a cluster, by the names of the flags of
// heddle replay.
func changes(c *recorded.Change, b *config.Behaviour) []*option.Option {
	return append(option.Of(c), option.Of(b)...)
}

// changed returns what values change of a cluster and of how it behaves.
func changed(b config.Behaviour, values map[string]string) (recorded.Change, config.Behaviour, error) {
	c := recorded.Change{Speed: 1, Load: 1}
	b.Faults, b.Capacity.Steps = slices.Clip(b.Faults), slices.Clip(b.Capacity.Steps)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := option.Set(changes(&c, &b), name, values[name]); err != nil {
			return c, b, err
		}
	}
	return c, b, cmp.Or(b.Check(), c.Check())
}

// pointsOf returns the points of a sweep: for each, the values of the axes.
func pointsOf(s *config.Sweep, axes []string) ([]map[string]string, error) {
	var of []config.Axis
	var levels []int
	combinations := 1
	for _, name := range axes {
		a := s.Vary[name]
		of = append(of, a)
		if s.Sample == config.SampleGrid || s.Sample == config.SamplePairs {
			levels = append(levels, len(a.Levels()))
			combinations = min(combinations*len(a.Levels()), math.MaxInt32)
		}
	}
	var list []map[string]string
	add := func(value func(i int) string) {
		point := map[string]string{}
		for i, name := range axes {
			point[name] = value(i)
		}
		list = append(list, point)
	}
	rows := [][]int{}
	drawn := [][]float64{}
	switch s.Sample {
	case config.SamplePairs:
		if len(axes) >= 2 {
			rows = design.Pairwise(levels)
			break
		}
		fallthrough
	case config.SampleGrid:
		if combinations > results.MostRows {
			return nil, fmt.Errorf("sweep %s: its axes have more than %d combinations; sample: pairs, or latinHypercube with points, takes fewer",
				s.Name, results.MostRows)
		}
		rows = design.Grid(levels)
	case config.SampleRandom:
		drawn = design.Random(s.Points, len(axes), s.Seed)
	case config.SampleLatin:
		drawn = design.LatinHypercube(s.Points, len(axes), s.Seed)
	case config.SampleSaltelli:
		if n := s.Points * (len(axes) + 2); n > results.MostRows {
			return nil, fmt.Errorf("sweep %s: %d points of %d axes are %d replays of each model and seed; want at most %d",
				s.Name, s.Points, len(axes), n, results.MostRows)
		}
		drawn = design.Saltelli(s.Points, len(axes), s.Seed)
	}
	for _, row := range rows {
		add(func(i int) string { return of[i].Levels()[row[i]] })
	}
	for _, x := range drawn {
		add(func(i int) string { return of[i].At(x[i]) })
	}
	return list, nil
}

// addSettings makes the settings of all models at all points. Values that do not concern a
// model are left out of its settings, so fewer of them may differ.
func (p *Plan) addSettings(s *config.Sweep, points []map[string]string) error {
	at := map[string]int{}
	for _, m := range s.Models {
		for _, point := range points {
			x, err := settingOf(s, m, point)
			if err != nil {
				return fmt.Errorf("sweep %s: %w", s.Name, err)
			}
			id := x.Label + "\n" + x.Change
			i, known := at[id]
			if !known {
				i = len(p.Settings)
				at[id], p.Settings = i, append(p.Settings, x)
			}
			p.Points[m.Label] = append(p.Points[m.Label], i)
		}
	}
	return nil
}

func settingOf(s *config.Sweep, m config.Model, point map[string]string) (Setting, error) {
	x := Setting{Model: m, Behaviour: s.Under(m), Cluster: map[string]string{}, Values: map[string]string{}, Label: m.Label}
	maps.Copy(x.Cluster, s.Cluster)
	x.Model.Params = map[string]string{}
	maps.Copy(x.Model.Params, m.Params)
	var changes []string
	for _, axis := range slices.Sorted(maps.Keys(point)) {
		value := point[axis]
		switch label, param := modelOf(axis, s.Models); label {
		case "":
			x.Cluster[axis] = value
			changes = append(changes, axis+"="+value)
		case m.Label:
			x.Model.Params[param] = value
			x.Label += "-" + param + "=" + value
		default:
			continue
		}
		x.Values[axis] = value
	}
	x.Change = strings.Join(changes, ",")
	made, err := x.Model.Scheduler(s.Seed)
	if err != nil {
		return x, fmt.Errorf("model %s: %w", x.Label, err)
	}
	if f := sched.QueuesOf(made); f != nil {
		for _, k := range f.NotSimulated {
			if _, varies := x.Model.Params["queues."+k.Name]; varies && k.Why != queues.NoLabels { // which a trace tells
				return x, fmt.Errorf("%s.queues.%s: %s", m.Label, k.Name, k.Why)
			}
		}
	}
	if _, _, err := changed(x.Behaviour, x.Cluster); err != nil {
		return x, fmt.Errorf("vary %s: %w", cmp.Or(x.Change, x.Label), err)
	}
	return x, nil
}
