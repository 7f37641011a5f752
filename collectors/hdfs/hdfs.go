// Package hdfs asks a NameNode where blocks and their cached copies are, what
// DataNodes store, and which cache pools exist. It also changes cache pools and
// directives, replication and times of files. With several NameNodes it uses the
// active one.
//
// For reading and writing files, [Client.Files] returns a colinmarc/hdfs client
// for the same cluster. Open and WriteFile use it too.
// Its connections are its own. library.go ends its calls with a context, calls.go repeats its calls of NameNodes, and
// lengths.go checks what comes from DataNodes.
//
// The other calls go over the one connection of conn.go and failover.go, which
// many of them share, since the library cannot make them as they are needed:
//
//   - Locations, SplitLocations (getListing with locations, getBlockLocations),
//     DataNodes, CachePools, AddCachePool, RemoveCachePool, AddCacheDirective and
//     SetReplication: it has no such calls.
//   - SetModified: it cuts times to whole seconds, and NodeManagers refuse a staged
//     file whose time differs by a millisecond.
//   - Rename: it replaces a file that exists. A lease is renewed by a rename that
//     must not.
//   - Stat, Names, Mkdir, Chmod, RemoveAll and CreateNote: it makes one call at a
//     time, and a lease has to be renewed meanwhile.
//
// [Options].Kerberos proves to a secured HDFS who the user is, on the connections of
// both clients (sasl.go). A NameNode that asks for it where it is not set is refused
// with [ErrSecure].
package hdfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/user"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/collectors/hdfs/ipc"
)

// Options say which HDFS cluster to ask and how long to wait.
type Options struct {
	// NameNodes are the RPC addresses of the NameNodes, such as "host:8020". A
	// cluster with high availability has several.
	NameNodes []string
	// User is the Hadoop user in whose name calls are made. Empty means the
	// user of this process.
	User string
	// Kerberos says how the user proves who they are; nil means that HDFS believes
	// User.
	Kerberos *Kerberos
	// DialContext opens connections to NameNodes and, for [Client.Files], to
	// DataNodes. nil means a plain net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// CallTimeout limits each try of a call to a NameNode. Zero means 30 s.
	CallTimeout time.Duration
	// RetryFor is how long a call is repeated while no NameNode is active, the
	// active one is in safe mode, or connections break. Calls are not repeated
	// before a NameNode has answered for the first time, so that a wrong
	// address fails at once. Zero means 30 s.
	RetryFor time.Duration
}

// Client is a client of one HDFS cluster. Many goroutines may use it at the
// same time. It connects at the first call.
type Client struct {
	options  Options
	clientID [16]byte
	lastCall atomic.Uint32
	answered atomic.Bool // whether a NameNode has answered at least once
	closed   atomic.Bool

	// link is a lock for the two fields below, which describe the connection.
	// It is a channel with one value, so that a call can stop waiting for the
	// lock when the call's context ends.
	link     chan struct{}
	nameNode *ipc.Conn // connection to the active NameNode; nil if there is none
	next     int       // index of the NameNode that is tried first for the next connection

	dataKey atomic.Pointer[blockSecret] // what DataNodes of a cluster that encrypts take; nil before it was asked for

	filesMu sync.Mutex
	files   map[<-chan struct{}]*library // what Files returns, by the channel that its callers' context closes at its end
}

// New checks the options and returns a client of an HDFS cluster.
func New(o Options) (*Client, error) {
	if len(o.NameNodes) == 0 {
		return nil, errors.New(`hdfs: no NameNode given; name its RPC address, such as "namenode:8020"`)
	}
	for _, a := range o.NameNodes {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" || strings.Contains(a, "/") {
			return nil, fmt.Errorf(`hdfs: NameNode %q is not "host:port"; take dfs.namenode.rpc-address of its configuration, usually port 8020`, a)
		}
	}
	if k := o.Kerberos; k != nil && k.Calls != "" && protectionOf(k.Calls) == 0 {
		return nil, fmt.Errorf("hdfs: protection of calls %q: want authentication, integrity or privacy", k.Calls)
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
	c := &Client{options: o, link: make(chan struct{}, 1), files: map[<-chan struct{}]*library{}}
	rand.Read(c.clientID[:])
	return c, nil
}

// Close closes the connections to NameNodes and DataNodes. Calls that wait for
// an answer fail.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.link <- struct{}{}
	if c.nameNode != nil {
		c.nameNode.Close(net.ErrClosed)
		c.nameNode = nil
	}
	<-c.link

	c.filesMu.Lock()
	libraries := slices.Collect(maps.Values(c.files))
	c.filesMu.Unlock()
	for _, l := range libraries {
		l.end(net.ErrClosed)
		<-l.closed
	}
	return nil
}
