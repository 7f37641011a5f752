package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
)

// Config says what a lab looks like. The zero value is not valid; begin with
// Default.
type Config struct {
	// Name tells labs apart: lower-case letters, digits and dashes, at most 32.
	Name string `json:"-"`
	// Nodes is the number of workers in all, Racks over how many racks they are
	// spread; earlier racks get one more where it does not divide.
	Nodes int `json:"nodes"`
	Racks int `json:"racks"`
	// Slots is the number of containers a worker runs at once, Container the
	// memory of each.
	Slots     int        `json:"slots"`
	Container units.Size `json:"container"`
	// CPUs are the cores a worker may use (0.4, 2); several make workers differ,
	// in the order of their names, and begin again when there are more workers.
	// Empty or 0 is no limit.
	CPUs CPUs `json:"cpus,omitempty"`
	// Memory of a worker, page cache included; 0 is no limit, AutoMemory is
	// what its slots and daemons need.
	Memory Memory `json:"memory"`
	// Disk is the rate at which a worker reads its disk; 0 is no limit.
	Disk units.Rate `json:"disk"`
	// Link is the rate of a worker's link and Uplink that of a rack, both ways;
	// 0 is no limit.
	Link   units.Rate `json:"link"`
	Uplink units.Rate `json:"uplink"`
	// Cache is the size of a DataNode's HDFS cache; 0 is none.
	Cache units.Size `json:"cache"`
	// BlockSize and Replication are those of new files.
	BlockSize   units.Size `json:"blockSize"`
	Replication int        `json:"replication"`
	// NMHeartbeat and AMHeartbeat are the intervals of NodeManagers and
	// ApplicationMasters.
	NMHeartbeat units.Duration `json:"nmHeartbeat"`
	AMHeartbeat units.Duration `json:"amHeartbeat"`
	// Scheduler is "capacity", with node labels, or "fair", which has none.
	Scheduler string `json:"scheduler"`
	// Async lets the capacity scheduler allocate without waiting for heartbeats.
	Async bool `json:"async"`
	// CDS starts JVMs from a class-data archive where that is possible.
	CDS bool `json:"cds"`
	// HadoopHome is an unpacked Hadoop distribution; empty takes 3.4.2 from
	// Maven Central.
	HadoopHome string `json:"hadoopHome,omitempty"`
	// Executable is the heddle binary that nodes run as agent; empty runs none.
	Executable string `json:"-"`
}

// Memory is a number of bytes or AutoMemory, which is written "auto".
type Memory units.Size

// AutoMemory asks for as much memory as slots, daemons and cache need.
const AutoMemory Memory = -1

// CPUs is a list of cores a worker; see Config.
type CPUs []float64

// Schedulers of Config.
const (
	Capacity = "capacity"
	Fair     = "fair"
)

// Default is a lab of four workers in two racks on which reads from cache,
// disk, rack and beyond differ by more than a factor of two each.
func Default() Config {
	return Config{
		Name: "lab", Nodes: 4, Racks: 2, Slots: 2, Container: 512 * units.MiB,
		Memory: AutoMemory, Disk: 80e6, Link: 25e6, Uplink: 7.5e6,
		Cache: 64 * units.MiB, BlockSize: 16 * units.MiB, Replication: 2,
		NMHeartbeat: units.Duration(200 * time.Millisecond), AMHeartbeat: units.Duration(200 * time.Millisecond),
		Scheduler: Capacity, Async: true, CDS: true,
	}
}

// Rates are those of the lab's disks, links and uplinks, on this machine.
func (c Config) Rates() config.Rates {
	return config.Rates{Disk: c.Disk, Link: c.Link, Uplink: c.Uplink, HostCores: float64(runtime.NumCPU())}
}

// Machines is the lab as simulations describe a cluster.
func (c Config) Machines() *config.Machines {
	return &config.Machines{
		Nodes: c.Nodes, Racks: c.Racks, Slots: c.Slots, Container: c.Container, CPUs: c.CPUs, Cache: c.Cache,
		BlockSize: c.BlockSize, Replication: c.Replication, NMHeartbeat: c.NMHeartbeat, AMHeartbeat: c.AMHeartbeat,
		NodeExpiry: nodeExpiry, Scheduler: c.Scheduler, Async: c.Async && c.Scheduler == Capacity,
	}
}

// nodeExpiry is as in yarn-site.props.
const nodeExpiry = units.Duration(15 * time.Second)

var labName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Validate says what is wrong with c, all of it, in terms of the flags.
func (c Config) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(!labName.MatchString(c.Name), "--name %q: want lower-case letters, digits and dashes, at most 32", c.Name)
	wrong(c.Nodes < 1 || c.Nodes > 250, "--nodes %d: want 1 to 250", c.Nodes)
	wrong(c.Racks < 1 || c.Racks > c.Nodes, "--racks %d: want 1 to the number of nodes, %d", c.Racks, c.Nodes)
	wrong(c.Slots < 1 || c.Slots > 256, "--slots %d: want 1 to 256", c.Slots)
	wrong(c.Container < 256*units.MiB || c.Container%units.MiB != 0, "--container %v: want whole MiB, 256MiB or more", c.Container)
	for _, n := range c.CPUs {
		wrong(n < 0 || n > 0 && n < 0.05, "--cpus %v: want 0.05 cores or more, or 0 for no limit", n)
	}
	wrong(c.Memory > 0 && units.Size(c.Memory) < c.minMemory(), "--memory %v: %d slots of %v, the daemons and the cache need %v; want that or more, or 0 for no limit",
		c.Memory, c.Slots, c.Container, c.minMemory())
	wrong(c.Memory < 0 && c.Memory != AutoMemory, "--memory %v: want 0 or more", c.Memory)
	wrong(c.Disk < 0 || c.Disk > 0 && c.Disk < 100e3, "--disk %v: want 100KB/s or more, or 0 for no limit", c.Disk)
	wrong(c.Link < 0 || c.Link > 0 && c.Link < 125e3, "--link %v: want 1Mbit or more, or 0 for no limit", c.Link)
	wrong(c.Uplink < 0 || c.Uplink > 0 && c.Uplink < 125e3, "--uplink %v: want 1Mbit or more, or 0 for no limit", c.Uplink)
	wrong(c.Cache < 0 || c.Cache > 0 && c.Cache < units.MiB, "--cache %v: want 1MiB or more, or 0 for none", c.Cache)
	wrong(c.BlockSize < 64*units.KiB || c.BlockSize%512 != 0, "--block-size %v: want a multiple of 512 bytes, 64KiB or more", c.BlockSize)
	wrong(c.Replication < 1 || c.Replication > c.Nodes, "--replication %d: want 1 to the number of nodes, %d", c.Replication, c.Nodes)
	for flag, d := range map[string]units.Duration{"nm": c.NMHeartbeat, "am": c.AMHeartbeat} {
		wrong(time.Duration(d) < 10*time.Millisecond || time.Duration(d) > time.Minute, "--%s-heartbeat %v: want 10ms to 1m", flag, d)
	}
	wrong(c.Scheduler != Capacity && c.Scheduler != Fair, "--scheduler %q: want capacity or fair", c.Scheduler)
	return errors.Join(errs...)
}

// minMemory is what a worker needs so that nothing on it is killed for memory:
// its containers in full, two daemons and an agent, the HDFS cache, which
// counts as the DataNode's memory, and some page cache.
func (c Config) minMemory() units.Size {
	return units.Size(c.Slots)*c.Container + 512*units.MiB + c.Cache
}

// memory is Memory with AutoMemory worked out.
func (c Config) memory() units.Size {
	if c.Memory == AutoMemory {
		return c.minMemory()
	}
	return units.Size(c.Memory)
}

// String is the size, or "auto".
func (m Memory) String() string {
	if m == AutoMemory {
		return "auto"
	}
	return units.Size(m).String()
}

// Set reads a size or "auto".
func (m *Memory) Set(text string) error {
	if text == "auto" {
		*m = AutoMemory
		return nil
	}
	return (*units.Size)(m).Set(text)
}

// MarshalText is String.
func (m Memory) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is Set.
func (m *Memory) UnmarshalText(text []byte) error { return m.Set(string(text)) }

// String is the list as the flag takes it: "1,0.4".
func (c CPUs) String() string {
	var parts []string
	for _, n := range c {
		parts = append(parts, strconv.FormatFloat(n, 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// Set reads such a list.
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

// ErrBadName is that a text cannot be the name of a lab.
var ErrBadName = errors.New("want lower-case letters, digits and dashes, at most 32")

// stateFolder is where a lab keeps its configuration and HDFS its data.
func stateFolder(name string) (string, error) {
	if !labName.MatchString(name) {
		return "", fmt.Errorf("lab %q: %w", name, ErrBadName)
	}
	base, err := userFolder("XDG_STATE_HOME", ".local/state")
	return filepath.Join(base, "heddle", "labs", name), err
}

// cacheFolder holds what labs of this user share and can make anew.
func cacheFolder() (string, error) {
	base, err := userFolder("XDG_CACHE_HOME", ".cache")
	return filepath.Join(base, "heddle"), err
}

// safePath has no character that a shell, a Java class path, a Hadoop list or
// a URI would take apart.
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
