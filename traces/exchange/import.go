package exchange

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/internal/invent"
	"heddle/traces/internal/racks"
	"heddle/traces/jhist"
	"heddle/traces/mend"
	"heddle/traces/rumen"
	"heddle/traces/sls"
	"heddle/traces/tracefile"
)

// ImportOptions say what to import and how.
type ImportOptions struct {
	Inputs []string // of one form, and topologies
	Form   Form     // empty: told by the content
	Output string   // the trace; a file of that name is replaced
	Writer string   // the program, for the header
	// Strict refuses what is otherwise mended.
	Strict bool
	// Nodes and Racks make up a cluster for traces that name no host; 0 none.
	Nodes, Racks int
	// Replication is how many hosts a split gets where the form has one or none.
	Replication int
	// Rules make up what lists of jobs lack.
	Rules traces.ListRules
	// Seed is of what is drawn.
	Seed uint64
	// Progress, where set, is told the jobs and events so far.
	Progress func(jobs int, events int64)
}

// DefaultImport has the options' defaults.
var DefaultImport = ImportOptions{Replication: traces.DefaultListRules.Replication, Racks: 1, Rules: traces.DefaultListRules, Seed: 1}

// Imported is what an import made.
type Imported struct {
	Form      Form           `json:"form"`
	Output    string         `json:"output"`
	Jobs      int            `json:"jobs"`
	Events    int64          `json:"events"`
	Nodes     int            `json:"nodes"`
	Seed      uint64         `json:"seed"`
	Synthetic []string       `json:"synthetic"`
	Mended    map[string]int `json:"mended"`
	// RacklessHosts are named, and in no place with their rack; RacklessAttempts
	// ran there. How near maps were is unknown where it takes such a rack.
	RacklessHosts    int `json:"racklessHosts,omitempty"`
	RacklessAttempts int `json:"racklessAttempts,omitempty"`
	// First is where the first mend of each kind was, and what it was about.
	First map[string]string `json:"first,omitempty"`
}

// maxMadeUp bounds the tasks of forms that only count them, where a line may ask
// for a million.
const maxMadeUp = 20_000_000

// NoJobsError says that an import has no job to make a trace of.
type NoJobsError struct {
	Read int // records, lines or histories
	// Mended has what was done to them, by kind, with the place of the first.
	Mended []string
}

func (e *NoJobsError) Error() string {
	if len(e.Mended) == 0 {
		return fmt.Sprintf("import: there is no job in the files: %d records were read; no trace is written", e.Read)
	}
	return fmt.Sprintf("import: no job is left of the files: %d records were read whole; no trace is written\n  %s", e.Read, strings.Join(e.Mended, "\n  "))
}

// Import makes a trace of files of another form. Nothing is left of it where it
// fails, or where the files have no job.
func Import(ctx context.Context, o ImportOptions) (*Imported, error) {
	o.Rules.Replication = o.Replication
	if err := o.Rules.Validate(); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	im := newImporter(ctx, o, &racks.Table{})
	err := im.read()
	if err == nil && im.racks.Late() {
		// Some hosts' racks were told only after they were needed.
		err = im.sorter.Close()
		im = newImporter(ctx, o, im.racks.Again())
		if err == nil {
			err = im.read()
		}
	}
	if err == nil && im.jobs == 0 {
		err = im.noJobs()
	}
	if err == nil {
		err = im.write()
	}
	if err = errors.Join(err, im.sorter.Close()); err != nil {
		return nil, err
	}
	r := &Imported{
		Form: im.form, Output: o.Output, Jobs: im.jobs, Events: im.sorter.Count(), Nodes: len(im.header.Cluster.Nodes), Seed: o.Seed,
		Synthetic: im.header.Synthetic, Mended: im.log.Counts(), First: map[string]string{},
		RacklessHosts: im.nodes.rackless(), RacklessAttempts: im.racklessAttempts,
	}
	for kind := range r.Mended {
		r.First[kind] = im.log.First(kind)
	}
	return r, nil
}

func newImporter(ctx context.Context, o ImportOptions, rackOf *racks.Table) *importer {
	return &importer{
		ctx: ctx, o: o, log: &mend.Log{Strict: o.Strict}, racks: rackOf, nodes: newNodes(rackOf),
		sorter: tracefile.NewSorter(filepath.Dir(o.Output)), submitted: math.MaxInt64, listed: map[string]int{},
	}
}

type importer struct {
	ctx    context.Context
	o      ImportOptions
	log    *mend.Log
	form   Form
	racks  *racks.Table
	nodes  *nodes
	sorter *tracefile.Sorter
	header traces.Header

	records   int // read: objects, lines, histories
	jobs      int
	madeUp    int64       // tasks
	submitted traces.Time // the first job's
	// racklessAttempts is counted while the trace is written.
	racklessAttempts int
	rumen            *rumen.Reader
	sls              *sls.Reader
	listed           map[string]int // jobs of lists, by id
	histories        map[traces.JobID]bool
}

// Mends of whole files.
var (
	badCompression = mend.Kind{Wrong: "a compressed file that is damaged or cut off", Done: "read up to there"}
	cutHistory     = mend.Kind{Wrong: "a history that ends inside an event", Done: "read without that event"}
	badEvents      = mend.Kind{Wrong: "an event of a history that does not fit its schema", Done: "left out"}
	historyAgain   = mend.Kind{Wrong: "a second history of a job", Done: "left out"}
	noHistoryJob   = mend.Kind{Wrong: "a history without a job", Done: "left out"}
	impossibleTime = mend.Kind{Wrong: "a time before 1970 or after 2200", Done: "taken as that of the job's submission"}
	hugeIndex      = mend.Kind{Wrong: "a task's or attempt's number over the limit", Done: "left out"}
	oddCount       = mend.Kind{Wrong: "a count below 0 or over 2^60", Done: "taken as not reported"}
	oddTotal       = mend.Kind{Wrong: "a number of tasks below 0 or over the limit", Done: "taken as that of the tasks in the history"}
)

// read reads topologies first, since made-up hosts depend on them.
func (im *importer) read() error {
	var inputs []string
	for _, path := range im.o.Inputs {
		topology, err := im.readTopology(path)
		if err != nil {
			return fmt.Errorf("import %s: %w", path, err)
		}
		if !topology {
			inputs = append(inputs, path)
		}
	}
	if len(inputs) == 0 {
		return errors.New("import: there is no trace among the files, only topologies")
	}
	if im.o.Nodes > 0 {
		if len(im.nodes.listed) > 0 {
			return errors.New("import: there is a topology, so no cluster can be made up")
		}
		if err := im.nodes.makeUp(im.o.Nodes, im.o.Racks); err != nil {
			return err
		}
	}
	for _, path := range inputs {
		if err := im.readFile(path); err != nil {
			return fmt.Errorf("import %w", err)
		}
	}
	return nil
}

// readTopology reads a file if it is a topology; false where it is none.
func (im *importer) readTopology(path string) (bool, error) {
	in, err := openFile(im.ctx, path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	head, _ := in.Peek(headBytes)
	switch detect(head) {
	case rumenTopology:
		hosts, err := rumen.ReadTopology(in)
		if err != nil {
			return true, err
		}
		for _, h := range hosts {
			im.nodes.list(traces.NodeFacts{Node: traces.Node(h.Name), Rack: h.Rack})
		}
	case slsTopology:
		nodes, err := sls.ReadTopology(in)
		if err != nil {
			return true, err
		}
		for _, n := range nodes {
			im.nodes.list(traces.NodeFacts{Node: traces.Node(n.Name), Rack: n.Rack, MemoryBytes: n.MemoryMB << 20, VCores: int32(n.VCores)})
		}
	default:
		return false, nil
	}
	return true, im.input(path, in)
}

// input notes a file in the header.
func (im *importer) input(path string, in *file) error {
	sum, damage, err := in.sum()
	if err != nil {
		return err
	}
	im.header.Inputs = append(im.header.Inputs, traces.Input{Name: filepath.Base(path), SHA256: sum})
	if damage != nil {
		return im.log.Add(badCompression, "its end", damage.Error())
	}
	return nil
}

func (im *importer) readFile(path string) error {
	in, err := openFile(im.ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	im.log.File = path
	form := im.o.Form
	if form == "" {
		head, err := in.Peek(headBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", path, err)
		}
		if form = detect(head); form == "" {
			return fmt.Errorf("%s: its content is that of no known form; --from says which it is", path)
		}
	}
	if im.form != "" && im.form != form {
		return fmt.Errorf("%s: it is of form %s, the files before it of %s: import one form at a time", path, form, im.form)
	}
	im.form = form
	read := map[Form]func(io.Reader) error{Rumen: im.readRumen, SLS: im.readSLS, SWIM: im.readSWIM, JobHistory: im.readHistory}[form]
	if read == nil {
		return fmt.Errorf("%s: form %q cannot be imported; known are %v", path, form, Imports)
	}
	if err := read(in); err != nil {
		return fileError(path, err)
	}
	return fileError(path, im.input(path, in))
}

// fileError names the file, which errors of strict imports do themselves.
func fileError(path string, err error) error {
	if err == nil || len(err.Error()) > len(path) && err.Error()[:len(path)] == path {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// add takes in an event.
func (im *importer) add(e traces.Event) error {
	if e.Kind() == traces.KindJobSubmitted || e.Kind() == traces.KindJobListed {
		im.jobs++
		im.submitted = min(im.submitted, e.At())
		if err := im.ctx.Err(); err != nil {
			return err
		}
		if im.o.Progress != nil && im.jobs%256 == 0 {
			im.o.Progress(im.jobs, im.sorter.Count())
		}
	}
	var err error
	switch e := e.(type) {
	case *traces.AttemptStarted:
		err = im.nodes.use(e.Node, e.Rack, im.log)
	case *traces.AttemptFinished:
		err = im.nodes.use(e.Node, "", im.log)
	case *traces.JobStarted:
		err = im.nodes.use(e.AMNode, "", im.log)
	case *traces.TaskScheduled:
		for _, h := range e.SplitHosts {
			err = errors.Join(err, im.nodes.see(h, "", im.log))
		}
	}
	if err != nil {
		return err
	}
	return im.sorter.Add(e)
}

// makeUp takes in that a file asks for tasks without listing them.
func (im *importer) makeUp(tasks int64) error {
	if im.madeUp += tasks; im.madeUp > maxMadeUp {
		return fmt.Errorf("the files ask for over %d tasks, the most that is made up: import fewer jobs at a time", maxMadeUp)
	}
	return nil
}

func (im *importer) readRumen(in io.Reader) error {
	if im.rumen == nil {
		im.rumen = rumen.NewReader(in, im.log)
		im.rumen.KeepRest, im.rumen.Racks = true, im.racks
	} else {
		im.rumen.Reset(in)
	}
	for im.rumen.Next() {
		im.records++
		events, err := im.rumen.Events()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := im.add(e); err != nil {
				return err
			}
		}
	}
	for _, h := range im.rumen.Hosts()[1:] {
		if err := im.nodes.see(traces.Node(h.Name), h.Rack, im.log); err != nil {
			return err
		}
	}
	return im.rumen.Err()
}

func (im *importer) readSLS(in io.Reader) error {
	if im.sls == nil {
		im.sls = sls.NewReader(in, im.log)
	} else {
		im.sls.Reset(in)
	}
	for im.sls.Next() {
		im.records++
		job, tasks := im.sls.Job(), int64(0)
		for i := range job.Tasks {
			tasks += job.Tasks[i].Count
		}
		if err := im.makeUp(tasks * job.Count); err != nil {
			return err
		}
		if err := im.sls.Events(im.add); err != nil {
			return err
		}
	}
	return im.sls.Err()
}

func (im *importer) readHistory(in io.Reader) error {
	im.records++
	job, stats, err := jhist.Parse(in)
	var cut *jhist.CutOffError
	switch {
	case errors.As(err, &cut):
		if err := im.log.Add(cutHistory, fmt.Sprintf("byte %d", cut.Offset), cut.Err.Error()); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if stats.Unreadable > 0 {
		for range stats.Unreadable {
			if err := im.log.Add(badEvents, "an event", stats.FirstUnreadable); err != nil {
				return err
			}
		}
	}
	id := traces.JobID(job.ID)
	if id == "" {
		return im.log.Add(noHistoryJob, "its end", "no event names a job")
	}
	if im.histories == nil {
		im.histories = map[traces.JobID]bool{}
	}
	if im.histories[id] {
		return im.log.Add(historyAgain, "its name", job.ID)
	}
	im.histories[id] = true
	im.placeHosts(job)
	return im.addHistory(jhist.Events(job, 0), job)
}

// placeHosts gives a job the racks that its history may lack: those of attempts
// that were never launched, and of their splits' hosts.
func (im *importer) placeHosts(job *jhist.Job) {
	own := job.Racks()
	for host, rack := range own {
		im.racks.Tell(host, rack)
	}
	job.HostRacks = map[traces.Node]string{}
	place := func(host string) {
		if rack := im.racks.Of(host); rack != "" && own[host] == "" {
			job.HostRacks[traces.Node(host)] = rack
		}
	}
	for _, t := range job.Tasks {
		for _, a := range t.Attempts {
			if a.StartMs != 0 || a.Host == "" {
				continue
			}
			place(a.Host)
			for _, h := range t.SplitHosts {
				place(h)
			}
		}
	}
}

// noJobs is the error of an import that has no job.
func (im *importer) noJobs() error {
	e := &NoJobsError{Read: im.records}
	for _, kind := range slices.Sorted(maps.Keys(im.log.Counts())) {
		e.Mended = append(e.Mended, fmt.Sprintf("%d times: %s; first at %s", im.log.Counts()[kind], kind, im.log.First(kind)))
	}
	return e
}

// write gives the trace its header and puts everything in order.
func (im *importer) write() error {
	h := &im.header
	h.Origin = traces.Imported
	if im.form == JobHistory {
		h.Origin, h.Model = traces.Recovered, "yarn"
	}
	h.Writer, h.Seed, h.Mended = im.o.Writer, im.o.Seed, im.log.Counts()
	h.Settings = map[string]string{"import.form": string(im.form)}
	var shift traces.Time
	if im.submitted >= datedNs && im.submitted < math.MaxInt64 {
		shift = im.submitted
		h.StartUnixNs = int64(shift)
	}
	if im.form == SLS && len(im.nodes.seen) == 0 && len(im.nodes.listed) == 0 {
		if n, racks := im.sls.Counts(); n > 0 {
			if err := im.nodes.makeUp(int(n), int(racks)); err != nil {
				return err
			}
			h.Synthetic = append(h.Synthetic, "nodes")
		}
	}
	if im.o.Nodes > 0 {
		if len(im.nodes.seen) > 0 {
			return errors.New("import: the jobs name their hosts, so no cluster can be made up")
		}
		h.Synthetic = append(h.Synthetic, "nodes")
	}
	h.Cluster.Nodes = im.nodes.facts()
	replicas := im.replicas()
	switch im.form {
	case SLS:
		if im.sls.Scheduled() {
			h.Synthetic = append(h.Synthetic, "schedule")
		}
	case SWIM:
		h.Synthetic = append(h.Synthetic, "tasks", "durations", "schedule", "replicas")
		h.List = &im.o.Rules
	}
	move := &retime{}
	move.when = func(t traces.Time) traces.Time { return t - shift }
	move.other = move.when
	return im.sorter.WriteFile(im.o.Output, *h, func(e traces.Event) {
		e.Fields(move)
		switch e := e.(type) {
		case *traces.TaskScheduled:
			if replicas != nil && e.Task.Kind == traces.Map {
				replicas(e)
			}
		case *traces.AttemptStarted:
			if e.Rack = cmp.Or(e.Rack, im.racks.Of(string(e.Node))); e.Rack == "" && e.Node != "" {
				im.racklessAttempts++
			}
		case *traces.AttemptFinished:
			if e.Node != "" && im.racks.Of(string(e.Node)) == "" {
				im.racklessAttempts++
			}
		}
	})
}

// datedNs is where times are taken for dates: 1973.
const datedNs = 1e17

// replicas adds hosts to splits of a form that has one at most, nil where there
// is nothing to add.
func (im *importer) replicas() func(*traces.TaskScheduled) {
	if im.form != SLS || im.o.Replication < 2 || len(im.header.Cluster.Nodes) < 2 {
		return nil
	}
	placer := invent.NewPlacer(im.header.Cluster.Nodes)
	im.header.Synthetic = append(im.header.Synthetic, "replicas")
	im.header.Settings["import.replication"] = strconv.Itoa(im.o.Replication)
	return func(s *traces.TaskScheduled) {
		var writer traces.Node
		if len(s.SplitHosts) > 0 {
			writer = s.SplitHosts[0]
		}
		s.SplitHosts = placer.Replicas(slices.Clip(s.SplitHosts[:0]), writer, im.o.Replication,
			im.o.Seed, traces.HashName(string(s.Task.Job)), uint64(s.Task.Index))
	}
}
