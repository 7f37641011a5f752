package kerberos

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/goidentity/v6"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
)

const testRealm = kdctest.Realm

const testConf = "[libdefaults]\n default_realm = " + testRealm + "\n dns_lookup_kdc = false\n[realms]\n " + testRealm +
	" = {\n  kdc = 127.0.0.1:1\n }\n"

// writeTickets writes a ticket cache of alice with tickets for services, as kinit
// writes them, and returns the services' keys. No KDC is asked.
func writeTickets(t *testing.T, path string, ends time.Time, services ...string) *keytab.Keytab {
	t.Helper()
	k := kdctest.Start(t, append([]string{"alice"}, services...)...)
	k.Tickets(t, path, "alice", ends, ends, services...)
	return k.Keys
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	errtest.None(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestTransport: the first request to an address has a ticket, the next ones have the
// cookie that it answered, and one whose cookie is refused is sent again whole. A
// refusal of what was asked for is not repeated.
func TestTransport(t *testing.T) {
	dir := t.TempDir()
	tickets := filepath.Join(dir, "tickets")
	keys := writeTickets(t, tickets, time.Now().Add(time.Hour), "HTTP/127.0.0.1")
	var seen []string
	cookie := "u=alice&p=alice&t=kerberos&e=1&s=x="
	ticket := spnego.SPNEGOKRB5Authenticate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, "ticket of "+goidentity.FromHTTPRequestContext(r).UserName())
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookie, Quoted: true})
		_, _ = io.Copy(w, r.Body)
	}), keys)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(cookieName); err == nil {
			if c.Value != cookie {
				seen = append(seen, "old cookie")
				w.Header().Set("WWW-Authenticate", "Negotiate")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			seen = append(seen, "cookie")
			if r.URL.Path == "/denied" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.Copy(w, r.Body)
			return
		}
		ticket.ServeHTTP(w, r)
	}))
	defer server.Close()
	identity := errtest.Must(New(Options{Conf: write(t, filepath.Join(dir, "krb5.conf"), testConf), TicketCache: tickets}))
	defer identity.Close()
	client := &http.Client{Transport: identity.Transport(http.DefaultTransport)}
	ask := func(path, body string, wantStatus int) {
		t.Helper()
		resp := errtest.Must(client.Post(server.URL+path, "text/plain", strings.NewReader(body)))
		defer resp.Body.Close()
		said, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != wantStatus || wantStatus == http.StatusOK && string(said) != body {
			t.Errorf("%s: status %d, answer %q; want %d and what was sent", path, resp.StatusCode, said, wantStatus)
		}
	}
	ask("/", "one", http.StatusOK)
	ask("/", "two", http.StatusOK)
	cookie = "u=alice&p=alice&t=kerberos&e=2&s=y="
	ask("/", "three", http.StatusOK)
	ask("/denied", "four", http.StatusUnauthorized)
	want := "ticket of alice, cookie, old cookie, ticket of alice, cookie"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("the server saw %s; want %s", got, want)
	}
}

// TestNoTicket: who cannot prove who they are learns which file is at fault and what
// to do next.
func TestNoTicket(t *testing.T) {
	dir := t.TempDir()
	conf := write(t, filepath.Join(dir, "krb5.conf"), testConf)
	expired, valid, garbage := filepath.Join(dir, "expired"), filepath.Join(dir, "valid"),
		write(t, filepath.Join(dir, "garbage"), "no tickets")
	writeTickets(t, expired, time.Now().Add(-time.Minute))
	writeTickets(t, valid, time.Now().Add(time.Hour))
	whole := errtest.Must(os.ReadFile(valid))
	half := write(t, filepath.Join(dir, "half"), string(whole[:len(whole)/2]))
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"nothing":      {Options{Conf: conf}, []string{"want a keytab or a ticketCache"}},
		"both":         {Options{Conf: conf, Keytab: garbage, TicketCache: valid}, []string{"not both"}},
		"whose keytab": {Options{Conf: conf, Keytab: garbage}, []string{"want a principal", "klist -k " + garbage}},
		"no cache": {
			Options{Conf: conf, TicketCache: filepath.Join(dir, "none"), Principal: "alice"},
			[]string{filepath.Join(dir, "none"), "kinit -c " + filepath.Join(dir, "none") + " alice"},
		},
		"expired":      {Options{Conf: conf, TicketCache: expired}, []string{expired, "expired", "kinit"}},
		"not a cache":  {Options{Conf: conf, TicketCache: garbage}, []string{"read ticket cache", garbage}},
		"cut off":      {Options{Conf: conf, TicketCache: half}, []string{"ticket cache", half}},
		"not a keytab": {Options{Conf: conf, Keytab: garbage, Principal: "alice"}, []string{"read keytab", garbage}},
		"no keytab":    {Options{Conf: conf, Keytab: filepath.Join(dir, "none"), Principal: "alice"}, []string{"read keytab", "no such file"}},
		"no conf":      {Options{Conf: filepath.Join(dir, "none"), TicketCache: valid}, []string{"read the configuration", "no such file"}},
		"another user": {
			Options{Conf: conf, TicketCache: valid, Principal: "bob"},
			[]string{"tickets of alice@" + testRealm + ", not of bob@" + testRealm, "kinit"},
		},
		"another realm":   {Options{Conf: conf, TicketCache: valid, Principal: "alice", Realm: "OTHER"}, []string{"alice@OTHER"}},
		"no such service": {Options{Conf: conf, TicketCache: valid}, []string{"get a ticket for HTTP/127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			identity, err := New(c.o)
			if err == nil {
				defer identity.Close()
				_, err = identity.Transport(nil).RoundTrip(&http.Request{
					Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "127.0.0.1:9"},
					Header: http.Header{},
				})
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v; want %q in it", err, want)
				}
			}
		})
	}
}

// TestTicketsAreReadAgain: after kinit has written new tickets, those are used.
func TestTicketsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	tickets := filepath.Join(dir, "tickets")
	writeTickets(t, tickets, time.Now().Add(-time.Minute))
	identity := errtest.Must(New(Options{Conf: write(t, filepath.Join(dir, "krb5.conf"), testConf), TicketCache: tickets}))
	defer identity.Close()
	if _, err := identity.Client(t.Context(), ""); err == nil {
		t.Fatal("an expired ticket is taken")
	}
	writeTickets(t, tickets, time.Now().Add(time.Hour))
	first := errtest.Must(identity.Client(t.Context(), ""))
	if second, err := identity.Client(t.Context(), ""); err != nil || second != first {
		t.Errorf("tickets that have not changed are read again (%v)", err)
	}
	errtest.None(t, os.Chtimes(tickets, time.Time{}, time.Now().Add(time.Second)))
	if second, err := identity.Client(t.Context(), ""); err != nil || second == first {
		t.Errorf("new tickets are not read (%v)", err)
	}
	errtest.None(t, os.Remove(tickets))
	if _, err := identity.Client(t.Context(), ""); err == nil || errors.Is(err, os.ErrPermission) {
		t.Errorf("after kdestroy: %v", err)
	}
}

// TestTicketsStayHome: a request that follows a redirect to another address has no ticket
// and no cookie there, and none goes from https to http. An ApplicationMaster behind the
// ResourceManager's proxy cannot give the user another cookie.
func TestTicketsStayHome(t *testing.T) {
	dir := t.TempDir()
	tickets := filepath.Join(dir, "tickets")
	writeTickets(t, tickets, time.Now().Add(time.Hour), "HTTP/rm", "HTTP/other")
	identity := errtest.Must(New(Options{Conf: write(t, filepath.Join(dir, "krb5.conf"), testConf), TicketCache: tickets}))
	defer identity.Close()
	for name, x := range map[string]struct{ from, to, want, says string }{
		"same address": {"http://rm:8088/a", "http://rm:8088/b", "rm:8088 proved, rm:8088 proved", ""},
		"another host": {"http://rm:8088/a", "http://other:8088/b", "rm:8088 proved, other:8088", ""},
		"another port": {"http://rm:8088/a", "http://rm:9999/b", "rm:8088 proved, rm:9999", ""},
		"https to http": {
			"https://rm:8090/a", "http://rm:8088/b", "rm:8090 proved",
			"https://rm:8090 redirects to http://rm:8088, which is not https",
		},
		"cookie": {"http://rm:8088/proxy/application_1_0001/a", "http://rm:8088/b", "rm:8088 proved, rm:8088 proved", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			client := &http.Client{Transport: identity.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
				saw := r.URL.Host
				if r.Header.Get("Authorization") != "" {
					saw += " proved"
				}
				if len(r.Cookies()) > 0 {
					saw += " with a cookie"
				}
				seen = append(seen, saw)
				resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
				if r.URL.String() == x.from {
					resp.StatusCode = http.StatusTemporaryRedirect
					resp.Header.Set("Location", x.to)
					if name == "cookie" {
						resp.Header.Set("Set-Cookie", cookieName+`="u=mallory"`)
					}
				}
				return resp, nil
			}))}
			resp, err := client.Get(x.from)
			if err == nil {
				resp.Body.Close()
			}
			if (err != nil) != (x.says != "") || err != nil && !strings.Contains(err.Error(), x.says) {
				t.Errorf("error %v; want %q", err, x.says)
			}
			if got := strings.Join(seen, ", "); got != x.want {
				t.Errorf("seen %s; want %s", got, x.want)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
