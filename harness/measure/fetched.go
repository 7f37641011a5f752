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
		addTo(put.at(level), output)
	}
	if all := float64(put.Known()); all > 0 && bytes > 0 {
		of := func(part int64) int64 { return int64(math.Round(float64(bytes) * (float64(part) / all))) }
		j.Fetched.add(ByLevel{Node: of(put.Node), Rack: of(put.Rack), Off: of(put.Off)})
	}
}

func (l *Levels[N]) add(x Levels[N]) {
	l.Cache, l.Node, l.Rack, l.Off, l.Unknown = l.Cache+x.Cache, l.Node+x.Node, l.Rack+x.Rack, l.Off+x.Off, l.Unknown+x.Unknown
}
