package mounttab

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// followPause is how long after a look the next one comes at the earliest: starting a
// container alters the mounts many times, and there may be many of them.
const followPause = 20 * time.Millisecond

// Follower tells of changes of what is mounted at one point. It has a goroutine, that
// waits in the kernel and ends with Close.
type Follower struct {
	point string
	file  *os.File
	last  string
	wake  chan struct{} // of capacity 1
	stop  chan struct{}
	done  chan struct{}
}

// Follow begins to follow a mount point. What comes after it has returned is seen.
func Follow(point string) (*Follower, error) {
	file, err := os.Open(MountInfo)
	if err != nil {
		return nil, err
	}
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	f := &Follower{
		point: point, file: file,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if f.last, err = f.print(); err != nil {
		_ = file.Close()
		return nil, err
	}
	go f.run(conn)
	return f, nil
}

// C wakes up after changes; many of them are one wake-up.
func (f *Follower) C() <-chan struct{} { return f.wake }

// Close ends it. It is called once.
func (f *Follower) Close() {
	close(f.stop)
	_ = f.file.Close()
	<-f.done
}

// run looks, and then waits until the kernel says that the file is to be read anew.
func (f *Follower) run(conn syscall.RawConn) {
	defer close(f.done)
	_ = conn.Read(func(uintptr) (done bool) {
		if now, err := f.print(); err != nil || now != f.last {
			f.last = now
			select {
			case f.wake <- struct{}{}:
			default:
			}
		}
		select {
		case <-f.stop:
			return true
		case <-time.After(followPause):
			return false
		}
	})
}

// print is a text that differs whenever what is mounted at the point does.
func (f *Follower) print() (string, error) {
	all, err := ReadMounts()
	var b strings.Builder
	for _, m := range all {
		if m.Point == f.point {
			fmt.Fprintln(&b, m)
		}
	}
	return b.String(), err
}
