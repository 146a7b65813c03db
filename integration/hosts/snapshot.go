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

// Snapshot has the files that a machine has written on its disk since it was made: for each path
// the type, the owner, and the time.
type Snapshot map[string]string

// Snapshot looks at the disk of the machine, but not at these paths and below them. Folders in
// memory, /run and /tmp, are left out.
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

// describe says what a file is. A device of the number 0:0 stands for a removed file.
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

// Diff lists the differences of a later snapshot, "" for none.
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
