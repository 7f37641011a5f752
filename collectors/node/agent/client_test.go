package agent

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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
		{"a web page's 404", answer(404, "text/html", "<html>"), "", ErrUnreachable, "404 Not Found"},
		{"a proxy's 503", answer(503, "text/html", "busy"), "", ErrUnreachable, "503"},
		{"an agent's 500", answer(500, "application/json", `{"error":"disk on fire"}`), "", nil, "disk on fire"},
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
	wantError(t, errOf(c.Samples(t.Context(), "gibberish")), "cursor \"gibberish\"")
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
	ca, otherCA := newCA(t, nil), newCA(t, nil)
	oldCA := newCA(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	self, selfKey := makeCert(t, nil)
	serveCert := func(ca *testCA, change func(*x509.Certificate)) string {
		cert, key := ca.sign(t, change)
		url, _ := serve(t, newAgent(t, Options{TLSCert: cert, TLSKey: key}))
		return url
	}
	secure := serveCert(ca, nil)
	alone, _ := serve(t, newAgent(t, Options{TLSCert: self, TLSKey: selfKey}))
	plain, _ := serve(t, newAgent(t, Options{}))
	named := serveCert(ca, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"worker1", "*.cluster.example"} })
	old := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	dialed := "" // the address that names lead to
	try := func(url, ca string) error {
		o := ClientOptions{URL: url, CAFile: ca}
		if dialed != "" {
			to := strings.TrimPrefix(dialed, "https://")
			o.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, to)
			}
		}
		_, err := newClient(t, o).Info(t.Context())
		return err
	}
	if err := errors.Join(try(secure, ca.file), try(alone, self)); err != nil {
		t.Errorf("with the CA: %v", err)
	}
	dialed = named
	if err := errors.Join(try("https://worker1:9177", ca.file), try("https://a.cluster.example:9177", ca.file)); err != nil {
		t.Errorf("with the CA, by name: %v", err)
	}
	const otherNames = "its certificate is for other names"
	for _, url := range []string{
		"https://worker2:9177", "https://worker1.example:9177", "https://a.b.cluster.example:9177",
		"https://127.0.0.1:9177",
	} {
		if err := try(url, ca.file); !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), otherNames) {
			t.Errorf("%s, which is not in the certificate: %v", url, err)
		}
	}
	dialed = ""
	for _, c := range []struct{ name, url, ca, says string }{
		{"no CA named", secure, "", "name it as caFile in the cluster file"},
		{"another CA named", secure, otherCA.file, "not in " + otherCA.file + "; name the right one as caFile"},
		{"another CA's certificate", serveCert(otherCA, nil), ca.file, "not in " + ca.file},
		{"a certificate that signs itself", alone, ca.file, "not in " + ca.file},
		{
			"certificate of another host", serveCert(ca, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 2)} }), ca.file,
			otherNames,
		},
		{"certificate with a common name only", serveCert(ca, func(c *x509.Certificate) {
			c.IPAddresses, c.Subject.CommonName = nil,
				"127.0.0.1"
		}), ca.file, otherNames},
		{"certificate that ended", serveCert(ca, old), ca.file, "its certificate is not valid now"},
		{
			"certificate of later", serveCert(ca, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), ca.file,
			"set the clocks right",
		},
		{"CA that ended", serveCert(oldCA, nil), oldCA.file, "its certificate is not valid now"},
		{
			"certificate for clients", serveCert(ca, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
			ca.file, "cannot be used for a server",
		},
		{"HTTP asked of an agent with TLS", "http" + strings.TrimPrefix(secure, "https"), "", "write https:// in its url in the cluster file"},
		{"TLS asked of an agent without", "https" + strings.TrimPrefix(plain, "http"), ca.file, "start it with --tls-cert and --tls-key"},
		{"TLS 1.1 only", oldTLS(t, ca), ca.file, "install the heddle of this machine on the node"},
	} {
		err := try(c.url, c.ca)
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), c.url) {
			t.Errorf("%s: error %v, want one that says %q and the URL", c.name, err, c.says)
		}
	}
	// An agent refuses what is older than TLS 1.2.
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}).
		DialContext(t.Context(), "tcp", strings.TrimPrefix(secure, "https://"))
	if err == nil {
		conn.Close()
		t.Error("an agent accepts TLS 1.1")
	}
}

// oldTLS serves TLS 1.1 and nothing newer.
func oldTLS(t *testing.T, ca *testCA) (url string) {
	t.Helper()
	certFile, keyFile := ca.sign(t, nil)
	cert := must(tls.LoadX509KeyPair(certFile, keyFile))
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// TestCertificateIsChanged: an agent serves a new certificate without being
// started again, and keeps the one it has when the new files are of no use.
func TestCertificateIsChanged(t *testing.T) {
	ca, other := newCA(t, nil), newCA(t, nil)
	cert, key := ca.sign(t, nil)
	a := newAgent(t, Options{TLSCert: cert, TLSKey: key})
	url, _ := serve(t, a)
	works := func(ca string) bool {
		_, err := newClient(t, ClientOptions{URL: url, CAFile: ca}).Info(t.Context())
		return err == nil
	}
	write(t, cert, "no certificate")
	a.Reread()
	if !works(ca.file) {
		t.Error("a broken file takes the place of a certificate")
	}
	newCert, newKey := other.sign(t, nil)
	for from, to := range map[string]string{newCert: cert, newKey: key} {
		mustDo(t, os.Rename(from, to))
	}
	a.Reread()
	if works(ca.file) || !works(other.file) {
		t.Errorf("after the change: the old CA works %v, the new one %v", works(ca.file), works(other.file))
	}
	mustDo(t, os.Chmod(key, 0o644))
	wantError(t, errOf(New(Options{TokenFile: tokenFile(t), TLSCert: cert, TLSKey: key})), "chmod 600")
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
	got := must(c.ClockOffset(t.Context()))
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
	c := must(NewClient(o))
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
	l := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

// testCA signs certificates.
type testCA struct {
	file string // its certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T, change func(*x509.Certificate)) *testCA {
	t.Helper()
	ca := &testCA{}
	template := template(change)
	template.IsCA, template.IPAddresses, template.Subject.CommonName = true, nil, "CA of "+t.Name()
	ca.file, _, ca.cert, ca.key = signed(t, template, nil)
	return ca
}

// sign writes a certificate for 127.0.0.1, with what change makes other.
func (ca *testCA) sign(t *testing.T, change func(*x509.Certificate)) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile, _, _ = signed(t, template(change), ca)
	return certFile, keyFile
}

// makeCert writes a certificate for 127.0.0.1 that signs itself.
func makeCert(t *testing.T, change func(*x509.Certificate)) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile, _, _ = signed(t, template(change), nil)
	return certFile, keyFile
}

func template(change func(*x509.Certificate)) *x509.Certificate {
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true,
	}
	if change != nil {
		change(template)
	}
	return template
}

// signed writes a certificate and its key. It is signed by the CA or, if that is
// nil, by itself.
func signed(t *testing.T, template *x509.Certificate, ca *testCA) (certFile, keyFile string, cert *x509.Certificate,
	key *ecdsa.PrivateKey,
) {
	t.Helper()
	key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	parent, by := template, key
	if ca != nil {
		parent, by = ca.cert, ca.key
	}
	der := must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by))
	cert = must(x509.ParseCertificate(der))
	keyDER := must(x509.MarshalPKCS8PrivateKey(key))
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	return certFile, keyFile, cert, key
}
