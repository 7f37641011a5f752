package sls

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"heddle/traces"
	"heddle/traces/internal/jsonscan"
	"heddle/traces/internal/members"
)

// ReadTopology reads a file of racks: {"rack": …, "nodes": [{"node": …}, …]}.
// Racks get the slash that they have in traces.
func ReadTopology(in io.Reader) ([]Node, error) {
	s := jsonscan.NewScanner(in)
	s.Wrong = func(offset int64, want string) error { return fmt.Errorf("byte %d: want %s", offset, want) }
	var nodes []Node
	for s.Value() {
		rack, begin := "", len(nodes)
		s.Object()
		for first := true; s.More(&first, '}'); {
			switch string(s.Key()) {
			case "rack":
				text, _ := s.String()
				rack = "/" + strings.Trim(string(text), "/")
			case "nodes":
				if s.Array() {
					for first := true; s.More(&first, ']'); {
						if n := readNode(s); n.Name != "" {
							nodes = append(nodes, n)
						}
					}
				}
			default:
				s.Skip()
			}
		}
		for i := begin; i < len(nodes); i++ {
			nodes[i].Rack = rack
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	return nodes, nil
}

func readNode(s *jsonscan.Scanner) Node {
	var n Node
	if !s.Object() {
		return n
	}
	for first := true; s.More(&first, '}'); {
		switch string(s.Key()) {
		case "node":
			text, _ := s.String()
			n.Name = string(text)
		case "memory-mb":
			n.MemoryMB = limited(s, 1<<40)
		case "vcores":
			n.VCores = limited(s, maxVCores)
		default:
			s.Skip()
		}
	}
	return n
}

// limited is a number from 0 to most, 0 for any other.
func limited(s *jsonscan.Scanner, most int64) int64 {
	if n, _ := s.Int(); n >= 0 && n <= most {
		return n
	}
	return 0
}

// WriteTopology writes the nodes of a cluster, rack by rack.
func WriteTopology(out io.Writer, cluster traces.ClusterFacts) error {
	var racks []string
	in := map[string][]traces.NodeFacts{}
	for _, n := range cluster.Nodes {
		if !n.Worker {
			continue
		}
		rack := rackOf(n.Rack)
		if in[rack] == nil {
			racks = append(racks, rack)
		}
		in[rack] = append(in[rack], n)
	}
	buf := bufio.NewWriter(out)
	for _, rack := range racks {
		o := members.Begin(nil, "")
		o.Text("rack", strings.TrimPrefix(rack, "/"))
		o.Key("nodes")
		o.To = append(o.To, '[')
		for i, n := range in[rack] {
			if i > 0 {
				o.To = append(o.To, ',')
			}
			node := members.Begin(o.To, "")
			node.Text("node", string(n.Node))
			if n.MemoryBytes > 0 {
				node.Int("memory-mb", n.MemoryBytes>>20)
			}
			if n.VCores > 0 {
				node.Int("vcores", int64(n.VCores))
			}
			o.To = node.End()
		}
		o.To = append(o.To, ']')
		buf.Write(append(o.End(), '\n'))
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write topology: %w", err)
	}
	return nil
}

// rackOf is a rack, SLS's own default for none.
func rackOf(rack string) string {
	if rack == "" {
		return "/default-rack"
	}
	return rack
}
