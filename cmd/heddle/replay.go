package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/replay"
	"heddle/harness/runs"
	"heddle/harness/steer"
	"heddle/harness/steer/drive"
	"heddle/traces"
	"heddle/traces/tracefile"
)

func replayCommand() *cli.Command {
	var change replay.Change
	var faults config.Faults
	return &cli.Command{
		Name:      "replay",
		Usage:     "simulate the jobs of traces, under any models",
		ArgsUsage: "TRACE [TRACE …]",
		Description: `The jobs of a trace come again, at the same times and with their input where it
was, in virtual time. Tasks take as long as they did, or, with a calibration, as
long as they would where they now run. Seeds and models run side by side; the
result does not depend on that. For example:

   heddle replay --model yarn --model delay --model acl --seed 1 --seed 2 run.heddle
   heddle replay --calibrate --calibration lab.json RUN/trials/*/trace.heddle
   heddle replay --calibration lab.json --model fifo --nodes 40 --racks 4 --json run.heddle`,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "model", Usage: "scheduler `MODEL`, see heddle models, or yarn, the cluster's own; may be given again (default: the trace's)"},
			&cli.StringSliceFlag{Name: "param", Usage: "`NAME=VALUE` of the models that have this parameter, MODEL.NAME=VALUE of one; may be given again"},
			&cli.StringSliceFlag{Name: "seed", Usage: "of random numbers; `N` may be given again (default: 1)"},
			&cli.StringFlag{Name: "actuator", Usage: "none, labels or ideal: how decisions become containers (default: none for yarn, labels for others)"},
			&cli.StringFlag{Name: "splits", Usage: "asSubmitted, cachedOnly or plan: what ApplicationMasters read of where input is", Value: replay.SplitsAsSubmitted},
			&cli.BoolFlag{Name: "calibrate", Usage: "only fit what things cost to the traces, and print it"},
			&cli.StringFlag{Name: "calibration", Usage: "`FILE` with what things cost: written with --calibrate, else read"},
			&cli.StringFlag{Name: "workload", Usage: "with --calibration: `NAME` of one of its workloads, whose cost a byte stands in for jobs of workloads that it lacks"},
			&cli.StringFlag{Name: "durations", Usage: "recorded or modelled (default: modelled with --calibration, else recorded)"},
			&cli.BoolFlag{Name: "follow", Usage: "offer nodes when the trace's heartbeats say, and at no other time, with recorded durations"},
			&cli.GenericFlag{Name: "fault", Value: &faults, DefaultText: "the trace's", Usage: "`FAULT` that happens besides the trace's, such as at=30s,node=n2,down, as in an experiment's faults; may be given again"},
			&cli.StringFlag{Name: "speculation", Usage: "none, hadoop or late: the rule by which slow attempts get a copy (default: none but the recorded)"},
			&cli.StringFlag{Name: "cache-policy", Usage: "static or lru: whether nodes keep what they read last instead of what was cached", Value: config.CacheStatic},
			jsonFlag(),
			&cli.StringFlag{Name: "runs", Usage: "keep what the replays came to as a run folder in `DIR`, for heddle compare; else nothing is kept"},
			&cli.StringFlag{Name: "run-name", Usage: "with --runs, `NAME` of the run folder (default: the time)"},
			&cli.BoolFlag{Name: "traces", Usage: "with --runs, keep each replay's trace, too"},
			&cli.BoolFlag{Name: "observations", Usage: "the files are recordings of heddle run --record-observations: go through steering's decisions again"},
			&cli.StringFlag{Name: "out", Usage: "write the simulated trace to `FILE`; for one trace, model and seed"},
		}, changeFlags(&change)...),
		Action: func(c *cli.Context) error { return runReplay(c, &change, &faults) },
	}
}

// changeFlags are what a replay can have otherwise than its trace; those that a
// lab has too are called the same.
func changeFlags(x *replay.Change) []cli.Flag {
	generic := func(name, usage string, v cli.Generic) cli.Flag {
		return &cli.GenericFlag{Name: name, Usage: usage, Value: v, DefaultText: "as recorded"}
	}
	return []cli.Flag{
		&cli.IntFlag{Name: "nodes", Destination: &x.Nodes, Usage: "workers in all; blocks are placed anew", DefaultText: "as recorded"},
		&cli.IntFlag{Name: "racks", Destination: &x.Racks, Usage: "racks they are in", DefaultText: "as recorded"},
		&cli.IntFlag{Name: "slots", Destination: &x.Slots, Usage: "containers a node", DefaultText: "as recorded"},
		&cli.StringFlag{Name: "cpus", Usage: "cores a node; a list makes nodes differ; 0 is no limit", DefaultText: "as recorded"},
		&cli.Float64Flag{Name: "host-cores", Destination: &x.HostCores, Usage: "cores that all nodes share, on one machine", DefaultText: "as recorded"},
		generic("disk", "rate at which a node reads its disk; 0 is no limit", &x.Disk),
		generic("link", "rate of a node's link; 0 is no limit", &x.Link),
		generic("uplink", "rate of a rack's uplink; 0 is no limit", &x.Uplink),
		&cli.StringFlag{Name: "uplink-mbit", Usage: "the same, as a `NUMBER` of Mbit/s"},
		generic("cache", "HDFS cache a DataNode; what does not fit is not cached", &x.Cache),
		&cli.IntFlag{Name: "replication", Destination: &x.Replication, Usage: "replicas of blocks, placed anew", DefaultText: "as recorded"},
		generic("nm-heartbeat", "interval of NodeManagers", &x.NMHeartbeat),
		generic("am-heartbeat", "interval of ApplicationMasters", &x.AMHeartbeat),
		&cli.Float64Flag{Name: "speed", Destination: &x.Speed, Value: 1, Usage: "of nodes; 2 computes in half the time"},
		&cli.Float64Flag{Name: "load", Destination: &x.Load, Value: 1, Usage: "of arrivals; at 2 jobs come in half the time"},
	}
}

// finishChange reads those of changeFlags that have no place in x yet.
func finishChange(c *cli.Context, x *replay.Change) error {
	if mbit := c.String("uplink-mbit"); mbit != "" {
		if x.Uplink.Given {
			return errors.New("--uplink and --uplink-mbit say the same: give one")
		}
		if err := x.Uplink.Set(mbit + "Mbit"); err != nil {
			return fmt.Errorf("--uplink-mbit: %w", err)
		}
	}
	for _, name := range []string{"nodes", "racks", "slots", "replication"} {
		if c.IsSet(name) && c.Int(name) < 1 {
			return fmt.Errorf("--%s %d: want 1 or more", name, c.Int(name))
		}
	}
	for _, name := range []string{"speed", "load"} {
		if !(c.Float64(name) > 0) {
			return fmt.Errorf("--%s %v: want more than 0", name, c.Float64(name))
		}
	}
	if list := c.String("cpus"); list != "" {
		for _, text := range strings.Split(list, ",") {
			cores, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return fmt.Errorf("--cpus %s: %q is not a number", list, text)
			}
			x.Cores = append(x.Cores, cores)
		}
	}
	return nil
}

func runReplay(c *cli.Context, change *replay.Change, faults *config.Faults) error {
	files, err := arguments(c)
	if err != nil {
		return err
	}
	for _, name := range []string{"run-name", "traces"} {
		if c.IsSet(name) && c.String("runs") == "" {
			return withCode(exitUsage, fmt.Errorf("--%s goes with --runs: without it nothing is kept", name))
		}
	}
	if c.Bool("traces") && c.IsSet("out") {
		return withCode(exitUsage, errors.New("--traces and --out keep the same trace: give one"))
	}
	if len(files) == 0 {
		return withCode(exitUsage, errors.New("replay takes one TRACE or more; heddle run and heddle capture make them, heddle trace import makes them of other formats"))
	}
	if c.Bool("observations") {
		return replayObservations(c, files)
	}
	list, err := loadTraces(c, files)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if err := finishChange(c, change); err != nil {
		return withCode(exitUsage, err)
	}
	if c.Bool("calibrate") {
		return calibrate(c, list, *change)
	}
	configs, err := replays(c, list, *change)
	if err != nil {
		return withCode(exitUsage, err)
	}
	for i := range configs {
		configs[i].Faults, configs[i].Speculation, configs[i].CachePolicy = *faults, c.String("speculation"), c.String("cache-policy")
	}
	out := c.String("out")
	var sorter *tracefile.Sorter
	if out != "" {
		if len(configs) != 1 {
			return withCode(exitUsage, fmt.Errorf("--out is for one trace, model and seed; these are %d replays", len(configs)))
		}
		sorter = tracefile.NewSorter(os.TempDir())
		defer func() { _ = sorter.Close() }()                          // what it wrote is temporary
		configs[0].Record = func(e traces.Event) { _ = sorter.Add(e) } // WriteFile tells
	}
	kept := experiment.Replays{Root: c.String("runs"), Name: c.String("run-name"), Command: os.Args, Traces: c.Bool("traces")}
	kept.Record(configs)
	defer kept.Close()
	outcomes, err := replay.Outcomes(configs)
	if err != nil {
		return withCode(exitUsage, err)
	}
	for _, o := range outcomes {
		for _, w := range o.Warnings {
			fmt.Fprintln(os.Stderr, "warning:", w)
		}
	}
	if out != "" {
		if err := sorter.WriteFile(out, outcomes[0].Header, nil); err != nil {
			return fmt.Errorf("write simulated trace: %w", err)
		}
	}
	if c.Bool("json") {
		err = printJSON(c.App.Writer, outcomes)
	} else {
		err = replay.WriteText(c.App.Writer, outcomes)
	}
	if err == nil && kept.Root != "" {
		var run *runs.Run
		if run, err = kept.Keep(outcomes); err == nil {
			fmt.Fprintln(c.App.ErrWriter, "run folder:", run.Dir)
		}
		err = runError(err)
	}
	return err
}

// replayObservations prints what steering said to what it saw, and fails where it
// now says something else.
func replayObservations(c *cli.Context, files []string) error {
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return withCode(exitUsage, err)
		}
		steps := 0
		err = drive.Replay(f, func(after time.Duration, actions []steer.Action) {
			steps++
			for _, a := range actions {
				if steer.Matters(a) {
					fmt.Fprintf(c.App.Writer, "%9.3fs  %s\n", after.Seconds(), a)
				}
			}
		})
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(c.App.Writer, "%s: %d steps, the same actions\n", path, steps)
	}
	return nil
}

func loadTraces(c *cli.Context, files []string) ([]*replay.Trace, error) {
	var list []*replay.Trace
	for _, path := range files {
		t, err := replay.Load(path)
		if err != nil {
			return nil, err
		}
		warn(c, t.Warnings...)
		list = append(list, t)
	}
	return list, nil
}

func calibrate(c *cli.Context, list []*replay.Trace, cluster replay.Change) error {
	fitted, err := replay.Calibrate(list, cluster)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if path := c.String("calibration"); path != "" {
		if err := fitted.WriteFile(path); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, fitted)
	}
	return fitted.WriteText(c.App.Writer)
}

// replays are those that the flags ask for: by trace, then model, then seed.
func replays(c *cli.Context, list []*replay.Trace, change replay.Change) ([]replay.Config, error) {
	var calibration *replay.Calibration
	if path := c.String("calibration"); path != "" {
		var err error
		if calibration, err = replay.ReadCalibration(path); err != nil {
			return nil, err
		}
	}
	modelled := calibration != nil
	switch d := c.String("durations"); d {
	case "":
	case "recorded", "modelled":
		modelled = d == "modelled"
	default:
		return nil, fmt.Errorf("--durations %q: want recorded or modelled", d)
	}
	var seeds []uint64
	for _, text := range c.StringSlice("seed") {
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
		models, err := modelsOf(c, t)
		if err != nil {
			return nil, err
		}
		fitted := calibration
		if fitted == nil {
			if fitted, err = t.Calibrate(modelled); err != nil {
				return nil, err
			}
			for _, w := range fitted.Warnings {
				fmt.Fprintln(os.Stderr, "warning:", w)
			}
		}
		for _, m := range models {
			for _, seed := range seeds {
				x := replay.Config{
					Trace: t, Model: m, Actuator: c.String("actuator"), Seed: seed, Change: change,
					Calibration: fitted, Modelled: modelled, Workload: c.String("workload"), Follow: c.Bool("follow"),
					Interrupted: c.Context.Err,
				}
				if len(c.StringSlice("model")) == 0 && x.Actuator == "" {
					x.Actuator = t.Header.Actuator
				}
				configs = append(configs, x)
			}
		}
	}
	return configs, nil
}

// modelsOf are the models to replay a trace under: by default its own, of which
// --param changes parameters like those of any other.
func modelsOf(c *cli.Context, t *replay.Trace) ([]config.Model, error) {
	var models []config.Model
	for _, name := range c.StringSlice("model") {
		models = append(models, config.Model{Label: name, Model: name, Params: map[string]string{}, Splits: c.String("splits")})
	}
	if len(models) == 0 {
		own := replay.OwnModel(t)
		own.Params = maps.Clone(own.Params)
		if own.Params == nil {
			own.Params = map[string]string{}
		}
		if c.IsSet("splits") {
			own.Splits = c.String("splits")
		}
		models = append(models, own)
	}
	for _, text := range c.StringSlice("param") {
		if err := config.SetParam(models, text); err != nil {
			return nil, fmt.Errorf("--param %s: %w", text, err)
		}
	}
	return models, nil
}
