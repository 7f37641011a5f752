package agent

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"heddle/collectors/node"
)

// lastReading holds the agent's latest reading of the node's counters, nil
// before the first.
type lastReading struct {
	mu sync.Mutex
	r  *node.Reading
}

func (l *lastReading) set(r *node.Reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.r = r
}

func (l *lastReading) get() *node.Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r
}

// registry returns the Prometheus metrics of the node and of the agent's own
// process. Those of the process show how much CPU time and memory the agent
// uses.
func (a *Agent) registry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		readingCollector{&a.last, a.opts, a.facts.Mode},
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return reg
}

// readingCollector turns the agent's latest reading of the node's counters into
// Prometheus metrics. A Prometheus scrape reads no counter from the kernel. A
// counter that is absent in the reading gives no metric.
type readingCollector struct {
	last *lastReading
	opts Options
	mode string
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("heddle_"+name, help, labels, nil)
}

var (
	descInfo    = desc("agent_info", "What runs here; always 1.", "node", "mode", "cgroup", "version")
	descTaken   = desc("agent_reading_timestamp_seconds", "When the last reading was taken, Unix time.")
	descTook    = desc("agent_reading_seconds", "How long the last reading took.")
	descPresent = desc("agent_group_present", "Whether the last reading has this group of numbers.", "group")

	descCPU     = desc("node_cpu_seconds_total", "Time all cores together spent in each mode.", "mode")
	descCore    = desc("node_core_cpu_seconds_total", "Time each core spent in each mode.", "core", "mode")
	descLimit   = desc("node_cpu_limit_cores", "CPU bandwidth limit of the control group.")
	descPeriods = desc("node_cpu_periods_total", "Periods of the CPU bandwidth limit.")
	descSlowed  = desc("node_cpu_throttled_periods_total", "Periods in which the limit was reached.")
	descThrottl = desc("node_cpu_throttled_seconds_total", "Time that the limit held cores back.")

	descLoad1  = desc("node_load1", "Mean number of active tasks over 1 minute.")
	descLoad5  = desc("node_load5", "Mean number of active tasks over 5 minutes.")
	descLoad15 = desc("node_load15", "Mean number of active tasks over 15 minutes.")

	descMemTotal     = desc("node_memory_total_bytes", "Memory, or the control group's limit.")
	descMemFree      = desc("node_memory_free_bytes", "Memory that nothing uses.")
	descMemAvailable = desc("node_memory_available_bytes", "Memory free or soon freed.")
	descMemBuffers   = desc("node_memory_buffers_bytes", "Memory for raw blocks.")
	descMemCached    = desc("node_memory_cached_bytes", "File pages, shared memory included.")
	descMemShmem     = desc("node_memory_shmem_bytes", "Shared memory and tmpfs.")
	descMemDirty     = desc("node_memory_dirty_bytes", "File pages to be written out.")
	descMemPageCache = desc("node_memory_page_cache_bytes", "Cached and buffers without shared memory.")

	descDiskRead     = desc("node_disk_read_bytes_total", "Bytes read.", "device")
	descDiskWrite    = desc("node_disk_written_bytes_total", "Bytes written.", "device")
	descDiskReads    = desc("node_disk_reads_total", "Reads completed.", "device")
	descDiskWrites   = desc("node_disk_writes_total", "Writes completed.", "device")
	descDiskInFlight = desc("node_disk_in_flight", "Requests in flight.", "device")
	descDiskQueue    = desc("node_disk_queue_seconds_total", "Time in flight, summed over requests.", "device")
	descDiskBusy     = desc("node_disk_busy_seconds_total", "Time with requests in flight.", "device")

	descNetBytes   = desc("node_network_bytes_total", "Bytes.", "interface", "direction")
	descNetPackets = desc("node_network_packets_total", "Packets.", "interface", "direction")
	descNetErrors  = desc("node_network_errors_total", "Packets with errors.", "interface", "direction")
	descNetDrops   = desc("node_network_drops_total", "Packets dropped.", "interface", "direction")
)

// groupNames are the kinds of numbers that may be missing when the node's
// counters are read.
var groupNames = []string{"cpu", "quota", "load", "memory", "disk", "network"}

// Describe sends no descriptions, which tells the Prometheus library that the
// set of metrics differs from node to node.
func (c readingCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the agent's latest reading to Prometheus.
func (c readingCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	gauge(descInfo, 1, c.opts.Node, c.mode, c.opts.Sample.Cgroup, c.opts.Version)
	r := c.last.get()
	if r == nil {
		return
	}
	gauge(descTaken, float64(r.WallNs)/1e9)
	gauge(descTook, float64(r.TookNs)/1e9)
	for _, group := range groupNames {
		if group == "quota" && c.mode == "host" {
			continue
		}
		present := 1.0
		if _, absent := r.Absent[group]; absent {
			present = 0
		}
		gauge(descPresent, present, group)
	}
	collectCPU(r, gauge, count)
	collectMemory(r, gauge)
	for _, d := range r.Disks {
		count(descDiskRead, float64(d.ReadBytes), d.Device)
		count(descDiskWrite, float64(d.WriteBytes), d.Device)
		count(descDiskReads, float64(d.Reads), d.Device)
		count(descDiskWrites, float64(d.Writes), d.Device)
		if d.InFlight != nil {
			gauge(descDiskInFlight, float64(*d.InFlight), d.Device)
		}
		if d.QueueMs != nil {
			count(descDiskQueue, float64(*d.QueueMs)/1e3, d.Device)
		}
		if d.BusyMs != nil {
			count(descDiskBusy, float64(*d.BusyMs)/1e3, d.Device)
		}
	}
	for _, n := range r.Networks {
		count(descNetBytes, float64(n.ReceiveBytes), n.Interface, "receive")
		count(descNetBytes, float64(n.TransmitBytes), n.Interface, "transmit")
		count(descNetPackets, float64(n.ReceivePackets), n.Interface, "receive")
		count(descNetPackets, float64(n.TransmitPackets), n.Interface, "transmit")
		count(descNetErrors, float64(n.ReceiveErrors), n.Interface, "receive")
		count(descNetErrors, float64(n.TransmitErrors), n.Interface, "transmit")
		count(descNetDrops, float64(n.ReceiveDrops), n.Interface, "receive")
		count(descNetDrops, float64(n.TransmitDrops), n.Interface, "transmit")
	}
}

type send func(d *prometheus.Desc, v float64, labels ...string)

func collectCPU(r *node.Reading, gauge, count send) {
	if r.CPU != nil {
		eachMode(r.CPU, func(mode string, sec float64) { count(descCPU, sec, mode) })
	}
	for i := range r.Cores {
		eachMode(&r.Cores[i], func(mode string, sec float64) { count(descCore, sec, strconv.Itoa(i), mode) })
	}
	if q := r.Quota; q != nil {
		if q.LimitCores != nil {
			gauge(descLimit, *q.LimitCores)
		}
		count(descPeriods, float64(q.Periods))
		count(descSlowed, float64(q.ThrottledPeriods))
		count(descThrottl, float64(q.ThrottledNs)/1e9)
	}
	if r.Load != nil {
		gauge(descLoad1, r.Load.Load1)
		gauge(descLoad5, r.Load.Load5)
		gauge(descLoad15, r.Load.Load15)
	}
}

func eachMode(t *node.CPUTimes, do func(mode string, sec float64)) {
	for _, m := range []struct {
		mode string
		ns   *uint64
	}{{"user", &t.UserNs}, {"system", &t.SystemNs}, {"idle", t.IdleNs}, {"iowait", t.IowaitNs}, {"steal", t.StealNs}} {
		if m.ns != nil {
			do(m.mode, float64(*m.ns)/1e9)
		}
	}
}

func collectMemory(r *node.Reading, gauge send) {
	m := r.Memory
	if m == nil {
		return
	}
	gauge(descMemTotal, float64(m.TotalBytes))
	gauge(descMemFree, float64(m.FreeBytes))
	gauge(descMemAvailable, float64(m.AvailableBytes))
	if m.BuffersBytes != nil {
		gauge(descMemBuffers, float64(*m.BuffersBytes))
	}
	gauge(descMemCached, float64(m.CachedBytes))
	gauge(descMemShmem, float64(m.ShmemBytes))
	gauge(descMemDirty, float64(m.DirtyBytes))
	gauge(descMemPageCache, float64(m.PageCacheBytes))
}
