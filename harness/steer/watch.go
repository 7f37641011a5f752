package steer

import (
	"errors"
	"slices"
	"strings"
	"time"

	"heddle/harness/state"
	"heddle/yarnclient"
)

// watching has the alarms of the questions that are asked again and again.
type watching struct {
	submissions        []*Submission
	apps, nodes, beats *alarm
	epoch              *alarm
	listing            bool // a listing of applications is under way
}

// begin notes the labels that New has returned, and sets the alarms.
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
	c.moves.wake = c.newAlarm(func() {}) // the alarm only causes a Step, which flushes
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

// listApps asks for the jobs of all Submissions, to find those that have come or
// ended.
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

// appsEvery is the interval of these listings. It is short while a Submission has
// no job that runs.
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
			if err != nil || files == nil { // a client stages its files before it submits, so they should be there
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

// beat offers nodes with room to the model. Each node has its turn once in a
// heartbeat interval.
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

// checkEpoch asks every second whether the ResourceManager is active and has not
// restarted.
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

// failed handles a call that failed: nothing is decided until the ResourceManager
// is seen to be well.
func (c *Core) failed(what string, err error) {
	if errors.Is(err, yarnclient.ErrJobEnded) || errors.Is(err, yarnclient.ErrNoMaster) {
		return
	}
	c.suspect(what + ": " + err.Error())
	if c.moves.failed > 3 && errors.Is(err, yarnclient.ErrUnauthorized) {
		c.stop(err)
	}
}

// poll lists the containers of the job's attempt. A new one carries out a
// decision; one that is gone leaves room.
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
		// Listings follow each other closely only while an opening is under way.
		// They are rarer while tasks wait for room, and rare otherwise. The pause
		// grows with the cost of an answer: on a small cluster, tasks need those
		// cores.
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

// pauseFor is the pause after a call that took cost: so many times as long, but 5
// s at most. One late answer says little about the next.
func pauseFor(times int, cost time.Duration) time.Duration {
	return min(time.Duration(times)*cost, 5*time.Second)
}

// calmLimit bounds how late an unexpected end of a container is seen.
const calmLimit = 250 * time.Millisecond

// calm is how long none of the job's containers is likely to end. A container is
// taken to run for 70 % of the job's shortest task of its kind, or, if none has
// ended, for 2 % more of its time so far. During a label call it is 0: a node may
// carry the job's label then, and get undecided containers.
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

// sawContainers takes in a listing that was asked for at time sent.
func (j *job) sawContainers(list []yarnclient.Container, sent time.Time) {
	list = slices.SortedFunc(slices.Values(list), func(a, b yarnclient.Container) int { return strings.Compare(a.ID, b.ID) })
	master := slices.ContainsFunc(list, func(x yarnclient.Container) bool { return x.Priority == yarnclient.PriorityAM })
	if !master { // the master ended or restarts, so the list says nothing about tasks
		j.askAttempt()
		return
	}
	j.listedAt = sent
	here := make(map[string]bool, len(list))
	for _, x := range list {
		here[x.ID] = true
	}
	gone := slices.DeleteFunc(inOrderOfID(j.live), func(x *container) bool { return here[x.id] })
	if len(gone) > 0 && j.core.now.Before(j.doubtUntil) { // its node may not have reported to the restarted ResourceManager yet
		j.missing = gone
		j.reconcile()
	} else {
		j.doubtUntil, j.missing = time.Time{}, nil
		for _, x := range gone {
			x.went()
		}
	}
	// New containers come after ended ones: the model has been asked by now about
	// the freed room, and may have decided just what YARN has put there.
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

// askAttempt asks for the application's latest attempt.
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
