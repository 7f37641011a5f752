//go:build linux

package tests

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSecuredCluster sets a cluster with Kerberos and TLS up on hosts of its own, from
// nothing. The realm's KDC is Debian's, on a host that the inventory does not have. The
// parts follow one another on the same hosts.
func TestSecuredCluster(t *testing.T) {
	c := newSecured(t)
	before := map[string]string{}
	for _, host := range securedHosts {
		before[host] = c.state(t, host)
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, *cluster)
	}{
		{"check", func(t *testing.T, c *cluster) { c.play(t, "site", "--check"); lookAtCheck(t, c, c.last()) }},
		{"site", testSecuredSite},
		{"job", testSecuredJob},
		{"without a ticket", testNoTicket},
		{"keys", testKeys},
		{"site again", func(t *testing.T, c *cluster) {
			for host, changed := range c.play(t, "site", "-vvv", "--diff") {
				if changed != 0 {
					t.Errorf("%s: the second run has changed %d things; want none\n%s", host, changed, c.lastChanged())
				}
			}
		}},
		{"upgrade", testSecuredUpgrade},
		{"no secret", testNoKey},
		{"teardown", func(t *testing.T, c *cluster) {
			c.play(t, "teardown", "-e", "heddle_teardown=yes")
			for host, was := range before {
				if d := cmp.Diff(was, c.state(t, host)); d != "" {
					t.Errorf("%s is not as it was before (-before +after):\n%s", host, d)
				}
			}
		}},
	} {
		begun := time.Now()
		t.Run(part.name, func(t *testing.T) { part.test(t, c) })
		if !c.up && part.name != "check" {
			t.FailNow()
		}
		t.Logf("%s: %v", part.name, time.Since(begun).Round(100*time.Millisecond))
	}
}

var securedHosts = []string{"master", "worker1", "harness"}

// newSecured brings up hosts and a KDC, and writes an inventory with keytabs and
// certificates.
func newSecured(t *testing.T) *cluster {
	c := begin(t, "/usr/sbin/krb5kdc", "/usr/sbin/kadmin.local")
	c.archive = filepath.Join(c.dir, "hadoop.tar")
	c.sum = pack(t, c.archive, nativeLibrary(t))
	c.bringUp(t, append(securedHosts, "kdc"))
	c.run(t, "ansible-galaxy", "collection", "install", "..", "-p", filepath.Join(c.dir, "collections"))
	c.startKDC(t)
	c.certificates(t, filepath.Join(c.inventory, "tls"), "master", "worker1")
	write(t, filepath.Join(c.inventory, "hosts.yml"), `all:
  children:
    hadoop: {children: {namenode: , resourcemanager: , historyserver: , workers: }}
    namenode: {hosts: {master: }}
    resourcemanager: {hosts: {master: }}
    historyserver: {hosts: {master: }}
    workers:
      hosts:
        master: {hadoop_label: am, hadoop_memory_mb: 4096, hadoop_vcores: 16}
        worker1: {hadoop_rack: /rack1}
    harness: {hosts: {harness: }}
`)
	ssh := must(os.ReadFile(c.hosts.Inventory()))
	write(t, filepath.Join(c.inventory, "ssh.yml"), string(ssh))
	write(t, filepath.Join(c.inventory, "group_vars/all/files.yml"), fmt.Sprintf(`heddle_binary: %s
hadoop_archive: %s
hadoop_archive_sha256: %s
vault_heddle_token: %s
hadoop_security: kerberos
hadoop_realm: HOSTS.TEST
hadoop_kdcs: [kdc]
hadoop_keytabs: "{{ inventory_dir }}/keytabs"
hadoop_tls_cert_src: "{{ inventory_dir }}/tls/{{ inventory_hostname }}.pem"
hadoop_tls_key_src: "{{ inventory_dir }}/tls/{{ inventory_hostname }}.key"
hadoop_tls_ca_src: "{{ inventory_dir }}/tls/ca.pem"
harness_keytab_src: "{{ inventory_dir }}/keytabs/heddle.keytab"
`, c.binary, c.archive, c.sum, securedToken))
	c.setProperty(t, "")
	return c
}

const securedToken = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"

// kdcScript makes a realm with the principals of the README, and starts its KDC.
const kdcScript = `set -e
mkdir -p /var/lib/kdc/keytabs/master /var/lib/kdc/keytabs/worker1
cd /var/lib/kdc
cat >krb5.conf <<END
[libdefaults]
default_realm = HOSTS.TEST
[realms]
HOSTS.TEST = { }
END
cat >kdc.conf <<END
[realms]
HOSTS.TEST = {
  database_name = /var/lib/kdc/principal
  key_stash_file = /var/lib/kdc/stash
  default_principal_flags = +preauth
}
END
export KRB5_CONFIG=/var/lib/kdc/krb5.conf KRB5_KDC_PROFILE=/var/lib/kdc/kdc.conf PATH=$PATH:/usr/sbin
password=$(openssl rand -hex 16)
printf '%s\n%s\n' $password $password | kdb5_util create -s
key() { printf 'addprinc -randkey %s\nktadd -k keytabs/%s.keytab %s\n' $1 $2 $1; }
{
  key heddle heddle
  key nn/master master/namenode
  key rm/master master/resourcemanager
  key jhs/master master/historyserver
  key nm/master master/nodemanager
  key HTTP/master master/http
  key dn/worker1 worker1/datanode
  key nm/worker1 worker1/nodemanager
  key HTTP/worker1 worker1/http
} | kadmin.local
systemd-run --unit=kdc --setenv=KRB5_CONFIG=$KRB5_CONFIG --setenv=KRB5_KDC_PROFILE=$KRB5_KDC_PROFILE /usr/sbin/krb5kdc -n
`

// startKDC starts a KDC on the host kdc, and fetches the keytabs into the inventory.
func (c *cluster) startKDC(t *testing.T) {
	t.Helper()
	c.put(t, "kdc", "/run/kdc.sh", kdcScript)
	c.on(t, "kdc", "bash /run/kdc.sh")
	packed := must(c.hosts.Command(t.Context(), "kdc", "tar -C /var/lib/kdc -c keytabs").Output())
	mustDo(t, os.MkdirAll(c.inventory, 0o755))
	unpack := exec.CommandContext(t.Context(), "tar", "-C", c.inventory, "-x")
	unpack.Stdin = bytes.NewReader(packed)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack keytabs: %v\n%s", err, out)
	}
	c.until(t, "the KDC answers", func() (string, bool) {
		out, err := c.try("harness", "bash -c 'exec 3<>/dev/tcp/kdc/88'")
		return out, err == nil
	})
}

// nativeLibrary returns Hadoop's native library, which Maven's jars of Hadoop lack, from
// the jar by which a secured lab has it.
func nativeLibrary(t *testing.T) []byte {
	t.Helper()
	pinned := must(os.ReadFile("../../harness/lab/hadoop/native.sha256"))
	sum, name, _ := strings.Cut(strings.TrimSpace(string(pinned)), "  ")
	version := strings.TrimSuffix(strings.TrimPrefix(name, "hadoop-apache-"), ".jar")
	dir := t.TempDir()
	fetch := exec.CommandContext(t.Context(), "mvn", "-B", "-q", "dependency:copy", "-Dartifact=io.trino.hadoop:hadoop-apache:"+version,
		"-DoutputDirectory="+dir)
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("fetch Hadoop's native library: %v\n%s", err, out)
	}
	jar := must(os.ReadFile(filepath.Join(dir, name)))
	if got := sha256.Sum256(jar); hex.EncodeToString(got[:]) != sum {
		t.Fatalf("%s has the SHA-256 %x, want %s", name, got, sum)
	}
	files := must(zip.NewReader(bytes.NewReader(jar), int64(len(jar))))
	arch := map[string]string{"arm64": "aarch64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	library := must(fs.ReadFile(files, "nativelib/Linux-"+arch+"/libhadoop.so"))
	return library
}

func testSecuredSite(t *testing.T, c *cluster) {
	c.play(t, "site", "-vvv", "--diff")
	report := c.on(t, "harness", asHeddle+"doctor --cluster /etc/heddle/cluster.yaml'")
	lookAtDoctor(t, c, report)
}

const securedJob = `name: steered
actuator: labels
models: [fifo]
workloads:
  - {name: wordcount, size: 12MiB, maps: 4, reduces: 1}
`

// testSecuredJob: heddle steers a job by its keytab alone.
func testSecuredJob(t *testing.T, c *cluster) {
	c.put(t, "harness", "/var/lib/heddle/steered.yaml", securedJob)
	lookAtRun(t, c, c.on(t, "harness", asHeddle+"run --cluster /etc/heddle/cluster.yaml --run-name steered --json steered.yaml'"))
}

// testNoTicket: without a ticket nobody runs a job, reads HDFS or sees a web page, and
// messages say what is missing.
func testNoTicket(t *testing.T, c *cluster) {
	c.on(t, "harness", "sed 's|keytab: .*|ticketCache: /var/lib/heddle/none|' /etc/heddle/cluster.yaml >/var/lib/heddle/without.yaml")
	for _, x := range []struct{ line, want string }{
		{asHeddle + "run --cluster without.yaml --run-name without steered.yaml' 2>&1", "kinit"},
		{"runuser -u nobody -- /opt/hadoop/bin/hadoop fs -ls / 2>&1", "KERBEROS"},
	} {
		out, err := c.try("harness", x.line)
		if err == nil || !strings.Contains(out, x.want) {
			t.Errorf("%s: %v; want %q in\n%s", x.line, err, x.want, out)
		}
	}
	for _, at := range []string{"master:9871", "master:8090", "master:19890", "master:8044", "worker1:8044", "worker1:9865"} {
		out := c.on(t, "harness", "printf 'GET /jmx HTTP/1.1\\r\\nHost: hadoop\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -CAfile /etc/hadoop/security/ca.pem -connect "+at+" 2>&1")
		if !strings.Contains(out, " 401 ") || !strings.Contains(out, "WWW-Authenticate: Negotiate") {
			t.Errorf("%s answers without a ticket\n%s", at, out)
		}
	}
	for _, at := range []string{"master/9870", "master/8088", "master/19888", "worker1/8042", "worker1/9864"} {
		if _, err := c.try("harness", "bash -c 'exec 3<>/dev/tcp/"+at+"'"); err == nil {
			t.Errorf("%s is open without TLS", at)
		}
	}
}

// testKeys: nobody but its daemons' user reads a key.
func testKeys(t *testing.T, c *cluster) {
	for host, want := range map[string][]string{
		"master": {
			"hadoop/historyserver.keytab", "hadoop/http.keytab", "hadoop/http.secret", "hadoop/namenode.keytab", "hadoop/resourcemanager.keytab",
			"hadoop/server.p12", "heddle/http.keytab", "heddle/http.secret", "heddle/nodemanager.keytab", "heddle/server.p12",
		},
		"worker1": {
			"hadoop/datanode.keytab", "hadoop/http.keytab", "hadoop/http.secret", "hadoop/server.p12",
			"heddle/http.keytab", "heddle/http.secret", "heddle/nodemanager.keytab", "heddle/server.p12",
		},
		"harness": nil,
	} {
		got := c.on(t, host, `cd /etc/hadoop/security; find -name '*.keytab' -o -name '*.secret' -o -name 'server.p12' | sort | xargs -r stat -c '%a %U %n'`)
		all := ""
		for _, file := range want {
			user, _, _ := strings.Cut(file, "/")
			all += "400 " + user + " ./" + file + "\n"
		}
		if d := cmp.Diff(all, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", host, d)
		}
	}
	if out := c.on(t, "harness", "stat -c '%a %U' /etc/heddle/heddle.keytab"); out != "400 heddle\n" {
		t.Errorf("heddle's keytab is %s", out)
	}
	if _, err := c.try("worker1", "runuser -u heddle -- cat /etc/hadoop/security/hadoop/datanode.keytab"); err == nil {
		t.Error("containers read the DataNode's keytab")
	}
}

// testSecuredUpgrade: each host's daemons are back before the next one's restart.
func testSecuredUpgrade(t *testing.T, c *cluster) {
	c.setProperty(t, "yarn.log-aggregation.retain-seconds: 78")
	c.play(t, "upgrade")
	if out := c.on(t, "worker1", "grep -c '<value>78<' /etc/hadoop/yarn-site.xml"); out != "1\n" {
		t.Errorf("upgrade has not written the setting")
	}
}

// testNoKey: no key is in what ansible printed.
func testNoKey(t *testing.T, c *cluster) {
	said := c.said.String()
	secret := func(what, text string) {
		if strings.Contains(said, text) {
			t.Errorf("ansible has printed %s", what)
		}
	}
	secret("the token", securedToken)
	err := filepath.WalkDir(c.inventory, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		switch filepath.Ext(path) {
		case ".keytab":
			key := data[len(data)-20:] // the last of its key
			secret(path, string(key))
			secret(path, hex.EncodeToString(key))
			secret(path, base64.StdEncoding.EncodeToString(data)[:40])
		case ".key":
			secret(path, strings.Split(string(data), "\n")[1])
		}
		return err
	})
	mustDo(t, err)
}
