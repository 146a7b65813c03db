package trust

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// awayWorld is a store that can't be reached.
type awayWorld struct{ world.World }

func (awayWorld) Get(context.Context, string) (world.KV, error) {
	return world.KV{}, fmt.Errorf("%w: the cable is out", world.ErrUnavailable)
}

// TestFindingQ10LostKey: a host whose state folder is gone makes no other key in silence. The error says how to go on, and the way works without a restart.
func TestFindingQ10LostKey(t *testing.T) {
	w := memory.New()
	t.Cleanup(func() { _ = w.Close() })
	dir := filepath.Join(t.TempDir(), "state")
	first, err := NewSecrets(w, dir, "web1", nil, "").identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := seal.Publish(t.Context(), w, seal.Recipient{Host: "web1", Recipient: first.Recipient()}); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, identityFile)
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSecrets(awayWorld{w}, dir, "web1", nil, "").identity(); !errors.Is(err, world.ErrUnavailable) {
		t.Error("without the store:", err)
	}
	s := NewSecrets(w, dir, "web1", nil, "")
	if _, err := s.identity(); !errors.Is(err, ErrLostKey) || !strings.Contains(err.Error(), first.Recipient()) || !strings.Contains(err.Error(), "echo new >"+key) {
		t.Error("a lost key:", err)
	}
	if _, err := os.Lstat(key); err == nil {
		t.Error("another key was made")
	}
	if other, err := NewSecrets(w, dir, "web2", nil, "").identity(); err != nil || other.Recipient() == first.Recipient() {
		t.Error("a host without a key:", err)
	}
	// The backup comes back.
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := NewSecrets(w, dir, "web1", nil, "").identity(); err != nil || id.Recipient() != first.Recipient() {
		t.Error("a restored key:", err)
	}
	// The operator wants another one.
	if err := os.WriteFile(key, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := s.identity()
	if err != nil || id.Recipient() == first.Recipient() {
		t.Error("another key:", err)
	}
	if again, err := NewSecrets(w, dir, "web1", nil, "").identity(); err != nil || again.Recipient() != id.Recipient() {
		t.Error("the other key does not stay:", err)
	}
}

// wayWorld is a store that can't be reached while it is away, and counts the questions.
type wayWorld struct {
	world.World
	away  atomic.Bool
	asked atomic.Int64
}

func (w *wayWorld) Get(ctx context.Context, key string) (world.KV, error) {
	w.asked.Add(1)
	if w.away.Load() {
		return awayWorld{}.Get(ctx, key)
	}
	return w.World.Get(ctx, key)
}

// TestFindingQ10Publish: a store that is away at the start keeps no loss of the key from the log, which tells each once. The store is asked once in
// a while, however many secrets there are. The order of the operator works at once, and the host publishes the other key.
func TestFindingQ10Publish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wayWorld{World: memory.New()}
		w.away.Store(true)
		had, err := seal.New()
		if err != nil {
			t.Fatal(err)
		}
		if err := seal.Publish(t.Context(), w, seal.Recipient{Host: "web1", Recipient: had.Recipient()}); err != nil {
			t.Fatal(err)
		}
		text, err := seal.Seal([]string{had.Recipient()}, "CANARY")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		s := NewSecrets(w, dir, "web1", nil, "")
		var log strings.Builder
		over := make(chan struct{})
		go func() { defer close(over); s.Publish(t.Context(), slog.New(slog.NewTextHandler(&log, nil))) }()
		told := func(what string, warned, lost int, asked int64) {
			t.Helper()
			synctest.Wait()
			for range 10 { // as many secrets
				if _, err := s.Decrypts(func() func(string) (string, error) { return nil })(text); err == nil {
					t.Errorf("%s: a secret is read without the key", what)
				}
			}
			if strings.Count(log.String(), "level=WARN") != warned || strings.Count(log.String(), "level=ERROR") != lost || w.asked.Load() != asked {
				t.Errorf("%s: the store was asked %d times, want %d, and the log is\n%s", what, w.asked.Load(), asked, &log)
			}
		}
		told("while the store is away", 1, 0, 1)
		time.Sleep(publishWait)
		told("later", 1, 0, 2)
		w.away.Store(false)
		time.Sleep(publishWait)
		told("when the store is back", 1, 1, 3)
		time.Sleep(publishWait)
		told("at the end", 1, 1, 4)
		if err := os.WriteFile(filepath.Join(dir, identityFile), []byte("new\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		id, err := s.identity()
		if err != nil {
			t.Fatal(err)
		}
		<-over
		if list, err := seal.Hosts(t.Context(), w); err != nil || len(list) != 1 || list[0].Recipient != id.Recipient() {
			t.Errorf("published is %v: %v", list, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestKeepGood: a failure is tried again, and a success is kept.
func TestKeepGood(t *testing.T) {
	calls := 0
	f := KeepGood(func() (int, error) {
		if calls++; calls == 1 {
			return 0, errors.New("the disk is full")
		}
		return calls, nil
	})
	if _, err := f(); err == nil {
		t.Error("the first call does not fail")
	}
	for range 2 {
		if v, err := f(); v != 2 || err != nil {
			t.Errorf("a later call gives %d: %v", v, err)
		}
	}
}
