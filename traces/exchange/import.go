package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/hosts"
	"heddle/traces/internal/invent"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
	"heddle/traces/swim"
	"heddle/traces/tracefile"
)

// ImportOptions are the options of the function Import.
type ImportOptions struct {
	format.Options
	// Inputs are the paths of the input files, all of one format, and of topology files;
	// or of folders, such as the history server's, of which all histories are read.
	Inputs []string
	Format *format.Format // format of the input files; nil means that it is detected from their content
	// path of the trace to write; a file with this path is replaced
	Output string `flag:"output,o" text:"write the trace to FILE, which must not exist" of:"FILE"`
	Writer string // name and version of the program, for the header of the trace
	// Strict makes the import fail at the first defect in an input file.
	Strict bool `flag:"strict" text:"refuse what is otherwise mended and counted"`
	// Partial makes the import go on if more than one job, and more than 1 % of the
	// jobs, are left out.
	Partial bool `flag:"partial" text:"go on if more than one job, and more than 1 % of the jobs, of another tool's trace are left out"`
	// Nodes and Racks are the numbers of nodes and racks of the cluster that an
	// import makes up if the input files name no hosts. If Nodes is 0, no cluster
	// is made up.
	Nodes int `flag:"nodes" text:"make up a cluster of N nodes for lists of jobs" of:"N" without:"none" min:"1"`
	Racks int `flag:"racks" text:"with --nodes: N racks" of:"N" min:"1"`
	// Progress, if it is not nil, is called now and then.
	Progress func(Progress)
}

// Progress says how far an import is. It reads all files, perhaps again, and then
// writes the trace.
type Progress struct {
	Doing     string // "read", "read again" or "write"
	Done, All int64  // bytes of the files that are read; events of the trace that are written
	Jobs      int    // number of jobs read so far
	Events    int64  // number of their events
}

// DefaultImport has the default values of ImportOptions.
var DefaultImport = ImportOptions{
	Racks: 1, Options: format.Options{Replication: traces.DefaultListRules.Replication, Rules: traces.DefaultListRules, Seed: 1},
}

// Imported describes the result of an import: how much was read, what was made
// up, and which defects were found.
type Imported struct {
	Format    string         `json:"form"`
	Output    string         `json:"output"`
	Jobs      int            `json:"jobs"`
	Events    int64          `json:"events"`
	Nodes     int            `json:"nodes"`
	Seed      uint64         `json:"seed"`
	Synthetic []string       `json:"synthetic"`
	Mended    map[string]int `json:"mended"`
	// RacklessHosts is the number of hosts whose rack none of the input files
	// names. RacklessAttempts is the number of attempts that ran on these hosts.
	RacklessHosts    int `json:"racklessHosts,omitempty"`
	RacklessAttempts int `json:"racklessAttempts,omitempty"`
	// First says, for each kind of defect, where the first one was found: the
	// file, the place in the file, and the job or value.
	First map[string]string `json:"first,omitempty"`
	// LeftOut says what is not in the trace.
	LeftOut []string `json:"leftOut,omitempty"`
}

// Import makes one trace from files of another format. If it fails, or if the
// files have no jobs, it writes no trace.
func Import(ctx context.Context, o ImportOptions) (*Imported, error) {
	o.Rules.Replication = o.Replication
	if err := o.Rules.Validate(); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	im := newImporter(ctx, o, &racks.Table{})
	err := im.readAll()
	same := im.nodes.names.Same()
	if err == nil && (im.Racks.Late() || len(same) > 0 || len(im.Better) > 0) {
		// Some files name a host without its rack before another place names the
		// rack, or one machine in two ways, or a better history of a job came late.
		// All files are read again, now that it is known.
		if err = im.sorter.Close(); err == nil {
			chosen := im.Better
			im = newImporter(ctx, o, im.Racks.Again(same))
			im.doing, im.Chosen = "read again", chosen
			err = im.readAll()
		}
	}
	if err == nil {
		err = im.nodes.tell(same)
	}
	if err == nil && im.jobs == 0 {
		err = im.noJobs()
	} else if err == nil && !o.Partial {
		err = im.tooFew()
	}
	if err == nil {
		err = im.write()
	}
	if err = errors.Join(err, im.sorter.Close()); err != nil {
		return nil, err
	}
	r := &Imported{
		Format: im.names(), Output: o.Output, Jobs: im.jobs, Events: im.sorter.Count(), Nodes: len(im.header.Cluster.Nodes), Seed: o.Seed,
		Synthetic: im.header.Synthetic, Mended: im.Log.Counts(), First: map[string]string{},
		RacklessHosts: im.nodes.rackless(), RacklessAttempts: im.racklessAttempts, LeftOut: im.mended(im.Log.Loses),
	}
	for kind := range r.Mended {
		r.First[kind] = im.Log.First(kind)
	}
	return r, nil
}

func newImporter(ctx context.Context, o ImportOptions, rackOf *racks.Table) *importer {
	log := &mend.Log{Strict: o.Strict}
	im := &importer{
		ctx: ctx, o: o, doing: "read", nodes: newNodes(rackOf, log),
		sorter: tracefile.NewSorter(filepath.Dir(o.Output)), submitted: math.MaxInt64,
	}
	im.Import = format.Import{
		Options: o.Options, Log: log, Racks: rackOf, Add: im.add, Better: map[string]int{},
		Host: func(name, rack string) error { return im.nodes.see(traces.Node(name), rack) },
	}
	return im
}

type importer struct {
	format.Import
	ctx     context.Context
	o       ImportOptions
	formats []*format.Format // of the files so far, each with its reader
	readers []format.Reader
	nodes   *nodes
	sorter  *tracefile.Sorter
	header  traces.Header

	doing     string       // see Progress
	read      atomic.Int64 // bytes of the files read so far, and read ahead
	bytes     int64        // bytes of all files
	jobs      int
	before    int                  // jobs before the file that is being read
	folder    hash.Hash            // SHA-256 of the SHA-256s of a folder's files so far; nil outside of a folder
	files     int                  // files of the folder that were read
	submitted traces.Time          // submission time of the earliest job
	task      traces.TaskScheduled // the latest one
	// racklessAttempts is the number of attempts whose host has no known rack.
	// It is counted while the trace is written.
	racklessAttempts int
}

var badCompression mend.Kind = "a compressed file that is damaged or cut off: read up to there (part)"

// The method readAll reads the input files: first the topology files, since they
// decide which hosts are nodes of the cluster.
func (im *importer) readAll() error {
	topologies, others := map[string]bool{}, 0
	if err := im.each(func(path string) error {
		if info, err := os.Stat(path); err == nil { // opening a file that is not there says so
			im.bytes += info.Size()
		}
		topology, err := im.readTopology(path)
		if err != nil {
			return fmt.Errorf("import %s: %w", path, err)
		}
		if others++; topology {
			others, topologies[path] = others-1, true
		}
		return nil
	}); err != nil {
		return err
	}
	if others+len(topologies) == 0 {
		return fmt.Errorf("import: there is no file in %s", strings.Join(im.o.Inputs, ", "))
	}
	if others == 0 {
		return errors.New("import: there is no trace among the files, only topologies")
	}
	if im.o.Nodes > 0 {
		if len(im.nodes.listed)+len(im.nodes.tables) > 0 {
			return errors.New("import: there is a topology, so no cluster can be made up")
		}
		nodes, err := invent.Nodes(im.o.Nodes, im.o.Racks)
		if err != nil {
			return err
		}
		im.nodes.list(nodes)
	}
	return im.each(func(path string) error {
		if topologies[path] {
			return nil
		}
		if err := im.readFile(path); err != nil {
			return fmt.Errorf("import %w", err)
		}
		return im.ctx.Err()
	})
}

// readTopology reports whether a file is a topology file. If so, it reads the
// nodes in it. By its name, a history in a folder is none.
func (im *importer) readTopology(path string) (bool, error) {
	if im.folder != nil && isHistory(path) {
		return false, nil
	}
	in, err := openFile(im.ctx, path, &im.read)
	if err != nil {
		return false, err
	}
	defer in.Close()
	head, _ := in.head() // readFile meets the error
	t := topology(head)
	if t == nil {
		return false, nil
	}
	nodes, err := t.Read(in)
	if err != nil {
		return true, err
	}
	if t.Table {
		im.nodes.table(nodes)
	} else {
		im.nodes.list(nodes)
	}
	return true, im.input(path, in)
}

// topology returns the reader of a topology file that begins with the bytes head, or nil
// if it is none.
func topology(head []byte) *format.Topology {
	if detect(head) != nil || tracefile.Foreign(head) == tracefile.OwnTrace {
		return nil
	}
	for _, f := range Formats {
		if f.Topology != nil && f.Topology.Detect(head) {
			return f.Topology
		}
	}
	return nil
}

// detect returns the format of a file that begins with the bytes head, or nil if
// no format accepts it.
func detect(head []byte) *format.Format {
	for _, f := range Formats {
		if f.Detect != nil && f.Detect(head) {
			return f
		}
	}
	return nil
}

// unread says what a file is that begins with the bytes head and that no format accepts.
func unread(head []byte) string {
	if is := tracefile.Foreign(head); is != "" {
		return "it is " + is
	}
	return fmt.Sprintf("it is of no known format; those that can be imported are %s; as a list of jobs, %s",
		Names(CanRead), swim.Wrong(head))
}

// The method input names an input file that was read, with its SHA-256, in the
// header of the trace.
func (im *importer) input(path string, in *file) error {
	sum, damage, err := in.sum()
	if err != nil {
		return err
	}
	if im.folder != nil {
		fmt.Fprintln(im.folder, sum)
		im.files++
	} else {
		im.header.Inputs = append(im.header.Inputs, traces.Input{Name: filepath.Base(path), SHA256: sum})
	}
	if damage != nil {
		im.Log.LostJobs += max(1, im.jobs-im.before) // nobody knows how many the rest has
		return im.Log.Add(badCompression, "its end", damage.Error())
	}
	return nil
}

func (im *importer) readFile(path string) error {
	im.Log.File, im.before = path, im.jobs
	in, err := openFile(im.ctx, path, &im.read)
	if err != nil {
		return im.strange(path, err)
	}
	defer in.Close()
	head, err := in.head()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, told := detect(head), im.o.Format
	if f == nil && (told == nil || tracefile.Foreign(head) != "") {
		return im.strange(path, fmt.Errorf("%s: %s", path, unread(head)))
	}
	if f != nil && told != nil && told != f {
		return fmt.Errorf("%s: --from %s, but it is of format %s: %s", path, told.Name, f.Name, f.About)
	}
	f = cmp.Or(told, f)
	k := slices.Index(im.formats, f)
	if k < 0 && len(im.formats) > 0 && (f.Origin != traces.Recovered || im.formats[0].Origin != traces.Recovered) {
		return fmt.Errorf("%s: it is of format %s, the files before it of %s: import one format at a time", path, f.Name, im.names())
	}
	if k < 0 {
		k, im.formats, im.readers = len(im.formats), append(im.formats, f), append(im.readers, f.NewReader(&im.Import))
	}
	if err := im.readers[k].Read(in.Reader); err != nil {
		return fileError(path, err)
	}
	return fileError(path, im.input(path, in))
}

// names returns the names of the files' formats.
func (im *importer) names() string {
	var names []string
	for _, f := range im.formats {
		names = append(names, f.Name)
	}
	return strings.Join(names, " and ")
}

// fileError adds the path of the input file to an error, unless the error's
// message begins with that path.
func fileError(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// add adds an event to the trace. It adds the hosts that the event names to the
// nodes of the cluster.
func (im *importer) add(e traces.Event) error {
	if e.Kind().Begins() {
		im.jobs++
		im.submitted = min(im.submitted, e.At())
		if err := im.ctx.Err(); err != nil {
			return err
		}
	}
	if im.sorter.Count()%tellEvery == 0 {
		im.tell(im.read.Load(), im.bytes)
	}
	var err error
	switch e := e.(type) {
	case *traces.AttemptStarted:
		err = im.nodes.use(e.Node, e.Rack)
		if t := &im.task; t.Task == e.Attempt.Task && len(t.SplitHosts) == 1 && t.SplitHosts[0] != e.Node && e.SplitLocality == traces.LevelNode {
			im.nodes.names.Local(string(t.SplitHosts[0]), string(e.Node))
		}
	case *traces.AttemptFinished:
		err = im.nodes.use(e.Node, "")
	case *traces.JobStarted:
		err = im.nodes.use(e.AMNode, "")
	case *traces.SparkExecutor:
		err = im.nodes.use(e.Node, "")
	case *traces.TaskScheduled:
		im.task = *e
		for _, h := range e.SplitHosts {
			im.nodes.names.See(string(h), hosts.Stored)
			err = errors.Join(err, im.nodes.see(h, ""))
		}
	}
	if err != nil {
		return err
	}
	return im.sorter.Add(e)
}

// tellEvery is the number of events between two states of an import.
const tellEvery = 1024

// tell says how far the import is.
func (im *importer) tell(done, all int64) {
	if im.o.Progress != nil {
		im.o.Progress(Progress{Doing: im.doing, Done: min(done, all), All: all, Jobs: im.jobs, Events: im.sorter.Count()})
	}
}
