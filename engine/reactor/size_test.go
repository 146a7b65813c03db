package reactor

import (
	"testing"
	"unsafe"
)

// TestVertexIsSmall: a vertex fits into the allocator's class of 512 bytes. The next class has 576,
// which a million vertices would pay.
func TestVertexIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(vertex{}); n > 512 {
		t.Errorf("a vertex has %d bytes, and may have 512", n)
	}
}
