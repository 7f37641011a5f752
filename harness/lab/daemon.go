package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/internal/units"
)

// daemon is a kind of process that a lab keeps running on a node.
type daemon string

// The daemons of a lab. The values are the names by which heddle's commands
// accept and print them.
const (
	nameNode        daemon = "namenode"
	dataNode        daemon = "datanode"
	resourceManager daemon = "resourcemanager"
	nodeManager     daemon = "nodemanager"
	historyServer   daemon = "historyserver"
	agent           daemon = "agent"
	kdc             daemon = "kdc"

	// these run only with Config.HA
	failoverController daemon = "zkfc"
	journalNode        daemon = "journalnode"
	zooKeeper          daemon = "zookeeper"
)

// jvms gives, for each Hadoop daemon, the main class and the heap size of its
// JVM.
var jvms = map[daemon]struct {
	main   string
	heapMB int
}{
	nameNode:        {"org.apache.hadoop.hdfs.server.namenode.NameNode", 256},
	dataNode:        {"org.apache.hadoop.hdfs.server.datanode.DataNode", 160},
	resourceManager: {"org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", 384},
	nodeManager:     {"org.apache.hadoop.yarn.server.nodemanager.NodeManager", 160},
	historyServer:   {"org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 192},

	failoverController: {"org.apache.hadoop.hdfs.tools.DFSZKFailoverController", 96},
	journalNode:        {"org.apache.hadoop.hdfs.qjournal.server.JournalNode", 128},
	zooKeeper:          {"org.apache.zookeeper.server.ZooKeeperServerMain", 96},
}

// Resources of the NodeManager on the lab's master: enough for eight
// ApplicationMasters. More would be slower on a few cores: each is a JVM that
// needs seconds of a core to start, and until then sends no heartbeat. Further
// jobs wait until one of them ends. YARN counts this memory in the headroom of
// jobs, see config.Machines.
const (
	amNodeMB     = 4096
	amNodeVCores = 16
)

// jvmFlags make JVMs small and quick to start, since a lab runs a dozen of
// them on perhaps two cores.
var jvmFlags = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"}

// javaOpens are the JVM flags that let Hadoop use private parts of the Java
// library. Java 17 forbids this otherwise.
var javaOpens = func() []string {
	var flags []string
	for p := range strings.FieldsSeq("java.io java.lang java.lang.reflect java.math java.net java.nio java.text java.util " +
		"java.util.concurrent java.util.zip sun.nio.ch sun.security.util sun.security.x509 sun.net.dns sun.net.util") {
		flags = append(flags, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return flags
}()

// enterScript returns a shell script that runs a command on a lab node: with
// the node's control groups, network, hosts file and host name. Each step of
// the script replaces its process by the next, so the process id stays the
// same.
func (l *Lab) enterScript(n node) []byte {
	var join strings.Builder
	for _, dir := range l.cgroups.dirs(l.cgroup(n.name)) {
		fmt.Fprintf(&join, " %s", dir)
	}
	mounts := []string{"hosts", "nsswitch.conf"}
	if l.Cfg.Kerberos {
		mounts = append(mounts, "krb5.conf")
	}
	for i, name := range mounts {
		mounts[i] = fmt.Sprintf("mount --bind %s/%s /etc/%[2]s", l.root, name)
	}
	return fmt.Appendf(nil, `#!/bin/sh
# Runs a command on node %[1]s of the lab %[2]s.
for group in%[3]s; do echo $$ >$group/cgroup.procs || exit 125; done
exec nsenter --net=%[4]s/%[5]s unshare --mount --uts --propagation slave sh -c '
	%[6]s || exit 125
	echo %[1]s >/proc/sys/kernel/hostname
	exec "$@"' sh "$@"
`, n.name, l.Name, join.String(), namespaceFolder, l.namespace(n.name), strings.Join(mounts, " && "))
}

// Command returns a command that runs on a lab node as if after a login there.
// The command has the node's network, host name, hosts file and limits, and
// finds Hadoop's commands on the PATH.
func (l *Lab) Command(ctx context.Context, node string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.nodePath(node, "enter"), argv...)
	cmd.Env = append(os.Environ(), l.Env()...)
	if _, err := l.node(node); err != nil {
		cmd.Err = err
	}
	return cmd
}

// Env returns environment variables, as "NAME=value". A shell that sets them
// runs its Hadoop commands on this lab.
func (l *Lab) Env() []string {
	env := []string{
		"HADOOP_HOME=" + l.path("home"),
		"HADOOP_CONF_DIR=" + l.path("conf"),
		"HADOOP_USER_NAME=" + hadoopUser,
		"JAVA_HOME=" + l.Java,
		"PATH=" + l.path("home", "bin") + ":" + os.Getenv("PATH"),
	}
	if l.Cfg.Kerberos {
		env = append(env, "KRB5_CONFIG="+l.path("krb5.conf"), "KRB5CCNAME="+l.path("tickets"))
	}
	return env
}

// argv returns the command line of a daemon. One of its arguments marks the
// daemon as belonging to this lab; see mark.
func (l *Lab) argv(n node, d daemon) []string {
	if d == agent {
		argv := []string{
			l.path("bin", "heddle"), "agent",
			"--listen", fmt.Sprintf("%s:%d", n.ip, portAgent),
			"--token-file", l.path("agent.token"),
			"--cgroup", l.cgroup(n.name), "--allow-drop-caches",
		}
		if n.rack == 0 && l.Cfg.Disk > 0 {
			for _, path := range l.programs() {
				argv = append(argv, "--resident", path)
			}
		}
		return argv
	}
	if d == kdc {
		return []string{sbin("krb5kdc"), "-n", "-r", realm, "-P", l.kdcMark()} // it stays in the foreground
	}
	mb, vcores := int(l.Cfg.Container/units.MiB)*l.Cfg.Slots, l.Cfg.Slots
	if n.rack == 0 {
		mb, vcores = amNodeMB, amNodeVCores
	}
	jvm := jvms[d]
	argv := append([]string{filepath.Join(l.Java, "bin", "java"), l.mark(n, d), fmt.Sprintf("-Xmx%dm", jvm.heapMB)}, jvmFlags...)
	argv = append(argv, l.archiveFlags()...)
	if d == nodeManager || d == historyServer {
		argv = append(argv, l.libraryFlags()...)
	}
	if recordClasses != "" {
		argv = append(argv, "-XX:DumpLoadedClassList="+filepath.Join(recordClasses, n.name+"-"+string(d)))
	}
	argv = append(argv, javaOpens...)
	argv = append(argv,
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.io.tmpdir="+l.nodePath(n.name, "tmp"),
		"-Dlab.node="+n.name, fmt.Sprintf("-Dlab.nm.mb=%d", mb), fmt.Sprintf("-Dlab.nm.vcores=%d", vcores),
		"-Dhadoop.home.dir="+l.path("home"), "-Dhadoop.log.dir="+l.nodePath(n.name, "log"), "-Dyarn.log.dir="+l.nodePath(n.name, "log"),
		"-cp", l.Classpath+":"+l.path("conf"), jvm.main)
	if d == zooKeeper {
		argv = append(argv, strconv.Itoa(portZK), l.nodePath(n.name, "zookeeper"))
	}
	return argv
}

func (l *Lab) mark(n node, d daemon) string {
	switch d {
	case agent:
		return l.cgroup(n.name)
	case kdc:
		return l.kdcMark()
	}
	return fmt.Sprintf("-Dheddle.daemon=%s/%s/%s", l.Name, n.name, d)
}

// startDaemon starts a daemon and does not wait until the daemon is ready.
func (l *Lab) startDaemon(n node, d daemon) error {
	log, err := os.OpenFile(l.logFile(n, d), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	argv := l.argv(n, d)
	if jvms[d].main != "" { // Hadoop's daemons do not run as root
		argv = append([]string{l.unprivileged()}, argv...)
	}
	cmd := exec.Command(l.nodePath(n.name, "enter"), argv...)
	cmd.Stdout, cmd.Stderr = log, log
	// The daemon gets its own session, so that ctrl-C at the terminal does not
	// end it. It gets its own environment, so that variables of the user's
	// shell do not change its settings.
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	cmd.Dir = l.nodePath(n.name, "tmp")
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
		"HOME=" + l.nodePath(n.name), "HADOOP_CONF_DIR=" + l.path("conf"), "HADOOP_USER_NAME=" + hadoopUser,
		"JAVA_HOME=" + l.containerJava(),
	}
	if d == kdc {
		cmd.Env = append(cmd.Env, l.kdcEnv()...)
	}
	keepFiles()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s on %s: %w", d, n.name, err)
	}
	// Wait for the daemon's end in the background. Otherwise a daemon that
	// dies while this process runs would stay a zombie.
	go func() { _ = cmd.Wait() }()
	return writeFile(l.pidFile(n, d), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644)
}

func (l *Lab) pidFile(n node, d daemon) string { return l.nodePath(n.name, "run", string(d)+".pid") }

func (l *Lab) logFile(n node, d daemon) string { return l.nodePath(n.name, "log", string(d)+".log") }

// pid returns the process id of a running daemon of the lab, or 0 if the daemon
// does not run.
func (l *Lab) pid(n node, d daemon) int {
	text, _ := os.ReadFile(l.pidFile(n, d))
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0
	}
	cmdline, err := commandLine(pid)
	if err != nil {
		return 0
	}
	if len(cmdline) == 0 {
		// A process's command line is empty if it is a zombie or a kernel
		// thread; these have no executable either. It is also empty for an
		// instant while a process that is just starting calls exec.
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			return 0
		}
		return pid
	}
	if !bytes.Contains(cmdline, []byte(l.mark(n, d)+"\x00")) {
		return 0
	}
	return pid
}

// commandLine returns the command line of a process, each argument ended by a zero
// byte. It is read in one call: between two, the process may have called exec, and
// what is joined of two command lines may lack an argument that both have.
func commandLine(pid int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	whole := make([]byte, 1<<18) // classpaths are long
	n, err := f.Read(whole)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return whole[:n], err
}

// Start starts a daemon of the lab unless it runs already. It does not wait
// until the daemon is ready.
func (l *Lab) Start(ctx context.Context, nodeName, daemonName string) error {
	n, d, err := l.find(nodeName, daemonName)
	if err != nil {
		return err
	}
	if l.pid(n, d) != 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return l.startDaemon(n, d)
}

// Kill sends a signal to a running daemon of the lab. After SIGKILL or SIGTERM
// it waits until the daemon's process has ended.
func (l *Lab) Kill(ctx context.Context, nodeName, daemonName string, signal unix.Signal) error {
	n, d, err := l.find(nodeName, daemonName)
	if err != nil {
		return err
	}
	pid := l.pid(n, d)
	if pid == 0 {
		return fmt.Errorf("kill %s on %s: it is not running", d, n.name)
	}
	if err := unix.Kill(pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill %s on %s: %w", d, n.name, err)
	}
	if signal != unix.SIGKILL && signal != unix.SIGTERM {
		return nil
	}
	err = until(ctx, func() bool { return l.pid(n, d) != pid })
	if err != nil {
		return fmt.Errorf("wait for %s on %s to end: %w", d, n.name, err)
	}
	return nil
}

// StartNode starts those daemons of a worker that do not run. It does not wait
// until they are ready.
func (l *Lab) StartNode(ctx context.Context, nodeName string) error {
	n, err := l.worker(nodeName)
	if err != nil {
		return err
	}
	for _, d := range l.daemonsOf(n) {
		if err := l.Start(ctx, n.name, string(d)); err != nil {
			return err
		}
	}
	return nil
}

// KillNode kills every process on a worker, containers included, as a power
// failure would. It returns when no process is left.
func (l *Lab) KillNode(ctx context.Context, nodeName string) error {
	n, err := l.worker(nodeName)
	if err != nil {
		return err
	}
	err = until(ctx, func() bool {
		left := l.cgroups.processes(l.cgroup(n.name))
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // ignore the error: the process may have ended since it was listed
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("wait for what runs on %s to end: %w", n.name, err)
	}
	return nil
}

// worker returns the worker with this name. It returns an error for the name
// of the master.
func (l *Lab) worker(name string) (node, error) {
	n, err := l.node(name)
	if err == nil && n.rack == 0 {
		err = fmt.Errorf("node %s is no worker; name one of its daemons, as 'heddle lab status' does", name)
	}
	return n, err
}

func (l *Lab) find(nodeName, daemonName string) (node, daemon, error) {
	n, err := l.node(nodeName)
	if err != nil {
		return node{}, "", err
	}
	var names []string
	for _, d := range l.daemonsOf(n) {
		if string(d) == daemonName {
			return n, d, nil
		}
		names = append(names, string(d))
	}
	return node{}, "", fmt.Errorf("node %s has no daemon %q; it has %s", n.name, daemonName, strings.Join(names, ", "))
}

// daemonsOf returns the daemons that run on a node, its heddle agent included.
func (l *Lab) daemonsOf(n node) []daemon {
	if l.hasAgents() {
		return append([]daemon{agent}, n.daemons...)
	}
	return n.daemons
}

// hasAgents reports whether the lab's nodes run heddle agents. They do if the
// lab was brought up with a heddle binary that has the agent command.
func (l *Lab) hasAgents() bool {
	_, err := os.Stat(l.path("agent.token"))
	return !errors.Is(err, fs.ErrNotExist)
}

// pollEvery is how often the lab is asked for what a command waits for.
const pollEvery = 50 * time.Millisecond
