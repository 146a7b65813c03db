package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/internal/unix"
)

const (
	readSize  = 32 << 10
	maxLine   = 64 << 10 // longer lines are given in pieces
	maxOutput = 1 << 20  // kept of each stream, if the command does not say
	pipeSize  = 64 << 10 // the room of a pipe, which may be full when its writer has ended
)

// An output collects the output of a command. Its lock also keeps the callbacks of the two streams
// from overlapping.
type output struct {
	mu             sync.Mutex
	stdout, stderr stream
	both           []byte
	truncated      bool
}

// A stream is one of the two.
type stream struct {
	out  *output
	max  int
	kept []byte
	line func([]byte)
	part []byte // of a line whose end has not come yet
}

func newOutput(c *engine.Command) *output {
	limit := c.MaxOutput
	if limit <= 0 {
		limit = maxOutput
	}
	o := &output{}
	o.stdout = stream{out: o, max: limit, line: c.Stdout}
	o.stderr = stream{out: o, max: limit, line: c.Stderr}
	return o
}

// A source is the end of a pipe that is read from.
type source interface {
	io.Reader
	syscall.Conn
	SetReadDeadline(t time.Time) error
}

// copy reads from f until its end. When the process has exited, it reads on as
// long as something is there or comes within drainWait, and no more than a pipe
// can hold: all that the process itself has written is among that, also where we
// were not given the time to read it.
func (s *stream) copy(f source, b []byte, exited <-chan struct{}) {
	left, after := pipeSize, false
	for left > 0 {
		began := time.Now()
		n, err := f.Read(b)
		s.take(b[:n])
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !late || late && time.Since(began) >= drainWait && !pending(f) {
			return
		}
		if after {
			left -= n
		}
		select {
		case <-exited:
			after = true
			f.SetReadDeadline(time.Now().Add(drainWait))
		default:
		}
	}
}

// pending reports whether a pipe holds unread bytes.
func pending(f syscall.Conn) bool {
	n := 0
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return err == nil && n > 0
}

// take keeps the bytes that have come and gives their lines to the callback.
func (s *stream) take(b []byte) {
	if len(b) == 0 {
		return
	}
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	keep := b[:min(len(b), s.max-len(s.kept))]
	s.kept = append(s.kept, keep...)
	s.out.both = append(s.out.both, keep...)
	s.out.truncated = s.out.truncated || len(keep) < len(b)
	if s.line == nil {
		return
	}
	for len(b) > 0 {
		b = s.next(b)
	}
}

// next gives one line, or the part of a line so far, and returns the rest.
func (s *stream) next(b []byte) (rest []byte) {
	end := bytes.IndexByte(b, '\n')
	room := maxLine - len(s.part)
	switch {
	case end < 0 && len(b) <= room:
		s.part = append(s.part, b...)
		return nil
	case end < 0 || end > room:
		s.line(s.whole(b[:room]))
		return b[room:]
	}
	s.line(bytes.TrimSuffix(s.whole(b[:end]), []byte("\r")))
	return b[end+1:]
}

// whole returns the line whose last part b is.
func (s *stream) whole(b []byte) []byte {
	if len(s.part) > 0 {
		b = append(s.part, b...)
		s.part = s.part[:0]
	}
	return b
}

// flush gives the last line, which has no end.
func (o *output) flush(s *stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(s.part) > 0 {
		s.line(s.whole(nil))
	}
}

// tailSize is more than a line of a terminal has.
const tailSize = 1 << 10

// tail returns the end of what the command has printed so far; of one with a cost the end of its standard output.
func (r *run) tail() []byte {
	if r.c.Cost != "" {
		b := make([]byte, tailSize)
		info, err := r.stdout.Stat()
		if err != nil {
			return nil
		}
		n, _ := r.stdout.ReadAt(b, max(0, info.Size()-tailSize)) // fewer bytes than there are will do
		return b[:n]
	}
	r.out.mu.Lock()
	defer r.out.mu.Unlock()
	return bytes.Clone(r.out.both[max(0, len(r.out.both)-tailSize):])
}

// result returns the collected output. It is called when the streams have ended.
func (o *output) result() *engine.Result {
	return &engine.Result{Stdout: o.stdout.kept, Stderr: o.stderr.kept, Output: o.both, Truncated: o.truncated}
}
