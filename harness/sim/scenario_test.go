package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"heddle/harness/state"
	"heddle/traces"
)

// TestScenarios runs the texts in testdata/scenarios. Each says what a small cluster
// has, which jobs run on it and what goes wrong, and then what happens when. To write
// the results anew: go test ./harness/sim -run TestScenarios -rewrite.
//
// cluster [speculation=hadoop|late] [fetches=nodes] [actuator=native|labels] [costs=default] [model=NAME] [amBeat=TIME]
// [expiry=TIME] [share=SHARE] [label=TIME]
//
//	NODE [rack=r0] [slots=1] [speed=1] [cores=0] [disk=0] [link=0] [memory=0] [cache=0]    rates in MB/s, sizes in MB
//
//	job NAME [at=TIME] [slowstart=1] [asks=(TIME,...)] [master=MB] [masterstart=TIME] [priority=N] [queue=NAME] [after=JOB]
//	[N times] map|reduce [TIME] [compute=TIME] [in=MB] [out=MB] [on=NODE,...] [cached=NODE,...] [block=N]
//	past map|reduce TASK.NUMBER ok|failed|killed TIME [copy=TIME]
//
//	at TIME NODE lost|back|slow SPEED|slots N     or: at TIME attempts fail SHARE
//
//	run
//
// A time is 1.5s, 20ms or 3m. A task takes TIME on any node, or computes so long on a
// node of speed 1.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var s story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.command(t, d)
			if err != nil {
				d.Fatalf(t, "%s: %v", d.Cmd, err)
			}
			return out
		})
	})
}

// story is the configuration that a scenario has described so far.
type story struct {
	config Config
	jobs   []Job
	out    []string
}

func (s *story) command(t testing.TB, d *datadriven.TestData) (string, error) {
	args := map[string]string{}
	var plain []string
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			plain = append(plain, a.Key)
		} else {
			args[a.Key] = strings.Join(a.Vals, ",")
		}
	}
	var lines []string
	if d.Input != "" {
		lines = strings.Split(d.Input, "\n")
	}
	w := words{args: args}
	switch d.Cmd {
	case "cluster":
		s.cluster(t, &w, lines)
	case "job":
		if len(plain) != 1 {
			return "", errors.New("want one name of a job")
		}
		s.job(plain[0], &w, lines)
	case "at":
		s.fault(&w, plain)
	case "run":
		s.run(&w)
	default:
		return "", fmt.Errorf("no such command: want cluster, job, at or run")
	}
	out := strings.Join(s.out, "\n")
	s.out = nil
	return out, w.rest()
}

// words are the values of a line by their names. It keeps the first error.
type words struct {
	args map[string]string
	err  error
}

// take returns a value and takes it away; "" if there is none.
func (w *words) take(name string) string {
	x := w.args[name]
	delete(w.args, name)
	return x
}

// rest returns the first error, or one that names the values that nobody took.
func (w *words) rest() error {
	for name := range w.args {
		w.fail("no value is called %s", name)
	}
	return w.err
}

func (w *words) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *words) ms(text string) int64 {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		w.fail("%q: want a time such as 1.5s", text)
	}
	return d.Milliseconds()
}

func (w *words) number(text string, otherwise float64) float64 {
	if text == "" {
		return otherwise
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		w.fail("%q: want a number", text)
	}
	return x
}

// node returns the number of a node; None if it has none with this name.
func (s *story) node(w *words, name string) state.NodeID {
	i := slices.IndexFunc(s.config.Cluster.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		w.fail("no node %q", name)
	}
	return state.NodeID(i)
}

// line splits "map 3s in=5" into its plain words, and the values by their names.
func line(text string) (plain []string, w words) {
	w.args = map[string]string{}
	for _, x := range strings.Fields(text) {
		if name, value, found := strings.Cut(x, "="); found {
			w.args[name] = value
		} else {
			plain = append(plain, x)
		}
	}
	return plain, w
}

func (s *story) cluster(t testing.TB, w *words, lines []string) {
	*s = story{config: Config{Actuator: Ideal, Costs: NoCosts(), Cluster: Machines{WritesWait: true}}}
	c := &s.config
	switch x := w.take("costs"); x {
	case "":
	case "default":
		c.Costs = DefaultCosts()
	default:
		w.fail("costs=%s: want default", x)
	}
	switch x := w.take("actuator"); x {
	case "native":
		c.Actuator = Native
	case "labels":
		c.Actuator = Labels
	case "":
	default:
		w.fail("actuator=%s: want native or labels", x)
	}
	switch x := w.take("speculation"); x {
	case "hadoop":
		c.Speculation = HadoopSpeculation
	case "late":
		c.Speculation = LATE
	case "":
	default:
		w.fail("speculation=%s: want hadoop or late", x)
	}
	c.NodeFetches = w.take("fetches") == "nodes"
	if x := w.take("amBeat"); x != "" {
		c.Costs.AMBeatMs = int32(w.ms(x))
	}
	if x := w.take("expiry"); x != "" {
		c.Costs.NodeExpiryMs = int32(w.ms(x))
	}
	if x := w.take("share"); x != "" {
		c.Costs.AMShare = w.number(x, 0)
	}
	if x := w.take("label"); x != "" {
		c.Costs.LabelMs = []int32{int32(w.ms(x))}
	}
	name := w.take("model")
	if name == "" {
		name = "fifo"
	}
	c.Model = newModel(t, name)
	for _, text := range lines {
		plain, v := line(text)
		if len(plain) != 1 {
			w.fail("%q: want NODE and values", text)
			return
		}
		mb := func(name string) int64 { return int64(v.number(v.take(name), 0) * 1e6) }
		n := Node{
			Name: plain[0], Rack: v.take("rack"), Capacity: slot.Times(int32(v.number(v.take("slots"), 1))),
			Speed: v.number(v.take("speed"), 0), Cores: v.number(v.take("cores"), 0),
		}
		n.DiskBytesPerSec, n.LinkBytesPerSec, n.MemoryBytesPerSec, n.CacheBytes = mb("disk"), mb("link"), mb("memory"), mb("cache")
		if n.Rack == "" {
			n.Rack = "r0"
		}
		c.CacheReads = c.CacheReads || n.CacheBytes > 0
		c.Cluster.Nodes = append(c.Cluster.Nodes, n)
		if err := v.rest(); err != nil {
			w.fail("%q: %w", text, err)
		}
	}
}

// slot is the size of all containers of tasks.
var slot = state.Resource{MemoryMB: 1024, VCores: 1}

func (s *story) job(name string, w *words, lines []string) {
	j := Job{
		SubmitMs: w.ms(w.take("at")), SlowStart: float32(w.number(w.take("slowstart"), 1)), After: traces.JobID(w.take("after")),
		AMStartMs: int32(w.ms(w.take("masterstart"))),
	}
	j.JobSpec = state.JobSpec{Name: name, Queue: "default", MapSize: slot, ReduceSize: slot, Priority: int32(w.number(w.take("priority"), 0))}
	if x := w.take("queue"); x != "" {
		j.Queue = x
	}
	if mb := w.number(w.take("master"), 0); mb > 0 {
		j.AMSize = state.Resource{MemoryMB: int32(mb), VCores: 1}
	}
	if x := w.take("asks"); x != "" {
		for _, at := range strings.Split(x, ",") {
			j.ReduceAskMs = append(j.ReduceAskMs, w.ms(strings.TrimSpace(at)))
		}
	}
	for _, text := range lines {
		plain, v := line(text)
		if len(plain) > 0 && plain[0] == "past" {
			j.Pasts = append(j.Pasts, pastOf(&v, plain[1:]))
		} else {
			s.tasks(&j, &v, plain)
		}
		if err := v.rest(); err != nil {
			w.fail("%q: %w", text, err)
		}
	}
	s.jobs = append(s.jobs, j)
}

// tasks adds the tasks of a line such as "20 map compute=3s on=n0,n1".
func (s *story) tasks(j *Job, v *words, plain []string) {
	times := 1
	if len(plain) > 1 {
		if n, err := strconv.Atoi(plain[0]); err == nil {
			times, plain = n, plain[1:]
		}
	}
	if len(plain) == 0 || len(plain) > 2 || plain[0] != "map" && plain[0] != "reduce" {
		v.fail("want map, reduce or past")
		return
	}
	work := Work{
		ComputeMs: int32(v.ms(v.take("compute"))), InputBytes: int64(v.number(v.take("in"), 0) * 1e6),
		OutputBytes: int64(v.number(v.take("out"), 0) * 1e6),
	}
	if len(plain) == 2 {
		work.FixedMs = int32(v.ms(plain[1]))
	}
	on, cached, block := v.take("on"), v.take("cached"), v.take("block")
	for range times {
		if plain[0] == "reduce" {
			j.Reduces, j.ReduceWork = j.Reduces+1, append(j.ReduceWork, work)
			continue
		}
		j.Maps, j.MapWork = j.Maps+1, append(j.MapWork, work)
		for _, x := range []struct {
			names string
			to    *state.Hosts
		}{{on, &j.Replicas}, {cached, &j.Cached}} {
			var hosts []state.NodeID
			for _, name := range strings.FieldsFunc(x.names, func(r rune) bool { return r == ',' }) {
				hosts = append(hosts, s.node(v, name))
			}
			x.to.Add(hosts...)
		}
		if block != "" {
			j.Blocks = append(j.Blocks, traces.Block(v.number(block, 0)))
		}
	}
}

// pastOf is how an attempt ended in the recording, as "map 0.1 failed 3s".
func pastOf(v *words, plain []string) (p Past) {
	if len(plain) != 4 {
		v.fail("want past map|reduce TASK.NUMBER ok|failed|killed TIME")
		return p
	}
	if plain[0] == "reduce" {
		p.Kind = state.Reduce
	}
	if _, err := fmt.Sscanf(plain[1], "%d.%d", &p.Task, &p.Number); err != nil {
		v.fail("%q: want TASK.NUMBER", plain[1])
	}
	how, ok := map[string]traces.Outcome{"ok": traces.Succeeded, "failed": traces.Failed, "killed": traces.Killed}[plain[2]]
	if !ok {
		v.fail("%q: want ok, failed or killed", plain[2])
	}
	p.Outcome, p.Ms, p.SpeculateMs = how, int32(v.ms(plain[3])), int32(v.ms(v.take("copy")))
	return p
}

// fault adds what happens to a node, as "at 9s n0 lost".
func (s *story) fault(w *words, plain []string) {
	if len(plain) < 3 {
		w.fail("want at TIME NODE lost|back|slow|slots")
		return
	}
	f := Fault{AtMs: w.ms(plain[0])}
	last := w.number(plain[len(plain)-1], 0)
	if what := strings.Join(plain[1:3], " "); what == "attempts fail" {
		f.What, f.Share = AttemptsFail, last
		s.config.Faults = append(s.config.Faults, f)
		return
	}
	f.Node = s.node(w, plain[1])
	switch plain[2] {
	case "lost", "back":
		w.err = nil // the last word is no number
		if f.What = NodeDown; plain[2] == "back" {
			f.What = NodeUp
		}
	case "slow":
		f.What, f.Speed = NodeSlow, last
	case "slots":
		s.config.Capacity.Changes = append(s.config.Capacity.Changes,
			state.CapacityChange{AtMs: f.AtMs, Node: plain[1], Left: slot.Times(int32(last))})
		return
	default:
		w.fail("%q: want lost, back, slow or slots", plain[2])
	}
	s.config.Faults = append(s.config.Faults, f)
}

// run simulates what was described, and says what happened.
func (s *story) run(w *words) {
	c := s.config
	c.Source = &Jobs{List: s.jobs}
	c.Record = func(e traces.Event) {
		if text := told(e); text != "" {
			s.out = append(s.out, text)
		}
	}
	r, err := Run(&c)
	if err != nil {
		s.out = append(s.out, "error: "+strings.TrimPrefix(err.Error(), "simulate: "))
		return
	}
	read := int64(0)
	for _, bytes := range r.Bytes.Read {
		read += bytes
	}
	if r.Bytes != (Bytes{}) {
		s.out = append(s.out, fmt.Sprintf("read %g MB, fetched %g MB, wrote %g MB", float64(read)/1e6, float64(r.Bytes.Shuffled)/1e6,
			float64(r.Bytes.Written)/1e6))
	}
}

// told says what an event is, with the time in front; "" for one that scenarios leave out.
func told(e traces.Event) string {
	at := func(t traces.Time, format string, args ...any) string {
		return fmt.Sprintf("%-8s", fmt.Sprintf("%gs", float64(t.Milliseconds())/1000)) + fmt.Sprintf(format, args...)
	}
	task := func(t traces.Task) string { return fmt.Sprintf("%s: %v %d", t.Job, t.Kind, t.Index) }
	attempt := func(a traces.Attempt) string {
		if a.Number == 0 {
			return task(a.Task)
		}
		return fmt.Sprintf("%s, attempt %d,", task(a.Task), a.Number)
	}
	switch e := e.(type) {
	case *traces.JobSubmitted:
		return at(e.T, "%s: submitted", e.Job)
	case *traces.JobStarted:
		if e.AMNode == "" {
			return at(e.T, "%s: master up", e.Job)
		}
		return at(e.T, "%s: master up on %s", e.Job, e.AMNode)
	case *traces.JobFinished:
		return at(e.T, "%s: %v", e.Job, e.Outcome)
	case *traces.AttemptStarted:
		how := ""
		if e.ReplicaLocality == state.LevelCache || e.ReplicaLocality == state.LevelNode {
			how = " (" + e.ReplicaLocality.String() + ")"
		}
		if e.Speculative {
			how += " (speculative)"
		}
		return at(e.T, "%s starts on %s%s", attempt(e.Attempt), e.Node, how)
	case *traces.AttemptFinished:
		if e.Unlaunched {
			return at(e.T, "%s %v before its start", attempt(e.Attempt), e.Outcome)
		}
		return at(e.T, "%s %v", attempt(e.Attempt), e.Outcome)
	case *traces.NodeDown:
		return at(e.T, "%s noticed as lost", e.Node)
	case *traces.NodeUp:
		return at(e.T, "%s back", e.Node)
	case *traces.NodeSpeed:
		return at(e.T, "%s has speed %g", e.Node, e.Speed)
	case *traces.NodeCapacity:
		return at(e.T, "%s has %d MB", e.Node, e.MemoryBytes>>20)
	case *traces.Decision:
		return ""
	case *traces.Actuation:
		if e.Outcome == "honoured" {
			return ""
		}
		return at(e.T, "a container is given back: %s", e.Outcome)
	}
	return ""
}
