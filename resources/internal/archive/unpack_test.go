package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

func unpacking(to string) *Unpacking {
	return &Unpacking{Paths: safepath.System(), To: to, UID: -1, GID: -1, MaxSize: 1 << 20}
}

// unpack checks, makes what differs, and checks again.
func unpack(t *testing.T, u *Unpacking, data []byte) (differ string, err error) {
	t.Helper()
	found, err := u.Check(t.Context(), bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	differ = strings.Join(slices.Sorted(maps.Keys(found.Differ)), " ")
	if err := u.Make(t.Context(), bytes.NewReader(data), found.Differ); err != nil {
		return differ, err
	}
	again, err := u.Check(t.Context(), bytes.NewReader(data))
	if err != nil || len(again.Differ) > 0 {
		t.Errorf("after it was made %v differ, %v", again.Differ, err)
	}
	return differ, nil
}

// What was packed is unpacked as it was, compressed or not.
func TestUnpack(t *testing.T) {
	from := tree(t)
	must(t, os.Remove(from+"/sub/link"))
	must(t, os.Symlink("../b", from+"/sub/link"))
	must(t, os.Chmod(from+"/sub/empty", 0o500))
	data := packed(t, "", from+"/")
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, err := z.Write(data)
	must(t, errors.Join(err, z.Close()))
	for _, data := range [][]byte{data, small.Bytes()} {
		to := t.TempDir()
		differ, err := unpack(t, unpacking(to), data)
		if err != nil || differ != "a b sub sub/c sub/empty sub/link" {
			t.Errorf("differ %q, %v", differ, err)
		}
		if a, b := names(t, packed(t, "", from+"/")), names(t, packed(t, "", to+"/")); a != b {
			t.Errorf("%s\nbecame %s", a, b)
		}
	}
}

// Each way in which a folder can differ is found, and nothing else is altered.
func TestUnpackRepairs(t *testing.T) {
	from := tree(t)
	must(t, os.Remove(from+"/sub/link"))
	must(t, os.Symlink("../b", from+"/sub/link"))
	data := packed(t, "", from+"/")
	outside := t.TempDir() + "/outside"
	must(t, os.WriteFile(outside, []byte("mine"), 0o600))
	for want, alter := range map[string]func(dir string) error{
		"":      func(dir string) error { return os.WriteFile(dir+"/more", nil, 0o600) },
		"b":     func(dir string) error { return os.WriteFile(dir+"/b", []byte("Bee"), 0o600) },
		"a":     func(dir string) error { return os.WriteFile(dir+"/a", []byte("longer"), 0o600) },
		"sub/c": func(dir string) error { return os.Chmod(dir+"/sub/c", 0o700) },
		"sub/link": func(dir string) error {
			return errors.Join(os.Remove(dir+"/sub/link"), os.Symlink("c", dir+"/sub/link"))
		},
		"sub/empty":                    func(dir string) error { return os.Remove(dir + "/sub/empty") },
		"sub sub/c sub/empty sub/link": func(dir string) error { return os.RemoveAll(dir + "/sub") },
		"a b": func(dir string) error {
			return errors.Join(os.Remove(dir+"/a"), os.Remove(dir+"/b"), os.Symlink(outside, dir+"/a"), os.Symlink(outside, dir+"/b"))
		},
	} {
		to := t.TempDir()
		if _, err := unpack(t, unpacking(to), data); err != nil {
			t.Fatal(err)
		}
		must(t, alter(to))
		if differ, err := unpack(t, unpacking(to), data); err != nil || differ != want {
			t.Errorf("differ %q and not %q, %v", differ, want, err)
		}
		if text, err := os.ReadFile(outside); err != nil || string(text) != "mine" {
			t.Fatalf("what a link led to is %q, %v", text, err)
		}
	}
}

// crafted makes an archive of headers as they are given.
func crafted(t *testing.T, heads ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range heads {
		switch h.Mode {
		case 0:
			h.Mode = 0o755
		case -1:
			h.Mode = 0
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = 4
		}
		must(t, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := w.Write([]byte("evil"))
			must(t, err)
		}
	}
	must(t, w.Close())
	return b.Bytes()
}

// An archive that leads out of the folder, or has something else in it that is not
// unpacked, is refused, and nothing outside is altered.
func TestUnpackRefuses(t *testing.T) {
	reg := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
	}
	for name, c := range map[string]struct {
		heads []tar.Header
		says  string
	}{
		"up":                  {[]tar.Header{reg("../x")}, "outside of the folder"},
		"up inside":           {[]tar.Header{reg("a/../../x")}, "outside of the folder"},
		"up and back":         {[]tar.Header{reg("a/../x")}, "outside of the folder"},
		"absolute":            {[]tar.Header{reg("/x")}, "outside of the folder"},
		"absolute target":     {[]tar.Header{link("l", "/etc")}, "leads out of the folder"},
		"target up":           {[]tar.Header{link("l", "..")}, "leads out of the folder"},
		"target up inside":    {[]tar.Header{link("a/l", "../../x")}, "leads out of the folder"},
		"target down and up":  {[]tar.Header{link("l", "."), link("m", "l/../x")}, "leads out of the folder"},
		"down and up, deeper": {[]tar.Header{{Name: "d", Typeflag: tar.TypeDir}, link("d/l", "."), link("d/m", "l/../../x")}, "leads out of the folder"},
		"down and up inside":  {[]tar.Header{{Name: "d", Typeflag: tar.TypeDir}, link("d/m", "l/../x")}, "leads out of the folder"},
		"through a link":      {[]tar.Header{{Name: "d", Typeflag: tar.TypeDir}, link("l", "d"), reg("l/x")}, "not a directory"},
		"hard link":           {[]tar.Header{reg("a"), {Name: "h", Linkname: "a", Typeflag: tar.TypeLink}}, "neither a file"},
		"device":              {[]tar.Header{{Name: "d", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, "neither a file"},
		"pipe":                {[]tar.Header{{Name: "p", Typeflag: tar.TypeFifo}}, "neither a file"},
		"twice":               {[]tar.Header{reg("a"), reg("./a")}, "twice"},
		"in the way":          {[]tar.Header{reg("there")}, "a folder is in its place"},
		"no name":             {[]tar.Header{reg(".")}, "a name that no file has"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := dir + "/a/b/to"
			must(t, os.MkdirAll(to+"/there", 0o755))
			_, err := unpack(t, unpacking(to), crafted(t, c.heads...))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v", err)
			}
			_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && !strings.HasPrefix(p, to+"/") {
					t.Errorf("%s was made", p)
				}
				return err
			})
		})
	}
}

// What the tar of GNU makes of a megabyte of nothing and the line hi, with -S, compressed by
// gzip; and of a file h with the line hello, with -j.
const (
	sparse = "H4sIAAAAAAACA+3QSwqDUAwF0Iy7ircErU830hV01o4EP/v34aj0owNpoXDOJCEJBO54jq+rii7ntRbPtWge+jKv27prI13iB+Zxug4pxdD309bd3v5QOvlDIvlNOgceNK/L2/0UAAAAAAAAAAAA/J8FljRNNAAoAAA="
	bzip   = "QlpoOTFBWSZTWYuwwQAAAHD7hMmQAERAAE2AAADiRJ4AAACACCAAVDSAEY0EY0ElTyQ0aNBhBf6kndCCOICRtvEnLTIngkgYLMPdmgku2EFwko1Nw5YO2E1sVBjctI0IjiIgOi7kinChIRdhggA="
)

// Archives as programs make them that a person has: git with its notes, sparse files, bzip2.
func TestUnpackOthers(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"git": {crafted(t, tar.Header{Typeflag: tar.TypeXGlobalHeader, Mode: -1, PAXRecords: map[string]string{"comment": "a commit"}},
			tar.Header{Name: "a", Typeflag: tar.TypeReg}), "evil"},
		"sparse": {decoded(t, sparse), string(make([]byte, 1<<20)) + "hi\n"},
		"bzip2":  {decoded(t, bzip), "hello\n"},
	} {
		to := t.TempDir()
		u := unpacking(to)
		u.MaxSize = 2 << 20
		differ, err := unpack(t, u, c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := os.ReadFile(to + "/" + differ); err != nil || string(got) != c.want {
			t.Errorf("%s: of %q came %d bytes, %v", name, differ, len(got), err)
		}
	}
	u := unpacking(t.TempDir())
	if _, err := unpack(t, u, decoded(t, sparse)); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("what is sparse has no size: %v", err)
	}
	for first, what := range unknown {
		_, err := unpack(t, u, []byte(first+"xxxxxxxx"))
		if err == nil || !strings.Contains(err.Error(), what+", and only gzip and bzip2 are known") {
			t.Errorf("%q: %v", first, err)
		}
	}
}

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	must(t, err)
	return data
}

func TestUnpackLimits(t *testing.T) {
	data := crafted(t, tar.Header{Name: "a", Typeflag: tar.TypeReg}, tar.Header{Name: "b", Typeflag: tar.TypeReg})
	u := unpacking(t.TempDir())
	u.MaxSize = 7
	if _, err := unpack(t, u, data); err == nil || !strings.Contains(err.Error(), "more than 7 bytes") {
		t.Error(err)
	}
	u.MaxSize = 8
	if _, err := unpack(t, u, data); err != nil {
		t.Error(err)
	}
	for cut := 1; cut < 516; cut++ { // in the first file; the end of an archive is not marked
		if _, err := unpacking(t.TempDir()).Check(t.Context(), bytes.NewReader(data[:cut])); err == nil && cut != 512 {
			t.Fatalf("cut at %d it is an archive", cut)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := u.Check(ctx, bytes.NewReader(data)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := u.Check(t.Context(), strings.NewReader("\x1f\x8bxxxxxxxxxx")); err == nil {
		t.Error("that is no gzip")
	}
}

func TestUnpackOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	to := t.TempDir()
	u := unpacking(to)
	u.UID, u.GID = 12, 34
	data := packed(t, "", tree(t)+"/sub/c")
	if _, err := unpack(t, u, data); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(to+"/c", &st); err != nil || st.Uid != 12 || st.Gid != 34 {
		t.Errorf("%v %v", st, err)
	}
}

// No archive, however broken, makes anything outside of the folder.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("x"))
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		must(t, os.Mkdir(dir+"/to", 0o755))
		u := unpacking(dir + "/to")
		if found, err := u.Check(t.Context(), bytes.NewReader(data)); err == nil {
			_ = u.Make(t.Context(), bytes.NewReader(data), found.Differ)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v %v", entries, err)
		}
	})
}
