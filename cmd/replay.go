package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

func replayCommand() *cli.Command {
	change := recorded.Change{Speed: 1, Load: 1}
	var behaviour config.Behaviour
	return &cli.Command{
		Name:      "replay",
		Usage:     "simulate the jobs of traces, under any models",
		ArgsUsage: "TRACE|FOLDER … [TOPOLOGY]",
		Description: `Runs the jobs of a trace again in virtual time, at the same times and with their
input in the same places. Traces of other tools, and folders of job histories, are
imported with the defaults of heddle trace import, with a TOPOLOGY if one is named.
Tasks take as long as recorded or, with a calibration, as long as they would take on the
node where they run now. Seeds and models run in parallel, which does not change the
result. For example:

   heddle replay --model yarn --model delay --model acl --seed 1 --seed 2 run.heddle
   heddle replay --calibrate --calibration lab.json RUN/trials/*/trace.heddle
   heddle replay --calibration lab.json --model fifo --nodes 40 --racks 4 --json run.heddle`,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "model", Usage: "scheduler `MODEL` (see heddle models), or yarn, the cluster's own; may be repeated (default: the trace's)"},
			&cli.StringFlag{Name: "reduces", Usage: "`MODEL` that places the reduces beside each --model but yarn and external, which then places only maps"},
			&cli.StringFlag{Name: "command", Usage: "with --model external: the program that decides, `'PROGRAM ARGUMENT…'`, separated by blanks"},
			&cli.StringSliceFlag{Name: "param", Usage: "parameter `NAME=VALUE` for all models that have it, MODEL.NAME=VALUE for one, or reduces.NAME=VALUE for that of --reduces, such as capacities=q1=30,q2=70; may be repeated"},
			&cli.StringSliceFlag{Name: "seed", Usage: "seed `N` of random numbers; may be repeated (default: 1)"},
			&cli.BoolFlag{Name: "calibrate", Usage: "fit a calibration to the traces and print it; do not replay"},
			&cli.StringFlag{Name: "calibration", Usage: "calibration `FILE`: written with --calibrate, else read"},
			speedFlag(),
			&cli.StringFlag{Name: "workload", Usage: "with --calibration: use the times per byte of its workload `NAME` for jobs of workloads that it lacks"},
			&cli.StringFlag{Name: "durations", Usage: "recorded or modelled (default: modelled with --calibration, else recorded)"},
			&cli.BoolFlag{Name: "follow", Usage: "with recorded durations: offer nodes only at the times of the trace's heartbeats"},
			&cli.StringSliceFlag{Name: "metric", Usage: "a column for `METRIC` of heddle compare, or all; may be repeated (default: makespan, mean completion, locality)"},
			partialFlag(), tableFlag(), jsonFlag(),
			&cli.StringFlag{Name: "runs", Usage: "keep the results as a run folder in `DIR`, for heddle compare (default: keep nothing)"},
			&cli.StringFlag{Name: "run-name", Usage: "keep the results as a run folder of this `NAME`, without --runs in the user's state folder"},
			&cli.BoolFlag{Name: "traces", Usage: "with --runs or --run-name, also keep the trace and each replay's trace"},
			&cli.BoolFlag{Name: "reasons", Usage: "with --traces or --out: record with each decision what the model saw, for heddle trace why"},
			&cli.BoolFlag{Name: "observations", Usage: "the files are from heddle run --record-observations: repeat steering's decisions on them"},
			&cli.StringFlag{Name: "out", Usage: "write the simulated trace to `FILE`; only for a single trace, model and seed"},
		}, flagsOf(&behaviour, &change)...),
		Action: withArguments(func(c *cli.Context, files []string) error {
			return runReplay(c, files, &behaviour, &change)
		}),
	}
}

func runReplay(c *cli.Context, files []string, behaviour *config.Behaviour, change *recorded.Change) (err error) {
	kept := experiment.Replays{Name: c.String("run-name"), Command: os.Args, Traces: c.Bool("traces")}
	defer kept.Close()
	if c.IsSet("runs") || c.IsSet("run-name") {
		if kept.Root, err = newRun(c); err != nil {
			return err
		}
	} else if kept.Traces {
		return withCode(exitUsage, errors.New("--traces: want --runs or --run-name with it; without them nothing is kept"))
	}
	if c.Bool("traces") && c.IsSet("out") {
		return withCode(exitUsage, errors.New("both --traces and --out; want one of them"))
	}
	if c.Bool("reasons") && !c.Bool("traces") && !c.IsSet("out") {
		return withCode(exitUsage, errors.New("--reasons: want --traces or --out with it; they are part of a trace"))
	}
	written := []string{c.String("out")}
	if c.Bool("calibrate") {
		written = append(written, c.String("calibration"))
	}
	if err := absent(written...); err != nil {
		return err
	}
	if len(files) == 0 {
		return withCode(exitUsage, errors.New("want one TRACE or more; 'heddle run' and 'heddle capture' make traces, and 'heddle trace import' converts other formats"))
	}
	if c.Bool("observations") {
		return replayObservations(c, files)
	}
	var metrics []measure.Metric
	if c.IsSet("metric") {
		if metrics, err = measure.Find(several(c, "metric")); err != nil {
			return withCode(exitUsage, err)
		}
	}
	models, err := namedModels(c)
	if err != nil {
		return withCode(exitUsage, err)
	}
	p := &replayProgress{work: work{progress: newProgress(c)}}
	defer p.close()
	list, were, err := loadTraces(c, p.progress, files, &kept)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if c.Bool("calibrate") {
		return calibrate(c, list, *change, behaviour.Fetches)
	}
	p.show(func() []string { return []string{"fit what tasks and Hadoop cost"} })
	configs, err := replays(c, list, models, replay.Config{Behaviour: *behaviour, Change: *change})
	if err != nil {
		return withCode(exitUsage, err)
	}
	for i := range configs {
		configs[i].WithoutEvents, configs[i].Sanity, configs[i].Reasons = onlyTable(c), true, c.Bool("reasons")
	}
	out := c.String("out")
	var sorter *tracefile.Sorter
	if out != "" {
		if len(configs) != 1 {
			return withCode(exitUsage, fmt.Errorf("--out: want a single trace, model and seed; these are %d replays", len(configs)))
		}
		sorter = tracefile.NewSorter(os.TempDir())
		defer func() { _ = sorter.Close() }()                          // do not check this error: if closing the sorter fails, only a temporary file remains
		configs[0].Record = func(e traces.Event) { _ = sorter.Add(e) } // do not check whether Add fails to store an event, since writing the trace (WriteFile) returns the same error
	}
	kept.Record(configs)
	p.watch(configs)
	outcomes, err := replay.Outcomes(configs)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if out != "" {
		p.show(func() []string { return []string{"write " + out} })
		if err := sorter.WriteFile(out, outcomes[0].Header, nil); err != nil {
			return fmt.Errorf("write simulated trace: %w", err)
		}
	}
	p.close()
	warn(replay.EqualSeeds(outcomes)...)
	var doubts []string
	for i := range outcomes {
		doubts = append(doubts, outcomes[i].Warnings...)
	}
	warn(doubts...)
	outcomes = replay.Beside(were, outcomes)
	for i := range outcomes {
		outcomes[i].Measure(metrics)
	}
	table := append(replay.Doc(outcomes, metrics), replay.Basis(outcomes)...)
	if costs := configs[0].Calibration; costs != nil && c.IsSet("calibration") {
		table = append(table, nextRunsDoc(costs, nextReplayed(costs, outcomes))...)
	}
	if err = printDoc(c, outcomes, table); err == nil && kept.Root != "" {
		var run *runs.Run
		if run, err = kept.Keep(outcomes); err == nil {
			fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
			next(c, "heddle compare", run.Dir)
		}
		return runError(err)
	}
	if err == nil && out != "" {
		next(c, "heddle trace info", out)
	}
	return err
}

// onlyTable reports whether nothing is asked for but the usual table, of which all
// columns are known without the events of a replay.
func onlyTable(c *cli.Context) bool {
	return !wantsJSON(c) && !c.IsSet("metric") && !c.IsSet("runs") && !c.IsSet("run-name")
}

// loadTraces reads traces, and what each says of its own run, nil if it says nothing.
func loadTraces(c *cli.Context, p *progress, files []string, kept *experiment.Replays) (list []*recorded.Trace, were []*replay.Outcome, err error) {
	var topologies []string
	paths := slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		topology := exchange.IsTopology(c.Context, path)
		if topology {
			topologies = append(topologies, path)
		}
		return topology
	})
	if len(paths) == 0 {
		return nil, nil, fmt.Errorf("there is no trace among the files, only topologies: %s", strings.Join(topologies, ", "))
	}
	for _, path := range paths {
		t, was, err := loadTrace(c, p, path, topologies, kept)
		if err != nil {
			return nil, nil, err
		}
		warn(t.Warnings...)
		list, were = append(list, t), append(were, was)
	}
	return list, were, nil
}

// loadTrace reads a trace in any format, or a folder of histories. It says what the
// import of another tool's trace made up.
func loadTrace(
	c *cli.Context, p *progress, path string, topologies []string, kept *experiment.Replays,
) (*recorded.Trace, *replay.Outcome, error) {
	path, err := traceOf(c, path)
	if err != nil && !errors.Is(err, errNoRun) {
		return nil, nil, err
	}
	var r *tracefile.Reader
	var imported *exchange.Imported
	if info, serr := os.Stat(path); serr != nil || !info.Mode().IsRegular() && !info.IsDir() {
		r, err = tracefile.Open(path) // a pipe can be opened only once, so it cannot be asked for its format first
	} else {
		r, imported, err = exchange.Any(c.Context, path, func(o *exchange.ImportOptions) {
			o.Inputs, o.Progress, o.Partial = append(o.Inputs, topologies...), p.imported(), c.Bool("partial")
		})
	}
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if imported == nil && len(topologies) > 0 {
		return nil, nil, fmt.Errorf("%s: it is a trace of heddle, which has its nodes: %s is for traces of other tools",
			path, topologies[0])
	}
	if imported != nil {
		imported.Output = path
		if err := printImported(c.App.ErrWriter, imported, false); err != nil {
			return nil, nil, err
		}
		warn(imported.LeftOut...)
	}
	figures, keep := measure.New(r.Header()), kept.Trace(path, r)
	if onlyTable(c) {
		figures.WithoutDigest()
	}
	events := 0
	also := func(e traces.Event, counted bool) {
		if !counted {
			figures.Add(e)
			keep(e)
		}
		if events++; events%4096 == 0 {
			n := events
			p.show(func() []string { return []string{fmt.Sprintf("read %d events of %s", n, path)} })
		}
	}
	var t *recorded.Trace
	if onlyTable(c) && !c.Bool("follow") {
		var counts recorded.Counts
		t, counts, err = recorded.ReadBrief(path, r, also)
		figures.AddCounted(counts.Schedule, counts.Maps)
	} else {
		t, err = recorded.Read(path, r, func(e traces.Event) { also(e, false) })
	}
	if err != nil {
		return nil, nil, err
	}
	return t, replay.Recorded(t, figures.Figures()), nil
}

func calibrate(c *cli.Context, list []*recorded.Trace, cluster recorded.Change, fetches string) error {
	fitted, err := replay.Calibrate(list, cluster, fetches)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if path := c.String("calibration"); path != "" {
		if err := fitted.WriteFile(path); err != nil {
			return err
		}
	}
	return printDoc(c, fitted, fitted.Doc())
}

// replays returns all replays that the flags ask for: one like the given for each trace,
// scheduler model and seed. They are sorted by trace, then by model, then by
// seed.
func replays(c *cli.Context, list []*recorded.Trace, named []config.Model, of replay.Config) ([]replay.Config, error) {
	var given *calibration.Calibration
	if path := c.String("calibration"); path != "" {
		var err error
		if given, err = calibration.Read(path); err != nil {
			return nil, err
		}
	}
	speed, err := speedOf(c, given)
	if err != nil {
		return nil, err
	}
	modelled := given != nil
	switch d := c.String("durations"); d {
	case "":
	case "recorded", "modelled":
		modelled = d == "modelled"
	default:
		return nil, fmt.Errorf("--durations %q: want recorded or modelled", d)
	}
	if c.IsSet("speed-of") {
		if !modelled {
			return nil, errors.New("--speed-of: recorded durations have the speed that they were recorded at; want modelled ones")
		}
		of.Change.Speed *= speed
	}
	var seeds []uint64
	for _, text := range several(c, "seed") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--seed %q: want a whole number", text)
		}
		seeds = append(seeds, seed)
	}
	if len(seeds) == 0 {
		seeds = []uint64{1}
	}
	var configs []replay.Config
	for _, t := range list {
		models := named
		if len(models) == 0 {
			own, err := modelOfTrace(c, t)
			if err != nil {
				return nil, err
			}
			models = []config.Model{own}
		}
		fitted := given
		if fitted == nil {
			var err error
			if fitted, err = replay.CalibrateOne(t, modelled); err != nil {
				return nil, err
			}
			warn(fitted.Warnings...)
		}
		for _, m := range models {
			for _, seed := range seeds {
				x := of
				x.Trace, x.Model, x.Seed, x.Calibration, x.Modelled = t, m, seed, fitted, modelled
				x.Workload, x.Follow, x.Interrupted = c.String("workload"), c.Bool("follow"), c.Context.Err
				if len(named) == 0 {
					own := t.OwnBehaviour()
					x.Actuator, x.Splits = cmp.Or(x.Actuator, own.Actuator), cmp.Or(x.Splits, own.Splits)
				}
				configs = append(configs, x)
			}
		}
	}
	return configs, nil
}

// namedModels returns the scheduler models of the flag --model. It refuses unknown ones
// and wrong parameters, before traces are read.
func namedModels(c *cli.Context) ([]config.Model, error) {
	var models []config.Model
	for _, name := range several(c, "model") {
		m := config.Model{Model: name, Params: map[string]string{}}
		if name != config.ModelYARN && name != config.ModelExternal {
			m.PlaceReduces(c.String("reduces"))
		}
		if name == config.ModelExternal {
			m.Command = strings.Fields(c.String("command"))
		}
		m.Label = cmp.Or(m.Label, name)
		models = append(models, m)
	}
	if c.IsSet("command") && !slices.Contains(several(c, "model"), config.ModelExternal) {
		return nil, fmt.Errorf("--command: want --model %s with it", config.ModelExternal)
	}
	if len(models) == 0 {
		return nil, nil
	}
	if err := setParams(c, models); err != nil {
		return nil, err
	}
	for i := range models {
		if _, err := models[i].Scheduler(1); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// modelOfTrace returns the scheduler model of a trace, with the parameters of --param.
func modelOfTrace(c *cli.Context, t *recorded.Trace) (config.Model, error) {
	own := t.OwnModel()
	own.Params = maps.Clone(own.Params)
	if own.Params == nil {
		own.Params = map[string]string{}
	}
	if c.IsSet("reduces") {
		return own, errors.New("--reduces: want --model with it, which places the maps")
	}
	return own, setParams(c, []config.Model{own})
}

func setParams(c *cli.Context, models []config.Model) error {
	for _, text := range c.StringSlice("param") {
		if err := config.SetParam(models, text); err != nil {
			return fmt.Errorf("--param %s: %w", text, err)
		}
	}
	return nil
}
