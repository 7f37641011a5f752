package kerberos_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/kerberos"
	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
)

var errEnough = errors.New("the user has waited enough")

// wantEnded checks that a call has returned because its context ended, and not because it
// has waited for long enough, and that its error says what it waited for.
func wantEnded(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, errEnough) {
		t.Errorf("error %v; want one that wraps %q", err, errEnough)
	}
	for _, want := range says {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q in it", err, want)
		}
	}
}

// TestHungKDC: no call waits for a KDC that does not answer once its context has ended,
// also if another call asks that KDC. The error names the KDC and what to check.
func TestHungKDC(t *testing.T) {
	for name, x := range map[string]struct {
		service string
		before  bool // whether the first ticket is there before the KDC hangs
	}{
		"login":          {"", false},
		"service ticket": {"nn/a", true},
	} {
		t.Run(name, func(t *testing.T) {
			kdc := kdctest.Start(t, "alice", "nn/a")
			who := errtest.Must(kerberos.New(kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: kdc.Keytab(t, "alice", "")}))
			defer who.Close()
			if x.before {
				errtest.Must(who.Client(t.Context(), ""))
			}
			asked := make(chan struct{}, 10)
			kdc.Hang.Store(&asked)
			ctx, end := context.WithCancelCause(t.Context())
			first, second := make(chan error), make(chan error)
			ask := func(got chan error) {
				_, err := who.Client(ctx, x.service)
				got <- err
			}
			go ask(first)
			<-asked
			go ask(second)
			end(errEnough)
			wantEnded(t, <-first, "KDC "+kdc.Address, "is its address right in "+kdc.Conf)
			wantEnded(t, <-second, "KDC "+kdc.Address, kdc.Conf)
			kdc.Hang.Store(nil)
			if _, err := who.Client(t.Context(), x.service); err != nil {
				t.Errorf("when the KDC answers again: %v", err)
			}
		})
	}
}

// TestHungUDP: a KDC that is asked by UDP and does not answer is not waited for after the
// context's end.
func TestHungUDP(t *testing.T) {
	kdc := kdctest.Start(t, "alice")
	asked := make(chan struct{}, 10)
	hung := listenUDP(t, "127.0.0.1:0")
	go func() {
		b := make([]byte, 64<<10)
		for {
			if _, _, err := hung.ReadFrom(b); err != nil {
				return
			}
			asked <- struct{}{}
		}
	}()
	who, err := kerberos.New(kerberos.Options{
		Conf: confOf(t, "kdc = "+hung.LocalAddr().String()), Principal: "alice",
		Keytab: kdc.Keytab(t, "alice", ""),
	})
	mustDo(t, err)
	defer who.Close()
	ctx, end := context.WithCancelCause(t.Context())
	go func() { <-asked; end(errEnough) }()
	_, err = who.Client(ctx, "")
	wantEnded(t, err, "KDC "+hung.LocalAddr().String())
}

// TestHungDNS: a name server that does not answer where the KDCs of a realm are is not
// waited for after the context's end. The error says what was looked up.
func TestHungDNS(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	asked := make(chan struct{}, 100)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	kdc := kdctest.Start(t, "alice")
	who, err := kerberos.New(kerberos.Options{Conf: confOf(t, ""), Principal: "alice", Keytab: kdc.Keytab(t, "alice", "")})
	mustDo(t, err)
	defer who.Close()
	ctx, end := context.WithCancelCause(t.Context())
	go func() { <-asked; end(errEnough) }()
	_, err = who.Client(ctx, "")
	wantEnded(t, err, "look up KDCs in DNS by _kerberos.", kdctest.Realm)
}

// confOf writes a Kerberos configuration with one line about the realm, or with none, so
// that DNS is asked.
func confOf(t *testing.T, line string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "krb5.conf")
	text := "[libdefaults]\n default_realm = " + kdctest.Realm + "\n dns_lookup_kdc = true\n"
	if line != "" {
		text += "[realms]\n " + kdctest.Realm + " = {\n  " + line + "\n }\n"
	}
	mustDo(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestHungRefusal: a daemon that refuses a cookie and never ends its answer is not waited
// for after the context's end.
func TestHungRefusal(t *testing.T) {
	kdc := kdctest.Start(t, "alice", "HTTP/127.0.0.1")
	who := errtest.Must(kerberos.New(kerberos.Options{Conf: kdc.Conf, Principal: "alice", Keytab: kdc.Keytab(t, "alice", "")}))
	defer who.Close()
	refused, done := make(chan struct{}, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			http.SetCookie(w, &http.Cookie{Name: "hadoop.auth", Value: "u=alice", Quoted: true})
			return
		}
		w.Header().Set("WWW-Authenticate", "Negotiate")
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusUnauthorized)
		_ = http.NewResponseController(w).Flush()
		refused <- struct{}{}
		<-done
	}))
	defer server.Close()
	defer close(done)
	through := who.Transport(http.DefaultTransport)
	ask := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		mustDo(t, err)
		resp, err := through.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	mustDo(t, ask(t.Context()))
	ctx, end := context.WithCancel(t.Context())
	go func() { <-refused; end() }()
	errtest.Is(t, ask(ctx), context.Canceled)
}
