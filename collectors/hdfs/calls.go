package hdfs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// libraryCalls is what the library colinmarc/hdfs takes for its connection to a
// NameNode. The library makes one call after the other, and gives up when a
// connection breaks or a NameNode is a standby. So each call is made here, on
// the NameNode that is active, and repeated as [Client.call] does. It is
// repeated with the same bytes, and so with the same client and call id, by
// which a NameNode recognises a call that it has carried out already.
//
// An answer is passed on only when all its bytes have arrived, so that memory is
// allocated only for bytes that exist. A call ends with the context of the library's
// client. The whole answer must arrive within CallTimeout. With a time limit for each
// read instead, a server could send a byte now and then without end.
type libraryCalls struct {
	net.Conn                 // connection to a NameNode; nil if there is none now
	r        *bufio.Reader   // reads from it
	c        *Client         // whose NameNodes, limits and Kerberos are used
	ctx      context.Context // ends the calls
	at       int             // index of the NameNode
	greeting [][]byte        // what the library writes before its first call
	call     []byte          // the call, as the library wrote it
	ready    []byte          // bytes of the answer, with its length, that the library has not read yet
}

// greetings is how many writes the library greets a NameNode with.
const greetings = 2

func (l *libraryCalls) Write(b []byte) (int, error) {
	if len(l.greeting) < greetings {
		l.greeting = append(l.greeting, bytes.Clone(b))
	} else {
		l.call = append(l.call, b...)
	}
	return len(b), nil
}

func (l *libraryCalls) Read(b []byte) (int, error) {
	if len(l.ready) == 0 {
		var frame []byte
		err := l.c.repeated(l.ctx, func(int32) (err error) {
			frame, err = l.attempt()
			return err
		})
		l.call = l.call[:0]
		if remote := (*RemoteError)(nil); err != nil && (l.ctx.Err() != nil || !(errors.As(err, &remote) && remote.later())) { // the library passes on what a NameNode in safe mode says
			return 0, err
		}
		l.ready = append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame))), frame...)
	}
	k := copy(b, l.ready)
	l.ready = l.ready[k:]
	return k, nil
}

func (l *libraryCalls) Close() error {
	if l.Conn == nil {
		return nil
	}
	err := l.Conn.Close()
	l.Conn = nil
	return err
}

// attempt makes the call on each NameNode once, until one answers that is
// active. It begins with that of the last call.
func (l *libraryCalls) attempt() (frame []byte, err error) {
	var failures []error
	for range l.c.options.NameNodes {
		if l.c.closed.Load() {
			return nil, fmt.Errorf("hdfs: client: %w", net.ErrClosed)
		}
		if l.ctx.Err() != nil {
			return nil, context.Cause(l.ctx)
		}
		address := l.c.options.NameNodes[l.at]
		frame, err = l.exchange(address)
		remote := (*RemoteError)(nil)
		switch {
		case err == nil, errors.As(err, &remote) && remote.later():
			return frame, err
		case remote == nil:
			err = fmt.Errorf("NameNode %s: %w", address, err)
		}
		failures = append(failures, err)
		_ = l.Close() // the error that ended the use of the connection is reported
		l.at = (l.at + 1) % len(l.c.options.NameNodes)
	}
	err = errors.Join(failures...)
	if errors.As(err, new(*protocolError)) {
		return nil, err // repeating the call does not help
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// exchange makes the call on one NameNode and returns its answer.
func (l *libraryCalls) exchange(address string) ([]byte, error) {
	limit := l.c.options.CallTimeout
	if l.Conn == nil {
		if err := l.connect(address, limit); err != nil {
			return nil, err
		}
	}
	if err := l.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, &lostError{err}
	}
	nc := l.Conn
	stop := context.AfterFunc(l.ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	_, err := l.Conn.Write(l.call)
	var frame []byte
	if err == nil {
		frame, err = readFrame(l.r, maxFrameBytes)
	}
	switch ended := !stop(); {
	case ended:
		return nil, &lostError{context.Cause(l.ctx)} // its deadline has passed, so the connection cannot be used again
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &lostError{fmt.Errorf("no whole answer within %v: %w", limit, err)}
	case errors.As(err, new(*protocolError)):
		return nil, err
	case err != nil:
		return nil, &lostError{err}
	}
	header, _, err := parseReply(frame)
	if err != nil {
		return nil, &protocolError{"answer not understood: " + err.Error()}
	}
	said := remoteError("call", address, header)
	passes := said.standby() || said.later() // by the class of an exception; an answer has none
	if passes || header.GetStatus() == hdfspb.ResponseHeader_SUCCESS {
		l.c.answered.Store(true)
	}
	if passes {
		return frame, said
	}
	return frame, nil
}

// connect connects to the NameNode and repeats the library's greeting.
func (l *libraryCalls) connect(address string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(l.ctx, limit)
	defer cancel()
	nc, _, err := l.c.dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if l.c.options.Kerberos != nil {
		nc = &greeted{Conn: nc}
	}
	if err := nc.SetDeadline(time.Now().Add(limit)); err != nil {
		return errors.Join(err, nc.Close())
	}
	for _, part := range l.greeting {
		if _, err := nc.Write(part); err != nil {
			return errors.Join(err, nc.Close())
		}
	}
	l.Conn, l.r = nc, bufio.NewReaderSize(nc, 64<<10)
	return nil
}
