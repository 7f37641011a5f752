package yarntest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"heddle/yarnclient"
)

// Job describes a MapReduce job to submit to the fake cluster. A zero field
// means the default that its comment states.
type Job struct {
	Name, User, Queue string // name, user and queue of the job; empty means "job", "root" and "root.default"
	Tags              string // YARN application tags of the job, comma-separated
	Priority          int
	// Node labels on which the job requests the containers of its
	// ApplicationMaster, of its maps and of its reduces.
	AMLabel, MapLabel, ReduceLabel string
	// Maps lists for each map the hosts of its input split. A split may have no
	// hosts.
	Maps    [][]string
	Reduces int
	// Slowstart is the fraction of the maps that must be done before the job
	// requests containers for reduces.
	Slowstart float64
	// MemoryMB is the memory of a task's container in MiB. AMMemoryMB is the
	// memory of the ApplicationMaster's container in MiB. For both, 0 means 512.
	MemoryMB, AMMemoryMB int64
	// Run returns how long a task attempt runs and whether it fails at the end.
	// nil means that each attempt runs one second and succeeds.
	Run func(kind string, task, attempt int) (time.Duration, bool)
	// MapOutput returns how many bytes a map leaves for the reduces, which a counter of
	// the map tells once it has succeeded. nil means that there is no such counter.
	MapOutput func(task int) int64
}

// app is an application of the fake cluster. All applications are MapReduce
// jobs.
type app struct {
	Job
	id, serial    string // id of the application, such as application_1_0002, and the part 1_0002 of this id
	state         string
	final         string
	diagnostics   string // why the application has failed, if the ResourceManager says so
	priority      int
	submitted     time.Time
	launched      time.Time
	registered    time.Time
	finished      time.Time
	attemptNo     int
	mastersFailed int          // ApplicationMasters that failed other than with their node
	masters       []*container // containers of the ApplicationMasters that have registered

	containerSeq int
	asks         map[ask]int
	missed       int
	live         []*container // containers of the application that the ResourceManager counts as running
	master       *container
	granted      []*container // allocated containers that the ApplicationMaster has not been told of
	// whether a restarted ResourceManager waits for the next heartbeat of the ApplicationMaster before it shows the application as running
	hidden bool

	tasks         []*task // all tasks of the job: first the maps, then the reduces
	changed       bool    // whether the ApplicationMaster's next heartbeat must send changed container requests
	mapsDone      int
	reducesDone   int
	reducesAsked  bool
	turns         int
	takesBack     bool // whether the ApplicationMaster asks for no containers for reduces at present
	givesBack     int  // number of containers for reduces that the ApplicationMaster will release instead of using them
	failedMap     int  // failed attempts of maps; this field and the next three count the job's failed and killed attempts of maps and reduces
	killedMap     int
	failedReduce  int
	killedReduce  int
	byTask        map[string]*task
	attemptByName map[string]*attempt
}

type task struct {
	app     *app
	index   int // index of the task among the maps or the reduces of its job
	reduce  bool
	hosts   []string
	waiting bool
	failed  bool // whether an attempt of the task has failed; its next container may then be on any host
	done    bool
	// order of the task among the job's waiting tasks; a task requested again gets a larger number and so waits behind the others
	turn     int
	since    time.Time // time at which a container for the task was last requested
	attempts []*attempt
}

type attempt struct {
	task      *task
	number    int
	state     string // state of the task attempt: STARTING, RUNNING, SUCCEEDED, FAILED or KILLED
	container *container
	started   time.Time
	finished  time.Time
	locality  string // locality of the attempt's container: node, rack or off (outside the rack)
	silent    bool   // whether the attempt's node is stopped, so that the ApplicationMaster never learns of the attempt's end
	run       time.Duration
	fails     bool
}

func (a *attempt) ended() bool {
	return a.state == "SUCCEEDED" || a.state == "FAILED" || a.state == "KILLED"
}

func (a *app) ended() bool {
	return a.state == "FINISHED" || a.state == "FAILED" || a.state == "KILLED"
}

func (a *app) label(priority int) string {
	switch priority {
	case yarnclient.PriorityAM:
		return a.AMLabel
	case yarnclient.PriorityReduce:
		return a.ReduceLabel
	}
	return a.MapLabel
}

func (a *app) memoryMB(priority int) int64 {
	if priority == yarnclient.PriorityAM {
		return a.AMMemoryMB
	}
	return a.MemoryMB
}

func (a *app) drop(k *container) {
	for i, other := range a.live {
		if other == k {
			a.live = append(a.live[:i], a.live[i+1:]...)
			return
		}
	}
}

func (t *task) kind() string {
	if t.reduce {
		return "REDUCE"
	}
	return "MAP"
}

func (t *task) id() string {
	return fmt.Sprintf("task_%s_%s_%06d", t.app.serial, strings.ToLower(t.kind()[:1]), t.index)
}

func (a *attempt) id() string {
	return "attempt" + strings.TrimPrefix(a.task.id(), "task") + "_" + itoa(a.number)
}

// Submit starts a job on the fake cluster and returns its application id. It
// fails if the job requests a node label that the cluster does not have.
func (c *Fake) Submit(j Job) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	if !c.up() {
		return "", errors.New("yarntest: submit: the ResourceManager is not active")
	}
	for _, l := range []string{j.AMLabel, j.MapLabel, j.ReduceLabel} {
		if _, known := c.labels[l]; l != "" && !known {
			return "", fmt.Errorf("yarntest: submit %s: unknown label %q", j.Name, l)
		}
	}
	return c.accept(c.nextID(), j).id, nil
}

// nextID reserves the next application id.
func (c *Fake) nextID() string {
	c.lastApp++
	return fmt.Sprintf("application_%d_%04d", c.id, c.lastApp)
}

func (c *Fake) accept(id string, j Job) *app {
	text := func(s *string, otherwise string) {
		if *s == "" {
			*s = otherwise
		}
	}
	text(&j.Name, "job")
	text(&j.User, "root")
	text(&j.Queue, "root.default")
	if j.MemoryMB == 0 {
		j.MemoryMB = 512
	}
	if j.AMMemoryMB == 0 {
		j.AMMemoryMB = 512
	}
	if j.Run == nil {
		j.Run = func(string, int, int) (time.Duration, bool) { return time.Second, false }
	}
	a := &app{
		Job: j, id: id, serial: strings.TrimPrefix(id, "application_"), state: "ACCEPTED", final: "UNDEFINED",
		priority: min(j.Priority, maxPriority), submitted: c.now, attemptNo: 1,
		asks: map[ask]int{{yarnclient.PriorityAM, "*"}: 1}, byTask: map[string]*task{}, attemptByName: map[string]*attempt{},
	}
	for i, hosts := range j.Maps {
		a.tasks = append(a.tasks, &task{app: a, index: i, hosts: hosts, waiting: true})
	}
	for i := range j.Reduces {
		a.tasks = append(a.tasks, &task{app: a, index: i, reduce: true})
	}
	for _, t := range a.tasks {
		a.byTask[t.id()] = t
	}
	c.apps = append(c.apps, a)
	c.appByID[a.id] = a
	return a
}

// Resplit changes the hosts of each map's input split. In a real job,
// rewriting job.splitmetainfo in the staging folder has this effect. The
// ApplicationMaster reads the hosts when it starts.
func (c *Fake) Resplit(appID string, maps [][]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	a := c.appByID[appID]
	switch {
	case a == nil:
		return fmt.Errorf("yarntest: resplit %s: no such application", appID)
	case a.master != nil || a.state != "ACCEPTED":
		return fmt.Errorf("yarntest: resplit %s: its master has started", appID)
	case len(maps) != len(a.Maps):
		return fmt.Errorf("yarntest: resplit %s: %d maps, it has %d", appID, len(maps), len(a.Maps))
	}
	a.Maps = maps
	for i, hosts := range maps {
		a.tasks[i].hosts = hosts
	}
	return nil
}

// Attempt is the fake cluster's record of a task attempt that was given a
// container.
type Attempt struct {
	ID, Kind  string // id of the task attempt, and the kind of the task: MAP or REDUCE
	Task      int    // index of the task among the maps or the reduces of its job
	Number    int
	Host      string
	Container string
	State     string
	Locality  string // locality of a map's container: node, rack or off (outside the rack); empty for a map that runs again after a failure
	Allocated time.Time
	Started   time.Time
	Finished  time.Time
}

// Attempts returns records of those attempts of a job that were given a
// container, in the order of the job's tasks.
func (c *Fake) Attempts(appID string) []Attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
	a := c.appByID[appID]
	if a == nil {
		return nil
	}
	var out []Attempt
	for _, t := range a.tasks {
		for _, x := range t.attempts {
			out = append(out, Attempt{
				x.id(), t.kind(), t.index, x.number, x.container.node.Host, x.container.id, x.state, x.locality,
				x.container.started, x.started, x.finished,
			})
		}
	}
	return out
}
