package exchange

import (
	"errors"
	"fmt"
	"io"
	"os"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/outfile"
	"heddle/traces/parquet"
	"heddle/traces/perfetto"
	"heddle/traces/rumen"
	"heddle/traces/sls"
	"heddle/traces/swim"
	"heddle/traces/tracefile"
)

// ExportOptions say what to export and how.
type ExportOptions struct {
	Input  string // a trace
	Form   Form
	Output string // a file, or a folder for tables; must not exist
	// Topology, where set, is a second file for the nodes (rumen and sls).
	Topology string
}

// ErrList says that a trace is a list of jobs.
var ErrList = errors.New("it is a list of jobs")

// Export writes a trace in another form. out takes the place of an empty
// Output. The notes say what the form could not hold.
func Export(o ExportOptions, out io.Writer) (notes []string, err error) {
	in, err := tracefile.Open(o.Input)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if in.Header().List != nil && o.Form != SWIM && o.Form != Lines {
		return nil, fmt.Errorf("export %s: %w, and %s holds tasks that ran: \"heddle replay --out FILE\" makes a trace with tasks of it", o.Input, ErrList, o.Form)
	}
	if o.Topology != "" {
		if err := o.topology(in.Header()); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Form == Parquet && o.Output == "":
		return nil, errors.New("export: tables need --output FOLDER")
	case o.Form == Parquet:
		err = outfile.CreateFolder(o.Output, func(folder string) error {
			return errors.Join(parquet.Write(folder, in.Header(), in.All()), in.Err())
		})
	case o.Output != "":
		err = outfile.Create(o.Output, func(f *os.File) error {
			notes, err = o.write(in, f)
			return err
		})
	default:
		notes, err = o.write(in, out)
	}
	if err != nil {
		return notes, fmt.Errorf("export %s: %w", o.Input, err)
	}
	return notes, nil
}

// write writes a form that is one file.
func (o ExportOptions) write(in *tracefile.Reader, out io.Writer) (notes []string, err error) {
	switch o.Form {
	case Lines:
		err = errors.Join(tracefile.WriteLines(out, in.Header(), in.All()), in.Err())
	case Perfetto:
		err = errors.Join(perfetto.Write(out, in.Header(), in.All()), in.Err())
	case Rumen:
		err = rumen.Write(out, in.Header(), byjob.Jobs(o.Input))
	case SLS:
		var left sls.Left
		left, err = sls.Write(out, in.Header(), byjob.Jobs(o.Input))
		notes = leftOut(left)
	case SWIM:
		err = o.writeList(out, in)
	default:
		err = fmt.Errorf("form %q cannot be exported; known are %v", o.Form, Exports)
	}
	return notes, err
}

func leftOut(left sls.Left) (notes []string) {
	for _, v := range []struct {
		n    int
		what string
	}{
		{left.Jobs, "jobs without a task that ran"},
		{left.Tasks, "tasks without an attempt that started and ended"},
		{left.Attempts, "attempts beside the one that counts: SLS runs a task once"},
	} {
		if v.n > 0 {
			notes = append(notes, fmt.Sprintf("left out %d %s", v.n, v.what))
		}
	}
	return notes
}

// writeList writes a list of jobs.
func (o ExportOptions) writeList(out io.Writer, in *tracefile.Reader) error {
	var failed error
	err := swim.Write(out, func(yield func(traces.JobListed) bool) {
		if in.Header().List != nil {
			for e := range in.All() {
				if j, ok := e.(*traces.JobListed); ok && !yield(*j) {
					return
				}
			}
			failed = in.Err()
			return
		}
		last := traces.Time(0)
		for j, err := range byjob.Jobs(o.Input) {
			if err != nil {
				failed = err
				return
			}
			job := swim.FromTrace(j)
			if j.Source == nil {
				job.GapSec = max(int64(job.T)/1e9-int64(last)/1e9, 0)
			}
			last = job.T
			if !yield(job) {
				return
			}
		}
	})
	return errors.Join(failed, err)
}

func (o ExportOptions) topology(h traces.Header) error {
	if o.Form != Rumen && o.Form != SLS {
		return fmt.Errorf("export: a topology goes with rumen and sls, not with %s", o.Form)
	}
	err := outfile.Create(o.Topology, func(f *os.File) error {
		if o.Form == SLS {
			return sls.WriteTopology(f, h.Cluster)
		}
		var hosts []rumen.Host
		for _, n := range h.Cluster.Nodes {
			if n.Worker {
				hosts = append(hosts, rumen.Host{Rack: n.Rack, Name: string(n.Node)})
			}
		}
		_, err := f.Write(rumen.AppendTopology(nil, hosts))
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}
