package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

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
)

// ClientOptions say how to reach one agent.
type ClientOptions struct {
	// URL is the agent's address, "http://host:9177" or "https://host:9177".
	URL string
	// TokenFile is the path of the file with the bearer token of the agent; see
	// ReadToken.
	TokenFile string
	// CAFile is the path of a PEM file with which to verify an https agent's
	// certificate. Empty means this machine's own certificate authorities.
	CAFile string
	// DialContext opens connections, for host names that this machine cannot
	// resolve. nil means a plain net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout limits one call of Info or Samples. Zero means 10 s.
	Timeout time.Duration
}

// Client is a client of one agent. Many goroutines may use it at the same time.
type Client struct {
	url       string
	caFile    string
	tokenFile string
	timeout   time.Duration
	rest      *resty.Client
	transport *http.Transport
}

const (
	maxAnswerBytes = 64 << 20
	dropTimeout    = 5 * time.Minute
)

// NewClient reads the token and certificate files that o names and returns a
// client. It does not connect to the agent.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("agent URL %q: want http://host:%d or https://host:%d, without a user", redact(o.URL), DefaultPort, DefaultPort)
	}
	token, err := ReadToken(o.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", u.Host, err)
	}
	transport := &http.Transport{
		DialContext:         o.DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout:     time.Minute,
		// no HTTP proxy is used: agents are on the cluster's network, and a
		// proxy could read the token
	}
	if o.DialContext == nil {
		transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("agent %s: read CA: %w", u.Host, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("agent %s: CA file %s: no PEM certificate in it", u.Host, o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c := &Client{
		url:       strings.TrimRight(o.URL, "/"),
		caFile:    o.CAFile,
		tokenFile: o.TokenFile,
		timeout:   o.Timeout,
		transport: transport,
	}
	if c.timeout == 0 {
		c.timeout = 10 * time.Second
	}
	c.rest = resty.New().
		SetTransport(transport).
		SetBaseURL(c.url).
		SetAuthToken(token).
		SetDisableWarn(true). // resty shall not warn of a token that is sent without TLS, since the agent logs such a warning
		SetLogger(noLog{}).
		SetResponseBodyLimit(maxAnswerBytes).
		// Redirects are not followed, since a redirected request would send the
		// token to another server.
		SetRedirectPolicy(resty.RedirectPolicyFunc(func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}))
	return c, nil
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Info returns what the agent says about itself and its node.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	return info, c.do(ctx, c.timeout, "info", http.MethodGet, "/info", nil, &info)
}

// Samples returns a page of the agent's samples after a cursor: FromOldest,
// FromNow, or the field Next of the page before. If the field More of the
// returned page is true, the agent already has samples after that page.
func (c *Client) Samples(ctx context.Context, after Cursor) (Page, error) {
	var page Page
	query := url.Values{"since": {string(after)}}
	return page, c.do(ctx, c.timeout, "samples", http.MethodGet, "/samples", query, &page)
}

// DropCaches makes the agent empty the node's page cache. This can take
// minutes if much must be written to disk first. If the agent is busy with
// another request to drop the page cache, the client waits and asks again.
func (c *Client) DropCaches(ctx context.Context) (node.Dropped, error) {
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	for {
		var dropped node.Dropped
		err := c.do(ctx, dropTimeout, "drop caches", http.MethodPost, "/drop-caches", nil, &dropped)
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

// ClockOffset is how far a node's clock is ahead of this machine's clock. The
// true offset is at most UncertaintyNs away from OffsetNs, unless this
// machine's clock was set during the measurement.
type ClockOffset struct {
	OffsetNs      int64 `json:"offsetNs"`
	UncertaintyNs int64 `json:"uncertaintyNs"`
}

// clockTries is how many times ClockOffset asks for the node's time. The answer
// that came fastest gives the most exact offset, and only that one is used.
const clockTries = 5

// ClockOffset compares the node's clock with this machine's: the time in the
// agent's answer with the time halfway between request and answer.
func (c *Client) ClockOffset(ctx context.Context) (ClockOffset, error) {
	var best ClockOffset
	for try := range clockTries {
		sent := time.Now()
		info, err := c.Info(ctx)
		if err != nil {
			return ClockOffset{}, err
		}
		took := time.Since(sent)
		if half := took.Nanoseconds() / 2; try == 0 || half < best.UncertaintyNs {
			best = ClockOffset{info.NowWallNs - sent.UnixNano() - half, half}
		}
	}
	return best, nil
}

// do sends one request to the agent and decodes the JSON answer into result. It
// does not repeat a failed request, since callers ask at regular intervals
// anyway.
func (c *Client) do(ctx context.Context, timeout time.Duration, what, method, path string, query url.Values, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.rest.R().SetContext(ctx).SetQueryParamsFromValues(query).Execute(method, path)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
			return fmt.Errorf("agent %s: %s: %w", c.url, what, cause)
		}
		kind, next := ErrUnreachable, "start `heddle agent` there, listening on that address (--listen, or --tls-cert and --tls-key)"
		if hint := c.tlsHint(err); hint != "" {
			kind, next = errUnreachableTLS, hint
		}
		return fmt.Errorf("agent %s: %s: %w: %w; %s", c.url, what, kind, err, next)
	}
	if err := c.check(resp); err != nil {
		return fmt.Errorf("agent %s: %s: %w", c.url, what, err)
	}
	if err := json.Unmarshal(resp.Body(), result); err != nil {
		return fmt.Errorf("agent %s: %s: read the answer: %w", c.url, what, err)
	}
	return nil
}

func (c *Client) check(resp *resty.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header().Get("Content-Type"))
	var said refusal
	_ = json.Unmarshal(resp.Body(), &said)
	switch status := resp.StatusCode(); {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: the token in %s is not this agent's; copy the agent's token file", ErrUnauthorised, c.tokenFile)
	case status == http.StatusTooManyRequests && said.Error != "":
		seconds, _ := strconv.Atoi(resp.Header().Get("Retry-After"))
		return &busyError{time.Duration(min(max(seconds, 1), 60)) * time.Second, said.Error}
	case status == http.StatusForbidden && said.Error != "":
		return fmt.Errorf("%w: %s", ErrForbidden, said.Error)
	case said.Error != "":
		return fmt.Errorf("%s: %s", resp.Status(), said.Error)
	case status == http.StatusBadRequest && strings.Contains(resp.String(), "HTTP request to an HTTPS server"):
		return fmt.Errorf("%w: it serves TLS; %s", errUnreachableTLS,
			"write https:// in its url in the cluster file, and the CA that signed its certificate as caFile")
	case status != http.StatusOK || media != "application/json":
		return fmt.Errorf("%w: the answer is not an agent's: %s, %q; check host and port (agents use %d by default)",
			ErrUnreachable, resp.Status(), media, DefaultPort)
	}
	return nil
}

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
		return "its certificate is not valid now; give the agent another one (--tls-cert), or set the clocks right"
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

// noLog is a logger for resty that drops all messages, since the caller gets
// every error anyway.
type noLog struct{}

func (noLog) Errorf(string, ...any) {}
func (noLog) Warnf(string, ...any)  {}
func (noLog) Debugf(string, ...any) {}
