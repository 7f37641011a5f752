//go:build linux

// Package tests holds the tests of the ansible collection.
package tests

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"heddle/ansible/tests/hosts"
	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
)

// TestCluster sets a cluster up on hosts of their own, from nothing, as the
// README tells its reader, uses it, breaks it, and takes it down. Its parts
// follow one another on the same hosts.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	// Users and folders that others have made are there after a teardown.
	c.on(t, "worker2", "useradd --create-home --uid 1500 --shell /bin/bash yarn && touch /home/yarn/theirs")
	c.on(t, "harness", "mkdir /etc/heddle && touch /etc/heddle/theirs")
	before := map[string]string{}
	for _, host := range c.hosts.Names {
		before[host] = c.state(t, host)
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, *cluster)
	}{
		{"as the README says", testReadme},
		{"units", testUnits},
		{"guard", testGuard},
		{"site again", testSiteAgain},
		{"check of a change", testCheckOfChange},
		{"upgrade", testUpgrade},
		{"steering", testSteering},
		{"no secret", testNoSecret},
		{"rotation", testRotation},
		{"labels", testLabels},
		{"faults", testFaults},
		{"jars", testJars},
		{"teardown", func(t *testing.T, c *cluster) {
			c.play(t, "teardown", "-e", "heddle_teardown=yes")
			for _, host := range c.hosts.Names {
				if d := cmp.Diff(before[host], c.state(t, host)); d != "" {
					t.Errorf("%s is not as it was before (-before +after):\n%s", host, d)
				}
			}
		}},
	} {
		begun := time.Now()
		t.Run(part.name, func(t *testing.T) { part.test(t, c) })
		if !c.up {
			t.FailNow()
		}
		t.Logf("%s: %v", part.name, time.Since(begun).Round(100*time.Millisecond))
	}
}

// cluster is what the parts of TestCluster share.
type cluster struct {
	hosts        *hosts.Hosts
	dir          string // the controller's
	inventory    string
	binary       string // heddle
	archive, sum string // Hadoop, and its SHA-256
	env          []string
	said         bytes.Buffer // all that playbooks have printed
	up           bool         // doctor has found no fault
}

// testReadme does what the README tells the owner of machines to do, word for word,
// and looks at what comes of it.
func testReadme(t *testing.T, c *cluster) {
	looks := map[string]func(*testing.T, *cluster, string){
		"cp -r ansible/examples/inventory blue": func(t *testing.T, c *cluster, _ string) { c.edit(t) },
		"site --check":                          lookAtCheck,
		"heddle doctor":                         lookAtDoctor,
		"heddle run":                            lookAtRun,
		"heddle.cluster.collect":                lookAtCollected,
	}
	text := must(os.ReadFile("../README.md"))
	_, text, _ = bytes.Cut(text, []byte("\n## A cluster of your own\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	looked := 0
	for _, step := range steps(string(text)) {
		begun := time.Now()
		out := c.do(t, step)
		t.Logf("%v: %s", time.Since(begun).Round(100*time.Millisecond), step.line)
		for part, look := range looks {
			if strings.Contains(step.line, part) {
				look(t, c, out)
				looked++
			}
		}
	}
	if looked != len(looks) {
		t.Errorf("the README has %d of the %d commands that this test looks at", looked, len(looks))
	}
}

// step is a command of the README, or a file that it has written.
type step struct {
	file      string // empty for a command
	line      string // the command, or the file's content
	onHarness bool   // on the harness host as heddle's user; else on the controller
}

// steps returns the commands and files of a part of the README, in their order.
func steps(text string) []step {
	var found []step
	var file, content string
	onHarness := false
	for line := range strings.Lines(text) {
		command, deep := strings.CutPrefix(line, "    ")
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && fence == "":
			found = append(found, step{file, content, true})
			file, content = "", ""
		case isFence:
			_, file, _ = strings.Cut(fence, " ")
		case file != "":
			content += line
		case deep:
			found = append(found, step{"", strings.TrimSpace(command), onHarness})
		case strings.TrimSpace(line) != "":
			onHarness = strings.HasPrefix(line, "On the harness host") || onHarness && !strings.HasSuffix(line, ":\n")
		}
	}
	return found
}

// do does one step, and returns what it prints.
func (c *cluster) do(t *testing.T, s step) string {
	t.Helper()
	switch {
	case s.file != "":
		c.put(t, "harness", "/var/lib/heddle/"+s.file, s.line)
		return ""
	case s.onHarness:
		return c.on(t, "harness", "runuser -u heddle -- sh -c 'cd; "+s.line+"'")
	case strings.Contains(s.line, "go build"):
		return "" // the test has built it
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", s.line)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true} // without a terminal, passwords are asked for on standard input
	cmd.Stdin = strings.NewReader(password + password)
	out, err := cmd.CombinedOutput()
	c.said.Write(out)
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.line, err, out)
	}
	return string(out)
}

// lookAtCheck: check mode needs nothing of what site would make, and makes nothing.
func lookAtCheck(t *testing.T, c *cluster, out string) {
	for host, changed := range changes(out) {
		if changed == 0 {
			t.Errorf("%s: check mode finds nothing to change", host)
		}
		if out := c.on(t, host, "ls /opt /etc/systemd/system /usr/local/bin"); strings.Contains(out, "hadoop") ||
			strings.Contains(out, "heddle") {
			t.Errorf("%s: check mode has changed the host:\n%s", host, out)
		}
	}
}

// lookAtDoctor: heddle finds no fault with the cluster.
func lookAtDoctor(t *testing.T, c *cluster, report string) {
	for _, feature := range []string{"captured", "run", "steered", "cached", "measured"} {
		if !strings.Contains(report, feature+": yes") {
			t.Errorf("doctor does not find the cluster %s:\n%s", feature, report)
		}
	}
	if strings.Contains(report, "\nmissing ") {
		t.Errorf("doctor misses something:\n%s", report)
	}
	c.up = !t.Failed()
	t.Log(report)
}

// lookAtRun: a WordCount under the model fifo is captured, and each of its
// containers is where the model put it.
func lookAtRun(t *testing.T, c *cluster, out string) {
	var run struct{ Folder string }
	if err := json.Unmarshal([]byte(out), &run); err != nil || run.Folder == "" {
		t.Fatalf("heddle run prints no folder: %v\n%s", err, out)
	}
	compared := c.on(t, "harness", asHeddle+"compare --json "+run.Folder+"'")
	var result any
	if err := json.Unmarshal([]byte(compared), &result); err != nil {
		t.Fatalf("heddle compare prints no JSON: %v\n%s", err, compared)
	}
	counts := map[string]float64{}
	find(result, func(key string, value any) {
		if n, is := value.(float64); is {
			counts[key] += n
		}
	})
	if counts["decisions"] == 0 || counts["honoured"] != counts["decisions"] {
		t.Errorf("of %v decisions, %v were honoured; want all\n%s", counts["decisions"], counts["honoured"], compared)
	}
	t.Logf("%v decisions, %v honoured", counts["decisions"], counts["honoured"])
}

// lookAtCollected: traces and logs are on the controller.
func lookAtCollected(t *testing.T, c *cluster, _ string) {
	dir := filepath.Join(c.dir, "collected")
	for file, want := range map[string]string{
		"master/hadoop-logs.tar.gz": "resourcemanager.log", "worker3/hadoop-logs.tar.gz": "nodemanager.log",
		"harness/runs.tar.gz": "trace.heddle",
	} {
		out, err := exec.CommandContext(t.Context(), "tar", "-tzf", filepath.Join(dir, file)).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s has no %s: %v\n%s", file, want, err, out)
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, "worker1", "agent.log"))
	if err != nil || !strings.Contains(string(log), "agent ready") {
		t.Errorf("the agent's log: %v\n%s", err, log)
	}
}

// testUnits: systemd finds no mistake in the units, and the agent's are exposed
// little.
func testUnits(t *testing.T, c *cluster) {
	for _, host := range []string{"master", "worker1"} {
		// The hosts' own units are masked, which makes them links.
		units := "$(find /etc/systemd/system -maxdepth 1 -type f -name 'ha*' -o -type f -name 'he*' -o -type f -name '*.mount')"
		if out := c.on(t, host, "systemd-analyze verify "+units+" 2>&1"); out != "" {
			t.Errorf("%s: systemd-analyze verify says:\n%s", host, out)
		}
		// The threshold is ten times the exposure.
		for _, unit := range []string{"heddle-agent.service", "heddle-drop-caches@.service"} {
			c.on(t, host, "systemd-analyze security --offline=true --no-pager --threshold=20 /etc/systemd/system/"+unit)
		}
		if out := c.on(t, host, "systemctl --failed --no-legend"); out != "" {
			t.Errorf("%s: units have failed:\n%s", host, out)
		}
	}
}

// testGuard: a host that the inventory does not have reaches no daemon. Daemons listen
// at the inventory's addresses only, but for the shuffle, which cannot; and containers
// are another user than HDFS's.
func testGuard(t *testing.T, c *cluster) {
	for _, at := range []string{
		"master:8088", "master:8020", "master:9870", "worker1:9866", "worker1:45454", "worker1:13562",
		"worker1:9177",
	} {
		host, port, _ := strings.Cut(at, ":")
		// Another host of the cluster reaches it.
		c.on(t, "harness", "bash -c 'exec 3<>/dev/tcp/"+host+"/"+port+"'")
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(c.hosts.Address(host).String(), port), 3*time.Second)
		if err == nil {
			conn.Close()
			t.Errorf("a host outside of the inventory reaches %s", at)
		}
	}
	for _, host := range []string{"master", "worker1"} {
		for line := range strings.Lines(c.on(t, host, "ss -Hltn")) {
			fields := strings.Fields(line)
			at := fields[3]
			address, port := at[:strings.LastIndex(at, ":")], at[strings.LastIndex(at, ":")+1:]
			if slices.Contains([]string{"0.0.0.0", "*", "[::]"}, address) && port != "22" && port != "13562" {
				t.Errorf("%s listens at all addresses: %s", host, line)
			}
		}
	}
	out := c.on(t, "worker1", "systemctl show -P User hadoop-nodemanager hadoop-datanode")
	if strings.Fields(out)[0] != "yarn" || strings.Fields(out)[1] != "hadoop" {
		t.Errorf("NodeManager and DataNode run as %s", out)
	}
	for _, dir := range []string{"/var/lib/hadoop/hdfs", "/etc/heddle-agent"} {
		if out, err := c.try("worker1", "runuser -u yarn -- ls "+dir); err == nil {
			t.Errorf("containers may read %s:\n%s", dir, out)
		}
	}
	if out, err := c.try("harness", "runuser -u nobody -- /opt/hadoop/bin/hadoop fs -mkdir /mine 2>&1"); err == nil ||
		!strings.Contains(out+err.Error(), "Permission denied") {
		t.Errorf("HDFS looks at no permissions: %v\n%s", err, out)
	}
	// A job of any user has its files and its history there.
	c.on(t, "harness", "runuser -u nobody -- /opt/hadoop/bin/hadoop fs -mkdir -p /tmp/hadoop-yarn/staging/nobody/.staging /tmp/hadoop-yarn/staging/history/done_intermediate/nobody")
}

// testSiteAgain: a second run finds everything as it should be.
func testSiteAgain(t *testing.T, c *cluster) {
	for host, changed := range c.play(t, "site") {
		if changed != 0 {
			t.Errorf("%s: the second run has changed %d things; want none\n%s", host, changed, c.lastChanged())
		}
	}
}

// testCheckOfChange: check mode shows the line that a changed variable changes, and
// changes nothing.
func testCheckOfChange(t *testing.T, c *cluster) {
	c.setProperty(t, "yarn.log-aggregation.retain-seconds: 77")
	defer c.setProperty(t, "")
	c.play(t, "site", "--check", "--diff", "--skip-tags", "labels")
	lines := map[string]int{}
	for _, line := range regexp.MustCompile(`(?m)^[+-] .*$`).FindAllString(c.last(), -1) {
		lines[line]++
	}
	want := map[string]int{"+  <property><name>yarn.log-aggregation.retain-seconds</name><value>77</value></property>": len(c.hosts.Names)}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("lines that change (-want +got):\n%s", d)
	}
	if out := c.on(t, "worker1", "grep -c retain-seconds /etc/hadoop/yarn-site.xml || true"); out != "0\n" {
		t.Errorf("check mode has changed yarn-site.xml")
	}
}

// testUpgrade: new settings restart one worker after the other, and HDFS keeps its
// files.
func testUpgrade(t *testing.T, c *cluster) {
	file := c.hadoop(t, "fs -ls -R /heddle/hibench | grep -m1 part-")
	c.setProperty(t, "yarn.log-aggregation.retain-seconds: 78")
	c.play(t, "upgrade")
	if out := c.on(t, "worker3", "grep -c '<value>78<' /etc/hadoop/yarn-site.xml"); out != "1\n" {
		t.Errorf("upgrade has not written the setting")
	}
	if after := c.hadoop(t, "fs -ls -R /heddle/hibench | grep -m1 part-"); after != file {
		t.Errorf("HDFS had %q before, and %q after", file, after)
	}
}

// testSteering: the role for clusters of others changes the property that a fix
// plan names, and nothing else.
func testSteering(t *testing.T, c *cluster) {
	const file = "/etc/hadoop/mapred-site.xml"
	before := c.on(t, "worker1", "cat "+file)
	plan := filepath.Join(c.dir, "plan.yml")
	write(t, plan, "steering_properties:\n  mapred-site.xml:\n    mapreduce.jobhistory.jhist.format: \"binary\"\nsteering_restart: [historyserver]\n")
	args := []string{"-e", "@" + plan, "-e", "steering_conf_dir=/etc/hadoop", "-e", "steering_backup=false"}
	changed := c.play(t, "steering", args...)
	if want := map[string]int{"master": 2, "worker1": 1, "worker2": 1, "worker3": 1}; !cmp.Equal(changed, want) {
		t.Errorf("changed %v, want %v: the file, and on the master the history server", changed, want)
	}
	want := strings.Replace(before, "jhist.format</name><value>json<", "jhist.format</name><value>binary<", 1)
	if d := cmp.Diff(want, c.on(t, "worker1", "cat "+file)); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
	for host, n := range c.play(t, "steering", args...) {
		if n != 0 {
			t.Errorf("%s: the second run has changed %d things; want none", host, n)
		}
	}
}

// testNoSecret: the token is in no output, no command line, and no file that others
// can read.
func testNoSecret(t *testing.T, c *cluster) {
	vault := c.run(t, "ansible-vault", "view", "--vault-password-file", filepath.Join(c.dir, "password"),
		filepath.Join(c.inventory, "group_vars/all/vault.yml"))
	token := strings.TrimSpace(strings.TrimPrefix(vault, "vault_heddle_token: "))
	if len(token) != 64 {
		t.Fatalf("the vault has %q, no token", vault)
	}
	if strings.Count(c.said.String(), token) > 1 { // once above
		t.Error("ansible has printed the token")
	}
	for _, host := range c.hosts.Names {
		// [0] keeps grep from finding itself.
		find := "[" + token[:1] + "]" + token[1:]
		if out := c.on(t, host, "tr '\\0' '\\n' </proc/[0-9]*/cmdline 2>/dev/null | grep -c '"+find+"' || true; "+
			"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '"+find+"' || true"); strings.Trim(out, "0\n") != "" {
			t.Errorf("%s: the token is in a command line", host)
		}
		out := c.on(t, host, "grep -rls '"+token+"' /etc /opt /usr/local /var/lib /var/log /run /tmp | xargs -r stat -c '%a %n'")
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "400 ") {
				t.Errorf("%s: the token is in %s", host, line)
			}
		}
	}
}

// testRotation changes the token and then the certificates, as the README says. No
// agent restarts for it, so no sample is lost.
func testRotation(t *testing.T, c *cluster) {
	began := func() string {
		var all []string
		for _, host := range []string{"master", "worker1", "worker2", "worker3"} {
			all = append(all, c.on(t, host, "systemctl show -P ExecMainStartTimestampMonotonic heddle-agent"))
		}
		return strings.Join(all, "")
	}
	healthy := func() {
		t.Helper()
		report := c.on(t, "harness", asHeddle+"doctor --cluster /etc/heddle/cluster.yaml'")
		if !strings.Contains(report, "measured: yes") {
			t.Errorf("doctor does not find the cluster measured:\n%s", report)
		}
	}
	before := began()
	token := strings.Repeat("0123456789abcdef", 4)
	change := filepath.Join(c.inventory, "group_vars/all/rotation.yml")
	write(t, change, "heddle_token: "+token+"\nheddle_token_old: \"{{ vault_heddle_token }}\"\n")
	c.play(t, "site")
	if out := c.on(t, "worker1", "wc -l </etc/heddle-agent/agent.token"); out != "2\n" {
		t.Errorf("the agent has %s tokens, want 2", out)
	}
	healthy()

	certs := filepath.Join(c.dir, "certs")
	c.certificates(t, certs, "master", "worker1", "worker2", "worker3")
	write(t, change, "heddle_token: "+token+"\nharness_ca_cert_src: "+certs+"/ca.pem\n"+
		"agent_tls_cert_src: \""+certs+"/{{ inventory_hostname }}.pem\"\nagent_tls_key_src: \""+certs+"/{{ inventory_hostname }}.key\"\n")
	c.play(t, "site")
	if out := c.on(t, "worker1", "wc -l </etc/heddle-agent/agent.token"); out != "1\n" {
		t.Errorf("the agent has %s tokens, want 1", out)
	}
	healthy()
	if out := c.on(t, "harness", "openssl s_client -connect worker1:9177 -CAfile /etc/heddle/ca.pem </dev/null 2>&1"); !strings.Contains(out,
		"issuer=CN = of one's own") {
		t.Errorf("worker1 does not use the certificate that it was given:\n%s", out)
	}
	if after := began(); after != before {
		t.Errorf("agents have restarted: at %q, before at %q; the last playbook changed %s", after, before, c.lastChanged())
	}
	if strings.Contains(c.said.String(), token) {
		t.Error("ansible has printed the token")
	}
}

// certificates makes a CA, and a key and a certificate of each host, in a folder.
func (c *cluster) certificates(t *testing.T, dir string, names ...string) {
	t.Helper()
	script := `set -e
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=of one's own" -keyout ca.key -out ca.pem
for host in "$@"; do
  printf 'subjectAltName=DNS:%s\n' $host >$host.cnf
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$host -keyout $host.key -out $host.csr
  openssl x509 -req -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial -extfile $host.cnf -in $host.csr -out $host.pem
done`
	mustDo(t, os.Mkdir(dir, 0o700))
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", script, "certificates"}, names...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make certificates: %v\n%s", err, out)
	}
}

// testLabels: the playbook shows the labels that steering needs, and finds nothing
// to put back after a run that ended well.
func testLabels(t *testing.T, c *cluster) {
	for host, changed := range c.play(t, "labels") {
		if changed != 0 {
			t.Errorf("%s: to show labels has changed %d things", host, changed)
		}
	}
	if !strings.Contains(c.last(), "worker1") {
		t.Errorf("no label of worker1:\n%s", c.last())
	}
	for host, changed := range c.play(t, "labels", "-e", "heddle_labels=restore") {
		if changed != 0 {
			t.Errorf("%s: to put labels back has changed %d things; want none after a run that ended well\n%s", host, changed, c.last())
		}
	}
}

// testFaults: what doctor says of a node whose agent is gone, and of one whose disk
// is full. The clock is not among them: hosts on one machine share it.
func testFaults(t *testing.T, c *cluster) {
	c.on(t, "worker1", "systemctl kill --signal=KILL heddle-agent")
	c.until(t, "the killed agent is back", func() (string, bool) {
		out, _ := c.try("worker1", "systemctl is-active heddle-agent; systemctl show -P NRestarts heddle-agent")
		return out, strings.HasPrefix(out, "active\n") && !strings.HasSuffix(out, "\n0\n")
	})
	c.on(t, "worker1", "systemctl stop heddle-agent")
	report, _ := c.try("harness", asHeddle+"doctor --cluster /etc/heddle/cluster.yaml'")
	for _, want := range []string{"measured: no", "worker1", "systemctl status"} {
		if !strings.Contains(report, want) {
			t.Errorf("with an agent gone, doctor does not say %q:\n%s", want, report)
		}
	}
	c.on(t, "worker1", "systemctl start heddle-agent")

	c.on(t, "worker2", "mount -t tmpfs -o size=1m,uid=yarn tmpfs /var/lib/hadoop/yarn && head -c 1m /dev/zero >/var/lib/hadoop/yarn/full; true")
	defer c.on(t, "worker2", "umount -l /var/lib/hadoop/yarn")
	c.until(t, "doctor names the node whose disk is full", func() (string, bool) {
		report, _ = c.try("harness", asHeddle+"doctor --cluster /etc/heddle/cluster.yaml'")
		return report, strings.Contains(report, "worker2") && strings.Contains(report, "local-dirs")
	})
	t.Log(report)
}

// testJars: Hadoop also comes from a folder of jars. One host shows it, as ansible
// copies jar by jar.
func testJars(t *testing.T, c *cluster) {
	dir := filepath.Join(c.dir, "jars")
	mustDo(t, os.Mkdir(dir, 0o755))
	jars, tools, err := lab.Jars(t.Context())
	mustDo(t, err)
	c.run(t, "bash", "-c", `cp "$1"/*.jar "$2"/*.jar "$3" && cd "$3" && sha256sum *.jar >"$3.sha256"`, "jars", jars, tools, dir)
	write(t, filepath.Join(c.inventory, "group_vars/all/jars.yml"),
		fmt.Sprintf("hadoop_archive: \"\"\nhadoop_jars: %s\nhadoop_jars_sha256: %s.sha256\n", dir, dir))
	before := c.on(t, "harness", "readlink /opt/hadoop")
	// A jar that is not listed would be on the daemons' class path.
	write(t, filepath.Join(dir, "unlisted.jar"), "x")
	if out, err := c.tryPlay("site", "--limit", "harness", "--skip-tags", "labels"); err == nil || !strings.Contains(out, "unlisted.jar in ") {
		t.Errorf("a jar that is not listed: error %v\n%s", err, out)
	}
	mustDo(t, os.Remove(filepath.Join(dir, "unlisted.jar")))
	c.play(t, "site", "--limit", "harness", "--skip-tags", "labels")
	if after := c.on(t, "harness", "readlink /opt/hadoop"); after == before {
		t.Errorf("the harness host still uses %s", after)
	}
	if out := c.hadoop(t, "version"); !strings.HasPrefix(out, "Hadoop 3.4") {
		t.Errorf("hadoop version says %s", out)
	}
	c.hadoop(t, "fs -ls /heddle")
	if changed := c.play(t, "site", "--limit", "harness", "--skip-tags", "labels"); changed["harness"] != 0 {
		t.Errorf("the second run has changed %d things; want none\n%s", changed["harness"], c.lastChanged())
	}
}

const (
	password = "open sesame\n"
	asHeddle = "runuser -u heddle -- sh -c 'cd; exec heddle "
)

// newCluster brings up hosts, installs the collection, and writes an inventory.
func newCluster(t *testing.T) *cluster {
	c := begin(t)
	tree, err := filepath.Abs("..")
	if err == nil {
		err = os.Symlink(tree, filepath.Join(c.dir, "ansible"))
	}
	mustDo(t, err)
	c.archive, c.sum = archiveOf(t, c.dir)
	c.bringUp(t, hosts.Default())
	return c
}

// begin returns a cluster without hosts, with what all tests of one need: heddle's program,
// the vault's password and, on this machine, ansible and some more programs.
func begin(t *testing.T, programs ...string) *cluster {
	t.Helper()
	labtest.Need(t)
	labtest.Long(t)
	if err := hosts.Preflight(); err != nil {
		lacks(t, err)
	}
	for _, program := range append(programs, "ansible-playbook") {
		if _, err := exec.LookPath(program); err != nil {
			lacks(t, fmt.Errorf("%w: install what ansible/tests/requirements.txt lists; krb5kdc and kadmin.local are in krb5-kdc and krb5-admin-server", err))
		}
	}
	c := &cluster{dir: t.TempDir()}
	c.inventory = filepath.Join(c.dir, "blue")
	program := must(os.ReadFile(labtest.Binary(t)))
	c.binary = filepath.Join(c.dir, "heddle") // other tests build theirs anew while playbooks install this one
	write(t, c.binary, string(program))
	write(t, filepath.Join(c.dir, "password"), password)
	return c
}

// edit makes the example's inventory one of the test's hosts, as its owner does with
// an editor.
func (c *cluster) edit(t *testing.T) {
	t.Helper()
	for from, to := range map[string]string{"testdata/inventory.yml": "hosts.yml", c.hosts.Inventory(): "ssh.yml"} {
		text := must(os.ReadFile(from))
		write(t, filepath.Join(c.inventory, to), string(text))
	}
	write(t, filepath.Join(c.inventory, "group_vars/all/files.yml"),
		fmt.Sprintf("heddle_binary: %s\nhadoop_archive: %s\nhadoop_archive_sha256: %s\n", c.binary, c.archive, c.sum))
	c.setProperty(t, "")
}

func lacks(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("HEDDLE_LAB") == "require" {
		t.Fatalf("HEDDLE_LAB=require: %v", err)
	}
	t.Skip(err)
}

// archiveOf returns the path and the SHA-256 of an archive of Hadoop:
// HEDDLE_HADOOP_ARCHIVE, if that names one, such as Apache's own with its commands,
// or else one made of the lab's jars.
func archiveOf(t *testing.T, dir string) (path, sum string) {
	t.Helper()
	path = os.Getenv("HEDDLE_HADOOP_ARCHIVE")
	if path == "" {
		path = filepath.Join(dir, "hadoop.tar")
		return path, pack(t, path, nil)
	}
	file := must(os.Open(path))
	defer file.Close()
	hash := sha256.New()
	must(io.Copy(hash, file))
	return path, hex.EncodeToString(hash.Sum(nil))
}

// pack makes an archive of Hadoop as Apache's is laid out, of the jars of the lab and,
// if it is not nil, the native library, and returns its SHA-256.
func pack(t *testing.T, path string, library []byte) string {
	t.Helper()
	jars, tools, err := lab.Jars(t.Context())
	mustDo(t, err)
	file := must(os.Create(path))
	defer file.Close()
	sum := sha256.New()
	archive := tar.NewWriter(io.MultiWriter(file, sum))
	add := func(name string, data []byte) {
		err := archive.WriteHeader(&tar.Header{Name: "hadoop/" + name, Mode: 0o644, Size: int64(len(data))})
		if err == nil {
			_, err = archive.Write(data)
		}
		mustDo(t, err)
	}
	if library != nil {
		add("lib/native/libhadoop.so", library)
	}
	for _, folder := range []string{jars, tools} {
		list, err := filepath.Glob(filepath.Join(folder, "*.jar"))
		if err != nil || len(list) == 0 {
			t.Fatalf("no jars in %s: %v", folder, err)
		}
		for _, jar := range list {
			name := filepath.Base(jar)
			to := "common/lib"
			if strings.HasPrefix(name, "hadoop-mapreduce-examples") {
				to = "mapreduce"
			} else if strings.HasPrefix(name, "hadoop-streaming") {
				to = "tools/lib"
			}
			data := must(os.ReadFile(jar))
			add("share/hadoop/"+to+"/"+name, data)
		}
	}
	mustDo(t, archive.Close())
	return hex.EncodeToString(sum.Sum(nil))
}

// setProperty writes the user's settings, with one more line for yarn-site.xml.
func (c *cluster) setProperty(t *testing.T, line string) {
	t.Helper()
	text := must(os.ReadFile("testdata/main.yml"))
	if line != "" {
		line = "    " + line + "\n"
	}
	write(t, filepath.Join(c.inventory, "group_vars/all/main.yml"), strings.Replace(string(text), "    # one more\n", line, 1))
}

var recap = regexp.MustCompile(`(?m)^(\w+) +: ok=\d+ +changed=(\d+)`)

// tryPlay runs a playbook that may fail, and returns what it prints.
func (c *cluster) tryPlay(name string, args ...string) (string, error) {
	cmd := exec.Command("ansible-playbook", append([]string{
		"-i", c.inventory, "--vault-password-file", filepath.Join(c.dir, "password"),
		"heddle.cluster." + name,
	}, args...)...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// play runs a playbook of the collection, and returns how many changes it made on
// each host.
func (c *cluster) play(t *testing.T, name string, args ...string) map[string]int {
	t.Helper()
	fmt.Fprintf(&c.said, "\nPLAYBOOK %s\n", name)
	out := c.run(t, "ansible-playbook", append([]string{
		"-i", c.inventory, "--vault-password-file", filepath.Join(c.dir, "password"),
		"heddle.cluster." + name,
	}, args...)...)
	changed := changes(out)
	if len(changed) == 0 {
		t.Fatalf("playbook %s did nothing:\n%s", name, out)
	}
	return changed
}

// changes returns how many changes a playbook made on each host, by what it printed.
func changes(out string) map[string]int {
	changed := map[string]int{}
	for _, m := range recap.FindAllStringSubmatch(out, -1) {
		n := 0
		fmt.Sscan(m[2], &n)
		changed[m[1]] = n
	}
	return changed
}

// last returns what the last playbook printed.
func (c *cluster) last() string {
	said := c.said.String()
	return said[strings.LastIndex(said, "\nPLAYBOOK "):]
}

// lastChanged returns the tasks with changes of the last playbook.
func (c *cluster) lastChanged() string {
	var task string
	var found []string
	for line := range strings.Lines(c.last()) {
		if strings.HasPrefix(line, "TASK") || strings.HasPrefix(line, "RUNNING") {
			task = line
		}
		if strings.HasPrefix(line, "changed:") && !slices.Contains(found, task) {
			found = append(found, task)
		}
	}
	return strings.Join(found, "")
}

func (c *cluster) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	c.said.Write(out)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// on runs a shell's command line on a host as root, and returns what it prints.
func (c *cluster) on(t *testing.T, host, line string) string {
	t.Helper()
	out, err := c.try(host, line)
	if err != nil {
		t.Fatalf("%s: %s: %v\n%s", host, line, err, out)
	}
	return out
}

func (c *cluster) try(host, line string) (string, error) {
	cmd := c.hosts.Command(context.Background(), host, line)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said.String())
	}
	return string(out), err
}

func (c *cluster) hadoop(t *testing.T, args string) string {
	t.Helper()
	return c.on(t, "harness", "runuser -u heddle -- /opt/hadoop/bin/hadoop "+args)
}

func (c *cluster) put(t *testing.T, host, path, text string) {
	t.Helper()
	cmd := c.hosts.Command(t.Context(), host, "cat >"+path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %s on %s: %v\n%s", path, host, err, out)
	}
}

// until waits for what done looks for, a minute at most.
func (c *cluster) until(t *testing.T, what string, done func() (string, bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		got, ok := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("wait until %s: %v\n%s", what, ctx.Err(), got)
		case <-tick.C:
		}
	}
}

// state describes what is on a host: files, users, groups, units, mounts and
// processes. Left out is what changes by itself, and what belongs to ssh and
// ansible.
func (c *cluster) state(t *testing.T, host string) string {
	t.Helper()
	out := c.on(t, host, `
find /etc /home /opt /root /srv /usr/lib/systemd /usr/local /var -xdev \
	\( -path /var/log/journal -o -path /root/.ansible -o -path /var/lib/dpkg \) -prune -o -print
ls -A / | sed 's/^/top /'
ls -A /run /etc/systemd/system | sed 's/^/listed /'
getent passwd; getent group
systemctl list-unit-files --no-legend --no-pager
cut -d' ' -f2,3 /proc/mounts
ps -e -o user=,args= | grep -E 'java|heddle|hadoop' | grep -v grep || true`)
	// Ansible asks rpm, where a host has it, which manager of packages is in use: rpm then
	// makes its .rpmdb.
	ignored := regexp.MustCompile(`systemd-private|^/var/lib/systemd|^/root/\.(cache|java|rpmdb)|^listed (motd|user|sshd|utmp|systemd)|ssh|/run/user|-scope|session-|user-runtime|python|__pycache__`)
	var lines []string
	for line := range strings.Lines(out) {
		if !ignored.MatchString(line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// find calls visit with each key and value in decoded JSON.
func find(value any, visit func(string, any)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			visit(key, inner)
			find(inner, visit)
		}
	case []any:
		for _, inner := range v {
			find(inner, visit)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
	mustDo(t, os.WriteFile(path, []byte(text), 0o600))
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
