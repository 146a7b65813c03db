package httpd

import (
	"cmp"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Limits bound the resources of a server that clients can take. A field that is 0 has the default
// that its comment names.
type Limits struct {
	Connections int   // at once: 256. One more takes the place of a quiet one.
	Lasting     int   // requests at once that last, as streams do: 64
	Header      int   // bytes of the head of a request: 16 KiB
	Body        int64 // bytes of a body, where the route says nothing else: 64 KiB

	Head      time.Duration // for the head of a request: 2 s
	Read      time.Duration // for a whole request: 10 s
	Idle      time.Duration // between two requests of a connection: 5 s
	Answer    time.Duration // for a handler whose request does not last: 10 s
	Slow      time.Duration // for a client to take an answer, or a page of a stream: 30 s
	Heartbeat time.Duration // between the signs of life of a stream: 15 s
	End       time.Duration // for requests that go on when the server ends: 1 s
	Look      time.Duration // between two looks whether the socket is still there: 3 s
}

// or returns the limits with the defaults in the place of zeros.
func (l Limits) or() Limits {
	return Limits{
		Connections: cmp.Or(l.Connections, 256),
		Lasting:     cmp.Or(l.Lasting, 64),
		Header:      cmp.Or(l.Header, 16<<10),
		Body:        cmp.Or(l.Body, 64<<10),
		Head:        cmp.Or(l.Head, 2*time.Second),
		Read:        cmp.Or(l.Read, 10*time.Second),
		Idle:        cmp.Or(l.Idle, 5*time.Second),
		Answer:      cmp.Or(l.Answer, 10*time.Second),
		Slow:        cmp.Or(l.Slow, 30*time.Second),
		Heartbeat:   cmp.Or(l.Heartbeat, 15*time.Second),
		End:         cmp.Or(l.End, time.Second),
		Look:        cmp.Or(l.Look, 3*time.Second),
	}
}

// Connections returns how many connections a listener should take at once: at most so many, and no
// more than an eighth of the files that the process may open. The rest is for resources, whose
// files and commands must not fail because of clients.
func Connections(most int) int {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur/8 >= uint64(most) {
		return most
	}
	return max(int(l.Cur/8), 2)
}

// lasting returns how many requests may last at once.
func lasting(most int) int { return max(Connections(2*most)/2, 1) }
