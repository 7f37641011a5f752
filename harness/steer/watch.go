package steer

import (
	"errors"
	"slices"
	"strings"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// watching is what is looked at all the time.
type watching struct {
	submissions        []*Submission
	apps, nodes, beats *alarm
	epoch              *alarm
	listing            bool // applications
}

// begin notes that nodes have the labels that New has said, and starts to watch.
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
	c.gate.look = c.newAlarm(c.gate.step)
	c.moves.wake = c.newAlarm(func() {}) // Step looks after each
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

// listApps looks for jobs that have come or ended.
func (c *Core) listApps() {
	if len(c.watching.submissions) == 0 || c.watching.listing {
		return
	}
	var tags []string
	for _, s := range c.watching.submissions {
		tags = append(tags, s.Tag)
	}
	c.watching.listing = true
	ask(c, Look{What: AskApps, Tags: tags}, func(list []yarnclient.App, _ time.Time, err error) {
		c.watching.listing = false
		c.watching.apps.in(c.appsEvery())
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

// appsEvery is how long a new job, or the end of one, may go unseen: not long
// while a submission has none that runs.
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
		ask(c, Look{What: AskJobFiles, Of: app.ID, App: app, Limit: filesLimit}, func(files *JobFiles, _ time.Time, err error) {
			if err != nil || files == nil { // staged files are there before the application is
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

// beat offers nodes with room to the model, each once in a heartbeat.
func (c *Core) beat() {
	chunks := min(len(c.nodes), 20)
	c.watching.beats.in(c.Setup.Beat / time.Duration(chunks))
	n := (len(c.nodes) + chunks - 1) / chunks
	for range n {
		x := c.nodes[c.nextBeat%len(c.nodes)]
		c.nextBeat = (c.nextBeat + 1) % len(c.nodes)
		x.skipped = false
		x.offer()
	}
}

// checkEpoch asks now and then whether it still is the same ResourceManager.
func (c *Core) checkEpoch() {
	ask(c, Look{What: AskRM}, func(info yarnclient.ClusterInfo, _ time.Time, err error) {
		c.watching.epoch.in(time.Second)
		switch {
		case err != nil:
			c.failed("ask the ResourceManager what it is", err)
		case info.HAState != yarnclient.HAActive || info.ID != c.RM:
			c.suspect("the ResourceManager is another, or not active")
		}
	})
}

// failed notes a call that brought nothing.
func (c *Core) failed(what string, err error) {
	if errors.Is(err, yarnclient.ErrJobEnded) || errors.Is(err, yarnclient.ErrNoMaster) {
		return
	}
	c.suspect(what + ": " + err.Error())
	if c.moves.failed > 3 && errors.Is(err, yarnclient.ErrUnauthorized) {
		c.stop(err)
	}
}

// poll reads the containers of a job: a new one carries out a decision, one
// that is gone leaves room.
func (j *job) poll() {
	c := j.core
	if j.polling || j.ended || j.attempt == "" || c.trouble != "" {
		return
	}
	j.polling = true
	attempt := j.attempt
	ask(c, Look{What: AskContainers, Of: attempt}, func(list []yarnclient.Container, sent time.Time, err error) {
		j.polling = false
		cost := c.now.Sub(sent)
		switch {
		case j.ended:
			return
		case err != nil:
			c.failed("list containers of "+j.app.ID, err)
		case c.trouble == "" && attempt == j.attempt:
			j.sawContainers(list, sent)
		}
		// Busy polling only while something is about to happen, less while room
		// that comes free would be used, little while none will, and never more than
		// a fraction of what an answer costs: on a small cluster tasks wait for cores
		// that this takes.
		switch {
		case j.opened > 0:
			j.polls.in(max(2*time.Millisecond, cost))
		case len(j.live) > 0 && len(c.view.WaitingJobs(state.Map))+len(c.view.WaitingJobs(state.Reduce)) > 0:
			j.polls.in(max(time.Duration(len(c.view.Active()))*10*time.Millisecond, 30*time.Millisecond, pauseFor(8, cost), j.calm()))
		case len(j.live) > 0:
			j.polls.in(max(100*time.Millisecond, pauseFor(8, cost), j.calm()))
		default:
			j.polls.in(max(200*time.Millisecond, pauseFor(4, cost)))
		}
	})
}

// rest is so many times what a call has cost, for which no other is made. It is
// bounded: that one answer came late says little of the next.
func pauseFor(times int, cost time.Duration) time.Duration {
	return min(time.Duration(times)*cost, 5*time.Second)
}

// calmLimit bounds how late an end that nobody expected is seen.
const calmLimit = 250 * time.Millisecond

// calm is for how long none of a job's containers is likely to end: until one has
// run for most of what the shortest task of its kind took; while none has ended,
// for a small part of what it has run. While a label call is under way, a node may
// be open, and what comes there unasked is to be seen at once.
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

// sawContainers takes in a listing that was asked for at a time.
func (j *job) sawContainers(list []yarnclient.Container, sent time.Time) {
	list = slices.SortedFunc(slices.Values(list), func(a, b yarnclient.Container) int { return strings.Compare(a.ID, b.ID) })
	master := slices.ContainsFunc(list, func(x yarnclient.Container) bool { return x.Priority == yarnclient.PriorityAM })
	if !master { // it ended, or is started anew: this says nothing of tasks
		j.askAttempt()
		return
	}
	j.listedAt = sent
	here := make(map[string]bool, len(list))
	for _, x := range list {
		here[x.ID] = true
	}
	gone := slices.DeleteFunc(inOrderOfID(j.live), func(x *container) bool { return here[x.id] })
	if len(gone) > 0 && j.core.now.Before(j.doubtUntil) { // perhaps its node has not reported yet
		j.missing = gone
		j.reconcile()
	} else {
		j.doubtUntil, j.missing = time.Time{}, nil
		for _, x := range gone {
			x.went()
		}
	}
	// The model has been asked about the room that came free: what YARN put
	// there at once, because the node was open, may be what it wants there.
	for _, x := range list {
		if x.Priority != yarnclient.PriorityAM && j.live[x.ID] == nil && !j.endedIDs[x.ID] {
			j.newContainer(x)
		}
	}
	for _, op := range slices.Clone(j.closing) {
		if !op.parkedAt.IsZero() && op.parkedAt.Before(sent) {
			op.close()
		}
	}
}

// askAttempt finds out which attempt of its master a job is at.
func (j *job) askAttempt() {
	ask(j.core, Look{What: AskAppAttempts, Of: j.app.ID}, func(list []yarnclient.AppAttempt, _ time.Time, err error) {
		switch {
		case err != nil:
			j.core.failed("list attempts of "+j.app.ID, err)
		case j.ended || len(list) == 0:
		case list[len(list)-1].ID != j.attempt:
			j.masterLost(list[len(list)-1].ID)
		}
	})
}
