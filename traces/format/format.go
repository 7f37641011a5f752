// Package format says what a trace format of another tool is to heddle: how its
// files are told from others, and how they are read and written. Each format's
// package has a value of type Format, and package exchange lists them all.
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

// Format is one format. Detect and NewReader are nil for a format that heddle
// only writes, Write for one that it only reads.
type Format struct {
	Name string
	// Origin and Model are those of the traces that NewReader makes.
	Origin traces.Origin
	Model  string

	// Detect is true for a file that begins with head.
	Detect    func(head []byte) bool
	NewReader func(*Import) Reader
	// Flags are options of the import that only this format has.
	Flags func(*Options) []Flag

	// Write writes a trace. The notes say what the format could not hold.
	Write func(*Export) (notes []string, err error)
	// Folder is true for a format of several files.
	Folder bool
	// Lists is true for a format that can hold lists of jobs.
	Lists bool

	// Topology is the format's second file, of the cluster's nodes; nil for none.
	Topology *Topology
}

// Topology reads and writes a file of nodes.
type Topology struct {
	Detect func(head []byte) bool
	Read   func(io.Reader) ([]traces.NodeFacts, error)
	Write  func(io.Writer, []traces.NodeFacts) error
}

// Reader makes events of the files of one format.
type Reader interface {
	// Read reads one file, which is not compressed.
	Read(in io.Reader) error
	// Finish completes the header, which has the cluster's nodes. Each map's
	// event passes through change, unless it is nil, on its way to the trace.
	Finish(h *traces.Header) (change func(*traces.TaskScheduled), err error)
}

// Options are those of an import that formats look at.
type Options struct {
	// Replication is how many hosts a split gets where the format has one or none.
	Replication int
	// Rules make the tasks of lists of jobs.
	Rules traces.ListRules
	// Seed is of what is drawn.
	Seed uint64
}

// Import is what a Reader works with.
type Import struct {
	Options
	// Log takes what was wrong in a file, and what was done about it.
	Log *mend.Log
	// Racks are those of hosts that a file names without one.
	Racks *racks.Table
	// Add takes in an event. Its T is the time since 1970, or whatever the file
	// counts from.
	Add func(traces.Event) error
	// Host takes in a host that a file names; its rack may be empty.
	Host func(name, rack string) error
	// Records counts the objects, lines or histories that were read.
	Records int

	jobs map[string]int // by id
}

// JobID is an id that no job had before: the given one, or one with a suffix, of
// which again is told. A job without an id gets one.
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

// Flag is an option with a number.
type Flag struct {
	Name, Usage string
	Unit        Unit
	Default     int64
	Set         func(int64)
}

// Unit is what a Flag's number counts.
type Unit int

// Units.
const (
	Things Unit = iota
	Bytes
	BytesPerSecond
	Milliseconds
)

// Export is a trace to be written.
type Export struct {
	Header traces.Header
	Events iter.Seq[traces.Event]
	// Jobs are the same events job by job.
	Jobs iter.Seq2[*byjob.Job, error]
	// Out is the file, Folder the folder that is written to.
	Out    io.Writer
	Folder string
}

// Racks are those of the trace's nodes.
func (e *Export) Racks() map[traces.Node]string {
	racks := map[traces.Node]string{}
	for _, n := range e.Header.Cluster.Nodes {
		racks[n.Node] = n.Rack
	}
	return racks
}

// SplitLevel is how near a host is to the hosts of a split. It is unknown where a
// rack that is not known, an empty one, decides between rack and off.
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
