package schedtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// Scenarios runs the stories in the files of a folder. Each file is a cluster and
// models; every command is answered with what happened. "go test" with -rewrite
// writes the answers. Models are found among those given, then by sched.New.
//
//	model NAME [PARAM=VALUE…]      start over with this model, the nodes stay
//	cluster [maps=N] [reduces=N] [beside=N]
//	                               start over; one node a line below:
//	                               NODE RACK [slots=N] (1; a slot holds a container of a job);
//	                               with map slots and reduce slots besides; beside is how
//	                               many nodes more YARN counts, which run no tasks (0)
//	job NAME [reduces=N] [queue=Q] [pool=P] [priority=P] [weight=W] [slots=N] [due=S]
//	                               submit a job and ask for its tasks; one map a
//	                               line below: the nodes that store its block,
//	                               with * those that cache it too; - for none.
//	                               slots is how many of a node its containers take,
//	                               due the seconds to its deadline (none)
//	heartbeat NODE… [after=MS] [times=N]
//	                               the nodes report one after the other, each MS
//	                               after the one before (200), all of it N times;
//	                               decisions are carried out at once and printed:
//	                               NODE: TASK (REASON); m3 is map 3, r0 reduce 0
//	finish JOB TASK…               tasks end well; all: what runs
//	fail JOB TASK…                 tasks fail and are asked for again
//	down NODE | up NODE            a node is lost, comes back
//	capacity NODE SLOTS            other load leaves so many slots of the node, which
//	                               may be fewer than are in use
//	cached JOB TASK NODE           a block is cached; uncached: no longer
//	state                          what waits and runs
func Scenarios(t *testing.T, dir string, models ...sched.Info) {
	t.Helper()
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		s := &scenario{models: models}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.run(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

type scenario struct {
	models []sched.Info
	nodes  []string // lines of the cluster
	slots  [2]int32 // map slots and reduce slots; both 0: none
	beside int32    // nodes that run no tasks
	driver
}

// slotSize is what a container of a job takes.
var slotSize = state.Resource{MemoryMB: 512, VCores: 1}

// usage is how many words a command takes at least, and which values by name;
// any where there are none.
var usage = map[string]struct {
	words  int
	values string
}{
	"model": {1, ""}, "cluster": {0, "maps reduces beside"}, "job": {1, "reduces queue pool priority weight slots due"},
	"heartbeat": {1, "after times"}, "finish": {2, "-"}, "fail": {2, "-"}, "down": {1, "-"}, "up": {1, "-"}, "capacity": {2, "-"},
	"cached": {3, "-"}, "uncached": {3, "-"}, "state": {0, "-"},
}

func (s *scenario) run(d *datadriven.TestData) (string, error) {
	args, words, err := s.arguments(d)
	if err != nil {
		return "", err
	}
	switch d.Cmd {
	case "model":
		var err error
		if s.model, err = s.newModel(words[0], args); err != nil {
			return err.Error() + "\n", nil
		}
		return "", s.reset()
	case "cluster":
		s.nodes = lines(d.Input)
		for k, of := range []string{"maps", "reduces"} {
			n, err := number(args, of, 0)
			if err != nil {
				return "", err
			}
			s.slots[k] = n
		}
		var err error
		if s.beside, err = number(args, "beside", 0); err != nil {
			return "", err
		}
		return "", s.reset()
	case "job":
		return "", s.job(words[0], args, lines(d.Input))
	case "heartbeat":
		return s.heartbeats(words, args)
	case "finish", "fail":
		id, tasks, err := s.tasks(words)
		for _, t := range tasks {
			err = errors.Join(err, s.end(id, t, d.Cmd == "fail", true))
		}
		return "", err
	case "down", "up", "capacity", "cached", "uncached":
		return "", s.change(d.Cmd, words)
	case "state":
		return s.show(), nil
	}
	return "", nil
}

// arguments returns a command's values by name, and its words.
func (s *scenario) arguments(d *datadriven.TestData) (args map[string]string, words []string, err error) {
	args = map[string]string{}
	use, known := usage[d.Cmd]
	for _, a := range d.CmdArgs {
		switch {
		case len(a.Vals) == 0:
			words = append(words, a.Key)
		case known && use.values != "" && !slices.Contains(strings.Fields(use.values), a.Key):
			return nil, nil, fmt.Errorf("%s has no value %s", d.Cmd, a.Key)
		default:
			args[a.Key] = strings.Join(a.Vals, ",")
		}
	}
	switch {
	case !known:
		return nil, nil, fmt.Errorf("no command %q", d.Cmd)
	case len(words) < use.words:
		return nil, nil, fmt.Errorf("%s takes %d words or more", d.Cmd, use.words)
	case s.model == nil && !slices.Contains([]string{"model", "cluster"}, d.Cmd):
		return nil, nil, fmt.Errorf("%s needs a model before it", d.Cmd)
	}
	return args, words, nil
}

// change makes a change of a node.
func (s *scenario) change(what string, words []string) error {
	at := 0
	if strings.HasSuffix(what, "cached") {
		at = 2 // after the job and its task
	}
	n, err := s.node(words[at])
	if err != nil {
		return err
	}
	switch what {
	case "down":
		s.state.NodeDown(n)
	case "up":
		s.state.NodeUp(n)
	case "capacity":
		slots, err := strconv.ParseInt(words[1], 10, 16)
		if err != nil || slots < 0 {
			return fmt.Errorf("capacity %s: want a number of slots", words[1])
		}
		s.state.SetCapacity(n, slotSize.Times(int32(slots)))
	case "cached", "uncached":
		id, tasks, err := s.tasks(words[:2])
		if err != nil {
			return err
		}
		change := s.state.Cached
		if what == "uncached" {
			change = s.state.Uncached
		}
		change(id, tasks[0], n)
	}
	return nil
}

func (s *scenario) newModel(name string, p sched.Params) (sched.Model, error) {
	for _, m := range s.models {
		if m.Name == name {
			return m.New(p)
		}
	}
	return sched.New(name, p)
}

func (s *scenario) node(name string) (state.NodeID, error) {
	n := s.view.NodeNamed(name)
	if n == state.None {
		return n, fmt.Errorf("the cluster has no node %q", name)
	}
	return n, nil
}

// number is a value by name, or its default.
func number(args map[string]string, name string, def int32) (int32, error) {
	n, err := strconv.ParseInt(cmp.Or(args[name], fmt.Sprint(def)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: want a number", name, args[name])
	}
	return int32(n), nil
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (s *scenario) reset() error {
	s.driver = newDriver(s.model)
	s.state.SetSlots(s.slots[0], s.slots[1])
	s.state.SetBeside(s.beside)
	for _, line := range s.nodes {
		f := append(strings.Fields(line), "slots=1")
		slots, err := strconv.ParseInt(strings.TrimPrefix(f[min(2, len(f)-1)], "slots="), 10, 32)
		if len(f) < 3 || len(f) > 4 || err != nil {
			return fmt.Errorf("%q: want NODE RACK [slots=N]", line)
		}
		if _, err := s.state.AddNode(f[0], f[1], slotSize.Times(int32(slots))); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) job(name string, args map[string]string, maps []string) error {
	n := map[string]int32{"reduces": 0, "priority": 0, "weight": 1, "slots": 1, "due": 0}
	for key, def := range n {
		var err error
		if n[key], err = number(args, key, def); err != nil {
			return err
		}
	}
	size := slotSize.Times(n["slots"])
	spec := state.JobSpec{
		Name: name, Queue: args["queue"], Pool: args["pool"], Priority: n["priority"], Weight: float64(n["weight"]),
		Maps: int32(len(maps)), Reduces: n["reduces"], MapSize: size, ReduceSize: size,
		DeadlineMs: 1000 * int64(n["due"]),
	}
	for _, line := range maps {
		var stored, cached []state.NodeID
		for _, host := range strings.Fields(strings.Trim(line, "-")) {
			plain, isCached := strings.CutSuffix(host, "*")
			n, err := s.node(plain)
			if err != nil {
				return err
			}
			if stored = append(stored, n); isCached {
				cached = append(cached, n)
			}
		}
		spec.Replicas.Add(stored...)
		spec.Cached.Add(cached...)
	}
	_, err := s.submit(&spec)
	return err
}

func (s *scenario) heartbeats(nodes []string, args map[string]string) (string, error) {
	times, err := number(args, "times", 1)
	if err != nil {
		return "", err
	}
	afterMs, err := number(args, "after", 200)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for range times {
		for _, name := range nodes {
			n, err := s.node(name)
			if err != nil {
				return "", err
			}
			var started []string
			err = s.heartbeat(n, int64(afterMs), func(d sched.Decision, t state.TaskID) {
				text := fmt.Sprintf("%s.%s (%v)", s.view.JobName(d.Job), s.taskName(d.Job, t), d.Reason)
				if d.Node != n {
					text += " on " + s.view.NodeName(d.Node)
				}
				started = append(started, text)
			})
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "%s: %s\n", name, cmp.Or(strings.Join(started, ", "), "nothing"))
		}
	}
	return out.String(), nil
}

func (s *scenario) taskName(id state.JobID, t state.TaskID) string {
	k, i := s.view.Index(id, t)
	return k.Letter() + strconv.Itoa(int(i))
}

// tasks reads JOB TASK….
func (s *scenario) tasks(words []string) (state.JobID, []state.TaskID, error) {
	i := slices.IndexFunc(s.view.Active(), func(id state.JobID) bool { return s.view.JobName(id) == words[0] })
	if i < 0 {
		return state.None, nil, fmt.Errorf("no job %s", words[0])
	}
	id := s.view.Active()[i]
	var found []state.TaskID
	for t := range state.TaskID(s.view.Tasks(id, state.Map) + s.view.Tasks(id, state.Reduce)) {
		if slices.Contains(words[1:], s.taskName(id, t)) || words[1] == "all" && s.view.RunsOn(id, t) != state.None {
			found = append(found, t)
		}
	}
	if words[1] != "all" && len(found) < len(words)-1 {
		return id, nil, fmt.Errorf("job %s does not have all of the tasks %v", words[0], words[1:])
	}
	return id, found, nil
}

func (s *scenario) show() string {
	var out strings.Builder
	for _, id := range s.view.Active() {
		fmt.Fprintf(&out, "%s:", s.view.JobName(id))
		for t := range state.TaskID(s.view.Tasks(id, state.Map) + s.view.Tasks(id, state.Reduce)) {
			where := "done"
			if n := s.view.RunsOn(id, t); n != state.None {
				where = s.view.NodeName(n)
			} else if s.view.IsWaiting(id, t) {
				where = "waits"
			}
			fmt.Fprintf(&out, " %s %s", s.taskName(id, t), where)
		}
		out.WriteString("\n")
	}
	return out.String()
}
