package httpd

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// socketIn returns a path for a socket.
func socketIn(t testing.TB) string { return filepath.Join(t.TempDir(), "s") }

func mustListen(t testing.TB, path string) *Socket {
	t.Helper()
	l, err := Listen(t.Context(), path, SocketOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// stillClock stands still until a test moves it. Its timers are the machine's.
type stillClock struct {
	clock.System
	mu  sync.Mutex
	now time.Time
}

func (c *stillClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *stillClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
