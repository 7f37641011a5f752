package agent

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestClientErrors(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	write(t, other, "not-the-token-of-this-agent")
	agentURL, _ := serve(t, newAgent(t, Options{}))
	answer := func(status int, media, body string) string {
		return fake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	for _, c := range []struct {
		name, url, token string
		wrapped          error
		says             string
	}{
		{"nobody listens", "http://" + closedAddress(t), "", ErrUnreachable, "start `heddle agent` there"},
		{"other token", agentURL, other, ErrUnauthorised, "copy the agent's token file"},
		{"a web page", answer(200, "text/html", "<html>"), "", ErrUnreachable, "not an agent's"},
		{"a web page's 404", answer(404, "text/html", "<html>"), "", ErrUnreachable, "404 Not Found"},
		{"a redirect", answer(302, "text/html", ""), "", ErrUnreachable, "302 Found"},
		{"a proxy's 503", answer(503, "text/html", "busy"), "", ErrUnreachable, "503"},
		{"an agent's 500", answer(500, "application/json", `{"error":"disk on fire"}`), "", nil, "disk on fire"},
		{"a cut-off answer", answer(200, "application/json", `{"node":"a`), "", nil, "unexpected end"},
		{"TLS asked of a plain agent", "https" + strings.TrimPrefix(agentURL, "http"), "", ErrTLS, "write http://"},
	} {
		o := ClientOptions{URL: c.url, TokenFile: c.token}
		_, err := newClient(t, o).Info(t.Context())
		if err == nil || c.wrapped != nil && !errors.Is(err, c.wrapped) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), c.url) {
			t.Errorf("%s: error %v, want %v that says %q and the URL", c.name, err, c.wrapped, c.says)
		}
	}

	c := newClient(t, ClientOptions{URL: agentURL})
	if _, err := c.DropCaches(t.Context()); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "--allow-drop-caches") {
		t.Errorf("drop caches: %v", err)
	}
	if _, err := c.Samples(t.Context(), "gibberish"); !errors.Is(err, ErrBadCursor) {
		t.Errorf("bad cursor: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Info(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestNewClientErrors(t *testing.T) {
	token, notPEM := tokenFile(t), filepath.Join(t.TempDir(), "ca.pem")
	write(t, notPEM, "hello")
	for _, c := range []struct {
		opts ClientOptions
		says string
	}{
		{ClientOptions{URL: "worker1:9177", TokenFile: token}, "want http://host:9177"},
		{ClientOptions{URL: "http://", TokenFile: token}, "want http://host:9177"},
		{ClientOptions{URL: "http://u:" + testToken + "@h", TokenFile: token}, "without a user"},
		{ClientOptions{URL: "http://h:%zz" + testToken, TokenFile: token}, "want http://host:9177"},
		{ClientOptions{URL: "http://h"}, "no token file"},
		{ClientOptions{URL: "http://h", TokenFile: token, CAFile: "none.pem"}, "none.pem"},
		{ClientOptions{URL: "http://h", TokenFile: token, CAFile: notPEM}, "no PEM certificate"},
	} {
		_, err := NewClient(c.opts)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), testToken) {
			t.Errorf("%+v: error %v, want one that says %q and no token", c.opts, err, c.says)
		}
	}
}

// TestTLS: with the right CA all is well; what does not fit is named, with the
// URL and what to change.
func TestTLS(t *testing.T) {
	cert, key := makeCert(t, nil)
	otherCert, otherKey := makeCert(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 2)} })
	oldCert, oldKey := makeCert(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	secure, _ := serve(t, newAgent(t, Options{TLSCert: cert, TLSKey: key}))
	other, _ := serve(t, newAgent(t, Options{TLSCert: otherCert, TLSKey: otherKey}))
	old, _ := serve(t, newAgent(t, Options{TLSCert: oldCert, TLSKey: oldKey}))
	plain, _ := serve(t, newAgent(t, Options{}))
	if _, err := newClient(t, ClientOptions{URL: secure, CAFile: cert}).Info(t.Context()); err != nil {
		t.Errorf("with the CA: %v", err)
	}
	for _, c := range []struct{ name, url, ca, says string }{
		{"no CA named", secure, "", "name it as caFile in the cluster file"},
		{"another CA named", secure, otherCert, "not in " + otherCert + "; name the right one as caFile"},
		{"certificate of another host", other, otherCert, "its certificate is for other names"},
		{"certificate that ended", old, oldCert, "its certificate is not valid now"},
		{"HTTP asked of an agent with TLS", "http" + strings.TrimPrefix(secure, "https"), "", "write https:// in its url in the cluster file"},
		{"TLS asked of an agent without", "https" + strings.TrimPrefix(plain, "http"), cert, "start it with --tls-cert and --tls-key"},
	} {
		_, err := newClient(t, ClientOptions{URL: c.url, CAFile: c.ca}).Info(t.Context())
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.url) {
			t.Errorf("%s: error %v, want one that says %q and the URL", c.name, err, c.says)
		}
	}
}

// TestTokensStaySecret collects everything an agent and its client say.
func TestTokensStaySecret(t *testing.T) {
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a := newAgent(t, Options{Log: log, AllowDropCaches: true})
	url, stop := serve(t, a)
	c := newClient(t, ClientOptions{URL: url})
	down := newClient(t, ClientOptions{URL: "http://" + closedAddress(t)})
	echo := newClient(t, ClientOptions{URL: fake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+closedAddress(t)+"/?"+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusFound)
	})})
	for _, client := range []*Client{c, down, echo} {
		info, err := client.Info(t.Context())
		fmt.Fprintln(&said, info, err)
		page, err := client.Samples(t.Context(), "gibberish")
		fmt.Fprintln(&said, page, err)
	}
	for _, path := range []string{"/info", "/metrics", "/samples", "/nothing"} {
		fmt.Fprintln(&said, ask(t, a.Handler(), "GET "+path).Body)
	}
	c.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(said.String(), testToken) {
		t.Errorf("the token is in:\n%s", &said)
	}
	if !strings.Contains(said.String(), "agent ready") {
		t.Errorf("nothing was collected:\n%s", &said)
	}
}

func TestClockOffset(t *testing.T) {
	const ahead = 90 * time.Minute
	c := newClient(t, ClientOptions{URL: fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(Info{NowWallNs: time.Now().Add(ahead).UnixNano()})
	})})
	got, err := c.ClockOffset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if off := got.OffsetNs - ahead.Nanoseconds(); off < -got.UncertaintyNs || off > got.UncertaintyNs {
		t.Errorf("offset %v ± %v, want %v", time.Duration(got.OffsetNs), time.Duration(got.UncertaintyNs), ahead)
	}
}

// TestDialContext reaches an agent by a name that only the dialer knows.
func TestDialContext(t *testing.T) {
	url, _ := serve(t, newAgent(t, Options{Node: "worker1"}))
	c := newClient(t, ClientOptions{
		URL: "http://worker1.lab:9177",
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "worker1.lab:9177" {
				return nil, fmt.Errorf("asked for %s", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(url, "http://"))
		},
	})
	if info, err := c.Info(t.Context()); err != nil || info.Node != "worker1" {
		t.Errorf("%+v, %v", info, err)
	}
}

// newClient fills in the right token.
func newClient(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	if o.TokenFile == "" {
		o.TokenFile = tokenFile(t)
	}
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func fake(t *testing.T, h http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// closedAddress is one where nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// makeCert writes a certificate for 127.0.0.1 that signs itself, with what
// change makes other.
func makeCert(t *testing.T, change func(*x509.Certificate)) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	return certFile, keyFile
}
