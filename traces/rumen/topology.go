package rumen

import (
	"fmt"
	"io"

	"heddle/traces/internal/jsonscan"
	"heddle/traces/internal/members"
)

// maxLevels bounds the depth of a topology.
const maxLevels = 64

// ReadTopology reads a tree of racks and hosts: {"name", "children"}, the leaves
// hosts, the root's name in no path.
func ReadTopology(in io.Reader) ([]Host, error) {
	s := jsonscan.NewScanner(in)
	s.Wrong = func(offset int64, want string) error { return fmt.Errorf("byte %d: want %s", offset, want) }
	var hosts []Host
	for s.Value() {
		hosts = topology(s, hosts, 0)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read topology: %w", err)
	}
	return hosts, nil
}

// topology reads a node of the tree. A rack may name itself behind
// its children, so that the paths below it are put together at its end.
func topology(s *jsonscan.Scanner, hosts []Host, level int) []Host {
	if level == maxLevels {
		s.Fail(fmt.Errorf("byte %d: the tree is over %d levels deep", s.Offset(), maxLevels))
	}
	begin, name, leaf := len(hosts), "", true
	if !s.Object() {
		return hosts
	}
	for first := true; s.More(&first, '}'); {
		switch string(s.Key()) {
		case "name":
			text, _ := s.String()
			name = string(text)
		case "children":
			if s.Array() {
				for first := true; s.More(&first, ']'); {
					hosts = topology(s, hosts, level+1)
					leaf = false
				}
			}
		default:
			s.Skip()
		}
	}
	if leaf && level > 0 && name != "" {
		return append(hosts, Host{Name: name})
	}
	if level > 0 {
		for i := begin; i < len(hosts); i++ {
			hosts[i].Rack = "/" + name + hosts[i].Rack
		}
	}
	return hosts
}

// AppendTopology appends the tree that ReadTopology reads.
func AppendTopology(to []byte, hosts []Host) []byte {
	var racks []string
	in := map[string][]string{}
	for _, h := range hosts {
		if in[h.Rack] == nil {
			racks = append(racks, h.Rack)
		}
		in[h.Rack] = append(in[h.Rack], h.Name)
	}
	to = append(to, `{"name":"<root>","children":[`...)
	for i, rack := range racks {
		if i > 0 {
			to = append(to, ',')
		}
		depth := 0
		for _, layer := range rackLayers(rack) {
			to = append(members.AppendText(append(to, `{"name":`...), layer), `,"children":[`...)
			depth++
		}
		for k, host := range in[rack] {
			if k > 0 {
				to = append(to, ',')
			}
			to = append(members.AppendText(append(to, `{"name":`...), host), `,"children":null}`...)
		}
		for range depth {
			to = append(to, "]}"...)
		}
	}
	return append(to, "]}\n"...)
}
