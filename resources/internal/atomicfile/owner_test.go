package atomicfile

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// her is a user of whom the machine knows nothing.
const her = 12345

// hersList lets her write: user::rwx user:12345:rwx group::r-- mask::rwx other::---
const hersList = "\x02\x00\x00\x00" +
	"\x01\x00\x07\x00\xff\xff\xff\xff" +
	"\x02\x00\x07\x00\x39\x30\x00\x00" +
	"\x04\x00\x04\x00\xff\xff\xff\xff" +
	"\x10\x00\x07\x00\xff\xff\xff\xff" +
	"\x20\x00\x00\x00\xff\xff\xff\xff"

// TestFindingA1Owner: what a file keeps when its owner or group becomes another one.
func TestFindingA1Owner(t *testing.T) {
	asRoot(t)
	for name, c := range map[string]struct {
		owner, perm   int
		mode          int // that is asked for
		uid, gid      int
		list          bool
		kept, lent    uint32
		keepsList     bool // in place, and when replaced
		lendsUserAttr bool
	}{
		"hers becomes root's":              {her, 0o6755, -1, 0, 0, false, 0o755, 0o644, false, false},
		"hers, with a mode":                {her, 0o6755, 0o4755, 0, 0, false, 0o4755, 0o4755, false, false},
		"hers, open to all":                {her, 0o777, -1, 0, -1, false, 0o777, 0o644, false, false},
		"hers, private":                    {her, 0o600, -1, 0, -1, false, 0o600, 0o600, false, false},
		"hers, with a list":                {her, 0o770, -1, 0, 0, true, 0o740, 0o640, false, false},
		"hers, with a list and a mode":     {her, 0o770, 0o660, 0, 0, true, 0o660, 0o660, false, false},
		"hers stays hers":                  {her, 0o6755, -1, her, -1, true, 0o6770, 0o6770, true, true},
		"hers gets another group":          {her, 0o6755, -1, -1, 7, true, 0o740, 0o740, false, true},
		"root's becomes hers":              {0, 0o6750, -1, her, her, false, 0o750, 0o750, false, true},
		"root's, with a list, another one": {0, 0o770, -1, 0, 9, true, 0o740, 0o740, false, true},
		"nothing of it changes":            {0, 0o6755, -1, 0, 0, true, 0o6770, 0o6770, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range []string{"kept", "lent", "inplace"} {
				must(t, os.WriteFile(dir+"/"+f, []byte("old"), 0o644))
				must(t, unix.Setxattr(dir+"/"+f, "user.x", []byte("v"), 0))
				must(t, os.Chown(dir+"/"+f, c.owner, c.owner))
				must(t, unix.Chmod(dir+"/"+f, uint32(c.perm)))
				if c.list {
					must(t, unix.Setxattr(dir+"/"+f, aclAttr, []byte(hersList), 0))
				}
			}
			d := At(dir)
			st, err := d.Lstat("kept")
			must(t, err)
			says, err := d.Kept("kept", st, c.uid, c.gid, false)
			must(t, err)
			if c.mode < 0 && says != c.kept {
				t.Errorf("it is said to keep %o", says)
			}
			st, err = d.SetAttrs("kept", st, c.mode, c.uid, c.gid)
			must(t, err)
			if _, has := attrs(t, dir+"/kept")[aclAttr]; st.Perm() != c.kept || has != c.keepsList {
				t.Errorf("in its place it has %o, a list %t", st.Perm(), has)
			}
			n := over(t, dir, "lent", "new")
			n.Mode, n.UID, n.GID = c.mode, c.uid, c.gid
			res := write(t, n)
			all := attrs(t, dir+"/lent")
			if _, has := all[aclAttr]; res.Stat.Perm() != c.lent || has != c.keepsList || !res.Sure {
				t.Errorf("replaced it has %o, a list %t", res.Stat.Perm(), has)
			}
			if _, has := all["user.x"]; has != c.lendsUserAttr {
				t.Errorf("the attribute is there: %t", has)
			}
			n = over(t, dir, "inplace", "new")
			n.Mode, n.UID, n.GID = c.mode, c.uid, c.gid
			must(t, n.inherits())
			d, err = OpenDir(dir)
			must(t, err)
			defer d.Close()
			n.Dir = d
			res, err = n.inPlace(errors.New("why"))
			must(t, err)
			if _, has := attrs(t, dir+"/inplace")[aclAttr]; res.Stat.Perm() != c.lent || has != c.keepsList {
				t.Errorf("written in place it has %o, a list %t", res.Stat.Perm(), has)
			}
		})
	}
}

// A folder loses both of its lists.
func TestFindingA1FolderLists(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/d", 0o755))
	must(t, os.Chown(dir+"/d", her, her))
	must(t, unix.Setxattr(dir+"/d", aclAttr, []byte(hersList), 0))
	must(t, unix.Setxattr(dir+"/d", defaultAttr, []byte(hersList), 0))
	d := At(dir)
	st, err := d.Lstat("d")
	must(t, err)
	if st, err = d.SetAttrs("d", st, -1, 0, -1); err != nil || st.Perm() != 0o740 {
		t.Errorf("%+v, %v", st, err)
	}
	if got := attrs(t, dir+"/d"); len(got) != 0 {
		t.Errorf("it has %q", got)
	}
}

// A list that her folder gives to new files is not one of a file that root makes there.
func TestFindingA1NewInHerFolder(t *testing.T) {
	asRoot(t)
	for owner, want := range map[int]int{her: 0, 0: 1} {
		dir := t.TempDir()
		must(t, unix.Setxattr(dir, defaultAttr, []byte(hersList), 0))
		must(t, os.Chown(dir, owner, owner))
		n := text(dir, "f", "secret")
		n.Mode = 0o640
		if res := write(t, n); res.Stat.Perm() != 0o640 {
			t.Errorf("the mode is %o", res.Stat.Perm())
		}
		if got := attrs(t, dir+"/f"); len(got) != want {
			t.Errorf("in a folder of %d: %q", owner, got)
		}
	}
}

// What is a file of root's by another name is not given away, nor opened.
func TestFindingA1HardLink(t *testing.T) {
	asRoot(t)
	root := t.TempDir()
	dir := root + "/hers"
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(root+"/shadow", []byte("secret"), 0o600))
	must(t, os.Link(root+"/shadow", dir+"/f"))
	d := At(dir)
	st, err := d.Lstat("f")
	must(t, err)
	if _, err := d.SetAttrs("f", st, 0o600, -1, -1); err != nil {
		t.Errorf("in root's folder: %v", err)
	}
	must(t, os.Chown(dir, her, her))
	if st, err = d.Lstat("f"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetAttrs("f", st, 0o644, her, -1); err == nil || !strings.Contains(err.Error(), "it has 2 names (hard links), and the user 12345 can write to its folder") {
		t.Errorf("it was given away: %v", err)
	}
	n := over(t, dir, "f", "new")
	n.UID, n.Mode = her, 0o644
	write(t, n)
	var now unix.Stat_t
	must(t, unix.Stat(root+"/shadow", &now))
	if got := read(t, root+"/shadow"); got != "secret" || now.Uid != 0 || now.Mode&0o7777 != 0o600 || now.Nlink != 1 {
		t.Errorf("the victim is %q, %+v", got, now)
	}
	must(t, os.WriteFile(dir+"/own", nil, 0o600))
	must(t, os.Chown(dir+"/own", her, her))
	must(t, os.Link(dir+"/own", dir+"/own2"))
	st, err = d.Lstat("own")
	must(t, err)
	if _, err := d.SetAttrs("own", st, 0o640, -1, -1); err != nil {
		t.Errorf("her own file: %v", err)
	}
}

// openList is what a folder of hers may give to all that is new in it: user::rwx group::rwx other::rwx
const openList = "\x02\x00\x00\x00" +
	"\x01\x00\x07\x00\xff\xff\xff\xff" +
	"\x04\x00\x07\x00\xff\xff\xff\xff" +
	"\x20\x00\x07\x00\xff\xff\xff\xff"

// TestFindingA1GiftsOfHerFolder: neither the default list nor the setgid bit of a folder of hers has a say in the rights on
// what root makes there. What is to be hers gets them.
func TestFindingA1GiftsOfHerFolder(t *testing.T) {
	asRoot(t)
	for name, list := range map[string]string{"no list": "", "a list for her": hersList, "a list for all": openList} {
		for way, named := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				dir := t.TempDir()
				must(t, os.Chown(dir, her, her))
				must(t, unix.Chmod(dir, 0o2755))
				if list != "" {
					must(t, unix.Setxattr(dir, defaultAttr, []byte(list), 0))
				}
				for file, c := range map[string]struct{ mode, uid, gid, perm, group int }{
					"default":   {-1, -1, -1, 0o644, os.Getegid()},
					"closed":    {0o640, -1, -1, 0o640, os.Getegid()},
					"of root":   {0o640, 0, -1, 0o640, os.Getegid()},
					"of others": {0o640, her + 1, -1, 0o640, os.Getegid()},
					"for her":   {0o640, 0, her, 0o640, her},
					"hers":      {0o640, her, -1, 0o640, her},
				} {
					n := text(dir, file, "text")
					n.Mode, n.UID, n.GID, n.nameFirst = c.mode, c.uid, c.gid, named
					st := write(t, n).Stat
					if st.Perm() != uint32(c.perm) || st.GID != uint32(c.group) {
						t.Errorf("%s: mode %o, group %d", file, st.Perm(), st.GID)
					}
					if _, has := attrs(t, dir+"/"+file)[aclAttr]; has && c.uid != her {
						t.Errorf("%s: it has a list", file)
					}
				}
				for folder, perm := range map[string]uint32{"open": 0o777, "shut": 0o750} {
					must(t, At(dir).Mkdir(folder, perm))
					st, err := At(dir).Lstat(folder)
					must(t, err)
					if got := attrs(t, dir+"/"+folder); st.Perm() != perm&^0o022 || st.GID != uint32(os.Getegid()) || len(got) != 0 {
						t.Errorf("the folder %s: mode %o, group %d, %q", folder, st.Perm(), st.GID, got)
					}
				}
			})
		}
	}
}

// TestFindingA1GroupOfHerFile: the replacement of her file is not for her group, unless it is hers or the graph says so.
func TestFindingA1GroupOfHerFile(t *testing.T) {
	asRoot(t)
	for _, c := range []struct{ uid, gid, want int }{{0, -1, os.Getegid()}, {0, 7, 7}, {0, her, her}, {her, -1, her}, {-1, -1, her}} {
		dir := t.TempDir()
		must(t, os.WriteFile(dir+"/f", []byte("old"), 0o640))
		must(t, os.Chown(dir+"/f", her, her))
		n := over(t, dir, "f", "new")
		n.Mode, n.UID, n.GID = 0o640, c.uid, c.gid
		if st := write(t, n).Stat; st.GID != uint32(c.want) {
			t.Errorf("owner %d and group %d are asked for, and the group is %d", c.uid, c.gid, st.GID)
		}
	}
}
