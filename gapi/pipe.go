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
// context ends. It waits for a pipe without a writer. The file should be opened by
// Source.Open, and stays the caller's.
func Patient(ctx context.Context, f *os.File) io.Reader { return patient{ctx, f} }

// patient is what Patient returns.
type patient struct {
	ctx context.Context
	f   *os.File
}

// A look at the context costs nothing beside waiting for a person or a program.
const patientStep = 50 * time.Millisecond

// Read implements io.Reader.
func (p patient) Read(b []byte) (int, error) {
	for {
		if err := p.ctx.Err(); err != nil {
			return 0, context.Cause(p.ctx)
		}
		ready, err := p.ready()
		if err != nil {
			return 0, err
		}
		if !ready {
			continue
		}
		n, err := p.f.Read(b)
		if !errors.Is(err, unix.EAGAIN) { // somebody else has read it
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
