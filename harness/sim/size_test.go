package sim

import (
	"testing"
	"unsafe"
)

// Most events find their records in memory, and wait for each cache line of 64 bytes. A
// record that grows costs speed that no other test sees.
func TestRecordsStaySmall(t *testing.T) {
	for _, x := range []struct {
		record     string
		size, want uintptr
	}{
		{"attempt", unsafe.Sizeof(attempt{}), 32},
		{"flows of an attempt", unsafe.Sizeof(table{}.flows[0]), 16},
		{"rest", unsafe.Sizeof(rest{}), 32},
		{"node", unsafe.Sizeof(node{}), 24},
	} {
		if x.size > x.want {
			t.Errorf("%s has %d bytes, want %d at most", x.record, x.size, x.want)
		}
	}
}
