package spark

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// application is the application whose log is being read. What has ended is added to the trace
// and forgotten.
type application struct {
	*reader
	traces.SparkApplication
	begun, over bool
	failed      bool        // its last job failed
	odd         mend.Kind   // what is first odd of the event that is being read
	about       string      // and the number that is; empty: nothing
	last        traces.Time // of what was read
	exit        *int64
	memory      map[int64]int64 // of a container, by resource profile
	settings    map[string]string
	queries     map[int64]*traces.SparkQuery
	jobs        map[int64]*job
	stages      map[string]*traces.SparkStage // that run, by ID and attempt
	ran         map[int64]bool                // stages that were submitted
	made        map[int64]int64               // by RDD: the stage that wrote its shuffle
	executors   map[string]*traces.SparkExecutor
	gone        map[string]bool             // executors that were removed
	tasks       map[int64]*traces.SparkTask // that run
	writes      map[int64]bool              // stages that run and write a shuffle
}

// job is a job of Spark that runs, with all stages that it lists.
type job struct {
	query  int64
	stages map[int64]*stageInfo
}

func newApplication(r *reader) *application {
	return &application{
		reader: r, memory: map[int64]int64{}, queries: map[int64]*traces.SparkQuery{}, jobs: map[int64]*job{},
		stages: map[string]*traces.SparkStage{}, ran: map[int64]bool{}, made: map[int64]int64{},
		executors: map[string]*traces.SparkExecutor{}, gone: map[string]bool{}, tasks: map[int64]*traces.SparkTask{}, writes: map[int64]bool{},
	}
}

// takers has what is done about events of each kind, by their names behind SparkListener; others are not needed.
var takers = map[string]func(*application, *event) error{
	"LogStart":                  (*application).logStarted,
	"ResourceProfileAdded":      (*application).profileAdded,
	"BlockManagerAdded":         (*application).managerAdded,
	"EnvironmentUpdate":         (*application).configured,
	"ApplicationStart":          (*application).started,
	"ApplicationEnd":            (*application).applicationEnded,
	"MiscellaneousProcessAdded": (*application).processAdded,
	"ExecutorAdded":             (*application).executorAdded,
	"ExecutorRemoved":           (*application).executorRemoved,
	"SQLExecutionStart":         (*application).queryStarted,
	"SQLExecutionEnd":           (*application).queryEnded,
	"JobStart":                  (*application).jobStarted,
	"JobEnd":                    (*application).jobEnded,
	"StageSubmitted":            (*application).stageSubmitted,
	"StageCompleted":            (*application).stageCompleted,
	"TaskStart":                 (*application).taskStarted,
	"TaskEnd":                   (*application).taskEnded,
}

// mostBefore is how long before its application something may be, by a clock that was set.
const mostBefore = traces.Time(24 * 3600e9)

// time returns a time of the log.
func (a *application) time(ms int64) traces.Time {
	t := traces.Time(ms * 1e6)
	if ms <= 0 || ms > format.LatestMs || a.begun && t < a.T-mostBefore {
		a.strange(badTime, ms)
		return a.Start
	}
	a.last = max(a.last, t)
	return t
}

// count returns a number of the log, at most 2^60.
func (a *application) count(n int64) int64 {
	if n < 0 || n > traces.MostBytes {
		a.strange(oddCount, n)
		return -1
	}
	return n
}

// ms returns a time of the log that is in ns.
func (a *application) ms(ns int64) int64 {
	if ns = a.count(ns); ns > 0 {
		return ns / 1e6
	}
	return ns
}

// small returns a number of the log that is an id or a number of tasks or cores.
func (a *application) small(n int64) int32 {
	if n < 0 || n > math.MaxInt32 {
		a.strange(oddCount, n)
		return 0
	}
	return int32(n)
}

// strange notes a number that cannot be of the event that is being read.
func (a *application) strange(kind mend.Kind, n int64) {
	if a.about == "" {
		a.odd, a.about = kind, strconv.FormatInt(n, 10)
	}
}

// mended records what is odd of the event that was read.
func (a *application) mended() error {
	if a.about == "" {
		return nil
	}
	about := a.about
	a.about = ""
	return a.mend(a.odd, about)
}

// logStarted ends the application before, if a log has several.
func (a *application) logStarted(e *event) error {
	if a.begun {
		if err := a.finish(); err != nil {
			return err
		}
		a.app = newApplication(a.reader)
	}
	a.app.Version = e.Version
	return nil
}

// profileAdded notes the container of a resource profile's executors, as Spark asks YARN for it.
func (a *application) profileAdded(e *event) error {
	mib := func(name string) int64 { return min(max(0, e.Requests[name].Amount), 1<<30) }
	heap := mib("memory")
	if heap == 0 {
		return nil // such a profile has the memory of the default one
	}
	a.memory[e.ProfileID] = (heap + cmp.Or(mib("memoryOverhead"), max(384, heap/10)) + mib("offHeap") + mib("pyspark.memory")) << 20
	return nil
}

func (a *application) managerAdded(e *event) error {
	if !isWorker(e.Manager.Executor) {
		a.Driver = traces.Node(a.Racks.Name(e.Manager.Host))
	}
	return nil
}

// kept are the settings that a trace has: what says how many executors there are, where they and
// tasks run, and what heddle explain names.
var kept = regexp.MustCompile(`^spark\.(master|submit\.deployMode|app\.submitTime|executor\.(instances|cores|memory|memoryOverhead)|` +
	`dynamicAllocation\..*|locality\.wait.*|sql\.shuffle\.partitions|default\.parallelism|sql\.adaptive\..*|sql\.files\..*|` +
	`memory\..*|reducer\.maxSizeInFlight|shuffle\.service\.enabled|speculation|task\.cpus|task\.maxFailures|scheduler\..*|` +
	`yarn\.(queue|jars|archive|am\.nodeLabelExpression|executor\.nodeLabelExpression))$`)

// mostSetting is the length of a setting that a trace has.
const mostSetting = 200

func (a *application) configured(e *event) error {
	a.settings = e.Settings
	for name, value := range e.Settings {
		if kept.MatchString(name) && len(value) <= mostSetting {
			a.Settings = append(a.Settings, name+"="+value)
		}
	}
	slices.Sort(a.Settings)
	a.Settings = slices.Compact(a.Settings)
	a.Queue = e.Settings["spark.yarn.queue"]
	if a.Queue == "" && e.Settings["spark.master"] == "yarn" {
		a.Queue = "default"
	}
	if a.memory[0] == 0 { // before Spark 3
		a.memory[0] = a.container("executor", "1g")
	}
	switch master := e.Settings["spark.master"]; {
	case !strings.HasPrefix(master, "yarn"):
	case master == "yarn-cluster", e.Settings["spark.submit.deployMode"] == "cluster":
		a.AMMemoryBytes = a.container("driver", "1g")
	default:
		a.AMMemoryBytes = a.container("yarn.am", "512m")
	}
	return nil
}

// container returns the memory of a container by the settings of what runs in it, in bytes.
func (a *application) container(of, usual string) int64 {
	heap := mib(cmp.Or(a.settings["spark."+of+".memory"], usual))
	overhead := mib(cmp.Or(a.settings["spark."+of+".memoryOverhead"], a.settings["spark.yarn."+of+".memoryOverhead"]))
	return (heap + cmp.Or(overhead, max(384, heap/10))) << 20
}

var size = regexp.MustCompile(`^(\d{1,9})([kmgt]?)b?$`)

// mib returns a size of Spark's, such as 512m or 2G, in MiB; without a unit it is in MiB.
func mib(text string) int64 {
	m := size.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // nine digits
	if m[2] == "k" {
		return n >> 10
	}
	return min(n<<(10*strings.Index("mgt", m[2])), 1<<30)
}

func (a *application) started(e *event) error {
	a.begun = true
	a.Start = a.time(e.Timestamp)
	a.T, a.Name, a.User = a.Start, e.AppName, e.User
	ms, err := strconv.ParseInt(a.settings["spark.app.submitTime"], 10, 64)
	if err == nil && ms > 0 && ms <= min(e.Timestamp, format.LatestMs) {
		a.T = traces.Time(ms * 1e6)
	}
	id := cmp.Or(e.AppID, a.settings["spark.app.id"])
	if n, err := strconv.Atoi(e.AttemptID); err == nil && n > 1 {
		id += "_" + e.AttemptID
	}
	a.App, err = a.JobID(id, func() error { return a.mend(format.JobAgain, id) })
	if err != nil {
		return err
	}
	for _, x := range a.executors { // a local one registers before
		x.App, x.T = a.App, max(x.T, a.T-mostBefore)
	}
	return nil
}

func (a *application) applicationEnded(e *event) error {
	a.over, a.exit, a.End = true, e.ExitCode, max(a.Start, a.time(e.Timestamp))
	return nil
}

var containerID = regexp.MustCompile(`container_[0-9a-z_]+`)

// processAdded takes the ApplicationMaster of an application in client mode into account.
func (a *application) processAdded(e *event) error {
	if e.ProcessID == "yarn-am" {
		a.AMStart = a.time(e.Time)
		a.AMContainer = containerID.FindString(fmt.Sprint(e.Process.Logs))
		host, _, _ := strings.Cut(e.Process.Host, ":")
		a.AMNode = traces.Node(a.Racks.Name(host))
	}
	return nil
}

func (a *application) executorAdded(e *event) error {
	i := &e.ExecutorInfo
	x := &traces.SparkExecutor{
		T: a.time(e.Timestamp), App: a.App, Executor: e.Executor, Node: traces.Node(a.Racks.Name(i.Host)),
		Cores:     a.small(min(i.Cores, traces.MostCores)),
		Container: cmp.Or(i.Attributes["CONTAINER_ID"], containerID.FindString(fmt.Sprint(i.Logs))),
	}
	if isWorker(e.Executor) { // else the driver of a local application, which runs its tasks
		x.MemoryBytes = cmp.Or(a.memory[i.ProfileID], a.memory[0])
	}
	a.executors[e.Executor] = x
	return nil
}

func isWorker(executor string) bool { return executor != "driver" && executor != "<driver>" }

// byDriver is how the reason begins for which the driver itself removes an executor.
var byDriver = regexp.MustCompile(`killed by driver|explicit termination request|[Dd]ecommission|spark scale down`)

func (a *application) executorRemoved(e *event) error {
	x := a.executors[e.Executor]
	if x == nil {
		return nil
	}
	delete(a.executors, e.Executor)
	a.gone[e.Executor] = true
	x.End, x.Reason, x.Outcome = max(x.T, a.time(e.Timestamp)), e.Reason, traces.Failed
	if byDriver.MatchString(e.Reason) {
		x.Outcome = traces.Killed
	}
	return a.Add(x)
}

func (a *application) queryStarted(e *event) error {
	q := &traces.SparkQuery{T: a.time(e.Time), App: a.App, Query: max(0, a.count(e.Query)), Root: -1, Text: e.Description}
	if e.Root != nil {
		q.Root = a.count(*e.Root)
	}
	a.queries[e.Query] = q
	return nil
}

func (a *application) queryEnded(e *event) error {
	q := a.queries[e.Query]
	if q == nil {
		return nil
	}
	delete(a.queries, e.Query)
	q.End, q.Outcome = max(q.T, a.time(e.Time)), traces.Succeeded
	if e.Error != nil && *e.Error != "" {
		q.Outcome, q.Error = traces.Failed, *e.Error
	}
	return a.Add(q)
}

func (a *application) jobStarted(e *event) error {
	j := &job{query: -1, stages: map[int64]*stageInfo{}}
	if n, err := strconv.ParseInt(e.Properties.Query, 10, 64); err == nil {
		j.query = a.count(n)
	}
	for _, s := range e.Stages {
		if s != nil {
			j.stages[s.ID] = s
		}
	}
	a.jobs[e.Job] = j
	return nil
}

func (a *application) jobEnded(e *event) error {
	a.failed = e.Result.Result != "JobSucceeded"
	delete(a.jobs, e.Job)
	return nil
}

func (a *application) stageSubmitted(e *event) error {
	s := &e.Stage
	x := &traces.SparkStage{
		T: a.last, App: a.App, Stage: a.small(s.ID), Attempt: a.small(s.Attempt), Name: s.Name, Job: -1, Query: -1,
		Tasks: a.small(s.Tasks),
	}
	if s.Submitted > 0 { // before Spark 2 it stands at the stage's end alone
		x.T = a.time(s.Submitted)
	}
	var of *job
	for _, id := range slices.Sorted(maps.Keys(a.jobs)) { // the first that needs it submits it
		if j := a.jobs[id]; j.stages[s.ID] != nil {
			of, x.Job, x.Query = j, a.small(id), j.query
			break
		}
	}
	for _, p := range s.Parents {
		if id, ok := a.parent(p, of); ok && !slices.Contains(x.Parents, id) {
			x.Parents = append(x.Parents, id)
		}
	}
	slices.Sort(x.Parents)
	a.ran[s.ID] = true
	a.stages[s.key()] = x
	return nil
}

// parent returns the stage that ran whose output a stage reads that a job lists.
func (a *application) parent(id int64, of *job) (int32, bool) {
	if !a.ran[id] {
		if of == nil || of.stages[id] == nil || len(of.stages[id].RDDs) == 0 {
			return 0, false
		}
		made, ok := a.made[of.stages[id].RDDs[0].ID]
		if !ok {
			return 0, false
		}
		id = made
	}
	return a.small(id), id >= 0
}

func (a *application) stageCompleted(e *event) error {
	s := &e.Stage
	id := s.key()
	x := a.stages[id]
	if x == nil { // a log that was begun later
		if err := a.stageSubmitted(e); err != nil {
			return err
		}
		x = a.stages[id]
	}
	delete(a.stages, id)
	if s.Submitted > 0 {
		x.T = a.time(s.Submitted)
	}
	x.End, x.Outcome = max(x.T, a.time(s.Completed)), traces.Succeeded
	if s.Failure != "" {
		x.Outcome, x.Error = traces.Failed, s.Failure
	}
	if len(s.RDDs) > 0 && a.writes[s.ID] {
		a.made[s.RDDs[0].ID] = s.ID
	}
	delete(a.writes, s.ID)
	return a.Add(x)
}

// finish adds what is left of an application to the trace: what did not end.
func (a *application) finish() error {
	if !a.begun {
		if a.Records == 0 && a.line <= 1 {
			return nil
		}
		return a.mend(noApp, "no event names an application")
	}
	for _, x := range a.executors { // the order does not matter
		if a.over {
			x.End, x.Outcome = max(x.T, a.End), traces.Succeeded
		}
	}
	for _, e := range slices.Concat(left(a.tasks), left(a.stages), left(a.queries), left(a.executors)) {
		if err := a.Add(e); err != nil {
			return err
		}
	}
	if a.over {
		a.Outcome = traces.Succeeded
		if a.failed && a.exit == nil || a.exit != nil && *a.exit != 0 {
			a.Outcome = traces.Failed
		}
	}
	return a.Add(&a.SparkApplication)
}

// left returns the events of what did not end.
func left[K cmp.Ordered, E traces.Event](of map[K]E) (list []traces.Event) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		list = append(list, of[key])
	}
	return list
}

// key tells attempts of stages apart.
func (s *stageInfo) key() string { return fmt.Sprint(s.ID, s.Attempt) }
