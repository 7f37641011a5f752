// Package submit submits MapReduce jobs to YARN without a JVM. It writes the
// files that Hadoop's own client writes to a job's staging folder in HDFS, and
// starts the job's ApplicationMaster through the ResourceManager's REST
// interface. Mappers and reducers are commands that Hadoop Streaming runs. A
// job differs from one that the command hadoop jar submits only in what
// TestSameAsHadoopsClient lists.
//
// The package computes no splits: the caller says which part of which file
// each map reads, and on which hosts it is. It knows no trials, traces or labels.
// It refuses settings that need files which it does not stage; see unsupported.
package submit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/harness/internal/poll"
	"heddle/yarnclient"
)

// Job describes a Streaming job.
type Job struct {
	Name string
	// Settings are Hadoop properties of the job, such as mapreduce.job.queuename,
	// .priority, .tags and node label expressions. They override those of the
	// cluster's client configuration.
	Settings map[string]string
	// Splits are the parts of files that the maps read, in the order of the
	// maps. Hosts[i] are the hosts on which map i should run; it may be shorter
	// than Splits.
	Splits []jobsplit.Split
	Hosts  [][]string
	// Reduces is the number of reduces; 0 means that maps write the output.
	Reduces int
	// Mapper and Reducer are commands with their arguments. Each reads records
	// as lines on its standard input and writes records as lines. A command may
	// be the Link of one of Files, as in "./replay map".
	Mapper, Reducer string
	// Files are files in HDFS that each task finds in its working folder.
	Files []File
	// Output is the HDFS folder of the job's output, which must not exist yet.
	// Empty means that what the last commands write is dropped.
	Output string
}

// File is a file in HDFS that tasks find in their working folder.
type File struct {
	Path string // absolute path in HDFS, such as one from Submitter.Share
	Link string // name in the working folder
}

// Submitted is a job that YARN's scheduler has accepted.
type Submitted struct {
	App    string // YARN's id of the application
	Folder string // the job's staging folder in HDFS, which its ApplicationMaster removes at the job's end
}

// RefusedError means that YARN did not accept an application, such as one for an
// unknown queue or of a user without access to the queue. State is the
// application's state, or REFUSED if the ResourceManager did not even store it.
type RefusedError struct {
	App, State, Queue string
	Reason            string // what YARN says; may be empty
}

// FailedError means that an application ended, and not as SUCCEEDED: its job
// failed, somebody killed it, or its ApplicationMaster did not answer any more.
type FailedError struct {
	App, Status string
	Reason      string // what YARN says; may be empty
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("application %s ended as %s: %s; its tasks' logs say why: yarn logs -applicationId %s", e.App, e.Status, e.Reason,
		e.App)
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("YARN refused application %s for queue %q (%s): %s", e.App, e.Queue, e.State, e.Reason)
}

// parallel limits the jobs that one Submitter submits at the same time. More
// make no difference to the ResourceManager, which stores one application after
// another, and each takes connections to DataNodes.
const parallel = 16

// patience is how long a request is repeated while no ResourceManager is
// active. tidyUp is how long cleaning up after a failure or an interrupt may take.
const (
	patience = 30 * time.Second
	tidyUp   = 30 * time.Second
)

// Submitter submits jobs to one cluster as the user of the cluster file. Many
// goroutines may use it at the same time.
type Submitter struct {
	rm    *yarnclient.RM
	files files
	user  string
	site  yarn.Conf // the cluster's client configuration
	opens bool      // whether the cluster's Hadoop knows the placeholder <ADD_OPENS>
	jar   cacheFile
	// token gets a job's proof to HDFS that it acts for the user, for the renewer that
	// it is called with. It is nil on a cluster without Kerberos.
	token func(ctx context.Context, renewer string) (service, token string, err error)

	slots   chan struct{} // holds a value for each submission on its way
	staging sync.Mutex    // held while the user's staging folder is checked
	ready   bool          // whether the user's staging folder exists
	sharing sync.Mutex    // held while a file is shared
	read    []hdfs.File   // shared files whose content is known to be right
}

// New returns a Submitter for a cluster. It reads the client configuration in
// the folder that the cluster file names, and shares the Streaming jar of the
// cluster's Hadoop; see Submitter.Share.
func New(ctx context.Context, c *clients.Clients) (*Submitter, error) {
	site, err := readSite(c.Config.Hadoop.Conf)
	if err != nil {
		return nil, err
	}
	jar, err := streamingJar(c.Config.Hadoop.Home)
	if err != nil {
		return nil, err
	}
	info, err := c.RM.Active(ctx)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	s := newSubmitter(c.RM, store{c.HDFS}, c.Config.User, site)
	s.opens = knowsAddOpens(info.HadoopVersion)
	if c.Config.Kerberos != nil {
		s.token = c.HDFS.DelegationToken
	}
	if s.jar, err = s.share(ctx, jar); err != nil {
		return nil, err
	}
	return s, nil
}

func newSubmitter(rm *yarnclient.RM, f files, user string, site yarn.Conf) *Submitter {
	return &Submitter{rm: rm, files: f, user: user, site: site, slots: make(chan struct{}, parallel)}
}

// Submit stages a job's files, submits the job and waits until YARN's scheduler
// has accepted it. After an error nothing of the job is left: no files, and no
// application that runs. If even that failed, the error says what is left.
func (s *Submitter) Submit(ctx context.Context, j Job) (Submitted, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return Submitted{}, fmt.Errorf("submit %s: %w", j.Name, context.Cause(ctx))
	}
	done, err := s.submit(ctx, j)
	if err != nil {
		return Submitted{}, fmt.Errorf("submit %s: %w", j.Name, err)
	}
	return done, nil
}

func (s *Submitter) submit(ctx context.Context, j Job) (Submitted, error) {
	if err := s.check(j); err != nil {
		return Submitted{}, err
	}
	if err := s.haveStaging(ctx); err != nil {
		return Submitted{}, err
	}
	var app yarnclient.NewApp
	err := s.repeat(ctx, func() (err error) { app, err = s.rm.NewApplication(ctx); return err })
	if err != nil {
		return Submitted{}, err
	}
	id := "job_" + strings.TrimPrefix(app.ID, "application_")
	done := Submitted{App: app.ID, Folder: yarn.StagingFolder(stagingRoot(s.site), s.user, id)}
	staged, err := s.stage(ctx, j, done)
	if err != nil {
		return Submitted{}, s.undo(ctx, done, false, err)
	}
	master, err := s.master(j, done, staged)
	if err != nil {
		return Submitted{}, s.undo(ctx, done, false, err)
	}
	if master.Tokens, err = s.tokens(ctx); err != nil {
		return Submitted{}, s.undo(ctx, done, false, err)
	}
	if err := s.start(ctx, master); err != nil {
		return Submitted{}, s.undo(ctx, done, true, err)
	}
	return done, nil
}

// start submits the application and waits until the scheduler has accepted it.
// An application that the ResourceManager has lost by a failover is submitted
// again, as Hadoop's client does.
func (s *Submitter) start(ctx context.Context, master yarnclient.Submission) error {
	for attempt := 0; ; attempt++ {
		if err := s.repeat(ctx, func() error { return s.rm.Submit(ctx, master) }); err != nil {
			return refused(master, err)
		}
		err := s.accepted(ctx, master)
		if !errors.Is(err, yarnclient.ErrNotFound) || attempt == 2 {
			return err
		}
	}
}

// refused returns a RefusedError if err is the ResourceManager's refusal of an
// application, as of one that asks for more than any node has, and else err.
func refused(master yarnclient.Submission, err error) error {
	var said *yarnclient.RemoteError
	if !errors.As(err, &said) || said.Status != http.StatusBadRequest && said.Status != http.StatusForbidden {
		return err
	}
	return &RefusedError{App: master.ID, State: "REFUSED", Queue: master.Queue, Reason: err.Error()}
}

func (s *Submitter) accepted(ctx context.Context, master yarnclient.Submission) error {
	for attempt := 0; ; attempt++ {
		var state string
		err := s.repeat(ctx, func() (err error) { state, err = s.rm.AppState(ctx, master.ID); return err })
		if err != nil {
			return err
		}
		switch state {
		case "NEW", "NEW_SAVING", "SUBMITTED", "FINAL_SAVING", "KILLING": // the last two are soon final, and then it is known why
			if err := poll.Wait(ctx, 10*time.Millisecond<<min(attempt, 5)); err != nil {
				return err
			}
		case "FAILED", "KILLED":
			e := &RefusedError{App: master.ID, State: state, Queue: master.Queue}
			if app, err := s.rm.App(ctx, master.ID); err == nil {
				e.Reason = oneLine(app.Diagnostics)
			}
			return e
		default:
			return nil
		}
	}
}

// pollInterval is how often Wait asks whether a job has ended.
const pollInterval = 500 * time.Millisecond

// Wait waits for a job's end. If the job did not succeed, the error is a
// FailedError. If ctx ends
// first, it kills the job. A ResourceManager that is away for a while, as in a
// failover, is waited for.
func (s *Submitter) Wait(ctx context.Context, job Submitted) error {
	for {
		if err := poll.Wait(ctx, pollInterval); err != nil {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyUp)
			defer cancel()
			return errors.Join(err, s.Kill(clean, job))
		}
		var app yarnclient.App
		err := s.repeat(ctx, func() (err error) { app, err = s.rm.App(ctx, job.App); return err })
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("wait for %s: %w", job.App, err)
		case err != nil || !app.Ended():
		case app.FinalStatus != "SUCCEEDED":
			return &FailedError{App: job.App, Status: app.FinalStatus, Reason: oneLine(app.Diagnostics)}
		default:
			return nil
		}
	}
}

// Kill kills a job and removes its staging folder, which nobody else removes
// if the job's ApplicationMaster has not started. Killing a job that has ended
// only removes the folder.
func (s *Submitter) Kill(ctx context.Context, job Submitted) error {
	if err := s.kill(ctx, job.App); err != nil {
		return fmt.Errorf("kill %s: %w", job.App, err)
	}
	if err := s.files.RemoveAll(ctx, job.Folder); err != nil {
		return fmt.Errorf("kill %s: it is killed; remove its staging folder: %w", job.App, err)
	}
	return nil
}

// kill kills an application, if the ResourceManager has it, and waits until it
// has ended.
func (s *Submitter) kill(ctx context.Context, app string) error {
	err := s.repeat(ctx, func() error { return s.rm.KillApp(ctx, app) })
	for attempt := 0; err == nil; attempt++ {
		var got yarnclient.App
		err = s.repeat(ctx, func() (err error) { got, err = s.rm.App(ctx, app); return err })
		if err == nil && got.Ended() {
			return nil
		}
		if err == nil {
			err = poll.Wait(ctx, 20*time.Millisecond<<min(attempt, 5))
		}
	}
	if errors.Is(err, yarnclient.ErrNotFound) {
		return nil
	}
	return err
}

// undo removes what a failed submission has left, even if ctx has ended. sent
// says that the ResourceManager may have the application. It returns the error
// why, with what could not be undone.
func (s *Submitter) undo(ctx context.Context, job Submitted, sent bool, why error) error {
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyUp)
	defer cancel()
	if sent {
		if err := s.kill(clean, job.App); err != nil {
			why = fmt.Errorf("%w; application %s may still run, kill it: %w", why, job.App, err)
		}
	}
	// A NameNode in safe mode refuses even to remove what is not there.
	if _, err := s.files.Stat(clean, job.Folder); errors.Is(err, fs.ErrNotExist) {
		return why
	}
	if err := s.files.RemoveAll(clean, job.Folder); err != nil {
		why = fmt.Errorf("%w; hdfs %s is left, remove it: %w", why, job.Folder, err)
	}
	return why
}

// repeat makes a request until it succeeds, fails for good, or no
// ResourceManager has answered for the time patience. Each request that this
// package makes may be repeated: an id that is reserved twice costs nothing, and
// a ResourceManager starts one application for one id.
func (s *Submitter) repeat(ctx context.Context, request func() error) error {
	giveUp := time.Now().Add(patience)
	for attempt := 0; ; attempt++ {
		err := request()
		if errors.Is(err, yarnclient.ErrNotFound) { // while it starts, a ResourceManager denies to have any application
			if _, inactive := s.rm.Active(ctx); inactive != nil {
				err = inactive
			} else {
				err = request()
			}
		}
		later := errors.Is(err, yarnclient.ErrUnreachable) || errors.Is(err, yarnclient.ErrStandby) ||
			errors.Is(err, yarnclient.ErrUnavailable)
		if err == nil || !later || ctx.Err() != nil || time.Now().After(giveUp) {
			return err
		}
		if poll.Wait(ctx, 100*time.Millisecond<<min(attempt, 4)) != nil {
			return err
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// shuffleSecret returns a new secret key with which reduces fetch the output of
// maps.
func shuffleSecret() []byte {
	key := make([]byte, 8)
	rand.Read(key)
	return key
}
