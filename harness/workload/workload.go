// Package workload contains what experiments run on clusters, and what
// simulations run in its place. A workload is one or more YARN jobs over an
// input: HiBench's wordcount, sort and terasort, grep of Hadoop's examples,
// synthetic tasks, a jar of the user's, or the jobs of a trace, or those that a
// function makes (package generate). Each kind is a file of its own.
//
// On a cluster, a workload prepares its input, runs its jobs under a YARN tag,
// checks their output and removes it. Its twin is the same jobs in virtual
// time: files of the same lengths, placed by the NameNode's rules and read by
// as many maps.
//
// The package does not place tasks and captures nothing. It knows neither
// trials nor run folders.
package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/hibench"
	"heddle/traces"
)

// Workload is one entry in an experiment file's list of workloads. It can run
// on a real cluster or be simulated.
type Workload interface {
	// On returns the workload, ready to run on the cluster that the argument
	// place describes.
	On(ctx context.Context, place Place) (Live, error)
	// Twin returns the simulated counterpart of the workload. cache says which
	// part of its input is in the HDFS cache. The error names a setting that a
	// simulation cannot honour.
	Twin(ctx context.Context, cache config.Cache) (*Twin, error)
}

// Place is where a workload runs: a cluster with its Hadoop installation, and
// the folders that the workload may use.
type Place struct {
	hibench.Env
	Cluster *clients.Clients // clients of the cluster's daemons
	Seed    uint64           // the experiment's seed, for inputs that heddle generates
	Say     func(string)     // is called with a text about a step that takes long, such as a download
	Program string           // path of a heddle that can run as a task; empty means the running program
}

// Live is a workload that runs on a real cluster. Everything that it makes
// there, including its YARN applications, has a name that contains the tag
// which the caller gives. By it package change removes all that.
type Live interface {
	// Prepare makes the workload's input, unless the input exists already. The
	// YARN applications that make it have the tag tag + "-prep".
	Prepare(ctx context.Context, tag string) (Input, error)
	// Submissions returns what each run of the workload submits. It is called
	// after Prepare.
	Submissions() []Submission
	// Run runs the submission with index i and waits for its end. Its YARN
	// applications have the given tag. The given Hadoop settings are added to
	// the workload's own. Several submissions may run at the same time. If one
	// of its jobs failed, the error is a JobError.
	Run(ctx context.Context, i int, tag string, settings ...hibench.Setting) (Ran, error)
	// Check checks the output of the submission with index i, and returns in
	// words what it compared. It compares the output with the input, and with
	// the counters of the submission's jobs. YARN applications that do this
	// have the tag tag + "-check".
	Check(ctx context.Context, i int, tag string, jobs []*measure.Job) (compared []string, err error)
}

// Input describes the input of a workload in HDFS.
type Input struct {
	Path  string // HDFS folder that contains all input files
	Bytes int64  // total length of the input files
	// Cached are the paths of input files that the workload itself wants in the
	// HDFS cache, whatever the experiment's own cache setting.
	Cached []string
}

// Submission is one thing that a workload submits: one YARN application, or
// several that run one after the other.
type Submission struct {
	Name string
	Pool string // group of jobs among which a model shares slots; empty means the queue
	// Terms are the deadline, price and hints of each of its jobs. The time to a
	// deadline counts from the submission of that job.
	Terms traces.Terms
	At    time.Duration // when it is submitted, counted from the first submission
	Jobs  int           // number of YARN applications that it starts at least
	// Asked is what its tasks are asked to read, emit and write. It is nil if
	// the workload does not say.
	Asked *Asked
}

// Asked is what one job is asked to do. After the job it is compared with what
// the job did.
type Asked struct {
	Job          string `json:"job"`      // name of the job
	SubmitMs     int64  `json:"submitMs"` // time of submission, counted from the first submission
	Maps         int    `json:"maps"`
	Reduces      int    `json:"reduces"`
	InputBytes   int64  `json:"inputBytes"`   // bytes that its maps read
	ShuffleBytes int64  `json:"shuffleBytes"` // bytes that its maps emit for its reduces
	OutputBytes  int64  `json:"outputBytes"`  // bytes that it writes to HDFS
	CPUMs        int64  `json:"cpuMs"`        // CPU time that its tasks burn, in ms
	// How many of InputBytes, ShuffleBytes and OutputBytes were added to reach the
	// least that a task can read, emit and write.
	FlooredInput   int64 `json:"flooredInput,omitempty"`
	FlooredShuffle int64 `json:"flooredShuffle,omitempty"`
	FlooredOutput  int64 `json:"flooredOutput,omitempty"`
	// Recorded is what the job of a trace did, for which this job stands; nil if
	// there is none.
	Recorded *Recorded `json:"recorded,omitempty"`
}

// Recorded is what a trace says of a job.
type Recorded struct {
	// CompletionMs is the time from the job's submission to its end; -1 if the
	// trace does not have it.
	CompletionMs int64            `json:"completionMs"`
	Locality     measure.Locality `json:"locality"`
}

// JobError says that a job failed: YARN refused it, or it ended and did not
// succeed. With any other error it is not known what the job would have done.
type JobError struct{ Err error }

func (e *JobError) Error() string { return e.Err.Error() }
func (e *JobError) Unwrap() error { return e.Err }

// Ran is what the client of a submission reported when it ended.
type Ran struct {
	Report string // line of HiBench's own report; empty without HiBench's scripts
	// Accepted is when YARN answered that it had accepted the submission's job;
	// zero if the client does not tell.
	Accepted time.Time
}

// Of returns the workload that the entry w of an experiment file describes.
func Of(w config.Workload) Workload {
	switch w.Name {
	case config.Streaming:
		return streaming{w}
	case config.WorkloadTrace:
		return traced{w}
	case config.WorkloadJar:
		return jar{w}
	}
	if _, ok := config.Generated(w.Name); ok {
		return traced{w}
	}
	return hiBench{w}
}

// equalJobs returns a submission for each of a workload's equal jobs, all at once.
func equalJobs(w config.Workload, s Submission) []Submission {
	list := make([]Submission, max(w.Jobs, 1))
	for i := range list {
		s.Pool, s.Terms = w.Pool(i), w.Terms(0)
		list[i] = s
	}
	return list
}

// ChooseFiles chooses the files to put into the HDFS cache, since HDFS caches
// whole files. It returns their indexes in a list of files sorted by path.
// Their lengths add up to about fraction of all bytes, and at most half a file
// more or less. The files are shuffled by the seed and considered one after the
// other. A file is taken if at least half of it fits into what is left of the
// fraction. The same seed takes the same files in every trial, on a cluster and
// in simulations. Among files of equal size, a larger fraction takes all files
// of a smaller one.
func ChooseFiles(lengths []int64, fraction float64, seed uint64) []int {
	left := 0.0
	order := make([]int, len(lengths))
	for i, bytes := range lengths {
		order[i] = i
		left += float64(bytes) * fraction
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var chosen []int
	for _, i := range order {
		if bytes := float64(lengths[i]); bytes > 0 && bytes/2 <= left {
			left -= bytes
			chosen = append(chosen, i)
		}
	}
	return chosen
}
