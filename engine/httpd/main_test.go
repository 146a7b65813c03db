package httpd

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
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
