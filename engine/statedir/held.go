package statedir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

const (
	maxHeld = 256 // files
	maxGone = 10  // looks: as long may it take to remove a large folder
)

// heldFiles are the files of a state folder, each held open. What is removed under a run can be written again from there: a file lives as long as it is open.
type heldFiles struct {
	dir    string
	except []string // names at the top of the folder, also with an ending, that others look after
	files  map[string]*heldFile
	over   bool // there are more files
}

// heldFile is a file by its path in the folder.
type heldFile struct {
	f    *os.File
	info os.FileInfo // of the last look
	gone int         // so many looks have not found it
}

// look opens the files that are new or were replaced, and lets go of those that are gone for some time.
func (h *heldFiles) look() {
	found := map[string]bool{}
	h.over = false
	dir, err := filepath.EvalSymlinks(h.dir) // the folder itself may be a link, which is not walked through
	if err != nil {
		dir = h.dir
	}
	_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error { // what can't be read is not held
		rel, bad := filepath.Rel(dir, p)
		switch {
		case err != nil || bad != nil:
			return nil
		case e.IsDir() || !e.Type().IsRegular() || h.skips(filepath.ToSlash(rel)):
			return nil
		case len(found) == maxHeld:
			h.over = true
			return fs.SkipAll
		}
		found[rel] = true
		h.hold(rel, e)
		return nil
	})
	for rel, file := range h.files {
		if found[rel] {
			file.gone = 0
		} else if file.gone++; file.gone >= maxGone {
			_ = file.f.Close() // it was only read
			delete(h.files, rel)
		}
	}
}

// skips reports whether others look after a file, or it is on its way.
func (h *heldFiles) skips(rel string) bool {
	if strings.HasSuffix(rel, ".new") {
		return true
	}
	return slices.ContainsFunc(h.except, func(name string) bool { return rel == name || strings.HasPrefix(rel, name+".") })
}

// hold opens a file, unless that is done.
func (h *heldFiles) hold(rel string, e fs.DirEntry) {
	info, err := e.Info()
	was := h.files[rel]
	switch {
	case err != nil:
		return
	case was != nil && os.SameFile(was.info, info):
		was.info = info
		return
	}
	f, err := os.OpenFile(filepath.Join(h.dir, rel), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return
	}
	if was != nil {
		_ = was.f.Close()
	}
	h.files[rel] = &heldFile{f: f, info: info}
}

// restore writes the files again that are not there; moved says that the folder is another one. lost are those that can't be, as they were emptied before.
// other are those in whose place the folder has other files now. The error is of the machine, as a full disk is, and a later call may have none.
func (h *heldFiles) restore(moved bool) (lost, other []string, err error) {
	root, err := os.OpenRoot(h.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	for _, rel := range slices.Sorted(maps.Keys(h.files)) {
		switch e := h.files[rel].restore(root, rel); {
		case errors.Is(e, errEmptied):
			lost = append(lost, filepath.ToSlash(rel))
		case errors.Is(e, errOther) && rel == inEffectFile: // its keeper has written it
		case errors.Is(e, errOther):
			other = append(other, filepath.ToSlash(rel))
		default:
			err = errors.Join(err, e)
		}
	}
	if h.over && moved {
		lost = append(lost, "...")
	}
	return lost, other, err
}

// Why a file is not written again.
var (
	errEmptied = errors.New("it was emptied")
	errOther   = errors.New("another file is there")
)

// restore writes a file again that is not at its path.
func (f *heldFile) restore(root *os.Root, rel string) error {
	now, err := f.f.Stat()
	if err != nil {
		return err
	}
	text := io.NewSectionReader(f.f, 0, now.Size())
	switch st, err := root.Lstat(rel); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errOther
	}
	if there, err := root.OpenFile(rel, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0); err == nil {
		defer there.Close()
		if equal(text, there) {
			return nil
		}
		return errOther
	}
	if now.Size() == 0 && f.info.Size() > 0 {
		return errEmptied
	}
	if err := root.MkdirAll(path.Dir(filepath.ToSlash(rel)), 0o700); err != nil {
		return err
	}
	fresh := rel + ".new"
	if err := root.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // nobody else's, who could read it
	if err != nil {
		return err
	}
	_, err = io.Copy(to, text)
	if err = errors.Join(err, to.Chmod(now.Mode().Perm()), to.Sync(), to.Close()); err == nil {
		err = root.Link(fresh, rel)
	}
	if errors.Is(err, fs.ErrExist) { // its owner was quicker
		err = nil
	}
	return errors.Join(err, root.Remove(fresh))
}

// equal compares two files.
func equal(a, b io.Reader) bool {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, e := io.ReadFull(a, x)
		m, f := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if e != nil || f != nil {
			return isEnd(e) && isEnd(f)
		}
	}
}

// isEnd reports whether a reader has come to its end.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// missing returns those of some files that are still not there.
func (h *heldFiles) missing(lost []string) []string {
	return slices.DeleteFunc(slices.Clone(lost), func(rel string) bool {
		_, err := os.Lstat(filepath.Join(h.dir, filepath.FromSlash(rel)))
		return err == nil
	})
}

func (h *heldFiles) close() {
	for _, file := range h.files {
		_ = file.f.Close()
	}
	h.files = nil
}
