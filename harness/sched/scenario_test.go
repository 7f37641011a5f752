package sched

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"heddle/harness/state"
)

// TestScenarios runs the stories of testdata/scenarios. Each file is a cluster and a
// model; every command is answered with what happened. -rewrite writes answers.
//
//	model NAME [PARAM=VALUE…]      start over with this model, the nodes stay
//	cluster [maps=N] [reduces=N]   start over; one node a line below:
//	                               NODE RACK [slots=N] (1; a slot holds a container of a job);
//	                               with map slots and reduce slots besides
//	job NAME [reduces=N] [queue=Q] [pool=P] [priority=P] [weight=W] [slots=N]
//	                               submit a job and ask for its tasks; one map a
//	                               line below: the nodes that store its block,
//	                               with * those that cache it too; - for none.
//	                               slots is how many of a node its containers take
//	heartbeat NODE… [after=MS] [times=N]
//	                               the nodes report one after the other, each MS
//	                               after the one before (200), all of it N times;
//	                               decisions are carried out at once and printed:
//	                               NODE: TASK (REASON); m3 is map 3, r0 reduce 0
//	finish JOB TASK…               tasks end well; all: what runs
//	fail JOB TASK…                 tasks fail and are asked for again
//	down NODE | up NODE            a node is lost, comes back
//	cached JOB TASK NODE           a block is cached; uncached: no longer
//	state                          what waits and runs
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &scenario{}
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
	nodes  []string // lines of the cluster
	slots  [2]int32 // map slots and reduce slots; both 0: none
	state  *state.State
	view   *state.View
	model  Model
	offers Offers
	now    int64
}

const slotMB = 512

func (s *scenario) run(d *datadriven.TestData) (string, error) {
	args, words := map[string]string{}, []string{}
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			words = append(words, a.Key)
		} else {
			args[a.Key] = strings.Join(a.Vals, ",")
		}
	}
	switch d.Cmd {
	case "model":
		var err error
		if s.model, err = New(words[0], args); err != nil {
			return err.Error() + "\n", nil
		}
		return "", s.reset()
	case "cluster":
		s.nodes = lines(d.Input)
		for k, of := range []string{"maps", "reduces"} {
			n, _ := strconv.Atoi(args[of])
			s.slots[k] = int32(n)
		}
		return "", s.reset()
	case "job":
		return "", s.submit(words[0], args, lines(d.Input))
	case "heartbeat":
		return s.heartbeat(words, args)
	case "finish", "fail":
		return "", s.end(words, d.Cmd == "fail")
	case "down":
		s.state.NodeDown(s.view.NodeNamed(words[0]))
	case "up":
		s.state.NodeUp(s.view.NodeNamed(words[0]))
	case "cached", "uncached":
		id, tasks, err := s.tasks(words[:2])
		if err != nil {
			return "", err
		}
		change := s.state.Cached
		if d.Cmd == "uncached" {
			change = s.state.Uncached
		}
		change(id, tasks[0], s.view.NodeNamed(words[2]))
	case "state":
		return s.show(), nil
	default:
		return "", fmt.Errorf("no command %q", d.Cmd)
	}
	return "", nil
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (s *scenario) reset() error {
	s.state, s.now = state.New(), 0
	s.view = s.state.View()
	s.state.SetSlots(s.slots[0], s.slots[1])
	for _, line := range s.nodes {
		f := strings.Fields(line)
		slots := 1
		if len(f) == 3 {
			slots, _ = strconv.Atoi(strings.TrimPrefix(f[2], "slots="))
		}
		if _, err := s.state.AddNode(f[0], f[1], state.Resource{MemoryMB: int32(slots) * slotMB, VCores: int32(slots)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) submit(name string, args map[string]string, maps []string) error {
	number := func(key string, def int) int32 {
		if text, ok := args[key]; ok {
			def, _ = strconv.Atoi(text)
		}
		return int32(def)
	}
	slots := number("slots", 1)
	size := state.Resource{MemoryMB: slots * slotMB, VCores: slots}
	spec := state.JobSpec{
		Name: name, Queue: args["queue"], Pool: args["pool"], Priority: number("priority", 0), Weight: float64(number("weight", 1)),
		Maps: int32(len(maps)), Reduces: number("reduces", 0), MapSize: size, ReduceSize: size,
	}
	for _, line := range maps {
		var stored, cached []state.NodeID
		for _, host := range strings.Fields(strings.Trim(line, "-")) {
			plain, isCached := strings.CutSuffix(host, "*")
			n := s.view.NodeNamed(plain)
			if stored = append(stored, n); isCached {
				cached = append(cached, n)
			}
		}
		spec.Replicas.Add(stored...)
		spec.Cached.Add(cached...)
	}
	id, err := s.state.Submit(&spec)
	if err != nil {
		return err
	}
	s.state.Ask(id, state.Map, spec.Maps)
	s.state.Ask(id, state.Reduce, spec.Reduces)
	return nil
}

func (s *scenario) heartbeat(nodes []string, args map[string]string) (string, error) {
	times, afterMs := 1, 200
	if text, ok := args["times"]; ok {
		times, _ = strconv.Atoi(text)
	}
	if text, ok := args["after"]; ok {
		afterMs, _ = strconv.Atoi(text)
	}
	var out strings.Builder
	var failed error
	for range times {
		for _, name := range nodes {
			s.now += int64(afterMs) * 1e6
			s.state.SetNow(s.now)
			var did []string
			s.offers.Heartbeat(s.model, s.view, s.view.NodeNamed(name), func(d Decision) bool {
				if failed = check(s.view, d); failed != nil {
					return false
				}
				failed = s.state.Start(d.Job, d.Task, d.Node)
				text := fmt.Sprintf("%s.%s (%v)", s.view.JobName(d.Job), s.taskName(d.Job, d.Task), d.Reason)
				if s.view.NodeName(d.Node) != name {
					text += " on " + s.view.NodeName(d.Node)
				}
				did = append(did, text)
				return failed == nil
			})
			if failed != nil {
				return "", failed
			}
			if len(did) == 0 {
				did = []string{"nothing"}
			}
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(did, ", "))
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
	return id, found, nil
}

func (s *scenario) end(words []string, failed bool) error {
	id, tasks, err := s.tasks(words)
	for _, t := range tasks {
		if err != nil {
			break
		}
		if failed {
			err = s.state.Retry(id, t, true)
		} else {
			err = s.state.Finish(id, t)
		}
	}
	return err
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
