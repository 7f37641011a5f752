package lab_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/clients"
	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
	"heddle/yarnclient"
)

// TestSecuredLab: in a lab with a realm of its own, Hadoop's own client reads, writes
// and runs a job with a ticket, and gets nothing without one. Nobody but root and the
// lab's user reads the keys.
func TestSecuredLab(t *testing.T) {
	labtest.Need(t)
	binary := labtest.Binary(t)
	c := labtest.Default()
	c.Name, c.Executable, c.Kerberos = "labtestkrb", binary, true
	c.Nodes, c.Racks = 2, 1
	if err := lab.Preflight(c); err != nil {
		if os.Getenv("HEDDLE_LAB") == "require" {
			t.Fatal(err)
		}
		t.Skipf("needs a Kerberos KDC: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	down(t, c.Name, true)
	t.Cleanup(func() { down(t, c.Name, true) })
	l := up(ctx, t, c)
	run := func(t *testing.T, script string) (string, error) {
		t.Helper()
		out, err := l.Command(ctx, "r1n1", "sh", "-c", script).CombinedOutput()
		return string(out), err
	}
	t.Run("with a ticket", func(t *testing.T) {
		words := filepath.Join(t.TempDir(), "words")
		mustDo(t, os.WriteFile(words, []byte("one two one\n"), 0o600))
		out, err := run(t, `set -e; hadoop fs -put `+words+` /words
			hadoop jar "$HADOOP_HOME"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar wordcount /words /counts 2>&1
			hadoop fs -cat /counts/part-r-00000; klist`)
		if err != nil || !strings.Contains(out, "one\t2\ntwo\t1\n") || !strings.Contains(out, "Default principal: root@HEDDLE.LAB") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("without a ticket", func(t *testing.T) {
		out, err := run(t, `"$JAVA_HOME"/bin/java -cp "$(hadoop classpath)" org.apache.hadoop.fs.FsShell -ls / 2>&1`)
		if err != nil { // it uses the tickets of the run before
			t.Fatalf("the same client with a ticket: %v\n%s", err, out)
		}
		out, err = run(t, `path=$(hadoop classpath); export KRB5CCNAME=/nowhere; "$JAVA_HOME"/bin/java -cp "$path" org.apache.hadoop.fs.FsShell -ls / 2>&1`)
		if err == nil || !strings.Contains(out, "KERBEROS") {
			t.Errorf("HDFS is read without a ticket: %v\n%s", err, out)
		}
	})
	t.Run("web addresses", func(t *testing.T) {
		ca := must(os.ReadFile(filepath.Join(filepath.Dir(l.ClusterFile()), "ca.pem")))
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			t.Fatalf("no certificate in %q", ca)
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
		for node, ports := range map[string][]int{"master": {9871, 8090, 19890, 8044}, "r1n1": {9865, 8044}} {
			for _, port := range ports {
				resp, err := client.Get(fmt.Sprintf("https://%s:%d/jmx", l.Cluster().Hosts[node], port))
				if err != nil {
					t.Error(err)
					continue
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "Negotiate" {
					t.Errorf("port %d of %s answers %s without a ticket", port, node, resp.Status)
				}
			}
		}
	})
	t.Run("heddle's own clients", func(t *testing.T) {
		cluster := l.Cluster()
		c := must(clients.To(&cluster, clients.Patience{}))
		defer c.Close()
		if version, err := c.Answers(ctx); err != nil || version == "" {
			t.Fatalf("version %q, %v", version, err)
		}
		const text = "written and read by way of SASL\n"
		mustDo(t, c.HDFS.WriteFile(ctx, "/own", strings.NewReader(text), hdfs.WriteOptions{}))
		r := must(c.HDFS.Open(ctx, "/own"))
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
		if file, err := c.HDFS.Stat(ctx, "/own"); err != nil || file.Owner != "root" {
			t.Errorf("%+v, %v; want a file of root", file, err)
		}
		cluster.CA = ""
		untrusting := must(clients.To(&cluster, clients.Patience{}))
		defer untrusting.Close()
		errtest.Has(t, errtest.Of(untrusting.RM.Info(ctx)), "as ca in the cluster file")
	})
	t.Run("a user without rights", func(t *testing.T) {
		root := filepath.Dir(l.ClusterFile())
		kadmin(ctx, t, root, "addprinc -randkey alice\nktadd -k "+filepath.Join(root, "secrets", "alice.keytab")+" alice\n")
		cluster := l.Cluster()
		cluster.User = "alice"
		cluster.Kerberos.Principal, cluster.Kerberos.Keytab = "alice@HEDDLE.LAB", filepath.Join(root, "secrets", "alice.keytab")
		c := must(clients.To(&cluster, clients.Patience{}))
		defer c.Close()
		app := must(c.RM.NewApplication(ctx))
		_, denied := c.HDFS.Stat(ctx, "/tmp/hadoop-yarn/staging")
		for what, x := range map[string]struct {
			err  error
			want string
		}{
			"labels": {c.RM.AddLabels(ctx, true, "alice"), "name the user in yarn.admin.acl"},
			"queue": {c.RM.Submit(ctx, yarnclient.Submission{
				ID: app.ID, Name: "alice", Queue: "root.replay", Command: "true",
				AM: yarnclient.Resource{MemoryMB: 512, VCores: 1},
			}), "name the user in acl_submit_applications"},
			"files": {denied, "hdfs dfs -setfacl -m user:alice:rwx"},
		} {
			if x.err == nil || !strings.Contains(x.err.Error(), x.want) {
				t.Errorf("%s: %v; want %q in it", what, x.err, x.want)
			}
		}
	})
	t.Run("keys are secret", func(t *testing.T) {
		secret := map[string]bool{"user.keytab": true, "tickets": true, "secrets": true, "kdc": true, "ssl-server.xml": true}
		err := filepath.WalkDir(filepath.Dir(l.ClusterFile()), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // tasks come and go
				return nil
			}
			if err != nil || !secret[d.Name()] {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others: %v", path, info.Mode())
			}
			delete(secret, d.Name())
			return err
		})
		if err != nil || len(secret) > 0 {
			t.Errorf("not found: %v (%v)", secret, err)
		}
	})
	t.Run("down leaves nothing", func(t *testing.T) {
		down(t, c.Name, true)
		nothingLeft(t, c.Name)
	})
}

// kadmin changes the realm of a secured lab.
func kadmin(ctx context.Context, t *testing.T, root, commands string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, "kadmin.local", "-r", "HEDDLE.LAB")
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin", "KRB5_CONFIG="+filepath.Join(root, "krb5.conf"),
		"KRB5_KDC_PROFILE="+filepath.Join(root, "kdc", "kdc.conf"))
	if cmd.Err != nil {
		cmd.Path, cmd.Err = "/usr/sbin/kadmin.local", nil
	}
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
