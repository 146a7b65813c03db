package fetch_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/gapi/fetch"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
)

// entry is one entry of a tar.
type entry struct {
	name, text string
	kind       byte
	link       string
}

// tarOf makes an archive.
func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o644}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.text))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil && e.kind == tar.TypeReg {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// gzipped packs bytes.
func gzipped(t testing.TB, src []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipOf makes an archive with files of these names.
func zipOf(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		h := &zip.FileHeader{Name: name}
		if strings.HasSuffix(name, "@") {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte("module: m\n"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// good is the file of a module.
var good = entry{name: "m-1.0/module.yaml", text: "module: m\n"}

// TestUnpack: each format gives the files below the one folder at the top, or below the path that is named.
func TestUnpack(t *testing.T) {
	many := tarOf(t, entry{name: "r/a/module.yaml", text: "module: a\n"}, entry{name: "r/a/t/x", text: "x"}, entry{name: "r/b/module.yaml", text: "module: b\n"}, entry{name: "README"})
	for _, c := range []struct {
		name string
		src  []byte
		at   string
		want []string
	}{
		{"tar", tarOf(t, good), "", []string{"module.yaml"}},
		{"tar.gz", gzipped(t, tarOf(t, entry{name: "m-1.0/", kind: tar.TypeDir}, good, entry{name: "m-1.0/d/t.tmpl"})), "", []string{"d/t.tmpl", "module.yaml"}},
		{"zip", zipOf(t, "module.yaml", "./t.tmpl"), "", []string{"module.yaml", "t.tmpl"}},
		{"a part", many, "r/a", []string{"module.yaml", "t/x"}},
		{"a part below the top", tarOf(t, entry{name: "top/a/module.yaml", text: "module: a\n"}), "a", []string{"module.yaml"}},
	} {
		tree, err := fetch.Unpack(c.src, c.at)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var names []string
		for name := range tree {
			names = append(names, name)
		}
		if slices.Sort(names); !slices.Equal(names, c.want) {
			t.Errorf("%s has %q, not %q", c.name, names, c.want)
		}
	}
}

// TestUnpackHostile: whatever could write elsewhere, or is no module, is refused with a reason.
func TestUnpackHostile(t *testing.T) {
	for _, c := range []struct {
		name, want string
		src        []byte
	}{
		{"a way out", "leads out", tarOf(t, good, entry{name: "../x"})},
		{"a way out in the middle", "leads out", tarOf(t, good, entry{name: "m-1.0/../../x"})},
		{"a way out and back", "leads out", tarOf(t, good, entry{name: "m-1.0/x/../y"})},
		{"an absolute path", "leads out", tarOf(t, good, entry{name: "/etc/passwd"})},
		{"a folder outside", "leads out", tarOf(t, good, entry{name: "../d/", kind: tar.TypeDir})},
		{"a link", "is a link", tarOf(t, entry{name: "m-1.0/l", kind: tar.TypeSymlink, link: "/etc"}, good)},
		{"a hard link", "is a link", tarOf(t, good, entry{name: "m-1.0/l", kind: tar.TypeLink, link: "/etc/shadow"})},
		{"a device", "neither a file", tarOf(t, good, entry{name: "m-1.0/d", kind: tar.TypeChar})},
		{"a pipe", "neither a file", tarOf(t, good, entry{name: "m-1.0/p", kind: tar.TypeFifo})},
		{"a name twice", "have one name", tarOf(t, good, good)},
		{"a name in two cases", "have one name", tarOf(t, good, entry{name: "m-1.0/MODULE.yaml"})},
		{"a file that is a folder", "is a file and a folder", tarOf(t, good, entry{name: "m-1.0/a"}, entry{name: "m-1.0/a/b"})},
		{"a name with a control character", "can't be the name", tarOf(t, good, entry{name: "m-1.0/\x1b[2J"})},
		{"a name with a backslash", "can't be the name", tarOf(t, good, entry{name: `m-1.0/..\..\x`})},
		{"a repository of git", "repository of git", tarOf(t, good, entry{name: "m-1.0/.Git/config"})},
		{"no module", "this is no module", tarOf(t, entry{name: "m-1.0/README"})},
		{"modules below", "--path names one of its modules: a, b", tarOf(t, entry{name: "r/a/module.yaml"}, entry{name: "r/b/module.yaml"})},
		{"a link in a zip", "is a link", zipOf(t, "module.yaml", "l@")},
		{"a way out of a zip", "leads out", zipOf(t, "module.yaml", "../x")},
		{"text", "no archive", []byte("module: m\n")},
		{"nothing", "no archive", nil},
		{"a bomb", "more than 64 MiB", gzipped(t, tarOf(t, good, entry{name: "m-1.0/big", text: strings.Repeat("\x00", 65<<20)}))},
		{"a cut archive", "unexpected EOF", gzipped(t, tarOf(t, good))[:40]},
	} {
		if _, err := fetch.Unpack(c.src, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v", c.name, err)
		}
	}
}

// storeIn returns a store in a folder.
func storeIn(t *testing.T, dir string) *fetch.Store {
	t.Helper()
	s := &fetch.Store{Dir: dir, Client: http.DefaultClient, Judge: func(file string, src []byte) (string, error) {
		d, ds := yaml.ModuleText(file, src)
		return d.Name, ds.Err()
	}}
	if err := s.Read(filepath.Join(dir, fetch.LockFile), yaml.Document); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGetArchive: an archive comes with its checksum alone, leaves folders of others in peace, and comes again as it was.
func TestGetArchive(t *testing.T) {
	src := gzipped(t, tarOf(t, good))
	served := src
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if _, err := w.Write(served); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	address, sum := server.URL+"/m.tar.gz", fmt.Sprintf("%x", sha256.Sum256(src))
	dir := t.TempDir()
	s := storeIn(t, dir)
	if _, err := s.Get(t.Context(), fetch.Order{Source: address}); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("without a checksum: %v", err)
	}
	if _, err := s.Get(t.Context(), fetch.Order{Source: address, SHA256: strings.Repeat("0", 64)}); err == nil || !strings.Contains(err.Error(), "nothing is taken") {
		t.Errorf("with another checksum: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("a refused archive has left %v", left)
	}
	e, err := s.Get(t.Context(), fetch.Order{Source: address, SHA256: sum})
	if err != nil || e.Folder != "modules/m" {
		t.Fatal(e, err)
	}
	if err := s.State(e); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "modules/m/module.yaml")
	if err := os.WriteFile(file, []byte("module: m\n# mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.State(e); !errors.Is(err, fetch.ErrAltered) {
		t.Error(err)
	}
	if err := s.Restore(t.Context(), e); !errors.Is(err, fetch.ErrAltered) {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "modules")); err != nil {
		t.Fatal(err)
	}
	served = gzipped(t, tarOf(t, good, entry{name: "m-1.0/new"}))
	if err := s.Restore(t.Context(), e); err == nil || !strings.Contains(err.Error(), "nothing is taken") {
		t.Errorf("another archive at the address: %v", err)
	}
	served = src
	if err := s.Restore(t.Context(), e); err != nil || s.State(e) != nil {
		t.Error(err, s.State(e))
	}
	if _, err := s.Get(t.Context(), fetch.Order{Source: address, SHA256: sum, Folder: "modules/m/inner"}); err == nil || !strings.Contains(err.Error(), "is part of the module") {
		t.Errorf("a folder in a module: %v", err)
	}
}

// TestGetAfterAKill: a run that was killed between the folder and the lock file is done again, for a new module and for another content. A folder with
// other files stays.
func TestGetAfterAKill(t *testing.T) {
	first, second := gzipped(t, tarOf(t, good)), gzipped(t, tarOf(t, good, entry{name: "m-1.0/new"}))
	dir := t.TempDir()
	get := func(s *fetch.Store, src []byte) error {
		t.Helper()
		at := filepath.Join(t.TempDir(), "m.tar.gz")
		if err := os.WriteFile(at, src, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.Get(t.Context(), fetch.Order{Source: at, SHA256: fmt.Sprintf("%x", sha256.Sum256(src))})
		return err
	}
	for range 2 { // the lock of the first run is lost
		if err := get(storeIn(t, dir), first); err != nil {
			t.Fatal(err)
		}
	}
	if err := get(storeIn(t, dir), second); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("an unknown folder with other files: %v", err)
	}
	known := storeIn(t, dir)
	if err := get(known, first); err != nil {
		t.Fatal(err)
	}
	killed := storeIn(t, dir)
	killed.Lock.Put(known.Lock.Modules[0])
	if err := get(killed, second); err != nil {
		t.Fatal(err)
	}
	if err := get(known, second); err != nil { // which has the lock of before
		t.Errorf("the new files are there, and the lock has the old ones: %v", err)
	}
	if e := known.Lock.Modules[0]; known.State(&e) != nil {
		t.Error(known.State(&e))
	}
	if err := os.WriteFile(filepath.Join(dir, "modules/m/mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := get(known, first); !errors.Is(err, fetch.ErrAltered) {
		t.Errorf("an altered folder: %v", err)
	}
}

// TestFolderElsewhere: a link on the disk does not lead a module out of the folder of the lock file.
func TestFolderElsewhere(t *testing.T) {
	src := tarOf(t, good)
	dir, out := t.TempDir(), t.TempDir()
	archive := filepath.Join(dir, "m.tar")
	if err := errors.Join(os.WriteFile(archive, src, 0o644), os.Symlink(out, filepath.Join(dir, "modules"))); err != nil {
		t.Fatal(err)
	}
	s := storeIn(t, dir)
	if _, err := s.Get(t.Context(), fetch.Order{Source: archive, SHA256: fmt.Sprintf("%x", sha256.Sum256(src))}); err == nil {
		t.Error("a module was written through a link")
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Error(left)
	}
}

// TestLock: a lock file is read as it was written, and every fault of a hostile one is told with its place.
func TestLock(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	l := &fetch.Lock{}
	l.Put(fetch.Entry{Folder: "modules/b", Archive: `x "y".zip`, SHA256: strings.Repeat("1", 64), Digest: digest})
	l.Put(fetch.Entry{Folder: "modules/a", Git: "git@example.org:a.git", Ref: "true", Commit: strings.Repeat("0", 40), Path: "m", Digest: digest})
	n, ds := yaml.Document("l", l.Text())
	again, more := fetch.ReadLock(n)
	if ds.Err() != nil || more.Err() != nil || !bytes.Equal(again.Text(), l.Text()) || !slices.Equal(again.Modules, l.Modules) {
		t.Errorf("%v %v\n%s", ds, more, l.Text())
	}
	tail := ", commit: \"" + strings.Repeat("0", 40) + "\", digest: \"" + digest + "\"}\n"
	for _, c := range []struct{ text, want string }{
		{"- {folder: ../x, git: https://h/x" + tail, "leads out"},
		{"- {folder: /etc, git: https://h/x" + tail, "leads out"},
		{"- {folder: .git/hooks, git: https://h/x" + tail, "repository of git"},
		{"- {folder: .ssh, git: https://h/x" + tail, "can't be the folder"},
		{"- {folder: ., git: https://h/x" + tail, "leads out"},
		{"- {folder: m, git: \"ext::sh -c x\"" + tail, "no address"},
		{"- {folder: m, git: \"ext::sh\"" + tail, "a program of its own"},
		{"- {folder: m, git: -uX" + tail, "no address"},
		{"- {folder: m, git: \"https://u:p@h/x\"" + tail, "has a password"},
		{"- {folder: m, git: \"https://token@h/x\"" + tail, "has a password or a token"},
		{"- {folder: m, git: \"https://u:p%zz@h/x\"" + tail, "has a password"},
		{"- {folder: m, git: \"ssh://u:p@h/x\"" + tail, "has a password"},
		{"- {folder: m, git: \"https://h/x?private_token=y\"" + tail, "\"private_token\" in its query"},
		{"- {folder: m, archive: \"https://h/x.tar?a=b&X-Amz-Signature=y\", sha256: \"" + digest + "\"" + tail[strings.Index(tail, ", digest"):], "\"X-Amz-Signature\" in its query"},
		{"- {folder: m, git: \"data://x\"" + tail, "git takes"},
		{"- {folder: m, git: https://h/x, ref: --upload-pack=x" + tail, "neither a branch nor a tag"},
		{"- {folder: m, git: https://h/x, path: ../y" + tail, "no folder of the source"},
		{"- {folder: m, git: https://h/x, archive: y" + tail, "from git or from an archive"},
		{"- {folder: m, git: https://h/x, commit: v1, digest: x}\n", "no commit in full"},
		{"- {folder: m, archive: x.tar, digest: \"" + digest + "\"}\n", "no checksum"},
		{"- {folder: m, git: https://h/x" + tail + "- {folder: M/n, git: https://h/x" + tail, "part of two modules"},
		{"- {folder: m, gti: https://h/x" + tail, "gti"},
	} {
		n, ds := yaml.Document("l", []byte("modules:\n"+c.text))
		if ds.Err() == nil {
			_, ds = fetch.ReadLock(n)
		}
		if text := fmt.Sprint(ds.Err()); !strings.Contains(text, c.want) || ds.Err() != nil && ds[0].Pos.Line < 2 {
			t.Errorf("%s: %v", c.text, text)
		}
	}
}

// FuzzUnpack: no archive ends the program, and no name of a file leads out of the folder of the module.
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, good))
	f.Add(gzipped(f, tarOf(f, good, entry{name: "../x"}, entry{name: "l", kind: tar.TypeSymlink, link: "/"})))
	f.Add(zipOf(f, "module.yaml", "a/b"))
	f.Fuzz(func(t *testing.T, src []byte) {
		tree, err := fetch.Unpack(src, "")
		if err != nil {
			return
		}
		if tree["module.yaml"] == nil {
			t.Error("a module without its file")
		}
		for name := range tree {
			if !filepath.IsLocal(name) || name != filepath.Clean(name) {
				t.Errorf("%q", name)
			}
		}
	})
}

// FuzzLock: no lock file ends the program, and one that is taken is written as an equal one.
func FuzzLock(f *testing.F) {
	digest := "sha256:" + strings.Repeat("0", 64)
	f.Add("modules:\n- {folder: modules/a, git: https://h/x, commit: \"" + strings.Repeat("0", 40) + "\", digest: \"" + digest + "\"}\n")
	f.Add("modules:\n- {folder: m, archive: \"a\\tb.zip\", sha256: \"" + strings.Repeat("0", 64) + "\", digest: \"" + digest + "\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, ds := yaml.Document("l", []byte(text))
		if ds.Err() != nil {
			return
		}
		l, ds := fetch.ReadLock(n)
		if ds.Err() != nil {
			return
		}
		for _, e := range l.Modules {
			if !filepath.IsLocal(e.Folder) || strings.HasPrefix(e.Folder, ".") || strings.HasPrefix(e.Git, "-") || strings.HasPrefix(e.Ref, "-") {
				t.Errorf("%+v was taken", e)
			}
		}
		n, ds = yaml.Document("again", l.Text())
		again, more := fetch.ReadLock(n)
		if ds.Err() != nil || more.Err() != nil || !slices.Equal(again.Modules, l.Modules) {
			t.Errorf("%v %v: %s", ds, more, l.Text())
		}
	})
}

// needsGit skips a test on a machine without git, which mgmt itself does not need either.
func needsGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is missing; on Debian: apt-get install git")
	}
}

// repository makes a repository of git with some files, and returns its folder.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	needsGit(t)
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "--template=", "."}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return dir
}

// storeOf returns the store of a new folder, which takes every module.
func storeOf(t *testing.T) *fetch.Store {
	return &fetch.Store{Dir: t.TempDir(), Lock: &fetch.Lock{}, Judge: func(string, []byte) (string, error) { return "m", nil }}
}

// TestPlainFiles: a module from git has the bytes of the commit, whatever the attributes of its repository say. The text that git puts in the
// place of $Format$ has words of another length with each version of git, and line ends follow the settings of a person.
func TestPlainFiles(t *testing.T) {
	files := map[string]string{
		".gitattributes": "version export-subst\nunix text eol=crlf\nid ident\n", "version": "$Format:%h %d$\n", "unix": "a\nb\n", "id": "$Id$\n", "module.yaml": "module: m\n",
	}
	s := storeOf(t)
	e, err := s.Get(t.Context(), fetch.Order{Source: repository(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(s.Dir, e.Folder, name)); name != ".gitattributes" && (err != nil || string(got) != want) {
			t.Errorf("%s is %q, and not %q: %v", name, got, want, err)
		}
	}
}

// TestLargeRepository: a repository that takes too much of the disk is an error that says so, and nothing is left of it.
func TestLargeRepository(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	noise := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	s := storeOf(t)
	s.MaxPack = 100 << 10
	_, err := s.Get(t.Context(), fetch.Order{Source: repository(t, map[string]string{"noise": string(noise), "module.yaml": "module: m\n"})})
	if err == nil || !strings.Contains(err.Error(), "of the disk") {
		t.Errorf("the error is %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "mgmt-module-*")); err != nil || len(left) > 0 {
		t.Errorf("there are %q: %v", left, err)
	}
}

// TestFetchEnds: a fetch whose server does not answer ends with its context, and leaves neither a folder nor a process.
func TestFetchEnds(t *testing.T) {
	needsGit(t)
	t.Setenv("TMPDIR", t.TempDir())
	asked, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done() // the program on the other side has gone
		close(ended)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := storeOf(t).Get(ctx, fetch.Order{Source: server.URL + "/x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	select {
	case <-ended:
	case <-time.After(await.Left()):
		t.Error("a child of git goes on")
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "mgmt-module-*")); err != nil || len(left) > 0 {
		t.Errorf("there are %q: %v", left, err)
	}
}
