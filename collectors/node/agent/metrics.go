package agent

import (
	"math"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus/collectors"

	"heddle/collectors/node"
)

// metrics answers Prometheus with the metrics of the node and of the agent's own
// process. Those of the process show how much CPU time and memory the agent
// uses.
func (a *Agent) metrics() http.Handler {
	return handler(readingCollector{&a.last, a.opts, a.facts.Mode}.collect,
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// readingCollector turns the agent's latest reading of the node's counters into
// Prometheus metrics. A Prometheus scrape reads no counter from the kernel. A
// counter that is absent in the reading gives no metric.
type readingCollector struct {
	last *atomic.Pointer[node.Reading] // the agent's latest reading, nil before the first
	opts Options
	mode string
}

// groupNames are the kinds of numbers that may be missing when the node's
// counters are read.
var groupNames = []string{"cpu", "quota", "load", "memory", "disk", "network"}

// send sends a metric, as the methods of exposition do.
type send func(name, help string, v float64, labels ...string)

// known returns a number that may not have been read.
func known[T uint64 | float64](n *T) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

// collect sends the metrics of the agent's latest reading to Prometheus.
func (c readingCollector) collect(out exposition) {
	var gauge, count send = out.gauge, out.counter
	gauge("agent_info", "What runs here; always 1.", 1,
		"node", c.opts.Node, "mode", c.mode, "cgroup", c.opts.Sample.Cgroup, "version", c.opts.Version)
	r := c.last.Load()
	if r == nil {
		return
	}
	gauge("agent_reading_timestamp_seconds", "When the last reading was taken, Unix time.", float64(r.WallNs)/1e9)
	gauge("agent_reading_seconds", "How long the last reading took.", float64(r.TookNs)/1e9)
	for _, group := range groupNames {
		if group == "quota" && c.mode == "host" {
			continue
		}
		present := 1.0
		if _, absent := r.Absent[group]; absent {
			present = 0
		}
		gauge("agent_group_present", "Whether the last reading has this group of numbers.", present, "group", group)
	}
	collectCPU(r, gauge, count)
	collectMemory(r, gauge)
	for _, d := range r.Disks {
		count("node_disk_read_bytes_total", "Bytes read.", float64(d.ReadBytes), "device", d.Device)
		count("node_disk_written_bytes_total", "Bytes written.", float64(d.WriteBytes), "device", d.Device)
		count("node_disk_reads_total", "Reads completed.", float64(d.Reads), "device", d.Device)
		count("node_disk_writes_total", "Writes completed.", float64(d.Writes), "device", d.Device)
		gauge("node_disk_in_flight", "Requests in flight.", known(d.InFlight), "device", d.Device)
		count("node_disk_queue_seconds_total", "Time in flight, summed over requests.", known(d.QueueMs)/1e3, "device", d.Device)
		count("node_disk_busy_seconds_total", "Time with requests in flight.", known(d.BusyMs)/1e3, "device", d.Device)
	}
	for _, n := range r.Networks {
		both := func(name, help string, receive, transmit uint64) {
			count(name, help, float64(receive), "interface", n.Interface, "direction", "receive")
			count(name, help, float64(transmit), "interface", n.Interface, "direction", "transmit")
		}
		both("node_network_bytes_total", "Bytes.", n.ReceiveBytes, n.TransmitBytes)
		both("node_network_packets_total", "Packets.", n.ReceivePackets, n.TransmitPackets)
		both("node_network_errors_total", "Packets with errors.", n.ReceiveErrors, n.TransmitErrors)
		both("node_network_drops_total", "Packets dropped.", n.ReceiveDrops, n.TransmitDrops)
	}
}

func collectCPU(r *node.Reading, gauge, count send) {
	modes := func(name, help string, t *node.CPUTimes, labels ...string) {
		for mode, ns := range map[string]*uint64{
			"user": &t.UserNs, "system": &t.SystemNs, "idle": t.IdleNs, "iowait": t.IowaitNs, "steal": t.StealNs,
		} {
			count(name, help, known(ns)/1e9, append(labels, "mode", mode)...)
		}
	}
	if r.CPU != nil {
		modes("node_cpu_seconds_total", "Time all cores together spent in each mode.", r.CPU)
	}
	for i := range r.Cores {
		modes("node_core_cpu_seconds_total", "Time each core spent in each mode.", &r.Cores[i], "core", strconv.Itoa(i))
	}
	if q := r.Quota; q != nil {
		gauge("node_cpu_limit_cores", "CPU bandwidth limit of the control group.", known(q.LimitCores))
		count("node_cpu_periods_total", "Periods of the CPU bandwidth limit.", float64(q.Periods))
		count("node_cpu_throttled_periods_total", "Periods in which the limit was reached.", float64(q.ThrottledPeriods))
		count("node_cpu_throttled_seconds_total", "Time that the limit held cores back.", float64(q.ThrottledNs)/1e9)
	}
	if r.Load != nil {
		gauge("node_load1", "Mean number of active tasks over 1 minute.", r.Load.Load1)
		gauge("node_load5", "Mean number of active tasks over 5 minutes.", r.Load.Load5)
		gauge("node_load15", "Mean number of active tasks over 15 minutes.", r.Load.Load15)
	}
}

func collectMemory(r *node.Reading, gauge send) {
	m := r.Memory
	if m == nil {
		return
	}
	gauge("node_memory_total_bytes", "Memory, or the control group's limit.", float64(m.TotalBytes))
	gauge("node_memory_free_bytes", "Memory that nothing uses.", float64(m.FreeBytes))
	gauge("node_memory_available_bytes", "Memory free or soon freed.", float64(m.AvailableBytes))
	gauge("node_memory_buffers_bytes", "Memory for raw blocks.", known(m.BuffersBytes))
	gauge("node_memory_cached_bytes", "File pages, shared memory included.", float64(m.CachedBytes))
	gauge("node_memory_shmem_bytes", "Shared memory and tmpfs.", float64(m.ShmemBytes))
	gauge("node_memory_dirty_bytes", "File pages to be written out.", float64(m.DirtyBytes))
	gauge("node_memory_page_cache_bytes", "Cached and buffers without shared memory.", float64(m.PageCacheBytes))
}
