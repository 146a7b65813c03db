package kindtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Grow makes a tree: a name that ends in a slash is a folder, name -> target a link,
// name=text a file. The order matters, since folders are not made for the things in
// them.
func Grow(t testing.TB, root string, things ...string) {
	t.Helper()
	for _, thing := range things {
		link, target, isLink := strings.Cut(thing, " -> ")
		name, text, _ := strings.Cut(thing, "=")
		switch {
		case isLink:
			Must(t, os.Symlink(target, root+"/"+link))
		case strings.HasSuffix(thing, "/"):
			Must(t, os.MkdirAll(root+"/"+thing, 0o755))
		default:
			Put(t, root+"/"+name, text)
		}
	}
}

// Alter is Grow, but a name with a minus before it is removed, with everything
// below. The steps are taken in their order, so a name may go and come again.
func Alter(t *testing.T, dir string, things ...string) {
	t.Helper()
	for _, thing := range things {
		if gone, ok := strings.CutPrefix(thing, "-"); ok {
			Must(t, os.RemoveAll(dir+"/"+gone))
		} else {
			Grow(t, dir, thing)
		}
	}
}

// Alone fails the test unless there is one file with that text in the folder, or
// none for no text. It finds temporary files that a write has left behind.
func Alone(t *testing.T, path, text string) {
	t.Helper()
	names, err := os.ReadDir(filepath.Dir(path))
	Must(t, err)
	got, _ := os.ReadFile(path)
	if string(got) != text || len(names) > 1 || text == "" && len(names) > 0 {
		t.Errorf("%v, with %q", names, got)
	}
}
