package agent

import (
	"math"
	"net/http"
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

// known returns a number that may not have been read.
func known(n *uint64) float64 {
	if n == nil {
		return math.NaN()
	}
	return float64(*n)
}

// collect sends the metrics of the agent's latest reading to Prometheus.
func (c readingCollector) collect(out exposition) {
	out.gauge("agent_info", "What runs here; always 1.", 1,
		"node", c.opts.Node, "mode", c.mode, "cgroup", c.opts.Sample.Cgroup, "version", c.opts.Version)
	r := c.last.Load()
	if r == nil {
		return
	}
	out.gauge("agent_reading_timestamp_seconds", "When the last reading was taken, Unix time.", float64(r.WallNs)/1e9)
	out.gauge("agent_reading_seconds", "How long the last reading took.", float64(r.TookNs)/1e9)
	for _, group := range groupNames {
		if group == "quota" && c.mode == "host" {
			continue
		}
		present := 1.0
		if _, absent := r.Absent[group]; absent {
			present = 0
		}
		out.gauge("agent_group_present", "Whether the last reading has this group of numbers.", present, "group", group)
	}
	out.cpu(r)
	out.memory(r)
	for _, d := range r.Disks {
		out.counter("node_disk_read_bytes_total", "Bytes read.", float64(d.ReadBytes), "device", d.Device)
		out.counter("node_disk_written_bytes_total", "Bytes written.", float64(d.WriteBytes), "device", d.Device)
		out.counter("node_disk_queue_seconds_total", "Time in flight, summed over requests.", known(d.QueueMs)/1e3, "device", d.Device)
	}
	for _, n := range r.Networks {
		for direction, bytes := range map[string]uint64{"receive": n.ReceiveBytes, "transmit": n.TransmitBytes} {
			out.counter("node_network_bytes_total", "Bytes.", float64(bytes), "interface", n.Interface, "direction", direction)
		}
	}
}

func (m exposition) cpu(r *node.Reading) {
	if t := r.CPU; t != nil {
		for mode, ns := range map[string]*uint64{
			"user": &t.UserNs, "system": &t.SystemNs, "idle": t.IdleNs, "iowait": t.IowaitNs, "steal": t.StealNs,
		} {
			m.counter("node_cpu_seconds_total", "Time all cores together spent in each mode.", known(ns)/1e9, "mode", mode)
		}
	}
	if q := r.Quota; q != nil {
		m.counter("node_cpu_throttled_seconds_total", "Time that the limit held cores back.", float64(q.ThrottledNs)/1e9)
	}
	if r.Load != nil {
		m.gauge("node_load1", "Mean number of active tasks over 1 minute.", r.Load.Load1)
	}
}

func (m exposition) memory(r *node.Reading) {
	is := r.Memory
	if is == nil {
		return
	}
	m.gauge("node_memory_total_bytes", "Memory, or the control group's limit.", float64(is.TotalBytes))
	m.gauge("node_memory_free_bytes", "Memory that nothing uses.", float64(is.FreeBytes))
	m.gauge("node_memory_page_cache_bytes", "Cached and buffers without shared memory.", float64(is.PageCacheBytes))
}
