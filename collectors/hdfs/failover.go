package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// call makes one call on the active NameNode and decodes the answer into resp.
// It repeats a failed call for [Options].RetryFor. All tries have the same call
// id and a growing retry count. By these a NameNode recognises a call that it
// has carried out already, and sends the same answer again. So a call may be
// sent twice even if it changes something.
func (c *Client) call(ctx context.Context, method string, req, resp proto.Message) error {
	id := c.nextCallID()
	return c.repeated(ctx, func(retry int32) error {
		return c.attempt(ctx, func(ctx context.Context, cn *ipc.Conn) error {
			return c.roundTrip(ctx, cn, id, retry, method, req, resp)
		})
	})
}

// do makes a call whose answer says nothing; what is what it does, for its error.
func (c *Client) do(ctx context.Context, method string, req proto.Message, what string) error {
	if err := c.call(ctx, method, req, &hdfspb.Empty{}); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// repeated calls try with 0, 1, 2 and so on, until it succeeds, fails for good,
// or RetryFor has passed.
func (c *Client) repeated(ctx context.Context, try func(attempt int32) error) error {
	if ctx.Err() != nil { // the library mends its write pipeline after the end too, and nothing may be sent then
		return c.gaveUp(ctx, nil)
	}
	giveUp := time.Now().Add(c.options.RetryFor)
	for attempt := int32(0); ; attempt++ {
		err := try(attempt)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return c.gaveUp(ctx, err)
		}
		if !c.worthRetry(err) {
			return unreached(err)
		}
		wait := backoff(attempt)
		if time.Now().Add(wait).After(giveUp) {
			return fmt.Errorf("%w (gave up after %d tries)", unreached(err), attempt+1)
		}
		if sleep(ctx, wait) != nil {
			return c.gaveUp(ctx, err)
		}
	}
}

// attempt lets the function ask make one call, on the connection to the active
// NameNode and within CallTimeout. It leaves the connection if that cannot be used
// again.
func (c *Client) attempt(ctx context.Context, ask func(context.Context, *ipc.Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, c.options.CallTimeout,
		fmt.Errorf("%w within %v", errSlow, c.options.CallTimeout))
	defer cancel()
	cn, err := c.connect(limited)
	if err != nil {
		return err
	}
	err = ask(limited, cn)
	var remote *RemoteError
	switch {
	case err == nil:
	case errors.As(err, &remote) && !remote.fatal && !remote.standby():
	case ctx.Err() != nil: // the caller has given the call up; the connection still works, so it stays open
	default:
		c.leave(ctx, cn, err)
	}
	return err
}

var errSlow = errors.New("no answer")

// gaveUp returns the error of a call whose context has ended. last is the error
// of the last try.
func (c *Client) gaveUp(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if unproven := interface{ Unauthenticated() }(nil); errors.As(last, &unproven) && errors.Is(last, cause) {
		return last // it says which KDC has not answered
	}
	if last == nil || errors.Is(last, cause) || errors.Is(last, ctx.Err()) {
		return fmt.Errorf("NameNode %s: %w", strings.Join(c.options.NameNodes, ", "), cause)
	}
	return fmt.Errorf("%w (%w)", last, cause)
}

// unreached wraps the error of a connection that broke, or sent bytes that are
// not Hadoop IPC, in ErrUnreachable.
func unreached(err error) error {
	if errors.As(err, new(*RemoteError)) || errors.Is(err, ErrUnreachable) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// roundTrip makes one RPC call on one connection to a NameNode, without
// repeating it, and decodes the answer.
func (c *Client) roundTrip(ctx context.Context, cn *ipc.Conn, id, retry int32, method string, req, resp proto.Message) error {
	frame, err := ipc.AppendFrame(nil,
		ipc.RequestHeader(id, retry, c.clientID[:]),
		&hdfspb.MethodHeader{
			MethodName:      new(method),
			Protocol:        new(clientProtocol),
			ProtocolVersion: proto.Uint64(1),
		}, req)
	if err != nil {
		return err
	}
	r, err := c.exchange(ctx, cn, id, frame)
	if err != nil {
		return err
	}
	if err := unmarshal(r.Body, resp); err != nil {
		return fmt.Errorf("NameNode %s: answer to %s not understood: %w", cn.Address, method, err)
	}
	return nil
}

// exchange sends the frame of call id on one connection and returns the NameNode's
// answer. If that is an exception, the error is a RemoteError, and the answer is
// returned too.
func (c *Client) exchange(ctx context.Context, cn *ipc.Conn, id int32, frame []byte) (ipc.Reply, error) {
	r, err := cn.Call(ctx, id, frame)
	if err != nil {
		if remote := (*RemoteError)(nil); errors.As(err, &remote) {
			return r, err
		}
		return r, fmt.Errorf("NameNode %s: %w", cn.Address, err)
	}
	if r.Header.GetStatus() != hdfspb.ResponseHeader_SUCCESS {
		return r, remoteError(cn.Address, r.Header)
	}
	c.answered.Store(true)
	return r, nil
}

// worthRetry reports whether a call that failed with err may succeed if it is
// repeated a little later.
func (c *Client) worthRetry(err error) bool {
	if errors.Is(err, net.ErrClosed) && c.closed.Load() {
		return false
	}
	if remote := (*RemoteError)(nil); errors.As(err, &remote) {
		return remote.standby() || remote.later()
	}
	var lost *ipc.LostError
	waiting := errors.Is(err, errSlow) || errors.As(err, &lost) || errors.Is(err, ErrUnreachable)
	return waiting && c.answered.Load()
}

// connect returns the connection to the active NameNode. If there is no
// connection yet, connect tries each NameNode once, until one is active.
func (c *Client) connect(ctx context.Context) (*ipc.Conn, error) {
	select {
	case c.link <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-c.link }()
	if c.closed.Load() {
		return nil, fmt.Errorf("hdfs: client: %w", net.ErrClosed)
	}
	if c.nameNode != nil {
		select {
		case <-c.nameNode.Done():
			c.nameNode = nil // the NameNode has closed the idle connection, so a new one is opened
		default:
			return c.nameNode, nil
		}
	}
	var failures []error
	for range c.options.NameNodes {
		address := c.options.NameNodes[c.next]
		cn, err := c.openActive(ctx, address)
		if err == nil {
			c.nameNode = cn
			return cn, nil
		}
		failures = append(failures, err)
		c.next = (c.next + 1) % len(c.options.NameNodes)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(failures...))
}

// openActive connects to a NameNode and checks that it is active. A NameNode
// in observer state would answer reads with old data. The check also shows
// whether another service than a NameNode listens at the address.
func (c *Client) openActive(ctx context.Context, address string) (*ipc.Conn, error) {
	cn, err := c.open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("NameNode %s: %w", address, err)
	}
	resp := &hdfspb.GetHAServiceStateResponse{}
	err = c.roundTrip(ctx, cn, c.nextCallID(), 0, "getHAServiceState", &hdfspb.GetHAServiceStateRequest{}, resp)
	var remote *RemoteError
	if errors.As(err, &remote) && remote.noHA() {
		c.answered.Store(true)
		return cn, nil
	}
	if err == nil && resp.GetState() != hdfspb.GetHAServiceStateResponse_ACTIVE {
		err = &RemoteError{
			NameNode: address, Class: "org.apache.hadoop.ipc.StandbyException", Message: "state is " + resp.GetState().String(),
		}
	}
	if err != nil {
		cn.Close(net.ErrClosed)
		return nil, err
	}
	return cn, nil
}

// leave closes the connection cn to a NameNode. Calls that wait on it fail
// with the error why. The next call tries the next NameNode first, unless the context
// ends while another call connects.
func (c *Client) leave(ctx context.Context, cn *ipc.Conn, why error) {
	cn.Close(&ipc.LostError{Err: why})
	select {
	case c.link <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-c.link }()
	if c.nameNode == cn {
		c.nameNode = nil
		c.next = (c.next + 1) % len(c.options.NameNodes)
	}
}

// nextCallID returns the id of the next call to a NameNode: 1, 2, 3 and so on.
func (c *Client) nextCallID() int32 {
	return int32(c.lastCall.Add(1) & 0x7fffffff)
}

// backoff returns how long to wait before a call is tried again. The second try
// follows at once, since another NameNode may be active already. Later waits
// are 100 ms, 200 ms and so on up to 3.2 s.
func backoff(attempt int32) time.Duration {
	if attempt == 0 {
		return 0
	}
	return 50 * time.Millisecond << min(attempt, 6)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
