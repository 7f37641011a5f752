package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"heddle/harness/capture"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/watch"
	"heddle/traces"
)

// CaptureOptions say how to capture jobs that heddle did not start: which jobs,
// and where to keep their trace.
type CaptureOptions struct {
	Cluster *config.Cluster
	// Root is the folder that contains the run folders. Name is the name of the
	// new run folder; by default it is the time.
	Root, Name string
	// Jobs are ids of YARN jobs that have ended. Their traces are made from the
	// job history. If Jobs is empty, jobs are captured while they run, until
	// ctx ends.
	Jobs []string
	// Count is the number of ended jobs after which a live capture ends; 0
	// means no limit.
	Count   int `flag:"count" text:"with --live: end when N jobs have ended" of:"N" min:"0"`
	Command []string
	// Started is called when a live capture is ready, so that jobs may be
	// submitted. Progress is called repeatedly with the state of the captured
	// jobs. Both may be nil.
	Started  func()
	Progress func(Step)
}

// captureTrial is the name of the only trial in the run folder that Capture
// makes.
const captureTrial = "capture"

// Captured contains the figures of the captured jobs, and warnings about the
// capture.
type Captured struct {
	Figures  *measure.Figures
	Warnings []string
}

// Capture makes a run folder with one trace, which contains jobs that heddle
// did not start.
func Capture(ctx context.Context, o CaptureOptions) (*runs.Run, Captured, error) {
	cluster, err := clients.To(o.Cluster, clients.Patience{})
	if err != nil {
		return nil, Captured{}, err
	}
	defer cluster.Close()
	if _, err := cluster.Answers(ctx); err != nil {
		return nil, Captured{}, fmt.Errorf("start capture: cluster %s: %w", o.Cluster.Name, err)
	}
	run, err := runs.New(o.Root, o.Name, captureTrial, runs.Manifest{Command: o.Command, Trials: []runs.TrialRecord{{Name: captureTrial}}})
	if err != nil {
		return nil, Captured{}, err
	}
	defer run.Close()
	result, err := captureInto(ctx, &o, cluster, run)
	return run, result, errors.Join(err, run.End(err))
}

func captureInto(ctx context.Context, o *CaptureOptions, cluster *clients.Clients, run *runs.Run) (Captured, error) {
	var captured Captured
	active, err := run.Begin(captureTrial)
	if err != nil {
		return captured, err
	}
	folder, err := active.Folder(".")
	if err != nil {
		return captured, errors.Join(err, active.Failed(err))
	}
	defer folder.Close()
	var result capture.Result
	if len(o.Jobs) > 0 {
		result, err = capture.Recover(ctx, watch.New(cluster, watch.HDFS(cluster)), o.Jobs, folder)
	} else {
		result, err = captureLive(ctx, o, cluster, folder)
	}
	captured.Warnings = result.Warnings
	if err == nil {
		figures := measure.New(result.Header).WithDigest()
		err = active.Write(results.TraceFile, func(out io.Writer) error { return result.Encode(out, figures.Add) })
		captured.Figures = figures.Figures()
	}
	if err == nil {
		err = result.Clean()
	}
	if err != nil {
		err = runs.Explain(active.Dir, 0, err)
		return captured, errors.Join(err, active.Failed(err))
	}
	return captured, active.Done()
}

// captureLive records jobs while they run, until ctx ends or Count jobs have
// ended.
func captureLive(ctx context.Context, o *CaptureOptions, cluster *clients.Clients, folder *os.Root) (capture.Result, error) {
	// The end of ctx ends only the start of the capture session and the wait
	// below. The session itself gets another context, so that after the end of
	// ctx it can still ask the cluster's daemons for the last facts.
	starting, cancelStart := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelStart()
	started := context.AfterFunc(ctx, cancelStart)
	live := &Live{}
	session, err := capture.Start(starting, watch.New(cluster, watch.HDFS(cluster)), capture.Options{
		Folder: folder, Seen: live.Add,
		Progress: func(p capture.Progress) {
			if o.Progress != nil {
				o.Progress(Step{Trial: captureTrial, Number: 1, Trials: 1, Doing: "capture", Jobs: &p, Live: live})
			}
		},
		Warned: func(text string) {
			if o.Progress != nil {
				o.Progress(Step{Trial: captureTrial, Number: 1, Trials: 1, Doing: "warning", Text: text})
			}
		},
	})
	if err != nil || !started() {
		return capture.Result{}, errors.Join(err, context.Cause(ctx))
	}
	if o.Started != nil {
		o.Started()
	}
	_ = poll.Until(ctx, 200*time.Millisecond, func() (bool, error) { // until enough jobs have ended, or the user wants no more
		ended := 0
		for _, j := range session.Jobs() {
			if j.Outcome != traces.Unfinished || j.Lost {
				ended++
			}
		}
		return o.Count > 0 && ended >= o.Count, nil
	})
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	return session.Stop(ending)
}
