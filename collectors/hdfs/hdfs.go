// Package hdfs asks a NameNode where blocks and their cached copies are, what
// its DataNodes hold, and what is cached by which directive; it sets cache
// directives, replication and times. It speaks the NameNode's native RPC over
// one connection that many calls share, and follows the active NameNode of
// several.
//
// Contents of files are not its business: [Client.Files] hands out a
// colinmarc/hdfs client for the same cluster, and [Client.WriteFile] writes a
// file whole with it. Clusters that demand Kerberos are refused ([ErrSecure]).
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

// Options says which cluster to ask and how long to wait for it.
type Options struct {
	// NameNodes are RPC addresses, "host:8020"; several for HA.
	NameNodes []string
	// User is whom the NameNode takes us for. Empty: this process's user.
	User string
	// DialContext connects to NameNodes and, for [Client.Files], to DataNodes.
	// Nil: a plain net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// CallTimeout limits one attempt of one call. Zero: 30 s.
	CallTimeout time.Duration
	// RetryFor is how long a call is tried again while no NameNode is active,
	// one is in safe mode, or connections break. Before a first answer from any
	// NameNode it does not apply: a wrong address fails at once. Zero: 30 s.
	RetryFor time.Duration
}

// Client talks to one HDFS cluster. It is safe for use by many goroutines.
// Nothing is connected before the first call.
type Client struct {
	options  Options
	clientID [16]byte
	lastCall atomic.Uint32
	answered atomic.Bool // a NameNode has answered once

	// link guards nameNode; a channel, so that waiting for it ends with the
	// context while another call dials.
	link     chan struct{}
	nameNode *conn // nil: not connected
	next     int   // the NameNode to try first
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

// Close ends the connections. Calls under way fail.
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
