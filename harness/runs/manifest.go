package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// manifestFormat is the newest form of manifests that this version writes and
// reads.
const manifestFormat = 1

// Manifest is what a run says of itself. Its JSON keys are stable; later
// versions may add some.
type Manifest struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	State  State  `json:"state"`
	// Error says why a run failed or was interrupted.
	Error    string    `json:"error,omitempty"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Heddle   Build     `json:"heddle"`
	// Command is the command line, with secrets blotted out.
	Command []string `json:"command,omitempty"`
	Owner   Owner    `json:"owner"`
	Seed    uint64   `json:"seed"`
	// World is where the trials ran: WorldSimulated, or "" for a cluster.
	World string `json:"world,omitempty"`
	// Versions of what took part: "hadoop", "java", "kernel".
	Versions map[string]string `json:"versions,omitempty"`
	// Settings that results depend on and that are in no other file, such as
	// "classDataSharing".
	Settings map[string]string `json:"settings,omitempty"`
	Trials   []TrialRecord     `json:"trials"`
	// Files are those right in the run folder.
	Files []File `json:"files,omitempty"`
}

// WorldSimulated is the Manifest.World of trials in virtual time.
const WorldSimulated = "simulated"

// State is how far a run is.
type State string

// States of a run. One whose manifest says Running but whose process is gone
// is read as Interrupted.
const (
	Running     State = "running"
	Finished    State = "finished"
	Failed      State = "failed"
	Interrupted State = "interrupted"
)

// Build is the heddle that ran.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	// Modified is that the source differed from the revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// Owner is the process that works, or worked last, on a run.
type Owner struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// TrialRecord is a trial's record.
type TrialRecord struct {
	Name     string     `json:"name"`
	State    TrialState `json:"state"`
	Error    string     `json:"error,omitempty"`
	Started  time.Time  `json:"started,omitzero"`
	Finished time.Time  `json:"finished,omitzero"`
	// Files are all of a trial that is done.
	Files []File `json:"files,omitempty"`
}

// TrialState is how far a trial is.
type TrialState string

// States of a trial.
const (
	TrialTodo        TrialState = "todo"
	TrialRunning     TrialState = "running"
	TrialDone        TrialState = "done"
	TrialFailed      TrialState = "failed"
	TrialInterrupted TrialState = "interrupted" // it was running when the run was
	TrialMissing     TrialState = "missing"     // it was done, and its folder is gone
)

// File is a file as it was when it was complete.
type File struct {
	// Name is relative to the folder of the trial or run, with slashes.
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// begin sets what a new run knows of itself.
func (m *Manifest) begin(name string) {
	*m = m.clone()
	m.Format, m.Name, m.State = manifestFormat, name, Running
	m.Started, m.Finished, m.Error = time.Now().UTC().Truncate(time.Millisecond), time.Time{}, ""
	m.Heddle, m.Owner = thisBuild(), thisProcess()
	m.Command = blotSecrets(m.Command)
	m.Files = nil
	if m.Versions == nil {
		m.Versions = map[string]string{}
	}
	if m.Versions["kernel"] == "" {
		m.Versions["kernel"] = kernelVersion()
	}
	for i := range m.Trials {
		m.Trials[i] = TrialRecord{Name: m.Trials[i].Name, State: TrialTodo}
	}
	if m.Trials == nil {
		m.Trials = []TrialRecord{} // a list, also when it is empty
	}
}

func (m Manifest) clone() Manifest {
	m.Command, m.Trials, m.Files = slices.Clone(m.Command), slices.Clone(m.Trials), slices.Clone(m.Files)
	m.Versions, m.Settings = maps.Clone(m.Versions), maps.Clone(m.Settings)
	return m
}

// End notes how the run ended and gives the folder up. A nil err is success if
// all trials are done; one that wraps context.Canceled an interruption; any
// other a failure. It returns what stands in the way of saying so.
func (r *Run) End(err error) error {
	todo := len(r.Todo())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return errReadOnly
	}
	defer r.release()
	m := r.manifest.clone()
	m.Finished = time.Now().UTC().Truncate(time.Millisecond)
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

// Close gives the folder up without an end, if End has not: the run is then
// interrupted. For use with defer.
func (r *Run) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release()
}

func thisBuild() Build {
	b := Build{Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
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

// blotSecrets replaces what follows a flag or property with a telling name,
// and users and passwords in addresses. A file with a secret may be named.
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
