package enginetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// Tree is what a folder and everything below it looks like: for each absolute path a
// text that differs whenever the thing does. A path that is absent from the map does
// not exist.
type Tree map[string]string

// Snapshot describes the tree below dir: kinds, modes, owners, sizes, contents, targets
// of links, inodes, times of change and extended attributes. Reading a file does not
// alter it. A dir that does not exist is an empty Tree. It reads every file in full, so
// the tree should be small. Times of access are left out, as a reading may alter them.
func Snapshot(t testing.TB, dir string) Tree {
	t.Helper()
	tree := Tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir && os.IsNotExist(err) {
				return nil
			}
			return err
		}
		text, err := describe(path, d)
		tree[path] = text
		return err
	})
	if err != nil {
		t.Fatalf("snapshot of %s: %v", dir, err)
	}
	return tree
}

// describe writes all of one path. The size comes behind the kind, the mode and the
// owner, where entriesOnly cuts the text.
func describe(path string, d fs.DirEntry) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	text := fmt.Sprintf("%s %d:%d size %d inode %d links %d mtime %d.%09d ctime %d.%09d", d.Type()|fs.FileMode(st.Mode&0o7777),
		st.Uid, st.Gid, st.Size, st.Ino, st.Nlink, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
	switch d.Type() {
	case 0:
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" sha256 %x", sha256.Sum256(data))
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf(" to %q", target)
	}
	return text + attributes(path), nil
}

// attributes lists the extended attributes. Where there are none, or the file system
// knows none, that is the empty text. Linux allows 64 KiB for the list of names and for
// one value, so the buffer holds each of them.
func attributes(path string) string {
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, buf)
	if err != nil || n == 0 {
		return ""
	}
	names := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		n, err := unix.Lgetxattr(path, name, buf)
		fmt.Fprintf(&b, " %s=%q,%v", name, buf[:max(n, 0)], err)
	}
	return b.String()
}

// Changed returns the paths whose description differs between two trees, sorted.
func (a Tree) Changed(b Tree) []string {
	var paths []string
	for p, text := range a {
		if other, ok := b[p]; !ok || other != text {
			paths = append(paths, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// same returns an error that shows the first differences between the earlier and the
// present state. Three differences are shown at most; the count says how many there
// are.
func (a Tree) same(b Tree) error {
	paths := a.Changed(b)
	if len(paths) == 0 {
		return nil
	}
	var text strings.Builder
	for _, p := range paths[:min(len(paths), 3)] {
		fmt.Fprintf(&text, "\n  %s\n    was %s\n    is  %s", p, or(a[p]), or(b[p]))
	}
	return fmt.Errorf("%d paths were altered:%s", len(paths), text.String())
}

func or(s string) string {
	if s == "" {
		return "(absent)"
	}
	return s
}

// entriesOnly reports whether path is a folder in both trees, with no difference but
// the entries. It compares the kind, the mode and the owner, which stand before the
// size.
func (a Tree) entriesOnly(b Tree, path string) bool {
	was, _, _ := strings.Cut(a[path], " size ")
	is, _, _ := strings.Cut(b[path], " size ")
	return was == is && strings.HasPrefix(was, "d")
}

// merge returns the paths of both; neither tree is altered.
func (a Tree) merge(b Tree) Tree {
	c := maps.Clone(a)
	maps.Copy(c, b)
	return c
}
