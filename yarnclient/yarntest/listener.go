package yarntest

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Listener accepts connections that stay in this process's memory. Tests with
// virtual time need this, since a virtual clock does not wait for sockets.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

// NewListener returns an in-memory listener for one http.Server.
func NewListener() *Listener {
	l := &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// DialContext returns a connection to this listener. It ignores the address.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: ctx.Err()}
	}
}

// Accept waits for a caller of DialContext and returns the connection to it.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener, so that Accept and DialContext fail from then on.
func (l *Listener) Close() error { l.close(); return nil }

// Addr returns a made-up address, as a listener in memory has none.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
