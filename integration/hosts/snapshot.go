package hosts

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Snapshot is what a machine has written on its disk since it was made: for each path what
// it is, whose, and when it was written.
type Snapshot map[string]string

// Snapshot looks at the disk of the machine, but not at these paths and what is below
// them. What is in memory only, /run and /tmp, is no part of it.
func (h *Host) Snapshot(except ...string) Snapshot {
	h.t.Helper()
	root := fmt.Sprintf("/proc/%d/root%s/up", h.nspawn(), h.dir)
	seen := Snapshot{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, root)
		if slices.Contains(except, name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err == nil && name != "" {
			seen[name], err = describe(path, d)
		}
		return err
	})
	if err != nil {
		h.t.Fatalf("%s: %v", h.Name, err)
	}
	return seen
}

// describe says what a file is. A device of the number 0:0 is one that was removed.
func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	st := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%v %d:%d %d %s", info.Mode(), st.Uid, st.Gid, st.Rdev, info.ModTime())
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%s %x", text, sha256.Sum256(content)), err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return text + " " + to, err
	}
	return text, nil
}

// Diff lists what is otherwise in a later snapshot, "" if nothing is.
func (s Snapshot) Diff(later Snapshot) string {
	var b strings.Builder
	paths := maps.Clone(s)
	maps.Copy(paths, later)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if s[path] != later[path] {
			fmt.Fprintf(&b, "%s: %q -> %q\n", path, s[path], later[path])
		}
	}
	return b.String()
}
