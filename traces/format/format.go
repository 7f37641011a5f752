// Package format describes the trace formats of other tools: how heddle detects,
// reads and writes their files. The package of each format has a value of type
// Format, and package exchange has the list of them.
package format

import (
	"fmt"
	"io"
	"iter"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
)

// Format is one format. Detect and NewReader are nil if heddle only writes it,
// Write is nil if heddle only reads it.
type Format struct {
	Name  string
	About string // for help: what the files are
	// Origin and Model go into the headers of imported traces.
	Origin traces.Origin
	Model  string

	// Detect reports whether a file that begins with head has this format.
	Detect    func(head []byte) bool
	NewReader func(*Import) Reader
	// Flags returns the command line flags that only this format has.
	Flags func(*Options) []Flag

	// Write writes a trace. The notes say what it had to leave out.
	Write func(*Export) (notes []string, err error)
	// Folder is true if Write writes several files into a folder.
	Folder bool
	// Lists is true if Write can write lists of jobs.
	Lists bool

	// Topology is a second kind of file, with the nodes of the cluster; nil means
	// that the format has none.
	Topology *Topology
}

// Topology detects, reads and writes files with the nodes of a cluster.
type Topology struct {
	Detect func(head []byte) bool
	Read   func(io.Reader) ([]traces.NodeFacts, error)
	Write  func(io.Writer, []traces.NodeFacts) error
}

// Reader turns the files of one format into events.
type Reader interface {
	// Read reads one file. It is called once for each file.
	Read(in io.Reader) error
	// Finish completes the header, which already has the nodes. change, if it is
	// not nil, may then change each scheduled map before it is written.
	Finish(h *traces.Header) (change func(*traces.TaskScheduled), err error)
}

// Options are the options of an import that readers need.
type Options struct {
	// Replication is the number of hosts that a split gets, if the format has only
	// one.
	Replication int
	// Rules are kept with lists of jobs.
	Rules traces.ListRules
	// Seed is the seed of random numbers.
	Seed uint64
}

// Import is an import as its Reader sees it.
type Import struct {
	Options
	// Log takes notes of defects.
	Log *mend.Log
	// Racks knows the racks of hosts that a file names without their rack.
	Racks *racks.Table
	// Add adds an event to the trace. Its T may count from 1970, as in most
	// files, or from any other time.
	Add func(traces.Event) error
	// Host adds a host to the cluster. The rack may be empty.
	Host func(name, rack string) error
	// Records is the number of objects, lines or histories read so far.
	Records int

	jobs map[string]int // by id
}

// JobID returns an id that no job had before. If a job had the given id, it calls
// again and appends a suffix. If the given id is empty, it makes one.
func (im *Import) JobID(given string, again func() error) (traces.JobID, error) {
	if im.jobs == nil {
		im.jobs = map[string]int{}
	}
	if given == "" {
		given = fmt.Sprintf("job_0_%04d", len(im.jobs)+1)
	}
	id := given
	for im.jobs[id] > 0 {
		if id == given {
			if err := again(); err != nil {
				return "", err
			}
		}
		im.jobs[given]++
		id = fmt.Sprintf("%s.%d", given, im.jobs[given])
	}
	im.jobs[id]++
	return traces.JobID(id), nil
}

// Flag is a command line flag with a number.
type Flag struct {
	Name, Usage string
	Unit        Unit
	Default     int64
	Set         func(int64)
}

// Unit is the unit of a Flag's number.
type Unit int

// Units.
const (
	Things Unit = iota
	Bytes
	BytesPerSecond
	Milliseconds
)

// Export is a trace that is to be written, and where to.
type Export struct {
	Header traces.Header
	Events iter.Seq[traces.Event]
	// Jobs has the same events, job by job.
	Jobs iter.Seq2[*byjob.Job, error]
	// Out is the file to write to; Folder is the folder, if the format needs one.
	Out    io.Writer
	Folder string
}

// Racks returns the racks of the trace's nodes.
func (e *Export) Racks() map[traces.Node]string {
	racks := map[traces.Node]string{}
	for _, n := range e.Header.Cluster.Nodes {
		racks[n.Node] = n.Rack
	}
	return racks
}

// SplitLevel returns the locality of a host at to the hosts of a split. If no host
// is the same, the racks decide; an empty rack is unknown, and makes the level
// unknown unless another host is in the same rack.
func SplitLevel[Host any](at Host, split []Host, name, rack func(Host) string) traces.Level {
	for _, h := range split {
		if name(h) == name(at) {
			return traces.LevelNode
		}
	}
	own, level := rack(at), traces.LevelOff
	for _, h := range split {
		switch of := rack(h); {
		case of == "" || own == "":
			level = traces.LevelUnknown
		case of == own:
			return traces.LevelRack
		}
	}
	return level
}
