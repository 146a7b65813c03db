package textpart

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
)

// private is the mode of a file with a secret.
const private = 0o600

// File is a text file of which a part is changed.
type File struct {
	Dir  atomicfile.Dir
	Name string
	Max  int64 // bytes of the longest text; a longer file is a mistake

	Mode, UID, GID int // of a file that is made; -1 for those that the system gives

	// Allow returns an error if an existing file must not be read or written; nil allows all.
	Allow func(atomicfile.Stat) error

	// Private takes an existing file from all but its owner when it is edited, since a secret is
	// put into it; also a file that has the text already.
	Private bool

	// Drop removes a file of which only blanks are left.
	Drop bool

	// Check returns what atomicfile asks about a new text; nil for nothing. The modes are those
	// of the old file and of the new one, as far as they are known.
	Check func(text string, modes []uint32) func(path string) error
}

// TooLargeError says that a file is not read or written because of its size.
type TooLargeError struct{ Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it is larger than %d MiB: shorten it, or name another file", e.Max>>20)
}

// Read returns the text, and a look at the file. A missing file is empty text and nil.
func (f File) Read() (string, *atomicfile.Stat, error) {
	from, st, err := f.Dir.Open(f.Name)
	if errors.Is(err, unix.ENOENT) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	if f.Allow != nil {
		if err := f.Allow(st); err != nil {
			return "", nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(from, f.Max+1))
	if err == nil && int64(len(data)) > f.Max {
		err = fmt.Errorf("%s is not read: %w", f.Dir.Path(f.Name), &TooLargeError{f.Max})
	}
	return string(data), &st, err
}

// Open reports whether a file that shall be private is there, and others may use it. That includes
// those whom an access list names: their most is what the group may do.
func (f File) Open(st *atomicfile.Stat) bool {
	return f.Private && st != nil && st.Perm()&^private != 0
}

// Edit replaces the text by the result of change. A missing file is empty text, and is made. The
// error is atomicfile.ErrChanged if another program has changed the file meanwhile.
func (f File) Edit(change func(old string) (string, error)) error {
	old, st, err := f.Read()
	if err != nil {
		return err
	}
	text, err := change(old)
	switch {
	case err != nil:
		return err
	case text == old && f.Open(st):
		_, err = f.Dir.SetAttrs(f.Name, *st, private, -1, -1)
		return err
	case text == old:
		return nil
	}
	return f.Write(text, st)
}

// Write replaces the file that st is a look at; nil if there was none.
func (f File) Write(text string, st *atomicfile.Stat) error {
	if int64(len(text)) > f.Max {
		return fmt.Errorf("%s is not written: %w", f.Dir.Path(f.Name), &TooLargeError{f.Max})
	}
	if st != nil {
		if now, err := f.Dir.Lstat(f.Name); err == nil && now != *st {
			return atomicfile.ErrChanged
		}
		if f.Drop && strings.TrimSpace(text) == "" {
			return f.Dir.Remove(f.Name, false)
		}
	}
	n := f.fresh(text, st)
	_, err := n.Write()
	return err
}

// fresh is the new file.
func (f File) fresh(text string, st *atomicfile.Stat) *atomicfile.New {
	n := &atomicfile.New{
		Dir: f.Dir, Name: f.Name, Old: st, Mode: -1, UID: -1, GID: -1, Size: int64(len(text)),
		Fill: func(w io.Writer) error { _, err := io.WriteString(w, text); return err },
	}
	var modes []uint32
	if st == nil {
		n.Mode, n.UID, n.GID = f.Mode, f.UID, f.GID
	} else {
		modes = append(modes, st.Perm())
	}
	if f.Open(st) {
		n.Mode = private
	}
	if n.Mode >= 0 {
		modes = append(modes, uint32(n.Mode))
	}
	if f.Check != nil {
		n.Check = f.Check(text, modes)
	}
	return n
}
