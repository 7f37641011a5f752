package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"heddle/collectors/node"
)

// Errors of a Client that callers distinguish with errors.Is.
var (
	// ErrUnreachable means that nothing answered at the agent's address, or
	// something that is not an agent.
	ErrUnreachable = errors.New("agent not reachable")
	// ErrUnauthorised means that the agent refused the client's token, since the
	// agent was started with another token.
	ErrUnauthorised = errors.New("token refused")
	// ErrForbidden means that the agent was started without the option that
	// allows the request, such as AllowDropCaches.
	ErrForbidden = errors.New("not allowed by the agent")
	// ErrTLS means that only one of client and agent uses TLS, or that the
	// client does not accept the agent's certificate. Such an error also wraps
	// ErrUnreachable.
	ErrTLS = errors.New("TLS failed")
	// ErrBadAnswer means that what came back is longer than an agent's answer, is
	// not its JSON, or is another server's.
	ErrBadAnswer = errors.New("not an agent's answer")
)

// ClientOptions say how to reach one agent.
type ClientOptions struct {
	// URL is the agent's address, "http://host:9177" or "https://host:9177".
	URL string
	// TokenFile is the path of the file with the bearer token of the agent; see
	// ReadTokens. If the agent refuses the token, the client reads the file again
	// and sends the others that are in it.
	TokenFile string
	// CAFile is the path of a PEM file with which alone to verify an https agent's
	// certificate. Empty means this machine's own certificate authorities.
	CAFile string
	// DialContext opens connections, for host names that this machine cannot
	// resolve. nil means a plain net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout limits one call of Info or Samples. Zero means 10 s.
	Timeout time.Duration
}

// Client is a client of one agent. Many goroutines may use it at the same time.
//
// An answer has a time limit and a greatest length, and no error has characters
// that a terminal would obey. Figures are believed: the agent has the token.
type Client struct {
	url       string
	caFile    string
	timeout   time.Duration
	tokens    clientTokens
	transport *http.Transport
}

const (
	// maxAnswerBytes is the maximum length of an answer of an agent: of a page with
	// maxPageBytes of samples, and of one with a single sample of any machine.
	maxAnswerBytes = 1 << 20
	// maxAnswerHeader is the maximum length of the header of an answer.
	maxAnswerHeader = 16 << 10
	dropTimeout     = 5 * time.Minute
)

// NewClient reads the token and certificate files that o names and returns a
// client. It does not connect to the agent.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("agent URL %q: want http://host:%d or https://host:%d, without a user", redact(o.URL), DefaultPort, DefaultPort)
	}
	tokens, err := ReadTokens(o.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", u.Host, err)
	}
	transport := &http.Transport{
		DialContext:         o.DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout:     time.Minute,
		MaxConnsPerHost:     4,
		// Compressed answers could be a thousand times as long as what is received.
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswerHeader,
		// no HTTP proxy is used: agents are on the cluster's network, and a
		// proxy could read the token
	}
	if o.DialContext == nil {
		transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("agent %s: read CA: %w", u.Host, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("agent %s: CA file %s: no PEM certificate in it", u.Host, o.CAFile)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	c := &Client{
		url:       strings.TrimRight(o.URL, "/"),
		caFile:    o.CAFile,
		tokens:    clientTokens{file: o.TokenFile, now: tokens[0], known: tokens},
		timeout:   o.Timeout,
		transport: transport,
	}
	if c.timeout == 0 {
		c.timeout = 10 * time.Second
	}
	return c, nil
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Info returns what the agent says about itself and its node.
func (c *Client) Info(ctx context.Context) (info Info, err error) {
	err = c.do(ctx, c.timeout, "info", http.MethodGet, "/info", &info)
	return info, err
}

// Samples returns a page of the agent's samples after a cursor: FromOldest,
// FromNow, or the field Next of the page before. If the field More of the
// returned page is true, the agent already has samples after that page. A
// Follower asks for samples again and again.
func (c *Client) Samples(ctx context.Context, after Cursor) (page Page, err error) {
	query := url.Values{"since": {string(after)}}
	err = c.do(ctx, c.timeout, "samples", http.MethodGet, "/samples?"+query.Encode(), &page)
	return page, err
}

// DropCaches makes the agent empty the node's page cache. This can take
// minutes if much must be written to disk first. If the agent is busy with
// another request to drop the page cache, the client waits and asks again.
func (c *Client) DropCaches(ctx context.Context) (dropped node.Dropped, err error) {
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	for {
		err := c.do(ctx, dropTimeout, "drop caches", http.MethodPost, "/drop-caches", &dropped)
		var busy *busyError
		if !errors.As(err, &busy) {
			return dropped, err
		}
		select {
		case <-time.After(busy.wait):
		case <-ctx.Done():
			return dropped, errors.Join(err, context.Cause(ctx))
		}
	}
}

// busyError means that the agent is busy dropping the page cache. It says
// after which time the client shall ask again.
type busyError struct {
	wait time.Duration
	text string
}

func (e *busyError) Error() string { return e.text }

// ClockOffset is how far a node's clock is ahead of this machine's clock. The true offset is at most UncertaintyNs away from OffsetNs,
// unless this machine's clock was set during the measurement.
type ClockOffset struct {
	OffsetNs      int64 `json:"offsetNs"`
	UncertaintyNs int64 `json:"uncertaintyNs"`
}

// clockTries is how many times the node's clock is read to find its offset.
const clockTries = 5

// ClockOffset compares the node's clock with this machine's.
func (c *Client) ClockOffset(ctx context.Context) (ClockOffset, error) {
	clock, err := c.readClock(ctx)
	return clock.ClockOffset, err
}

// do sends one request to the agent and decodes the answer, which is JSON. It does
// not repeat a failed request, since callers ask at regular intervals anyway.
func (c *Client) do(ctx context.Context, timeout time.Duration, what, method, target string, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no whole answer within %v", timeout))
	defer cancel()
	r, err := c.authorised(ctx, method, target)
	if err == nil {
		err = c.check(r)
		if err == nil {
			err = decode(r.body, answer)
		}
		return c.failed(what, err)
	}
	if errors.Is(err, ErrBadAnswer) {
		return c.failed(what, err)
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return c.failed(what, cause)
	}
	kind, next := ErrUnreachable, "start `heddle agent` there, listening on that address (--listen, or --tls-cert and --tls-key)"
	if hint := c.tlsHint(err); hint != "" {
		kind, next = errUnreachableTLS, hint
	} else if cause != nil {
		err, next = cause, "see on the node whether `heddle agent` runs, and whether the network or the node is overloaded"
	}
	return c.failed(what, fmt.Errorf("%w: %s; %s", kind, printable(err.Error()), next))
}

func (c *Client) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("agent %s: %s: %w", c.url, what, err)
}

// authorised sends a request with the token that the agent accepted last. If the
// agent refuses it, authorised sends the request with the other tokens.
func (c *Client) authorised(ctx context.Context, method, target string) (reply, error) {
	token := c.tokens.current()
	for tried := []string{}; ; {
		r, err := c.send(ctx, method, target, token)
		if err != nil || r.status != http.StatusUnauthorized {
			return r, err
		}
		tried = append(tried, token)
		if token = c.tokens.other(tried); token == "" {
			return r, nil
		}
	}
}

func (c *Client) send(ctx context.Context, method, target, token string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+target, nil)
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	// The transport is used without an http.Client: it follows no redirect, so the
	// token is sent to no other server, and it keeps no cookie.
	resp, err := c.transport.RoundTrip(request)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK { // such an answer has no body that ends with ctx
		return reply{}, fmt.Errorf("%w: status %d", ErrBadAnswer, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if len(body) > maxAnswerBytes {
		return reply{}, fmt.Errorf("%w: it is longer than %d bytes", ErrBadAnswer, maxAnswerBytes)
	}
	if err != nil {
		return reply{}, fmt.Errorf("read the answer: %w", err)
	}
	return reply{resp.StatusCode, resp.Header, body}, nil
}

// check returns an error if a reply is not the agent's answer to the request.
func (c *Client) check(r reply) error {
	said, media := r.refusal(), r.media()
	switch {
	case r.status == http.StatusUnauthorized:
		return fmt.Errorf("%w: no token in %s is one of this agent's; copy the agent's token file", ErrUnauthorised, c.tokens.file)
	case r.status == http.StatusTooManyRequests && said != "":
		seconds, _ := strconv.Atoi(r.header.Get("Retry-After"))
		return &busyError{time.Duration(min(max(seconds, 1), 60)) * time.Second, said}
	case r.status == http.StatusForbidden && said != "":
		return fmt.Errorf("%w: %s", ErrForbidden, said)
	case r.status == http.StatusBadRequest && strings.Contains(string(r.body), "HTTP request to an HTTPS server"):
		return fmt.Errorf("%w: it serves TLS; %s", errUnreachableTLS,
			"write https:// in its url in the cluster file, and the CA that signed its certificate as caFile")
	case r.status != http.StatusOK && said != "":
		return fmt.Errorf("%s: %s", r.statusText(), said)
	case r.status != http.StatusOK || media != "application/json":
		return fmt.Errorf("%w: the answer is not an agent's: %s, %q; check host and port (agents use %d by default)",
			errNotAgent, r.statusText(), media, DefaultPort)
	}
	return nil
}

// errNotAgent is for answers of other servers.
var errNotAgent = fmt.Errorf("%w: %w", ErrUnreachable, ErrBadAnswer)

// errUnreachableTLS is for failed TLS connections. It wraps both
// ErrUnreachable and ErrTLS.
var errUnreachableTLS = fmt.Errorf("%w: %w", ErrUnreachable, ErrTLS)

// tlsHint returns advice on what to change if err comes from a common mistake
// with TLS settings, such as http instead of https. For other errors it returns
// "".
func (c *Client) tlsHint(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		checked := "this machine's own authorities; name it"
		if c.caFile != "" {
			checked = c.caFile + "; name the right one"
		}
		return "the CA that signed its certificate is not in " + checked + " as caFile in the cluster file"
	case errors.As(err, &host):
		return "its certificate is for other names; give the agent a certificate (--tls-cert) for the host that its url in the cluster file names"
	case errors.As(err, &invalid):
		if invalid.Reason != x509.Expired {
			return "its certificate cannot be used for a server; give the agent another one (--tls-cert), signed by the CA for server authentication"
		}
		return "its certificate is not valid now; give the agent another one (--tls-cert), or set the clocks right"
	case strings.Contains(err.Error(), "protocol version"):
		return "it knows no TLS version from 1.2 on; install the heddle of this machine on the node"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response"):
		return "it serves no TLS: write http:// in its url in the cluster file, or start it with --tls-cert and --tls-key"
	}
	return ""
}

// redact removes the password from a URL that is shown to the user.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return "(not a URL)"
}
