//go:build linux

package tests

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/ansible/tests/hosts"
)

// TestMarks tries on two hosts without Hadoop what site and teardown do to users,
// folders and firewalls: those that others have made stay as they are.
func TestMarks(t *testing.T) {
	c := newHosts(t, "worker", "bench")
	for _, part := range []struct {
		name string
		test func(*testing.T, *cluster)
	}{
		{"users and folders", testMarks},
		{"folders of the system", testSystemFolders},
		{"nftables", testTable},
		{"firewalld", testZone},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, c) })
	}
}

// newHosts brings up hosts, the first of which are a cluster's and the last the harness
// host.
func newHosts(t *testing.T, names ...string) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs hosts, which take longer than -short allows")
	}
	if err := hosts.Preflight(); err != nil {
		lacks(t, err)
	}
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		lacks(t, fmt.Errorf("%w: install what ansible/tests/requirements.txt lists", err))
	}
	c := &cluster{dir: t.TempDir()}
	c.bringUp(t, names)
	c.inventory = filepath.Join(c.dir, "inventory")
	master := names[0]
	write(t, filepath.Join(c.inventory, "hosts.yml"), fmt.Sprintf(`hadoop: {children: {namenode: , resourcemanager: , historyserver: , workers: }}
namenode: {hosts: {%s: }}
resourcemanager: {hosts: {%[1]s: }}
historyserver: {hosts: {%[1]s: }}
workers: {hosts: {%[1]s: }}
harness: {hosts: {%s: }}
`, master, names[len(names)-1]))
	ssh := must(os.ReadFile(c.hosts.Inventory()))
	write(t, filepath.Join(c.inventory, "ssh.yml"), string(ssh))
	c.run(t, "ansible-galaxy", "collection", "install", "..", "-p", filepath.Join(c.dir, "collections"))
	return c
}

// role runs a file of tasks of the role hadoop on the worker, and returns how many
// changes it made and what it said.
func (c *cluster) role(t *testing.T, tasks, vars string) (changed int, said string, err error) {
	t.Helper()
	book := filepath.Join(c.dir, "book.yml")
	write(t, book, fmt.Sprintf(`- hosts: workers
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: heddle.cluster.hadoop, tasks_from: %s}
      vars: %s
`, tasks, vars))
	cmd := exec.CommandContext(t.Context(), "ansible-playbook", "-i", c.inventory, book)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return changes(string(out))["worker"], string(out), err
}

func (c *cluster) mustRole(t *testing.T, tasks, vars string) int {
	t.Helper()
	changed, said, err := c.role(t, tasks, vars)
	if err != nil {
		t.Fatalf("%s: %v\n%s", tasks, err, said)
	}
	return changed
}

func testMarks(t *testing.T, c *cluster) {
	c.on(t, "worker", "useradd --create-home --uid 1500 alice && touch /home/alice/theirs && mkdir /srv/theirs && touch /srv/theirs/file")
	before := c.state(t, "worker")
	const folders = "{hadoop_made_folders: [[/srv/theirs, alice, alice, '0755'], [/srv/made, made, made, '0750'], [/srv/made/inner, made, made, '0700']]}"
	for _, want := range []int{1 + 1 + 1, 0} { // the user; the folders; their marks
		changed := 0
		for _, user := range []string{"alice", "made"} {
			changed += c.mustRole(t, "user", "{hadoop_made_user: "+user+"}")
		}
		if changed += c.mustRole(t, "folders", folders); changed != want {
			t.Errorf("changed %d things, want %d", changed, want)
		}
	}
	if out := c.on(t, "worker", "getent passwd alice; cat /srv/made/.made*; ls -A /srv/theirs /srv/made/inner"); !strings.Contains(out,
		"alice:x:1500:1500::/home/alice") ||
		!strings.Contains(out, "teardown removes this folder") || strings.Count(out, ".made") != 1 {
		t.Errorf("the host has\n%s", out)
	}
	for range 2 {
		for _, user := range []string{"alice", "made"} {
			c.mustRole(t, "remove_user", "{hadoop_made_user: "+user+"}")
		}
		c.mustRole(t, "remove_folders", "{hadoop_made_folders: [/srv/made/inner, /srv/made, /srv/theirs, /srv/none]}")
		if after := c.state(t, "worker"); after != before {
			t.Errorf("the host is not as it was:\n%s\nwant\n%s", after, before)
		}
	}
}

func testSystemFolders(t *testing.T, c *cluster) {
	before := c.state(t, "worker")
	for _, folder := range []string{
		"/", "/home", "/var/log", "/var/log/", "/etc", "/var/lib/../log", "var/log", "/srv//x", "/usr/local/bin",
		"/srv/-rf", "/srv/a b", "/srv/x\\nroot",
	} {
		if _, said, err := c.role(t, "folders", `{hadoop_made_folders: [["`+folder+`", root, root, '0777']]}`); err == nil ||
			!strings.Contains(said, "no folder that a daemon may have for itself") {
			t.Errorf("%q: error %v\n%s", folder, err, said)
		}
	}
	// Even a mark does not make these teardown's.
	c.on(t, "worker", "touch /var/log/.made-by-heddle-cluster")
	c.mustRole(t, "remove_folders", "{hadoop_made_folders: [/var/log, /var/lib/../log, /var/log/]}")
	c.on(t, "worker", "rm /var/log/.made-by-heddle-cluster")
	if after := c.state(t, "worker"); after != before {
		t.Errorf("the host is not as it was:\n%s\nwant\n%s", after, before)
	}
}

// reaches says whether this machine, which is not in the inventory, gets a connection to
// the worker's port 8088.
func (c *cluster) reaches() bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(c.hosts.Address("worker").String(), "8088"), 2*time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func testTable(t *testing.T, c *cluster) {
	if _, err := exec.LookPath("nft"); err != nil {
		lacks(t, err)
	}
	c.on(t, "worker", "mkdir -p /etc/hadoop && systemd-run --quiet --unit=listens python3 -m http.server 8088")
	const fromBench = "bash -c 'exec 3<>/dev/tcp/worker/8088'"
	c.until(t, "the worker listens", func() (string, bool) {
		out, err := c.try("bench", fromBench)
		return out, err == nil
	})
	if !c.reaches() {
		t.Fatal("no connection without a table")
	}
	for _, want := range []int{3, 0} { // the table, its unit, its start
		if changed := c.mustRole(t, "firewall", "{}"); changed != want {
			t.Errorf("changed %d things, want %d", changed, want)
		}
		if c.reaches() {
			t.Error("a host that the inventory does not have reaches the port")
		}
		c.on(t, "bench", fromBench)
	}
	own := fmt.Sprintf("{hadoop_clients: [10.%d.0.254]}", c.hosts.Network)
	c.mustRole(t, "firewall", own)
	if !c.reaches() {
		t.Error("one of hadoop_clients does not reach the port")
	}
	c.mustRole(t, "firewall", "{}")
	c.mustRole(t, "teardown", "{}")
	if out := c.on(t, "worker", "nft list ruleset; ls /etc/systemd/system"); strings.Contains(out, "hadoop") {
		t.Errorf("after teardown there is\n%s", out)
	}
	if !c.reaches() {
		t.Error("no connection after teardown")
	}
}

// zones stands in for firewalld's command: it keeps sources in a file of each zone.
const zones = `#!/bin/sh
set -eu
cd /var/lib/zones
[ "$1" = --state ] && exit 0
[ "$1" = --reload ] && { touch reloaded; exit 0; }
shift
case $1 in
--get-zones) ls zone ;;
--new-zone=*) touch "zone/${1#*=}" ;;
--delete-zone=*) rm "zone/${1#*=}" ;;
*)
  file=zone/${1#*=}
  [ -e "$file" ] || exit 112
  case $2 in
  --list-sources) tr '\n' ' ' <"$file" ;;
  --set-target=ACCEPT) touch accepts ;;
  --add-source=*) echo "${2#*=}" >>"$file" ;;
  --remove-source=*) grep -vx "${2#*=}" "$file" >new || true; mv new "$file" ;;
  esac ;;
esac
`

func testZone(t *testing.T, c *cluster) {
	c.on(t, "worker", "mkdir -p /var/lib/zones/zone && touch /var/lib/zones/zone/public")
	c.put(t, "worker", "/usr/local/bin/firewall-cmd", zones)
	c.on(t, "worker", "chmod 755 /usr/local/bin/firewall-cmd")
	look := func() string {
		return c.on(t, "worker", "cd /var/lib/zones; ls; ls zone; sort zone/heddle; rm -f reloaded")
	}
	cluster := fmt.Sprintf("%s\n%s\n", c.hosts.Address("worker"), c.hosts.Address("bench"))
	for _, step := range []struct {
		vars    string
		changed int
		want    string
	}{
		{"{}", 4, "accepts\nreloaded\nzone\nheddle\npublic\n" + cluster}, // new zone, target, sources, reload
		{"{}", 0, "accepts\nzone\nheddle\npublic\n" + cluster},
		{"{hadoop_clients: [192.0.2.0/24]}", 2, "accepts\nreloaded\nzone\nheddle\npublic\n" + cluster + "192.0.2.0/24\n"},
		{"{}", 2, "accepts\nreloaded\nzone\nheddle\npublic\n" + cluster},
	} {
		if changed := c.mustRole(t, "firewall", step.vars); changed != step.changed {
			t.Errorf("%s: changed %d things, want %d", step.vars, changed, step.changed)
		}
		if got := look(); got != step.want {
			t.Errorf("%s: the zones are\n%s\nwant\n%s", step.vars, got, step.want)
		}
	}
	c.mustRole(t, "teardown", "{}")
	if out := c.on(t, "worker", "cd /var/lib/zones; ls zone"); out != "public\n" {
		t.Errorf("after teardown there are the zones\n%s", out)
	}
}

// bringUp brings hosts up until the test ends.
func (c *cluster) bringUp(t *testing.T, names []string) {
	t.Helper()
	set := filepath.Join(c.dir, "hosts")
	var err error
	if c.hosts, err = hosts.Up(t.Context(), set, names); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hosts.Down(context.Background(), set); err != nil {
			t.Error(err)
		}
	})
	c.env = append(os.Environ(), "ANSIBLE_COLLECTIONS_PATH="+filepath.Join(c.dir, "collections"), "ANSIBLE_PIPELINING=1",
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCAL_TEMP="+filepath.Join(c.dir, "tmp"))
}
