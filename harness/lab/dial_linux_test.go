package lab

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"

	"github.com/vishvananda/netns"
)

// Dial returns a dial function whose connections start from a lab node, as if
// a process there had opened them. The function accepts the lab's node names
// and addresses.
func (l *Lab) Dial(node string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		from, err := l.node(node)
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		if to, err := l.node(host); err == nil {
			host = to.ip.String()
		}
		if _, err := netip.ParseAddr(host); err != nil {
			return nil, fmt.Errorf("dial %s from %s: %q is neither a node nor an address of lab %s", addr, node, host, l.Name)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			// End the goroutine while it is locked to its thread, so that Go
			// discards the thread. The thread stays in the node's namespace and
			// must not run other goroutines.
			runtime.LockOSThread()
			ns, nsErr := netns.GetFromName(l.namespace(from.name))
			if nsErr != nil {
				err = fmt.Errorf("dial %s from %s: lab %s is not up: %w", addr, node, l.Name, nsErr)
				return
			}
			defer func() { _ = ns.Close() }()
			if err = netns.Set(ns); err != nil {
				err = fmt.Errorf("dial %s: enter network namespace of %s: %w", addr, node, err)
				return
			}
			var dialer net.Dialer
			conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
		}()
		<-done
		return conn, err
	}
}
