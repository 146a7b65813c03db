package backends

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// pathHost runs commands with the PATH of the test.
type pathHost struct{ *host.Host }

func (h pathHost) Command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	return h.Host.Command(ctx, c)
}

// supervised starts runsvdir on folders of the test, and ends it and all that it began.
func supervised(t *testing.T, live string) {
	t.Helper()
	c := exec.Command("runsvdir", live)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it ends, and leaves the supervisors
		_ = c.Wait()
		links, _ := filepath.Glob(live + "/*")
		if out, err := exec.Command("sv", append([]string{"-w", "60", "force-shutdown"}, links...)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestRunitReal: with runit itself, in folders of the test.
func TestRunitReal(t *testing.T) {
	enginetest.Need(t, "runsvdir", "runit")
	dir := t.TempDir()
	folders, live := filepath.Join(dir, "sv"), filepath.Join(dir, "live")
	for _, d := range []string{folders + "/web", live} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(folders+"/web/run", []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	supervised(t, live)
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	b := virtual.Native("runit", func(context.Context, virtual.Env) (*runit, error) {
		return &runit{tool{pathHost{h}}, folders, live}, nil
	}, runitMethods()...)
	b.Module = "svc"
	m := bind(t, b, pathHost{h})

	if got := yes(t, m, "web", allQuestions...); !slices.Equal(got, []string{"disabled", "available"}) {
		t.Fatalf("at first: %v", got)
	}
	sub, err := m.Watch(t.Context(), []string{"web"})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	for _, step := range []struct{ function, want string }{
		{"start", "status disabled available"},
		{"enable", "status enabled available"},
		{"stop", "enabled available"},
		{"start", "status enabled available"},
		{"restart", "status enabled available"},
		{"disable", "status disabled available"},
		{"stop", "disabled available"},
		{"enable", "enabled available"},
		{"start", "status enabled available"},
	} {
		if err := do(t, m, "web", step.function); err != nil {
			t.Fatalf("%s: %v", step.function, err)
		}
		if got := strings.Join(yes(t, m, "web", allQuestions...), " "); got != step.want {
			t.Errorf("after %s: %s, want %s", step.function, got, step.want)
		}
		woken(t, sub)
	}
	info, _, err := Describe.Call(t.Context(), m, UnitArgs{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(*info.Detail, "(pid ")
	number, _, _ := strings.Cut(rest, ")")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("%q: %v", *info.Detail, err)
	}
	if err := do(t, m, "web", "reload"); err != nil { // sleep ends by that, and is started again
		t.Fatal(err)
	}
	woken(t, sub)
	if unitNames(t, m, "get_enabled") != "web" || unitNames(t, m, "get_all") != "web" || pid < 2 {
		t.Error("the lists are wrong")
	}
}
