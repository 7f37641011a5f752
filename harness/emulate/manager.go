package emulate

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"heddle/collectors/hdfs/ipc"
	"heddle/harness/internal/poll"
	"heddle/yarnclient"
)

// restart starts the ResourceManager again when it has ended, some times. It knows its applications then, whose
// containers have gone on.
func (c *Cluster) restart() {
	for range 5 {
		select {
		case <-c.ctx.Done():
			return
		case <-c.manager.Done():
		}
		c.starts.Add(1)
		c.tell("the ResourceManager has ended; starting it again")
		if err := c.manager.Start(); err != nil {
			c.say(err)
			return
		}
		if _, err := c.RM.WaitActive(c.ctx, 0); err == nil {
			c.active.Store(c.starts.Load())
		}
	}
	select {
	case <-c.ctx.Done():
	case <-c.manager.Done():
		c.say(c.manager.Died())
	}
}

// steady makes a call again that a ResourceManager did not answer, or one that was starting: it knows no label and no
// application yet.
func (c *Cluster) steady(ctx context.Context, call func() error) error {
	for {
		active := c.active.Load()
		err := call()
		same := active == c.starts.Load() && !errors.Is(err, yarnclient.ErrUnreachable)
		if err == nil || same || poll.Wait(ctx, time.Second) != nil {
			return err
		}
	}
}

// callLimit is how long a call of a node may take.
const callLimit = time.Minute

// tracker calls the ResourceManager as a NodeManager.
func (c *Cluster) tracker(ctx context.Context, method string, request ipc.Message) (ipc.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	c.mu.Lock()
	line := &c.lines[c.next.Add(1)%int64(len(c.lines))]
	if *line == nil || (*line).Lost() {
		var err error
		if *line, err = ipc.Dial(ctx, c.manager.Tracker, trackerProtocol, c.Config.User, nil); err != nil {
			*line = nil
			c.mu.Unlock()
			return nil, err
		}
	}
	to := *line
	c.mu.Unlock()
	return to.Call(ctx, method, request)
}

// down reports whether an error says that the ResourceManager has ended.
func down(err error) bool {
	return errors.As(err, new(*ipc.LostError)) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET)
}
