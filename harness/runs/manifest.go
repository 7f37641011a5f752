package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// manifestFormat is the newest version of the format of manifest.json that this
// program can read. It writes this version.
const manifestFormat = 1

// Manifest is the content of the file manifest.json: the description and the
// state of a run. Other programs may rely on its JSON keys. Later versions may
// add keys.
type Manifest struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	// Error says why the run failed or was interrupted.
	Error string `json:"error,omitempty"`
	// Started is when the work began. A run whose work began before its folder was made
	// gives it; by default it is the time of the folder.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Heddle   Build     `json:"heddle"`
	// Command is the command line that started the run, with *** in place of
	// secrets such as passwords.
	Command []string `json:"command,omitempty"`
	Owner   Owner    `json:"owner"`
	Seed    uint64   `json:"seed"`
	// World says where the trials ran: WorldSimulated for virtual time, "" for
	// a cluster.
	World string `json:"world,omitempty"`
	// Versions are the versions of the software that the run used. The key is
	// the software's name: "hadoop", "java", "kernel".
	Versions map[string]string `json:"versions,omitempty"`
	// Settings are values on which the run's results depend and which no other
	// file contains. An example is "classDataSharing": whether the JVMs share
	// class data.
	Settings map[string]string `json:"settings,omitempty"`
	// Cluster describes the cluster of trials in virtual time in full, in the words
	// of a cluster file: "machines.nodes" is "4". Replays of traces have Clusters in
	// its place: for each trace, by its workload's name, what the replay's cluster is.
	Cluster  map[string]string            `json:"cluster,omitempty"`
	Clusters map[string]map[string]string `json:"clusters,omitempty"`
	Trials   []TrialRecord                `json:"trials"`
	// Files are the complete files at the top of the run folder, with their
	// hashes.
	Files []File `json:"files,omitempty"`
	// Mark is made with a key of the user whose heddle began the run, see Run.Own.
	Mark string `json:"mark,omitempty"`
}

// WorldSimulated is the value of Manifest.World for trials in virtual time, WorldEmulated
// for those on emulated nodes, and WorldCluster the word for those on a cluster.
const (
	WorldSimulated = "simulated"
	WorldEmulated  = "emulated"
	WorldCluster   = "cluster"
)

// Place is the World in words: WorldCluster or WorldSimulated.
func (m *Manifest) Place() string { return cmp.Or(m.World, WorldCluster) }

// State says whether a run is under way, and how it ended.
type State string

// States of a run. If the manifest says Running but the run's process has
// ended, the state is read as Interrupted.
const (
	Running     State = "running"
	Finished    State = "finished"
	Failed      State = "failed"
	Interrupted State = "interrupted"
)

// Owner is the process that works on a run, or was the last to do so.
type Owner struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// TrialRecord is what the manifest records of one trial.
type TrialRecord struct {
	Name string `json:"name"`
	// Warmup marks a trial that only warms the cluster up; it is not measured.
	Warmup   bool       `json:"warmup,omitempty"`
	State    TrialState `json:"state"`
	Error    string     `json:"error,omitempty"`
	Started  time.Time  `json:"started,omitzero"`
	Finished time.Time  `json:"finished,omitzero"`
	// Files are all files of a complete trial, with their hashes.
	Files []File `json:"files,omitempty"`
}

// todo returns a record of the same trial as it was before the trial began.
func (t TrialRecord) todo() TrialRecord {
	return TrialRecord{Name: t.Name, Warmup: t.Warmup, State: TrialTodo}
}

// TrialState says whether a trial is still to do, under way, done or failed.
type TrialState string

// States of a trial: from TrialTodo (still to do) to done or failed.
const (
	TrialTodo        TrialState = "todo"
	TrialRunning     TrialState = "running"
	TrialDone        TrialState = "done"
	TrialFailed      TrialState = "failed"
	TrialInterrupted TrialState = "interrupted" // the trial was under way when the run was interrupted
	TrialMissing     TrialState = "missing"     // the trial was done, but its folder is gone
)

// File is the length and hash of a complete file in a run folder.
type File struct {
	// Name is the path of the file in the folder of the trial or run, with
	// slashes.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Rows is the number of lines of a .jsonl file at the top of the run folder.
	Rows int `json:"rows,omitempty"`
}

// begin sets those fields of manifest.json that are known when a run starts,
// such as the time and the command line.
func (m *Manifest) begin(name string) {
	*m = m.clone()
	m.Format, m.Name, m.State = manifestFormat, name, Running
	if m.Started.IsZero() { // else the work began before it had a folder
		m.Started = time.Now()
	}
	m.Started, m.Finished, m.Error = m.Started.UTC().Truncate(time.Millisecond), time.Time{}, ""
	m.Heddle, m.Owner = ThisBuild(), thisProcess()
	m.Command = blotSecrets(m.Command)
	m.Files = nil
	if m.Versions == nil {
		m.Versions = map[string]string{}
	}
	if m.Versions["kernel"] == "" {
		m.Versions["kernel"] = kernelVersion()
	}
	for i := range m.Trials {
		m.Trials[i] = m.Trials[i].todo()
	}
	if m.Trials == nil {
		m.Trials = []TrialRecord{} // make it an empty list and not nil, so that JSON has [] instead of null
	}
}

func (m Manifest) clone() Manifest {
	m.Command, m.Trials, m.Files = slices.Clone(m.Command), slices.Clone(m.Trials), slices.Clone(m.Files)
	m.Versions, m.Settings = maps.Clone(m.Versions), maps.Clone(m.Settings)
	m.Cluster, m.Clusters = maps.Clone(m.Cluster), maps.Clone(m.Clusters)
	return m
}

// End records how the run ended and ends this process's ownership of the run
// folder. If err is nil and all trials are done, the state is Finished. If err
// wraps context.Canceled, it is Interrupted, and otherwise Failed. End returns
// an error if it cannot record this.
func (r *Run) End(err error) error {
	todo := len(r.Todo())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return errReadOnly
	}
	defer r.release()
	m := r.manifest.clone()
	m.Finished = now()
	if err == nil && todo > 0 {
		err = fmt.Errorf("%d of %d trials are not done", todo, len(m.Trials))
	}
	switch {
	case err == nil:
		m.State = Finished
	case errors.Is(err, context.Canceled):
		m.State, m.Error = Interrupted, err.Error()
	default:
		m.State, m.Error = Failed, err.Error()
	}
	return r.replace(m)
}

// Close ends this process's ownership of the run folder. If End was not called
// before, the run is recorded as Interrupted. Close is meant for a defer
// statement.
func (r *Run) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release()
}

func thisProcess() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Owner{Host: host, PID: os.Getpid()}
}

func kernelVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

var (
	secretName = regexp.MustCompile(`(?i)(token|password|secret|credential)s?$`)
	userInfo   = regexp.MustCompile(`(://)[^\s]*@`)
)

// blotSecrets replaces secrets in a command line by ***. These are values of
// flags and properties whose names suggest a secret, and users and passwords in
// addresses. Paths of files with secrets stay.
func blotSecrets(args []string) []string {
	args = slices.Clone(args)
	next := false
	for i, a := range args {
		name, _, hasValue := strings.Cut(a, "=")
		switch {
		case next:
			args[i], next = "***", false
		case hasValue && secretName.MatchString(name):
			args[i] = name + "=***"
		default:
			next = strings.HasPrefix(a, "-") && !hasValue && secretName.MatchString(a)
			args[i] = userInfo.ReplaceAllString(a, "${1}***@")
		}
	}
	return args
}

// now is the time as records have it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
