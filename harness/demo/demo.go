// Package demo is the shortest way from a bare machine to a result: it brings a
// lab up, runs a workload, captures it, says what it found and takes the lab
// down. What it leaves is a run folder.
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
	"heddle/harness/experiment"
	"heddle/harness/lab"
	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/traces/tracefile"
)

// Options of a demo. Log is required.
type Options struct {
	// Install puts in what the machine lacks, with apt-get.
	Install bool
	// Keep leaves the lab up.
	Keep bool
	// Lab describes the cluster.
	Lab lab.Config
	// Root is the folder of run folders.
	Root string
	// Command is the command line, for the manifest.
	Command []string
	// Log takes what is being done.
	Log io.Writer
	// Progress hears of the run's steps.
	Progress func(experiment.Step)
}

// source is the experiment of the demo. It runs in under a minute on 2 cores,
// reads every block once, and its input is larger than one HDFS block a map.
const source = `# The experiment that 'heddle demo' runs.
name: demo
workloads:
  - name: wordcount
    size: 64MiB
    maps: 8
    reduces: 2
models: [yarn]
repeats: 1
`

// Findings are what a demo found.
type Findings struct {
	Folder string  `json:"folder"` // of the run
	Trials []Trial `json:"trials"`
}

// Trial is what one trial's trace holds.
type Trial struct {
	Trial string `json:"trial"`
	*measure.Figures
}

// Run does the demo. The lab comes down also when something fails or ctx ends.
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
		Command: o.Command, Progress: o.Progress,
		Settings: map[string]string{"classDataSharing": fmt.Sprint(l.ClassDataSharing())},
	})
}

// findings reads what the run's traces hold.
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

// WriteText prints the findings for people; the run folder's path is the last line.
func (f *Findings) WriteText(out io.Writer) error {
	for _, t := range f.Trials {
		fmt.Fprintf(out, "%s\n\n", t.Trial)
		if err := t.Figures.WriteText(out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nrun folder: %s\n", f.Folder)
	return err
}

// prepare makes sure that the machine can run a lab.
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

// NotReadyError says what this machine lacks for the demo, and what can be done
// without it.
type NotReadyError struct{ Missing *lab.MissingError }

func (e *NotReadyError) Error() string {
	text := e.Missing.Error()
	if packages := e.Missing.Packages(); len(packages) > 0 {
		text += "\nOn Debian, as root: heddle demo --install, or: apt-get install " + strings.Join(packages, " ")
	}
	return text + `
What works without: everything on another cluster (heddle doctor, run and capture
with --cluster FILE; run needs Java for Hadoop's client) and everything offline
(heddle trace).`
}

func (e *NotReadyError) Unwrap() error { return e.Missing }
