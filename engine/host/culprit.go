package host

import (
	"sync/atomic"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// An actor is a process that made events. Its pidfd stays with it when its number is given to another
// one.
type actor struct {
	pid  int
	fd   int          // -1 where it had ended before it could be had
	refs atomic.Int32 // the last one closes fd
}

func (p *actor) retain() *actor {
	p.refs.Add(1)
	return p
}

// release lets go of a process; nil is none.
func (p *actor) release() {
	if p != nil && p.refs.Add(-1) == 0 && p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
}

// ended reports whether it has ended. It may not be buried yet.
func (p *actor) ended() bool { return p.fd < 0 || readable(uintptr(p.fd)) }
