package exchange

import (
	"errors"
	"fmt"
	"io"
	"os"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/outfile"
	"heddle/traces/tracefile"
)

// ExportOptions are the options of the function Export.
type ExportOptions struct {
	Input  string // path of the trace to export
	Format *format.Format
	// which of the format's tables to write, if it has such
	Table string `flag:"table" suggest:"tables" text:"for parquet, the TABLE to write" of:"TABLE"`
	// path of the file to write; no file may have this path yet
	Output string `flag:"output,o" text:"write to FILE, which must not exist; - is stdout" of:"FILE" without:"-"`
	// Topology is the path of a second new file, for the nodes of the cluster;
	// if it is empty, no such file is written.
	Topology string `flag:"topology" text:"write the nodes to FILE, if the format has such a file" of:"FILE"`
}

// ErrList is the error for exporting a list of jobs, which has no tasks, to a
// format that needs tasks.
var ErrList = errors.New("it is a list of jobs")

// Export writes a trace in the format of another tool. If the option Output is
// empty, it writes to the argument out. It returns notes on what had to be left
// out, because the format cannot express it.
func Export(o ExportOptions, out io.Writer) (notes []string, err error) {
	in, err := tracefile.Open(o.Input)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if in.Header().List != nil && !o.Format.Lists {
		return nil, fmt.Errorf("export %s: %w, and %s holds tasks that ran: "+
			"\"heddle replay --out FILE\" makes a trace with tasks of it", o.Input, ErrList, o.Format.Name)
	}
	if o.Topology != "" {
		if err := o.topology(in); err != nil {
			return nil, fmt.Errorf("export %s: %w", o.Input, err)
		}
	}
	e := &format.Export{Header: in.Header(), Events: in.All(), Path: o.Input, Out: out, Table: o.Table}
	write := func() error {
		notes, err = o.Format.Write(e)
		return errors.Join(err, in.Err())
	}
	if o.Output == "" {
		err = write()
	} else {
		err = outfile.Create(o.Output, func(f *os.File) error { e.Out = f; return write() })
	}
	if err != nil {
		return notes, fmt.Errorf("export %s: %w", o.Input, err)
	}
	return notes, nil
}

// topology writes the topology file, which lists the nodes that run tasks.
func (o ExportOptions) topology(in *tracefile.Reader) error {
	if o.Format.Topology == nil {
		return fmt.Errorf("%s has no topology file", o.Format.Name)
	}
	var workers []traces.NodeFacts
	for _, n := range in.Header().Cluster.Nodes {
		if n.Worker {
			workers = append(workers, n)
		}
	}
	return outfile.Create(o.Topology, func(f *os.File) error { return o.Format.Topology.Write(f, workers) })
}
