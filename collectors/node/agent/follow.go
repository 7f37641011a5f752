package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/collectors/node"
)

// Follower asks one agent for its samples again and again, from a time on, and
// returns each sample once. After a while in which the agent could not be
// reached, it returns the samples of that while, as far as the agent still has
// them. Only one goroutine may use it at a time.
type Follower struct {
	client *Client
	began  time.Time
	cursor Cursor
	clock  nodeClock
	// The newest sample returned: its number, 0 if the next one may have any
	// number, and its time, which is the field began before the first.
	seq   uint64
	at    time.Time
	taken int // number of samples returned
}

// Batch is what a Follower has got by one request to the agent.
type Batch struct {
	Samples []TimedSample
	// Lost is the number of samples missing before the first of Samples: the agent
	// had overwritten them, was not running, or sent something else instead. After
	// a time in which the agent was not running, it is an estimate.
	Lost int
	// Restarted is true if the agent was started again since the batch before.
	Restarted bool
	// Refused is the number of samples that were left out, because no agent could
	// have taken them at that time. WhyRefused is the reason for the first.
	Refused    int
	WhyRefused error
	// Clock is how far the node's clock is off.
	Clock ClockOffset
	// More is true if the agent already has further samples.
	More bool
}

// TimedSample is a sample with the end of its interval by this machine's clock.
type TimedSample struct {
	node.Sample
	At time.Time
}

// Follow returns a Follower of the samples that the agent takes from now on.
func (c *Client) Follow() *Follower {
	now := time.Now()
	return &Follower{client: c, began: now, at: now, cursor: FromNow}
}

const (
	// clockDrifts is how long the measured time of a node's clock is used before it
	// is measured again.
	clockDrifts = 30 * time.Second
	// timeTolerance is by how much the time of a sample may be wrong, besides what
	// is known of the node's clock.
	timeTolerance = 100 * time.Millisecond
	// burst is how many samples more than one in each node.MinInterval a Follower
	// takes.
	burst = 100
)

// Next asks the agent once for samples.
func (f *Follower) Next(ctx context.Context) (Batch, error) {
	if time.Since(f.clock.read) > clockDrifts {
		if err := f.readClock(ctx); err != nil {
			return Batch{}, f.failed(err)
		}
	}
	if f.cursor == FromNow && time.Since(f.began) > node.MinInterval { // there may be samples since the beginning
		f.cursor = FromOldest
	}
	page, err := f.client.Samples(ctx, f.cursor)
	if err != nil {
		return Batch{}, f.failed(err)
	}
	now := time.Now()
	if page.Restarted {
		f.seq = 0
	}
	if page.Restarted || f.wrongTimes(page.Samples, now) {
		// Either the clock that counts a node's MonoNs is another one now, or the
		// agent makes times up. If it does, the check below finds them.
		if err := f.readClock(ctx); err != nil {
			return Batch{}, f.failed(err)
		}
		now = time.Now()
	}
	f.cursor = page.Next
	b := Batch{Restarted: page.Restarted, Refused: page.Refused, WhyRefused: page.WhyRefused, Clock: f.clock.ClockOffset}
	for _, s := range page.Samples {
		f.add(&b, s, now)
	}
	if len(page.Samples) > 0 && len(b.Samples) == 0 {
		f.seq = 0 // should the agent have restarted without saying so, the next samples are taken
	}
	b.More = page.More && len(b.Samples) > 0 // an agent that only sends what is refused is not asked again at once
	return b, nil
}

// failed makes a Follower whose cursor was refused go on without it.
func (f *Follower) failed(err error) error {
	if errors.Is(err, ErrBadCursor) {
		f.cursor, f.seq = FromOldest, 0
	}
	return err
}

// add adds a sample to the batch, unless it cannot be true or is from before
// the beginning.
func (f *Follower) add(b *Batch, s node.Sample, now time.Time) {
	at := f.clock.timeOf(s)
	var why error
	switch {
	case at.Before(f.began):
		return
	case f.seq != 0 && s.Seq <= f.seq:
		why = fmt.Errorf("%w: seq %d again, after seq %d", ErrBadAnswer, s.Seq, f.seq)
	case f.wrongTime(at, now):
		why = fmt.Errorf("%w: seq %d is of a time %v from now, %v from the sample before",
			ErrBadAnswer, s.Seq, at.Sub(now).Round(time.Millisecond), at.Sub(f.at).Round(time.Millisecond))
	case f.taken >= burst+int(now.Sub(f.began)/node.MinInterval):
		why = fmt.Errorf("%w: more samples than one in %v", ErrBadAnswer, node.MinInterval)
	}
	if why != nil {
		b.Refused++
		if b.WhyRefused == nil {
			b.WhyRefused = why
		}
		return
	}
	b.Lost += f.lostBefore(s, at)
	b.Samples = append(b.Samples, TimedSample{s, at})
	f.seq, f.at = s.Seq, at
	f.taken++
}

// lostBefore returns how many samples are missing between the newest sample and
// the sample s. The numbers of samples tell it, unless the agent was started in
// between: then the time between the two does.
func (f *Follower) lostBefore(s node.Sample, at time.Time) int {
	gap := at.Sub(f.at)
	most := int(max(0, gap/node.MinInterval)) + 1
	if f.seq != 0 {
		return int(min(s.Seq-f.seq-1, uint64(most)))
	}
	if s.IntervalNs == 0 {
		return 0
	}
	return min(max(0, int(gap/time.Duration(s.IntervalNs))-1), most)
}

func (f *Follower) wrongTimes(samples []node.Sample, now time.Time) bool {
	for _, s := range samples {
		if at := f.clock.timeOf(s); !at.Before(f.began) && f.wrongTime(at, now) {
			return true
		}
	}
	return false
}

// wrongTime reports whether a sample's time is in the future or before the
// newest sample's.
func (f *Follower) wrongTime(at, now time.Time) bool {
	tolerance := timeTolerance + time.Duration(f.clock.UncertaintyNs)
	return at.After(now.Add(tolerance)) || at.Before(f.at.Add(-tolerance))
}

func (f *Follower) readClock(ctx context.Context) error {
	clock, err := f.client.readClock(ctx)
	if err == nil {
		f.clock = clock
	}
	return err
}

// nodeClock is what the clocks of a node said at a time of this machine.
type nodeClock struct {
	ClockOffset
	read   time.Time
	monoNs int64 // time on the clock of the samples' MonoNs
}

// timeOf returns the end of a sample's interval by this machine's clock. It uses
// the sample's MonoNs, because the node's own clock may be set at any time.
func (c nodeClock) timeOf(s node.Sample) time.Time {
	return c.read.Add(time.Duration(s.MonoNs - c.monoNs))
}

// readClock reads the node's clocks a few times and returns what came with the
// fastest answer, which is the most exact. A time in the answer counts as that
// halfway between request and answer.
func (c *Client) readClock(ctx context.Context) (best nodeClock, err error) {
	for try := range clockTries {
		sent := time.Now()
		info, err := c.Info(ctx)
		if err != nil {
			return nodeClock{}, err
		}
		half := time.Since(sent) / 2
		if try == 0 || half.Nanoseconds() < best.UncertaintyNs {
			offset := min(max(info.NowWallNs-sent.UnixNano()-half.Nanoseconds(), -maxOffset.Nanoseconds()), maxOffset.Nanoseconds())
			best = nodeClock{ClockOffset{offset, half.Nanoseconds()}, sent.Add(half), info.NowMonoNs}
		}
	}
	return best, nil
}
