package clients

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs/hdfstest"
	"heddle/harness/config"
	"heddle/harness/internal/golden"
	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
	"heddle/yarnclient"
)

// TestRefusals has what goes wrong with tickets, certificates and rights. The golden file
// has what a user reads then. Each message says what is wrong, where, and what to do next.
//
// What daemons answer was recorded on a secured lab.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	kdc := kdctest.Start(t, "alice", "bob", "HTTP/127.0.0.1", "nn/127.0.0.1")
	away := errtest.Must(net.Listen("tcp", "127.0.0.1:0"))
	away.Close()
	conf := func(name, realm, kdc string) string {
		return write(t, filepath.Join(dir, name),
			fmt.Sprintf("[libdefaults]\n default_realm = %s\n dns_lookup_kdc = false\n udp_preference_limit = 1\n[realms]\n %[1]s = {\n  kdc = %s\n }\n", realm, kdc), 0o600)
	}
	keytab := kdc.Keytab(t, "alice", "")
	data := errtest.Must(os.ReadFile(keytab))
	open := write(t, filepath.Join(dir, "open.keytab"), string(data), 0o644)
	tickets := func(name, user string, ends time.Time) string {
		path := filepath.Join(dir, name)
		kdc.Tickets(t, path, user, ends, ends)
		return path
	}
	soon := time.Now().Add(time.Hour)
	with := func(k config.Kerberos) func(*config.Cluster) {
		return func(c *config.Cluster) {
			c.Security, c.Kerberos = config.SecurityKerberos, &k
			if k.Conf == "" {
				k.Conf = kdc.Conf
			}
			k.NameNode = "nn/_HOST"
		}
	}
	alice := with(config.Kerberos{Principal: "alice", Keytab: keytab})
	info := func(ctx context.Context, c *Clients) error { _, err := c.RM.Info(ctx); return err }
	stat := func(ctx context.Context, c *Clients) error { _, err := c.HDFS.Stat(ctx, "/data"); return err }

	ca, issue := authority(t)
	otherCA, _ := authority(t)
	https := func(ends time.Time, hosts ...string) func(*config.Cluster) {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = &tls.Config{Certificates: []tls.Certificate{issue(ends, hosts...)}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return func(c *config.Cluster) {
			c.ResourceManagers, c.CA = []string{s.URL}, write(t, filepath.Join(dir, "ca.pem"), ca, 0o644)
		}
	}
	// says has a ResourceManager that takes any ticket, and refuses what is asked for.
	says := func(status int, body string) func(*config.Cluster) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", "Negotiate")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return func(c *config.Cluster) {
			alice(c)
			c.ResourceManagers = []string{s.URL}
		}
	}
	nameNode := func(m hdfstest.Misdeed) func(*config.Cluster) {
		nn := hdfstest.Start(t)
		nn.Misbehave(&m)
		return func(c *config.Cluster) { c.NameNodes = []string{nn.Address} }
	}

	var got strings.Builder
	for _, x := range []struct {
		name    string
		cluster func(*config.Cluster)
		ask     func(context.Context, *Clients) error
		refuse  int32 // what the KDC answers, if it refuses
	}{
		{"missing ticket cache", with(config.Kerberos{TicketCache: filepath.Join(dir, "none")}), info, 0},
		{"expired ticket", with(config.Kerberos{TicketCache: tickets("expired", "alice", time.Now().Add(-time.Minute))}), info, 0},
		{"tickets of another user", with(config.Kerberos{Principal: "alice", TicketCache: tickets("bob", "bob", soon)}), info, 0},
		{"tickets of another realm", with(config.Kerberos{
			Principal: "alice", Realm: "OTHER.REALM",
			TicketCache: tickets("alice", "alice", soon),
		}), info, 0},
		{"missing keytab", with(config.Kerberos{Principal: "alice", Keytab: filepath.Join(dir, "none.keytab")}), info, 0},
		{"keytab that all can read", with(config.Kerberos{Principal: "alice", Keytab: open}), info, 0},
		{"keytab of another user", with(config.Kerberos{Principal: "bob", Keytab: keytab}), info, 0},
		{"old keytab", with(config.Kerberos{Principal: "bob", Keytab: kdc.Keytab(t, "bob", "an old password")}), info, 0},
		{"unknown user", with(config.Kerberos{Principal: "carol", Keytab: kdc.Keytab(t, "carol", "")}), info, 0},
		{"realm without a KDC", with(config.Kerberos{Principal: "alice@OTHER.REALM", Keytab: keytab}), info, 0},
		{"KDC of another realm", with(config.Kerberos{
			Principal: "alice@OTHER.REALM", Keytab: keytab,
			Conf: conf("other.conf", "OTHER.REALM", kdc.Address),
		}), info, 0},
		{
			"KDC away", with(config.Kerberos{Principal: "alice", Keytab: keytab, Conf: conf("away.conf", kdctest.Realm, away.Addr().String())}),
			info, 0,
		},
		{"clock skew", alice, info, 37},
		{"locked user", alice, info, 18},
		{"host named otherwise than its principal", func(c *config.Cluster) {
			alice(c)
			c.ResourceManagers = []string{strings.Replace(c.ResourceManagers[0], "127.0.0.1", "localhost", 1)}
		}, info, 0},
		{"cluster file without Kerberos", nameNode(misdeed(t, "demands Kerberos")), stat, 0},
		{"wrong CA", func(c *config.Cluster) {
			https(soon, "127.0.0.1")(c)
			c.CA = write(t, filepath.Join(dir, "other.pem"), otherCA, 0o644)
		}, info, 0},
		{"wrong CA, ApplicationMaster", func(c *config.Cluster) {
			https(soon, "127.0.0.1")(c)
			c.CA = write(t, filepath.Join(dir, "other.pem"), otherCA, 0o644)
		}, func(ctx context.Context, c *Clients) error {
			_, err := c.RM.AM("application_1_0001").Job(ctx)
			return err
		}, 0},
		{"expired certificate", https(time.Now().Add(-time.Hour), "127.0.0.1"), info, 0},
		{"certificate for another host", https(soon, "other.example"), info, 0},
		{"no right on labels", says(labelsRefused.status, labelsRefused.body), func(ctx context.Context, c *Clients) error {
			return c.RM.AddLabels(ctx, true, "a")
		}, 0},
		{"no right on the scheduler's settings", says(confRefused.status, confRefused.body), func(ctx context.Context, c *Clients) error {
			return c.RM.SetSchedulerConf(ctx, yarnclient.SchedulerChange{})
		}, 0},
		{"no right on the queue", says(queueRefused.status, queueRefused.body), func(ctx context.Context, c *Clients) error {
			return c.RM.Submit(ctx, yarnclient.Submission{})
		}, 0},
		{"no right in HDFS", nameNode(hdfstest.Refuses("org.apache.hadoop.security.AccessControlException", permissionDenied)), stat, 0},
		{
			"no right to act for another", nameNode(hdfstest.Refuses("org.apache.hadoop.security.authorize.AuthorizationException", proxyRefused)),
			stat, 0,
		},
	} {
		kdc.Refuse.Store(x.refuse)
		cluster := &config.Cluster{
			Name: "blue", User: "alice", ResourceManagers: []string{"http://127.0.0.1:9"},
			HistoryServer: "http://127.0.0.1:9", NameNodes: []string{"127.0.0.1:9"},
		}
		x.cluster(cluster)
		c, err := To(cluster, Patience{Once: true, Call: time.Second, Request: 5 * time.Second})
		if err == nil {
			err = x.ask(t.Context(), c)
			c.Close()
		}
		if err == nil {
			t.Errorf("%s: not refused", x.name)
			continue
		}
		text := err.Error()
		for _, address := range append(append([]string{kdc.Address, away.Addr().String()}, cluster.ResourceManagers...), cluster.NameNodes...) {
			text = strings.ReplaceAll(text, address, "ADDRESS")
			if _, at, ok := strings.Cut(address, "://"); ok {
				text = strings.ReplaceAll(text, at, "ADDRESS")
			}
		}
		text = strings.ReplaceAll(strings.ReplaceAll(text, dir, "DIR"), filepath.Dir(kdc.Conf), "DIR")
		text = clock.ReplaceAllString(text, "TIME")
		fmt.Fprintf(&got, "# %s\n%s\n\n", x.name, text)
	}
	golden.Check(t, "testdata/refusals.golden", got.String())
}

var (
	labelsRefused = answer{
		http.StatusUnauthorized,
		`{"RemoteException":{"exception":"AuthorizationException","message":"User alice not authorized for post to .../add-node-labels ","javaClassName":"org.apache.hadoop.security.authorize.AuthorizationException"}}`,
	}
	confRefused = answer{
		http.StatusForbidden,
		`{"RemoteException":{"exception":"ForbiddenException","message":"java.lang.Exception: Only admins can carry out this operation.","javaClassName":"org.apache.hadoop.yarn.webapp.ForbiddenException"}}`,
	}
	queueRefused = answer{
		http.StatusBadRequest,
		`{"RemoteException":{"exception":"BadRequestException","message":"java.lang.Exception: org.apache.hadoop.security.AccessControlException: User alice does not have permission to submit application_1795690603618_0005 to queue root.replay","javaClassName":"org.apache.hadoop.yarn.webapp.BadRequestException"}}`,
	}
)

const (
	permissionDenied = `Permission denied: user=alice, access=EXECUTE, inode="/data":root:hadoop:drwx------`
	proxyRefused     = "User: alice@TEST.REALM is not allowed to impersonate bob"
)

type answer struct {
	status int
	body   string
}

var clock = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`)

func misdeed(t *testing.T, name string) hdfstest.Misdeed {
	t.Helper()
	for _, m := range hdfstest.Misdeeds() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no misdeed %q", name)
	return hdfstest.Misdeed{}
}

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	mustDo(t, os.WriteFile(path, []byte(text), mode))
	return path
}

// authority returns the certificate of a new authority, and what issues certificates.
func authority(t *testing.T) (ca string, issue func(ends time.Time, hosts ...string) tls.Certificate) {
	t.Helper()
	key := errtest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(48 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	make := func(c *x509.Certificate) []byte {
		data := errtest.Must(x509.CreateCertificate(rand.Reader, c, of, key.Public(), key))
		return data
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: make(of)})),
		func(ends time.Time, hosts ...string) tls.Certificate {
			c := &x509.Certificate{
				SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotBefore: ends.Add(-24 * time.Hour), NotAfter: ends,
				KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}
			for _, h := range hosts {
				if ip := net.ParseIP(h); ip != nil {
					c.IPAddresses = append(c.IPAddresses, ip)
				} else {
					c.DNSNames = append(c.DNSNames, h)
				}
			}
			return tls.Certificate{Certificate: [][]byte{make(c)}, PrivateKey: key}
		}
}

var mustDo = errtest.None
