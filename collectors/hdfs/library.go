package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
)

// library is a client of the library colinmarc/hdfs, for all callers with one
// context. The library's calls know no context.
type library struct {
	open   func() (*colinmarc.Client, error) // connects at the first call
	end    context.CancelCauseFunc           // ends its calls and closes its connections
	closed chan struct{}                     // channel that is closed when the library is closed
	asked  atomic.Pointer[string]            // address of the DataNode that was connected to last
}

// Files returns a client that reads, writes, lists, renames and removes files
// in HDFS. That client uses the NameNodes, the user, the dial function and the
// time limits of c: its calls are repeated too while no NameNode is active.
//
// The client belongs to the context ctx. When ctx ends, its calls fail at once, its
// connections to NameNodes and DataNodes are closed, and it cannot be used any more.
// Callers with the same context get the same client. Closing c closes all of them.
//
// Its times of files are whole seconds; [Client.Stat] and [Client.SetModified]
// have milliseconds. A writer of this client must be closed by [CloseWriter].
func (c *Client) Files(ctx context.Context) (*colinmarc.Client, error) {
	_, files, err := c.library(ctx)
	return files, err
}

func (c *Client) library(ctx context.Context) (*library, *colinmarc.Client, error) {
	if ctx.Err() != nil {
		return nil, nil, fmt.Errorf("hdfs files: %w", context.Cause(ctx))
	}
	done := ctx.Done() // is nil for all contexts that cannot end
	c.filesMu.Lock()
	l := c.files[done]
	if l == nil {
		l = c.newLibrary(ctx)
		c.files[done] = l
	}
	c.filesMu.Unlock()
	files, err := l.open()
	if err != nil {
		c.forget(done, l) // the next caller tries again
		l.end(err)
		return nil, nil, fmt.Errorf("hdfs files: %w", err)
	}
	return l, files, nil
}

func (c *Client) newLibrary(ctx context.Context) *library {
	done := ctx.Done()
	ctx, end := context.WithCancelCause(ctx)
	l := &library{end: end, closed: make(chan struct{})}
	l.open = sync.OnceValues(func() (*colinmarc.Client, error) { return c.openLibrary(ctx, &l.asked) })
	context.AfterFunc(ctx, func() {
		defer close(l.closed)
		c.forget(done, l)
		if files, err := l.open(); err == nil {
			_ = files.Close() // the connection was closed before, when the call in progress ended
		}
	})
	return l
}

func (c *Client) forget(done <-chan struct{}, l *library) {
	c.filesMu.Lock()
	defer c.filesMu.Unlock()
	if c.files[done] == l {
		delete(c.files, done)
	}
}

// openLibrary returns a client of the library that can be used until ctx ends. It notes
// the DataNodes that are asked.
func (c *Client) openLibrary(ctx context.Context, asked *atomic.Pointer[string]) (*colinmarc.Client, error) {
	user := c.options.User
	if k := c.options.Kerberos; k != nil {
		login, err := k.Login(ctx, "")
		if err != nil {
			return nil, err
		}
		user = login.Credentials.UserName() + "@" + login.Credentials.Domain()
	}
	files, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: c.options.NameNodes[:1], // libraryCalls knows the others
		User:      user,
		NamenodeDialFunc: func(context.Context, string, string) (net.Conn, error) {
			return &libraryCalls{c: c, ctx: ctx}, nil
		},
		DatanodeDialFunc: func(_ context.Context, network, address string) (net.Conn, error) {
			asked.Store(&address)
			return c.dialDataNode(ctx, network, address)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	// The library colinmarc/hdfs caches the NameNode's defaults without a lock.
	// This first request fills the cache, so that later ones only read it.
	if _, err := files.ServerDefaults(); err != nil {
		return nil, fmt.Errorf("NameNode %s: %w", strings.Join(c.options.NameNodes, ", "), errors.Join(err, files.Close()))
	}
	return files, nil
}

// readable turns a panic of the library while it reads a file into an error, in case a
// DataNode sends something that lengths.go does not know to be wrong.
func (l *library) readable(name string, err *error) {
	if what := recover(); what != nil {
		from := "a DataNode"
		if asked := l.asked.Load(); asked != nil {
			from = "DataNode " + *asked
		}
		*err = fmt.Errorf("read hdfs %s: %s sent what no DataNode sends (%v)", name, from, what)
	}
}

// reader reads a file by the library. Some bytes have to come in each time of silence.
type reader struct {
	*colinmarc.FileReader
	of      *library
	silence time.Duration
}

func (r reader) Read(b []byte) (n int, err error) {
	defer r.of.readable(r.Name(), &err)
	if err := r.SetDeadline(time.Now().Add(r.silence)); err != nil {
		return 0, err
	}
	return r.FileReader.Read(b)
}

// endingConn is a connection that is closed when a context ends.
type endingConn struct {
	net.Conn
	ctx  context.Context
	stop func() bool
}

func endWith(ctx context.Context, c net.Conn) net.Conn {
	return &endingConn{c, ctx, context.AfterFunc(ctx, func() { c.Close() })}
}

func (e *endingConn) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	return n, e.why(err)
}

func (e *endingConn) Write(b []byte) (int, error) {
	n, err := e.Conn.Write(b)
	return n, e.why(err)
}

func (e *endingConn) Close() error {
	if !e.stop() {
		return nil // the end of the context has closed it
	}
	return e.Conn.Close()
}

// why returns why the context ended, if that is why a read or write failed.
func (e *endingConn) why(err error) error {
	if err != nil && e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	return err
}
