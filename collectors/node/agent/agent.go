// Package agent serves measurements of one node over HTTP, to clients with a
// bearer token. The package also has the client. The agent keeps the samples of
// the last hour in memory and writes no file.
//
//	GET  /info          what the node is, and its clock
//	GET  /samples       samples after a cursor, as JSON
//	GET  /metrics       the current counters, in Prometheus' text format
//	POST /drop-caches   empties the page cache, if the agent allows it
//
// A request without the token is answered by status 401. What one side can make
// the other read, keep or wait for is limited, see the README beside this file.
package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"heddle/collectors/node"
)

// DefaultPort is the TCP port on which an agent listens by default.
const DefaultPort = 9177

// Options configure one agent, which measures one node.
type Options struct {
	// Listen is the address on which the agent listens, "host:port"; an empty
	// host means every address of the machine. An empty Listen means
	// DefaultPort, on every address with TLS. Without TLS, it is on loopback
	// only, since others on the network could read the token.
	Listen string `flag:"listen" text:"ADDR to serve on, host:port" of:"ADDR" without:"with TLS :9177, without 127.0.0.1:9177"`
	// TokenFile is the path of the file with the one or two bearer tokens that
	// the agent accepts; see ReadTokens. The agent reads the file again when it
	// has changed.
	TokenFile string `flag:"token-file" text:"FILE with one or two bearer tokens, mode 0600" of:"FILE"`
	// Node is the name of the agent's node in Hadoop. Empty means the machine's
	// hostname.
	Node string `flag:"node" text:"NAME of the node as Hadoop knows it" of:"NAME" without:"the hostname"`
	// Interval is the time between two readings of the node's counters. Zero
	// means one second.
	Interval time.Duration `flag:"interval" key:"set" text:"time between samples" without:"1s"`
	// Keep is how long the agent keeps samples in memory. Zero means one hour.
	Keep time.Duration `flag:"keep" key:"set" text:"how long samples stay in memory" without:"1h"`
	// TLSCert and TLSKey are paths of PEM files with the agent's certificate
	// and its key. If both are empty, the agent serves plain HTTP. The agent
	// reads the files again when they have changed.
	TLSCert string `flag:"tls-cert" text:"PEM FILE with this node's certificate; serves HTTPS" of:"FILE"`
	TLSKey  string `flag:"tls-key" text:"PEM FILE with the certificate's key" of:"FILE"`
	// AllowDropCaches says that the agent accepts POST /drop-caches, which
	// empties the node's page cache.
	AllowDropCaches bool `flag:"allow-drop-caches" text:"let clients empty the page cache, for cold reads: with --cgroup that group's, otherwise the machine's"`
	// Version is the agent's version, which GET /info shows.
	Version string
	// Sample says what the agent's samples describe: the whole host or a control
	// group.
	Sample node.Options `flag:"*"`
	// Log receives the agent's messages for the operator; nil discards them.
	Log *slog.Logger
}

// Validate returns an error if one of the agent's options is wrong.
func (o *Options) Validate() error {
	if o.Listen != "" {
		_, port, err := net.SplitHostPort(o.Listen)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("listen address %q: want host:port with a port from 0 to 65535, such as :%d", o.Listen, DefaultPort)
		}
	}
	if o.Interval != 0 && o.Interval < node.MinInterval {
		return fmt.Errorf("interval %v: want at least %v: the kernel counts CPU time in steps of 10 ms", o.Interval, node.MinInterval)
	}
	if o.Keep < 0 {
		return fmt.Errorf("keep %v: want 0 for the default, or a positive duration", o.Keep)
	}
	if (o.TLSCert == "") != (o.TLSKey == "") {
		return errors.New("TLS needs both a certificate and its key")
	}
	return nil
}

// Agent measures a node at regular intervals and serves the samples over HTTP.
type Agent struct {
	opts    Options
	tokens  *reread[tokenHashes]
	cert    *reread[*tls.Certificate] // nil: the agent serves plain HTTP
	sampler *node.Sampler
	facts   node.Facts
	started time.Time
	ring    *ring
	last    atomic.Pointer[node.Reading]
	drops   dropLimiter
	noDrops string // why the agent drops no caches; empty if it does
	log     *slog.Logger
	// Messages that strangers on the network can cause have logs of their own.
	refusals, failures *sparseLog
}

// New checks the options o, reads the token and the TLS certificate, and finds
// out what can be measured on this node.
func New(o Options) (*Agent, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a := &Agent{opts: o, started: time.Now(), log: o.Log}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.refusals, a.failures = &sparseLog{log: a.log}, &sparseLog{log: a.log}
	err := a.readFiles()
	if err != nil {
		return nil, err
	}
	if a.sampler, err = node.NewSampler(o.Sample); err != nil {
		return nil, err
	}
	if !o.AllowDropCaches {
		a.noDrops = "start it with --allow-drop-caches"
	} else if err := a.sampler.CanDropCaches(); err != nil {
		a.noDrops = err.Error()
		a.log.Warn("page caches cannot be dropped", "error", err)
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

// Run makes the agent listen, measure and answer requests until ctx ends. Then
// it waits for requests that are not answered yet.
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

// readFiles reads the token file and the TLS certificate.
func (a *Agent) readFiles() (err error) {
	o := &a.opts
	told := func(what string) func(error) {
		return func(err error) {
			if err != nil {
				a.log.Error("changed "+what+" not used; the one before stays valid", "error", err)
				return
			}
			a.log.Info("changed " + what + " in use")
		}
	}
	a.tokens, err = newReread(func() (tokenHashes, error) { return hashTokens(o.TokenFile) }, told("token file"), o.TokenFile)
	if err == nil && o.TLSCert != "" {
		read := func() (*tls.Certificate, error) { return readCertificate(o.TLSCert, o.TLSKey, a.log) }
		a.cert, err = newReread(read, told("TLS certificate"), o.TLSCert, o.TLSKey)
	}
	return err
}

// Reread reads the token file and the TLS certificate again at once. Without
// this call, the agent finds out within a second of the next request that they
// have changed.
func (a *Agent) Reread() {
	a.tokens.now()
	if a.cert != nil {
		a.cert.now()
	}
}

// Serve is like Run, but accepts connections from the listener l, which it
// closes at the end.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	// Connections are counted before their TLS handshake, so that a connection
	// whose client never starts the handshake counts, too.
	l = limitConnections(l)
	scheme := "http"
	if a.cert != nil {
		scheme = "https"
		l = tls.NewListener(l, &tls.Config{
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return a.cert.get(), nil },
			MinVersion:     tls.VersionTLS12,
			NextProtos:     []string{"http/1.1"},
		})
	} else if !isLoopback(l.Addr()) {
		a.log.Warn("serving without TLS: the token can be read on the network", "address", l.Addr().String())
	}
	server := &http.Server{
		Handler:           a.Handler(),
		ReadHeaderTimeout: 5 * time.Second, // time limit for receiving a request's header, including the connection's TLS handshake
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(a.failures, "", 0),
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
		_ = tellService("STOPPING=1") // the error is ignored, since the service ends in any case
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		err := server.Shutdown(grace)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		closed <- err
	}()

	if err := tellService("READY=1"); err != nil {
		a.log.Warn("systemd not told that the agent is ready", "error", err)
	}
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

// sample measures the node at each interval until ctx ends, and stores the
// samples in memory. It logs once when one kind of numbers, such as those of
// the disks, can no longer be read, and once when it can be read again.
func (a *Agent) sample(ctx context.Context) {
	missing := map[string]bool{}
	a.sampler.Run(ctx, a.opts.Interval, func(r *node.Reading, s node.Sample) {
		for group, why := range r.Absent {
			if !missing[group] {
				a.log.Warn("metric group not measured", "group", group, "reason", why)
				missing[group] = true
			}
		}
		for group := range missing {
			if _, absent := r.Absent[group]; !absent {
				a.log.Info("metric group measured again", "group", group)
				delete(missing, group)
			}
		}
		a.last.Store(r)
		a.ring.add(s)
	})
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
