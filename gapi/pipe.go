package gapi

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Patient returns a reader of a pipe, a terminal or a device that gives up when the
// context ends. It waits for a pipe without a writer: where the context cannot end, for 10 s, and the error is ErrUnwritten then.
// The file should be opened by Source.Open, and stays the caller's.
func Patient(ctx context.Context, f *os.File) io.Reader {
	if unix.Portable {
		return &plainPipe{ctx: ctx, f: f}
	}
	return patient{ctx, f, int(silentAfter / patientStep)}
}

// ErrUnwritten is the error of a pipe that no program has opened for writing.
var ErrUnwritten = errors.New("no program has opened this pipe for writing: start the one that writes to it, or name a file")

// plainPipe is the reader of systems other than Linux, where no call waits for a file. After the end of the context, a
// read goes on until the process ends.
type plainPipe struct {
	ctx context.Context
	f   *os.File
	got []byte
}

// Read implements io.Reader.
func (a *plainPipe) Read(b []byte) (int, error) {
	if len(a.got) > 0 {
		n := copy(b, a.got)
		a.got = a.got[n:]
		return n, nil
	}
	type answer struct {
		text []byte
		err  error
	}
	ended := make(chan answer, 1)
	go func() {
		buf := make([]byte, 64<<10)
		n, err := a.f.Read(buf)
		ended <- answer{buf[:n], err}
	}()
	select {
	case <-a.ctx.Done():
		return 0, context.Cause(a.ctx)
	case x := <-ended:
		n := copy(b, x.text)
		a.got = x.text[n:]
		return n, x.err
	}
}

// patient is what Patient returns.
type patient struct {
	ctx   context.Context
	f     *os.File
	looks int // for a writer, where the context cannot end
}

// A look at the context costs nothing compared with waiting for a person or a program.
const patientStep = 50 * time.Millisecond

// Read implements io.Reader.
func (p patient) Read(b []byte) (int, error) {
	for looks := 1; ; looks++ {
		if err := p.ctx.Err(); err != nil {
			return 0, context.Cause(p.ctx)
		}
		ready, err := p.ready()
		if err != nil {
			return 0, err
		}
		if !ready {
			if looks%p.looks == 0 && p.ctx.Done() == nil {
				if n, err := p.written(b); n > 0 || err != nil {
					return n, err
				}
			}
			continue
		}
		n, err := p.f.Read(b)
		if !errors.Is(err, unix.EAGAIN) { // another reader has read it
			return n, err
		}
	}
}

// ready waits for a moment until a read would not block.
func (p patient) ready() (ready bool, err error) {
	raw, err := p.f.SyscallConn()
	if err != nil {
		return false, err
	}
	fail := raw.Control(func(fd uintptr) {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		var n int
		n, err = unix.Poll(list, int(patientStep.Milliseconds()))
		ready = n > 0
	})
	if errors.Is(err, unix.EINTR) {
		err = nil
	}
	return ready, errors.Join(fail, err)
}

// written reads what has come since the last look, which may be nothing. The error is ErrUnwritten where nobody can write.
func (p patient) written(b []byte) (n int, err error) {
	raw, err := p.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	fail := raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), b) })
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR): // a writer is there, and silent
		return 0, fail
	case n > 0 || err != nil:
		return max(n, 0), errors.Join(fail, err)
	}
	if ended, err := p.ready(); ended || err != nil { // a writer has come and gone
		return 0, err
	}
	return 0, ErrUnwritten
}
