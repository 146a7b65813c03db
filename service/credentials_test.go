package service

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/internal/await"
)

// fakeSystemd puts programs of systemd into the path that give what is in a folder.
func fakeSystemd(t *testing.T, busctl, run string) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range map[string]string{"busctl": busctl, "systemd-run": run} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

const busOfApp = `case "$*" in
*mgmt_2daudit_2eservice*" LoadCredential") echo '{"type":"a(ss)","data":[["app","/etc/app"],["b","/etc/b"]]}' ;;
*ImportCredential) echo "no such property" >&2; exit 1 ;;
*) echo '{"type":"a(ss)","data":[]}' ;;
esac`

// TestFindingD8Rotated: a credential that has changed is replaced in one step, with its mode. What
// is the same is left alone, and no log has a value.
func TestFindingD8Rotated(t *testing.T) {
	dir, source := t.TempDir(), t.TempDir()
	put := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	put(dir, "app", "old-canary")
	put(dir, "b", "same")
	put(source, "app", "new-canary")
	put(source, "b", "same")
	before, err := os.Stat(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	args := filepath.Join(t.TempDir(), "args")
	fakeSystemd(t, busOfApp, `echo "$*" >`+args+`; exec tar -c -C `+source+` .`)
	var log bytes.Buffer
	c := &Credentials{dir: dir, unit: "mgmt-audit.service", log: slog.New(slog.NewTextHandler(&log, nil))}
	c.Renew(t.Context())
	if got, err := os.ReadFile(filepath.Join(dir, "app")); err != nil || string(got) != "new-canary" {
		t.Errorf("%q, %v; %s", got, err, log.String())
	}
	if info, err := os.Stat(filepath.Join(dir, "app")); err != nil || info.Mode() != 0o400 {
		t.Errorf("%v, %v", info, err)
	}
	if after, err := os.Stat(filepath.Join(dir, "b")); err != nil || !os.SameFile(before, after) {
		t.Errorf("what is the same was replaced (%v)", err)
	}
	if text := log.String(); strings.Contains(text, "canary") || !strings.Contains(text, "credentials=app") {
		t.Error(text)
	}
	asked, err := os.ReadFile(args)
	if err != nil || !strings.Contains(string(asked), "--property=LoadCredential=app:/etc/app --property=LoadCredential=b:/etc/b tar") {
		t.Errorf("%s, %v", asked, err)
	}
	log.Reset()
	c.Renew(t.Context())
	if log.Len() > 0 {
		t.Errorf("nothing has changed: %s", log.String())
	}
}

// TestFindingD8KeepsOld: where systemd gives nothing, the credentials of the start stay.
func TestFindingD8KeepsOld(t *testing.T) {
	for name, c := range map[string]struct{ bus, run, want string }{
		"refused":  {busOfApp, "echo 'Failed to start' >&2; exit 1", "Failed to start"},
		"no tar":   {busOfApp, "echo no archive at all, and that is long enough to be none", "could not be read"},
		"cut":      {busOfApp, "tar -c -C /etc passwd | head -c 600", "could not be read"},
		"below":    {busOfApp, "tar -c -C / etc/passwd", ""},
		"no unit":  {"exit 1", "exit 1", ""},
		"no words": {"echo nonsense", "exit 1", ""},
		"hangs":    {busOfApp, `echo > "$BEGUN"; exec sleep 1000`, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "app"), []byte("old"), 0o400); err != nil {
				t.Fatal(err)
			}
			fakeSystemd(t, c.bus, c.run)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "hangs" {
				begun := filepath.Join(t.TempDir(), "begun")
				t.Setenv("BEGUN", begun)
				go func() {
					await.Eventually(func() bool { _, err := os.Stat(begun); return err == nil || ctx.Err() != nil })
					cancel()
				}()
			}
			var log bytes.Buffer
			(&Credentials{dir: dir, unit: "mgmt-audit.service", log: slog.New(slog.NewTextHandler(&log, nil))}).Renew(ctx)
			list, err := os.ReadDir(dir)
			if err != nil || len(list) != 1 || !strings.Contains(log.String(), c.want) || c.want == "" && log.Len() > 0 {
				t.Errorf("%v, %v, %s", list, err, log.String())
			}
			if got, err := os.ReadFile(filepath.Join(dir, "app")); err != nil || string(got) != "old" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestFindingD8NotOurs: credentials of a service that has only started what started us are left alone.
func TestFindingD8NotOurs(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", t.TempDir())
	t.Setenv("SYSTEMD_EXEC_PID", "1")
	fakeSystemd(t, "exit 1", "exit 1")
	if c := NewCredentials(slog.New(slog.DiscardHandler)); c.dir != "" {
		t.Errorf("the credentials in %s are ours", c.dir)
	}
}
