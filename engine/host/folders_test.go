package host

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// TestFolders: each folder that is followed names what tells of its changes, and nothing waits for a hub that is held up.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	h, _, _ := faultyHost(t, below(closed, unix.EACCES))
	if list, err := h.Folders(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("before the first watch there are %v, %v", list, err)
	}
	mkdir(t, closed)
	s := watch(t, h, plain, filepath.Join(closed, "f"), filepath.Join(dir, "f"))
	list, err := h.Folders(t.Context())
	must(t, err)
	sources := map[string]string{}
	for i, f := range list {
		sources[f.Path] = f.Source
		if i > 0 && list[i-1].Path >= f.Path {
			t.Errorf("%s comes before %s", list[i-1].Path, f.Path)
		}
	}
	if sources[dir] != chosen() || sources[closed] != "poll" {
		t.Errorf("%v", sources)
	}

	gate := make(chan struct{})
	h.hub.calls <- func() { <-gate }
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if _, err := h.Folders(ctx); !errors.Is(err, late) {
		t.Errorf("a hub that is held up: %v", err)
	}
	close(gate)
	s.Close()
	must(t, h.Close())
	if _, err := h.Folders(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestRemoteFolders: a folder has the type of the mount that it is in, if others can change that one.
func TestRemoteFolders(t *testing.T) {
	types := map[string]string{"/": "", "/srv": "nfs4", "/srv/local": "", "/srv/s": "fuse.sshfs"}
	for path, want := range map[string]string{"/": "", "/etc": "", "/srv": "nfs4", "/srv/a/b": "nfs4", "/srvx": "", "/srv/local/x": "", "/srv/s/x": "fuse.sshfs"} {
		if got := typeAt(types, path); got != want {
			t.Errorf("%s is on %q", path, got)
		}
	}
	for fs, want := range map[string]bool{"nfs": true, "nfs4": true, "cifs": true, "fuse": true, "fuse.sshfs": true, "fuseblk": false, "ext4": false, "tmpfs": false, "overlay": false} {
		if isRemote(fs) != want {
			t.Errorf("%s", fs)
		}
	}
	if got := typeAt(nil, "/a/b"); got != "" {
		t.Errorf("without a table: %q", got)
	}
}
