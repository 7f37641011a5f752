// Package racks finds the racks of hosts that a trace names without one in some
// places: by a topology, or by other places of the trace that name the host with
// its rack.
//
// Such a place may come after the one that needs it. Late then says that the
// files have to be read again with the same Table.
package racks

// Table maps hosts to racks. The zero Table is ready for use.
type Table struct {
	racks  map[string]string
	sought map[string]bool // hosts that Of could not answer for
	late   bool
}

// Tell takes in a host's rack; the first one told stays. An empty rack is none.
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

// Of is a host's rack, empty where none was told.
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

// Late is true if the rack of a host was told after Of was asked for it.
func (t *Table) Late() bool { return t.late }

// Again is a Table with the racks told so far, for another reading.
func (t *Table) Again() *Table { return &Table{racks: t.racks} }
