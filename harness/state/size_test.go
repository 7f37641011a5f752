package state

import (
	"testing"
	"unsafe"
)

// Each heartbeat and container reads the record of a node, which is seldom in the cache: four
// of them are in a cache line.
func TestNodesStaySmall(t *testing.T) {
	if size := unsafe.Sizeof(node{}); size > 16 {
		t.Errorf("a node has %d bytes, want 16 at most", size)
	}
}
