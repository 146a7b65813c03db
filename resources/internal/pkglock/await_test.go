package pkglock

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/clock"
)

// heldBy has another process hold a lock, and returns what it is ended by and who it is.
func heldBy(t *testing.T, word string, how LockBy) (locks []Lock, in io.Closer, cmd *exec.Cmd) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	in, cmd = heldAt(t, path, word)
	return []Lock{{"apt", path, how, EndIt}}, in, cmd
}

// heldAt has another process hold a lock, until in is closed.
func heldAt(t *testing.T, path, word string) (in io.Closer, cmd *exec.Cmd) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdLock+"="+word+" "+path)
	stdin, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	return stdin, cmd
}

// long is longer than a test lasts: what ends sooner was told of.
const long = time.Hour

// TestFindingB1LockIsFree: who waits for a lock goes on when its holder ends by itself or is killed, for each way of holding one; and is told of
// nothing before, also not of those who look at it.
func TestFindingB1LockIsFree(t *testing.T) {
	for word, how := range map[string]LockBy{"record": ByRecord, "flock": ByFlock, "pid": ByPID, "open": ByOpen} {
		for _, end := range []string{"ends", "killed"} {
			t.Run(word+"/"+end, func(t *testing.T) {
				locks, in, cmd := heldBy(t, word, how)
				h := Held(locks)
				if h == nil {
					t.Fatal("nobody holds it")
				}
				done := make(chan error, 1)
				go func() { done <- h.Await(t.Context(), clock.System{}, long) }()
				for range 20 {
					if Held(locks) == nil {
						t.Fatal("nobody holds it any more")
					}
				}
				select {
				case err := <-done:
					t.Fatalf("it goes on though the lock is held: %v", err)
				case <-time.After(100 * time.Millisecond):
				}
				if end == "killed" {
					_ = cmd.Process.Kill()
				} else {
					in.Close()
				}
				go func() { _ = cmd.Wait() }() // a process that nobody has waited for still counts as one
				if err := <-done; err != nil {
					t.Error(err)
				}
				for h := Held(locks); h != nil; h = Held(locks) {
					if err := h.Await(t.Context(), clock.System{}, long); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// TestFindingB1LockIsLetGo: a holder that lives on, and closes the file or removes it, is told of.
func TestFindingB1LockIsLetGo(t *testing.T) {
	for word, let := range map[string]func(path string, f *os.File) error{
		"closes":  func(_ string, f *os.File) error { return f.Close() },
		"removes": func(path string, _ *os.File) error { return os.Remove(path) },
	} {
		t.Run(word, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			h := &Holder{Lock: Lock{"apt", path, ByPID, EndIt}, PID: os.Getpid()}
			if _, err := f.WriteString("1"); err != nil { // a process that lives on
				t.Fatal(err)
			}
			h.PID = 1
			done := make(chan error, 1)
			go func() { done <- h.Await(t.Context(), clock.System{}, long) }()
			for len(done) == 0 { // until it is armed there is nothing to be told
				if err := let(path, f); err != nil && !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
					break
				}
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFindingB1LockWaitEnds: the wait ends with its context, with its time, and where nothing can tell of the lock soon.
func TestFindingB1LockWaitEnds(t *testing.T) {
	locks, _, _ := heldBy(t, "record", ByRecord)
	h := Held(locks)
	if err := h.Await(t.Context(), clock.System{}, 10*time.Millisecond); err != nil || Held(locks) == nil {
		t.Errorf("after its time: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if err := h.Await(ctx, clock.System{}, long); !errors.Is(err, why) {
		t.Errorf("after its context: %v", err)
	}
	gone := &Holder{Lock: Lock{"apt", filepath.Join(t.TempDir(), "none"), ByRecord, EndIt}}
	if err := gone.Await(t.Context(), clock.System{}, long); err != nil {
		t.Error(err)
	}
}
