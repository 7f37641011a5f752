package kerberos

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/jcmturner/gokrb5/v8/spnego"
)

// Transport returns a RoundTripper that proves to each web address who the user is, by
// SPNEGO. Hadoop's daemons answer with a cookie, which later requests have instead of a
// ticket, until the daemon does not take it any more. A request that follows a redirect to
// another address has neither.
func (i *Identity) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{identity: i, next: next, cookies: map[string]string{}}
}

type transport struct {
	identity *Identity
	next     http.RoundTripper

	mu      sync.Mutex
	cookies map[string]string // by scheme and address
}

// cookieName is the name of the cookie by which Hadoop knows a user again.
const cookieName = "hadoop.auth"

// maxRefusalBytes is how much of a refusal is read, so that its connection serves the
// next request.
const maxRefusalBytes = 64 << 10

// RoundTrip sends a request with the cookie of its address, or else with a ticket. If
// the cookie is refused, it sends the request again with a ticket.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	at := addressOf(req)
	first := req
	for first.Response != nil && first.Response.Request != nil { // req follows a redirect
		first = first.Response.Request
	}
	if from := addressOf(first); from != at {
		if first.URL.Scheme == "https" && req.URL.Scheme != "https" {
			return nil, failf("%s redirects to %s, which is not https; give the address of the daemon that is meant", from, at)
		}
		return t.next.RoundTrip(req)
	}
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	send := func(proof func(*http.Request) error) (*http.Response, error) {
		r := req.Clone(req.Context())
		if req.Body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if err := proof(r); err != nil {
			return nil, err
		}
		return t.next.RoundTrip(r)
	}
	if cookie := t.cookie(at); cookie != "" {
		resp, err := send(func(r *http.Request) error {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie, Quoted: true})
			return nil
		})
		if err != nil || !wantsTicket(resp) {
			return resp, err
		}
		_, _ = io.CopyN(io.Discard, resp.Body, maxRefusalBytes)
		resp.Body.Close()
	}
	resp, err := send(t.addTicket)
	if err == nil && !strings.HasPrefix(req.URL.Path, byMaster) {
		t.keepCookie(at, resp)
	}
	return resp, err
}

// byMaster begins the paths for which the ResourceManager's proxy passes on what an
// ApplicationMaster answers, with its cookies, so that they may be of another user.
const byMaster = "/proxy/"

func addressOf(req *http.Request) string { return req.URL.Scheme + "://" + req.URL.Host }

// addTicket adds a ticket for the daemon at its address to a request.
func (t *transport) addTicket(r *http.Request) error {
	service := "HTTP/" + strings.ToLower(r.URL.Hostname())
	c, err := t.identity.Client(r.Context(), service)
	if err != nil {
		return err
	}
	if err := spnego.SetSPNEGOHeader(c, r, service); err != nil {
		return failf("use the ticket for %s: %w", service, err)
	}
	return nil
}

// wantsTicket reports whether a daemon refuses a request that has no ticket. A 401
// without this header refuses what the user asks for.
func wantsTicket(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized && strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Negotiate")
}

func (t *transport) cookie(at string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cookies[at]
}

func (t *transport) keepCookie(at string, resp *http.Response) {
	for _, c := range resp.Cookies() {
		if c.Name == cookieName {
			t.mu.Lock()
			t.cookies[at] = c.Value
			t.mu.Unlock()
		}
	}
}
