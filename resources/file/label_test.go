package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// testLabel is an attribute that needs no policy, and that links have, too.
const testLabel = "trusted.mgmt"

const etcLabel = "system_u:object_r:etc_t:s0"

func labelOf(t *testing.T, path string) string {
	t.Helper()
	buf := make([]byte, 100)
	n, err := unix.Lgetxattr(path, testLabel, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func TestFileLabelSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "file",
		New: func(_ *testing.T, dir string) engine.Res {
			return &Res{Path: dir + "/f", Content: new("hello\n"), SELinux: etcLabel, attr: testLabel}
		},
		Drifts: map[string]func(*testing.T, string){
			"relabelled": func(t *testing.T, dir string) {
				kindtest.Must(t, unix.Setxattr(dir+"/f", testLabel, []byte("user_home_t"), 0))
			},
			"label removed": func(t *testing.T, dir string) { kindtest.Must(t, unix.Removexattr(dir+"/f", testLabel)) },
			"deleted":       func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/f")) },
			"overwritten": func(t *testing.T, dir string) {
				kindtest.Put(t, dir+"/f.new", "other")
				kindtest.Must(t, os.Rename(dir+"/f.new", dir+"/f"))
			},
		},
	})
}

// A file, a folder and a link have their label when they are made and after a drift,
// and nothing that is copied into a folder gets the folder's.
func TestFileLabels(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	kindtest.Must(t, os.Mkdir(src, 0o755))
	kindtest.Put(t, src+"/in", "x")
	for path, r := range map[string]*Res{
		"file":   {Content: new("x")},
		"empty":  {State: Exists},
		"folder": {Path: dir + "/folder/"},
		"deep":   {Path: dir + "/deep/", Source: src + "/", Recurse: true},
		"link":   {Symlink: true, Source: "nowhere"},
	} {
		path = filepath.Join(dir, path)
		if r.Path == "" {
			r.Path = path
		}
		r.SELinux, r.attr = etcLabel, testLabel
		f := kindtest.Begin(t, "file", r)
		if got := kindtest.Verbs(t, f, r, true); !strings.Contains(got, `selinux: (none) -> "`+etcLabel+`"`) {
			t.Errorf("%s: %s", path, got)
		}
		kindtest.Want(t, f, r, "")
		kindtest.Must(t, unix.Lsetxattr(path, testLabel, []byte("other"), 0))
		kindtest.Want(t, f, r, `selinux: "other" -> "`+etcLabel+`"`)
		if got := labelOf(t, path); got != etcLabel {
			t.Errorf("%s: the label is %q", path, got)
		}
		got, err := r.Read(t.Context())
		if err != nil || got.(*Res).SELinux != etcLabel {
			t.Errorf("%s: read as %v, %v", path, got, err)
		}
	}
	if got := labelOf(t, dir+"/deep/in"); got != "" {
		t.Errorf("the copy got the label %q", got)
	}
}

// Who gives no label keeps the one that is there, also of a file that is replaced.
func TestFileLabelIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	kindtest.Put(t, path, "old")
	kindtest.Must(t, unix.Setxattr(path, testLabel, []byte("kept"), 0))
	r := &Res{Path: path, Content: new("new"), attr: testLabel}
	f := kindtest.Begin(t, "file", r)
	kindtest.Want(t, f, r, `content: "old" -> "new"`)
	if got := labelOf(t, path); got != "kept" {
		t.Errorf("the label is %q", got)
	}
}

// The label that was there comes back.
func TestFileLabelIsReversed(t *testing.T) {
	r := &Res{Path: "/f", SELinux: etcLabel, attr: testLabel}
	undo, err := r.Reversed(&Res{Path: "/f", State: Exists, SELinux: "before", Owner: "root"})
	if got := undo.(*Res); err != nil || got.SELinux != "before" || got.Owner != "" {
		t.Errorf("undone by %+v, %v", got, err)
	}
}

func TestFileLabelsClash(t *testing.T) {
	a, b := &Res{Path: "/f", SELinux: "a"}, &Res{Path: "/f", SELinux: "b"}
	if err := a.Clashes(b); err == nil || err.Error() != "they want different SELinux labels" {
		t.Errorf("got %v", err)
	}
	if err := (&Res{Path: "/f", SELinux: "a b"}).Validate(); err == nil || !strings.HasPrefix(err.Error(), `selinux: "a b" is no label`) {
		t.Errorf("got %v", err)
	}
}
