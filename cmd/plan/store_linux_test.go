package plan

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/daemon"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingQ2NoRights: who may not read the store gets a plan in which what depends on it is unknown, and the reason.
func TestFindingQ2NoRights(t *testing.T) {
	dir := nstest.OpenFolder(t)
	file := filepath.Join(dir, "world.db")
	w, err := bolt.Open(file, bolt.Options{})
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.Chmod(file, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	nstest.AsUser(t, func() {
		var said bytes.Buffer
		f := &planStore{world: store.Config{Place: "bolt:" + file, Lease: store.DefaultLease}, socket: remote.Socket{Socket: daemon.Socket{Path: filepath.Join(dir, "no.sock")}}}
		w, closing, err := f.open(t.Context(), state.Place{}, dir, "web1", slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Error(err)
			return
		}
		defer closing()
		_, err = w.List(t.Context(), hosts.Prefix, world.ListOptions{})
		if _, unread := errors.AsType[*world.UnreadError](err); !unread || !errors.Is(err, fs.ErrPermission) || !strings.Contains(said.String(), "permission denied") {
			t.Errorf("%v; it says %s", err, said.String())
		}
	})
}
