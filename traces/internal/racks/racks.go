// Package racks finds the rack of a host that an input file names without its
// rack. A topology file, or another place in the input files, may name the host
// with its rack.
//
// That place may be read only after the rack was needed. Late then reports that
// the files must be read again, with the racks known by then. So they must if some
// machine has two names.
package racks

import (
	"cmp"
	"maps"
	"slices"
)

// Table maps hosts to racks. The zero value of Table is ready for use.
type Table struct {
	racks  map[string]string
	sought map[string]bool // hosts for which the method Of was called before their rack was known
	late   bool
	same   map[string]string // the one name of machines with several, by each of the others
}

// Name returns the one name of a machine, as far as the first reading of the files has told.
func (t *Table) Name(host string) string {
	if t == nil {
		return host
	}
	return cmp.Or(t.same[host], host)
}

// Tell stores the rack of a host. It does nothing if the rack is empty or if the
// host has a rack already.
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

// Of returns the rack of a host, or an empty text if the rack is not known.
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

// Late reports whether the rack of some host became known only after Of had been
// asked for it.
func (t *Table) Late() bool { return t.late }

// Again returns a Table with the same racks, for reading the input files a
// second time. Machines get the names in same.
func (t *Table) Again(same map[string]string) *Table {
	again := &Table{same: same}
	for host, rack := range t.racks {
		if same[host] == "" {
			again.Tell(host, rack)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(same)) {
		again.Tell(same[host], t.racks[host])
	}
	return again
}
