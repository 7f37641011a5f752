// Package racks finds the rack of a host that a file names without one. A
// topology, or another place in the files, may name the host with its rack.
//
// That place may come later than the one that needs the rack. Late then reports
// that the files must be read again, with what the Table knows by then.
package racks

// Table knows the racks of hosts. The zero Table is ready for use.
type Table struct {
	racks  map[string]string
	sought map[string]bool // hosts that Of could not answer for
	late   bool
}

// Tell adds a host's rack, unless it has one or the rack is empty.
func (t *Table) Tell(host, rack string) {
	if host == "" || rack == "" || t.racks[host] != "" {
		return
	}
	if t.racks == nil {
		t.racks = map[string]string{}
	}
	t.racks[host] = rack
	t.late = t.late || t.sought[host]
}

// Of returns a host's rack, empty if it is not known.
func (t *Table) Of(host string) string {
	rack := t.racks[host]
	if rack == "" && host != "" {
		if t.sought == nil {
			t.sought = map[string]bool{}
		}
		t.sought[host] = true
	}
	return rack
}

// Late reports whether Tell came too late for a host, after Of had been called.
func (t *Table) Late() bool { return t.late }

// Again returns a Table with the same racks, for another reading of the files.
func (t *Table) Again() *Table { return &Table{racks: t.racks} }
