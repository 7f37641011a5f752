package exchange

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
)

// rackTable is the table of a topology script or of Hadoop's TableMapping: a machine
// and its rack on each line, with blanks, a comma or = between. It may also be what
// hdfs dfsadmin -printTopology prints. rackXML is that of Cloudera's Manager.
var (
	rackTable = format.Format{Name: "racks", Topology: &format.Topology{Table: true, Detect: isRackTable, Read: readRackTable}}
	rackXML   = format.Format{Name: "cloudera", Topology: &format.Topology{Table: true, Read: readRackXML, Detect: func(head []byte) bool {
		return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) && bytes.Contains(head, []byte("<topology"))
	}}}
)

// tableLine returns what a line of a table says, or ok false if it says nothing of a
// machine. printed is the rack under which hdfs dfsadmin lists machines.
func tableLine(line string, printed *string) (n traces.NodeFacts, ok bool) {
	if rack, isRack := strings.CutPrefix(line, "Rack: "); isRack {
		*printed = strings.TrimSpace(rack)
		return n, true
	}
	f := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\r,;=", c) })
	if *printed != "" && len(f) > 1 && f[1][0] == '(' {
		f = []string{strings.Trim(f[1], "()"), *printed}
	}
	if len(f) != 2 || strings.ContainsAny(f[0], `/"{}[]<>`) || !strings.ContainsAny(f[1], "/0123456789") && !strings.Contains(f[1], "rack") {
		return n, false
	}
	return traces.NodeFacts{Node: traces.Node(f[0]), Rack: "/" + strings.TrimPrefix(f[1], "/")}, true
}

// passed reports whether a line of a table is empty, a comment, a section or a header.
func passed(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "" || line[0] == '#' || line[0] == '[' || strings.HasPrefix(line, "host") && strings.HasSuffix(line, "rack")
}

func isRackTable(head []byte) bool {
	lines, printed := 0, ""
	for line := range bytes.Lines(head) {
		if len(line) > 1<<10 || lines > 100 {
			break
		}
		if _, ok := tableLine(string(line), &printed); ok {
			lines++
		} else if !passed(string(line)) {
			return false
		}
	}
	return lines > 0
}

func readRackTable(in io.Reader) (nodes []traces.NodeFacts, err error) {
	s, printed := bufio.NewScanner(in), ""
	for number := 1; s.Scan(); number++ {
		switch n, ok := tableLine(s.Text(), &printed); {
		case n.Node != "":
			nodes = append(nodes, n)
		case !ok && !passed(s.Text()):
			return nil, fmt.Errorf("read rack table: line %d: %.40q: want a machine and its rack", number, s.Text())
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read rack table: %w", err)
	}
	return nodes, nil
}

func readRackXML(in io.Reader) ([]traces.NodeFacts, error) {
	var table struct {
		Nodes []struct {
			Name string `xml:"name,attr"`
			Rack string `xml:"rack,attr"`
		} `xml:"node"`
	}
	if err := xml.NewDecoder(in).Decode(&table); err != nil {
		return nil, fmt.Errorf("read rack table: %w", err)
	}
	nodes := make([]traces.NodeFacts, len(table.Nodes))
	for i, n := range table.Nodes {
		nodes[i] = traces.NodeFacts{Node: traces.Node(n.Name), Rack: n.Rack}
	}
	return nodes, nil
}

// tabled returns the nodes of a cluster that only tables tell, for jobs that name no
// hosts. A table may have a machine twice, by its name and by its address.
func tabled(all []traces.NodeFacts) (named []traces.NodeFacts) {
	for _, n := range all {
		if _, err := netip.ParseAddr(string(n.Node)); err != nil {
			named = append(named, n)
		}
	}
	if len(named) == 0 {
		return all
	}
	return named
}
