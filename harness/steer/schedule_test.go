package steer_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/config"
	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/traces"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// schedule is what a Core has to live through: a cluster, jobs, and when which
// calls and what else goes wrong. Times are in milliseconds.
type schedule struct {
	Racks, PerRack, Slots, Triples int
	Async                          bool // scheduling, else with heartbeats
	LabelDelay                     int
	unsaid                         bool // the ResourceManager does not say what it has to handle
	Model, Splits                  string
	model                          sched.Model // in place of Model, if it is given
	Seed                           uint64      // of the small delays that every call has
	Jobs                           []jobPlan
	Troubles                       []trouble
	Mishaps                        []mishap
	Capacity                       []capacityStep
	told                           config.Capacity // its Told, Lag and Noise
}

type jobPlan struct {
	At      int
	Maps    [][]int // nodes of each split
	Reduces int
	Runs    int
	Fails   []int // maps whose first attempt does
}

// trouble is a time in which calls of a class go wrong, each that is sent in it.
type trouble struct {
	From, For int
	Class     string // "": all
	Fate      fate
	Delay     int
}

type fate string

const (
	arrivesLate  fate = "arrives late"
	answersLate  fate = "answers late"
	lost         fate = "lost"
	toldFailed   fate = "done but told as failed"
	doneAfter    fate = "told as failed and done later"
	answersTwice fate = "answers twice"
)

// mishap is something that happens to the cluster.
type mishap struct {
	At   int
	What string
	Node int // or job
	For  int
}

const horizon = 10_000 // ms: no trouble begins later

// grouped stands for a model that places a job's reduces as a group.
const grouped = "grouped"

// greedy stands for a model that places reduces by the output of finished maps.
const greedy = "greedy"

// evenly is a number below n. Those of rapid are small ones mostly, and times would
// be early ones.
func evenly(n int) *rapid.Generator[int] {
	return rapid.Map(rapid.IntRange(0, 4*n), func(x int) int { return x * (n * 618 / 1000) % n })
}

func drawSchedule(t *rapid.T) schedule {
	s := schedule{
		Racks: rapid.IntRange(1, 2).Draw(t, "racks"), PerRack: rapid.IntRange(2, 3).Draw(t, "nodes a rack"),
		Slots: rapid.IntRange(1, 3).Draw(t, "slots"), Triples: rapid.IntRange(1, 3).Draw(t, "triples"),
		Async: rapid.Bool().Draw(t, "async"), LabelDelay: rapid.SampledFrom([]int{0, 15}).Draw(t, "label delay"),
		Model:  rapid.SampledFrom([]string{"fifo", "delay", "acl", grouped, greedy}).Draw(t, "model"),
		Splits: rapid.SampledFrom([]string{config.SplitsAsSubmitted, config.SplitsAsSubmitted, config.SplitsCachedOnly}).Draw(t, "splits"),
		Seed:   rapid.Uint64().Draw(t, "seed"),
	}
	nodes := s.Racks * s.PerRack
	at, delay := evenly(horizon), evenly(4000)
	s.Jobs = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) jobPlan {
		hosts := rapid.SliceOfNDistinct(rapid.IntRange(0, nodes-1), 0, 2, rapid.ID[int])
		j := jobPlan{
			At: evenly(5000).Draw(t, "at"), Reduces: rapid.IntRange(0, 2).Draw(t, "reduces"),
			Runs: 50 + evenly(2500).Draw(t, "runs"), Maps: rapid.SliceOfN(hosts, 1, 12).Draw(t, "maps"),
		}
		j.Fails = rapid.SliceOfN(rapid.IntRange(0, len(j.Maps)-1), 0, 2).Draw(t, "fails")
		return j
	}), 1, 3).Draw(t, "jobs")
	if rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "calm") {
		for i := range s.Jobs {
			s.Jobs[i].Fails = nil
		}
		return s
	}
	s.Troubles = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) trouble {
		return trouble{
			From: at.Draw(t, "from"), For: 100 + evenly(3000).Draw(t, "for"),
			Class: rapid.SampledFrom([]string{
				"", "labels", "labels", "containers", "taskAttempts", "tasks", "apps", "app", "appAttempts", "nodes",
				"node", "size", "kill", "rm", "jobFiles",
			}).Draw(t, "class"),
			Fate:  rapid.SampledFrom([]fate{arrivesLate, answersLate, lost, toldFailed, doneAfter, answersTwice}).Draw(t, "fate"),
			Delay: 1 + delay.Draw(t, "delay"),
		}
	}), 0, 8).Draw(t, "troubles")
	s.Mishaps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mishap {
		return mishap{
			At: at.Draw(t, "at"), What: rapid.SampledFrom([]string{
				"node lost", "ResourceManager restarted", "master lost", "two containers at once",
				"stale label", "shell stalls", "given back", "taken back",
			}).Draw(t, "what"),
			Node: rapid.IntRange(0, nodes-1).Draw(t, "node"), For: 1 + delay.Draw(t, "for"),
		}
	}), 0, 5).Draw(t, "mishaps")
	return s
}

// shell has a Core steer a fake cluster: in virtual time, in one goroutine, with
// the troubles of a schedule.
type shell struct {
	schedule
	clock    *yarntest.Clock
	cluster  *yarntest.Fake
	rm       *yarnclient.RM
	core     *steer.Core
	origin   time.Time
	rng      *rand.Rand
	hosts    []string
	due      []dueEvent
	seq      int
	batch    []steer.Observation
	stalled  time.Time
	free     []string // numbers of triples
	jobs     []*jobRun
	events   []traces.Event
	err      error            // what was found wrong on the way
	left     map[string]int64 // memory in MB that is left of nodes, by the changes recorded so far
	counters int              // calls for counters of tasks
	gaveUp   bool             // whether steering ended, and had a reason to; see startsEarly
	// spoil, if set, changes what the Core wants to have done.
	spoil func(steer.Action) []steer.Action
}

type jobRun struct {
	jobPlan
	tag, number, id string
	splits          [][]string
	meta            []byte
	masterLost      bool
	ended           bool
}

type dueEvent struct {
	at  time.Time
	seq int
	do  func()
}

func (s *shell) after(d time.Duration, do func()) {
	s.seq++
	e := dueEvent{s.clock.Now().Add(d), s.seq, do}
	i, _ := slices.BinarySearchFunc(s.due, e, func(a, b dueEvent) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq))
	})
	s.due = slices.Insert(s.due, i, e)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

const beat = 200 * time.Millisecond

// newShell sets up the cluster and parks its workers.
func newShell(plan schedule) (*shell, error) {
	s := &shell{schedule: plan, left: map[string]int64{}, clock: yarntest.NewClock(), rng: rand.New(rand.NewPCG(plan.Seed, 1))}
	s.origin = s.clock.Now()
	cfg := yarntest.Config{
		Nodes: append([]yarntest.Node{{Host: "master", Rack: "/core", Label: "am", MemoryMB: 64 << 10, VCores: 64}},
			yarntest.Workers(s.Racks, s.PerRack, int64(s.Slots)*512, 64)...),
		Labels: []string{"idle", "am"}, LabelDelay: ms(s.LabelDelay), QueuesUnsaid: s.unsaid, Expiry: 5 * time.Second, Now: s.clock.Now,
	}
	if s.Async {
		cfg.Async = 20 * time.Millisecond
	}
	for _, n := range cfg.Nodes[1:] {
		s.hosts = append(s.hosts, n.Host)
	}
	for i := range s.Triples {
		number := fmt.Sprintf("%02d", i)
		s.free = append(s.free, number)
		cfg.Labels = append(cfg.Labels, "a"+number, "m"+number, "r"+number)
	}
	s.cluster = yarntest.New(cfg)
	var err error
	if s.rm, err = yarnclient.NewRM(yarnclient.Options{
		Addresses: []string{"http://rm:8088"}, Transport: s.cluster.Transport(),
		Retries: -1,
	}); err != nil {
		return nil, err
	}
	o := steer.Options{
		Splits: s.Splits, Capacity: s.capacity(s.hosts), Origin: s.origin, RM: s.origin.UnixMilli(),
		Setup: steer.Setup{
			AMLabel: "am", Queue: "default", Triples: slices.Clone(s.free), Beat: beat,
			Smallest: state.Resource{MemoryMB: 512, VCores: 1},
		},
	}
	name, params := s.Model, sched.Params(nil)
	if s.model != nil {
		name = "fifo"
	}
	if name == greedy {
		name, params = "fifo", sched.Params{"reduces": "reduce-greedy"}
	}
	if name == grouped {
		name, params = "fifo", sched.Params{"reduces": "reduce-random", "reduces.groups": "true", "reduces.groupLimit": "3s"}
	}
	if o.Model, err = sched.New(name, params); err != nil {
		return nil, err
	}
	if s.model != nil {
		o.Model = s.model
	}
	if o.Nodes, err = s.rm.Nodes(context.Background()); err != nil {
		return nil, err
	}
	var parked map[string]string
	if s.core, parked, err = steer.New(o); err != nil {
		return nil, err
	}
	for i, p := range s.Jobs {
		j := &jobRun{jobPlan: p, tag: fmt.Sprintf("job%d", i)}
		s.jobs = append(s.jobs, j)
		s.after(ms(p.At), func() { s.submit(j, &o) })
	}
	for _, m := range s.Mishaps {
		s.after(ms(m.At), func() { s.happen(m) })
	}
	return s, s.rm.ReplaceLabels(context.Background(), parked)
}

// submit starts a job when a triple is free and the ResourceManager is there.
func (s *shell) submit(j *jobRun, o *steer.Options) {
	again := func() { s.after(100*time.Millisecond, func() { s.submit(j, o) }) }
	if len(s.free) == 0 {
		again()
		return
	}
	sub := &steer.Submission{Number: s.free[0], Tag: j.tag}
	set := o.Settings(sub)
	job := yarntest.Job{
		Name: j.tag, Tags: j.tag, MapOutput: func(task int) int64 { return int64(1000 * (task + 1)) },
		AMLabel: set["mapreduce.job.am.node-label-expression"], MapLabel: set["mapreduce.map.node-label-expression"],
		ReduceLabel: set["mapreduce.reduce.node-label-expression"], Reduces: j.Reduces, Slowstart: 1,
		Run: func(kind string, task, attempt int) (time.Duration, bool) {
			return ms(j.Runs + 37*task), kind == "MAP" && attempt == 0 && slices.Contains(j.Fails, task)
		},
	}
	for _, at := range j.Maps {
		hosts := []string{}
		for _, n := range at {
			hosts = append(hosts, s.hosts[n])
		}
		job.Maps = append(job.Maps, hosts)
	}
	id, err := s.cluster.Submit(job)
	if err != nil {
		again()
		return
	}
	s.free = s.free[1:]
	j.id, j.number, j.splits = id, sub.Number, job.Maps
	s.tell(steer.Observation{Submitted: sub})
	s.after(100*time.Millisecond, func() { s.await(j) })
}

// await gives a job's labels back when it has ended.
func (s *shell) await(j *jobRun) {
	app, err := s.rm.App(context.Background(), j.id)
	if err != nil || !app.Ended() {
		s.after(100*time.Millisecond, func() { s.await(j) })
		return
	}
	if j.ended = true; app.FinalStatus != "SUCCEEDED" {
		s.wrong("%s ended as %s", j.id, app.FinalStatus)
	}
	s.tell(steer.Observation{Released: j.number})
	s.free = append(s.free, j.number)
}

func (s *shell) happen(m mishap) {
	host, j := s.hosts[m.Node], s.jobs[m.Node%len(s.jobs)]
	switch m.What {
	case "node lost":
		s.cluster.StopNode(host)
		s.after(4*ms(m.For), func() { s.cluster.StartNode(host) })
	case "ResourceManager restarted":
		s.cluster.RestartRM(ms(m.For), time.Second)
	case "master lost":
		if !j.masterLost && !j.ended { // a second time would end the job
			j.masterLost = true
			s.cluster.KillMaster(j.id)
		}
	case "two containers at once":
		s.cluster.AllocateTwice(host)
	case "stale label":
		s.cluster.StaleLabel(host, ms(m.For))
	case "given back":
		s.cluster.GiveBack(j.id, 1)
	case "taken back":
		s.cluster.TakeBack(j.id, ms(m.For))
	case "shell stalls":
		s.stalled = s.clock.Now().Add(ms(m.For) / 4)
	}
}

// run goes on until all jobs have ended and a while longer, and ends steering.
func (s *shell) run() error {
	const limit, settle = 5 * time.Minute, 25 * time.Second
	var quiet time.Time // when all jobs have been over for long enough
	wake := s.origin
	for s.err == nil && !s.gaveUp {
		now := s.clock.Now()
		if quiet.IsZero() && now.Sub(s.origin) > ms(horizon) && !slices.ContainsFunc(s.jobs, func(j *jobRun) bool { return !j.ended }) {
			quiet = now.Add(settle)
		}
		switch {
		case !quiet.IsZero() && now.After(quiet):
			if open := s.core.Stats().Open; open > 0 {
				s.wrong("%d decisions are open though no job is left", open)
			}
			for _, a := range s.core.End(now) {
				s.begin(a)
			}
			return cmp.Or(s.judge(), s.judgeCapacity())
		case now.Sub(s.origin) > limit:
			for _, j := range s.jobs {
				if !j.ended {
					s.wrong("%s is stranded: %d of its attempts had containers", cmp.Or(j.id, j.tag), len(s.cluster.Attempts(j.id)))
				}
			}
		}
		if !s.stalled.After(now) && (len(s.batch) > 0 || !wake.IsZero() && !wake.After(now)) {
			var actions []steer.Action
			batch := s.batch
			s.batch = nil
			actions, wake = s.core.Step(now, batch)
			if err := s.core.WaitsWrongly(); err != nil {
				s.wrong("%v", err)
			}
			for _, a := range actions {
				s.begin(a)
			}
			continue
		}
		next := now.Add(time.Second)
		if len(s.due) > 0 && s.due[0].at.Before(next) {
			next = s.due[0].at
		}
		if at := wake; !at.IsZero() && at.Before(next) {
			if at.Before(s.stalled) {
				at = s.stalled
			}
			if at.Before(next) {
				next = at
			}
		}
		s.clock.Advance(max(0, next.Sub(now)))
		for len(s.due) > 0 && !s.due[0].at.After(next) {
			do := s.due[0].do
			s.due = s.due[1:]
			do()
		}
	}
	return s.err
}

func (s *shell) tell(o steer.Observation) {
	o.Received = s.clock.Now()
	s.batch = append(s.batch, o)
}

func (s *shell) wrong(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%v: "+format, append([]any{s.clock.Now().Sub(s.origin)}, args...)...)
	}
}

func (s *shell) begin(a steer.Action) {
	if s.spoil == nil {
		s.carryOut(a)
		return
	}
	for _, a := range s.spoil(a) {
		s.carryOut(a)
	}
}

func (s *shell) carryOut(a steer.Action) {
	ctx := context.Background()
	change := func(number int64, class string, call func() error) {
		s.call(steer.Observation{Answers: number}, class, 3*time.Second, func() (any, error) { return nil, call() })
	}
	switch a := a.(type) {
	case *steer.Record:
		s.events = append(s.events, a.Event)
		if e, is := a.Event.(*traces.NodeCapacity); is {
			s.left[string(e.Node)] = e.MemoryBytes >> 20
		}
	case *steer.Stop:
		if s.startsEarly(a.Err) {
			s.gaveUp = true
			return
		}
		s.wrong("steering has ended: %v", a.Err)
	case *steer.Look:
		s.call(steer.Observation{Answers: a.Number, What: a.What}, string(a.What), a.Limit, func() (any, error) { return s.look(ctx, a) })
	case *steer.SetLabels:
		s.checkLabels(a.LabelOf)
		change(a.Number, "labels", func() error { return s.rm.ReplaceLabels(ctx, a.LabelOf) })
	case *steer.SetSize:
		s.checkSize(a)
		change(a.Number, "size", func() error { return s.rm.SetNodeResource(ctx, a.Node, a.Total) })
	case *steer.SetScheduler:
		change(a.Number, "scheduler", func() error { return s.rm.SetSchedulerConf(ctx, a.Change) })
	case *steer.Kill:
		change(a.Number, "kill", func() error { return s.rm.AM(a.App).KillAttempt(ctx, a.Attempt) })
	case *steer.Train:
		a.Run(nil)
		s.after(time.Second, func() { s.tell(steer.Observation{Answers: a.Number}) })
	case *steer.Rewrite: // its failing ends steering, on purpose
		change(a.Number, "rewrite", func() error { return s.rewrite(a) })
	}
}

// startsEarly says whether steering may end with this error. While calls that change
// labels fail, a node may keep the label of one ApplicationMaster, or get it long after
// the call. If the next job has the same number, its ApplicationMaster then starts
// before its splits are rewritten, and steering has to say so.
func (s *shell) startsEarly(err error) bool {
	kept := slices.ContainsFunc(s.Troubles, func(x trouble) bool { return x.Class == "labels" || x.Class == "" })
	started := strings.Contains(err.Error(), "its ApplicationMaster was not held: it runs already") ||
		strings.Contains(err.Error(), "its master has started")
	return kept && started && len(s.jobs) > s.Triples
}

// call makes a call: on its way there and back a moment passes, and what the
// schedule's troubles say.
func (s *shell) call(o steer.Observation, class string, limit time.Duration, do func() (any, error)) {
	o.Sent = s.clock.Now()
	jitter := func() time.Duration { return time.Duration(s.rng.Int64N(int64(4 * time.Millisecond))) }
	there, back, twice := jitter(), jitter(), time.Duration(0)
	told, sent := error(nil), true
	for _, x := range s.Troubles {
		if at := o.Sent.Sub(s.origin); at < ms(x.From) || at >= ms(x.From+x.For) || x.Class != class && x.Class != "" || class == "rewrite" {
			continue
		}
		failed := fmt.Errorf("%s, %s: %w", class, x.Fate, yarnclient.ErrUnreachable)
		switch x.Fate {
		case arrivesLate:
			there += time.Duration(s.rng.Int64N(int64(ms(x.Delay))))
		case answersLate:
			back += time.Duration(s.rng.Int64N(int64(ms(x.Delay))))
		case lost:
			there, sent, told = min(limit, 3*time.Second), false, failed
		case toldFailed:
			told = failed
		case doneAfter:
			told, there = failed, there+ms(x.Delay)
			back = -ms(x.Delay)
		case answersTwice:
			twice = ms(x.Delay)
		}
	}
	if there+back > limit {
		told, back = fmt.Errorf("%s: no answer within %v: %w", class, limit, yarnclient.ErrUnreachable), limit-there
	}
	answer := func() { s.tell(o) }
	if told != nil {
		o.Err = steer.FailureOf(told)
		s.after(max(0, there+back), answer)
	}
	s.after(there, func() {
		if !sent {
			return
		}
		got, err := do()
		if told == nil {
			o.Answer, o.Err = got, steer.FailureOf(err)
			s.after(back, answer)
			if twice > 0 {
				s.after(back+twice, answer)
			}
		}
	})
}

func (s *shell) look(ctx context.Context, l *steer.Look) (any, error) {
	switch l.What {
	case steer.AskApps:
		return s.rm.Apps(ctx, yarnclient.AppFilter{Tags: l.Tags})
	case steer.AskApp:
		return s.rm.App(ctx, l.Of)
	case steer.AskAppAttempts:
		return s.rm.Attempts(ctx, l.Of)
	case steer.AskContainers:
		return s.rm.Containers(ctx, l.Of)
	case steer.AskRM:
		return s.rm.Info(ctx)
	case steer.AskNode:
		return s.rm.Node(ctx, l.Of)
	case steer.AskNodes:
		if l.Of != "" {
			return s.rm.Nodes(ctx, l.Of)
		}
		return s.rm.Nodes(ctx)
	case steer.AskQueued:
		return s.rm.Queued(ctx)
	case steer.AskTasks:
		return s.rm.AM(l.Of).Tasks(ctx)
	case steer.AskTaskAttempts:
		return s.rm.AM(l.App.ID).Attempts(ctx, l.Of)
	case steer.AskTaskCounters:
		s.counters++
		return s.rm.AM(l.App.ID).TaskCounters(ctx, l.Of)
	case steer.AskJobFiles:
		return s.files(l.App)
	}
	return nil, fmt.Errorf("nobody knows how to ask for %q", l.What)
}

func (s *shell) jobOf(id string) *jobRun {
	return s.jobs[slices.IndexFunc(s.jobs, func(j *jobRun) bool { return j.id == id })]
}

func (s *shell) files(app yarnclient.App) (*steer.JobFiles, error) {
	j := s.jobOf(app.ID)
	size := state.Resource{MemoryMB: 512, VCores: 1}
	files := &steer.JobFiles{
		Spec:   state.JobSpec{Name: j.tag, Maps: int32(len(j.splits)), Reduces: int32(j.Reduces), MapSize: size, ReduceSize: size},
		Splits: slices.Clone(j.splits), Beat: beat, ReduceAfter: int32(len(j.splits)),
	}
	for i, hosts := range j.splits {
		files.Metas = append(files.Metas, jobsplit.Meta{Hosts: hosts, Offset: int64(i), Length: 1})
		files.MostCached = append(files.MostCached, hosts[:min(len(hosts), i%2)])
	}
	j.meta = jobsplit.AppendMeta(nil, files.Metas)
	files.Meta = j.meta
	return files, nil
}

func (s *shell) rewrite(a *steer.Rewrite) error {
	j := s.jobOf(a.App)
	if !bytes.Equal(a.Was, j.meta) {
		return errors.New("another file")
	}
	metas, err := jobsplit.ParseMeta(bytes.NewReader(a.Now))
	if err != nil {
		return err
	}
	for i, m := range metas {
		j.splits[i] = m.Hosts
	}
	return s.cluster.Resplit(a.App, j.splits)
}

// checkLabels says whether nodes are given labels that they may have.
func (s *shell) checkLabels(labelOf map[string]string) {
	for node, label := range labelOf {
		host, _, _ := strings.Cut(node, ":")
		role, number := label[:1], label[1:]
		ours := slices.ContainsFunc(s.jobs, func(j *jobRun) bool { return j.number == number })
		switch {
		case slices.Contains(s.hosts, host) && (label == "idle" || (role == "m" || role == "r") && ours):
		case host == "master" && s.Splits != config.SplitsAsSubmitted && (label == "am" || role == "a" && ours):
		default:
			s.wrong("node %s is given label %q", node, label)
		}
	}
}

// judge holds what was recorded against what there was.
func (s *shell) judge() error {
	decided := map[int64]*traces.Decision{}
	outcome := map[int64]*traces.Actuation{}
	by := map[string]int64{} // decision, by container
	label := map[traces.Node]string{}
	honoured := int64(0)
	for _, e := range s.events {
		switch e := e.(type) {
		case *traces.NodeLabel:
			label[e.Node] = e.Label
		case *traces.Decision:
			if decided[e.ID] != nil {
				s.wrong("decision %d is made twice", e.ID)
			}
			decided[e.ID] = e
		case *traces.Actuation:
			switch {
			case decided[e.Decision] == nil:
				s.wrong("an outcome of decision %d, which was not made", e.Decision)
			case outcome[e.Decision] != nil:
				s.wrong("decision %d has two outcomes: %+v and %+v", e.Decision, outcome[e.Decision], e)
			case e.Container != "" && by[e.Container] > 0:
				s.wrong("container %s is that of decisions %d and %d", e.Container, by[e.Container], e.Decision)
			case e.Outcome == "cancelled" && decided[e.Decision].Group > 0: // with a container or without
			case (e.Container != "") != (e.Outcome == "honoured" || e.Outcome == "surplus" || e.Outcome == "unused"):
				s.wrong("decision %d was %s, with container %q", e.Decision, e.Outcome, e.Container)
			}
			outcome[e.Decision] = e
			if e.Outcome == "honoured" {
				honoured++
			}
			if e.Container != "" {
				by[e.Container] = e.Decision
			}
		}
	}
	if s.err != nil {
		return s.err
	}
	s.judgeGroups(decided, outcome)
	maps := s.judgeAttempts(decided, outcome, by)
	s.judgeUnused(outcome)
	s.judgeEmpty(decided, outcome, by)
	for id, d := range decided {
		switch o := outcome[id]; {
		case o == nil:
			s.wrong("decision %d has no outcome", id)
			return s.err
		case s.calm() && (o.Outcome != "honoured" || d.BindIndex >= 0 && d.BindBranch != "any" && o.Bound.Job != "" &&
			o.Bound.Index != d.BindIndex):
			s.wrong("nothing went wrong, and %+v got %+v", d, o)
		}
		for next := id + 1; decided[next] != nil && decided[next].T < outcome[id].T; next++ {
			if d.BindIndex >= 0 && decided[next].Job == d.Job && decided[next].BindIndex == d.BindIndex &&
				!s.ranElsewhere(d, decided[next], outcome[id]) {
				s.wrong("decisions %d and %d are both for %s map %d", id, next, d.Job, d.BindIndex)
			}
		}
	}
	stats := s.core.Stats()
	started := int64(0)
	for _, n := range stats.Maps {
		started += n
	}
	if stats.Decisions != int64(len(decided)) || stats.Honoured != honoured || stats.Open != 0 || started > maps {
		s.wrong("%+v, want %d decisions, %d honoured, none open, %d maps", stats, len(decided), honoured, maps)
	}
	nodes, err := s.rm.Nodes(context.Background())
	if err != nil {
		return err
	}
	for _, n := range nodes {
		want := "idle"
		if n.Host == "master" {
			want = "am"
		} else if noted := label[traces.Node(n.Host)]; noted != want {
			s.wrong("node %s was noted last with label %q", n.Host, noted)
		}
		if n.Label() != want {
			s.wrong("node %s ends in label %q", n.Host, n.Label())
		}
	}
	return s.err
}

// calm says that nothing goes wrong in the schedule. On nodes of several slots a
// container may end while the node is open, and another come in its room.
func (s *shell) calm() bool {
	return s.Slots == 1 && len(s.Troubles)+len(s.Mishaps)+len(s.Capacity) == 0 &&
		!slices.ContainsFunc(s.jobs, func(j *jobRun) bool { return len(j.Fails) > 0 })
}

// judgeGroups has the decisions of a group carried out all or none.
func (s *shell) judgeGroups(decided map[int64]*traces.Decision, outcome map[int64]*traces.Actuation) {
	came, gone := map[int64]int64{}, map[int64]int64{} // by group: a decision that was honoured, and one that was not
	for id, d := range decided {
		if o := outcome[id]; d.Group > 0 && o != nil {
			switch o.Outcome {
			case "honoured", "surplus":
				came[d.Group] = id
			case "cancelled", "none":
				gone[d.Group] = id
			}
		}
	}
	for g, id := range came {
		if other := gone[g]; other > 0 {
			s.wrong("of one group, decision %d was %s and %d %s", id, outcome[id].Outcome, other, outcome[other].Outcome)
		}
	}
}

// judgeAttempts holds the outcomes against the attempts that ran, and counts maps.
func (s *shell) judgeAttempts(decided map[int64]*traces.Decision, outcome map[int64]*traces.Actuation, by map[string]int64) (maps int64) {
	for _, j := range s.jobs {
		for _, a := range s.cluster.Attempts(j.id) {
			if a.Kind == "MAP" {
				maps++
			}
			id := by[a.Container]
			if id == 0 {
				if s.calm() {
					s.wrong("nothing went wrong, and %s was not decided", a.ID)
				}
				continue
			}
			ran := fmt.Sprint("job_", strings.TrimPrefix(j.id, "application_"), a.Kind, a.Host)
			if d := decided[id]; ran != fmt.Sprint(string(d.Job), strings.ToUpper(d.What.String()), string(d.Node)) {
				s.wrong("decision %+v got %s", d, ran)
			}
			if bound := outcome[id].Bound; bound.Job != "" && bound.String() != a.ID {
				s.wrong("decision %d is told to have brought %s, and brought %s", id, bound, a.ID)
			}
		}
	}
	return maps
}

// judgeUnused holds decisions against the attempts that ran: an honoured one has an
// attempt in its container, and none that succeeded is in a container told as unused.
// Where masters, their answers or their nodes are lost, what ran may not be known.
func (s *shell) judgeUnused(outcome map[int64]*traces.Actuation) {
	if slices.ContainsFunc(s.Mishaps, func(m mishap) bool { return m.What == "master lost" }) {
		return
	}
	ran := map[string]string{} // state of the attempt in each container
	for _, j := range s.jobs {
		for _, a := range s.cluster.Attempts(j.id) {
			ran[a.Container] = a.State
		}
	}
	for id, o := range outcome {
		switch state := ran[o.Container]; {
		case o.Outcome == "honoured" && state == "" && len(s.Troubles) == 0:
			s.wrong("decision %d was honoured, and no task ran in %s", id, o.Container)
		case o.Outcome == "unused" && state == "SUCCEEDED":
			s.wrong("decision %d is told as unused, and a task ran in %s", id, o.Container)
		}
	}
}

// judgeEmpty holds decisions that nothing came of against the containers that came:
// one that ran on when the decision was given up, and had come while the node was open
// for it, was the decision's.
func (s *shell) judgeEmpty(decided map[int64]*traces.Decision, outcome map[int64]*traces.Actuation, by map[string]int64) {
	if slices.ContainsFunc(s.Mishaps, func(m mishap) bool { return m.What == "ResourceManager restarted" || m.What == "master lost" }) {
		return // what ran then may not be known
	}
	parked := map[*traces.Actuation]traces.Time{} // when the node was closed
	for _, e := range s.events {
		if e, is := e.(*traces.NodeLabel); is && e.Label == "idle" {
			for id, o := range outcome {
				if o.Outcome == "none" && parked[o] == 0 && decided[id].Node == e.Node && o.AskedAt < e.T && e.T <= o.T {
					parked[o] = e.T
				}
			}
		}
	}
	for id, d := range decided {
		o := outcome[id]
		if o == nil || parked[o] == 0 {
			continue
		}
		j := s.jobOf("application_" + strings.TrimPrefix(string(d.Job), "job_"))
		for _, a := range s.cluster.Attempts(j.id) {
			came, ran := traces.Time(a.Allocated.Sub(s.origin)), a.Finished.IsZero() || a.Finished.After(s.origin.Add(time.Duration(o.T)))
			if by[a.Container] == 0 && a.Kind == strings.ToUpper(d.What.String()) && a.Host == string(d.Node) && came > o.AskedAt &&
				came < parked[o] && ran {
				s.wrong("%+v ended as %+v, though %s came for it in %s", d, o, a.ID, a.Container)
			}
		}
	}
}

// ranElsewhere says whether the map that one decision awaited had run in another
// container before the other was made: then it waits again.
func (s *shell) ranElsewhere(one, other *traces.Decision, outcome *traces.Actuation) bool {
	j := s.jobOf("application_" + strings.TrimPrefix(string(one.Job), "job_"))
	return slices.ContainsFunc(s.cluster.Attempts(j.id), func(a yarntest.Attempt) bool {
		return a.Kind == "MAP" && a.Task == int(one.BindIndex) && a.Container != outcome.Container &&
			a.Allocated.Before(s.origin.Add(time.Duration(other.T)))
	})
}
