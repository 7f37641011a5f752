package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
)

// Config describes a lab (a Hadoop cluster on this machine). The zero value is
// not valid; start from Default.
type Config struct {
	// Name is the lab's name, which tells labs on one machine apart:
	// lower-case letters, digits and dashes, at most 32 characters.
	Name string `json:"-"`
	// Nodes is the number of workers in all racks together. They are spread
	// over Racks racks. If Racks does not divide Nodes, the first racks get
	// one worker more.
	Nodes int `json:"nodes" flag:"nodes" text:"workers in all"`
	Racks int `json:"racks" flag:"racks" text:"racks that the workers are in"`
	// Slots is the number of containers that a worker runs at once. Container
	// is the memory of each container.
	Slots     int        `json:"slots" flag:"slots" text:"containers per node"`
	Container units.Size `json:"container" flag:"container" text:"memory per container"`
	// CPUs lists the number of cores that each worker may use, such as 0.4 or
	// 2, in the order of the workers' names. If there are more workers than
	// numbers, the list starts again. An empty list or a 0 means no limit.
	CPUs CPUs `json:"cpus,omitempty" flag:"cpus" text:"cores per node; a list makes nodes differ; 0 is no limit" without:"0"`
	// Memory is the memory limit of a worker, page cache included. 0 means no
	// limit. AutoMemory means what the worker's slots, daemons and HDFS cache
	// need.
	Memory Memory `json:"memory" flag:"memory" text:"memory per node, page cache included; 0 is no limit, auto is what slots, daemons and cache need"`
	// Disk is the rate at which a worker can read from its disk; 0 means no
	// limit.
	Disk units.Rate `json:"disk" flag:"disk" text:"rate at which a node reads from its disk; 0 is no limit"`
	// Link is the rate of a worker's network link and Uplink the rate of a
	// rack's link to the core, in each direction. 0 means no limit.
	Link   units.Rate `json:"link" flag:"link" text:"rate of a node's link; 0 is no limit"`
	Uplink units.Rate `json:"uplink" flag:"uplink" text:"rate of a rack's uplink; 0 is no limit"`
	// Cache is the size of each DataNode's HDFS cache; 0 means no cache.
	Cache units.Size `json:"cache" flag:"cache" text:"HDFS cache per DataNode; 0 is none"`
	// BlockSize and Replication are the HDFS defaults for new files of the
	// lab.
	BlockSize   units.Size `json:"blockSize" flag:"block-size" text:"HDFS block size of new files"`
	Replication int        `json:"replication" flag:"replication" text:"replicas of new files"`
	// NMHeartbeat and AMHeartbeat are the heartbeat intervals of NodeManagers
	// and ApplicationMasters.
	NMHeartbeat units.Duration `json:"nmHeartbeat" flag:"nm-heartbeat" text:"heartbeat interval of NodeManagers"`
	AMHeartbeat units.Duration `json:"amHeartbeat" flag:"am-heartbeat" text:"heartbeat interval of ApplicationMasters"`
	// NodeExpiry is after how long without a heartbeat Hadoop counts a
	// NodeManager or DataNode as lost.
	NodeExpiry units.Duration `json:"nodeExpiry" flag:"node-expiry" text:"silence after which a node counts as lost; shorter ones lose nodes of a busy machine" heading:"Hadoop"`
	// Scheduler is "capacity" (YARN's Capacity scheduler, which supports node
	// labels) or "fair" (the Fair scheduler, which does not).
	Scheduler string `json:"scheduler" flag:"scheduler" text:"capacity (has node labels) or fair (has none)" heading:"Hadoop"`
	// Async makes the Capacity scheduler allocate containers without waiting
	// for node heartbeats.
	Async bool `json:"async" flag:"async" text:"allocate without waiting for heartbeats" heading:"Hadoop"`
	// HA gives the cluster two NameNodes and two ResourceManagers, of which one
	// each is active; see ha.go.
	HA bool `json:"ha,omitempty" flag:"ha" text:"two NameNodes and two ResourceManagers, which take over from each other" heading:"Hadoop"`
	// CDS makes the JVMs of the lab start from a class-data archive, if one
	// can be built.
	CDS bool `json:"cds" flag:"cds" text:"start JVMs from a class-data archive" heading:"Hadoop"`
	// Hadoop is the version of Hadoop that is fetched from Maven Central, one of
	// Hadoops.
	Hadoop string `json:"hadoop" flag:"hadoop" suggest:"hadoops" env:"HEDDLE_HADOOP" text:"Hadoop's VERSION from Maven Central" of:"VERSION" heading:"Hadoop"`
	// HadoopHome is the folder of an unpacked Hadoop distribution, of any version.
	// Empty means the one from Maven Central.
	HadoopHome string `json:"hadoopHome,omitempty" flag:"hadoop-home" text:"an unpacked Hadoop DIR instead of the one from Maven Central" of:"DIR" heading:"Hadoop"`
	// Kerberos secures the lab: users and daemons prove who they are with
	// Kerberos tickets, web addresses are HTTPS, and blocks and calls are
	// encrypted.
	Kerberos bool `json:"kerberos,omitempty" flag:"kerberos" text:"secure the lab: tickets of a realm of its own, HTTPS, encrypted blocks and calls" heading:"Hadoop"`
	// Executable is the path of the heddle binary that each node of the lab
	// runs as its agent. Empty means that nodes run no agent.
	Executable string `json:"-"`
}

// Memory is a worker's memory: a number of bytes, or AutoMemory, whose text
// form is "auto".
type Memory units.Size

// AutoMemory means as much memory as a worker's slots, daemons and HDFS cache
// need.
const AutoMemory Memory = -1

// CPUs is a list of numbers of cores, one for each worker; see Config.CPUs.
type CPUs []float64

// Values of Config.Scheduler: YARN's Capacity and Fair schedulers.
const (
	Capacity = "capacity"
	Fair     = "fair"
)

// Default returns the configuration of a lab with four workers in two racks. A
// read takes longest from another rack, less from the same rack, still less
// from the node's disk, and least from the HDFS cache. Each step more than
// halves the time.
func Default() Config {
	return Config{
		Name: "lab", Nodes: 4, Racks: 2, Slots: 2, Container: 512 * units.MiB,
		Memory: AutoMemory, Disk: 80e6, Link: 25e6, Uplink: 7.5e6,
		Cache: 64 * units.MiB, BlockSize: 16 * units.MiB, Replication: 2,
		NMHeartbeat: units.Duration(200 * time.Millisecond), AMHeartbeat: units.Duration(200 * time.Millisecond),
		NodeExpiry: units.Duration(2 * time.Minute), Scheduler: Capacity, Async: true, CDS: true, Hadoop: DefaultHadoop,
	}
}

// Rates returns the configured rates of the lab's disks, links and uplinks,
// and the number of cores of this machine.
func (c Config) Rates() config.Rates {
	return config.Rates{Disk: c.Disk, Link: c.Link, Uplink: c.Uplink, HostCores: float64(runtime.NumCPU())}
}

// Machines describes the lab's nodes in the form that simulations read.
func (c Config) Machines() *config.Machines {
	return &config.Machines{
		Nodes: c.Nodes, Racks: c.Racks, Slots: c.Slots, Container: c.Container, AMMemory: amNodeMB * units.MiB, CPUs: c.CPUs, Cache: c.Cache,
		BlockSize: c.BlockSize, Replication: c.Replication, NMHeartbeat: c.NMHeartbeat, AMHeartbeat: c.AMHeartbeat,
		NodeExpiry: c.NodeExpiry, Scheduler: c.Scheduler, Async: c.Async && c.Scheduler == Capacity,
	}
}

var labName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Validate returns an error that lists every wrong setting by the name of its
// flag.
func (c Config) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(!labName.MatchString(c.Name), "--name %q: want lower-case letters, digits and dashes, at most 32", c.Name)
	wrong(outside(c.Nodes, 1, 250), "--nodes %d: want 1 to 250", c.Nodes)
	wrong(outside(c.Racks, 1, c.Nodes), "--racks %d: want 1 to the number of nodes, %d", c.Racks, c.Nodes)
	wrong(outside(c.Slots, 1, 256), "--slots %d: want 1 to 256", c.Slots)
	wrong(c.Container < 256*units.MiB || c.Container%units.MiB != 0, "--container %v: want whole MiB, 256MiB or more", c.Container)
	for _, n := range c.CPUs {
		wrong(n != 0 && n < 0.05, "--cpus %v: want 0.05 cores or more, or 0 for no limit", n)
	}
	wrong(c.Memory > 0 && units.Size(c.Memory) < c.minMemory(), "--memory %v: %d slots of %v, the daemons and the cache need %v; want "+
		"that or more, or 0 for no limit",
		c.Memory, c.Slots, c.Container, c.minMemory())
	wrong(!slices.Contains(Hadoops(), c.Hadoop), "--hadoop %q: want one of %s; or name an unpacked Hadoop with --hadoop-home",
		c.Hadoop, strings.Join(Hadoops(), ", "))
	wrong(c.HadoopHome != "" && c.Hadoop != DefaultHadoop, "--hadoop %s and --hadoop-home %s: want one of them", c.Hadoop, c.HadoopHome)
	wrong(c.Memory < 0 && c.Memory != AutoMemory, "--memory %v: want 0 or more", c.Memory)
	wrong(c.Disk != 0 && c.Disk < 100e3, "--disk %v: want 100KB/s or more, or 0 for no limit", c.Disk)
	wrong(c.Link != 0 && c.Link < 125e3, "--link %v: want 1Mbit or more, or 0 for no limit", c.Link)
	wrong(c.Uplink != 0 && c.Uplink < 125e3, "--uplink %v: want 1Mbit or more, or 0 for no limit", c.Uplink)
	wrong(c.Cache != 0 && c.Cache < units.MiB, "--cache %v: want 1MiB or more, or 0 for none", c.Cache)
	wrong(c.BlockSize < 64*units.KiB || c.BlockSize%512 != 0, "--block-size %v: want a multiple of 512 bytes, 64KiB or more", c.BlockSize)
	wrong(outside(c.Replication, 1, c.Nodes), "--replication %d: want 1 to the number of nodes, %d", c.Replication, c.Nodes)
	for flag, d := range map[string]units.Duration{"nm": c.NMHeartbeat, "am": c.AMHeartbeat} {
		wrong(outside(time.Duration(d), 10*time.Millisecond, time.Minute), "--%s-heartbeat %v: want 10ms to 1m", flag, d)
	}
	wrong(outside(time.Duration(c.NodeExpiry), leastExpiry, time.Hour), "--node-expiry %v: want %v to 1h", c.NodeExpiry, leastExpiry)
	wrong(c.NodeExpiry < 3*c.NMHeartbeat, "--node-expiry %v: want 3 heartbeats of a NodeManager or more, %v", c.NodeExpiry, 3*c.NMHeartbeat)
	wrong(c.HA && c.Kerberos, "--ha: a lab with --kerberos has one NameNode and one ResourceManager")
	wrong(c.Scheduler != Capacity && c.Scheduler != Fair, "--scheduler %q: want capacity or fair", c.Scheduler)
	return errors.Join(errs...)
}

func outside[T cmp.Ordered](x, least, most T) bool { return x < least || x > most }

// leastExpiry is the shortest time after which a node can count as lost. The
// NameNode always waits for ten heartbeats of a DataNode, of a second each.
const leastExpiry = 12 * time.Second

// minMemory returns the memory that a worker needs so that no process on it is
// killed for lack of memory. This is the sum for its containers, two daemons,
// an agent, some page cache, and the HDFS cache, which counts as memory of the
// DataNode.
func (c Config) minMemory() units.Size {
	return units.Size(c.Slots)*c.Container + 512*units.MiB + c.Cache
}

// The method memory returns the memory limit of a worker in bytes. For
// AutoMemory it computes the limit.
func (c Config) memory() units.Size {
	if c.Memory == AutoMemory {
		return c.minMemory()
	}
	return units.Size(c.Memory)
}

// String returns the memory size as text, or "auto".
func (m Memory) String() string {
	if m == AutoMemory {
		return "auto"
	}
	return units.Size(m).String()
}

// Set parses a memory size or "auto".
func (m *Memory) Set(text string) error {
	if text == "auto" {
		*m = AutoMemory
		return nil
	}
	return (*units.Size)(m).Set(text)
}

// MarshalText returns the memory size as text, as String does.
func (m Memory) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses a memory size, as Set does.
func (m *Memory) UnmarshalText(text []byte) error { return m.Set(string(text)) }

// String returns the list of numbers of cores in the form of the flag:
// "1,0.4".
func (c CPUs) String() string {
	var parts []string
	for _, n := range c {
		parts = append(parts, strconv.FormatFloat(n, 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// Set parses a list of numbers of cores such as "1,0.4".
func (c *CPUs) Set(text string) error {
	var list CPUs
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(n >= 0 && n <= 4096) {
			return fmt.Errorf("read cores %q: want a list of numbers such as 1,0.4", text)
		}
		list = append(list, n)
	}
	*c = list
	return nil
}

// ErrBadName means that a text cannot be the name of a lab, which has
// lower-case letters, digits and dashes only.
var ErrBadName = errors.New("want lower-case letters, digits and dashes, at most 32")

// stateFolder returns the folder with a lab's configuration and HDFS data.
func stateFolder(name string) (string, error) {
	if !labName.MatchString(name) {
		return "", fmt.Errorf("lab %q: %w", name, ErrBadName)
	}
	base, err := userFolder("XDG_STATE_HOME", ".local/state")
	return filepath.Join(base, "heddle", "labs", name), err
}

// cacheFolder returns the folder of files that all labs of this user share,
// such as Hadoop's jars. If they are deleted, the next start makes them again.
func cacheFolder() (string, error) {
	base, err := userFolder("XDG_CACHE_HOME", ".cache")
	return filepath.Join(base, "heddle"), err
}

// safePath matches paths whose characters have no special meaning in a shell,
// a Java class path, a Hadoop list or a URI.
var safePath = regexp.MustCompile(`^[A-Za-z0-9/._+@-]+$`)

func userFolder(variable, below string) (string, error) {
	base := os.Getenv(variable)
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the user's folder: %w; set %s", err, variable)
		}
		base = filepath.Join(home, below)
	}
	if !filepath.IsAbs(base) || !safePath.MatchString(base) {
		return "", fmt.Errorf("folder %q: Hadoop needs an absolute path of letters, digits and ._+@-; set %s to one", base, variable)
	}
	return base, nil
}
