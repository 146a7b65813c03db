package safepath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os/user"
	"strconv"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// ErrRefused says that a path is not taken because another user could have made it lead
// anywhere. The error that wraps it says which element, who, and how to proceed.
var ErrRefused = errors.New("the path is in the hands of another user")

// RefusedError is an ErrRefused with its sentence.
type RefusedError struct {
	Element string // the path of the link or the folder that is the reason
	UID     int    // its owner
	text    string
}

func (e *RefusedError) Error() string { return e.text }
func (e *RefusedError) Unwrap() error { return ErrRefused }

// refuse says why a link is not followed.
func (k *walk) refuse(fd int, name string, st *unix.Stat_t) error {
	link, why := short(k.at(name)), ""
	to, err := readlink(fd)
	if err != nil {
		to = "unknown"
	}
	uid := int(st.Uid)
	switch {
	case !k.w.Trusts(st.Uid):
		why = fmt.Sprintf("%s is a link (to %q) that belongs to %s, and is not followed: name the real path, or chown -h %s %[1]s", link, short(to), userName(uid), userWord(k.w.self.UID))
		if k.w.self.UID == 0 && k.w.owner == nil {
			why += ", or set owner: " + userWord(uid)
		}
	default:
		reason := k.exposed
		if reason == "" {
			reason = k.shared
		}
		why = fmt.Sprintf("%s is a link (to %q) that is not followed, because %s: name the real path, or shut others out of that folder", link, short(to), reason)
	}
	return &RefusedError{Element: k.at(name), UID: uid, text: why}
}

// notBehind says that something behind a link of the owner is another user's.
func (k *walk) notBehind(path string, uid uint32) error {
	return &RefusedError{Element: path, UID: int(uid), text: fmt.Sprintf(
		"%s leads by a link of %s to %s, which belongs to %s: behind such a link all has to belong to %[2]s; name the real path",
		short(k.w.shown(k.path)), userName(k.w.owner.UID), short(path), userName(int(uid)))}
}

// OthersWrite returns who, besides root and the daemon's own user, can make, rename and
// remove names in an open folder: words for a message, empty for no other user. The
// sticky bit is not taken into account.
func (w Walker) OthersWrite(f Folder) (string, error) {
	who, err := w.OthersWriteFD(f.fd)
	return who, pathError("stat", f.path, err)
}

// OthersWriteFD is OthersWrite for a descriptor of a folder.
func (w Walker) OthersWriteFD(fd int) (string, error) {
	st, err := fstat(fd)
	if err != nil {
		return "", err
	}
	return w.othersWrite(fd, &st), nil
}

// Borrowed returns an error for a plain file with several names (hard links) in an open folder,
// unless its owner alone, or none but root and the daemon, can have put this name there: another
// user may keep the file elsewhere.
func (w Walker) Borrowed(folder int, st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink < 2 {
		return nil
	}
	dir, err := fstat(folder)
	if err != nil {
		return err
	}
	if st.Uid == dir.Uid && dir.Mode&0o022 == 0 {
		return nil
	}
	who := w.othersWrite(folder, &dir)
	if who == "" {
		return nil
	}
	return &RefusedError{UID: int(st.Uid), text: fmt.Sprintf(
		"it has %d names (hard links), and %s can write to its folder: it may be a file of another user, so it is left alone; remove this name, or give the file a content", st.Nlink, who)}
}

func (w Walker) othersWrite(fd int, st *unix.Stat_t) string {
	switch {
	case !w.Trusts(st.Uid):
		return userName(int(st.Uid))
	case st.Mode&unix.S_IWOTH != 0:
		return "every user"
	case st.Mode&unix.S_IWGRP == 0: // with an access list that is the most that it grants
		return ""
	case !w.privateGroup(st.Gid):
		return "the group " + groupName(int(st.Gid))
	}
	return w.listed(accessList(fd))
}

// privateGroup reports whether a group has no other members, by convention: the group of root, and
// a group with the number of a user whom w trusts.
func (w Walker) privateGroup(gid uint32) bool {
	return gid == 0 || w.self.ownGroup(gid) || w.caller != nil && w.caller.ownGroup(gid)
}

func (u *User) ownGroup(gid uint32) bool { return u.UID == u.GID && int(gid) == u.GID }

// listed returns whom an access list lets write.
func (w Walker) listed(acl []aclEntry) string {
	for _, e := range acl {
		switch {
		case e.perm&aclWrite == 0:
		case e.tag == aclUser && !w.Trusts(e.id):
			return userName(int(e.id)) + " (by an access list)"
		case e.tag == aclGroup && !w.privateGroup(e.id):
			return "the group " + groupName(int(e.id)) + " (by an access list)"
		}
	}
	return ""
}

const (
	aclWrite = 2
	aclUser  = 0x02
	aclGroup = 0x08
)

type aclEntry struct {
	tag, perm uint16
	id        uint32
}

// accessList reads the access list of a folder that is open with O_PATH; nil for none.
func accessList(fd int) []aclEntry {
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	buf := make([]byte, 1024)
	n, err := unix.Getxattr(path, "system.posix_acl_access", buf)
	for err == unix.ERANGE && len(buf) < 1<<17 {
		buf = make([]byte, 4*len(buf))
		n, err = unix.Getxattr(path, "system.posix_acl_access", buf)
	}
	if err == unix.ENODATA || err == unix.ENOTSUP {
		return nil
	}
	if err != nil || n < 4 {
		return []aclEntry{{tag: aclGroup, perm: aclWrite, id: 1<<32 - 1}} // what can't be read may say anything
	}
	var acl []aclEntry
	for b := buf[4:n]; len(b) >= 8; b = b[8:] {
		acl = append(acl, aclEntry{binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint32(b[4:])})
	}
	return acl
}

// userName returns the user for a message.
func userName(uid int) string { return "the user " + userWord(uid) }

// userWord returns the name of a user, or the number if there is none.
func userWord(uid int) string {
	if uid == 0 {
		return "root"
	}
	num := strconv.Itoa(uid)
	if u, err := user.LookupId(num); err == nil {
		return u.Username
	}
	return num
}

func groupName(gid int) string {
	num := strconv.FormatUint(uint64(uint32(gid)), 10)
	if g, err := user.LookupGroupId(num); err == nil {
		return g.Name
	}
	return num
}
