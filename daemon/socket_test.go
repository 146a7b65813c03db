package daemon

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/state"
)

// TestSocketPlaces: who names a state folder has the socket there; else the first
// runtime folder counts.
func TestSocketPlaces(t *testing.T) {
	for _, name := range []string{"MGMT_PREFIX", "STATE_DIRECTORY", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", "/home/x")
	runtime := "/xdg/mgmt/mgmt.sock"
	last := "/home/x/.local/state/mgmt/mgmt.sock"
	if os.Geteuid() == 0 {
		runtime, last = "/run/mgmt/mgmt.sock", "/var/lib/mgmt/mgmt.sock"
	}
	expect := func(f Socket, s state.Place, want ...string) {
		t.Helper()
		if got := f.Places(s); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the places are %v, want %v", got, want)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", "/xdg")
	expect(Socket{}, state.Place{}, runtime, last)
	expect(Socket{Path: "/s"}, state.Place{Prefix: "/p"}, "/s")
	expect(Socket{}, state.Place{Prefix: "/p"}, "/p/mgmt.sock")
	t.Setenv("STATE_DIRECTORY", "/st")
	expect(Socket{}, state.Place{}, "/st/mgmt.sock")
	t.Setenv("RUNTIME_DIRECTORY", "/rt:/rt2")
	expect(Socket{}, state.Place{}, "/rt/mgmt.sock", "/st/mgmt.sock")
	t.Setenv("MGMT_PREFIX", "/p")
	expect(Socket{}, state.Place{}, "/p/mgmt.sock")
}

// TestNoSocket: where none can be made the run goes on and says so, unless it was
// named; a run for a while has none.
func TestNoSocket(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	l, err := (Socket{}).listen(t.Context(), state.Place{Prefix: filepath.Join(file, "below")}, logger)
	if l != nil || err != nil || !strings.Contains(log.String(), "there is no socket") {
		t.Errorf("%v, %v, %s", l, err, log.String())
	}
	if l, err := (Socket{Path: filepath.Join(file, "s")}).listen(t.Context(), state.Place{}, logger); l != nil || err == nil {
		t.Errorf("a named one: %v, %v", l, err)
	}
	if l, err := (Socket{}).listen(t.Context(), state.Place{Temporary: true}, logger); l != nil || err != nil {
		t.Errorf("for a while: %v, %v", l, err)
	}
}
