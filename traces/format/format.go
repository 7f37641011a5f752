// Package format describes the trace formats of other tools: how heddle detects,
// reads and writes their files. The package of each format has a value of type
// Format, and package exchange has the list of them.
package format

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"heddle/traces"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
)

// Format is the trace format of another tool. Detect and NewReader are nil if
// heddle only writes the format; Write is nil if heddle only reads it.
type Format struct {
	Name  string
	About string // description of the format's files, for the help text
	// Origin (how a trace was made) and Model (the name of the scheduler model)
	// are written into the headers of traces that are imported from this format.
	Origin traces.Origin
	Model  string

	// Detect reports whether a file that begins with the bytes head has this
	// format.
	Detect    func(head []byte) bool
	NewReader func(*Import) Reader

	// Write writes a trace in this format. It returns notes on what had to be
	// left out, because the format cannot express it.
	Write func(*Export) (notes []string, err error)
	// Tables are the names of the tables of which a file has one; nil if the format
	// has no such choice.
	Tables []string
	// Lists is true if Write also accepts traces that are lists of jobs without
	// tasks.
	Lists bool

	// Topology describes the format's second kind of file, which lists the nodes
	// of the cluster; nil means that the format has no such file.
	Topology *Topology
}

// Topology detects, reads and writes files that list the nodes of a cluster and
// their racks.
type Topology struct {
	// Table is true for files that tell the racks of machines, but not which of them
	// are nodes of the cluster.
	Table  bool
	Detect func(head []byte) bool
	Read   func(io.Reader) ([]traces.NodeFacts, error)
	Write  func(io.Writer, []traces.NodeFacts) error
}

// Reader reads files of one format and turns their contents into events of a
// trace.
type Reader interface {
	// Read reads one input file. An import calls it once for each file.
	Read(in io.Reader) error
	// Finish sets the parts of the header that only the reader knows; the header
	// already has the nodes. If the result change is not nil, the import calls
	// this function for each TaskScheduled event of a map before it writes the
	// event, so that the Reader can add hosts to the map's split.
	Finish(h *traces.Header) (change func(*traces.TaskScheduled), err error)
}

// Options are those options of an import that the readers of formats need.
type Options struct {
	// Replication is the number of hosts that a map's split gets if the format
	// has only one host for each split.
	Replication int `flag:"replication" text:"hosts of a split that are made up; swim: copies of a block"`
	// Rules are written into the header of a trace that is a list of jobs without
	// tasks. They say which tasks a replay makes for each job.
	Rules traces.ListRules `flag:"*"`
	// Seed is the seed of the random numbers for what an import makes up.
	Seed uint64 `flag:"seed" text:"SEED of what is made up" of:"SEED"`
}

// Import is what the Reader of a format needs from a running import: options,
// and functions that take what was read.
type Import struct {
	Options
	// Log records the defects that the Reader finds.
	Log *mend.Log
	// Racks finds the rack of a host that a file names without its rack.
	Racks *racks.Table
	// Add adds an event to the trace. The time T of the event may count from
	// 1970, as in most files, or from any other time.
	Add func(traces.Event) error
	// Host adds a host to the nodes of the cluster. rack is empty if it is not
	// known.
	Host func(name, rack string) error
	// Records is the number of JSON objects, lines or job histories that were
	// read so far.
	Records int

	// Better has the jobs of which a better record was found after another was read, each
	// with the number of that record. If there are any, the files are read again, with
	// these as Chosen.
	Better, Chosen map[string]int

	jobs map[string]int // for each job id, the number of jobs read so far that had it
}

// Finish implements Reader, for readers that have nothing to add to the header.
func (*Import) Finish(*traces.Header) (func(*traces.TaskScheduled), error) { return nil, nil }

// JobAgain is the defect of two jobs with one id, which JobID mends.
var JobAgain mend.Kind = "a job's id that came before: given a suffix"

// LatestMs is the latest time that an import accepts, in milliseconds since 1970: a
// time in the year 2200.
const LatestMs = 7258118400000

// JobID returns an id that no other job of the import has. If an earlier job
// had the given id, JobID appends a suffix to the id. Before that it calls the
// function again, which records that the id was used twice. If the given id is
// empty, JobID makes one.
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

// Export is a trace that is to be written in another format, and the file or
// folder for it.
type Export struct {
	Header traces.Header
	Events iter.Seq[traces.Event]
	Path   string // of the trace, for byjob.Jobs
	Out    io.Writer
	// Table is the one of the format's Tables to write.
	Table string
}

// Priorities are the names of Hadoop's job priorities. YARN numbers them from 1
// (VERY_LOW) to 5 (VERY_HIGH).
var Priorities = []string{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"}

// Priority returns YARN's number of a job priority; 0 if it has no such name.
func Priority(name string) int32 { return int32(slices.Index(Priorities, name) + 1) }

// mostMB and mostVCores are the largest container of which the size is believed.
const mostMB, mostVCores = 1 << 24, 1 << 14

// Properties sets the sizes of a job's containers, and its slow start, from the values of its
// properties. What they do not say stays unknown.
func Properties(e *traces.JobSubmitted, mapMB, reduceMB, mapVCores, reduceVCores, slowStart string) {
	e.MapMemoryBytes, e.ReduceMemoryBytes = Memory(mapMB), Memory(reduceMB)
	e.MapVCores, e.ReduceVCores = int32(whole(mapVCores, mostVCores)), int32(whole(reduceVCores, mostVCores))
	e.SlowStart = share(slowStart)
}

// Memory returns the bytes of the MiB that a property says; 0 if it says none.
func Memory(mb string) int64 { return whole(mb, mostMB) << 20 }

// whole returns the number from 1 to most that a property says; 0 if it says none.
func whole(property string, most int64) int64 {
	n, err := strconv.ParseInt(property, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0
	}
	return n
}

// share returns the share from 0 to 1 that a property says; 0 if it says none.
func share(property string) float64 {
	x, err := strconv.ParseFloat(property, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return 0
	}
	return x
}

// SplitLevel returns the locality of a host to the hosts of a split: node if
// the host is one of them, rack if one of them is in the host's rack, off
// otherwise. If a rack that is not known (empty) decides between rack and off,
// the result is LevelUnknown.
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
