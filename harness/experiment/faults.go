package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/harness/capture"
	"heddle/harness/change"
	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/yarnclient"
)

// speculating returns a workload whose jobs follow the experiment's rule for
// speculative attempts. Settings of the workload itself override this rule.
func speculating(w config.Workload, rule string) workload.Workload {
	if rule == "" {
		return workload.Of(w)
	}
	on := fmt.Sprint(rule == config.SpeculationHadoop)
	settings := map[string]string{"mapreduce.map.speculative": on, "mapreduce.reduce.speculative": on}
	maps.Copy(settings, w.Settings)
	w.Settings = settings
	return workload.Of(w)
}

// faultRun injects the faults of one trial on a cluster. It is nil for a trial
// without faults.
type faultRun struct {
	hold    *change.Hold
	session *capture.Session
	faults  config.Faults
	nodes   []yarnclient.Node
	log     *os.File
	stop    context.CancelCauseFunc
	ended   chan struct{} // closed when all faults of the trial were injected or injecting them has stopped
	failed  error         // why a fault could not be carried out; set before the channel ended is closed
}

// beginFaults starts to inject the trial's faults in the background. Their
// times count from the trial's first submission of a job. If a fault cannot be
// carried out, stop ends ctx, with which the trial's jobs run.
func (t *trialRun) beginFaults(ctx context.Context, stop context.CancelCauseFunc, session *capture.Session) (*faultRun, error) {
	e := t.options.Experiment
	if len(e.Faults) == 0 {
		return nil, nil
	}
	r := &faultRun{hold: t.hold, session: session, faults: slices.Clone(e.Faults), stop: stop, ended: make(chan struct{})}
	slices.SortStableFunc(r.faults, func(a, b config.Fault) int { return cmp.Compare(a.At, b.At) })
	var err error
	if r.nodes, err = t.cluster.RM.Nodes(ctx, "RUNNING"); err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	for i := range r.faults {
		on, err := r.faults[i].On(factsOf(r.nodes))
		if err != nil {
			return nil, err
		}
		if err := r.hold.NoteFaults(ctx, r.faults[i].What, on); err != nil {
			return nil, err
		}
	}
	if r.log, err = t.log("faults.log"); err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	go func() {
		defer close(r.ended)
		if r.failed = r.happen(ctx); r.failed != nil {
			stop(errors.New("a fault could not be carried out"))
		}
	}()
	return r, nil
}

// happen carries out the trial's faults one after the other, by their times. A
// fault affects all its nodes at the same time.
func (r *faultRun) happen(ctx context.Context) error {
	if poll.Until(ctx, 50*time.Millisecond, func() (bool, error) { return len(r.session.Jobs()) > 0, nil }) != nil {
		return nil // the jobs have ended before the first one was submitted
	}
	began := time.Now()
	for i := range r.faults {
		f := &r.faults[i]
		on, err := f.On(factsOf(r.nodes))
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // the jobs have ended, so inject no more faults
		case <-time.After(time.Until(began.Add(time.Duration(f.At)))):
		}
		var all errgroup.Group
		for _, n := range on {
			at := traces.Time(time.Since(r.session.Origin()))
			r.session.Add(&traces.Note{T: at, Text: fmt.Sprintf("fault: node %s %s", n, f.What)})
			if f.What == config.FaultSlow {
				r.session.Add(&traces.NodeSpeed{T: at, Node: n, Speed: f.Speed})
			}
			all.Go(func() error {
				said, err := r.hold.Fault(ctx, f.What, n, f.Speed)
				_, werr := fmt.Fprintf(r.log, "%s %s", time.Now().Format(time.RFC3339Nano), said)
				return errors.Join(err, werr)
			})
		}
		if err := all.Wait(); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	return nil
}

// The function end brings back to normal all nodes that the faults changed,
// even if ctx has ended. Unless ctx was cancelled, it waits until the nodes
// run.
func (r *faultRun) end(ctx context.Context) error {
	if r == nil {
		return nil
	}
	defer r.log.Close()
	r.stop(nil)
	<-r.ended
	if r.failed != nil {
		r.failed = fmt.Errorf("faults: %w", r.failed)
	}
	report, err := r.hold.Undo(ctx, change.NodeDown, change.NodeSlow)
	return errors.Join(r.failed, err, report.Err())
}
