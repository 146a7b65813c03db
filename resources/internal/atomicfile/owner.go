package atomicfile

import (
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"

	"github.com/reactivegraph/mgmt/engine/safepath"
)

// These functions decide which rights a thing may keep, or lend to its successor, when it gets
// another owner or group.

const (
	defaultAttr = "system.posix_acl_default"
	capAttr     = "security.capability"

	special = unix.S_ISUID | unix.S_ISGID
	lent    = 0o644 // the most that a file of a stranger lends to its replacement
	closed  = 0o700 // of a folder that only its owner may enter yet
)

// moves reports whether the owner or the group becomes another one; -1 is for no change.
func (s Stat) moves(uid, gid int) bool {
	return uid >= 0 && uint32(uid) != s.UID || gid >= 0 && uint32(gid) != s.GID
}

// Strange reports whether neither root, nor we, nor the new owner uid own it; -1 is for no new owner, which makes nothing strange.
func (s Stat) Strange(uid int) bool {
	return uid >= 0 && uint32(uid) != s.UID && !safepath.System().Trusts(s.UID)
}

// Kept returns the permissions that remain, where no others are given, when a thing gets an owner
// and a group, -1 for the present ones: those of old without setuid, setgid and the grants of an
// access list, if that is a change. replaced says that another file takes its place: one of a
// stranger lends it no more than 0644.
func (d Dir) Kept(name string, old Stat, uid, gid int, replaced bool) (uint32, error) {
	perm := old.Perm()
	if old.IsLink() || !old.moves(uid, gid) {
		return perm, nil
	}
	perm &^= special
	if replaced && old.Strange(uid) {
		perm &= lent
	}
	if perm&0o070 == 0 {
		return perm, nil
	}
	list, err := d.accessList(name, old)
	return withoutList(perm, list), err
}

// accessList reads the access list of a thing that old is a look at; empty for none.
func (d Dir) accessList(name string, old Stat) (list []byte, err error) {
	err = d.reachThing(name, func(t thing) error {
		if !t.stat.Same(old) {
			return ErrChanged
		}
		list, err = t.accessList()
		return err
	})
	return list, d.failed("read the access list of", name, err)
}

func (t thing) accessList() ([]byte, error) {
	buf := make([]byte, 256)
	n, err := t.get(aclAttr, buf)
	for errors.Is(err, unix.ERANGE) {
		buf = make([]byte, 4*len(buf))
		n, err = t.get(aclAttr, buf)
	}
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// withoutList returns the permissions of a thing that loses its access list: the bits of the group
// were the most that the list grants to anyone, and become its grant to the group.
func withoutList(perm uint32, list []byte) uint32 {
	const group = 0x04
	if len(list) < 4 {
		return perm
	}
	for b := list[4:]; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint16(b) == group {
			grants := uint32(binary.LittleEndian.Uint16(b[2:])) & 7
			return perm & (^uint32(0o070) | grants<<3)
		}
	}
	return perm
}

// SetAttrs sets the owner and the mode of a thing that old is a look at; -1
// leaves one alone. The owner comes first, because a change of it takes setuid
// bits away. With a change of owner or group, setuid, setgid and access lists go; only a
// given mode brings bits back. Something else found in its place is an error, and so is a file
// with several names in a folder of a stranger, which could be the file of any user.
func (d Dir) SetAttrs(name string, old Stat, mode, uid, gid int) (st Stat, err error) {
	p := d.Path(name)
	d, release, err := d.holdFor(name)
	if err != nil {
		return Stat{}, err
	}
	defer release()
	fd, err := d.open(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Stat{}, pathError("open", p, err)
	}
	defer unix.Close(fd)
	if st, err = fstat(fd); err == nil && !st.Same(old) {
		err = ErrChanged
	}
	if err == nil {
		err = d.hisOwn(fd)
	}
	if err != nil {
		return Stat{}, pathError("chmod", p, err)
	}
	if err := d.do(func() error { return setAttrs(fd, st, p, mode, uid, gid) }); err != nil {
		return Stat{}, err
	}
	st, err = fstat(fd)
	return st, pathError("stat", p, err)
}

// setAttrs is SetAttrs of an open thing, in an order that gives no user more rights meanwhile than
// before or after.
func setAttrs(fd int, st Stat, p string, mode, uid, gid int) error {
	proc := "/proc/self/fd/" + strconv.Itoa(fd) // such a descriptor can be changed by this name only
	moves := st.moves(uid, gid)
	if moves {
		if err := unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
			return pathError("chown", p, err)
		}
	}
	if st.IsLink() {
		return nil
	}
	if moves {
		kept, err := dropLists(fd, proc, st)
		if err != nil {
			return pathError("remove the access list of", p, err)
		}
		if mode < 0 {
			mode = int(kept)
		}
	}
	if mode >= 0 {
		return pathError("chmod", p, unix.Chmod(proc, uint32(mode)))
	}
	return nil
}

// dropLists removes the access lists of an open thing, and returns the permissions that
// it keeps.
func dropLists(fd int, proc string, st Stat) (uint32, error) {
	list, err := (thing{fd, st, proc}).accessList()
	if err != nil {
		return 0, err
	}
	now, err := fstat(fd)
	if err != nil {
		return 0, err
	}
	kept := withoutList(now.Perm()&^special, list)
	for _, attr := range []string{aclAttr, defaultAttr, capAttr} {
		if err := unix.Removexattr(proc, attr); err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) {
			return 0, err
		}
	}
	return kept, nil
}

// hisOwn returns an error for a file with several names, unless only its owner, or only root and
// we, can have put this one into the folder.
func (d Dir) hisOwn(fd int) error {
	if d.as != nil {
		return nil
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return err
	}
	return safepath.System().Borrowed(d.fd, &st)
}

// inherits resolves the attributes that the new file takes over from Old: after it Mode is given.
func (n *New) inherits() (err error) {
	if n.Old == nil || n.Mode >= 0 {
		return nil
	}
	perm, err := n.Dir.Kept(n.Name, *n.Old, n.UID, n.GID, true)
	n.Mode = int(perm)
	return err
}

// lends reports whether an attribute of Old goes over to the file that replaces it.
func (n *New) lends(attr string) bool {
	switch {
	case !n.Old.moves(n.UID, n.GID):
		return true
	case n.Old.Strange(n.UID):
		return false
	}
	return attr != aclAttr && attr != capAttr
}

// stranger reports whether a folder that is held belongs neither to root, nor to us, nor to uid, who is to own
// what is made in it; -1 is for the user who makes it.
func (d Dir) stranger(uid int) (bool, error) {
	folder, err := fstat(d.fd)
	if uid < 0 && folder.UID != 0 {
		uid = d.uid()
	}
	return err == nil && folder.Strange(uid), d.failed("stat", "", err)
}

// refuseGifts resolves the attributes of a new file that the folder of a stranger would decide: by its setgid bit and by its
// default access list, which switches the umask off.
func (n *New) refuseGifts() (err error) {
	if n.Old != nil {
		return nil
	}
	n.gifted, err = n.Dir.stranger(n.UID)
	if !n.gifted {
		return err
	}
	if n.Mode < 0 {
		n.Mode = int(0o666 &^ umask())
	}
	if n.GID < 0 {
		n.GID = os.Getegid()
	}
	return nil
}

// ownFolder takes from a folder that was just made, and that only its owner can enter yet, what the folder of a stranger has
// given to it. A folder that holds something is another one, put there meanwhile.
func (d Dir) ownFolder(name string, perm uint32) error {
	fd, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return d.failed("open", name, err)
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err != nil {
		return d.failed("stat", name, err)
	}
	names, err := namesIn(fd, make([]byte, 1<<10))
	if err != nil || len(names) > 0 || int(st.UID) != d.uid() || st.Mode&0o777 != closed {
		return d.failed("mkdir", name, cmp.Or(err, ErrChanged))
	}
	if err := unix.Fchown(fd, -1, os.Getegid()); err != nil {
		return d.failed("chown", name, err)
	}
	if _, err := dropLists(fd, "/proc/self/fd/"+strconv.Itoa(fd), st); err != nil {
		return d.failed("remove the access list of", name, err)
	}
	return d.failed("chmod", name, unix.Fchmod(fd, perm&^umask()))
}

// umask returns the bits that new things lack. Nothing but a change of it tells it, save /proc; where that tells nothing, it
// is the usual one.
func umask() uint32 {
	const usual = 0o022
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return usual
	}
	_, rest, _ := strings.Cut(string(text), "\nUmask:")
	line, _, _ := strings.Cut(rest, "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(line), 8, 32)
	if err != nil {
		return usual
	}
	return uint32(bits)
}
