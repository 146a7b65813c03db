package atomicfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// SELinux is the attribute in which a file has its label.
const SELinux = "security.selinux"

// A Label is an attribute that says what a file is to the security of the system.
// One without a value is none.
type Label struct{ Attr, Value string }

// Label returns the value of an attribute of a thing, empty where it has none.
func (d Dir) Label(name, attr string) (string, error) {
	value := ""
	err := d.reachThing(name, func(t thing) error {
		buf := make([]byte, 256)
		size, err := t.get(attr, buf)
		for errors.Is(err, unix.ERANGE) {
			buf = make([]byte, 4*len(buf))
			size, err = t.get(attr, buf)
		}
		if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
			return nil
		}
		if err == nil {
			value = strings.TrimRight(string(buf[:size]), "\x00") // the kernel counts one
		}
		return err
	})
	return value, d.failed("read the label of", name, err)
}

// SetLabel sets the label of a thing that old is a look at. Something else found in
// its place is an error.
func (d Dir) SetLabel(name string, old Stat, l Label) (st Stat, err error) {
	err = d.reachThing(name, func(t thing) error {
		if !t.stat.Same(old) {
			return ErrChanged
		}
		if err := t.set(l); err != nil {
			return err
		}
		st, err = fstat(t.fd)
		return err
	})
	return st, d.failed("label", name, err)
}

// A thing is what a name leads to, a link included, held by a descriptor.
type thing struct {
	fd   int
	stat Stat
	path string // by which its attributes can be had
}

func (d Dir) reachThing(name string, do func(thing) error) error {
	d, release, err := d.holdFor(name)
	if err != nil {
		return err
	}
	defer release()
	fd, err := d.open(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err != nil {
		return err
	}
	t := thing{fd, st, fmt.Sprintf("/proc/self/fd/%d", fd)}
	if st.IsLink() { // of which only the name in its folder is of use
		t.path = fmt.Sprintf("/proc/self/fd/%d/%s", d.fd, name)
	}
	return d.do(func() error { return do(t) })
}

func (t thing) get(attr string, buf []byte) (int, error) {
	if t.stat.IsLink() {
		return unix.Lgetxattr(t.path, attr, buf)
	}
	return unix.Getxattr(t.path, attr, buf)
}

func (t thing) set(l Label) error {
	if t.stat.IsLink() {
		return unix.Lsetxattr(t.path, l.Attr, []byte(l.Value), 0)
	}
	return unix.Setxattr(t.path, l.Attr, []byte(l.Value), 0)
}

// label gives an open file its label.
func (n *New) label(fd int) (bool, error) {
	if n.Label.Value == "" {
		return false, nil
	}
	err := n.Dir.do(func() error { return unix.Fsetxattr(fd, n.Label.Attr, []byte(n.Label.Value), 0) })
	return true, n.failed("label", err)
}
