package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/require"
)

// Manager is a ResourceManager of the lab's Hadoop without any other daemon, for nodes that
// are not the lab's. It listens on the loopback alone, runs as this user and ends with this
// process.
type Manager struct {
	// Web, Tracker and Scheduler are its addresses, "host:port": for REST, for
	// NodeManagers, and for ApplicationMasters.
	Web, Tracker, Scheduler string
	// Labels are the node labels of its queues, and that of parked nodes; none with the
	// Fair scheduler, which has no labels.
	Labels []string

	plan plan
	argv []string
	pid  int
	done chan struct{} // closed when its process has ended
}

// Host is a node of a Manager: its name and address, and its rack's number, 0 for none.
type Host struct {
	Name string
	IP   netip.Addr
	Rack int
}

// The Manager's heap is leastHeapMB, and one MB more for each nodesPerHeapMB nodes. With 1,000 nodes, some 40 MB are
// left after a collection of garbage.
const leastHeapMB, nodesPerHeapMB = 512, 2

// triples is how many jobs labels steer at a time. On 1,000 nodes the ResourceManager takes
// no longer to start with 64 than with 16.
const triples = 64

// NewManager fetches Hadoop unless the user's cache has it, and writes the settings of a
// ResourceManager into a folder. queues is its capacity-scheduler.xml, "" for the lab's queue with
// node labels. lastly are settings in yarn-site.xml that come last.
func NewManager(ctx context.Context, c Config, hosts []Host, folder, queues string, lastly map[string]string,
	say func(Event),
) (*Manager, error) {
	saved, dist, err := programs(ctx, c, say)
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.Abs(folder); err == nil && !safePath.MatchString(folder) {
		err = fmt.Errorf("folder %q: Hadoop needs a path of letters, digits and ._+@-", folder)
	}
	if err != nil {
		return nil, err
	}
	m := &Manager{plan: plan{savedPlan: saved, root: folder, triples: triples, queues: queues}}
	local := &strings.Builder{}
	fmt.Fprintln(local, "127.0.0.1 localhost")
	if own, err := os.Hostname(); err == nil {
		fmt.Fprintln(local, "127.0.0.1", own)
	}
	for _, h := range hosts {
		m.plan.nodes = append(m.plan.nodes, node{name: h.Name, rack: h.Rack, ip: h.IP})
		fmt.Fprintln(local, h.IP, h.Name)
	}
	if m.plan.labels() {
		m.Labels = append(m.plan.queueLabels(), require.Parking)
	}
	if err := m.write(local.String(), lastly); err != nil {
		return nil, fmt.Errorf("write the ResourceManager's settings: %w", err)
	}
	heap := fmt.Sprintf("-Xmx%dm", leastHeapMB+len(hosts)/nodesPerHeapMB)
	m.argv = append([]string{filepath.Join(saved.Java, "bin", "java"), heap}, jvmFlags...)
	m.argv = append(m.argv, (&Lab{plan: m.plan}).archiveFlags()...)
	m.argv = append(m.argv, javaOpens...)
	m.argv = append(m.argv,
		"-Djava.net.preferIPv4Stack=true", "-Djdk.net.hosts.file="+m.plan.path("hosts"), "-Dsun.net.inetaddr.ttl=-1",
		"-Djava.io.tmpdir="+m.plan.path("tmp"), "-cp", dist.classpath+":"+m.plan.path("conf"), jvms[resourceManager].main)
	return m, nil
}

// freeAddress returns an address of this machine at which nobody listens at the ports.
func freeAddress(ports ...int) (string, error) {
	const tries = 20
	var err error
	for range tries {
		ip := fmt.Sprintf("127.1.%d.%d", rand.IntN(256), 1+rand.IntN(254))
		err = nil
		for _, port := range ports {
			l, lerr := net.Listen("tcp", fmt.Sprintf("%s:%d", ip, port))
			if lerr == nil {
				lerr = l.Close()
			}
			err = errors.Join(err, lerr)
		}
		if err == nil {
			return ip, nil
		}
	}
	return "", fmt.Errorf("find a free address for the ResourceManager: %w", err)
}

// write writes the ResourceManager's files. It gets an address of its own, and Hadoop's ports.
func (m *Manager) write(hosts string, lastly map[string]string) error {
	files, err := m.plan.hadoopConf()
	if err != nil {
		return err
	}
	const rm = "yarn.resourcemanager."
	const scheduler, tracker, clients, admin = 8030, 8031, 8032, 8033
	ip, err := freeAddress(portRM, scheduler, tracker, clients, admin)
	if err != nil {
		return err
	}
	at := func(port int) string { return fmt.Sprintf("%s:%d", ip, port) }
	m.Web, m.Tracker, m.Scheduler = at(portRM), at(tracker), at(scheduler)
	own := map[string]string{rm + "hostname": ip, rm + "bind-host": ip}
	maps.Copy(own, lastly)
	files["core-site.xml"] = withProperties(files["core-site.xml"], map[string]string{"fs.defaultFS": "file:///"})
	files["yarn-site.xml"] = withProperties(files["yarn-site.xml"], own)
	files["log4j.properties"] = bytes.Replace(files["log4j.properties"], []byte("=INFO,"), []byte("=WARN,"), 1)
	for _, folder := range []string{m.plan.path("conf"), m.plan.path("tmp"), m.plan.nodePath("master")} {
		err = errors.Join(err, os.MkdirAll(folder, 0o700))
	}
	for name, data := range files {
		err = errors.Join(err, writeFile(m.plan.path("conf", name), data, 0o600))
	}
	return errors.Join(err, writeFile(m.plan.path("hosts"), []byte(hosts), 0o600))
}

// withProperties adds properties to a Hadoop configuration file. Of two values of a
// property, Hadoop takes the last.
func withProperties(file []byte, properties map[string]string) []byte {
	var lines strings.Builder
	for name, value := range properties {
		fmt.Fprintf(&lines, "%s=%s\n", name, value)
	}
	_, more, _ := bytes.Cut(propertiesXML(lines.String()), []byte("<configuration>\n"))
	before, _, _ := bytes.Cut(file, []byte("</configuration>"))
	return append(bytes.Clone(before), more...)
}

// Start starts the ResourceManager. It does not wait until it answers.
func (m *Manager) Start() error {
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(m.argv[0], m.argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.SysProcAttr = log, log, m.plan.path("tmp"), endsWithParent()
	started := make(chan error)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // a process ends with the thread that has started it
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start the ResourceManager: %w", err)
	}
	m.pid, m.done = cmd.Process.Pid, done
	return nil
}

// Died returns an error if the ResourceManager has ended, with the end of its log.
func (m *Manager) Died() error {
	select {
	case <-m.done:
	default:
		return nil
	}
	text, _ := os.ReadFile(m.log())
	return &DaemonError{Node: "this machine", Daemon: string(resourceManager), Log: m.log(), Last: endOfLog(text)}
}

// Done returns a channel that is closed when the ResourceManager has ended.
func (m *Manager) Done() <-chan struct{} { return m.done }

// Stop ends the ResourceManager with a signal, and after a while by force.
func (m *Manager) Stop(signal unix.Signal) {
	if m.done == nil {
		return
	}
	_ = unix.Kill(m.pid, signal) // it may have ended
	select {
	case <-m.done:
	case <-time.After(5 * time.Second):
		_ = unix.Kill(m.pid, unix.SIGKILL)
		<-m.done
	}
}

func (m *Manager) log() string { return m.plan.path("resourcemanager.log") }
