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
	// PartFile has the events in the order in which the capture saw them. Events of
	// jobs come from the ResourceManager and the ApplicationMasters.
	PartFile = "trace.heddle.part"
	// jobsFolder has a folder for each job. Once a job's history file is read,
	// jobFile in its folder has the job's events; those in PartFile are then
	// ignored.
	jobsFolder = "jobs"
	jobFile    = "events.heddle"
)

// flushInterval is how often events are flushed to the file. A killed capture loses
// at most the events of this time and of one poll interval.
const flushInterval = 250 * time.Millisecond

// makeJobs creates and opens the folder that has a folder for each job.
func makeJobs(folder *os.Root) (*os.Root, error) {
	if err := folder.MkdirAll(jobsFolder, 0o700); err != nil {
		return nil, err
	}
	return folder.OpenRoot(jobsFolder)
}

// Keep creates a folder named after the job in folder, readable by the owner only,
// and calls write with it.
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

// keepEvents writes a job's events to a file in the job's folder. The file has
// either all events or does not exist.
func keepEvents(folder *os.Root, j *jobRecord, events []traces.Event) error {
	return Keep(folder, j.id, func(own *os.Root) error {
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

// Encode writes the trace to out. If the function each is not nil, it is called with
// every event, in order, and must not keep the event.
func (r *Result) Encode(out io.Writer, each func(traces.Event)) error {
	return r.encode(out, filepath.Join(r.folder.Name(), "trace.heddle"), filepath.Join(r.folder.Name(), PartFile), each, "")
}

// encode combines the events seen during the capture with those in the files of
// jobs. For a job with a file, only decisions are taken from the events seen. If
// incomplete is not empty, the trace is marked as incomplete, with that reason.
func (r *Result) encode(out io.Writer, name, part string, each func(traces.Event), incomplete string) error {
	sorter := tracefile.NewSorter(r.folder.Name())
	defer func() { _ = sorter.Close() }() // the sorter's files are temporary, so an error in closing them does not matter
	files := jobFiles(r.folder)
	joined := map[traces.JobID]bool{}
	for _, file := range files {
		joined[traces.JobID(path.Base(path.Dir(file)))] = true
	}
	// Steering does not always learn which attempt ran in the container of a
	// decision. The job's history file has it, so the attempt is filled in here.
	containers := map[string]traces.Attempt{}
	seen, err := tracefile.Open(part)
	if err == nil {
		defer seen.Close()
		err = sorter.AddFrom(seen, func(e traces.Event) bool {
			if a, ok := e.(*traces.Actuation); ok && a.Bound.Job == "" {
				containers[a.Container] = traces.Attempt{}
			}
			return e.Kind() == traces.KindDecision || !joined[traces.JobOf(e)]
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the event file of a capture does not exist if Recover made the trace
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

// addJob adds the events in one job's file to the trace and returns the file's
// header.
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

// Clean removes the capture's event files after Encode has made the trace of them.
func (r *Result) Clean() error {
	var err error
	for _, name := range append(jobFiles(r.folder), PartFile) {
		if rerr := r.folder.Remove(name); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// jobFiles returns the paths of the event files of all jobs, in order of job ids.
func jobFiles(folder *os.Root) []string {
	files, _ := fs.Glob(folder.FS(), path.Join(jobsFolder, "*", jobFile)) // the error is always nil, since the pattern is valid
	return files
}

// Repaired counts what Repair saved of a damaged or unfinished trace.
type Repaired struct {
	tracefile.Repaired
	// Histories counts the jobs whose events were taken from their history files.
	Histories int `json:"histories,omitempty"`
}

// Repair repairs a trace file as tracefile.Repair does. From the event file of a
// killed capture, it makes a trace in order of time, with the history files of jobs
// that had ended.
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
		part := cmp.Or(r.To, from) // To is empty if the event file is undamaged: the capture ended well and only Encode failed
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
