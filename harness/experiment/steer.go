package experiment

import (
	"context"
	"errors"
	"fmt"

	"heddle/harness/capture"
	"heddle/harness/config"
	"heddle/harness/hold"
	"heddle/harness/live"
	"heddle/harness/sched"
	"heddle/hibench"
)

// steering is a model's hand on the cluster while a trial's jobs run. Nil is
// none: the cluster's own scheduler decides.
type steering struct {
	cluster *hold.Cluster
	hold    *hold.Hold
	driver  *live.Driver
}

// steer takes hold of the cluster for the trial's model. Steering ends with the
// hold, and with ctx.
func (t *trialRun) steer(ctx context.Context, session *capture.Session) (*steering, error) {
	if t.plan.Model == config.ModelYARN || t.options.Experiment.Actuator != config.ActuatorLabels {
		return nil, nil
	}
	model, err := sched.New(t.plan.Model, nil)
	if err != nil {
		return nil, err
	}
	s := &steering{}
	if s.cluster, err = hold.Connect(t.options.Cluster); err != nil {
		return nil, err
	}
	s.hold, err = hold.Take(ctx, s.cluster, hold.Options{Purpose: "heddle run, trial " + t.plan.Name, Folder: t.folder.Dir})
	if err != nil {
		s.cluster.Close()
		return nil, err
	}
	s.driver, err = live.Start(s.hold.Context(), live.Options{
		Cluster: t.cluster, Model: model, Changes: s.hold, Start: session.Origin(), Record: session.Add,
	})
	if err != nil {
		return nil, errors.Join(err, s.release(ctx))
	}
	return s, nil
}

// stop ends steering and puts the cluster back as it was, also after ctx has
// ended.
func (s *steering) stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	err := s.driver.Stop()
	return errors.Join(err, s.release(ctx))
}

func (s *steering) release(ctx context.Context) error {
	defer s.cluster.Close()
	report, err := s.hold.Release(context.WithoutCancel(ctx))
	return errors.Join(err, report.Err())
}

// run runs one job of the trial with the settings that its placement needs.
func (s *steering) run(ctx context.Context, runner *hibench.Runner, tag string) (hibench.Result, error) {
	if s == nil {
		return runner.Run(ctx, tag)
	}
	submission, err := s.driver.Submission(ctx, tag)
	if err != nil {
		return hibench.Result{}, err
	}
	defer submission.Release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // a job that nobody steers any more would wait for ever
		select {
		case <-s.driver.Done():
			cancel(fmt.Errorf("steering has ended: %w", s.driver.Stop()))
		case <-ctx.Done():
		}
	}()
	result, err := runner.Run(ctx, tag, hibench.Settings(submission.Settings())...)
	return result, cause(ctx, err)
}
