package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
)

const (
	// maxConnections is the maximum number of open connections to an agent, and
	// maxFromOne that of connections from one address. Further connections from
	// this address are closed; when maxConnections are open, further ones wait in
	// the kernel. A client needs only a few connections.
	maxConnections = 64
	maxFromOne     = 48
	// connectionsPerSec is how many connections an agent accepts in a second, and
	// connectionsAtOnce how many after a time without any. A TLS handshake takes
	// about a millisecond of a core, so strangers cannot make the agent use more
	// than a tenth of a core for them. Clients keep their connections open.
	connectionsPerSec = 100
	connectionsAtOnce = 100
	// maxHeaderBytes is the maximum length of a request's line and header.
	maxHeaderBytes = 16 << 10
)

// limitConnections returns a listener that accepts as many connections from l,
// and as fast, as the constants above say.
func limitConnections(l net.Listener) net.Listener {
	ctx, stop := context.WithCancel(context.Background())
	gate := &gate{
		Listener: l, open: map[string]int{}, pace: rate.NewLimiter(connectionsPerSec, connectionsAtOnce),
		closed: ctx, stop: stop,
	}
	return netutil.LimitListener(gate, maxConnections)
}

// gate is a listener that limits the connections from one address, and the rate
// of all.
type gate struct {
	net.Listener
	pace   *rate.Limiter
	closed context.Context
	stop   context.CancelFunc

	mu   sync.Mutex
	open map[string]int // number of open connections by the other side's IP address
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil {
			from = c.RemoteAddr().String()
		}
		if !g.enter(from) {
			c.Close()
			continue
		}
		if err := g.pace.Wait(g.closed); err != nil {
			g.leave(from)
			c.Close()
			return nil, net.ErrClosed
		}
		return &countedConn{Conn: c, left: sync.OnceFunc(func() { g.leave(from) })}, nil
	}
}

func (g *gate) enter(from string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[from] >= maxFromOne {
		return false
	}
	g.open[from]++
	return true
}

func (g *gate) leave(from string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[from]--; g.open[from] == 0 {
		delete(g.open, from)
	}
}

func (g *gate) Close() error {
	g.stop()
	return g.Listener.Close()
}

// countedConn tells its listener when it is closed.
type countedConn struct {
	net.Conn
	left func()
}

func (c *countedConn) Close() error {
	c.left()
	return c.Conn.Close()
}

// expiryNotice is how long before the end of its certificate an agent begins to
// warn, each time it reads the certificate.
const expiryNotice = 14 * 24 * time.Hour

// readCertificate reads an agent's certificate and its key.
func readCertificate(certFile, keyFile string, log *slog.Logger) (*tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load TLS certificate %s and key %s: %w", certFile, keyFile, err)
	}
	f, err := os.Open(keyFile)
	if err != nil {
		return nil, fmt.Errorf("read TLS key: %w", err)
	}
	defer f.Close()
	if err := private(f); err != nil {
		return nil, fmt.Errorf("TLS key %w", err)
	}
	if left := time.Until(cert.Leaf.NotAfter); left < expiryNotice {
		log.Warn("TLS certificate is about to end or has ended: give the agent another one", "file", certFile, "notAfter", cert.Leaf.NotAfter)
	}
	return &cert, nil
}

// logInterval is the time between two messages of a sparseLog.
const logInterval = 10 * time.Second

// sparseLog writes at most one message in each logInterval, and how many it left
// out. So strangers cannot fill the disk with messages.
type sparseLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	next time.Time // before this time, messages are left out
	left int
}

func (s *sparseLog) warn(text string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.next) {
		s.left++
		return
	}
	if s.left > 0 {
		args = append(args, "similarMessagesLeftOut", s.left)
	}
	s.log.Warn(text, args...)
	s.next, s.left = now.Add(logInterval), 0
}

// Write takes a message of package net/http.
func (s *sparseLog) Write(message []byte) (int, error) {
	s.warn("connection failed", "error", strings.TrimSpace(string(message)))
	return len(message), nil
}
