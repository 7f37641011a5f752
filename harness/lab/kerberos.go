package lab

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"heddle/harness/config"
	"heddle/harness/kerberos"
	"heddle/traces/printable"
)

// A secured lab has a Kerberos realm of its own: a key distribution center (KDC) runs
// on the master, and each daemon proves who it is with a key of its node's keytab.
// Web addresses of Hadoop serve HTTPS with a certificate of the lab's own authority:
// Hadoop lets a DataNode serve blocks from an unprivileged port only if its web address
// does. All of this is made anew at each start, so tickets end with the lab.
//
// The properties are in hadoop/secure.props. Who reads the keys:
//
//   - kdc/ has the keys of all principals, and belongs to root
//   - secrets/ has the keytabs and the certificate's key, and belongs to the lab's user
//   - user.keytab has the key of hadoopUser, and belongs to root

const (
	realm   = "HEDDLE.LAB"
	portKDC = 88
)

// kdcTools are the programs that a secured lab needs, by Debian package.
var kdcTools = map[string]string{
	"krb5kdc": "krb5-kdc", "kdb5_util": "krb5-kdc", "kadmin.local": "krb5-admin-server", "kinit": "krb5-user", "klist": "krb5-user",
}

// services returns the names of the Kerberos services on a node.
func services(n node) []string {
	if n.rack == 0 {
		return []string{"nn", "rm", "jhs", "nm", "HTTP"}
	}
	return []string{"dn", "nm", "HTTP"}
}

// nativeJar is a jar on Maven Central that has Hadoop's native library, which Hadoop's
// own jars lack. In a secured cluster tasks and NodeManagers open map outputs only with
// it: they compare the owner of the open file.
const nativeJar = "io.trino.hadoop:hadoop-apache:3.3.5-3"

//go:generate ../internal/mavenjars/pin.sh hadoop native.sha256 dependency:copy -Dartifact=io.trino.hadoop:hadoop-apache:3.3.5-3

// libraryFlags returns the JVM flags by which containers, NodeManagers and the history
// server find Hadoop's native library.
func (p *plan) libraryFlags() []string {
	if !p.Cfg.Kerberos {
		return nil
	}
	return []string{"-Djava.library.path=" + p.libraries()}
}

func (p *plan) libraries() string {
	if p.Cfg.HadoopHome != "" {
		return filepath.Join(p.Cfg.HadoopHome, "lib", "native")
	}
	return p.path("native")
}

// installLibrary takes Hadoop's native library from its jar. It is part of an unpacked
// distribution.
func (l *Lab) installLibrary(ctx context.Context, say func(Event)) error {
	const name = "libhadoop.so"
	if l.Cfg.HadoopHome != "" {
		_, err := os.Stat(filepath.Join(l.libraries(), name))
		return err
	}
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	r := l.Cfg.release()
	set, err := r.jars("native.sha256", []string{"dependency:copy", "-Dartifact=" + nativeJar})
	if err != nil {
		return err
	}
	jars := filepath.Join(r.folder(cache), "native")
	if err := set.Ensure(ctx, jars, func() { say(Event{What: "fetching Hadoop's native library with Maven"}) }); err != nil {
		return err
	}
	parts := strings.Split(nativeJar, ":")
	jar, err := zip.OpenReader(filepath.Join(jars, parts[1]+"-"+parts[2]+".jar"))
	if err != nil {
		return err
	}
	defer func() { _ = jar.Close() }() // ignore the error: it is only read
	arch := runtime.GOARCH
	if arch == "arm64" {
		arch = "aarch64"
	}
	library, err := fs.ReadFile(jar, "nativelib/Linux-"+arch+"/"+name)
	if err != nil {
		return fmt.Errorf("read Hadoop's native library from a jar: %w", err)
	}
	return errors.Join(os.MkdirAll(l.libraries(), 0o755), writeFile(filepath.Join(l.libraries(), name), library, 0o644))
}

// secure makes what a secured lab needs before its daemons start: the realm with its
// principals, their keytabs, and the certificates.
func (l *Lab) secure(ctx context.Context, say func(Event)) error {
	if !l.Cfg.Kerberos {
		return nil
	}
	if err := errors.Join(os.RemoveAll(l.path("kdc")), os.RemoveAll(l.path("secrets")), os.RemoveAll(l.path("tickets"))); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(l.path("kdc"), 0o700), os.Mkdir(l.path("secrets"), 0o700)); err != nil {
		return err
	}
	client := fmt.Sprintf(`[libdefaults]
	default_realm = %[1]s
	dns_lookup_realm = false
	dns_lookup_kdc = false
	dns_canonicalize_hostname = false
	rdns = false
	forwardable = true
	udp_preference_limit = 1
[realms]
	%[1]s = {
		kdc = %[2]s:%[3]d
	}
`, realm, l.master().ip, portKDC)
	server := fmt.Sprintf(`[kdcdefaults]
	kdc_listen = %[2]s:%[3]d
	kdc_tcp_listen = %[2]s:%[3]d
[realms]
	%[1]s = {
		database_name = %[4]s/principal
		key_stash_file = %[4]s/stash
		max_life = 24h
		max_renewable_life = 7d
		default_principal_flags = +preauth
	}
[logging]
	kdc = STDERR
`, realm, l.master().ip, portKDC, l.path("kdc"))
	if err := errors.Join(
		writeFile(l.path("krb5.conf"), []byte(client), 0o644),
		writeFile(l.path("kdc", "kdc.conf"), []byte(server), 0o600),
		writeFile(l.path("secrets", "http.secret"), []byte(rand.Text()+"\n"), 0o600),
	); err != nil {
		return err
	}
	if err := l.installLibrary(ctx, say); err != nil {
		return err
	}
	if err := l.makePrincipals(ctx); err != nil {
		return fmt.Errorf("make the Kerberos realm: %w", err)
	}
	if err := l.makeCertificates(); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	return errors.Join(l.give(l.path("secrets")), l.connect())
}

// secureCluster adds to the description of a secured lab who its user is.
func (p *plan) secureCluster(c *config.Cluster) {
	if !p.Cfg.Kerberos {
		return
	}
	c.Security, c.CA = config.SecurityKerberos, p.caFile()
	c.Kerberos = &config.Kerberos{
		Principal: hadoopUser + "@" + realm, Keytab: p.path("user.keytab"), Conf: p.path("krb5.conf"),
		NameNode: "nn/_HOST", Calls: "privacy", Protection: "privacy",
	}
}

// secureTransport returns how requests to a secured lab's web addresses are sent. Before
// the lab has an authority, no address is trusted.
func (l *Lab) secureTransport() (http.RoundTripper, error) {
	roots := x509.NewCertPool()
	if text, err := os.ReadFile(l.caFile()); err == nil {
		roots.AppendCertsFromPEM(text)
	}
	user, err := kerberos.New(kerberos.Options{Conf: l.path("krb5.conf"), Principal: hadoopUser, Realm: realm, Keytab: l.path("user.keytab")})
	if err != nil {
		return nil, err
	}
	return user.Transport(&http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			name, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			n, err := l.node(name)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(n.ip.String(), port))
		},
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}), nil
}

// makePrincipals makes the realm's database with the principals of all daemons and of
// hadoopUser, and their keytabs. Passwords and keys go through files and standard
// input only.
func (l *Lab) makePrincipals(ctx context.Context) error {
	password := rand.Text()
	if err := l.kdcTool(ctx, password+"\n"+password+"\n", "kdb5_util", "-r", realm, "create", "-s"); err != nil {
		return err
	}
	var ask strings.Builder
	add := func(keytab, principal string) {
		fmt.Fprintf(&ask, "addprinc -randkey %[1]s@%[2]s\nktadd -k %[3]s %[1]s@%[2]s\n", principal, realm, keytab)
	}
	keytabs := []string{l.path("user.keytab")}
	os.Remove(keytabs[0])
	add(keytabs[0], hadoopUser)
	for _, n := range l.nodes {
		keytab := l.path("secrets", n.name+".keytab")
		keytabs = append(keytabs, keytab)
		for _, service := range services(n) {
			add(keytab, service+"/"+n.name)
		}
	}
	if err := l.kdcTool(ctx, ask.String(), "kadmin.local", "-r", realm); err != nil {
		return err
	}
	for _, keytab := range keytabs {
		if err := os.Chmod(keytab, 0o600); err != nil {
			return fmt.Errorf("kadmin.local has not written a keytab: %w", err)
		}
	}
	return nil
}

// kdcTool runs a program that changes the realm's database.
func (l *Lab) kdcTool(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, sbin(name), args...)
	cmd.Env = append(os.Environ(), l.kdcEnv()...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, printable.LastLines(out, 12))
	}
	return nil
}

func (l *Lab) kdcEnv() []string {
	return []string{"KRB5_CONFIG=" + l.path("krb5.conf"), "KRB5_KDC_PROFILE=" + l.path("kdc", "kdc.conf")}
}

// sbin returns the path of a program for administrators, whose folder is not always on
// the PATH.
func sbin(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return filepath.Join("/usr/sbin", name)
}

// makeCertificates makes the lab's certificate authority, one certificate for all its
// nodes, and the stores in which Java wants them. The authority's key is not kept.
func (l *Lab) makeCertificates() error {
	now := time.Now().Add(-time.Minute)
	about := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{"heddle lab"}},
			NotBefore: now, NotAfter: now.AddDate(1, 0, 0), BasicConstraintsValid: true,
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := about("heddle lab " + l.Name)
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	caBytes, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return err
	}
	nodes := about("nodes of lab " + l.Name)
	nodes.KeyUsage, nodes.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, n := range l.nodes {
		nodes.DNSNames = append(nodes.DNSNames, n.name)
		nodes.IPAddresses = append(nodes.IPAddresses, net.IP(n.ip.AsSlice()))
	}
	nodesBytes, err := x509.CreateCertificate(rand.Reader, nodes, ca, key.Public(), caKey)
	if err != nil {
		return err
	}
	if ca, err = x509.ParseCertificate(caBytes); err != nil {
		return err
	}
	if nodes, err = x509.ParseCertificate(nodesBytes); err != nil {
		return err
	}
	password := rand.Text()
	server, err := pkcs12.Modern.Encode(key, nodes, []*x509.Certificate{ca}, password)
	if err != nil {
		return err
	}
	trusted, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{ca}, publicPassword)
	if err != nil {
		return err
	}
	store := func(what, file, password string) string {
		return fmt.Sprintf("ssl.%[1]s.location=%[2]s\nssl.%[1]s.type=pkcs12\nssl.%[1]s.password=%[3]s\n", what, file, password)
	}
	trust := l.path("trusted.p12")
	sslServer := store("server.keystore", l.path("secrets", "server.p12"), password) + "ssl.server.keystore.keypassword=" + password + "\n" +
		store("server.truststore", trust, publicPassword)
	return errors.Join(
		writeFile(l.caFile(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caBytes}), 0o644),
		writeFile(trust, trusted, 0o644),
		writeFile(l.path("secrets", "server.p12"), server, 0o600),
		writeFile(l.path("conf", "ssl-client.xml"), propertiesXML(store("client.truststore", trust, publicPassword)), 0o644),
		writeFile(l.path("conf", "ssl-server.xml"), propertiesXML(sslServer), 0o600),
		os.Chown(l.path("conf", "ssl-server.xml"), l.uid(), l.uid()),
	)
}

// publicPassword is the password of stores that have certificates only, which are no
// secret. Java does not read a store without a password.
const publicPassword = "public"

// caFile is the path of the certificate of the lab's own authority.
func (p *plan) caFile() string { return p.path("ca.pem") }

// kdcMark is the path of the file in which the KDC writes its process id.
func (p *plan) kdcMark() string { return p.path("nodes", "master", "run", "krb5kdc.pid") }

// startKDC starts the KDC, if it does not run, and waits until it answers: a
// daemon of Hadoop ends if it gets no ticket at its start.
func (l *Lab) startKDC(ctx context.Context, say func(Event)) error {
	if !l.Cfg.Kerberos || l.pid(l.master(), kdc) != 0 {
		return nil
	}
	if err := l.startDaemon(l.master(), kdc); err != nil {
		return err
	}
	var seen registrations
	if err := l.awaitReady(ctx, &seen, l.master(), kdc); err != nil {
		return err
	}
	say(Event{Node: l.master().name, Daemon: string(kdc), What: "ready"})
	return nil
}

// lacksKDC lists the programs of a secured lab that this machine lacks.
func lacksKDC() (missing []Missing) {
	for _, tool := range slices.Sorted(maps.Keys(kdcTools)) {
		if _, err := os.Stat(sbin(tool)); err != nil {
			missing = append(missing, Missing{tool, "a lab with --kerberos has a Kerberos realm of its own", kdcTools[tool]})
		}
	}
	return missing
}

// secureSection returns the properties that a secured lab adds to a configuration
// file. They come last in the file, where Hadoop prefers them to earlier ones.
func secureSection(file string, props []byte) []byte {
	_, after, _ := bytes.Cut(props, []byte("\n["+file+"]\n"))
	section, _, _ := bytes.Cut(after, []byte("\n["))
	return append([]byte("\n"), section...)
}
