// Package sls reads and writes job traces of YARN's Scheduler Load Simulator
// (SLS). A trace file has a JSON object for each job; the objects stand one
// after the other or in a list. A second file, the topology, has an object for
// each rack.
//
// Depending on the version of SLS, the duration of a task is in
// container.duration.ms, in duration.ms, or between container.start.ms and
// container.end.ms; this package reads all of them. The first object of a file
// may have the numbers of nodes and racks in place of a job. A job or task with
// a count stands for that many identical jobs or tasks.
package sls

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
)

// Format describes SLS's trace format to package exchange.
var Format = format.Format{
	Name:   "sls",
	About:  "job traces of YARN's Scheduler Load Simulator",
	Origin: traces.Imported,
	Detect: func(head []byte) bool {
		return jsonstream.HasKey(head, "job.tasks", "job.start.ms", "job.queue.name", "job.id", "am.type", "yarn.sls.am.type", "num.nodes")
	},
	NewReader: func(im *format.Import) format.Reader { return newReader(im) },
	Write:     write,
	Topology: &format.Topology{
		Detect: func(head []byte) bool { return jsonstream.HasKey(head, "rack", "nodes") },
		Read:   readTopology,
		Write:  writeTopology,
	},
}

// Types of the numbers in a file, one for each unit. A file may have the numbers
// in quotes.
type (
	millis    int64 // a time in milliseconds, since 1970 or since any other time
	lengthMs  int64 // a duration in milliseconds
	megabytes int64
	cores     int64
	count     int64
)

// unknown is the value of a time or duration that the file does not have.
const unknown = -1

// job is a JSON object of a trace file. It describes a job, several identical
// jobs, or only the numbers of nodes and racks of the cluster.
type job struct {
	Nodes   count  `json:"num.nodes,omitzero"`
	Racks   count  `json:"num.racks,omitzero"`
	Type    string `json:"am.type"`          // type of the job's ApplicationMaster, such as mapreduce, in files of newer SLS versions
	OldType string `json:"yarn.sls.am.type"` // type of the job's ApplicationMaster, in files of older SLS versions
	StartMs millis `json:"job.start.ms"`
	EndMs   millis `json:"job.end.ms,omitzero"`
	Queue   string `json:"job.queue.name"`
	ID      string `json:"job.id"`
	User    string `json:"job.user,omitempty"`
	Label   string `json:"job.label.expression,omitempty"`
	Count   count  `json:"job.count,omitzero"`
	Tasks   []task `json:"job.tasks"`
}

// task is a JSON object in a trace file. It describes one container of a job,
// or Count identical containers. A container runs one task.
type task struct {
	Host       string    `json:"container.host"` // path of the container's host, "/rack/host"
	StartMs    millis    `json:"container.start.ms"`
	EndMs      millis    `json:"container.end.ms"`
	DurationMs lengthMs  `json:"container.duration.ms,omitzero"`
	OldMs      lengthMs  `json:"duration.ms,omitzero"` // duration of the task, in files of older SLS versions
	DelayMs    lengthMs  `json:"container.request.delay,omitzero"`
	Priority   count     `json:"container.priority"`
	Type       string    `json:"container.type"`
	MemoryMB   megabytes `json:"container.memory-mb,omitzero"`
	VCores     cores     `json:"container.vcores,omitzero"`
	Count      count     `json:"count,omitzero"`
}

var (
	noJob  = job{StartMs: unknown, EndMs: unknown, Count: 1}
	noTask = task{StartMs: unknown, EndMs: unknown, DurationMs: unknown, OldMs: unknown, Type: "map", Count: 1}
)

// priorities are the container priorities of maps and reduces that SLS's own
// converter writes. kinds are the names of the two task kinds in a file.
var (
	priorities = [...]count{traces.Map: 20, traces.Reduce: 10}
	kinds      = [...]string{traces.Map: "map", traces.Reduce: "reduce"}
)

// rack is a JSON object of a topology file: a rack and its nodes.
type rack struct {
	Name  string `json:"rack"`
	Nodes []node `json:"nodes"`
}

type node struct {
	Name     string `json:"node"`
	MemoryMB int64  `json:"memory-mb,omitzero"`
	VCores   int64  `json:"vcores,omitzero"`
}

// readTopology reads the nodes of a topology file. In traces, the name of a rack
// begins with a slash; readTopology adds the slash if the file does not have it.
func readTopology(in io.Reader) (nodes []traces.NodeFacts, err error) {
	err = jsonstream.Each(in, func(in *jsonstream.Reader) error {
		r, err := readRack(in)
		for _, n := range r.Nodes {
			if n.Name == "" {
				continue
			}
			f := traces.NodeFacts{Node: traces.Node(n.Name), Rack: "/" + strings.Trim(r.Name, "/")}
			if n.MemoryMB > 0 && n.MemoryMB <= maxMemoryMB {
				f.MemoryBytes = n.MemoryMB << 20
			}
			if n.VCores > 0 && n.VCores <= maxVCores {
				f.VCores = int32(n.VCores)
			}
			nodes = append(nodes, f)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	return nodes, nil
}

func readRack(in *jsonstream.Reader) (r rack, err error) {
	var read func(field any) error
	read = func(field any) (err error) {
		switch to := field.(type) {
		case *int64:
			*to, _, err = in.Int()
		case *[]node:
			err = in.List(func() error { return in.Fields(jsonstream.Another(to), read) })
		}
		return err
	}
	err = in.Fields(&r, read)
	return r, err
}

// writeTopology writes a topology file: a line with a JSON object for each rack.
func writeTopology(out io.Writer, nodes []traces.NodeFacts) error {
	var racks []*rack
	known := map[string]*rack{}
	for _, n := range nodes {
		name := strings.TrimPrefix(rackOf(n.Rack), "/")
		r := known[name]
		if r == nil {
			r = &rack{Name: name}
			known[name] = r
			racks = append(racks, r)
		}
		r.Nodes = append(r.Nodes, node{string(n.Node), n.MemoryBytes >> 20, int64(n.VCores)})
	}
	lines := jsontext.NewEncoder(out)
	for _, r := range racks {
		if err := json.MarshalEncode(lines, r); err != nil {
			return fmt.Errorf("write topology: %w", err)
		}
	}
	return nil
}

// rackOf returns the given rack, or YARN's default rack if the given one is
// empty.
func rackOf(rack string) string {
	if rack == "" {
		return "/default-rack"
	}
	return rack
}
