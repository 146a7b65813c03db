package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
)

// TestFindingB1ToolIsNotPolled: a tool that is locked out is not run again while the holder of the lock is seen, and at once when that ends.
func TestFindingB1ToolIsNotPolled(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "/var/lib/dnf/rpmdb_lock.pid")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	holder := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := errors.Join(holder.Start(), os.WriteFile(path, fmt.Appendln(nil, holder.Process.Pid), 0o644)); err != nil {
		t.Fatal(err)
	}
	ends := func() { _, _ = holder.Process.Kill(), holder.Wait() }
	runs, free := 0, false
	host := enginetest.NewHost()
	host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) {
		if runs++; pkglock.Held([]pkglock.Lock{{Backend: "dnf", Path: path, How: pkglock.ByPID, Advice: pkglock.EndIt}}) == nil {
			free = true
			return &engine.Result{}, nil
		}
		time.AfterFunc(2*lockPoll, ends)
		return &engine.Result{ExitCode: lockTexts["dnf"].exit, Stderr: []byte(lockTexts["dnf"].text)}, nil
	})
	x := newTools(virtual.Env{Host: host, Root: root}, judgeDnf)
	if err := x.change(t.Context(), nil, "dnf", "makecache"); err != nil || !free || runs != 2 {
		t.Errorf("it ran %d times: %v", runs, err)
	}
}
