package fetch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/gapi/expand"
)

// Bounds of a module. They are far above those of a folder of texts, and far below those of a small machine.
const (
	maxBytes = 64 << 20 // the files of a module together, and an archive
	maxFiles = 10_000
	maxName  = 4096 // bytes of one path
)

// Tree has the files of a module by their paths, with slashes. It has no modes: the files of a module are read, and never run.
type Tree map[string][]byte

// errTooBig is the error of a module that is larger than any module.
var errTooBig = fmt.Errorf("it has more than %d MiB: this is no module", maxBytes>>20)

// builder makes a Tree of entries of an archive, which is not trusted.
type builder struct {
	tree   Tree
	folded map[string]string // the paths in lower case: on some file systems they are one
	left   int64             // bytes
}

// newBuilder returns an empty builder with the whole allowance of bytes.
func newBuilder() *builder { return &builder{Tree{}, map[string]string{}, maxBytes} }

// add takes a file. Its name is judged, since an archive may name any path.
func (b *builder) add(name string, r io.Reader) error {
	clean, err := cleanName(name)
	if err != nil {
		return err
	}
	if other, twice := b.folded[strings.ToLower(clean)]; twice {
		return fmt.Errorf("%q and %q have one name", other, clean)
	}
	if len(b.tree) == maxFiles {
		return fmt.Errorf("it has more than %d files: this is no module", maxFiles)
	}
	src, err := io.ReadAll(io.LimitReader(r, b.left+1))
	switch {
	case err != nil:
		return fmt.Errorf("%q: %w", clean, err)
	case int64(len(src)) > b.left:
		return errTooBig
	}
	b.left -= int64(len(src))
	b.tree[clean], b.folded[strings.ToLower(clean)] = src, clean
	return nil
}

// cleanName judges the name of an entry: it is a path below the folder of the module, and a terminal may show it.
func cleanName(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return "", fmt.Errorf("%.100q can't be the name of a file", name)
	case clean == "." && !strings.HasSuffix(name, "/") || !filepath.IsLocal(clean) || path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), ".."):
		return "", fmt.Errorf("%q leads out of the folder of the module", name)
	case slices.Contains(strings.Split(strings.ToLower(clean), "/"), ".git"):
		return "", fmt.Errorf("%q is part of a repository of git: its settings may run programs", name)
	}
	return clean, nil
}

// module returns the files of the module at a path in the tree. An archive most often has one folder at its top, which is left out.
func (b *builder) module(at string) (Tree, error) {
	// A tar may have a file d and a file d/x. The disk can't have both, and their order would say which one stays.
	for name := range b.tree {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, both := b.folded[strings.ToLower(dir)]; both {
				return nil, fmt.Errorf("%q is a file and a folder", dir)
			}
		}
	}
	at = path.Clean(at)
	for _, tree := range []Tree{b.tree, b.tree.below(b.tree.top())} {
		if tree = tree.below(at); tree[expand.ModuleFile] != nil {
			return tree, nil
		}
	}
	if at != "." {
		return nil, fmt.Errorf("there is no %s: this is no module", path.Join(at, expand.ModuleFile))
	}
	if found := b.tree.modules(); len(found) > 0 {
		return nil, fmt.Errorf("there is no %s at its top; --path names one of its modules: %s", expand.ModuleFile, strings.Join(found, ", "))
	}
	return nil, fmt.Errorf("there is no %s: this is no module", expand.ModuleFile)
}

// top returns the one folder that has all files, and a dot where there is none.
func (t Tree) top() string {
	// A file at the top means that the folders are parts of the module.
	top := ""
	for name := range t {
		first, _, deep := strings.Cut(name, "/")
		if !deep || top != "" && top != first {
			return "."
		}
		top = first
	}
	return top
}

// below returns the files of a folder of the tree.
func (t Tree) below(dir string) Tree {
	if dir == "." || dir == "" {
		return t
	}
	out := Tree{}
	for name, src := range t {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = src
		}
	}
	return out
}

// modules returns the folders that are modules, at most ten of them.
func (t Tree) modules() (dirs []string) {
	top := t.top() + "/"
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if path.Base(name) == expand.ModuleFile && len(dirs) < 10 {
			dirs = append(dirs, strings.TrimPrefix(path.Dir(name), top))
		}
	}
	return dirs
}

// Digest returns the checksum of the names and the contents of all files.
func (t Tree) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(t[name])) // quotes: no name can look like two lines
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// readTree reads the files of a folder below root. A link or a device is an error: no module that was fetched has one.
func readTree(root *os.Root, dir string) (Tree, error) {
	b := newBuilder()
	err := fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return b.add(strings.TrimPrefix(name, dir+"/"), f)
	})
	return b.tree, err
}

// write writes the files as the new content of a folder below root, which it replaces in one step.
func (t Tree) write(root *os.Root, dir string) (err error) {
	parent := path.Dir(dir)
	if err := root.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	// A folder of graphs is read without names that begin with a dot. A run that was killed leaves them, and the next one removes them.
	temp, old := path.Join(parent, "."+path.Base(dir)+".new"), path.Join(parent, "."+path.Base(dir)+".old")
	if err := errors.Join(root.RemoveAll(temp), root.RemoveAll(old)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.RemoveAll(temp), root.RemoveAll(old)) }()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		file := path.Join(temp, name)
		if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(file, t[name], 0o644); err != nil {
			return err
		}
	}
	if err := root.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.Rename(temp, dir)
}
