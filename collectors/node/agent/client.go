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

// What a Client's errors wrap, for callers that branch.
var (
	// ErrUnreachable: no answer came, or none that an agent gives.
	ErrUnreachable = errors.New("agent not reachable")
	// ErrUnauthorised: the agent has another token.
	ErrUnauthorised = errors.New("token refused")
	// ErrForbidden: the agent was not started with what this needs.
	ErrForbidden = errors.New("not allowed by the agent")
	// ErrTLS comes with ErrUnreachable: one side speaks TLS and the other does
	// not, or the agent's certificate is not accepted.
	ErrTLS = errors.New("TLS does not fit")
)

// ClientOptions say how to reach one agent.
type ClientOptions struct {
	// URL is "http://host:9177", or https.
	URL string
	// TokenFile holds the bearer token, see ReadToken.
	TokenFile string
	// CAFile is a PEM file that an https agent's certificate is checked
	// against; empty takes the machine's own authorities.
	CAFile string
	// DialContext opens connections, where addresses mean something other than
	// they do to this process; nil dials.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout bounds Info and Samples; zero is 10 s.
	Timeout time.Duration
}

// Client asks one agent. It is safe for concurrent use.
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

// NewClient reads the files that o names; it opens no connection.
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
		// No proxy: agents are on the cluster's own network, and the token is
		// for nobody else.
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
		SetDisableWarn(true). // about a token without TLS; the agent warns once
		SetLogger(noLog{}).
		SetResponseBodyLimit(maxAnswerBytes).
		// A redirect would carry the token elsewhere.
		SetRedirectPolicy(resty.RedirectPolicyFunc(func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}))
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Info asks what the node is.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	return info, c.do(ctx, c.timeout, "info", http.MethodGet, "/info", nil, &info)
}

// Samples asks for what came after a cursor: FromOldest, FromNow or the last
// page's Next. Ask again at once while a page has More.
func (c *Client) Samples(ctx context.Context, after Cursor) (Page, error) {
	var page Page
	query := url.Values{"since": {string(after)}}
	return page, c.do(ctx, c.timeout, "samples", http.MethodGet, "/samples", query, &page)
}

// DropCaches empties the node's page cache, which may take minutes when much
// is to be written out first. It asks again when the agent says to wait since
// caches are being dropped, or just were.
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

// busyError is an agent's answer to ask again after a while.
type busyError struct {
	wait time.Duration
	text string
}

func (e *busyError) Error() string { return e.text }

// ClockOffset is how far a node's clock is ahead of this machine's: the truth
// is within UncertaintyNs of OffsetNs, if this machine's clock did not step.
type ClockOffset struct {
	OffsetNs      int64 `json:"offsetNs"`
	UncertaintyNs int64 `json:"uncertaintyNs"`
}

// clockTries is how often ClockOffset asks; the quickest answer says most.
const clockTries = 5

// ClockOffset compares the node's clock with the middle of request and answer.
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

// do sends one request and reads its JSON answer into result. A request is
// sent once: who polls asks again anyway.
func (c *Client) do(ctx context.Context, timeout time.Duration, what, method, path string, query url.Values, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.rest.R().SetContext(ctx).SetQueryParamsFromValues(query).Execute(method, path)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, context.Canceled) {
			return fmt.Errorf("agent %s: %s: %w", c.url, what, cause)
		}
		kind, next := ErrUnreachable, "see that `heddle agent` runs there and listens on that address (--listen, or --tls-cert and --tls-key)"
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
		return fmt.Errorf("%w: %s does not hold this agent's token; copy the agent's token file", ErrUnauthorised, c.tokenFile)
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
		return fmt.Errorf("%w: something else answered there: %s, %q; check host and port (agents take %d)",
			ErrUnreachable, resp.Status(), media, DefaultPort)
	}
	return nil
}

// errUnreachableTLS is both.
var errUnreachableTLS = fmt.Errorf("%w: %w", ErrUnreachable, ErrTLS)

// tlsHint says what to change when err is a usual mistake with TLS, and is
// empty otherwise.
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
		return "its certificate is for other names; give the agent (--tls-cert) one for the host in its url in the cluster file"
	case errors.As(err, &invalid):
		return "give the agent (--tls-cert) a valid certificate; one that should be valid now shows a wrong clock"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response"):
		return "it serves no TLS: write http:// in its url in the cluster file, or start it with --tls-cert and --tls-key"
	}
	return ""
}

// redact takes a password out of a URL that is about to be shown.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return "(not a URL)"
}

// noLog keeps resty from writing to stderr: errors come back to the caller.
type noLog struct{}

func (noLog) Errorf(string, ...any) {}
func (noLog) Warnf(string, ...any)  {}
func (noLog) Debugf(string, ...any) {}
