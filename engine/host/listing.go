package host

import (
	"encoding/binary"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// manyNames is from how many names on a directory is read once instead of each name looked
// at: a name that is missing costs the kernel more than an entry that is read.
const manyNames = 32

// listing is the result of reading a directory: the names of all entries but plain files. A name
// that is not in it needs no look, because it is a plain file or missing.
type listing map[string]struct{}

// list reads a directory for that many names. It reports false where that tells nothing, or
// would cost more than to look at each.
func list(path string, names int) (listing, bool) {
	if names < manyNames {
		return nil, false
	}
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	l, buf := listing{}, make([]byte, 32<<10)
	for most := 8 * names; most > 0; {
		var n int
		if err := retry(func() (err error) { n, err = unix.Getdents(fd, buf); return err }); err != nil {
			return nil, false
		}
		if n == 0 {
			return l, true
		}
		most -= l.add(buf[:n])
	}
	return nil, false
}

// add takes entries as the kernel writes them, and returns how many they are.
func (l listing) add(buf []byte) (n int) {
	const length, kind, name = 16, 18, 19 // where they are in an entry
	for ; len(buf) > name; n++ {
		size := int(binary.NativeEndian.Uint16(buf[length:]))
		if buf[kind] != unix.DT_REG {
			l[unix.ByteSliceToString(buf[name:size])] = struct{}{}
		}
		buf = buf[size:]
	}
	return n
}

// retry repeats a system call for as long as a signal interrupts it.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
