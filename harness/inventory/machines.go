package inventory

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/require"
)

// machines describes the workers for simulations. It returns nil, with a note, if
// they cannot be described.
func (b *builder) machines(workers []string) *config.Machines {
	var hosts []string
	for _, host := range workers {
		if b.text(host, "hadoop_label", "-") != require.Masters {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts) // as the list of cores goes
	racks := map[string]int{}
	memoryMB := 0
	for i, host := range hosts {
		racks[b.text(host, "hadoop_rack", "/default-rack")]++
		mb := b.resource(host, "hadoop_memory_mb", defaultMemoryMB, "yarn.nodemanager.resource.memory-mb")
		if i > 0 && mb != memoryMB {
			b.note("no machines in the file, which only simulations need: host %s has %d MiB for containers, %s has %d", host, mb, hosts[0], memoryMB)
			return nil
		}
		memoryMB = mb
	}
	if len(hosts) == 0 {
		b.note("no machines in the file, which only simulations need: all workers have the label %s", require.Masters)
		return nil
	}
	m := b.settings(hosts[0])
	m.Nodes, m.Racks = len(hosts), len(racks)
	m.Replication = min(m.Replication, m.Nodes)
	if m.Slots = memoryMB / int(m.Container/units.MiB); m.Slots < 1 || m.Slots > 1000 {
		b.note("no machines in the file, which only simulations need: %d containers of %v fit into a worker's %d MiB; want 1 to 1000", m.Slots, m.Container, memoryMB)
		return nil
	}
	for _, n := range racks {
		if n != m.Nodes/m.Racks && n != (m.Nodes+m.Racks-1)/m.Racks {
			b.note("simulations spread the %d workers evenly over the %d racks, which here have different sizes", m.Nodes, m.Racks)
			break
		}
	}
	for _, host := range hosts {
		m.CPUs = append(m.CPUs, float64(b.resource(host, "hadoop_vcores", defaultVCores, "yarn.nodemanager.resource.cpu-vcores")))
	}
	if slices.Min(m.CPUs) == slices.Max(m.CPUs) {
		m.CPUs = m.CPUs[:1]
	}
	return m
}

// settings returns those of the machines that Hadoop's settings are: the
// inventory's, or else Hadoop's defaults.
func (b *builder) settings(host string) *config.Machines {
	ms := func(file, name string, otherwise int64) units.Duration {
		return units.Duration(time.Duration(b.bytes(host, file, name, otherwise)) * time.Millisecond)
	}
	async := b.property(host, "capacity-scheduler.xml", require.Queues+"schedule-asynchronously.enable")
	return &config.Machines{
		Container:   units.Size(b.bytes(host, "mapred-site.xml", "mapreduce.map.memory.mb", 1024)) * units.MiB,
		BlockSize:   units.Size(b.bytes(host, "hdfs-site.xml", "dfs.blocksize", 128<<20)),
		Replication: int(b.bytes(host, "hdfs-site.xml", "dfs.replication", 3)),
		Cache:       units.Size(b.number(host, "hadoop_cache_bytes", 0)),
		NMHeartbeat: ms("yarn-site.xml", "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 1000),
		AMHeartbeat: ms("mapred-site.xml", "yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", 1000),
		Scheduler:   "capacity",
		Async:       async != "false", // the requirements turn it on
	}
}

// resource returns what a NodeManager gives containers: the property, which wins
// unless it is Hadoop's -1 for no value, or the variable, or its default.
func (b *builder) resource(host, variable string, otherwise int, property string) int {
	if b.property(host, "yarn-site.xml", property) == "-1" {
		return b.number(host, variable, otherwise)
	}
	return int(b.bytes(host, "yarn-site.xml", property, int64(b.number(host, variable, otherwise))))
}

// mostUnits keeps products of what an inventory says within 64 bits.
const mostUnits = 1 << 42

// bytes reads a whole number from a property, such as 128m: Hadoop's letters mean
// powers of 1024.
func (b *builder) bytes(host, file, name string, otherwise int64) int64 {
	text := strings.ToLower(b.property(host, file, name))
	if text == "" {
		return otherwise
	}
	digits := strings.TrimSuffix(text, text[len(text)-1:])
	shift := 10 * (1 + strings.Index("kmgt", text[len(text)-1:]))
	if shift == 0 {
		digits = text
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > mostUnits>>shift {
		b.wrong("host %s: %s in hadoop_properties is %.80q; want a whole number above 0", host, name, text)
		return otherwise
	}
	return n << shift
}
