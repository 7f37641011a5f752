package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Event is one step of bringing a lab up, to be shown to a user.
type Event struct {
	Node   string        // the node that this step of bringing the lab up is about; empty for a step of the whole lab
	Daemon string        // the daemon that this step of bringing the lab up is about; empty if there is none
	What   string        // what happened in this step of bringing the lab up, such as "ready"
	After  time.Duration // time from the call of Up to this step
}

// String returns the step of bringing a lab up as one line of text.
func (e Event) String() string {
	who := strings.TrimSpace(e.Node + " " + e.Daemon)
	if who != "" {
		who = fmt.Sprintf("%-22s ", who)
	}
	return fmt.Sprintf("%5.1fs  %s%s", e.After.Seconds(), who, e.What)
}

// upLimit is how long Up waits for the lab's daemons. On two idle cores they
// take 5 to 15 s to start.
const upLimit = 4 * time.Minute

// Up brings a lab up and returns when the lab can take jobs: DataNodes and
// NodeManagers are registered, HDFS is out of safe mode, and the node labels
// exist. If the lab is up already, Up returns at once. If only part of it is
// up, Up completes it or builds it again. If ctx ends or a daemon dies, Up
// takes down what it started.
//
// The error is a *MissingError if this machine cannot run a lab, and contains
// a *DaemonError if a daemon died. progress may be nil.
func Up(ctx context.Context, c Config, progress func(Event)) (*Lab, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("bring lab up: %w", err)
	}
	if err := Preflight(c); err != nil {
		return nil, err
	}
	began := time.Now()
	say := func(e Event) {
		if e.After = time.Since(began); progress != nil {
			progress(e)
		}
	}
	unlock, err := lock(ctx, c.Name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	// The lab's daemons do not run as root, and must be able to read what root
	// writes for them.
	defer unix.Umask(unix.Umask(0o022))

	l, err := Open(c.Name)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return nil, err
	case l.running() && !sameConfig(l.Cfg, c):
		return nil, fmt.Errorf("bring lab %s up: it is up with other settings (%s); 'heddle lab down --name %s' first",
			c.Name, differences(l.Cfg, c), c.Name)
	case l.machinesExist() && sameConfig(l.Cfg, c):
		// Network and control groups of the lab exist, so start only the
		// daemons that are missing.
		if err := l.startMissing(ctx, say); err != nil {
			return nil, err
		}
		return l, nil
	case l.hasData():
		if err := l.fits(c); err != nil {
			return nil, err
		}
	}

	l, err = prepare(ctx, c, say)
	if err != nil {
		return nil, fmt.Errorf("bring lab %s up: %w", c.Name, err)
	}
	if err := l.build(ctx, c, say); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted, and taken down again: %w", ctx.Err())
		}
		return nil, fmt.Errorf("bring lab %s up: %w", c.Name, errors.Join(err, l.down(clean, false)))
	}
	return l, nil
}

// fits refuses settings that the data in the lab's HDFS cannot be kept with.
func (l *Lab) fits(c Config) error {
	switch {
	case c.HA != l.Cfg.HA:
		return fmt.Errorf("bring lab %s up with ha %v: its HDFS was made with ha %v; 'heddle lab down --purge --name %s' drops it",
			c.Name, c.HA, l.Cfg.HA, c.Name)
	case c.Hadoop != l.Cfg.Hadoop:
		return fmt.Errorf("bring lab %s up with Hadoop %s: its HDFS was made with %s; 'heddle lab down --purge --name %s' drops it",
			c.Name, c.Hadoop, l.Cfg.Hadoop, c.Name)
	case c.Nodes < l.Cfg.Nodes:
		return fmt.Errorf("bring lab %s up with %d nodes: its HDFS has data on %d; 'heddle lab down --purge --name %s' drops it",
			c.Name, c.Nodes, l.Cfg.Nodes, c.Name)
	}
	return nil
}

// programs finds Hadoop and Java, and their class-data archive if it is wanted.
func programs(ctx context.Context, c Config, say func(Event)) (saved savedPlan, dist distribution, err error) {
	if dist, err = findDistribution(ctx, c, say); err != nil {
		return saved, dist, err
	}
	java, err := javaHome(c.release())
	if err != nil {
		return saved, dist, err
	}
	saved = savedPlan{Cfg: c, Classpath: dist.classpath, Java: java}
	if c.CDS {
		saved.Archive = classArchive(ctx, dist, java, say)
	}
	return saved, dist, nil
}

// prepare does the first steps of Up, which start no process: it finds Hadoop,
// Java and a free network, and saves the plan of the lab.
func prepare(ctx context.Context, c Config, say func(Event)) (*Lab, error) {
	saved, dist, err := programs(ctx, c, say)
	if err != nil {
		return nil, err
	}
	root, err := stateFolder(c.Name)
	if err != nil {
		return nil, err
	}
	unlock, err := lockFile(ctx, filepath.Join(filepath.Dir(root), ".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if saved.Network, err = pickNetwork(root); err != nil {
		return nil, err
	}
	l, err := open(root, saved)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(root, 0o755), l.save()); err != nil {
		return nil, err
	}
	return l, l.writeHome(dist)
}

// pickNetwork picks the address range of the lab. It keeps the range from the
// lab's last start, unless this machine now uses that range for something else.
// It never picks the range of another lab.
func pickNetwork(root string) (int, error) {
	// First remove network devices that a killed Up has left: they would make
	// the lab's own address range look taken.
	if err := removeNetwork(filepath.Base(root)); err != nil {
		return 0, err
	}
	var taken []int
	plans, _ := filepath.Glob(filepath.Join(filepath.Dir(root), "*", "lab.json"))
	had := 0
	for _, path := range plans {
		var saved savedPlan
		data, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(data, &saved) != nil {
			continue
		}
		if filepath.Dir(path) == root {
			had = saved.Network
		} else {
			taken = append(taken, saved.Network)
		}
	}
	for {
		network, err := freeNetwork(had, taken)
		if err != nil || !userExists(uidOf(network)) {
			return network, err
		}
		taken = append(taken, network) // the lab's tasks would have the rights of that user
	}
}

// build makes the lab's nodes and starts Hadoop on them.
func (l *Lab) build(ctx context.Context, c Config, say func(Event)) error {
	if err := l.down(ctx, false); err != nil {
		return fmt.Errorf("clear what is left of it: %w", err)
	}
	if err := l.writeFiles(c); err != nil {
		return err
	}
	if err := l.buildNetwork(); err != nil {
		return err
	}
	for _, n := range l.nodes {
		if err := l.cgroups.create(l.cgroup(n.name)); err != nil {
			return err
		}
	}
	if err := l.applyLimits(say); err != nil {
		return err
	}
	if err := l.secure(ctx, say); err != nil {
		return err
	}
	l.forgetBlocks()
	if l.Cfg.Cache > 0 {
		for _, n := range l.workers() {
			if err := mountMemory(l.nodePath(n.name, "cache"), l.Cfg.Cache, l.uid()); err != nil {
				return fmt.Errorf("mount the cache of %s: %w", n.name, err)
			}
		}
	}
	say(Event{What: fmt.Sprintf("%d nodes in %d racks, network 10.%d.0.0/16, state in %s", l.Cfg.Nodes, l.Cfg.Racks, l.Network, l.root)})
	if err := l.startMissing(ctx, say); err != nil {
		return err
	}
	return l.writeCluster(l.Cluster())
}

// labsWeight is the CPU weight of all labs together when cores are short. Any
// other control group of this machine, or session of a user, has weight 1 unless
// somebody gives it another. A lab stands for several machines, whose daemons
// miss each other's heartbeats if builds and the like get most of the cores.
const labsWeight = 32

// masterWeight is the CPU weight of the lab's master when cores are short; a
// worker has weight 1. On a physical cluster the master has its own machine,
// so ResourceManager and ApplicationMasters do not wait for tasks there.
const masterWeight = 4

// applyLimits sets the CPU weights of labs and of the master, and each worker's
// limits of CPU cores, memory and disk reads.
func (l *Lab) applyLimits(say func(Event)) error {
	disk, diskErr := diskOf(l.root)
	if diskErr != nil && l.Cfg.Disk > 0 {
		say(Event{What: fmt.Sprintf("warning: --disk has no effect: %v", diskErr)})
	}
	errs := []error{l.cgroups.weighCPU(allLabs, labsWeight)}
	for _, n := range l.masters() {
		errs = append(errs, l.cgroups.weighCPU(l.cgroup(n.name), masterWeight))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("weigh labs and the masters: %w", err)
	}
	for _, n := range l.workers() {
		errs := []error{
			l.cgroups.limitCPU(l.cgroup(n.name), n.cores),
			l.cgroups.limitMemory(l.cgroup(n.name), l.Cfg.memory()),
		}
		if diskErr == nil {
			errs = append(errs, l.cgroups.limitReads(l.cgroup(n.name), disk, l.Cfg.Disk))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("set the limits of %s: %w", n.name, err)
		}
	}
	return nil
}

// writeFiles writes the files in the lab's state folder, except Hadoop's data.
func (l *Lab) writeFiles(c Config) error {
	if err := cmp.Or(l.writeFirstState(), l.zkForgotten()); err != nil {
		return err
	}
	hosts := fmt.Sprintf("127.0.0.1 localhost\n%s host\n", l.hostIP())
	for _, n := range l.nodes {
		hosts += fmt.Sprintf("%s %s\n", n.ip, n.name)
		for _, dir := range []string{"cache", "clients", "log", "run"} {
			if err := os.MkdirAll(l.nodePath(n.name, dir), 0o755); err != nil {
				return err
			}
		}
		for _, folder := range l.written(n) {
			if err := l.give(folder); err != nil {
				return fmt.Errorf("give the lab's user its folder: %w", err)
			}
		}
		if err := writeFile(l.nodePath(n.name, "enter"), l.enterScript(n), 0o755); err != nil {
			return err
		}
	}
	if err := errors.Join(
		writeFile(l.path("hosts"), []byte(hosts), 0o644),
		writeFile(l.path("nsswitch.conf"), []byte("passwd: files\ngroup: files\nhosts: files\n"), 0o644),
		l.writeHadoopConf(),
		l.writeUnprivileged(),
		l.installAgent(c.Executable),
	); err != nil {
		return err
	}
	// These files must exist, since each lab node mounts its own over them. Make
	// them if a very small system lacks them.
	needed := []string{"/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group"}
	if l.Cfg.Kerberos {
		needed = append(needed, "/etc/krb5.conf")
	}
	for _, path := range needed {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// installAgent copies the heddle binary, since 'go run' deletes the binary that
// it has built. It also writes the token that agents require. If the binary has
// no agent command, the lab runs without agents.
func (l *Lab) installAgent(executable string) error {
	os.Remove(l.path("agent.token"))
	if executable == "" {
		return nil
	}
	help, err := exec.Command(executable, "agent", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(help), "--cgroup") {
		return nil
	}
	if err := os.MkdirAll(l.path("bin"), 0o755); err != nil {
		return err
	}
	program, err := os.ReadFile(executable)
	if err == nil {
		err = writeFile(l.path("bin", "heddle"), program, 0o755)
	}
	if err != nil {
		return fmt.Errorf("copy the agent: %w", err)
	}
	return writeFile(l.path("agent.token"), []byte(rand.Text()+"\n"), 0o600)
}

// running reports whether at least one of the lab's daemons runs.
func (l *Lab) running() bool {
	return slices.ContainsFunc(l.nodes, func(n node) bool {
		return slices.ContainsFunc(l.daemonsOf(n), func(d daemon) bool { return l.pid(n, d) != 0 })
	})
}

// machinesExist reports whether the lab's network, control groups and files
// exist, so that only daemons need to be started. Of the files it looks only for
// the cluster file, which Up writes last.
func (l *Lab) machinesExist() bool {
	needed := []string{l.ClusterFile(), l.unprivileged()} // a lab that an older heddle made lacks the second
	for _, n := range l.nodes {
		needed = append(needed, l.cgroups.dirs(l.cgroup(n.name))...)
	}
	return len(namespaces(l.Name)) == len(l.nodes) && !slices.ContainsFunc(needed, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// hasData reports whether the lab's HDFS has been formatted, so that it must
// not be formatted again.
func (l *Lab) hasData() bool {
	_, err := os.Stat(l.nodePath("master", "name", "current"))
	return !errors.Is(err, fs.ErrNotExist)
}

func sameConfig(a, b Config) bool { return differences(a, b) == "" }

// differences lists the settings that differ between two lab configurations,
// by their names in lab.json.
func differences(a, b Config) string {
	fields := func(c Config) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		if data, err := json.Marshal(c); err == nil {
			_ = json.Unmarshal(data, &m)
		}
		return m
	}
	of, to := fields(a), fields(b)
	all := maps.Clone(of)
	maps.Copy(all, to)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if string(of[name]) != string(to[name]) {
			list = append(list, fmt.Sprintf("%s %s, not %s", name, cmp.Or(string(of[name]), "none"), cmp.Or(string(to[name]), "none")))
		}
	}
	return strings.Join(list, "; ")
}
