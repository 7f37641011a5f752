package lanes

import (
	"math"

	"heddle/traces"
)

// A sampled is a metric of nodes of which a timeline keeps the mean in each bin.
type sampled struct {
	name  string
	unit  float64 // what a stored number counts
	value func(*traces.NodeSample) float64
}

var sampledMetrics = []sampled{
	{"cpu", 0.01, func(s *traces.NodeSample) float64 { return both(s.CPUUser, s.CPUSystem) }},
	{"iowait", 0.01, func(s *traces.NodeSample) float64 { return s.CPUIOWait }},
	{"load", 0.01, func(s *traces.NodeSample) float64 { return s.Load1 }},
	{"diskRead", 1 << 10, func(s *traces.NodeSample) float64 { return s.DiskReadBytesPerSec }},
	{"diskWrite", 1 << 10, func(s *traces.NodeSample) float64 { return s.DiskWriteBytesPerSec }},
	{"netRecv", 1 << 10, func(s *traces.NodeSample) float64 { return s.NetRecvBytesPerSec }},
	{"netSent", 1 << 10, func(s *traces.NodeSample) float64 { return s.NetSentBytesPerSec }},
	{"memory", 1 << 20, func(s *traces.NodeSample) float64 { return float64(s.MemoryUsedBytes) }},
	{"pageCache", 1 << 20, func(s *traces.NodeSample) float64 { return float64(s.PageCacheBytes) }},
	{"cacheUsed", 1 << 10, func(s *traces.NodeSample) float64 { return float64(s.HDFSCacheUsedBytes) }},
}

// both adds two numbers, of which either may be -1 for not measured.
func both(a, b float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// mostSampleBins is how many bins the samples of a node have at most, and mostSampled how
// many nodes are kept apart. Of more nodes, each bin has the mean, least and greatest.
const (
	mostSampleBins = 512
	mostSampled    = 32
)

// samples has what the agents of nodes measured, as means over bins.
type samples struct {
	count   int
	begun   bool
	from    int64
	widthMs int64
	nodes   map[int32][]mean // of each node its bins, each with all metrics
}

// mean is a sum and how many numbers it has.
type mean struct {
	sum float64
	n   float64
}

func newSamples() *samples { return &samples{widthMs: 500, nodes: map[int32][]mean{}} }

func (s *samples) add(t int64, n int32, e *traces.NodeSample) {
	if !s.begun {
		s.begun, s.from = true, t
	}
	for (t-s.from)/s.widthMs >= mostSampleBins {
		s.pair()
	}
	bin := int(max(0, t-s.from) / s.widthMs)
	bins := s.nodes[n]
	any := false
	for k, m := range sampledMetrics {
		x := m.value(e)
		if x < 0 || x > 1<<60 || math.IsNaN(x) {
			continue
		}
		any = true
		for len(bins) < (bin+1)*len(sampledMetrics) {
			bins = append(bins, mean{})
		}
		cell := &bins[bin*len(sampledMetrics)+k]
		cell.sum += x
		cell.n++
	}
	if any {
		s.count++
		s.nodes[n] = bins
	}
}

// pair makes each bin twice as wide.
func (s *samples) pair() {
	s.widthMs *= 2
	k := len(sampledMetrics)
	for n, bins := range s.nodes {
		out := make([]mean, (len(bins)/k+1)/2*k)
		for i, m := range bins {
			cell := &out[i/(2*k)*k+i%k]
			cell.sum += m.sum
			cell.n += m.n
		}
		s.nodes[n] = out
	}
}
