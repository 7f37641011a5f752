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
	"heddle/harness/clients"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

// jobRecord is what is known of one job. Its fields are the Session's mutex's.
type jobRecord struct {
	app     yarnclient.App
	id      traces.JobID
	user    string
	ended   chan struct{}
	endOnce sync.Once

	conf   yarn.Conf
	hosts  [][]string       // by map, as the ApplicationMaster read them
	splits []jobsplit.Split // by map; nil where they are no files
	staged *yarn.Staged     // nil: not read
	blocks [][]traces.Block // by map, as last sampled

	last    yarnclient.Job // as the ApplicationMaster last said
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
	return &jobRecord{
		app: app, id: traces.JobID("job_" + strings.TrimPrefix(app.ID, "application_")), user: app.User,
		ended: make(chan struct{}),
	}
}

func (j *jobRecord) end() { j.endOnce.Do(func() { close(j.ended) }) }

func (j *jobRecord) summary() Job {
	job := Job{ID: j.id, Application: j.app.ID, Name: j.app.Name, Diagnostics: j.app.Diagnostics, History: j.file}
	if j.app.Tags != "" {
		job.Tags = strings.Split(j.app.Tags, ",")
	}
	if j.app.Ended() {
		job.Outcome = outcomeOf(j.app)
	}
	return job
}

func outcomeOf(app yarnclient.App) traces.Outcome {
	switch app.FinalStatus {
	case "SUCCEEDED":
		return traces.Succeeded
	case "KILLED":
		return traces.Killed
	case "FAILED":
		return traces.Failed
	}
	return traces.Unfinished
}

// follow watches one job until it ends: it keeps the files that its client
// staged, samples where its input is, and asks its ApplicationMaster how far it
// is.
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
	s.keepStaged(ctx, j)
	var loops sync.WaitGroup
	s.mu.Lock()
	files := j.splits != nil
	s.mu.Unlock()
	if files {
		loops.Go(func() {
			every(ctx, s.options.EveryLocations, func(ctx context.Context) error { return s.sample(ctx, j) })
		})
	}
	loops.Go(func() {
		every(ctx, max(s.options.EveryRM, 500*time.Millisecond), func(ctx context.Context) error { return s.askMaster(ctx, j) })
	})
	loops.Wait()
}

// keepStaged copies the files that vanish with the job's end.
func (s *Session) keepStaged(ctx context.Context, j *jobRecord) {
	files, err := s.cluster.HDFS.Files()
	if err != nil {
		s.warnf("%s: staged files not kept: %v", j.id, err)
		return
	}
	staged, err := yarn.ReadStaged(ctx, files, yarn.StagingFolder(s.paths.staging, j.user, string(j.id)))
	if err != nil {
		s.warnf("%s: staged files not kept, so its splits are not tied to files: %v", j.id, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, ok := s.rewritten[j.id]; ok {
		staged.SplitMetaInfo = data
	}
	j.staged = &staged
	s.readStaged(j)
}

// readStaged takes from a job's staged files what they tell, and keeps them. The
// Session is locked.
func (s *Session) readStaged(j *jobRecord) {
	if s.options.Folder != nil {
		if err := Keep(s.options.Folder, j.id, j.staged.Save); err != nil {
			s.warn(err.Error())
		}
	}
	conf, err := j.staged.Conf()
	if err != nil {
		s.warn(fmt.Sprintf("%s: job.xml: %v", j.id, err))
	}
	metas, splits, err := j.staged.Splits()
	if err != nil && !errors.As(err, new(*jobsplit.UnknownClassError)) {
		s.warn(fmt.Sprintf("%s: %v", j.id, err))
	}
	j.conf, j.splits, j.blocks, j.hosts, j.inputs = conf, splits, nil, nil, nil
	j.madeFrom("job.xml", j.staged.JobXML)
	j.madeFrom("job.split", j.staged.JobSplit)
	j.madeFrom("job.splitmetainfo", j.staged.SplitMetaInfo)
	for _, m := range metas {
		j.hosts = append(j.hosts, m.Hosts)
	}
}

// Resplit says that a job's job.splitmetainfo is replaced before its
// ApplicationMaster reads it.
func (s *Session) Resplit(job traces.JobID, splitMetaInfo []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rewritten[job] = splitMetaInfo
	for _, j := range s.jobs {
		if j.id == job && j.staged != nil {
			j.staged.SplitMetaInfo = splitMetaInfo
			s.readStaged(j)
		}
	}
}

// sample asks where the job's input blocks and their cached copies are.
func (s *Session) sample(ctx context.Context, j *jobRecord) error {
	s.mu.Lock()
	splits := j.splits
	s.mu.Unlock()
	blocks, err := s.cluster.HDFS.SplitLocations(ctx, splits)
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
	ofMap := make([][]traces.Block, len(blocks))
	for i, of := range blocks {
		s.locations.add(now, splits[i].Path, of)
		for _, b := range of {
			ofMap[i] = append(ofMap[i], traces.Block(b.ID))
		}
	}
	if len(splits) > 0 && len(j.splits) == len(splits) && &splits[0] == &j.splits[0] { // not rewritten meanwhile
		j.blocks = ofMap
	}
	return nil
}

// askMaster asks the ApplicationMaster how far the job is.
func (s *Session) askMaster(ctx context.Context, j *jobRecord) error {
	s.mu.Lock()
	app := j.app.ID
	s.mu.Unlock()
	job, err := s.cluster.RM.AM(app).Job(ctx)
	if err != nil {
		if errors.Is(err, yarnclient.ErrJobEnded) || errors.Is(err, yarnclient.ErrNoMaster) {
			return nil
		}
		return s.pollFailed(ctx, string(j.id)+": ApplicationMaster", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j.last = job
	if s.options.Progress != nil {
		s.options.Progress(s.progress())
	}
	return nil
}

func (s *Session) progress() Progress {
	p := Progress{Jobs: len(s.jobs)}
	for _, j := range s.jobs {
		if j.app.Ended() {
			p.JobsEnded++
		}
		p.Maps, p.MapsDone, p.MapsRunning = p.Maps+j.last.Maps, p.MapsDone+j.last.MapsCompleted, p.MapsRunning+j.last.MapsRunning
		p.Reduces, p.ReducesDone, p.ReducesRunning = p.Reduces+j.last.Reduces, p.ReducesDone+j.last.ReducesCompleted, p.ReducesRunning+j.last.ReducesRunning
	}
	return p
}

// launched says whether an ApplicationMaster ever ran, so that there is a
// history to wait for.
func (j *jobRecord) launched() bool { return j.app.AMHost != "" || j.app.LaunchedMs != 0 }

// readHistory waits for a job's history and reads it; it is kept below folder,
// unless that is nil.
func readHistory(ctx context.Context, cluster *clients.Clients, folders yarn.HistoryFolders, j *jobRecord, folder *os.Root) error {
	files, err := cluster.HDFS.Files()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	var h yarn.History
	var last error
	err = until(ctx, 200*time.Millisecond, func() (bool, error) {
		if h, last = yarn.ReadHistory(ctx, files, folders, j.user, string(j.id)); last == nil {
			j.history, _, last = jhist.Parse(bytes.NewReader(h.Events))
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: no history after %v: %w", j.id, historyPatience, last)
	}
	j.file = h.Name
	j.madeFrom(h.Name, h.Events)
	if j.conf == nil && h.ConfXML != nil {
		j.conf, _ = yarn.ParseConf(bytes.NewReader(h.ConfXML))
	}
	if folder == nil {
		return nil
	}
	return Keep(folder, j.id, func(own *os.Root) error { return own.WriteFile(h.Name, h.Events, 0o600) })
}

// Keep writes files of a job into its own folder below folder, which it makes,
// for nobody else to read.
func Keep(folder *os.Root, job traces.JobID, write func(own *os.Root) error) error {
	err := folder.MkdirAll(string(job), 0o700)
	if err == nil {
		var own *os.Root
		if own, err = folder.OpenRoot(string(job)); err == nil {
			err = errors.Join(write(own), own.Close())
		}
	}
	if err != nil {
		return fmt.Errorf("keep files of %s in %s: %w", job, folder.Name(), err)
	}
	return nil
}

// historyPatience is how long a job's history may take to appear after its
// end: the ApplicationMaster writes it, then the history server moves it.
const historyPatience = 60 * time.Second

// inputPath is a split's file without the file system's name.
func inputPath(split jobsplit.Split) string { return path.Clean(yarn.WithoutScheme(split.Path)) }
