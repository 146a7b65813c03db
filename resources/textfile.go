package resources

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// maxText bounds the files of which a kind edits a part: much larger ones are no
// configuration, and a mistake.
const maxText = 16 << 20

// errTooLarge says that a file is not edited because of its size.
var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxText>>20)

// textFile is a file of which a kind edits a part. What it does not know it leaves as
// it is. The zero values of owner mean root.
type textFile struct {
	dir  atomicfile.Dir
	name string
	mode int // of a file that is made
	uid  int // its owner; -1 for who we are
	gid  int

	// mine returns an error if an existing file must not be read or written; nil
	// allows all.
	mine func(atomicfile.Stat) error
}

// textAt returns the file at a path. Links in the last place are followed if they are
// root's or our own: others could lead us to any file.
func textAt(path string, mode int) (textFile, error) {
	t := textFile{mode: mode, uid: -1, gid: -1}
	for range 10 {
		dir, name := filepath.Split(filepath.Clean(path))
		t.dir, t.name = atomicfile.At(dir), name
		st, err := t.dir.Lstat(name)
		if err != nil || !st.IsLink() {
			return t, nil // what is wrong is said when it is read
		}
		if st.UID != 0 && int(st.UID) != os.Geteuid() {
			return t, fmt.Errorf("%s is a link that another user has made: it is not followed", path)
		}
		to, err := t.dir.Readlink(name)
		if err != nil {
			return t, err
		}
		if path = to; !filepath.IsAbs(to) {
			path = filepath.Join(dir, to)
		}
	}
	return t, fmt.Errorf("%s: too many links", path)
}

// read returns the text, and a look at the file. A missing one is empty text and nil.
func (t textFile) read() (string, *atomicfile.Stat, error) {
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

func (t textFile) editOnce(change func(old string) (string, error)) error {
	old, st, err := t.read()
	if err != nil {
		return err
	}
	text, err := change(old)
	if err != nil || text == old {
		return err
	}
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
	_, err = n.Write()
	return explainParent(&engine.Init{}, t.dir.Path(t.name), err)
}
