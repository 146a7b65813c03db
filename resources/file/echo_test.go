package file

import (
	"os"
	"testing"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFileOwnWriteIsNoNews: Watch passes over the wake-ups of a run's own write. Whatever another program does to the
// file is news, and so is everything before the first run and after a run that failed.
func TestFileOwnWriteIsNoNews(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/f"
	for name, alter := range map[string]func() error{
		"written":  func() error { return os.WriteFile(path, []byte("drift"), 0o644) },
		"the same": func() error { return os.WriteFile(path, []byte("wanted"), 0o644) },
		"mode":     func() error { return os.Chmod(path, 0o600) },
		"gone":     func() error { return os.Remove(path) },
		"replaced": func() error { return os.Rename(dir+"/other", path) },
		"a link":   func() error { return firstError(os.Remove(path), os.Symlink(dir+"/other", path)) },
		"above":    func() error { return firstError(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			kindtest.Must(t, os.RemoveAll(dir))
			kindtest.Must(t, os.MkdirAll(dir, 0o755))
			kindtest.Must(t, os.WriteFile(dir+"/other", []byte("wanted"), 0o644))
			r := &Res{Path: path, Content: new("wanted"), Mode: "0644"}
			f := enginetest.NewInit(t)
			kindtest.Must(t, r.Init(f.Init()))
			if r.leftAt(path).AsLeft() {
				t.Error("nothing has run, and it is as left")
			}
			if _, err := r.CheckApply(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if r.seen.ok && !r.leftAt(path).AsLeft() { // where the clock of the file system is coarse, the next run tells
				t.Error("its own write is news")
			}
			kindtest.Must(t, alter())
			if r.leftAt(path).AsLeft() {
				t.Error("it is no news")
			}
			kindtest.Must(t, os.RemoveAll(dir+".old"))
		})
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
