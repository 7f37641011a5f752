// Package clients is the one door to a cluster: [To] makes the clients of the
// ResourceManager, the history server, the NameNode and the agents that a
// cluster file names, and [Clients.Daemon] those of daemons whose address only
// the cluster knows. How connections are opened, in whose name requests are
// made, and how long an answer may take is decided here and nowhere else.
//
// ApplicationMasters are reached through the ResourceManager's proxy and
// DataNodes through the NameNode's client, so they need no clients here. The
// clients connect at their first request. [Clients.Answers] checks that the
// daemons answer. Package doctor finds out what a cluster lacks.
package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/node/agent"
	"heddle/harness/config"
	"heddle/harness/internal/poll"
	"heddle/harness/kerberos"
	"heddle/yarnclient"
)

// Clients are the clients for the daemons and agents of one cluster. Each
// client may be used by many goroutines.
type Clients struct {
	Config  *config.Cluster
	RM      *yarnclient.RM
	History *yarnclient.History
	HDFS    *hdfs.Client
	// Agents are the clients of the nodes' agents, in the order of the cluster
	// file.
	Agents []Agent

	patience Patience
	identity *kerberos.Identity // who the user is; nil without Kerberos
	tls      *tls.Config        // how https addresses are verified; nil means by the system's authorities
}

// Agent is the client of the heddle agent on one node.
type Agent struct {
	Node string
	*agent.Client
	// Err says why there is no client, such as a token file that cannot be read.
	// [Clients.Answers] returns it, since work that needs no agent has to go on
	// without it.
	Err error
}

// ErrBadFile says that a cluster file names something that cannot be used, such
// as a file with a token that cannot be read.
var ErrBadFile = errors.New("cluster file")

// Patience says how long clients wait for a daemon. Zero values mean what the
// packages of the clients take.
type Patience struct {
	// Request limits one request to the ResourceManager, the history server, an
	// agent or another web address.
	Request time.Duration
	// Call limits one call of the NameNode. It is also how long a call that failed
	// is repeated.
	Call time.Duration
	// Once is true if failed requests to web addresses are not repeated.
	Once bool
}

// To makes the clients for the cluster that a cluster file describes. Its errors
// wrap ErrBadFile, but for what this version of heddle does not support.
func To(c *config.Cluster, p Patience) (*Clients, error) {
	if err := c.Supported(); err != nil {
		return nil, err
	}
	clients, err := to(c, p)
	if err != nil {
		return nil, fmt.Errorf("%w of %s: %w", ErrBadFile, c.Name, err)
	}
	return clients, nil
}

func to(c *config.Cluster, p Patience) (*Clients, error) {
	cluster := &Clients{Config: c, patience: p}
	var err error
	if cluster.tls, err = trusted(c.CA); err != nil {
		return nil, err
	}
	if k := c.Kerberos; k != nil {
		cluster.identity, err = kerberos.New(kerberos.Options{
			Conf:      k.Conf,
			Principal: k.Principal, Realm: k.Realm, Keytab: k.Keytab, TicketCache: k.TicketCache,
		})
		if err != nil {
			return nil, err
		}
	}
	if cluster.RM, err = yarnclient.NewRM(cluster.web(c.ResourceManagers...)); err != nil {
		return nil, err
	}
	if cluster.History, err = yarnclient.NewHistory(cluster.web(c.HistoryServer)); err != nil {
		return nil, err
	}
	files := hdfs.Options{NameNodes: c.NameNodes, User: c.User, DialContext: c.DialContext(), CallTimeout: p.Call, RetryFor: p.Call}
	if k := c.Kerberos; k != nil {
		files.Kerberos = &hdfs.Kerberos{Login: cluster.identity.Client, NameNode: k.NameNode, Calls: k.Calls, Protection: k.Protection}
	}
	if len(c.NameNodes) > 0 { // an emulated cluster has none
		if cluster.HDFS, err = hdfs.New(files); err != nil {
			return nil, err
		}
	}
	for _, a := range c.Agents {
		client, err := agent.NewClient(agent.ClientOptions{
			URL: a.URL, TokenFile: a.TokenFile, CAFile: a.CAFile, DialContext: c.DialContext(), Timeout: p.Request,
		})
		cluster.Agents = append(cluster.Agents, Agent{a.Node, client, err})
	}
	return cluster, nil
}

// Daemon makes a client of a daemon at a web address that the cluster told.
func (c *Clients) Daemon(address string) (*yarnclient.Daemon, error) {
	return yarnclient.NewDaemon(c.web(address))
}

// JavaVersion returns the Java version of the ResourceManager; empty if it is not known.
func (c *Clients) JavaVersion(ctx context.Context) string {
	version, _ := Bean(c.RM.JMX(ctx, "java.lang:type=Runtime"))["VmVersion"].(string)
	return version
}

// Bean returns the attributes of a JMX bean from an answer that has one, nil from others.
func Bean(beans []map[string]any, err error) map[string]any {
	if err != nil || len(beans) == 0 {
		return nil
	}
	return beans[0]
}

// web says how to reach a daemon at its web addresses.
func (c *Clients) web(addresses ...string) yarnclient.Options {
	o := yarnclient.Options{Addresses: addresses, User: c.Config.User, Timeout: c.patience.Request, DialContext: c.Config.DialContext()}
	if c.patience.Once {
		o.Retries = -1
	}
	o.TLS = c.tls
	if c.identity != nil {
		o.User, o.Authenticate = "", c.identity.Transport
	}
	return o
}

// trusted returns how https addresses are verified: by the certificates in a file alone,
// or by the system's if none is named.
func trusted(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca: %s: no PEM certificate in it", file)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// firstContact is how long all daemons of a cluster together may take for
// their first answer.
const firstContact = 8 * time.Second

// Answers asks all daemons of the cluster for their version at once, and
// returns the Hadoop version. The error, an ErrUnable, names each daemon that
// does not answer, is not active, or is not the daemon expected at its
// address. Agents are not asked, but an agent without a client is an
// ErrBadFile.
func (c *Clients) Answers(ctx context.Context) (hadoop string, err error) {
	for _, a := range c.Agents {
		if a.Err != nil {
			return "", fmt.Errorf("%w of %s: agent of %s: %w", ErrBadFile, c.Config.Name, a.Node, a.Err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, firstContact, fmt.Errorf("no whole answer within %v", firstContact))
	defer cancel()
	var failed [3]error
	var asked sync.WaitGroup
	asked.Go(func() {
		var info yarnclient.ClusterInfo
		info, failed[0] = c.RM.Active(ctx)
		hadoop = info.HadoopVersion
	})
	asked.Go(func() {
		if _, err := c.HDFS.Stat(ctx, "/"); !errors.Is(err, fs.ErrPermission) {
			failed[1] = err
		}
	})
	asked.Go(func() { _, failed[2] = c.History.Info(ctx) })
	asked.Wait()
	for _, f := range failed {
		switch {
		case f == nil:
		case err == nil:
			err = fmt.Errorf("%w: %w", ErrUnable, f)
		default:
			err = fmt.Errorf("%w; %w", err, f)
		}
	}
	return hadoop, err
}

// AwaitAnswers asks all daemons of the cluster for their version, again and
// again, until all of them answer. It does so for at most the time limit.
func (c *Clients) AwaitAnswers(ctx context.Context, limit time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	_ = poll.Until(waiting, time.Second, func() (bool, error) {
		_, last = c.Answers(ctx)
		return last == nil, nil
	})
	return last
}

// FailoverLimit is how long [Clients.Outlast] waits for another master.
const FailoverLimit = 2 * time.Minute

// Outlast calls ask, which asks the cluster's daemons, and calls it again while one of
// two masters is a standby and none is active: the standby may be about to take over.
// It calls waiting once, if ask fails so. It does this for at most FailoverLimit.
func (c *Clients) Outlast(ctx context.Context, waiting func(text string), ask func() error) error {
	giveUp := time.Now().Add(FailoverLimit)
	for told := false; ; told = true {
		err := ask()
		what := c.failsOver(err)
		if what == "" || time.Now().After(giveUp) {
			return err
		}
		if !told {
			waiting(fmt.Sprintf("waiting for an active %s, at most %v", what, FailoverLimit))
		}
		if stop := poll.Wait(ctx, time.Second); stop != nil {
			return errors.Join(stop, err)
		}
	}
}

// failsOver returns which daemon another one has to take over from, by the error of a
// call; "" if that is not the reason. Where no daemon answers as a standby, the
// addresses may be wrong, and waiting does not help.
func (c *Clients) failsOver(err error) string {
	switch {
	case errors.Is(err, yarnclient.ErrStandby) && len(c.Config.ResourceManagers) > 1:
		return "ResourceManager"
	case errors.Is(err, hdfs.ErrUnavailable) && len(c.Config.NameNodes) > 1:
		return "NameNode"
	}
	return ""
}

// ErrUnable means that a daemon of the cluster cannot be used: it does not
// answer, is not able to work, or is not the daemon expected at its address.
var ErrUnable = errors.New("the cluster cannot be used")

// Unable reports whether an error means that the cluster does not answer or is
// not able to work. Other errors are due to the request itself.
func Unable(err error) bool {
	if errors.Is(err, context.Canceled) { // the user cancelled the call, so the cluster is not at fault
		return false
	}
	for _, kind := range []error{
		ErrUnable, hdfs.ErrUnreachable, hdfs.ErrUnavailable, hdfs.ErrSecure, hdfs.ErrKerberos,
		yarnclient.ErrUnreachable, yarnclient.ErrUnauthorized, yarnclient.ErrStandby,
		yarnclient.ErrUnavailable, yarnclient.ErrNotRest, yarnclient.ErrBadAnswer,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	var refused *yarnclient.RemoteError
	return errors.As(err, &refused) && refused.Status >= 500
}

// Close closes the connections of all clients.
func (c *Clients) Close() error {
	for _, a := range c.Agents {
		if a.Err == nil {
			a.Close()
		}
	}
	c.RM.Close()
	c.History.Close()
	var err error
	if c.HDFS != nil {
		err = c.HDFS.Close()
	}
	if c.identity != nil {
		c.identity.Close()
	}
	return err
}

// DropCaches empties the page cache of every node that has an agent, so that
// the next reads come from disk. It asks all agents at once. It fails if no agent
// does it, or if one does not allow it. If others fail, it returns what is to be
// said of them.
func (c *Clients) DropCaches(ctx context.Context) (warnings []string, err error) {
	if len(c.Agents) == 0 {
		return nil, errors.New("drop page caches: the cluster file names no agent; cold reads need one a node, started with --allow-drop-caches")
	}
	errs := make([]error, len(c.Agents))
	var asked sync.WaitGroup
	for i, a := range c.Agents {
		asked.Go(func() {
			if _, err := a.Client.DropCaches(ctx); err != nil {
				errs[i] = fmt.Errorf("drop page cache of %s: %w", a.Node, err)
			}
		})
	}
	asked.Wait()
	var refused error
	for _, err := range errs {
		if errors.Is(err, agent.ErrForbidden) || errors.Is(err, agent.ErrUnauthorised) {
			refused = errors.Join(refused, err)
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("%v; reads of this trial from that node may come from memory", err))
		}
	}
	switch {
	case ctx.Err() != nil || len(warnings) == len(c.Agents):
		return nil, errors.Join(errs...)
	case refused != nil:
		return nil, refused
	}
	return warnings, nil
}
