package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
)

// ReplayPlan says what traces are replayed with: models, seeds, what tasks take, and another
// cluster than the traces'. Its options are flags of heddle replay.
type ReplayPlan struct {
	Model       []string `flag:"model" list:"," suggest:"models" text:"scheduler MODEL (see heddle models), or yarn, the cluster's own; may be repeated" of:"MODEL" without:"the trace's"`
	Param       []string `flag:"param" text:"parameter NAME=VALUE for all models that have it, MODEL.NAME=VALUE for one, or reduces.NAME=VALUE for that of the key reduces, such as capacities=q1=30,q2=70; may be repeated" of:"NAME=VALUE"`
	Command     string   `flag:"command" text:"with --model external: the program that decides, 'PROGRAM ARGUMENT…', separated by blanks" of:"'PROGRAM ARGUMENT…'"`
	Reduces     string   `flag:"reduces" key:"set" suggest:"models" text:"MODEL that places the reduces beside each --model but yarn and external, which then places only maps"`
	Seed        []uint64 `flag:"seed" list:"," text:"seed N of random numbers; may be repeated" of:"N" without:"1"`
	Calibration string   `flag:"calibration" text:"calibration FILE: written with --calibrate, else read" of:"FILE" heading:"What tasks take"`
	SpeedOf     string   `flag:"speed-of" text:"with --calibration: compute as fast as processors did in RUN, a short run right before of a workload of the calibration" of:"RUN" heading:"What tasks take"`
	Workload    string   `flag:"workload" key:"set" text:"with --calibration: use the times per byte of this workload of it for jobs of workloads that it lacks"`
	Durations   string   `flag:"durations" key:"set" values:"recorded,modelled" text:"what tasks take" without:"modelled with --calibration, else recorded"`
	Follow      bool     `flag:"follow" key:"set" text:"with recorded durations: offer nodes only at the times of the trace's heartbeats"`

	Chains bool `flag:"chains" text:"jobs that began within 10 s after another of their user keep that time from its end"`

	recorded.Change  `heading:"The cluster"`
	config.Behaviour `heading:"The cluster"`
}

// DefaultReplayPlan changes nothing.
func DefaultReplayPlan() ReplayPlan { return ReplayPlan{Change: recorded.Change{Speed: 1, Load: 1}} }

// Configs returns all replays: one for each trace, scheduler model and seed, sorted by trace,
// then by model, then by seed. Without models, each trace has its own. The note says how fast
// processors are.
func (o *ReplayPlan) Configs(
	list []*recorded.Trace, named []config.Model,
) (configs []replay.Config, note string, warnings []string, err error) {
	of := replay.Config{Behaviour: o.Behaviour, Change: o.Change, Workload: o.Workload, Follow: o.Follow}
	var given *calibration.Calibration
	if o.Calibration != "" {
		if given, err = calibration.Read(o.Calibration); err != nil {
			return nil, "", nil, err
		}
	}
	speed, note, err := SpeedOf(o.SpeedOf, false, given)
	if err != nil {
		return nil, "", nil, err
	}
	modelled := o.Durations == "modelled" || o.Durations == "" && given != nil
	if o.SpeedOf != "" {
		if !modelled {
			return nil, "", nil, errors.New("--speed-of: recorded durations have the speed that they were recorded at; want modelled ones")
		}
		of.Change.Speed *= speed
	}
	seeds := o.Seed
	if len(seeds) == 0 {
		seeds = []uint64{1}
	}
	for _, t := range list {
		models := named
		if len(models) == 0 {
			own, err := o.modelOf(t)
			if err != nil {
				return nil, "", nil, err
			}
			models = []config.Model{own}
		}
		fitted := given
		if fitted == nil {
			if fitted, err = replay.CalibrateOne(t, modelled); err != nil {
				return nil, "", nil, err
			}
			warnings = append(warnings, fitted.Warnings...)
		}
		for _, m := range models {
			for _, seed := range seeds {
				x := of
				x.Trace, x.Model, x.Seed, x.Calibration, x.Modelled = t, m, seed, fitted, modelled
				if o.Chains {
					x.After = t.Chains()
				}
				if len(named) == 0 {
					own := t.OwnBehaviour()
					x.Actuator, x.Splits = cmp.Or(x.Actuator, own.Actuator), cmp.Or(x.Splits, own.Splits)
				}
				configs = append(configs, x)
			}
		}
	}
	return configs, note, warnings, nil
}

// Models returns the scheduler models, none for those of the traces. It refuses unknown ones
// and wrong parameters, before traces are read.
func (o *ReplayPlan) Models() ([]config.Model, error) {
	var models []config.Model
	for _, name := range o.Model {
		m := config.Model{Model: name, Params: map[string]string{}}
		switch name {
		case config.ModelYARN:
		case config.ModelExternal:
			m.Command = strings.Fields(o.Command)
		default:
			m.PlaceReduces(o.Reduces)
		}
		m.Label = cmp.Or(m.Label, name)
		models = append(models, m)
	}
	if o.Command != "" && !slices.Contains(o.Model, config.ModelExternal) {
		return nil, fmt.Errorf("--command: want --model %s with it", config.ModelExternal)
	}
	if len(models) == 0 {
		return nil, nil
	}
	if err := o.setParams(models); err != nil {
		return nil, err
	}
	for i := range models {
		if _, err := models[i].Scheduler(1); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// modelOf returns the scheduler model of a trace, with the plan's parameters.
func (o *ReplayPlan) modelOf(t *recorded.Trace) (config.Model, error) {
	own := t.OwnModel()
	own.Params = maps.Clone(own.Params)
	if own.Params == nil {
		own.Params = map[string]string{}
	}
	if o.Reduces != "" {
		return own, errors.New("--set reduces: want --model with it, which places the maps")
	}
	return own, o.setParams([]config.Model{own})
}

func (o *ReplayPlan) setParams(models []config.Model) error {
	for _, text := range o.Param {
		if err := config.SetParam(models, text); err != nil {
			return fmt.Errorf("--param %s: %w", text, err)
		}
	}
	return nil
}
