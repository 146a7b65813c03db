package file

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// written has a file in dir written that leaves then, and returns its handle.
func written(t *testing.T, s *files.Shared, dir string) weak.Pointer[engine.Init] {
	t.Helper()
	r := &Res{Path: dir + "/f", Content: new("x")}
	r.SetKind("file")
	r.SetName(r.Path)
	init := *enginetest.NewInit(t, enginetest.WithShared(s)).Init() // the fake keeps its own
	kindtest.Must(t, r.Init(&init))
	if _, err := r.CheckApply(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	kindtest.Must(t, r.Cleanup())
	return weak.Make(&init)
}

// TestFileSharedKeepsNoFile: what is still to be flushed keeps nothing of the file
// that was written, and its failure is told at the end then.
func TestFileSharedKeepsNoFile(t *testing.T) {
	s, dir := files.New(nil), t.TempDir()+"/d"
	kindtest.Must(t, os.Mkdir(dir, 0o755))
	init := written(t, s, dir)
	for deadline := time.Now().Add(await.Left()); init.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("a file that has left is kept")
		}
	}
	kindtest.Must(t, os.RemoveAll(dir))
	kindtest.Must(t, os.WriteFile(dir, nil, 0o600)) // no folder any more
	s.FlushAtRest()
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "may not be on the disk") {
		t.Errorf("Close: %v", err)
	}
}

// TestFileSharedTellsOfFailures: by the log of the file that was written.
func TestFileSharedTellsOfFailures(t *testing.T) {
	s, dir := files.New(nil), t.TempDir()+"/d"
	kindtest.Must(t, os.Mkdir(dir, 0o755))
	r := &Res{Path: dir + "/f", Content: new("x")}
	f := kindtest.Begin(t, "file", r, enginetest.WithShared(s))
	kindtest.Want(t, f, r, `state created content: (none) -> "x"`)
	kindtest.Must(t, os.RemoveAll(dir))
	kindtest.Must(t, os.WriteFile(dir, nil, 0o600)) // no folder any more
	s.FlushAtRest()
	if log := strings.Join(f.Logs(), "\n"); !strings.Contains(log, "may not be on the disk") {
		t.Errorf("the log is %q", log)
	}
	kindtest.Must(t, s.Close())
}

// TestFileSharedFolderGone: a folder that has gone since it was written to has its file system flushed all the same.
func TestFileSharedFolderGone(t *testing.T) {
	s, dir := files.New(nil), t.TempDir()+"/d"
	kindtest.Must(t, os.MkdirAll(dir+"/e", 0o755))
	written(t, s, dir+"/e")
	kindtest.Must(t, os.RemoveAll(dir))
	s.FlushAtRest()
	kindtest.Must(t, s.Close())
}
