package resources

import (
	"errors"
	"fmt"
	"io"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// maxText bounds the files of which a kind edits a part: much larger ones are no
// configuration, and a mistake.
const maxText = 16 << 20

// errTooLarge says that a file is not edited because of its size.
var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxText>>20)

// textFile is a file of which a kind edits a part. What it does not know it leaves as
// it is. It is found by its path, or in a folder that the caller holds open.
type textFile struct {
	by   safepath.Walker
	path string // as it is written
	real string // where it leads, for messages and locks

	dir  atomicfile.Dir // in place of path
	name string

	mode int // of a file that is made
	uid  int // its owner; -1 for who we are
	gid  int

	// private takes an existing file from all but its owner when it is edited, since a
	// secret is put into it; also one that has the text already.
	private bool

	// mine returns an error if an existing file must not be read or written; nil
	// allows all.
	mine func(atomicfile.Stat) error

	asked checking // about a new text, before it takes the place; the zero value asks nothing
}

// textAt returns the file at a path. Links are followed as package safepath says.
func textAt(path string, mode int) (textFile, error) { return textBy(safepath.System(), path, mode) }

// textBy is textAt by another Walker.
func textBy(w safepath.Walker, path string, mode int) (textFile, error) {
	t := textFile{by: w, path: path, real: path, mode: mode, uid: -1, gid: -1}
	p, err := w.Place(path)
	if errors.Is(err, unix.ENOENT) {
		return t, nil // what is wrong is said when it is written
	}
	if err != nil {
		return t, err
	}
	t.real = p.Path(p.Name)
	p.Close()
	return t, nil
}

// textIn returns a file in a folder that the caller closes.
func textIn(dir atomicfile.Dir, name string, mode int) textFile {
	return textFile{dir: dir, name: name, real: dir.Path(name), mode: mode, uid: -1, gid: -1}
}

// hold opens the folder, in which everything is done until release is called.
func (t textFile) hold() (held textFile, release func(), err error) {
	if t.path == "" {
		return t, func() {}, nil
	}
	p, err := t.by.Place(t.path)
	if err != nil {
		return t, nil, err
	}
	t.path, t.dir, t.name = "", atomicfile.In(p.Folder), p.Name
	return t, p.Close, nil
}

// lstat looks at the file.
func (t textFile) lstat() (atomicfile.Stat, error) {
	t, release, err := t.hold()
	if err != nil {
		return atomicfile.Stat{}, err
	}
	defer release()
	return t.dir.Lstat(t.name)
}

// remove removes the file.
func (t textFile) remove() error {
	t, release, err := t.hold()
	if err != nil {
		return err
	}
	defer release()
	return t.dir.Remove(t.name, false)
}

// read returns the text, and a look at the file. A missing one is empty text and nil.
func (t textFile) read() (string, *atomicfile.Stat, error) {
	t, release, err := t.hold()
	if errors.Is(err, unix.ENOENT) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer release()
	return t.readHeld()
}

func (t textFile) readHeld() (string, *atomicfile.Stat, error) {
	f, st, err := t.dir.Open(t.name)
	if errors.Is(err, unix.ENOENT) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	if t.mine != nil {
		if err := t.mine(st); err != nil {
			return "", nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(data) > maxText {
		err = fmt.Errorf("%s is not read: %w", t.dir.Path(t.name), errTooLarge)
	}
	return string(data), &st, err
}

// open reports whether a file that shall be private is there, and others may use it. That
// includes those whom an access list names: their most is what the group may do.
func (t textFile) open(st *atomicfile.Stat) bool {
	return t.private && st != nil && st.Perm()&^filePrivate != 0
}

// edit replaces the text by another one, at once: who reads the file sees the old text
// or the new one. If somebody else changes it meanwhile, change is called again with
// what is there then. Nothing is written where the text stays the same.
func (t textFile) edit(change func(old string) (string, error)) error {
	for tries := 1; ; tries++ {
		err := t.editOnce(change)
		if !errors.Is(err, atomicfile.ErrChanged) || tries == 5 {
			return err
		}
	}
}

// editOnce holds the folder from the look at the file until it is replaced.
func (t textFile) editOnce(change func(old string) (string, error)) error {
	h, release, err := t.hold()
	if errors.Is(err, unix.ENOENT) {
		text, cerr := change("")
		if cerr != nil || text == "" {
			return cerr
		}
		return explainParent(&engine.Init{}, t.path, err)
	}
	if err != nil {
		return err
	}
	defer release()
	old, st, err := h.readHeld()
	if err != nil {
		return err
	}
	text, err := change(old)
	if err == nil && text == old && t.open(st) {
		_, err = h.dir.SetAttrs(h.name, *st, filePrivate, -1, -1)
		return err
	}
	if err != nil || text == old {
		return err
	}
	return h.write(text, st)
}

// write replaces what st is a look at.
func (t textFile) write(text string, st *atomicfile.Stat) error {
	if len(text) > maxText {
		return fmt.Errorf("%s is not written: %w", t.dir.Path(t.name), errTooLarge)
	}
	n := atomicfile.New{
		Dir: t.dir, Name: t.name, Old: st, Mode: -1, UID: -1, GID: -1, Size: int64(len(text)),
		Fill: func(w io.Writer) error { _, err := io.WriteString(w, text); return err },
	}
	if st == nil {
		n.Mode, n.UID, n.GID = t.mode, t.uid, t.gid
	} else if now, err := t.dir.Lstat(t.name); err == nil && now != *st {
		return atomicfile.ErrChanged
	}
	if t.open(st) {
		n.Mode = filePrivate
	}
	if t.asked.line != "" {
		n.Check = t.asked.of(text, st != nil && isConfined(st.Perm()) || n.Mode >= 0 && isConfined(uint32(n.Mode)))
	}
	_, err := n.Write()
	return explainParent(&engine.Init{}, t.dir.Path(t.name), err)
}
