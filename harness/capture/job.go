package capture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

// jobRecord is what is known of one job until its history was joined. Its fields
// are the Session's mutex's.
type jobRecord struct {
	app   yarnclient.App // does not change once over
	id    traces.JobID
	user  string
	over  bool
	ended chan struct{} // closed when over

	conf    yarn.Conf
	hosts   [][]string       // by map, as the ApplicationMaster read them
	splits  []jobsplit.Split // by map; nil where they are no files
	blocks  [][]traces.Block // by map, as last sampled
	sampled samples

	last yarnclient.Job   // as the ApplicationMaster last said
	told yarnclient.Job   // last, when its tasks were asked for
	rest time.Time        // until when they are not: asking takes a fifth of the time at most
	seen map[string]stage // tasks and attempts by id

	history *jhist.Job
	file    string // name of the history file

	inputs []traces.Input // the files that the job's events are made from
}

// madeFrom notes a file that the job's events are made from.
func (j *jobRecord) madeFrom(name string, data []byte) {
	sum := sha256.Sum256(data)
	j.inputs = append(j.inputs, traces.Input{Name: string(j.id) + "/" + name, SHA256: hex.EncodeToString(sum[:])})
}

func newJobRecord(app yarnclient.App) *jobRecord {
	id := traces.JobID("job_" + strings.TrimPrefix(app.ID, "application_"))
	return &jobRecord{app: app, id: id, user: app.User, ended: make(chan struct{}), seen: map[string]stage{}}
}

func (j *jobRecord) summary() Job {
	job := Job{ID: j.id, Application: j.app.ID, Name: j.app.Name, Diagnostics: j.app.Diagnostics, History: j.file}
	if j.app.Tags != "" {
		job.Tags = strings.Split(j.app.Tags, ",")
	}
	if j.app.Ended() {
		job.Outcome = outcomes[j.app.FinalStatus]
	}
	return job
}

// follow watches one job until it ends: it keeps the files that its client
// staged, samples where its input is, and asks its ApplicationMaster how far it
// is. Then it joins the job's history.
func (s *Session) follow(j *jobRecord) {
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	go func() { // the job's end ends the calls under way
		select {
		case <-j.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	rewritten := s.keepStaged(ctx, j)
	var loops sync.WaitGroup
	loops.Go(func() {
		for rewritten != nil {
			select {
			case <-rewritten:
				rewritten = s.keepStaged(ctx, j)
			case <-ctx.Done():
				return
			}
		}
	})
	s.mu.Lock()
	files := j.splits != nil
	s.record(s.joiner.submitted(j))
	s.mu.Unlock()
	if files {
		loops.Go(func() {
			every(ctx, s.options.EveryLocations, func(ctx context.Context) error { return s.sample(ctx, j) })
		})
	}
	loops.Go(func() {
		every(ctx, max(s.options.EveryRM, masterInterval), func(ctx context.Context) error { return s.askMaster(ctx, j) })
	})
	loops.Wait()
	if s.life.Err() == nil {
		s.join(s.life, j)
	}
}

// keepStaged copies the files that vanish with the job's end, and takes from them
// what they tell. The channel is closed when they are others; nil never is.
func (s *Session) keepStaged(ctx context.Context, j *jobRecord) (rewritten <-chan struct{}) {
	staged, rewritten, err := s.watch.Staged(ctx, j.user, string(j.id))
	if err != nil {
		s.warnf("%s: staged files not kept, so its splits are not tied to files: %v", j.id, err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := Keep(s.jobs, j.id, staged.Save); err != nil {
		s.warn(err.Error())
	}
	conf, err := staged.Conf()
	if err != nil {
		s.warn(fmt.Sprintf("%s: job.xml: %v", j.id, err))
	}
	metas, splits, err := staged.Splits()
	if err != nil && !errors.As(err, new(*jobsplit.UnknownClassError)) {
		s.warn(fmt.Sprintf("%s: %v", j.id, err))
	}
	j.conf, j.splits, j.blocks, j.hosts, j.inputs = conf, splits, nil, nil, nil
	j.madeFrom("job.xml", staged.JobXML)
	j.madeFrom("job.split", staged.JobSplit)
	j.madeFrom("job.splitmetainfo", staged.SplitMetaInfo)
	for _, m := range metas {
		j.hosts = append(j.hosts, m.Hosts)
	}
	return rewritten
}

// sample asks where the job's input blocks and their cached copies are.
func (s *Session) sample(ctx context.Context, j *jobRecord) error {
	s.mu.Lock()
	splits := j.splits
	s.mu.Unlock()
	// Of one that is already under way, the job's samples would be out of order.
	blocks, err := s.watch.Blocks(ctx, string(j.id), splits, 0)
	now := s.now()
	if err != nil {
		// Generators name files that do not exist; there is nothing to locate.
		if !errors.Is(err, fs.ErrNotExist) {
			return s.pollFailed(ctx, string(j.id)+": block locations", err)
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j.sampled.at = append(j.sampled.at, now)
	ofMap := make([][]traces.Block, len(splits))
	for i, split := range splits {
		of := blocks[split]
		s.record(s.joiner.locations.add(&j.sampled, split.Path, of)...)
		for _, b := range of {
			ofMap[i] = append(ofMap[i], traces.Block(b.ID))
		}
	}
	if len(splits) > 0 && len(j.splits) == len(splits) && &splits[0] == &j.splits[0] { // not rewritten meanwhile
		j.blocks = ofMap
	}
	return nil
}

// launched says whether an ApplicationMaster ever ran, so that there is a
// history to wait for.
func (j *jobRecord) launched() bool { return j.app.AMHost != "" || j.app.LaunchedMs != 0 }

// join waits for the history of a job that has ended and puts its events into the
// job's own file; nothing of the job is kept in memory then. Where ctx ends, or
// there is no history, that is what the ResourceManager told.
func (s *Session) join(ctx context.Context, j *jobRecord) {
	var h history
	switch {
	case !j.over:
		s.warnf("%s was %s when the capture ended, so it has no history yet", j.id, strings.ToLower(j.app.State))
	case !j.launched():
		s.warnf("%s ended before an ApplicationMaster ran, so it has no history", j.id)
	default:
		patience, cancel := context.WithTimeout(ctx, historyPatience)
		defer cancel()
		var last error
		err := until(patience, 200*time.Millisecond, func() (bool, error) {
			s.joining.Lock() // one history at a time is in memory
			defer s.joining.Unlock()
			if h, last = readHistory(patience, s.watch, j); last == nil {
				s.finish(j, h)
			}
			return last == nil, nil
		})
		if err == nil || ctx.Err() != nil && ctx == s.life { // Stop then goes on
			return
		}
		s.warnf("%s: no history after %v: %v", j.id, historyPatience, last)
	}
	s.finish(j, h) // which may be cut off
}

// finish puts what is known of a job into its own file, and forgets it.
func (s *Session) finish(j *jobRecord, h history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.take(h)
	events := s.joiner.events(j)
	if err := keepEvents(s.jobs, j, events); err != nil && s.failed == nil {
		s.failed = err
	}
	if err := h.keep(s.jobs, j.id); err != nil {
		s.warn(err.Error())
	}
	for _, event := range events { // no attempt stays open in the part
		if e, ok := event.(*traces.AttemptFinished); ok && j.seen[e.Attempt.String()] == running {
			s.record(e)
		}
	}
	s.joiner.locations.drop(&j.sampled)
	s.past.add(j)
	s.over[j.app.ID] = j.summary()
	delete(s.alive, j.app.ID)
	s.watch.Forget(string(j.id))
}

// history is a job's, read.
type history struct {
	yarn.History
	job *jhist.Job
}

// readHistory reads a job's history, if it is there yet.
func readHistory(ctx context.Context, in watch.Files, j *jobRecord) (h history, err error) {
	if h.History, err = in.ReadHistory(ctx, j.user, string(j.id)); err == nil {
		h.job, _, err = jhist.Parse(bytes.NewReader(h.Events))
	}
	return h, err
}

// take notes what a history says; the zero one is none.
func (j *jobRecord) take(h history) {
	if h.job == nil {
		return
	}
	j.history, j.file = h.job, h.Name
	j.madeFrom(h.Name, h.Events)
	if j.conf == nil && h.ConfXML != nil {
		j.conf, _ = yarn.ParseConf(bytes.NewReader(h.ConfXML))
	}
}

// keep keeps the file beside the events that were made of it.
func (h history) keep(folder *os.Root, job traces.JobID) error {
	if h.job == nil {
		return nil
	}
	return Keep(folder, job, func(own *os.Root) error { return own.WriteFile(h.Name, h.Events, 0o600) })
}

// historyPatience is how long a job's history may take to appear after its
// end: the ApplicationMaster writes it, then the history server moves it.
const historyPatience = 60 * time.Second

// inputPath is a split's file without the file system's name.
func inputPath(split jobsplit.Split) string { return path.Clean(yarn.WithoutScheme(split.Path)) }
