package resources

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// written has a file in dir written that leaves then, and returns its handle.
func written(t *testing.T, s *fileShared, dir string) weak.Pointer[engine.Init] {
	t.Helper()
	r := &FileRes{Path: dir + "/f", Content: new("x")}
	r.SetKind("file")
	r.SetName(r.Path)
	init := *enginetest.NewInit(t, enginetest.WithShared(s)).Init() // the fake keeps its own
	must(t, r.Init(&init))
	if _, err := r.CheckApply(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	must(t, r.Cleanup())
	return weak.Make(&init)
}

// TestFileSharedKeepsNoFile: what is still to be flushed keeps nothing of the file
// that was written, and its failure is told at the end then.
func TestFileSharedKeepsNoFile(t *testing.T) {
	s, dir := newFileShared(), t.TempDir()+"/d"
	must(t, os.Mkdir(dir, 0o755))
	init := written(t, s, dir)
	for deadline := time.Now().Add(time.Minute); init.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("a file that has left is kept")
		}
	}
	must(t, os.RemoveAll(dir))
	must(t, os.WriteFile(dir, nil, 0o600)) // no folder any more
	s.flushAtRest()
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "may not be on the disk") {
		t.Errorf("Close: %v", err)
	}
}

// TestFileSharedTellsOfFailures: by the log of the file that was written.
func TestFileSharedTellsOfFailures(t *testing.T) {
	s, dir := newFileShared(), t.TempDir()+"/d"
	must(t, os.Mkdir(dir, 0o755))
	r := &FileRes{Path: dir + "/f", Content: new("x")}
	f := begin(t, "file", r, enginetest.WithShared(s))
	want(t, f, r, `state created content: (none) -> "x"`)
	must(t, os.RemoveAll(dir))
	must(t, os.WriteFile(dir, nil, 0o600)) // no folder any more
	s.flushAtRest()
	if log := strings.Join(f.Logs(), "\n"); !strings.Contains(log, "may not be on the disk") {
		t.Errorf("the log is %q", log)
	}
	must(t, s.Close())
}

// TestFileSharedFolderGone: a folder that has gone since it was written to has its file system flushed all the same.
func TestFileSharedFolderGone(t *testing.T) {
	s, dir := newFileShared(), t.TempDir()+"/d"
	must(t, os.MkdirAll(dir+"/e", 0o755))
	written(t, s, dir+"/e")
	must(t, os.RemoveAll(dir))
	s.flushAtRest()
	must(t, s.Close())
}
