package steer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// watching holds the alarms at which steering queries the cluster again and again, and
// the Submissions whose jobs it follows.
type watching struct {
	submissions        []*Submission
	apps, nodes, beats *alarm
	epoch, queued      *alarm
	listing            bool // whether a call that lists applications is under way
}

// begin notes that the nodes have the labels that New returned, and sets the alarms for
// the repeated queries of the cluster.
func (c *Core) begin() {
	label := ""
	if c.acts {
		label = idleLabel
	}
	for _, n := range c.nodes {
		n.labelled(label)
	}
	c.watching.apps = c.newAlarm(c.listApps)
	c.watching.nodes = c.newAlarm(c.watchNodes)
	c.watching.beats = c.newAlarm(c.beat)
	c.watching.epoch = c.newAlarm(c.checkEpoch)
	c.watching.queued = c.newAlarm(c.watchQueued)
	c.gate.look = c.newAlarm(c.gate.step)
	c.moves.wake = c.newAlarm(func() {}) // the alarm only causes a Step, which sends the collected label changes
	c.watching.nodes.in(500 * time.Millisecond)
	c.watching.beats.in(c.Setup.Beat)
	c.watching.epoch.in(time.Second)
}

func (c *Core) watch(s *Submission) {
	c.watching.submissions = append(c.watching.submissions, s)
	c.watching.apps.in(0)
}

func (c *Core) unwatch(number string) {
	c.watching.submissions = slices.DeleteFunc(c.watching.submissions, func(s *Submission) bool { return s.Number == number })
	for _, j := range c.jobs {
		if j.sub.Number == number {
			j.end()
		}
	}
}

// listApps asks YARN for the jobs of all Submissions (groups of jobs to steer), to find
// jobs that are new or have ended.
func (c *Core) listApps() {
	if len(c.watching.submissions) == 0 || c.watching.listing {
		return
	}
	var tags []string
	for _, s := range c.watching.submissions {
		tags = append(tags, s.Tag)
	}
	c.watching.listing = true
	ask(c, Look{What: AskApps, Tags: tags}, func(list []yarnclient.App, sent time.Time, err error) {
		c.watching.listing = false
		c.watching.apps.in(max(c.appsEvery(), c.pause(c.running()/manyJobs, sent)))
		if err != nil {
			c.failed("list applications", err)
			return
		}
		if c.trouble != "" {
			return
		}
		for _, app := range list {
			c.sawApp(app)
		}
	})
}

// appsEvery is the pause between two calls that list applications. The pause is short
// while a Submission (a group of jobs to steer) has no running job.
func (c *Core) appsEvery() time.Duration {
	for _, s := range c.watching.submissions {
		if !slices.ContainsFunc(c.jobs, func(j *job) bool { return j.sub == s && !j.ended && j.attempt != "" }) {
			return 100 * time.Millisecond
		}
	}
	return time.Second
}

func (c *Core) sawApp(app yarnclient.App) {
	j, known := c.apps[app.ID]
	switch {
	case !known:
		sub := c.submissionOf(app)
		if sub == nil || app.Ended() {
			return
		}
		c.apps[app.ID] = nil
		c.beginCapacity()
		if !c.acts && !c.holdsMasters() { // only the nodes' capacity is changed
			return
		}
		ask(c, Look{What: AskJobFiles, Of: app.ID, App: app, Limit: filesLimit}, func(files *JobFiles, _ time.Time, err error) {
			if err != nil || files == nil { // a client stages its job's files before it submits the job, so the files should be there
				c.filesUnreadable(app, err)
				return
			}
			c.submit(app, sub, files)
		})
	case j == nil:
	case app.Ended():
		j.end()
	case app.State == "ACCEPTED":
		j.startMasterAgain()
	case app.State == "RUNNING" && j.attempt == "" && c.acts:
		j.attempt = "appattempt_" + j.serial() + "_000001"
		j.asks.in(0)
		j.polls.in(0)
	}
}

func (c *Core) submissionOf(app yarnclient.App) *Submission {
	tags := strings.Split(app.Tags, ",")
	for _, s := range c.watching.submissions {
		if slices.Contains(tags, s.Tag) {
			return s
		}
	}
	return nil
}

// beat asks the model what to start on nodes with room. The model is asked about each
// node once in a NodeManager heartbeat interval.
func (c *Core) beat() {
	chunks := min(len(c.nodes), 20)
	c.watching.beats.in(c.Setup.Beat / time.Duration(chunks))
	n := (len(c.nodes) + chunks - 1) / chunks
	for range n {
		x := c.nodes[c.nextBeat%len(c.nodes)]
		c.nextBeat = (c.nextBeat + 1) % len(c.nodes)
		x.skipped = false
		x.heartbeat()
	}
}

// checkEpoch asks every second whether the ResourceManager is active, and whether it
// has restarted.
func (c *Core) checkEpoch() {
	ask(c, Look{What: AskRM}, func(info yarnclient.ClusterInfo, _ time.Time, err error) {
		c.watching.epoch.in(time.Second)
		switch {
		case err != nil:
			c.failed("ask the ResourceManager what it is", err)
		case info.HAState != yarnclient.HAActive:
			c.suspect("the ResourceManager is " + info.HAState + ", not " + yarnclient.HAActive)
		case info.ID != c.RM:
			c.suspect("another ResourceManager answers, or the same one after a restart")
		}
	})
}

// failed handles a call to the cluster that failed: nothing is decided until the
// ResourceManager answers as the active one.
func (c *Core) failed(what string, err error) {
	if errors.Is(err, yarnclient.ErrJobEnded) || errors.Is(err, yarnclient.ErrNoMaster) {
		return
	}
	c.suspect(what + ": " + err.Error())
	if c.moves.failed > 3 && errors.Is(err, yarnclient.ErrUnauthorized) {
		c.stop(err)
	}
	var f *Failure
	if c.relapses > mostFailures && errors.As(err, &f) && (len(f.Is) == 0 || errors.Is(err, yarnclient.ErrUnauthorized)) {
		c.stop(fmt.Errorf("ResourceManager %s is active and refuses this again and again: %s: %w", c.Setup.Address, what, err))
	}
}

// poll asks YARN for the containers of the job's current application attempt. It
// matches new containers with decisions. When a container has ended, its node has room
// again.
func (j *job) poll() {
	c := j.core
	if j.polling || j.ended || j.attempt == "" || c.trouble != "" {
		return
	}
	j.polling = true
	attempt := j.attempt
	ask(c, Look{What: AskContainers, Of: attempt}, func(list []yarnclient.Container, sent time.Time, err error) {
		j.polling = false
		switch {
		case j.ended:
			return
		case err != nil:
			c.failed("list containers of "+j.app.ID, err)
		case c.trouble == "" && attempt == j.attempt:
			j.sawContainers(list, sent)
		}
		// Steering lists a job's containers most often while a node has the job's
		// node label, less often while tasks wait for room, and rarely otherwise.
		// The pause also grows with the duration of the last call: on a small
		// cluster, answers cost CPU time that tasks need.
		rest := 100 * time.Millisecond
		if len(c.view.WaitingJobs(state.Map))+len(c.view.WaitingJobs(state.Reduce)) > 0 {
			rest = max(time.Duration(len(c.view.Active()))*10*time.Millisecond, 30*time.Millisecond)
		}
		switch {
		case j.opened > 0:
			open := c.count(func(j *job) bool { return j.opened > 0 })
			j.polls.in(max(2*time.Millisecond, time.Duration(max(1, open-fewJobs))*c.now.Sub(sent)))
		case len(j.live) == 0:
			j.polls.in(max(200*time.Millisecond, c.pause(4, sent)))
		default:
			j.polls.in(max(rest, c.pause(8, sent), j.calm()))
		}
	})
}

// The containers of so few jobs are listed all the time while nodes have their labels. Each further job has
// all of them wait as long as an answer takes, so that the ResourceManager has time to schedule.
const fewJobs = 3

// From so many jobs that run on, what concerns all is asked or sent more rarely. An answer, and a change of
// labels, then costs a ResourceManager much: it has a node label for each kind of task of each job, and counts
// by label in each queue and application.
const manyJobs = 16

func (c *Core) count(is func(*job) bool) (n int) {
	for _, j := range c.jobs {
		if is(j) {
			n++
		}
	}
	return n
}

// running counts the jobs that have not ended.
func (c *Core) running() int { return c.count(func(j *job) bool { return !j.ended }) }

// pause is the pause between two calls of one kind, of which the last has just been answered:
// the given number of times its duration, but 5 s at most. So one slow answer does not delay
// the next call for long.
func (c *Core) pause(times int, sent time.Time) time.Duration {
	return min(time.Duration(times)*c.now.Sub(sent), 5*time.Second)
}

// calmLimit is the longest time for which steering assumes that no container of a job
// ends. If a container ends unexpectedly, steering notices it at most so much later.
const calmLimit = 250 * time.Millisecond

// calm returns for how long none of the job's containers is likely to end. A container
// is assumed to run for 70 % of the shortest run so far of a container of its kind (map
// or reduce) in the job; if none has ended, for 2 % longer than it has run so far.
// Until then the job's containers need not be listed again. While a call that changes
// node labels is under way, calm is 0: YARN may then start containers on a node that
// no decision asked for, and a listing has to find them at once.
func (j *job) calm() time.Duration {
	if j.core.moves.calls > 0 {
		return 0
	}
	calm := calmLimit
	for _, x := range j.live {
		ran := j.core.now.Sub(x.seen)
		left := ran / 50
		if s := j.shortest[x.kind]; s > 0 {
			left = max(0, s*7/10-ran)
		}
		calm = min(calm, left)
	}
	return calm
}

// sawContainers takes in a list of the job's containers. sent is the time when the
// list was asked for.
func (j *job) sawContainers(list []yarnclient.Container, sent time.Time) {
	list = slices.SortedFunc(slices.Values(list), func(a, b yarnclient.Container) int { return strings.Compare(a.ID, b.ID) })
	master := slices.ContainsFunc(list, func(x yarnclient.Container) bool { return x.Priority == yarnclient.PriorityAM })
	if !master { // a list without the ApplicationMaster's container says nothing about the job's tasks: the ApplicationMaster may be lost
		j.askMaster(func(last yarnclient.AppAttempt, _ time.Time, _ error) {
			if !j.ended && last.ID != "" && last.ID != j.attempt {
				j.masterLost(last.ID)
			}
		})
		return
	}
	j.listedAt = sent
	here := make(map[string]bool, len(list))
	for _, x := range list {
		here[x.ID] = true
		if known := j.live[x.ID]; known != nil {
			known.listedAt = sent
		}
	}
	gone := slices.DeleteFunc(inOrderOfID(j.live), func(x *container) bool { return here[x.id] })
	j.missing = nil
	for _, x := range gone {
		if x.mayRun(sent) {
			j.missing = append(j.missing, x)
		} else {
			x.went()
		}
	}
	if len(j.missing) > 0 {
		j.reconcile()
	}
	// New containers are handled after ended ones. By then the model was asked about
	// the room that came free, and may have decided to start just the containers that
	// YARN has started there.
	for _, x := range list {
		if x.Priority != yarnclient.PriorityAM && j.live[x.ID] == nil && !j.endedIDs[x.ID] {
			j.newContainer(x, sent)
		}
	}
	for _, op := range slices.Clone(j.closing) {
		if op.canClose(sent) {
			op.close()
		}
	}
}
