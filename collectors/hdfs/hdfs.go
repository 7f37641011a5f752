// Package hdfs asks a NameNode where blocks and their cached copies are, what
// DataNodes store, and what is to be cached. It also sets cache directives,
// replication and times. It speaks the NameNode's own RPC over one connection,
// which many calls share. With several NameNodes it uses the active one.
//
// For reading and writing files, [Client.Files] returns a colinmarc/hdfs client
// for the same cluster, and [Client.WriteFile] writes a whole file with it.
// Clusters that require Kerberos are refused with [ErrSecure].
package hdfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os/user"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
)

// Options say which cluster to ask and how long to wait.
type Options struct {
	// NameNodes are RPC addresses, "host:8020"; for HA more than one.
	NameNodes []string
	// User is the Hadoop user that calls are made as. Empty means this
	// process's user.
	User string
	// DialContext connects to NameNodes and, for [Client.Files], to DataNodes.
	// nil means a plain net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// CallTimeout limits one try of one call. Zero means 30 s.
	CallTimeout time.Duration
	// RetryFor is how long a call is repeated while no NameNode is active, one
	// is in safe mode, or connections break. Until a NameNode has answered for
	// the first time, calls are not repeated, so that a wrong address fails at
	// once. Zero means 30 s.
	RetryFor time.Duration
}

// Client is a client of one HDFS cluster. It may be used by many goroutines. It
// connects at the first call.
type Client struct {
	options  Options
	clientID [16]byte
	lastCall atomic.Uint32
	answered atomic.Bool // whether a NameNode has answered once

	// link guards the three fields below. It is a channel with one value, so
	// that a call can stop waiting for it when its context ends.
	link     chan struct{}
	nameNode *conn // connection to the active NameNode; nil if there is none
	next     int   // index of the NameNode to try first
	closed   bool

	filesMu sync.Mutex
	files   *colinmarc.Client
}

// New checks the options and returns a client.
func New(o Options) (*Client, error) {
	if len(o.NameNodes) == 0 {
		return nil, errors.New(`hdfs: no NameNode given; name its RPC address, such as "namenode:8020"`)
	}
	for _, a := range o.NameNodes {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" || strings.Contains(a, "/") {
			return nil, fmt.Errorf(`hdfs: NameNode %q is not "host:port"; take dfs.namenode.rpc-address of its configuration, usually port 8020`, a)
		}
	}
	if o.User == "" {
		u, err := user.Current()
		if err != nil {
			return nil, fmt.Errorf("hdfs: no user given: %w", err)
		}
		o.User = u.Username
	}
	if o.DialContext == nil {
		o.DialContext = (&net.Dialer{}).DialContext
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = 30 * time.Second
	}
	if o.RetryFor <= 0 {
		o.RetryFor = 30 * time.Second
	}
	c := &Client{options: o, link: make(chan struct{}, 1)}
	rand.Read(c.clientID[:])
	return c, nil
}

// Close closes the connections. Calls under way fail.
func (c *Client) Close() error {
	c.link <- struct{}{}
	c.closed = true
	if c.nameNode != nil {
		c.nameNode.close(net.ErrClosed)
		c.nameNode = nil
	}
	<-c.link

	c.filesMu.Lock()
	defer c.filesMu.Unlock()
	if c.files == nil {
		return nil
	}
	err := c.files.Close()
	c.files = nil
	return err
}
