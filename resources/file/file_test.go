package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func drifts(name string) map[string]func(*testing.T, string) {
	at := func(f func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { f(t, filepath.Join(dir, name)) }
	}
	return map[string]func(*testing.T, string){
		"overwritten": at(func(t *testing.T, p string) { kindtest.Put(t, p, "other") }),
		"same size":   at(func(t *testing.T, p string) { kindtest.Put(t, p, "HELLO\n") }),
		"appended": at(func(t *testing.T, p string) {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			kindtest.Must(t, err)
			_, err = f.WriteString("more")
			kindtest.Must(t, err)
			kindtest.Must(t, f.Close())
		}),
		"truncated": at(func(t *testing.T, p string) { kindtest.Must(t, os.Truncate(p, 0)) }),
		"deleted":   at(func(t *testing.T, p string) { kindtest.Must(t, os.Remove(p)) }),
		"renamed over": at(func(t *testing.T, p string) {
			kindtest.Put(t, p+".new", "renamed")
			kindtest.Must(t, os.Rename(p+".new", p))
		}),
		"chmod": at(func(t *testing.T, p string) { kindtest.Must(t, os.Chmod(p, 0o666)) }),
		"chown": at(func(t *testing.T, p string) { kindtest.Must(t, os.Chown(p, 12, 34)) }),
		"a folder": at(func(t *testing.T, p string) {
			kindtest.Must(t, os.Remove(p))
			kindtest.Must(t, os.Mkdir(p, 0o755))
			kindtest.Put(t, p+"/inside", "x")
		}),
		"a link": at(func(t *testing.T, p string) {
			kindtest.Must(t, os.Remove(p))
			kindtest.Must(t, os.Symlink("/etc/passwd", p))
		}),
	}
}

func TestFileSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "file",
		New: func(t *testing.T, dir string) engine.Res {
			text := "hello\n"
			return &Res{Path: dir + "/f", Content: &text, Mode: "0640", Owner: "0", Group: "0", Force: true}
		},
		Drifts:   drifts("f"),
		Received: []string{"content"},
	})
}

func atPath(p string) node { return nodeAt(safepath.System(), p) }
