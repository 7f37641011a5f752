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

// What a capture keeps in its folder until the trace is whole. Whoever is killed
// leaves just that, and Repair makes a trace of it.
const (
	// PartFile has what was seen as it came; of jobs what the ResourceManager and
	// their ApplicationMasters told.
	PartFile = "trace.heddle.part"
	// jobsFolder has a folder a job. Once its history was joined, that is in
	// jobFile there, and counts instead of what was seen.
	jobsFolder = "jobs"
	jobFile    = "events.heddle"
)

// flushInterval and the interval of a poll are what a kill may cost.
const flushInterval = 250 * time.Millisecond

// makeJobs makes and opens the folder of the jobs.
func makeJobs(folder *os.Root) (*os.Root, error) {
	if err := folder.MkdirAll(jobsFolder, 0o700); err != nil {
		return nil, err
	}
	return folder.OpenRoot(jobsFolder)
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

// keepEvents writes what a job's history says, whole or not at all.
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

// Encode writes the trace to out. each, where not nil, sees every event, in
// order; it keeps none.
func (r *Result) Encode(out io.Writer, each func(traces.Event)) error {
	return r.encode(out, filepath.Join(r.folder.Name(), "trace.heddle"), filepath.Join(r.folder.Name(), PartFile), each, "")
}

// encode puts what was seen and the jobs' histories together. Of a job that has
// a history nothing else counts.
func (r *Result) encode(out io.Writer, name, part string, each func(traces.Event), incomplete string) error {
	sorter := tracefile.NewSorter(r.folder.Name())
	defer func() { _ = sorter.Close() }() // what it wrote is temporary
	files := jobFiles(r.folder)
	joined := map[traces.JobID]bool{}
	for _, file := range files {
		joined[traces.JobID(path.Base(path.Dir(file)))] = true
	}
	// The driver does not always know which attempt ran in a decision's container;
	// the history does.
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // Recover has seen nothing
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

// addJob takes in one of jobFiles.
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

// Clean removes what Encode has made the trace of.
func (r *Result) Clean() error {
	var err error
	for _, name := range append(jobFiles(r.folder), PartFile) {
		if rerr := r.folder.Remove(name); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// jobFiles are the jobs' files, in order of the jobs' ids.
func jobFiles(folder *os.Root) []string {
	files, _ := fs.Glob(folder.FS(), path.Join(jobsFolder, "*", jobFile)) // the pattern is good
	return files
}

// Repaired is what Repair made of a trace.
type Repaired struct {
	tracefile.Repaired
	// Histories counts the jobs whose history was added.
	Histories int `json:"histories,omitempty"`
}

// Repair is tracefile.Repair. Of the part that a capture leaves which is killed it
// makes a trace in order of time, with the history of the jobs that had ended.
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
		part := cmp.Or(r.To, from) // nothing is lost where only the trial's trace could not be written
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
