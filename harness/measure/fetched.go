package measure

import (
	"math"

	"heddle/traces"
)

// mostReduceNodes is the largest number of nodes that are kept of a job's reduces.
const mostReduceNodes = 64

// placed notes on which node a reduce succeeded, and how much it fetched from how near: each
// node's share of the output of the job's maps. Before the last map has ended nobody knows
// these shares, and no reduce ends.
func (j *Job) placed(live *liveJob, on *Node, bytes int64) {
	if len(j.ReduceNodes) < mostReduceNodes {
		j.ReduceNodes = append(j.ReduceNodes, on.Node)
	}
	var put ByLevel
	for from, output := range live.put {
		level := traces.LevelOff
		switch {
		case from == on:
			level = traces.LevelNode
		case from.Rack == on.Rack:
			level = traces.LevelRack
		}
		at := put.at(level)
		*at = traces.AddCount(*at, output)
	}
	if all := float64(put.Known()); all > 0 && bytes > 0 {
		of := func(part int64) int64 { return int64(math.Round(float64(bytes) * (float64(part) / all))) }
		j.Fetched.add(ByLevel{Node: of(put.Node), Rack: of(put.Rack), Off: of(put.Off)})
	}
}

func (l *Levels[N]) add(x Levels[N]) {
	l.Cache, l.Node, l.Rack, l.Off, l.Unknown = l.Cache+x.Cache, l.Node+x.Node, l.Rack+x.Rack, l.Off+x.Off, l.Unknown+x.Unknown
}

// fetchedMetrics are those of what reduces fetch.
func fetchedMetrics() []Metric {
	share := func(of func(ByLevel) int64) func([]*Figures) float64 {
		return func(list []*Figures) float64 {
			var sum ByLevel
			for _, f := range list {
				sum.add(f.Fetched)
			}
			if sum.Known() == 0 {
				return math.NaN()
			}
			return 100 * float64(of(sum)) / float64(sum.Known())
		}
	}
	return []Metric{
		{Name: "shuffling", Unit: "s", Better: Lower, Text: "mean time from a reduce's start, or from the job's last map if that ends later, until the reduce has all map output", value: weighted(func(f *Figures) (float64, float64) { return f.shufflesMs / f.shuffles / 1000, f.shuffles })},
		{Name: "nodeFetched", Unit: "%", Better: Higher, Text: "share of the map output that reduces took from their own node", value: share(func(b ByLevel) int64 { return b.Node })},
		{Name: "offRackFetched", Unit: "%", Better: Lower, Text: "share of the map output that reduces fetched from another rack", value: share(func(b ByLevel) int64 { return b.Off })},
	}
}
