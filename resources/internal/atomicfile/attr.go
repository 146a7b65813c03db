package atomicfile

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// attr is an extended attribute.
type attr struct {
	name  string
	value []byte
}

const aclAttr = "system.posix_acl_access"

// bound are the attributes that belong to one content, and would be wrong on
// another.
var bound = []string{"security.ima", "security.evm"}

// oldAttrs returns the extended attributes of the file that is replaced.
func (n *New) oldAttrs() ([]attr, error) {
	if n.Old == nil {
		return nil, nil
	}
	if n.From != nil {
		return n.lentAttrs(n.From.fd)
	}
	f, st, err := n.Dir.Open(n.Name)
	switch {
	case errors.Is(err, unix.EACCES):
		return nil, &keepError{err}
	case err != nil:
		return nil, err
	}
	defer f.Close()
	if !st.Same(*n.Old) {
		return nil, n.failed("write", ErrChanged)
	}
	return n.lentAttrs(f.fd)
}

func (n *New) lentAttrs(fd int) ([]attr, error) {
	attrs, err := attrsOf(fd)
	return slices.DeleteFunc(attrs, func(a attr) bool { return !n.lends(a.name) }), err
}

// attrsOf reads all extended attributes of an open file. A file system without
// any has none.
func attrsOf(fd int) ([]attr, error) {
	names, err := attrNames(fd)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var attrs []attr
	for _, name := range names {
		if slices.Contains(bound, name) {
			continue
		}
		value, err := attrValue(fd, name)
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, attr{name, value})
	}
	return attrs, nil
}

func attrNames(fd int) ([]string, error) {
	var small [256]byte
	buf := small[:]
	for {
		size, err := unix.Flistxattr(fd, buf)
		switch {
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS):
			return nil, nil
		case errors.Is(err, unix.ERANGE):
			buf = make([]byte, 4*len(buf))
		case err != nil:
			return nil, err
		case size == 0:
			return nil, nil
		default:
			return strings.Split(strings.TrimSuffix(string(buf[:size]), "\x00"), "\x00"), nil
		}
	}
}

func attrValue(fd int, name string) ([]byte, error) {
	buf := make([]byte, 256)
	for {
		size, err := unix.Fgetxattr(fd, name, buf)
		if errors.Is(err, unix.ERANGE) {
			buf = make([]byte, 4*len(buf))
			continue
		}
		if err != nil {
			return nil, err
		}
		return buf[:size], nil
	}
}

// copyAttrs gives a new file the attributes of the replaced one, and takes away an access list that
// it got from its folder alone. It reports whether it changed anything.
func copyAttrs(fd int, attrs []attr) (bool, error) {
	altered := false
	for _, a := range attrs {
		if has, err := attrValue(fd, a.name); err == nil && bytes.Equal(has, a.value) {
			continue
		}
		if err := unix.Fsetxattr(fd, a.name, a.value, 0); err != nil {
			return altered, err
		}
		altered = true
	}
	if slices.ContainsFunc(attrs, func(a attr) bool { return a.name == aclAttr }) {
		return altered, nil
	}
	dropped, err := dropList(fd)
	return altered || dropped, err
}

// dropList takes away the access list of an open file, and reports whether it had one.
func dropList(fd int) (bool, error) {
	if _, err := unix.Fgetxattr(fd, aclAttr, nil); err != nil {
		return false, nil // it has none
	}
	return true, unix.Fremovexattr(fd, aclAttr)
}
