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

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/internal/poll"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

// jobRecord is what a capture knows of a job whose history file is not read yet. The
// Session's mutex guards its fields.
type jobRecord struct {
	app   yarnclient.App // application as YARN last listed it; it stays the same after the job's end
	id    traces.JobID
	user  string
	lost  bool          // YARN has not listed the job for lostAfter, so how it ended is not known
	since traces.Time   // time from which YARN did not list the job; 0 if it was in the last list
	ended chan struct{} // channel that is closed when the job has ended or is lost
	// endedAt is the time when ended was closed.
	endedAt time.Time

	conf    yarn.Conf
	hosts   [][]string       // hosts that each map's split names, as the ApplicationMaster read them
	splits  []jobsplit.Split // file, offset and length of each map's split; nil if the splits are not ranges of files
	blocks  [][]traces.Block // ids of the HDFS blocks of each map's split, as the NameNode last reported them
	sampled samples

	last       yarnclient.Job   // progress of the job that the ApplicationMaster reported last
	lastListed yarnclient.Job   // progress of the job that the ApplicationMaster reported just before its tasks were last listed
	seen       map[string]stage // stage (waiting, running or ended) that was last recorded of each task and task attempt, by id

	history *jhist.Job
	file    string // name of the job's history file

	inputs []traces.Input // names and SHA-256 hashes of the files from which the job's events were made
}

// madeFrom adds a file's name and SHA-256 hash to j.inputs, the files from which the
// job's events are made.
func (j *jobRecord) madeFrom(name string, data []byte) {
	sum := sha256.Sum256(data)
	j.inputs = append(j.inputs, traces.Input{Name: string(j.id) + "/" + name, SHA256: hex.EncodeToString(sum[:])})
}

func newJobRecord(app yarnclient.App) *jobRecord {
	id := traces.JobID("job_" + strings.TrimPrefix(app.ID, "application_"))
	return &jobRecord{app: app, id: id, user: app.User, ended: make(chan struct{}), seen: map[string]stage{}}
}

func (j *jobRecord) summary() Job {
	job := Job{
		ID: j.id, Application: j.app.ID, Name: j.app.Name, Lost: j.lost,
		Diagnostics: j.app.Diagnostics, YarnMs: max(0, j.app.FinishedMs-j.app.StartedMs), History: j.file,
	}
	if j.app.Tags != "" {
		job.Tags = strings.Split(j.app.Tags, ",")
	}
	if j.app.Ended() {
		job.Outcome = outcomes[j.app.FinalStatus]
	}
	return job
}

// follow watches a job until it ends, and then writes its events. Meanwhile it copies
// the files in the job's staging directory, asks the NameNode where the input's blocks
// are, and asks the ApplicationMaster for progress.
func (s *Session) follow(j *jobRecord) {
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	go func() { // when the job ends, cancel its calls that are under way
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
	loops.Go(func() { s.askMaster(ctx, j) })
	loops.Wait()
	if s.life.Err() == nil {
		s.join(s.life, j)
	}
}

// keepStaged copies the files in the job's staging directory, because Hadoop deletes
// them at the job's end, and reads the job's settings and splits from them. The
// returned channel is closed when steering rewrites these files; a nil channel means
// that nobody will.
func (s *Session) keepStaged(ctx context.Context, j *jobRecord) (rewritten <-chan struct{}) {
	staged, rewritten, err := s.watch.Staged(ctx, j.user, string(j.id))
	if err != nil {
		s.warnf("%s: staged files not kept, so the trace does not tell which file each map read: %v", j.id, err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := keep(s.jobs, j.id, staged.Save); err != nil {
		s.warn(err.Error())
	}
	conf, err := staged.Conf()
	if err != nil {
		s.warn(fmt.Sprintf("%s: staged job.xml: %v", j.id, err))
	}
	metas, splits, err := staged.Splits()
	if err != nil && !errors.As(err, new(*jobsplit.UnknownClassError)) {
		s.warn(fmt.Sprintf("%s: staged splits: %v", j.id, err))
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

// sample asks the NameNode where the blocks of the job's input are, and records what
// has changed.
func (s *Session) sample(ctx context.Context, j *jobRecord) error {
	s.mu.Lock()
	splits := j.splits
	s.mu.Unlock()
	// With maxAge 0, Blocks makes a new call. Answers to other callers' calls are not
	// used, because they could arrive out of order.
	blocks, err := s.watch.Blocks(ctx, string(j.id), splits, 0)
	now := s.now()
	if err != nil {
		// A missing file gives no warning: jobs such as TeraGen name input files that
		// do not exist.
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
	// use the answer only if the splits were not rewritten while the NameNode was asked
	if len(splits) > 0 && len(j.splits) == len(splits) && &splits[0] == &j.splits[0] {
		j.blocks = ofMap
	}
	return nil
}

// launched says whether the job's ApplicationMaster ever ran. If it never ran, the
// job has no history file.
func (j *jobRecord) launched() bool { return j.app.AMHost != "" || j.app.LaunchedMs != 0 }

// join waits for the history file of a job that has ended, and then writes the job's
// events to a file of its own. If there is no history file, or ctx ends first, it
// writes what the ResourceManager knows of the job. The job is then dropped from
// memory.
func (s *Session) join(ctx context.Context, j *jobRecord) {
	var h yarn.History
	switch {
	case !j.gone():
		s.warnf("%s was %s when the capture ended, so it has no history yet", j.id, strings.ToLower(j.app.State))
	case !j.launched():
		s.warnf("%s ended before an ApplicationMaster ran, so it has no history", j.id)
	default:
		limit := j.historyPatience()
		patience, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		var last error
		err := poll.Until(patience, 200*time.Millisecond, func() (bool, error) {
			s.joining.Lock() // only one history file is in memory at a time
			defer s.joining.Unlock()
			if h, last = readHistory(patience, s.watch, j); last == nil {
				s.finish(j, h)
			}
			return last == nil, nil
		})
		// either finish has written the events, or the capture is being stopped: then Stop writes them
		if err == nil || ctx.Err() != nil && ctx == s.life {
			return
		}
		s.warnf("%s: no history after %v: %v", j.id, limit, last)
	}
	s.finish(j, h) // no history file was found, so the argument h is empty
}

// historyPatience returns how long to wait from now for the job's history file. The
// ApplicationMaster of a job that did not succeed may have been killed before it could
// write one, so the time since the job's end counts.
func (j *jobRecord) historyPatience() time.Duration {
	const least = 5 * time.Second
	if j.app.FinalStatus == "SUCCEEDED" {
		return historyPatience
	}
	return max(least, historyPatience-time.Since(j.endedAt).Round(time.Second))
}

// finish writes a job's events to a file of its own and drops the job from memory.
func (s *Session) finish(j *jobRecord, h yarn.History) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.take(h)
	if h.Job != nil && h.Job.BehindMs > 0 {
		s.warn(h.Job.Behind() + ": its times are moved")
	}
	events := s.joiner.events(j)
	if err := keepEvents(s.jobs, j, events); err != nil && s.failed == nil {
		s.failed = err
	}
	if err := keepHistory(s.jobs, j.id, h); err != nil {
		s.warn(err.Error())
	}
	for _, event := range events { // attempts still recorded as running get their end from the history file
		if e, ok := event.(*traces.AttemptFinished); ok && j.seen[e.Attempt.String()] == running {
			s.record(e)
		}
	}
	s.joiner.locations.drop(&j.sampled)
	s.joinedProgress.add(j)
	s.joined[j.app.ID] = j.summary()
	delete(s.alive, j.app.ID)
	s.watch.Forget(string(j.id))
}

// readHistory reads and parses a job's history file. It fails if the file does not
// exist (yet).
func readHistory(ctx context.Context, in watch.Files, j *jobRecord) (h yarn.History, err error) {
	if h, err = in.ReadHistory(ctx, j.user, string(j.id)); err == nil && h.Job == nil {
		h.Job, _, err = jhist.Parse(bytes.NewReader(h.Events))
	}
	return h, err
}

// take copies the content of a history file into the capture's record of the job. It
// changes nothing if there was no history file.
func (j *jobRecord) take(h yarn.History) {
	if h.Job == nil {
		return
	}
	j.history, j.file = h.Job, h.Name
	if h.Events != nil {
		j.madeFrom(h.Name, h.Events)
	}
	if j.conf == nil && h.ConfXML != nil {
		j.conf, _ = yarn.ParseConf(bytes.NewReader(h.ConfXML))
	}
}

// keepHistory writes a copy of a job's history file into the job's folder in the capture.
func keepHistory(folder *os.Root, job traces.JobID, h yarn.History) error {
	if h.Events == nil {
		return nil
	}
	return keep(folder, job, func(own *os.Root) error { return own.WriteFile(h.Name, h.Events, 0o600) })
}

// gone reports whether nothing more will happen in the job.
func (j *jobRecord) gone() bool { return j.lost || j.app.Ended() }

// lostAfter is how long YARN may leave a job out of its lists before a capture gives
// the job up. A ResourceManager that restarts without its state forgets all jobs. One
// that restarts with its state needs a moment to list them again.
const lostAfter = time.Minute

// historyPatience is how long a capture waits for a job's history file after the job's
// end. The file comes late: the ApplicationMaster writes it, then the history server
// moves it.
const historyPatience = 60 * time.Second

// inputPath returns the path of the file that a split is a part of, without scheme
// (such as "hdfs") and host.
func inputPath(split jobsplit.Split) string { return path.Clean(hdfs.BarePath(split.Path)) }
