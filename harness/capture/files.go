package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"heddle/traces"
	"heddle/traces/outfile"
	"heddle/traces/tracefile"
)

// Files in a capture's folder that exist until the trace is written. If the capture
// is killed, they stay, and Repair makes a trace of them.
const (
	// PartFile holds all events in the order in which the capture saw them. Events of
	// jobs in it come from the ResourceManager and the ApplicationMasters.
	PartFile = "trace.heddle.part"
	// jobsFolder holds a folder for each job. Once a job's history file is read, the
	// file jobFile in the job's folder holds the job's events. The events of that job
	// in PartFile, except decisions, are then ignored.
	jobsFolder = "jobs"
	jobFile    = "events.heddle"
)

// flushInterval is the pause between two flushes of events to the event file. A killed
// capture loses at most the events of this time and of one interval between calls.
const flushInterval = 250 * time.Millisecond

// makeJobs creates and opens the folder "jobs" of a capture, which will hold a folder
// for each job.
func makeJobs(folder *os.Root) (*os.Root, error) {
	if err := folder.MkdirAll(jobsFolder, 0o700); err != nil {
		return nil, err
	}
	return folder.OpenRoot(jobsFolder)
}

// keep creates, within the given folder, a folder named after the job and readable by
// the owner only. It then calls write, which puts the job's files there.
func keep(folder *os.Root, job traces.JobID, write func(own *os.Root) error) error {
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

// Keep writes a file to the folder of one of the Session's jobs.
func (s *Session) Keep(job traces.JobID, file string, data []byte) error {
	return keep(s.jobs, job, func(own *os.Root) error { return own.WriteFile(file, data, 0o600) })
}

// keepEvents writes a job's events to a file in the job's folder. After a crash, the
// file either holds all events or does not exist.
func keepEvents(folder *os.Root, j *jobRecord, events []traces.Event) error {
	return keep(folder, j.id, func(own *os.Root) error {
		const unfinished = jobFile + ".new"
		f, err := own.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		err = tracefile.Encode(f, f.Name(), traces.Header{Inputs: j.inputs}, events)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		return own.Rename(unfinished, jobFile)
	})
}

// Encode writes the trace to out. If the function passed as each is not nil, it is
// called with every event, in order of time, and must not keep the event.
func (r *Result) Encode(out io.Writer, each func(traces.Event)) error {
	return r.encode(out, filepath.Join(r.folder.Name(), "trace.heddle"), filepath.Join(r.folder.Name(), PartFile), each, "")
}

// encode combines the events seen during the capture with those in the jobs' own event
// files. If a job has such a file, only decisions are taken from the events seen, and
// all else from the file. If the argument incomplete is not empty, the trace is marked
// as incomplete, for that reason.
func (r *Result) encode(out io.Writer, name, part string, each func(traces.Event), incomplete string) error {
	sorter := tracefile.NewSorter(r.folder.Name())
	defer func() { _ = sorter.Close() }() // the sorter's files are temporary, so an error in closing them does not matter
	files := jobFiles(r.folder)
	joined := map[traces.JobID]bool{}
	for _, file := range files {
		joined[traces.JobID(path.Base(path.Dir(file)))] = true
	}
	// Steering does not always learn which task attempt ran in the container of a
	// decision. The job's history file tells, so the attempt is added to the decision's
	// outcome here.
	containers := map[string]traces.Attempt{}
	seen, err := tracefile.Open(part)
	if err == nil {
		defer seen.Close()
		err = sorter.AddFrom(seen, func(e traces.Event) bool {
			if a, ok := e.(*traces.Actuation); ok && a.Bound.Job == "" {
				containers[a.Container] = traces.Attempt{}
			}
			ofModel := e.Kind() == traces.KindDecision || e.Kind() == traces.KindJobPredicted // no history has these
			return ofModel || !joined[traces.JobOf(e)]
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is no such file if Recover made the events, since no capture ran
		return err
	}
	r.Header.Inputs = nil
	for _, file := range files {
		h, err := r.addJob(sorter, file, func(e traces.Event) bool {
			if a, ok := e.(*traces.AttemptStarted); ok && a.Container != "" {
				if _, wanted := containers[a.Container]; wanted {
					containers[a.Container] = a.Attempt
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		r.Header.Inputs = append(r.Header.Inputs, h.Inputs...)
	}
	return sorter.Encode(out, name, r.Header, func(e traces.Event) {
		if a, ok := e.(*traces.Actuation); ok && a.Bound.Job == "" {
			a.Bound = containers[a.Container]
		}
		if each != nil {
			each(e)
		}
	}, incomplete)
}

// addJob adds the events in one job's event file to the trace, and returns the header
// of that file.
func (r *Result) addJob(sorter *tracefile.Sorter, file string, each func(traces.Event) bool) (traces.Header, error) {
	f, err := r.folder.Open(file)
	if err != nil {
		return traces.Header{}, err
	}
	defer f.Close()
	in, err := tracefile.NewReader(f, f.Name())
	if err != nil {
		return traces.Header{}, err
	}
	return in.Header(), sorter.AddFrom(in, each)
}

// Clean removes the capture's event files. Call it after Encode has made the trace of
// them.
func (r *Result) Clean() error {
	var err error
	for _, name := range append(jobFiles(r.folder), PartFile) {
		if rerr := r.folder.Remove(name); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// jobFiles returns the paths of all jobs' event files, sorted by job id.
func jobFiles(folder *os.Root) []string {
	files, _ := fs.Glob(folder.FS(), path.Join(jobsFolder, "*", jobFile)) // the error is always nil, since the pattern is valid
	return files
}

// Repaired counts what Repair has saved of a damaged or unfinished trace.
type Repaired struct {
	tracefile.Repaired
	// Histories counts the jobs whose events were taken from their history files.
	Histories int `json:"histories,omitempty"`
}

// Repair repairs a trace file as tracefile.Repair does. If the file is the event file
// of a killed capture, Repair makes a trace of it, sorted by time, and of the event
// files of jobs whose history was read.
func Repair(from, to string) (r Repaired, err error) {
	if filepath.Base(from) != PartFile {
		r.Repaired, err = tracefile.Repair(from, to)
		return r, err
	}
	folder, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return r, fmt.Errorf("repair trace: %w", err)
	}
	defer folder.Close()
	err = outfile.Create(to, func(f *os.File) error {
		whole := f.Name() + ".whole"
		defer os.Remove(whole)
		if r.Repaired, err = tracefile.Repair(from, whole); err != nil {
			return err
		}
		part := cmp.Or(r.To, from) // the field To is empty if the event file needed no repair: the capture ended well and only Encode failed
		in, err := tracefile.Open(part)
		if err != nil {
			return err
		}
		result := Result{Header: in.Header(), folder: folder}
		if err := in.Close(); err != nil {
			return err
		}
		r.Events, r.Histories, r.To = 0, len(jobFiles(folder)), to
		return result.encode(f, to, part, func(traces.Event) { r.Events++ }, "repaired: "+r.String())
	})
	return r, err
}
