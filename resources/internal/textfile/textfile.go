package textfile

import (
	"errors"
	"slices"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/confined"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/textpart"
)

// MaxText bounds the files that a kind edits in part: a much larger file is a mistake.
const MaxText = 16 << 20

// File is a file that a kind edits in part. It leaves unknown parts as they are. It is found by
// its path, or in a folder that the caller holds open.
type File struct {
	by   safepath.Walker
	path string // as it is written
	Real string // where it leads, for messages and locks

	Dir  atomicfile.Dir // in place of path
	Name string

	Mode int // of a file that is made
	UID  int // its owner; -1 for who we are
	GID  int

	// Private takes an existing file from all but its owner when it is edited, since a secret is
	// put into it; also a file that has the text already.
	Private bool

	// Mine returns an error if an existing file must not be read or written; nil
	// allows all.
	Mine func(atomicfile.Stat) error

	Asked command.Checking // about a new text, before it takes the place; the zero value asks nothing
}

// At returns the file at a path. Links are followed as package safepath says.
func At(path string, mode int) (File, error) { return By(safepath.System(), path, mode) }

// By is At by another Walker.
func By(w safepath.Walker, path string, mode int) (File, error) {
	t := File{by: w, path: path, Real: path, Mode: mode, UID: -1, GID: -1}
	p, err := w.Place(path)
	if errors.Is(err, unix.ENOENT) {
		return t, nil // what is wrong is said when it is written
	}
	if err != nil {
		return t, err
	}
	t.Real = p.Path(p.Name)
	p.Close()
	return t, nil
}

// In returns a file in a folder that the caller closes.
func In(dir atomicfile.Dir, name string, mode int) File {
	return File{Dir: dir, Name: name, Real: dir.Path(name), Mode: mode, UID: -1, GID: -1}
}

// walker opens the folders of the path. A file in a held folder has none of its own.
func (t File) walker() safepath.Walker {
	if t.path == "" {
		return safepath.System()
	}
	return t.by
}

// hold opens the folder, in which everything is done until release is called.
func (t File) hold() (held File, release func(), err error) {
	if t.path == "" {
		return t, func() {}, nil
	}
	p, err := t.by.Place(t.path)
	if err != nil {
		return t, nil, err
	}
	t.path, t.Dir, t.Name = "", atomicfile.In(p.Folder), p.Name
	return t, p.Close, nil
}

// Lstat looks at the file.
func (t File) Lstat() (atomicfile.Stat, error) {
	t, release, err := t.hold()
	if err != nil {
		return atomicfile.Stat{}, err
	}
	defer release()
	return t.Dir.Lstat(t.Name)
}

// Remove removes the file.
func (t File) Remove() error {
	t, release, err := t.hold()
	if err != nil {
		return err
	}
	defer release()
	return t.Dir.Remove(t.Name, false)
}

// Read returns the text, and a look at the file. A missing one is empty text and nil.
func (t File) Read() (string, *atomicfile.Stat, error) {
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

func (t File) readHeld() (string, *atomicfile.Stat, error) { return t.part().Read() }

// part is the file, whose folder is held, for the package that edits it.
func (t File) part() textpart.File {
	f := textpart.File{Dir: t.Dir, Name: t.Name, Max: MaxText, Mode: t.Mode, UID: t.UID, GID: t.GID, Allow: t.Mine, Private: t.Private}
	if t.Asked.Line != "" {
		f.Check = func(text string, modes []uint32) func(string) error {
			return t.Asked.Of(text, slices.ContainsFunc(modes, confined.Shuts))
		}
	}
	return f
}

// Open reports whether a file that shall be private is there, and others may use it. That
// includes those whom an access list names: their most is what the group may do.
func (t File) Open(st *atomicfile.Stat) bool { return t.part().Open(st) }

// Edit replaces the text by another one, at once: a reader sees the old text or the new one. If
// another program changes it meanwhile, change is called again with the new text. Nothing is
// written where the text stays the same.
func (t File) Edit(change func(old string) (string, error)) error {
	return atomicfile.Retry(func() error { return t.editOnce(change) })
}

// editOnce holds the folder from the look at the file until it is replaced.
func (t File) editOnce(change func(old string) (string, error)) error {
	h, release, err := t.hold()
	if errors.Is(err, unix.ENOENT) {
		text, cerr := change("")
		if cerr != nil || text == "" {
			return cerr
		}
		return files.NoParent(nil, t.by, t.path, err)
	}
	if err != nil {
		return err
	}
	defer release()
	var refused error
	err = h.part().Edit(func(old string) (text string, err error) { text, refused = change(old); return text, refused })
	if refused != nil {
		return refused
	}
	return files.NoParent(nil, t.walker(), h.Dir.Path(h.Name), err)
}

func Text(path string) (string, error) {
	t, err := At(path, 0)
	if err != nil {
		return "", err
	}
	text, _, err := t.Read()
	return text, err
}
