package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// awayWorld is a store that can't be reached.
type awayWorld struct{ engine.World }

func (awayWorld) Get(context.Context, string) (engine.KV, error) {
	return engine.KV{}, fmt.Errorf("%w: the cable is out", engine.ErrUnavailable)
}

// TestFindingQ10LostKey: a host whose state folder is gone makes no other key in silence. The error says how to go on, and the way works without a restart.
func TestFindingQ10LostKey(t *testing.T) {
	w := memory.New()
	t.Cleanup(func() { _ = w.Close() })
	dir := filepath.Join(t.TempDir(), "state")
	first, err := newSealing(w, dir, "web1", nil).identity()
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
	if _, err := newSealing(awayWorld{w}, dir, "web1", nil).identity(); !errors.Is(err, engine.ErrUnavailable) {
		t.Error("without the store:", err)
	}
	s := newSealing(w, dir, "web1", nil)
	if _, err := s.identity(); !errors.Is(err, errLostKey) || !strings.Contains(err.Error(), first.Recipient()) || !strings.Contains(err.Error(), "echo new >"+key) {
		t.Error("a lost key:", err)
	}
	if _, err := os.Lstat(key); err == nil {
		t.Error("another key was made")
	}
	if other, err := newSealing(w, dir, "web2", nil).identity(); err != nil || other.Recipient() == first.Recipient() {
		t.Error("a host without a key:", err)
	}
	// The backup comes back.
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if id, err := newSealing(w, dir, "web1", nil).identity(); err != nil || id.Recipient() != first.Recipient() {
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
	if again, err := newSealing(w, dir, "web1", nil).identity(); err != nil || again.Recipient() != id.Recipient() {
		t.Error("the other key does not stay:", err)
	}
}

// TestKeepGood: a failure is tried again, and a success is kept.
func TestKeepGood(t *testing.T) {
	calls := 0
	f := keepGood(func() (int, error) {
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
