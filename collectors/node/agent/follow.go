package agent

import (
	"context"
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
	seq uint64
	at  time.Time
}

// Batch is what a Follower has got by one request to the agent.
type Batch struct {
	Samples []TimedSample
	// Lost is the number of samples missing before the first of Samples: the agent
	// had overwritten them, or was not running. In the second case it is an estimate.
	Lost int
	// Restarted is true if the agent was started again since the batch before.
	Restarted bool
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

// clockDrifts is how long the measured time of a node's clock is used before it
// is measured again.
const clockDrifts = 30 * time.Second

// Next asks the agent once for samples.
func (f *Follower) Next(ctx context.Context) (Batch, error) {
	if err := f.readClock(ctx, clockDrifts); err != nil {
		return Batch{}, err
	}
	if f.cursor == FromNow && time.Since(f.began) > node.MinInterval { // there may be samples since the beginning
		f.cursor = FromOldest
	}
	page, err := f.client.Samples(ctx, f.cursor)
	if err != nil {
		return Batch{}, err
	}
	if page.Restarted { // MonoNs counts from another time now
		f.seq = 0
		if err := f.readClock(ctx, 0); err != nil {
			return Batch{}, err
		}
	}
	f.cursor = page.Next
	b := Batch{Restarted: page.Restarted, Clock: f.clock.ClockOffset, More: page.More}
	for _, s := range page.Samples {
		at := f.clock.timeOf(s)
		if at.Before(f.began) {
			continue
		}
		b.Lost += f.lostBefore(s, at)
		b.Samples = append(b.Samples, TimedSample{s, at})
		f.seq, f.at = s.Seq, at
	}
	return b, nil
}

// lostBefore returns how many samples are missing between the newest sample and
// the sample s. The numbers of samples tell it, unless the agent was started in
// between: then the time between the two does.
func (f *Follower) lostBefore(s node.Sample, at time.Time) int {
	if f.seq != 0 {
		return int(s.Seq - f.seq - 1)
	}
	if s.IntervalNs == 0 {
		return 0
	}
	return max(0, int(at.Sub(f.at)/time.Duration(s.IntervalNs))-1)
}

// readClock reads the node's clocks if that was done longer ago than maxAge.
func (f *Follower) readClock(ctx context.Context, maxAge time.Duration) error {
	if time.Since(f.clock.read) <= maxAge {
		return nil
	}
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
			offset := info.NowWallNs - sent.UnixNano() - half.Nanoseconds()
			best = nodeClock{ClockOffset{offset, half.Nanoseconds()}, sent.Add(half), info.NowMonoNs}
		}
	}
	return best, nil
}
