package puppet_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingJ3SilentCatalog: a catalog on a file system that never answers is an error after a while.
func TestFindingJ3SilentCatalog(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: ", err)
	}
	dir := t.TempDir()
	if err := unix.Mount("fuse", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		t.Fatal(err)
	}
	asker := &gapi.Asker{Limit: 20 * time.Millisecond}
	f := puppet.New(filepath.Join(dir, "c.json"), puppet.Options{Source: gapi.Source{Asker: asker}})
	for _, err := range f.Graphs(t.Context(), gapi.Env{NoWatch: true}) {
		if err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Error(err)
		}
	}
	_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
	_ = unix.Close(fd)
	asker.Wait()
}
