package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"heddle/harness/capture"
	"heddle/harness/change"
	"heddle/harness/config"
	"heddle/harness/require"
	"heddle/harness/results"
	"heddle/harness/sched"
	"heddle/harness/steer"
	"heddle/harness/steer/drive"
	"heddle/harness/watch"
	"heddle/harness/workload"
	"heddle/hibench"
	"heddle/traces"
)

// observationsFile is the name of a file in a trial's folder logs. It records
// what heddle observed of the cluster while a scheduler model decided.
const observationsFile = "observations.jsonl.zst"

// steering lets a scheduler model decide on the cluster while a trial's jobs
// run. The model may decide on which nodes tasks run, which hosts the
// ApplicationMasters see for each split, or both. Steering also carries out the
// experiment's timetable of the nodes' capacity. If steering is nil, the
// cluster's own scheduler decides, the splits stay as the client submitted
// them, and so do the sizes of nodes.
type steering struct {
	hold   *change.Hold
	end    context.CancelFunc
	driver *drive.Driver
	model  sched.Model
	state  *stateWriter
	since  string      // name of the trial with whose learned state the model began
	open   []io.Closer // files of the trial, and the model if a program of its own decides
}

// steer lets the trial's scheduler model decide. This ends when the right to change
// the cluster or ctx ends.
func (t *trialRun) steer(ctx context.Context, watcher *watch.Watcher, session *capture.Session) (*steering, error) {
	b := t.options.Experiment.Under(t.plan.Model)
	if b.Actuator == config.ActuatorNone && b.Splits == config.SplitsAsSubmitted && !b.Capacity.Given() {
		return nil, nil
	}
	model, err := t.plan.Model.Scheduler(t.seed())
	if err != nil {
		return nil, err
	}
	since, err := t.goOn(model)
	if err != nil {
		return nil, err
	}
	s := &steering{hold: t.hold, model: model, since: since}
	file, err := t.log("steering.log")
	if err != nil {
		return nil, fmt.Errorf("steer: %w", err)
	}
	s.open = append(s.open, file)
	log := slog.New(slog.NewTextHandler(file, nil))
	s.state = &stateWriter{trial: t.trial, log: log}
	changing, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.hold.Context(), func() { cancel(context.Cause(s.hold.Context())) })
	s.end = func() { stop(); cancel(nil) }
	err = t.noteSizes(ctx)
	if process, ok := sched.As[sched.Process](model); err == nil && ok {
		s.open = append(s.open, process)
		err = process.Start()
	}
	var recorder *drive.Recorder
	if err == nil && t.options.RecordObservations {
		if file, err = t.log(observationsFile); err == nil {
			s.open = append(s.open, file)
			recorder, err = drive.NewRecorder(file, t.plan.Model, t.seed())
		}
	}
	var keepState func(sched.Model)
	if t.keepsState() {
		keepState = s.state.keep
	}
	if err == nil {
		s.driver, err = drive.Start(changing, drive.Options{
			Watch: watcher, Tags: t.tags, Changes: s.hold, Record: session.Add, Recorder: recorder, Log: log,
			Core: steer.Options{
				Model: model, Actuator: b.Actuator, Splits: b.Splits, Capacity: b.Capacity,
				Seed: t.seed(), Reasons: t.options.Experiment.Reasons, Origin: session.Origin(),
				Setup: steer.Setup{Keep: t.options.Experiment.KeepNodes, MapSlots: int32(b.MapSlots), ReduceSlots: int32(b.ReduceSlots)},
			},
			KeepState: keepState,
			// The file is kept as the client submitted it. The ApplicationMaster may have
			// read another version of it, in which heddle had changed the hosts, and which
			// is in the trial's folder too.
			KeepSplits: func(job traces.JobID, submitted []byte) error {
				return session.Keep(job, "job.splitmetainfo.submitted", submitted)
			},
			KeepTraining: func(job traces.JobID, training *sched.Training) error {
				return session.Keep(job, "training.csv", episodes(training))
			},
		})
	}
	if err != nil {
		_, rerr := s.release(ctx)
		return nil, errors.Join(err, rerr)
	}
	return s, nil
}

// noteSizes notes the sizes of all workers that the timetable of their capacity may
// change, so that no change waits for the journal.
func (t *trialRun) noteSizes(ctx context.Context) error {
	if !t.options.Experiment.Capacity.Given() {
		return nil
	}
	nodes, err := t.cluster.RM.Nodes(ctx, "RUNNING")
	if err != nil {
		return err
	}
	var ids []string
	for _, n := range nodes {
		if label := n.Label(); (label == "" || require.InPool(label)) && !slices.Contains(t.options.Experiment.KeepNodes, n.Host) {
			ids = append(ids, n.ID)
		}
	}
	return t.hold.NoteSizes(ctx, ids...)
}

// episodes returns a table with one row for each episode of a model's
// training for a job, to show how the training converged. With more than 1000
// episodes, the table has only every second, third or n-th of them, and the
// last.
func episodes(t *sched.Training) []byte {
	const most = 1000
	var b bytes.Buffer
	fmt.Fprintln(&b, "episode,return,localRate,cacheRate")
	every := (len(t.Episodes) + most - 1) / most
	for i, e := range t.Episodes {
		if last := i == len(t.Episodes)-1; last || (i+1)%every == 0 {
			fmt.Fprintf(&b, "%d,%.6g,%.6g,%.6g\n", i+1, e.Return, e.LocalRate, e.CacheRate)
		}
	}
	return b.Bytes()
}

// stop ends the decisions of the scheduler model and undoes all changes to the
// cluster, even if ctx has ended. The result stranded lists applications that
// wait for a node label which no node has any more. The trial's result gets the model's
// own figures, if it has any, and with whose learned state it began.
func (s *steering) stop(ctx context.Context, result *results.Trial) (stranded []string, err error) {
	if s == nil {
		return nil, nil
	}
	err = s.driver.Stop()
	err = errors.Join(err, s.state.end(s.model))
	stranded, rerr := s.release(ctx)
	result.StateOf = s.since
	if noter, ok := sched.As[sched.Noter](s.model); ok {
		result.Notes = noter.Notes()
	}
	return stranded, errors.Join(err, rerr)
}

func (s *steering) release(ctx context.Context) (stranded []string, err error) {
	defer s.end()
	report, err := s.hold.Undo(ctx, change.Steering...)
	err = errors.Join(err, report.Err())
	for _, c := range s.open {
		err = errors.Join(err, c.Close())
	}
	return report.Stranded, err
}

// run runs the trial's submission with index i, with the Hadoop settings that
// the scheduler model's decisions need to take effect. The result waited is how
// long the submission waited until node labels were free for it.
func (s *steering) run(ctx context.Context, runner workload.Live, i int, tag string, what *workload.Submission) (ran workload.Ran,
	waited time.Duration, err error,
) {
	if s == nil {
		ran, err = runner.Run(ctx, i, tag)
		return ran, 0, err
	}
	began := time.Now()
	submission, err := s.driver.Submission(ctx, tag, what.Pool, what.Terms)
	if err != nil {
		return ran, 0, err
	}
	waited = time.Since(began)
	defer submission.Release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // if no scheduler model decides any more, stop the job: otherwise it would wait for containers for ever
		select {
		case <-s.driver.Done():
			cancel(fmt.Errorf("steering has ended: %w", s.driver.Stop()))
		case <-ctx.Done():
		}
	}()
	ran, err = runner.Run(ctx, i, tag, hibench.Settings(submission.Settings())...)
	return ran, waited, cause(ctx, err)
}
