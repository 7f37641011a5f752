package steer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"heddle/harness/state"
	"heddle/traces"
	"heddle/yarnclient"
)

// watching is what the loop does by itself.
type watching struct {
	submissions        []*Submission
	apps, nodes, beats *alarm
	epoch              *alarm
	listing            bool // applications
}

func (d *Driver) begin() {
	d.watching.apps = d.newAlarm(d.listApps)
	d.watching.nodes = d.newAlarm(d.watchNodes)
	d.watching.beats = d.newAlarm(d.beat)
	d.watching.epoch = d.newAlarm(d.checkEpoch)
	d.gate.look = d.newAlarm(d.atGate)
	d.moves.wake = d.newAlarm(func() {}) // the loop looks after each
	d.watching.nodes.in(500 * time.Millisecond)
	d.watching.beats.in(d.set.beat)
	d.watching.epoch.in(time.Second)
}

func (d *Driver) watch(s *Submission) {
	d.watching.submissions = append(d.watching.submissions, s)
	d.watching.apps.in(0)
}

func (d *Driver) unwatch(s *Submission) {
	d.watching.submissions = slices.DeleteFunc(d.watching.submissions, func(x *Submission) bool { return x == s })
	for _, j := range d.jobs {
		if j.sub == s {
			d.endJob(j)
		}
	}
}

// listApps looks for jobs that have come or ended.
func (d *Driver) listApps() {
	if len(d.watching.submissions) == 0 || d.watching.listing {
		return
	}
	var tags []string
	for _, s := range d.watching.submissions {
		tags = append(tags, s.tag)
	}
	d.watching.listing = true
	filter := yarnclient.AppFilter{Tags: tags, Without: []string{"resourceRequests", "timeouts", "resourceInfo"}}
	ask(d, func(ctx context.Context) ([]yarnclient.App, error) { return d.rm.Apps(ctx, filter) }, func(list []yarnclient.App, err error) {
		d.watching.listing = false
		d.watching.apps.in(d.appsEvery())
		if err != nil {
			d.failed("list applications", err)
			return
		}
		if d.trouble != "" {
			return
		}
		for _, app := range list {
			d.sawApp(app)
		}
	})
}

// appsEvery is how long a new job, or the end of one, may go unseen: not long
// while a submission has none that runs.
func (d *Driver) appsEvery() time.Duration {
	for _, s := range d.watching.submissions {
		if !slices.ContainsFunc(d.jobs, func(j *job) bool { return j.sub == s && !j.ended && j.attempt != "" }) {
			return 100 * time.Millisecond
		}
	}
	return time.Second
}

func (d *Driver) sawApp(app yarnclient.App) {
	j, known := d.apps[app.ID]
	switch {
	case !known:
		sub := d.submissionOf(app)
		if sub == nil || app.Ended() {
			return
		}
		d.apps[app.ID] = nil
		askWithin(d, filesLimit, func(ctx context.Context) (*description, error) { return d.describe(ctx, app) }, func(about *description, err error) {
			if err != nil { // staged files are there before the application is
				d.notRead(app, err)
				return
			}
			d.submit(app, sub, about)
		})
	case j == nil:
	case app.Ended():
		d.endJob(j)
	case app.State == "ACCEPTED":
		d.letInAgain(j)
	case app.State == "RUNNING" && j.attempt == "" && d.acts:
		j.attempt = "appattempt_" + j.serial() + "_000001"
		j.asks.in(0)
		j.polls.in(0)
	}
}

func (d *Driver) submissionOf(app yarnclient.App) *Submission {
	tags := strings.Split(app.Tags, ",")
	for _, s := range d.watching.submissions {
		if slices.Contains(tags, s.tag) {
			return s
		}
	}
	return nil
}

// poll reads the containers of a job: a new one carries out a decision, one
// that is gone leaves room.
func (d *Driver) poll(j *job) {
	if j.polling || j.ended || j.attempt == "" || d.trouble != "" {
		return
	}
	j.polling = true
	began, attempt := time.Now(), j.attempt
	ask(d, func(ctx context.Context) ([]yarnclient.Container, error) { return d.rm.Containers(ctx, attempt) }, func(list []yarnclient.Container, err error) {
		j.polling = false
		cost := time.Since(began)
		switch {
		case j.ended:
			return
		case err != nil:
			d.failed("list containers of "+j.app.ID, err)
		case d.trouble == "" && attempt == j.attempt:
			d.sawContainers(j, list, began)
		}
		// Busy polling only while something is about to happen, less while room
		// that comes free would be used, little while none will, and never more than
		// a fraction of what an answer costs: on a small cluster tasks wait for cores
		// that this takes.
		switch {
		case j.opened > 0:
			j.polls.in(max(2*time.Millisecond, cost))
		case len(j.live) > 0 && len(d.view.WaitingJobs(state.Map))+len(d.view.WaitingJobs(state.Reduce)) > 0:
			j.polls.in(max(time.Duration(len(d.view.Active()))*10*time.Millisecond, 30*time.Millisecond, 8*cost, d.calm(j)))
		case len(j.live) > 0:
			j.polls.in(max(100*time.Millisecond, 8*cost, d.calm(j)))
		default:
			j.polls.in(max(200*time.Millisecond, 4*cost))
		}
	})
}

// calmLimit bounds how late an end that nobody expected is seen.
const calmLimit = 250 * time.Millisecond

// calm is for how long none of a job's containers is likely to end: until one has
// run for most of what the shortest task of its kind took; while none has ended,
// for a small part of what it has run. While a label call is under way, a node may
// be open, and what comes there unasked is to be seen at once.
func (d *Driver) calm(j *job) time.Duration {
	if d.moves.calls > 0 {
		return 0
	}
	calm := calmLimit
	for _, c := range j.live {
		ran := time.Since(c.seen)
		left := ran / 50
		if s := j.shortest[c.kind]; s > 0 {
			left = max(0, s*7/10-ran)
		}
		calm = min(calm, left)
	}
	return calm
}

func (d *Driver) sawContainers(j *job, list []yarnclient.Container, began time.Time) {
	slices.SortFunc(list, func(a, b yarnclient.Container) int { return strings.Compare(a.ID, b.ID) })
	master := slices.ContainsFunc(list, func(c yarnclient.Container) bool { return c.Priority == yarnclient.PriorityAM })
	if !master { // it ended, or is started anew: this says nothing of tasks
		d.askAttempt(j)
		return
	}
	j.listed = began
	here := make(map[string]bool, len(list))
	for _, c := range list {
		here[c.ID] = true
	}
	var gone []*container
	for id, c := range j.live {
		if !here[id] {
			gone = append(gone, c)
		}
	}
	slices.SortFunc(gone, func(a, b *container) int { return strings.Compare(a.id, b.id) })
	if len(gone) > 0 && time.Now().Before(j.doubted) { // perhaps its node has not reported yet
		j.missing = gone
		d.reconcile(j)
	} else {
		j.doubted, j.missing = time.Time{}, nil
		for _, c := range gone {
			d.containerGone(j, c)
		}
	}
	// The model has been asked about the room that came free: what YARN put
	// there at once, because the node was open, may be what it wants there.
	for _, c := range list {
		if c.Priority != yarnclient.PriorityAM && j.live[c.ID] == nil && !j.over[c.ID] {
			d.newContainer(j, c)
		}
	}
	for _, op := range slices.Clone(j.closing) {
		if !op.parkedAt.IsZero() && op.parkedAt.Before(began) {
			d.closeOpening(op)
		}
	}
}

// askAttempt finds out which attempt of its master a job is at.
func (d *Driver) askAttempt(j *job) {
	ask(d, func(ctx context.Context) ([]yarnclient.AppAttempt, error) { return d.rm.Attempts(ctx, j.app.ID) }, func(list []yarnclient.AppAttempt, err error) {
		switch {
		case err != nil:
			d.failed("list attempts of "+j.app.ID, err)
		case j.ended || len(list) == 0:
		case list[len(list)-1].ID != j.attempt:
			d.masterLost(j, list[len(list)-1].ID)
		}
	})
}

// beat offers nodes with room to the model, each once in a heartbeat.
func (d *Driver) beat() {
	chunks := min(len(d.nodes), 20)
	d.watching.beats.in(d.set.beat / time.Duration(chunks))
	n := (len(d.nodes) + chunks - 1) / chunks
	for range n {
		x := d.nodes[d.nextBeat%len(d.nodes)]
		d.nextBeat = (d.nextBeat + 1) % len(d.nodes)
		x.refused = false
		d.offer(x)
	}
}

// checkEpoch asks now and then whether it still is the same ResourceManager.
func (d *Driver) checkEpoch() {
	ask(d, d.rm.Info, func(info yarnclient.ClusterInfo, err error) {
		d.watching.epoch.in(time.Second)
		switch {
		case err != nil:
			d.failed("ask the ResourceManager what it is", err)
		case info.HAState != yarnclient.HAActive || info.ID != d.epoch:
			d.suspect("the ResourceManager is another, or not active")
		}
	})
}

// failed notes a call that brought nothing.
func (d *Driver) failed(what string, err error) {
	if d.ctx.Err() != nil || errors.Is(err, yarnclient.ErrJobEnded) || errors.Is(err, yarnclient.ErrNoMaster) {
		return
	}
	d.suspect(what + ": " + err.Error())
	if d.moves.failed > 3 && errors.Is(err, yarnclient.ErrUnauthorized) {
		d.stop(err)
	}
}

func (d *Driver) note(text string) {
	d.log.Info(text)
	d.record(&traces.Note{T: d.now(), Text: text})
}
