// Package yarnclient is a client of the REST interfaces of Hadoop's YARN and
// MapReduce: ResourceManager, MapReduce ApplicationMaster and JobHistory server,
// and what all daemons answer alike, versions 3.3 to 3.5. Results are plain Go values with
// Hadoop's names. Fields that end in Ms are milliseconds: durations, or Unix
// times, where 0 means that the event has not happened yet. Fields that end in
// MB are memory in MiB, as in Hadoop. Lists may be nil.
//
// A call ends with its context or after [Options].Timeout. A call that only
// reads is repeated after a temporary failure. A call that changes something is
// sent again only to another ResourceManager, and only if the first certainly
// did not carry it out. Errors say which call failed, why, and what to do next;
// see [RequestError].
//
// The package makes none of the files that a submitted application needs, stores
// no state of the cluster and decides nothing. Package yarntest has a fake
// ResourceManager for tests.
package yarnclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-resty/resty/v2"
)

// Options say how to reach a Hadoop daemon. All fields but Addresses may be
// zero.
type Options struct {
	// Addresses are the daemon's web addresses, "http://host:8088" or
	// "host:8088". ResourceManagers in high availability have several.
	Addresses []string
	// User is the name of the user who makes the calls. Hadoop's simple
	// authentication trusts this name. Empty means the cluster's user for
	// anonymous calls.
	User string
	// Timeout limits one HTTP request together with its answer; 0 means 10 s.
	Timeout time.Duration
	// Retries is how many times a failed call is repeated, if it only reads. 0
	// means 2 times, a negative number means never.
	Retries int
	// DialContext opens connections, for callers that map node names to
	// addresses themselves. nil means a plain net.Dialer. DialContext is
	// ignored if Transport is set.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS says how https addresses are verified; nil means by the system's
	// authorities. It is ignored if Transport is set.
	TLS *tls.Config
	// Authenticate returns a RoundTripper that proves to the daemon who the user
	// is, and sends requests on to next. nil means that User is believed. An error
	// of it that has a method Unauthenticated says that the user has no proof.
	Authenticate func(next http.RoundTripper) http.RoundTripper
	// Transport replaces the client's HTTP transport, for tests.
	Transport http.RoundTripper
}

// maxBodyBytes limits the length of an uncompressed answer; a list of 100,000
// tasks takes some 40 MB. maxBodyBytes also limits the memory of the lists
// decoded from an answer, since an element written as "{}" may take hundreds
// of bytes in memory.
//
// smallBytes limits the length of answers in which a daemon describes itself.
// Such an answer is requested first, when the server at the address may not be
// a Hadoop daemon and may send bytes without end.
const (
	maxBodyBytes = 256 << 20
	smallBytes   = 1 << 20
)

// client is the HTTP client of one daemon, or of several ResourceManagers in
// high availability.
type client struct {
	service   string // name of the daemon in error messages, such as "ResourceManager"
	addresses []string
	current   *atomic.Pointer[string] // address of the daemon in use; the pointer holds nil if the address is not known yet
	rest      *resty.Client
	user      string // URL parameter user.name=..., escaped; empty if no user is set
	timeout   time.Duration
	retries   int
	proves    bool // whether requests prove who the user is
}

func newClient(service string, o Options) (*client, error) {
	addresses, err := parseAddresses(service, o.Addresses)
	if err != nil {
		return nil, err
	}
	c := &client{
		service: service, addresses: addresses, current: new(atomic.Pointer[string]),
		timeout: o.Timeout, retries: cmp.Or(o.Retries, 2), proves: o.Authenticate != nil,
	}
	if len(addresses) == 1 {
		c.current.Store(&addresses[0])
	}
	if c.timeout <= 0 {
		c.timeout = 10 * time.Second
	}
	if o.User != "" {
		c.user = "user.name=" + url.QueryEscape(o.User)
	}
	transport := o.Transport
	if transport == nil {
		transport = newTransport(o, c.timeout)
	}
	if o.Authenticate != nil {
		transport = o.Authenticate(transport)
	}
	// resty's default HTTP client cannot be used: it keeps cookies, and
	// Hadoop's cookie would override the user.name of later requests. Redirects
	// are returned, not followed.
	c.rest = resty.NewWithClient(&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}).SetResponseBodyLimit(maxBodyBytes).SetLogger(silent{})
	return c, nil
}

// newTransport returns an HTTP transport that keeps enough idle connections for
// many calls at the same time. It uses no HTTP proxy, which would distort
// measurements of the cluster.
func newTransport(o Options, timeout time.Duration) http.RoundTripper {
	dial := o.DialContext
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	connectLimit := 5 * time.Second
	if len(o.Addresses) > 1 {
		// Callers often allow 3 s for a call, so connecting must fail early enough
		// to try another address. TCP repeats a lost first packet after 1 s, so 1.5
		// s allow for one lost packet.
		connectLimit = 1500 * time.Millisecond
	}
	return &http.Transport{
		// The time limit for connecting is shorter than the limit for the whole
		// request, to tell a dead host from a slow answer. Only after a failed
		// connection may a call that changes something be sent to another
		// address.
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, min(connectLimit, timeout/2))
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
		return nil, fmt.Errorf("yarn: no address of the %s; want one such as http://host:port", service)
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
			// its text contains the address, perhaps with a password, so only the cause inside is shown
			if parse, ok := errors.AsType[*url.Error](err); ok {
				err = parse.Err
			}
			return nil, fmt.Errorf("yarn: address of the %s: %w; want http://host:port", service, err)
		case u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
			return nil, fmt.Errorf("yarn: address %q of the %s: want http://host:port", u.Redacted(), service)
		case u.User != nil || u.RawQuery != "":
			return nil, fmt.Errorf("yarn: address %q of the %s: want http://host:port without user and query", u.Scheme+"://"+u.Host, service)
		}
		out = append(out, u.Scheme+"://"+u.Host+strings.TrimRight(u.EscapedPath(), "/"))
	}
	return out, nil
}

// Content types of the bodies of requests and answers.
const (
	asJSON = "application/json"
	asXML  = "application/xml"
)

// request is an HTTP call to a daemon, without the daemon's address.
type request struct {
	method   string // HTTP method of the call; empty means GET
	path     string // escaped URL path of the call, which starts with a slash
	query    url.Values
	accept   string // content type that the client accepts; empty means asJSON
	body     string
	bodyType string   // content type of the request's body, asJSON or asXML; empty if there is no body
	limit    int      // longest answer that is accepted, in bytes; 0 means maxBodyBytes
	secrets  []string // texts in the body that no error may have, should the daemon send them back
	proxied  bool     // whether the call goes through the ResourceManager's proxy, whose redirects are not followed
}

func (r *request) verb() string { return cmp.Or(r.method, http.MethodGet) }

// answer is an HTTP answer with a status below 400.
type answer struct {
	base     string // address of the daemon that sent the answer
	status   int
	location string // URL to which the answer redirects; empty if the answer is no redirect
	date     string // time by the daemon's clock, as HTTP writes it; empty if the answer has none
	body     []byte
}

// get makes an HTTP call and decodes the answer. path is the list of
// JSON names that lead to the value in the answer; see decode.
func get[T any](ctx context.Context, c *client, r request, path ...string) (v T, err error) {
	a, err := c.do(ctx, r)
	if err == nil {
		err = c.understood(r, a, &v, path...)
	}
	return v, err
}

// do makes an HTTP call. A call that only reads is repeated after a temporary
// failure.
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

// exchange sends the request r once to the daemon at the address base and
// returns the answer, which may be a redirect. Any failure is a *RequestError.
func (c *client) exchange(ctx context.Context, base string, r request) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer cancel()
	req := c.rest.R().SetContext(ctx)
	req.Header["Accept"] = []string{cmp.Or(r.accept, asJSON)}
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
	a := answer{
		base: base, status: resp.StatusCode(), body: resp.Body(),
		location: resp.Header().Get("Location"), date: resp.Header().Get("Date"),
	}
	if a.status >= 300 {
		a.body = blotted(a.body, r.secrets)
	}
	// After an ApplicationMaster has ended, the ResourceManager's proxy sends its own error page
	// until it knows of the end. On a secured cluster it then asks the history server, whose
	// certificate it may not believe, and sends that error.
	if r.proxied && a.status >= 500 && (isHTML(a.body) || bytes.Contains(a.body, []byte(`"servlet":"proxy"`))) {
		cause := fmt.Errorf("the ApplicationMaster does not answer: %s", firstWords(a.body))
		return a, c.errorOf(base, r, a.status, withKind(cause, ErrNoMaster), "try again later: it may be starting again")
	}
	if a.status >= 400 {
		next, cause := refusal(a.status, a.body, a.location, c.service)
		return a, c.errorOf(base, r, a.status, cause, next)
	}
	return a, nil
}

// failed returns the error for an HTTP request that got no answer or an
// incomplete answer.
func (c *client) failed(ctx context.Context, base string, r request, resp *resty.Response, err error) error {
	e := c.errorOf(base, r, 0, nil, "")
	if urlErr, ok := errors.AsType[*url.Error](err); ok { // its text contains the URL with the user's name, so only the cause inside is shown
		err = urlErr.Err
	}
	var op *net.OpError
	e.Unsent = errors.As(err, &op) && op.Op == "dial"
	if resp != nil {
		e.Status = resp.StatusCode()
	}
	var proofless interface{ Unauthenticated() }
	unproven := errors.As(err, &proofless) // its text says what was waited for
	if ctx.Err() != nil && !unproven {
		err = context.Cause(ctx) // why the context ctx ended: the reason that the caller gave, or the client's time limit
	}
	var certificate *tls.CertificateVerificationError
	switch text := err.Error(); {
	case errors.Is(err, context.Canceled):
		e.Err = err
	case unproven:
		e.Err, e.Unsent = withKind(err, ErrUnauthorized), true
	case errors.As(err, &certificate):
		e.Err, e.Unsent = withKind(err, ErrUnreachable), true
		e.Next = certificateAdvice(certificate, base)
	case errors.Is(err, resty.ErrResponseBodyTooLarge):
		e.Err, e.Next = withKind(err, ErrBadAnswer), fmt.Sprintf("the answer is longer than %d MiB: %s",
			cmp.Or(r.limit, maxBodyBytes)>>20, notRestAdvice(c.service))
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "HTTP response to HTTPS client"),
		strings.Contains(text, "does not look like a TLS"):
		e.Err, e.Next = withKind(err, ErrNotRest), notRestAdvice(c.service)
	case e.Status != 0 && ctx.Err() == nil:
		e.Err, e.Next = withKind(fmt.Errorf("answer cut off: %w", err), ErrBadAnswer), "try again; the daemon's log may say why"
	default:
		e.Err, e.Next = withKind(err, ErrUnreachable), "is the "+c.service+" running, and the address right?"
		if r.method != "" && !e.Unsent {
			e.Next = "the change may have been made: check that before trying again"
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

// understood decodes a daemon's answer into v. If it fails, the error names
// the HTTP call that was answered.
func (c *client) understood(r request, a answer, v any, path ...string) error {
	if isHTML(a.body) {
		cause := fmt.Errorf("not a REST answer but %q", firstWords(a.body))
		return c.errorOf(a.base, r, a.status, withKind(cause, ErrNotRest), notRestAdvice(c.service))
	}
	if err := decode(a.body, v, path...); err != nil {
		text := firstWords(a.body[:min(len(a.body), 200)])
		if strings.Contains(text, "no active RM") { // a standby ResourceManager may send this text with status 200, as if the call had succeeded
			return c.errorOf(a.base, r, a.status, withKind(errors.New(text), ErrStandby), "try again later")
		}
		cause := fmt.Errorf("invalid answer: %w (it starts with %q)", err, text)
		return c.errorOf(a.base, r, a.status, withKind(cause, ErrBadAnswer), notRestAdvice(c.service))
	}
	return nil
}

// close closes the idle HTTP connections.
func (c *client) close() { c.rest.GetClient().CloseIdleConnections() }

// silent is a logger for resty that drops its log lines, as they repeat the
// errors that we return.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
