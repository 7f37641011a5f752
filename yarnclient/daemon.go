package yarnclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Daemon is a client of the web address of any Hadoop daemon, such as a
// NodeManager or the NameNode. All daemons answer these requests alike.
type Daemon struct{ c *client }

// NewDaemon returns a client of a Hadoop daemon. The client connects when its
// first method is called.
func NewDaemon(o Options) (*Daemon, error) {
	c, err := newClient("Hadoop daemon", o)
	if err != nil {
		return nil, err
	}
	return &Daemon{c}, nil
}

// Close closes the idle HTTP connections.
func (d *Daemon) Close() { d.c.close() }

// JMX returns the attributes of the daemon's JMX beans that match query, such
// as "Hadoop:service=NodeManager,name=NodeManagerMetrics".
func (d *Daemon) JMX(ctx context.Context, query string) ([]map[string]any, error) {
	return d.c.jmx(ctx, query)
}

// Date returns the time by the daemon's clock, from the header of an answer. An
// answer that refuses the request has it too. The time is up to 2 s old: it is
// cut to whole seconds, and a daemon uses the same text for up to another
// second.
func (d *Daemon) Date(ctx context.Context) (time.Time, error) {
	r := request{path: "/conf", query: url.Values{"name": {"fs.defaultFS"}}, limit: smallBytes}
	a, err := d.c.exchange(ctx, d.c.addresses[0], r)
	if a.date == "" && err != nil {
		return time.Time{}, err
	}
	date, err := http.ParseTime(a.date)
	if err != nil {
		return time.Time{}, d.c.errorOf(a.base, r, a.status, withKind(fmt.Errorf("no time in the answer: %w", err), ErrBadAnswer),
			notRestAdvice(d.c.service))
	}
	return date, nil
}
