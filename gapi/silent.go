package gapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// silentAfter is how long a file system may take for one answer: a disk that spins up takes half of that.
const silentAfter = 10 * time.Second

// ErrSilent is the error of a file system that does not answer.
var ErrSilent = errors.New("does not answer")

// An Asker asks file systems that may never answer: that of a lost NFS server, or of a program of FUSE that hangs. The zero
// value is ready. It may be used by many goroutines.
//
// A call that the kernel does not end keeps its goroutine until the file system answers or is unmounted. There is one such
// call for each path at most, so what an Asker leaves behind is bounded by the paths that it was asked about.
type Asker struct {
	Limit time.Duration // of one question; 10 s when 0
	Clock clock.Clock   // nil for that of the machine

	mu      sync.Mutex
	pending map[string]bool // paths with a call that has not come back in time
	calls   sync.WaitGroup
}

// Wait waits until every call has come back.
func (a *Asker) Wait() { a.calls.Wait() }

// Ask calls do, which asks a file system about a path, and returns its answer. If ctx ends before, or the limit is over, it
// returns an error; do goes on then, so it must alter nothing that others use.
func Ask[T any](ctx context.Context, a *Asker, path string, do func() (T, error)) (answer T, err error) {
	limit := a.Limit
	if limit == 0 {
		limit = silentAfter
	}
	late := fmt.Errorf("the file system at %s %w, for %s: bring its server or its program back, or unmount it", path, ErrSilent, limit)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[path] {
		return answer, late
	}
	type outcome struct {
		answer T
		err    error
	}
	came := make(chan outcome, 1)
	a.calls.Go(func() {
		got, err := do()
		came <- outcome{got, err}
		a.back(path)
	})
	a.mu.Unlock()
	ctx, cancel := clock.WithTimeout(ctx, clock.Or(a.Clock), limit, late)
	defer cancel()
	select {
	case o := <-came:
		a.mu.Lock()
		return o.answer, o.err
	case <-ctx.Done():
	}
	a.mu.Lock()
	if len(came) > 0 {
		o := <-came
		return o.answer, o.err
	}
	if a.pending == nil {
		a.pending = map[string]bool{}
	}
	a.pending[path] = true
	return answer, context.Cause(ctx)
}

// back notes that a call has come back.
func (a *Asker) back(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pending, path)
}

// Stat is os.Stat with a bound.
func (a *Asker) Stat(ctx context.Context, path string) (os.FileInfo, error) {
	return Ask(ctx, a, path, func() (os.FileInfo, error) { return os.Stat(path) })
}

// ReadDir lists a folder by a Source, with a bound.
func (a *Asker) ReadDir(ctx context.Context, s Source, path string) ([]os.DirEntry, error) {
	return Ask(ctx, a, path, func() ([]os.DirEntry, error) { return s.ReadDir(path) })
}

// ReadFile opens a file by a Source and reads it with read, with a bound for both.
func (a *Asker) ReadFile(ctx context.Context, s Source, path string, read func(f *os.File, size int64) ([]byte, error)) ([]byte, error) {
	return Ask(ctx, a, path, func() ([]byte, error) {
		f, size, err := s.OpenRegular(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return read(f, size)
	})
}
