// Package yarnclient speaks the REST interfaces of Hadoop's YARN and
// MapReduce: ResourceManager, NodeManager, MapReduce ApplicationMaster and
// JobHistory server, versions 3.3 to 3.5. Results are plain Go values in
// Hadoop's own terms: times are Unix milliseconds and end in Ms, 0 for not
// yet; memory is in MiB and ends in MB, as Hadoop writes it; lists may be nil.
//
// Calls end with their context or after [Options].Timeout. Reads are tried
// again after a failure that may pass; writes never, except at another address
// when the first certainly did not carry them out. Errors say which call
// failed, why and what to do next; see [RequestError].
//
// It does not submit applications, keeps no state of the cluster, and has no
// opinion on what should run where. Package yarntest has a ResourceManager to
// test against.
package yarnclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-resty/resty/v2"
)

// Options say how to reach a daemon. The zero value of each field but
// Addresses is usable.
type Options struct {
	// Addresses are web addresses, "http://host:8088" or "host:8088"; several
	// for ResourceManagers in high availability.
	Addresses []string
	// User is sent as user.name, which is what simple authentication trusts.
	// Empty: whoever the cluster takes anonymous callers for.
	User string
	// Timeout bounds one HTTP exchange; 0 means 10 s.
	Timeout time.Duration
	// Retries is how often a failed read is tried again; 0 means 2, negative
	// none.
	Retries int
	// DialContext opens connections, for a caller that maps the cluster's node
	// names to addresses. Nil: the system's resolver. Not used with Transport.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is for https addresses; nil trusts the system's certificates. Not
	// used with Transport.
	TLS *tls.Config
	// Transport carries the exchanges instead of our own; Kerberos plugs in
	// here, and tests do.
	Transport http.RoundTripper
}

// maxBodyBytes bounds an answer, unpacked: the task list of 100,000 tasks is
// some 40 MB. It bounds the lists decoded from one too, which of real answers
// are smaller than the text: "{}" may become an element of hundreds of bytes.
// smallBytes bounds one that says what a daemon is, which is asked first: what is
// no daemon of Hadoop may send without end.
const (
	maxBodyBytes = 256 << 20
	smallBytes   = 1 << 20
)

// client is one daemon, or several that stand in for each other, and how to
// talk to it.
type client struct {
	service   string // "ResourceManager", for messages
	addresses []string
	current   *atomic.Pointer[string] // the address in use; nil in it: not found yet
	rest      *resty.Client
	user      string // user.name=..., escaped, or empty
	timeout   time.Duration
	retries   int
}

func newClient(service string, o Options) (*client, error) {
	addresses, err := parseAddresses(service, o.Addresses)
	if err != nil {
		return nil, err
	}
	c := &client{service: service, addresses: addresses, current: new(atomic.Pointer[string]), timeout: o.Timeout, retries: o.Retries}
	if len(addresses) == 1 {
		c.current.Store(&addresses[0])
	}
	if c.timeout <= 0 {
		c.timeout = 10 * time.Second
	}
	if c.retries == 0 {
		c.retries = 2
	}
	if o.User != "" {
		c.user = "user.name=" + url.QueryEscape(o.User)
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport(o, c.timeout)
	}
	// A client of our own: resty's has a cookie jar, and Hadoop's cookie wins
	// over a later user.name. Redirects are answers to judge, not to follow.
	c.rest = resty.NewWithClient(&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).SetResponseBodyLimit(maxBodyBytes).SetLogger(silent{})
	return c, nil
}

// newTransport keeps enough idle connections for parallel pollers. It uses no
// HTTP proxy: what is measured is the cluster.
func newTransport(o Options, timeout time.Duration) http.RoundTripper {
	dial := o.DialContext
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return &http.Transport{
		// Shorter than the exchange's bound, and than most callers' own, so that a
		// dead host is told from a slow answer: only then may a write go to another
		// address. The first packet that is lost is sent again after a second.
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, min(1500*time.Millisecond, timeout/2))
			defer cancel()
			return dial(ctx, network, address)
		},
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     60 * time.Second,
	}
}

func parseAddresses(service string, addresses []string) ([]string, error) {
	if len(addresses) == 0 {
		return nil, fmt.Errorf("yarn: no address of a %s; name one as http://host:port", service)
	}
	var out []string
	for _, a := range addresses {
		a = strings.TrimSpace(a)
		if !strings.Contains(a, "://") {
			a = "http://" + a
		}
		u, err := url.Parse(a)
		switch {
		case err != nil:
			var parse *url.Error // its text would repeat a password in the address
			if errors.As(err, &parse) {
				err = parse.Err
			}
			return nil, fmt.Errorf("yarn: address of the %s: %w; write http://host:port", service, err)
		case u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
			return nil, fmt.Errorf("yarn: address %q of the %s: write http://host:port", u.Redacted(), service)
		case u.User != nil || u.RawQuery != "":
			return nil, fmt.Errorf("yarn: address %q of the %s: user and query do not belong there; write http://host:port", u.Scheme+"://"+u.Host, service)
		}
		out = append(out, u.Scheme+"://"+u.Host+strings.TrimRight(u.EscapedPath(), "/"))
	}
	return out, nil
}

// Bodies we send and answers we ask for.
const (
	asJSON = "application/json"
	asXML  = "application/xml"
)

// request is one call, relative to an address.
type request struct {
	method   string // empty: GET
	path     string // escaped, with a leading slash
	query    url.Values
	accept   string // asJSON unless set
	body     string
	bodyType string // asJSON or asXML where there is a body
	limit    int    // bytes of the answer; maxBodyBytes unless set
	proxied  bool   // through the ResourceManager's proxy: a redirect is an answer
}

func (r *request) verb() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
}

// answer is what came back with a status below 400.
type answer struct {
	base     string // the address that answered
	status   int
	location string // of a redirect
	body     []byte
}

// get reads r and decodes the answer into v; see decode for path.
func (c *client) get(ctx context.Context, r request, v any, path ...string) error {
	a, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return c.understood(r, a, v, path...)
}

// do carries out r, a read again after a failure that may pass.
func (c *client) do(ctx context.Context, r request) (answer, error) {
	for attempt := 0; ; attempt++ {
		a, err := c.send(ctx, r)
		if err == nil || r.method != "" || attempt >= c.retries || !mayPass(err) {
			return a, err
		}
		if wait(ctx, backoff(attempt)) != nil {
			return a, err
		}
	}
}

// mayPass says whether a read that failed with err is worth another try.
func mayPass(err error) bool {
	var e *RequestError
	cutOff := errors.As(err, &e) && e.Status == http.StatusOK && errors.Is(err, io.ErrUnexpectedEOF)
	return cutOff || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrStandby)
}

// backoff doubles from 100 ms to 2 s, of which up to a half is chance.
func backoff(attempt int) time.Duration {
	d := min(100*time.Millisecond<<min(attempt, 10), 2*time.Second)
	return d - rand.N(d/2)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// exchange sends r to base once and returns what came back, redirects
// included; every other failure is a *RequestError.
func (c *client) exchange(ctx context.Context, base string, r request) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer cancel()
	req := c.rest.R().SetContext(ctx)
	accept := r.accept
	if accept == "" {
		accept = asJSON
	}
	req.Header["Accept"] = []string{accept}
	if r.limit > 0 {
		req.SetResponseBodyLimit(r.limit)
	}
	if r.bodyType != "" {
		req.Header["Content-Type"] = []string{r.bodyType}
		req.SetBody(r.body)
	}
	resp, err := req.Execute(r.verb(), c.url(base, r))
	if err != nil {
		return answer{}, c.failed(ctx, base, r, resp, err)
	}
	a := answer{base: base, status: resp.StatusCode(), location: resp.Header().Get("Location"), body: resp.Body()}
	if r.proxied && a.status >= 500 && isHTML(a.body) { // the proxy's own page, until it learns
		cause := fmt.Errorf("the ApplicationMaster does not answer: %s", firstWords(a.body))
		return a, c.errorOf(base, r, a.status, withKind(cause, ErrNoMaster), "try again later: it may be started anew")
	}
	if a.status >= 400 {
		next, cause := refusal(a.status, a.body, c.service)
		return a, c.errorOf(base, r, a.status, cause, next)
	}
	return a, nil
}

// failed explains an exchange that brought no whole answer.
func (c *client) failed(ctx context.Context, base string, r request, resp *resty.Response, err error) error {
	e := c.errorOf(base, r, 0, nil, "")
	var urlErr *url.Error // its text repeats the URL, user.name included
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	var op *net.OpError
	e.Unsent = errors.As(err, &op) && op.Op == "dial"
	if resp != nil {
		e.Status = resp.StatusCode()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx) // the caller's reason, or our timeout
	}
	switch text := err.Error(); {
	case errors.Is(err, context.Canceled):
		e.Err = err
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		e.Err, e.Next = withKind(err, ErrBadAnswer), fmt.Sprintf("the answer is longer than %d MiB: %s", cmp.Or(r.limit, maxBodyBytes)>>20, notRestAdvice(c.service))
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "HTTP response to HTTPS client"),
		strings.Contains(text, "does not look like a TLS"):
		e.Err, e.Next = withKind(err, ErrNotRest), notRestAdvice(c.service)
	case e.Status != 0 && ctx.Err() == nil:
		e.Err, e.Next = withKind(fmt.Errorf("answer cut off: %w", err), ErrBadAnswer), "try again; the daemon's log may tell why"
	default:
		e.Err, e.Next = withKind(err, ErrUnreachable), "is the "+c.service+" running, and the address right?"
		if r.method != "" && !e.Unsent {
			e.Next = "the change may have been made all the same: read back before trying again"
		}
	}
	return e
}

func (c *client) errorOf(base string, r request, status int, cause error, next string) *RequestError {
	shown := base + r.path
	if len(r.query) > 0 {
		shown += "?" + r.query.Encode()
	}
	return &RequestError{Method: r.verb(), URL: shown, Status: status, Err: cause, Next: next}
}

func (c *client) url(base string, r request) string {
	query := r.query.Encode()
	switch {
	case c.user == "":
	case query == "":
		query = c.user
	default:
		query += "&" + c.user
	}
	if query == "" {
		return base + r.path
	}
	return base + r.path + "?" + query
}

// understood decodes an answer; what it asked for is part of the error.
func (c *client) understood(r request, a answer, v any, path ...string) error {
	if isHTML(a.body) {
		cause := fmt.Errorf("not a REST answer but %q", firstWords(a.body))
		return c.errorOf(a.base, r, a.status, withKind(cause, ErrNotRest), notRestAdvice(c.service))
	}
	if err := decode(a.body, v, path...); err != nil {
		text := firstWords(a.body[:min(len(a.body), 200)])
		if strings.Contains(text, "no active RM") { // a standby says so with status 200 in the end
			return c.errorOf(a.base, r, a.status, withKind(errors.New(text), ErrStandby), "try again later")
		}
		cause := fmt.Errorf("answer not understood: %w (it begins %q)", err, text)
		return c.errorOf(a.base, r, a.status, withKind(cause, ErrBadAnswer), notRestAdvice(c.service))
	}
	return nil
}

// close drops idle connections.
func (c *client) close() { c.rest.GetClient().CloseIdleConnections() }

// silent drops resty's own log lines, which repeat our errors.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
