// Package demo is the shortest way from a bare machine to a result. [Run] starts
// a lab (a real Hadoop cluster on this machine), runs a workload, captures its
// trace, reports the figures, and stops the lab. [Simulate] needs no Hadoop: it
// replays traces that are part of heddle under two models. Both leave a run
// folder. Neither has options for what it shows: other commands do that.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/traces/tracefile"
)

// Options of the command heddle demo. Log is required.
type Options struct {
	// Install lets the demo install missing packages with apt-get.
	Install bool `flag:"install" text:"install what is missing, with apt-get"`
	// Keep leaves the lab's Hadoop cluster running after the demo.
	Keep bool `flag:"keep" text:"leave the lab up (heddle lab down --name demo)"`
	// Lab describes the Hadoop cluster to start on this machine.
	Lab lab.Config
	// Root is the folder in which the demo makes its run folder (traces and
	// results).
	Root string
	// Command is the command line that the run folder's manifest records.
	Command []string
	// Log receives a line for each step of the demo.
	Log io.Writer
	// Progress is called at each step of the run of the demo's experiment.
	Progress func(experiment.Step)
}

// source is the experiment file of the demo. The experiment takes less than a
// minute on 2 cores.
const source = `# The experiment that 'heddle demo' runs.
name: demo
workloads:
  - name: wordcount
    size: 32MiB
    maps: 4
    reduces: 1
models: [yarn]
repeats: 1
`

// Findings are the results of a demo: the figures of each trial (a run of the
// workload), and the run folder.
type Findings struct {
	Folder string  `json:"folder"` // path of the run folder
	Trials []Trial `json:"trials"`
}

// Trial has the figures of one trial (one run of the demo's workload),
// computed from the trial's trace.
type Trial struct {
	Trial string `json:"trial"`
	*measure.Figures
}

// Run runs the demo. It stops the lab even if a step fails or ctx ends, unless
// Options.Keep is set.
func Run(ctx context.Context, o Options) (found *Findings, err error) {
	if err := prepare(ctx, o); err != nil {
		return nil, err
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(o.Log, "%5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	say("starting Hadoop: %d workers in %d racks", o.Lab.Nodes, o.Lab.Racks)
	l, err := lab.Up(ctx, o.Lab, func(e lab.Event) { fmt.Fprintln(o.Log, e) })
	if err != nil {
		return nil, err
	}
	if !o.Keep {
		defer func() {
			say("stopping Hadoop")
			down, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, l.Down(down, false))
			say("done")
		}()
	}
	run, err := runExperiment(ctx, o, l)
	if err != nil {
		return nil, err
	}
	return findings(run)
}

func runExperiment(ctx context.Context, o Options, l *lab.Lab) (*runs.Run, error) {
	e, err := config.ParseExperiment("demo.yaml", []byte(source))
	if err != nil {
		return nil, err
	}
	cluster := l.Cluster()
	return experiment.Run(ctx, experiment.Options{
		Experiment: e, Source: []byte(source), Cluster: &cluster, Root: o.Root,
		Command: o.Command, Progress: o.Progress, ShareCores: lab.ShareCores,
		Settings: map[string]string{"classDataSharing": fmt.Sprint(l.ClassDataSharing())},
	})
}

// findings computes the figures of each trial (a run of the workload) from the
// traces in the run folder.
func findings(run *runs.Run) (*Findings, error) {
	f := &Findings{Folder: run.Dir}
	for _, t := range run.Manifest().Trials {
		r, err := tracefile.Open(filepath.Join(run.TrialDir(t.Name), "trace.heddle"))
		if err != nil {
			return nil, err
		}
		f.Trials = append(f.Trials, Trial{t.Name, measure.Of(r.Header(), r.All())})
		if err := errors.Join(r.Err(), r.Close()); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Doc returns the findings for people to read. The last line has the run folder's
// path.
func (f *Findings) Doc() (d doc.Doc) {
	for _, t := range f.Trials {
		d = append(append(d, doc.Heading(t.Trial)), t.Figures.Doc()...)
	}
	return append(d, doc.Facts{{Name: "run folder", Value: f.Folder}})
}

// prepare checks that the machine can run a lab. If packages are missing and
// Options.Install is set, it installs them.
func prepare(ctx context.Context, o Options) error {
	err := lab.Preflight(o.Lab)
	var missing *lab.MissingError
	if err == nil || !errors.As(err, &missing) {
		return err
	}
	packages := missing.Packages()
	if !o.Install || len(packages) < len(missing.What) || os.Geteuid() != 0 {
		return &NotReadyError{missing}
	}
	fmt.Fprintf(o.Log, "installing %s\n", strings.Join(packages, " "))
	for _, argv := range [][]string{
		{"apt-get", "update", "-q"},
		append([]string{"apt-get", "install", "-y", "-q", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = o.Log, o.Log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install %s: %s: %w", strings.Join(packages, " "), strings.Join(argv[:2], " "), err)
		}
	}
	if err := lab.Preflight(o.Lab); err != nil {
		return fmt.Errorf("after the installation: %w", err)
	}
	return nil
}

// NotReadyError says what this machine lacks for the demo, and which commands
// of heddle work without what is missing.
type NotReadyError struct{ Missing *lab.MissingError }

func (e *NotReadyError) Error() string {
	text := e.Missing.Error()
	if packages := e.Missing.Packages(); len(packages) > 0 {
		text += "\nOn Debian, as root: heddle demo --hadoop --install, or: apt-get install " + strings.Join(packages, " ")
	}
	return text + `
What works without: heddle demo, everything on another cluster (heddle doctor, run and capture
with --cluster FILE; run needs Java for Hadoop's client) and everything offline
(heddle trace).`
}

func (e *NotReadyError) Unwrap() error { return e.Missing }
