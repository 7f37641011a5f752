package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"heddle/harness/internal/units"
	"heddle/harness/nearest"
	"heddle/hibench"
)

// Workload is one entry of an experiment file's list of workloads. Which keys it
// may have depends on its kind; see workloadKinds.
type Workload struct {
	// Name is the name of the workload: wordcount, sort, terasort, grep, sleep,
	// dfsioe-write, dfsioe-read, kmeans or bayes; join,
	// aggregation or scan, which are queries that Hive runs; streaming; or script, jar or
	// trace, which are the defaults if Script, Jar or Trace is given. A program of another module may have more,
	// see RegisterWorkloads.
	Name string `yaml:"name" text:"One of HiBench's workloads, grep, streaming for synthetic tasks, or trace, which is the default if trace is given." values:"{workloads}"`
	// Params are those parameters of a generated workload whose values differ from the
	// defaults.
	Params map[string]string `yaml:"params,omitempty" text:"Parameters that differ from the defaults, of a workload that this program has of its own."`
	// Script is the folder of a workload below bin/workloads of a HiBench checkout; see
	// hibench.Script.
	Script string `yaml:"script,omitempty" text:"A workload for Hadoop that the scripts of a HiBench checkout prepare and run: its folder below bin/workloads, such as ml/kmeans."`
	// Label is the name of the workload in trials and reports; by default Name.
	// Two workloads with the same Name need different labels.
	Label string `yaml:"label,omitempty" text:"The workload's name in trials and reports; by default its name."`
	// Profile is one of HiBench's input sizes, tiny to bigdata. Size is the
	// input size in bytes instead. Exactly one of Profile and Size must be
	// given.
	Profile string     `yaml:"profile,omitempty" text:"One of HiBench's sizes. Give either this or size." values:"{profiles}"`
	Size    units.Size `yaml:"size,omitempty" text:"The bytes of the input, such as 512MiB. Give either this or profile." max:"1000TiB"`
	// Visits and Pages are the numbers of rows of the two tables that a query
	// reads, in place of Profile. Pages may be missing; then it is 12 for 100
	// visits, as in HiBench.
	Visits int `yaml:"visits,omitempty" text:"Rows of the table uservisits, for join, aggregation and scan. Give either this or profile."`
	Pages  int `yaml:"pages,omitempty" text:"Rows of the table rankings, for join, aggregation and scan; 12 for 100 visits if missing."`
	// Maps is the number of maps that write the input, and so of input files.
	// Reduces is the number of reduces that write the output. If it is 0,
	// which a file cannot say, FillReduces chooses it. A streaming workload with 0 reduces has none.
	Maps    int `yaml:"maps,omitempty" text:"How many files the input has, each written by one map; 8 by default. The job has a map for each block of each file; that of sleep has so many maps."`
	Reduces int `yaml:"reduces,omitempty" text:"How many reduces write the output; by default 8, but at most a quarter of the cluster's slots, shared by the jobs; none for streaming."`
	// Regex is the regular expression that grep looks for.
	Regex string `yaml:"regex,omitempty" text:"The regular expression that grep looks for."`
	// Settings are Hadoop properties of the workload's jobs. They are written
	// to files and sent to YARN, so they must contain no secrets.
	Settings map[string]string `yaml:"settings,omitempty" text:"Hadoop properties of the jobs. No secrets: they are written to files."`
	// Jobs is how many equal jobs of the workload run at the same time on the
	// same input; 0 means 1.
	Jobs int `yaml:"jobs,omitempty" text:"How many equal jobs run at once on the same input; 1 by default." min:"0" max:"100"`
	// Pools are the names of groups of jobs among which a scheduler model, such as
	// fair1, shares slots. The workload's jobs are in them in turn. YARN knows
	// nothing of them. If there are none, each queue is a pool. A trace workload
	// has the pools, or else the queues, of its trace.
	Pools []string `yaml:"pools,omitempty" text:"Groups of jobs among which a model such as fair1 shares slots; the workload's jobs are in them in turn. By default each queue is one."`
	// Deadline, Price and Hints are told to scheduler models, and deadlines are held
	// against the jobs' ends. Hadoop knows nothing of them. A trace workload has
	// those of its trace, and each that is given here in its place.
	Deadline Deadline `yaml:"deadline,omitempty" text:"When each job should have ended: a time after its submission, such as 90s; a multiple of the time that the job takes alone on the cluster, such as 1.5x, by a simulation; or, for a trace, of the time that it took there, such as 1.5x recorded. Models may heed it; figures count the jobs that missed it."`
	Price    float64  `yaml:"price,omitempty" text:"What each job pays, in any unit, for models that heed it." min:"0" max:"1e12"`
	Hints    JobHints `yaml:"hints,omitempty" text:"How heavily a map, and a reduce, uses its node, for models that heed it."`
	// JobFailures says what becomes of a trial if one of the workload's jobs fails:
	// JobFailuresCount or JobFailuresEnd. The default is JobFailuresCount for a
	// trace or generated workload, which has many jobs, and JobFailuresEnd for others.
	JobFailures string `yaml:"jobFailures,omitempty" text:"What happens when a job fails: count counts the job and goes on with the trial; end ends the trial. A trace counts by default, other workloads end." values:"count,end"`

	// CPU is the CPU time of synthetic tasks for each MiB that they take in. It is
	// 0 by default for a streaming workload, and 20ms for jobs of a trace, where it
	// counts only if the trace has no CPU times.
	CPU units.Duration `yaml:"cpu,omitempty" text:"The CPU time of synthetic tasks for each MiB that they take in; 0 by default for streaming, and 20ms for traces without CPU times." max:"1h"`
	// Sleep is how long each map of a streaming, trace or sleep workload sleeps. It
	// uses no core meanwhile. ReduceSleep is the same for reduces of sleep; 0 means Sleep.
	Sleep       units.Duration `yaml:"sleep,omitempty" text:"sleep: time that each map sleeps. streaming and traces: the same, besides what it reads, computes and writes." max:"1h"`
	ReduceSleep units.Duration `yaml:"reduceSleep,omitempty" text:"sleep: time that each reduce sleeps; as long as a map by default."`
	// MapOutput is how many bytes the maps of a streaming workload give to
	// reduces, or write if there are none, for each byte that they read. Output
	// is how many bytes its reduces write for each byte that they take in. nil
	// means 1.
	MapOutput *float64 `yaml:"mapOutput,omitempty" text:"streaming: bytes that maps put out for each byte read; 1 by default." min:"0" max:"1000"`
	Output    *float64 `yaml:"output,omitempty" text:"streaming: bytes that reduces write for each byte taken in; 1 by default." min:"0" max:"1000"`
	// TaskMemory is the memory that each task of a streaming workload holds,
	// besides that of its JVM and a few MiB.
	TaskMemory units.Size `yaml:"taskMemory,omitempty" text:"streaming: memory that each task holds, besides its JVM's." max:"64GiB"`

	// Jar is the path of a program of the user's that submits MapReduce jobs, Main its
	// class, and Args are the arguments; see hibench.Jar. Input is the HDFS folder of
	// its input, if heddle writes none of Size.
	Jar   string   `yaml:"jar,omitempty" text:"The path of a jar whose main class submits MapReduce jobs, as hadoop jar runs it, on this machine. It starts from this file's folder."`
	Main  string   `yaml:"main,omitempty" text:"jar: the class to run, if the jar's manifest names none."`
	Args  []string `yaml:"args,omitempty" text:"jar: what follows the class. {input} stands for the HDFS folder of the input, {output} for that of the output, which heddle removes afterwards."`
	Input string   `yaml:"input,omitempty" text:"jar: the HDFS folder of the input, which must exist; or give size, and heddle writes lines of random words."`

	// Trace is the path of a trace whose jobs run, of any format that heddle can
	// import. A relative path starts from the folder of the experiment file.
	Trace string `yaml:"trace,omitempty" text:"The path of a trace whose jobs run, of any format that 'heddle trace import' knows. It starts from this file's folder."`
	// First is the greatest number of the trace's jobs, the earliest ones; 0 means
	// all. From and Until are times of the trace between which jobs are submitted;
	// 0 means no limit.
	First int            `yaml:"first,omitempty" text:"How many of the trace's jobs run, the earliest ones; all by default." min:"0" max:"50000"`
	From  units.Duration `yaml:"from,omitempty" text:"A time of the trace; jobs submitted before it are left out."`
	Until units.Duration `yaml:"until,omitempty" text:"A time of the trace; jobs submitted from then on are left out."`
	// Speed divides the times between the submissions of the trace's jobs; 1 by
	// default. Scale multiplies the bytes that these read, shuffle and write, and
	// their recorded CPU times; 1 by default.
	Speed float64 `yaml:"speed,omitempty" text:"Divides the times between submissions; 1 by default." min:"0" max:"1e6"`
	Scale float64 `yaml:"scale,omitempty" text:"Multiplies bytes and recorded CPU times; 1 by default." min:"0" max:"1000"`
	// MaxTasks is the greatest number of maps, and of reduces, of one job of the
	// trace; 0 means no limit. Fewer tasks carry the same bytes.
	MaxTasks int `yaml:"maxTasks,omitempty" text:"The most maps, and the most reduces, of a job; fewer tasks carry the same bytes." min:"0" max:"100000"`
	// Queues, Users and Priorities map values of the trace to values of the
	// cluster; "*" stands for all others.
	Queues     map[string]string `yaml:"queues,omitempty" text:"The cluster's queue for each queue of the trace; * for all others. The cluster's own default queue by default."`
	Users      map[string]string `yaml:"users,omitempty" text:"The cluster's user for each user of the trace; * for all others. The cluster's own user by default."`
	Priorities map[string]int    `yaml:"priorities,omitempty" text:"The priority on the cluster for each one of the trace; * for all others. None by default."`
}

// Values of Workload.JobFailures.
const (
	JobFailuresCount = "count" // the trial goes on; its result counts and names the jobs that failed
	JobFailuresEnd   = "end"   // the trial fails, and its other jobs are killed
)

// CountsFailures reports whether a trial goes on if one of the workload's jobs
// fails.
func (w Workload) CountsFailures() bool {
	return cmp.Or(w.JobFailures, defaultJobFailures(w.Name)) == JobFailuresCount
}

func defaultJobFailures(name string) string {
	if _, generated := Generated(name); generated || name == WorkloadTrace {
		return JobFailuresCount
	}
	return JobFailuresEnd
}

// Pool returns the name of the pool of the workload's job number i, counted from
// 0; "" means that its queue is its pool.
func (w Workload) Pool(i int) string {
	if len(w.Pools) == 0 {
		return ""
	}
	return w.Pools[i%len(w.Pools)]
}

// workloadKind is what an experiment file may say of workloads of one kind.
type workloadKind struct {
	// keys are the keys that an entry of this kind may have besides
	// commonKeys, which all kinds have.
	keys []string
	// check adds what is wrong with the values of an entry of this kind.
	check func(w Workload, p *problems, path string)
}

// Streaming is the name of the workload of synthetic tasks.
const Streaming = "streaming"

// workloadKinds has the kinds of workloads by their names.
var workloadKinds = map[string]workloadKind{}

func init() {
	for _, name := range hibench.Workloads() {
		keys := []string{"profile", "size", "maps", "reduces"}
		if hibench.SQL(name) {
			keys = []string{"profile", "visits", "pages", "maps", "reduces"}
		}
		workloadKinds[name] = workloadKind{keys, Workload.hibenchProblems}
	}
	workloadKinds[Streaming] = workloadKind{
		[]string{"size", "maps", "reduces", "cpu", "sleep", "mapOutput", "output", "taskMemory"},
		Workload.streamingProblems,
	}
	workloadKinds[hibench.Script] = workloadKind{[]string{"script", "profile", "maps", "reduces"}, Workload.hibenchProblems}
	workloadKinds[hibench.Kmeans] = workloadKind{[]string{"size", "maps", "reduces"}, Workload.specProblems}
	workloadKinds[hibench.Bayes] = workloadKinds[hibench.Kmeans]
	workloadKinds[hibench.Sleep] = workloadKind{[]string{"profile", "sleep", "reduceSleep", "maps", "reduces"}, Workload.hibenchProblems}
	workloadKinds[hibench.DFSIOWrite] = workloadKind{[]string{"profile", "size", "maps"}, Workload.hibenchProblems}
	workloadKinds[hibench.DFSIORead] = workloadKind{[]string{"profile", "size", "maps"}, Workload.dfsioReadProblems}
	workloadKinds[hibench.Grep] = workloadKind{[]string{"size", "maps", "reduces", "regex"}, Workload.grepProblems}
	workloadKinds[WorkloadTrace] = workloadKind{append([]string{"trace"}, jobKeys...), Workload.traceProblems}
	workloadKinds[WorkloadJar] = workloadKind{[]string{"jar", "main", "args", "input", "size", "maps"}, Workload.jarProblems}
}

func (w Workload) problems(p *problems, path string) {
	known := slices.Sorted(maps.Keys(workloadKinds))
	kind, ok := workloadKinds[w.Name]
	switch {
	case w.Name == "":
		p.addf(path+".name", "no name; want %s", strings.Join(known, ", "))
		return
	case !ok:
		hint := ""
		if w.Name == "pagerank" || w.Name == "nutchindexing" {
			hint = fmt.Sprintf("; HiBench's own is {script: websearch/%s}", w.Name)
		} else if near := nearest.Name(w.Name, known); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		p.addf(path+".name", "unknown workload %q; want %s%s", w.Name, strings.Join(known, ", "), hint)
		return
	case !labelName.MatchString(w.Label):
		p.addf(path+".label", "%q: %s", w.Label, wantLabel)
	}
	good := len(*p)
	for _, key := range w.keys() {
		if !slices.Contains(commonKeys, key) && !slices.Contains(kind.keys, key) {
			p.addf(path+"."+key, "%s has no such key; it has %s", w.Name, strings.Join(kind.keys, ", "))
		}
	}
	if len(*p) == good {
		p.keys(w, path)
		w.termsProblems(p, path)
		kind.check(w, p, path)
	}
}

// zero says why the file must not give a key as 0, which would stand for the default; "" if it may.
func (w *Workload) zero(key string) string {
	n, ok := map[string]int{"maps": w.Maps, "reduces": w.Reduces}[key]
	if !ok || n != 0 || w.Name == Streaming || !slices.Contains(workloadKinds[w.Name].keys, key) {
		return ""
	}
	return fmt.Sprintf("0: %s does not run without %s; want 1 or more, or no such key for the default", w.Name, key)
}

// commonKeys are the keys that entries of all kinds of workloads may have.
var commonKeys = []string{"name", "label", "settings", "jobs", "pools", "deadline", "price", "hints", "jobFailures"}

// keys returns the names of the keys that have a value, sorted.
func (w Workload) keys() []string { return slices.Sorted(maps.Keys(w.Values())) }

// Values returns the keys that have a value, each with it in words.
func (w Workload) Values() map[string]string {
	set := map[string]string{}
	v := reflect.ValueOf(w)
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); !v.Field(i).IsZero() {
			set[key] = fmt.Sprint(reflect.Indirect(v.Field(i)).Interface())
		}
	}
	return set
}

// hibenchProblems adds what is wrong with one of HiBench's workloads.
func (w Workload) hibenchProblems(p *problems, path string) {
	if w.Profile != "" && !slices.Contains(hibench.Profiles(), w.Profile) {
		p.addf(path+".profile", "unknown profile %q; want %s", w.Profile, strings.Join(hibench.Profiles(), ", "))
		return
	}
	w.specProblems(p, path)
}

// dfsioReadProblems adds what is wrong with a workload that reads files. Each run of it
// works in the folder of its input.
func (w Workload) dfsioReadProblems(p *problems, path string) {
	if w.Jobs > 1 {
		p.addf(path+".jobs", "%d: want 1, since its runs write into the folder of its input", w.Jobs)
	}
	w.hibenchProblems(p, path)
}

// grepProblems adds what is wrong with a workload that runs grep.
func (w Workload) grepProblems(p *problems, path string) {
	valid := w
	valid.Regex = "a"
	if (hibench.Spec{Workload: w.Name, SizeBytes: 100, Regex: w.Regex}).Validate() != nil && valid.Spec().Validate() == nil {
		path += ".regex"
	}
	w.specProblems(p, path)
}

// specProblems adds what package hibench refuses of the workload.
func (w Workload) specProblems(p *problems, path string) {
	spec := w.Spec()
	settings := spec.Settings
	spec.Settings = nil
	err := spec.Validate()
	if err == nil {
		spec.Settings = settings
		path, err = path+".settings", spec.Validate()
	}
	if err != nil {
		p.addf(path, "%s", strings.TrimPrefix(err.Error(), "hibench: "))
	}
}

// streamingProblems adds what is wrong with a workload of synthetic tasks.
func (w Workload) streamingProblems(p *problems, path string) {
	if w.Size < 1 {
		p.addf(path+".size", "want 1B to 1000TiB")
	}
	for key, n := range map[string]int{"maps": w.Maps, "reduces": w.Reduces} {
		if n < 0 || n > 100_000 {
			p.addf(path+"."+key, "%d: want 0 to 100000", n)
		}
	}
	if w.Output != nil && w.Reduces == 0 {
		p.addf(path+".output", "there are no reduces, so maps write the output: set mapOutput instead, or reduces")
	}
}

// fillFiles sets the defaults of an entry that names a trace, a jar or a script. Relative paths of files
// start from the folder of the experiment file.
func (w *Workload) fillFiles(file string) {
	is := func(kind, path, label string) bool {
		if path == "" || w.Name != "" && w.Name != kind {
			return false
		}
		w.Name, w.Label = kind, cmp.Or(w.Label, label)
		return true
	}
	if is(WorkloadTrace, w.Trace, traceLabel(w.Trace)) {
		beside(file, &w.Trace)
		w.Speed, w.Scale, w.CPU = cmp.Or(w.Speed, 1), cmp.Or(w.Scale, 1), cmp.Or(w.CPU, units.Duration(20*time.Millisecond))
	}
	if is(WorkloadJar, w.Jar, jarLabel(w.Jar)) {
		beside(file, &w.Jar)
	}
	is(hibench.Script, w.Script, filepath.Base(w.Script))
}

// beside makes relative paths in a file start from the file's folder.
func beside(file string, paths ...*string) {
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(file), *p)
		}
	}
}

// Spec describes one of the workload's jobs in the form that package hibench
// needs to run it.
func (w Workload) Spec() hibench.Spec {
	return hibench.Spec{
		Workload: w.Name, Profile: w.Profile, SizeBytes: int64(w.Size), Visits: int64(w.Visits), Pages: int64(w.Pages), Script: w.Script,
		Maps: w.Maps, Reduces: w.Reduces, Regex: w.Regex, Sleep: time.Duration(w.Sleep), ReduceSleep: time.Duration(w.ReduceSleep),
		Settings: hibench.Settings(w.Settings),
	}
}
