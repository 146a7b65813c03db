package safepath

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/internal/unix"
)

// maxLinks is how many links are followed in one walk, as the system does.
const maxLinks = 40

// walk is one walk, element by element.
type walk struct {
	w      Walker
	path   string // as it was asked for
	whole  bool   // the last element is a folder to be opened, too
	follow bool   // a link in the last place is followed

	cur     int      // the folder that was reached; -1 for none
	names   []string // its path without links
	rest    []string // the elements that are left
	exposed string   // why links from here on are not followed; empty where they are
	shared  string   // why links in this folder are not followed, besides exposed
	links   int
	acting  bool   // behind a link of the owner: all is done as that user
	name    string // the last element, unless whole

	guard    *Walker // whom OpenGuarded trusts; nil for another walk
	writable string  // another user who could lead the path elsewhere; empty for none
	mend     string  // how to shut that user out
	owner    int     // of the folder that it is about
}

// errBecome says that the walk goes on as the owner.
var errBecome = errors.New("the walk goes on as the owner")

var errChanged = errors.New("it was replaced by something else meanwhile")

// to walks to the end, and returns the folder that was reached and the last name.
func (k *walk) to() (Folder, string, error) {
	k.cur = -1
	err := k.start(nil, elements(k.path))
	if err == nil {
		err = k.run()
	}
	if errors.Is(err, errBecome) {
		k.acting = true
		if k.w.lookup {
			u := LookupUser(k.w.owner.UID)
			k.w.owner, k.w.lookup = &u, false
		}
		err = k.w.owner.Do(func() error { return k.run() })
	}
	if err == nil && k.acting {
		err = k.owned()
	}
	if err != nil {
		k.enter(-1)
		return Folder{}, "", err
	}
	f := Folder{fd: k.cur, path: k.shownPath()}
	if k.acting {
		f.as = k.w.owner
	}
	return f, k.name, nil
}

// shownPath is the path of the folder that was reached: as it was asked for, unless a
// link in the last place has led elsewhere.
func (k *walk) shownPath() string {
	asked := k.path
	if hasUp(asked) {
		return k.at("")
	}
	if !k.whole {
		dir, name, plain := split(k.path)
		if !plain || name != k.name {
			return k.at("")
		}
		asked = dir
	}
	if k.links > 0 && k.follow && !k.whole {
		return k.at("")
	}
	if asked = strings.TrimRight(asked, "/"); asked == "" {
		asked = "/"
	}
	return k.w.shown(asked)
}

// at returns the path of a name in the folder that was reached.
func (k *walk) at(name string) string {
	names := slices.Clone(k.names)
	if name != "" {
		names = append(names, name)
	}
	return k.w.shown("/" + strings.Join(names, "/"))
}

func elements(path string) []string {
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// start goes back to the root, with the elements that lead on from there.
func (k *walk) start(names, rest []string) error {
	w, err := k.w.at("/"+strings.Join(slices.Concat(names, rest), "/"), Itself)
	if err != nil {
		return pathError("open", k.w.shown(k.path), err)
	}
	k.w = w
	at := "."
	if k.w.root == unix.AT_FDCWD {
		at = "/"
	}
	fd, err := openat(k.w.root, at, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return pathError("open", k.w.shown("/"), err)
	}
	st, err := fstat(fd)
	if err != nil {
		_ = unix.Close(fd)
		return pathError("stat", k.w.shown("/"), err)
	}
	k.names, k.exposed, k.shared, k.writable = nil, "", "", ""
	k.rest = slices.Concat(names, rest)
	k.enter(fd)
	k.judge(&st)
	return nil
}

// enter makes fd the folder that was reached.
func (k *walk) enter(fd int) {
	if k.cur >= 0 {
		_ = unix.Close(k.cur)
	}
	k.cur = fd
}

// run takes one element after the other.
func (k *walk) run() error {
	for len(k.rest) > 0 {
		name := k.rest[0]
		if name == ".." {
			up := k.names[:max(len(k.names)-1, 0)]
			if err := k.start(slices.Clone(up), k.rest[1:]); err != nil {
				return err
			}
			continue
		}
		last := len(k.rest) == 1 && !k.whole
		if last && !k.follow {
			k.name, k.rest = name, nil
			return nil
		}
		if err := k.step(name, last); err != nil {
			return err
		}
	}
	if !k.whole && k.name == "" {
		k.name = "."
	}
	return nil
}

// step takes the next element.
func (k *walk) step(name string, last bool) error {
	fd, err := openat(k.cur, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err == unix.ENOENT && last {
		k.name, k.rest = name, nil
		return nil
	}
	if err != nil {
		return k.cannotPass(name, err)
	}
	st, err := fstat(fd)
	kind := st.Mode & unix.S_IFMT
	switch {
	case err != nil:
		err = pathError("stat", k.at(name), err)
	case kind == unix.S_IFLNK:
		err = k.link(fd, name, &st)
	case last:
		k.name, k.rest = name, nil
	case kind != unix.S_IFDIR:
		err = pathError("open", k.at(name), unix.ENOTDIR)
	case k.acting && int(st.Uid) != k.w.owner.UID && !k.w.Trusts(st.Uid):
		err = k.notBehind(k.at(name), st.Uid)
	default:
		k.enter(fd)
		k.names, k.rest = append(k.names, name), k.rest[1:]
		k.judge(&st)
		return nil
	}
	_ = unix.Close(fd)
	return err
}

func (k *walk) cannotPass(name string, err error) error {
	if k.acting && (err == unix.EACCES || err == unix.EPERM) {
		return fmt.Errorf("%s: %s can't pass %s, and the path leads there by a link of that user: name the real path", short(k.w.shown(k.path)), userName(k.w.owner.UID), short(k.at(name)))
	}
	return pathError("open", k.at(name), err)
}

// judge keeps whether links in the folder that was entered, and below it, are followed, and
// for OpenGuarded who could lead the path elsewhere.
func (k *walk) judge(st *unix.Stat_t) {
	if k.guard != nil && k.writable == "" {
		if who, sticky := k.guard.replaces(k.cur, st); who != "" && !sticky {
			k.writable = fmt.Sprintf("%s can write to %s", who, short(k.at("")))
			k.mend, k.owner = k.guard.mend(k.at(""), st), int(st.Uid)
		}
	}
	k.shared = ""
	if k.exposed != "" {
		return
	}
	who, sticky := k.w.replaces(k.cur, st)
	if who == "" {
		return
	}
	why := fmt.Sprintf("%s can write to %s", who, short(k.at("")))
	if sticky {
		k.shared = why
	} else {
		k.exposed = why
	}
}

// replaces returns who else can write to a folder. It is sticky if they still can't remove or
// rename the folders in it of whom w trusts.
func (w Walker) replaces(fd int, st *unix.Stat_t) (who string, sticky bool) {
	return w.othersWrite(fd, st), st.Mode&unix.S_ISVTX != 0 && w.Trusts(st.Uid)
}

// link goes on where a link leads to, if it may be followed.
func (k *walk) link(fd int, name string, st *unix.Stat_t) error {
	if k.links++; k.links > maxLinks {
		return pathError("open", k.w.shown(k.path), fmt.Errorf("%w: it leads over more than %d links, the last one is %s: fix the links, or name the real path", unix.ELOOP, maxLinks, short(k.at(name))))
	}
	own := k.w.Trusts(st.Uid) && k.exposed == "" && k.shared == ""
	if !own && !k.mayAct(st.Uid) {
		return k.refuse(fd, name, st)
	}
	target, err := readlink(fd)
	if err != nil {
		return pathError("readlink", k.at(name), err)
	}
	rest := slices.Concat(elements(target), k.rest[1:])
	switch {
	case strings.HasPrefix(target, "/"):
		err = k.start(nil, rest)
	case k.w.over != nil:
		err = k.start(slices.Clone(k.names), rest)
	default:
		k.rest = rest
	}
	if err == nil && !own && !k.acting {
		err = errBecome
	}
	return err
}

// mayAct reports whether a link of a user is followed as the owner that the resource
// names.
func (k *walk) mayAct(uid uint32) bool {
	o := k.w.owner
	return o != nil && o.UID != 0 && k.w.self.UID == 0 && (int(uid) == o.UID || k.w.Trusts(uid))
}

// owned returns an error unless the folder behind a link of the owner is the owner's.
func (k *walk) owned() error {
	st, err := fstat(k.cur)
	if err != nil {
		return pathError("stat", k.at(""), err)
	}
	if int(st.Uid) != k.w.owner.UID {
		return k.notBehind(k.at(""), st.Uid)
	}
	return nil
}

// readlink returns the target of an open link.
func readlink(fd int) (string, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n := 0
		err := retry(func() (err error) { n, err = unix.Readlinkat(fd, "", buf); return err })
		if err != nil {
			return "", err
		}
		if n == 0 {
			return "", unix.ENOENT
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

func openat(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return -1, err
	}
	return fd, nil
}
