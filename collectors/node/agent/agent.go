// Package agent serves one node's samples to other machines, over HTTP with a
// bearer token, and holds the client of that service. It keeps the samples of
// the last hour in memory and writes no file.
//
//	GET  /info          what the node is, and its clock
//	GET  /samples       samples after a cursor, JSON
//	GET  /metrics       the last reading, in Prometheus' text format
//	POST /drop-caches   empties the page cache, where the agent allows it
//
// Every path answers 401 without the token.
package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/net/netutil"

	"heddle/collectors/node"
)

// DefaultPort is where agents listen unless told otherwise.
const DefaultPort = 9177

// maxConnections are open at once; more wait in the kernel's queue. A harness
// takes a few.
const maxConnections = 64

// Options describe one agent.
type Options struct {
	// Listen is "host:port"; an empty host is every address. Empty listens at
	// DefaultPort: on every address with TLS, on loopback without, since the
	// token could be read on the network.
	Listen string
	// TokenFile holds the bearer token, see ReadToken.
	TokenFile string
	// Node is the name that Hadoop knows the node by; empty takes the hostname.
	Node string
	// Interval between samples; zero is a second.
	Interval time.Duration
	// Keep is how long samples stay; zero is an hour.
	Keep time.Duration
	// TLSCert and TLSKey are PEM files; both empty serves plain HTTP.
	TLSCert, TLSKey string
	// AllowDropCaches opens POST /drop-caches.
	AllowDropCaches bool
	// Version is the agent's own, for /info.
	Version string
	// Sample says what to measure.
	Sample node.Options
	// Log takes what an operator needs to see; nil discards it.
	Log *slog.Logger
}

// Validate says what is wrong with o, and how it should be.
func (o *Options) Validate() error {
	if _, _, err := net.SplitHostPort(o.Listen); o.Listen != "" && err != nil {
		return fmt.Errorf("listen address %q: want host:port, such as :%d", o.Listen, DefaultPort)
	}
	if o.Interval != 0 && o.Interval < node.MinInterval {
		return fmt.Errorf("interval %v: want at least %v, the kernel counts no finer", o.Interval, node.MinInterval)
	}
	if o.Keep < 0 {
		return fmt.Errorf("keep %v: want a positive duration", o.Keep)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return errors.New("TLS needs both a certificate and its key")
	}
	return nil
}

// Agent samples a node and serves the samples.
type Agent struct {
	opts    Options
	token   []byte
	cert    *tls.Certificate
	sampler *node.Sampler
	facts   node.Facts
	started time.Time
	ring    *ring
	last    lastReading
	drops   dropGate
	log     *slog.Logger
}

// New checks o, reads its token and certificate, and finds what to measure.
func New(o Options) (*Agent, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	token, err := ReadToken(o.TokenFile)
	if err != nil {
		return nil, err
	}
	a := &Agent{opts: o, token: []byte(token), started: time.Now(), log: o.Log}
	if o.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("load TLS certificate %s and key %s: %w", o.TLSCert, o.TLSKey, err)
		}
		a.cert = &cert
	}
	if a.sampler, err = node.NewSampler(o.Sample); err != nil {
		return nil, err
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.opts.Listen == "" {
		host := "127.0.0.1"
		if a.cert != nil {
			host = ""
		}
		a.opts.Listen = net.JoinHostPort(host, strconv.Itoa(DefaultPort))
	}
	if a.opts.Interval == 0 {
		a.opts.Interval = time.Second
	}
	if a.opts.Keep == 0 {
		a.opts.Keep = time.Hour
	}
	a.facts = a.sampler.Facts()
	if a.opts.Node == "" {
		a.opts.Node = a.facts.Hostname
	}
	a.ring = newRing(int(min(a.opts.Keep/a.opts.Interval, maxKept)), a.started.UnixNano())
	return a, nil
}

// Run listens, samples and serves until ctx ends, then lets requests under way
// finish.
func (a *Agent) Run(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.opts.Listen)
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%w; ports below 1024 need root", err)
		}
		return fmt.Errorf("agent: %w", err)
	}
	return a.Serve(ctx, l)
}

// Serve is Run on a listener that is there already; it closes l.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	// Below TLS, so that a connection counts from its first byte.
	l = netutil.LimitListener(l, maxConnections)
	scheme := "http"
	if a.cert != nil {
		scheme = "https"
		l = tls.NewListener(l, &tls.Config{
			Certificates: []tls.Certificate{*a.cert},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
		})
	} else if !isLoopback(l.Addr()) {
		a.log.Warn("serving without TLS: the token can be read on the network", "address", l.Addr().String())
	}
	server := &http.Server{
		Handler:           a.Handler(),
		ReadHeaderTimeout: 5 * time.Second, // also of the TLS handshake
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sampling := make(chan struct{})
	go func() {
		defer close(sampling)
		a.sample(ctx)
	}()
	closed := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		err := server.Shutdown(grace)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		closed <- err
	}()

	a.log.Info("agent ready", "url", scheme+"://"+l.Addr().String(), "node", a.opts.Node,
		"mode", a.facts.Mode, "cgroup", a.facts.Cgroup, "interval", a.opts.Interval)
	err := server.Serve(l)
	stop()
	<-sampling
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if err := errors.Join(err, <-closed); err != nil {
		return fmt.Errorf("agent: serve %s: %w", l.Addr(), err)
	}
	return nil
}

// sample fills the ring until ctx ends. A group of numbers that goes missing,
// or comes back, is logged once.
func (a *Agent) sample(ctx context.Context) {
	missing := map[string]bool{}
	a.sampler.Run(ctx, a.opts.Interval, func(r *node.Reading, s node.Sample) {
		for group, why := range r.Absent {
			if !missing[group] {
				a.log.Warn("not measured", "numbers", group, "reason", why)
				missing[group] = true
			}
		}
		for group := range missing {
			if _, absent := r.Absent[group]; !absent {
				a.log.Info("measured again", "numbers", group)
				delete(missing, group)
			}
		}
		a.last.set(r)
		a.ring.add(s)
	})
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
