package reactor

import (
	"testing"
	"unsafe"

	"github.com/reactivegraph/mgmt/engine/reactor/internal/watch"
)

// TestVertexIsSmall: a vertex fits into the allocator's class of 288 bytes, and with a Watch into that of 352. The next classes
// have 320 and 384, which a million vertices would pay. The job of a run fits into 352: there are few of them at once.
func TestVertexIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(vertex{}); n > 288 {
		t.Errorf("a vertex has %d bytes, and may have 288", n)
	}
	if n := unsafe.Sizeof(job{}); n > 352 {
		t.Errorf("the job of a run has %d bytes, and may have 352", n)
	}
	if n := unsafe.Sizeof(vertex{}) + unsafe.Sizeof(watch.Vertex{}); n > 352 {
		t.Errorf("a vertex with a Watch has %d bytes, and may have 352", n)
	}
}
