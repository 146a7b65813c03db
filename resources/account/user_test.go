package account

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { kindtest.Main(m) }

const hashOfA, hashOfB = "$6$salt$hashofa", "$6$salt$hashofb"

// accountsBelow makes the databases of a small system.
func accountsBelow(t *testing.T, dir string) {
	t.Helper()
	etc := filepath.Join(dir, "etc")
	kindtest.Must(t, os.MkdirAll(etc, 0o755))
	for name, f := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"passwd": {"root:x:0:0:root:/root:/bin/sh\n# a note\nbot:x:900:900::/:/bin/false\n+nis::::::\n", 0o644},
		"group":  {"root:x:0:\nbot:x:900:\nweb:x:800:bot\nextra:x:801:\n", 0o644},
		"shadow": {"root:*:19000:0:99999:7:::\nbot:!:19000::::::\n", 0o640},
	} {
		kindtest.Must(t, os.WriteFile(filepath.Join(etc, name), []byte(f.text), f.mode))
	}
}

// editFile makes a drift: an edit of a database by hand.
func editFile(name, old, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, "etc", name)
		text, err := os.ReadFile(path)
		kindtest.Must(t, err)
		changed := strings.Replace(string(text), old, to, 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q:\n%s", path, old, text)
		}
		kindtest.Must(t, os.WriteFile(path, []byte(changed), 0o640))
	}
}

// madeUser returns a user as the engine makes one.
func madeUser(tb testing.TB, as UserRes) *UserRes {
	tb.Helper()
	made, err := engine.DefaultRegistry().New("user")
	if err != nil {
		tb.Fatal(err)
	}
	as.accountBase = made.(*UserRes).accountBase
	return &as
}

// annaCreated is what a run tells of a new user: anna has all properties.
const annaCreated = `created uid: (none) -> 1500 group: (none) -> "web" groups: (none) -> [extra] homedir: (none) -> "/home/anna" ` +
	`shell: (none) -> "/bin/sh" comment: (none) -> "Anna A, 1" password: (none) -> (secret) expiry: (none) -> "2031-02-03" ` +
	`password_min_age: (none) -> 1 password_max_age: (none) -> 90 password_warn_days: (none) -> 5`

func anna(tb testing.TB, dir string) *UserRes {
	r := madeUser(tb, UserRes{
		State: Exists, UID: new(1500), Group: "web", Groups: []string{"extra"}, Membership: groupsInclusive,
		HomeDir: "/home/anna", Shell: "/bin/sh", Comment: new("Anna A, 1"), Password: schema.NewSecret(hashOfA), Expiry: "2031-02-03",
		MinAge: new(1), MaxAge: new(90), WarnDays: new(5), Root: dir,
	})
	r.SetName("anna")
	return r
}

func TestUserSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "user", Prepare: accountsBelow,
		New: func(t *testing.T, dir string) engine.Res { return anna(t, dir) },
		Drifts: map[string]func(*testing.T, string){
			"uid":      editFile("passwd", ":1500:", ":1501:"),
			"gid":      editFile("passwd", ":800:", ":900:"),
			"home":     editFile("passwd", "/home/anna", "/srv/anna"),
			"shell":    editFile("passwd", "/home/anna:/bin/sh", "/home/anna:/bin/bash"),
			"comment":  editFile("passwd", "Anna A", "Anna B"),
			"groups":   editFile("group", "extra:x:801:anna", "extra:x:801:"),
			"more":     editFile("group", "bot:x:900:", "bot:x:900:anna"),
			"password": editFile("shadow", hashOfA, hashOfB),
			"locked":   editFile("shadow", hashOfA, "!"+hashOfA),
			"expiry":   editFile("shadow", ":22313:", "::"),
			"max age":  editFile("shadow", ":1:90:5:", ":1:99999:5:"),
			"removed": func(t *testing.T, dir string) {
				kindtest.Must(t, os.Remove(filepath.Join(dir, "etc/passwd")))
			},
			"shadow removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(filepath.Join(dir, "etc/shadow"))) },
		},
		Variants: map[string]func(engine.Res){
			"other uid": func(r engine.Res) { r.(*UserRes).UID = new(1502) },
			"absent":    func(r engine.Res) { r.(*UserRes).State = Absent },
		},
	})
}

func TestGroupSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "group", Prepare: accountsBelow,
		New: func(_ *testing.T, dir string) engine.Res {
			r := &GroupRes{State: Exists, GID: new(700), Members: []string{"bot", "root"}, AllMembers: true, Root: dir}
			r.SetName("staff")
			return r
		},
		Drifts: map[string]func(*testing.T, string){
			"gid":     editFile("group", ":700:", ":701:"),
			"less":    editFile("group", "bot,root", "bot"),
			"more":    editFile("group", "bot,root", "bot,root,other"),
			"removed": editFile("group", "staff:x:700:bot,root\n", ""),
		},
	})
}

// TestUserMinimum: the groups are those that the user is in at least; the primary one
// counts.
func TestUserMinimum(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	r := &UserRes{Groups: []string{"extra", "bot"}, Root: dir}
	r.SetName("bot")
	f := kindtest.Begin(t, "user", r)
	kindtest.Want(t, f, r, "groups: [web] -> [extra web]")
	if got := text(t, dir, "group"); !strings.Contains(got, "web:x:800:bot\nextra:x:801:bot\n") || !strings.Contains(got, "bot:x:900:\n") {
		t.Errorf("the groups are\n%s", got)
	}
	kindtest.Want(t, f, r, "")
	if s, ok := f.Sent().(*UserSends); !ok || s.UID != 900 || s.Shell != "/bin/false" {
		t.Errorf("sent %#v", f.Sent())
	}
}

// TestAccountsAbsent: what is not there is shown as absent, which is right.
func TestAccountsAbsent(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	for kind, r := range map[string]engine.Readable{
		"user":  madeUser(t, UserRes{State: Exists, Membership: groupsMinimum, Root: dir}),
		"group": &GroupRes{State: Exists, Root: dir},
	} {
		r.SetName("nobody")
		kindtest.Begin(t, kind, r)
		got, err := r.Read(t.Context())
		kindtest.Must(t, err)
		kindtest.Want(t, kindtest.Begin(t, kind, got), got, "")
		if fields, err := schema.Get(got, "state"); err != nil || fields != Absent {
			t.Errorf("a %s is %v, %v", kind, fields, err)
		}
		undo, err := kindtest.UndoOf(t, r, got)
		kindtest.Must(t, err)
		kindtest.Want(t, kindtest.Begin(t, kind, undo), undo, "")
	}
}

// TestUserMissingGroup: what would fail for want of a group fails when it is looked, too,
// and with an error that names the group.
func TestUserMissingGroup(t *testing.T) {
	for says, r := range map[string]*UserRes{
		"no group nobody":               {Group: "nobody"},
		"no group nobody ":              {Groups: []string{"web", "nobody"}},
		"no group with the number 4711": {GID: new(4711)},
	} {
		for _, name := range []string{"new", "bot"} {
			dir := t.TempDir()
			accountsBelow(t, dir)
			one := madeUser(t, *r)
			one.Root = dir
			one.SetName(name)
			f := kindtest.Begin(t, "user", one)
			looked := kindtest.Verbs(t, f, one, false)
			if !strings.HasPrefix(looked, "error: ") || !strings.Contains(looked, strings.TrimSpace(says)) {
				t.Errorf("%s: looking it says %s, without %s", name, looked, says)
			}
			if got := kindtest.Verbs(t, f, one, true); !strings.HasPrefix(got, "error: ") {
				t.Errorf("%s: applying it says %s", name, got)
			}
			editFile("group", "web:x:800:", "nobody:x:4711:\nweb:x:800:")(t, dir)
			if got := kindtest.Verbs(t, f, one, false); got == "" || strings.HasPrefix(got, "error") {
				t.Errorf("%s: with the group it says %s", name, got)
			}
		}
	}
}

func text(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "etc", name))
	kindtest.Must(t, err)
	return string(data)
}

// TestUserLeavesOthersAlone: what is not about the user stays, byte for byte, and modes
// with it.
func TestUserLeavesOthersAlone(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	before := text(t, dir, "passwd")
	r := anna(t, dir)
	r.ManageHome = true
	kindtest.Must(t, os.MkdirAll(filepath.Join(dir, "etc/skel/.config"), 0o755))
	kindtest.Put(t, filepath.Join(dir, "etc/skel/.config/x"), "content")
	if os.Geteuid() != 0 {
		r.UID, r.Group = new(os.Getuid()), "" // a home is given to its user
	}
	f := kindtest.Begin(t, "user", r)
	kindtest.Want(t, f, r, annaCreated)
	if data, err := os.ReadFile(filepath.Join(dir, "home/anna/.config/x")); err != nil || string(data) != "content" {
		t.Errorf("the home: %q, %v", data, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "etc/shadow")); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("shadow: %v, %v", st.Mode(), err)
	}
	line, _, _ := strings.Cut(text(t, dir, "passwd")[strings.Index(text(t, dir, "passwd"), "anna:"):], "\n")
	if got := strings.Replace(text(t, dir, "passwd"), line+"\n", "", 1); got != before || !strings.HasSuffix(text(t, dir, "passwd"), line+"\n+nis::::::\n") {
		t.Errorf("passwd is\n%s", text(t, dir, "passwd"))
	}
	r.State = Absent
	kindtest.Want(t, f, r, "deleted")
	if got := text(t, dir, "passwd"); got != before {
		t.Errorf("after the removal passwd is\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "home/anna")); !os.IsNotExist(err) {
		t.Errorf("the home is there: %v", err)
	}
}

// TestUserRefusals: what could be an option, a path, or a line of its own is refused when
// the graph is loaded, and so is a password where a hash should be, which is not shown.
func TestUserRefusals(t *testing.T) {
	for name, change := range map[string]func(*UserRes){
		"option":  func(r *UserRes) { r.SetName("-o") },
		"path":    func(r *UserRes) { r.SetName("../x") },
		"colon":   func(r *UserRes) { r.SetName("a:b") },
		"line":    func(r *UserRes) { r.SetName("a\nroot") },
		"group":   func(r *UserRes) { r.Group = "-G" },
		"groups":  func(r *UserRes) { r.Groups = []string{"ok", "a,b"} },
		"home":    func(r *UserRes) { r.HomeDir = "home" },
		"up":      func(r *UserRes) { r.HomeDir = "/home/../etc" },
		"shell":   func(r *UserRes) { r.Shell = "/bin/sh:x" },
		"comment": func(r *UserRes) { r.Comment = new("a\nroot::0:0:::") },
		"hash":    func(r *UserRes) { r.Password = schema.NewSecret("plain text") },
		"hash:":   func(r *UserRes) { r.Password = schema.NewSecret("$6$a$b:0:0") },
		"expiry":  func(r *UserRes) { r.Expiry = "tomorrow" },
		"both":    func(r *UserRes) { r.GID, r.Group = new(1), "web" },
		"dup":     func(r *UserRes) { r.AllowDup, r.UID = true, nil },
		"root":    func(r *UserRes) { r.Root = "image" },
		"state":   func(r *UserRes) { r.State = "here" },
		"backend": func(r *UserRes) { r.MetaParams().Backend = "ldap" },
	} {
		r := anna(t, "/image")
		change(r)
		err := kindtest.Judged(r)
		if err == nil {
			t.Errorf("%s passes", name)
		} else if strings.Contains(err.Error(), "plain text") {
			t.Errorf("%s: a password is shown: %v", name, err)
		}
	}
	for _, hash := range []string{"!", "*", "!!", "!$6$a$b", "$y$j9T$abc$def", "_abcdefghijklmnopqrs"} {
		r := anna(t, "/image")
		r.Password = schema.NewSecret(hash)
		kindtest.Must(t, r.Validate())
	}
}

// TestUserFailsAlone: in a batch what fails is one user, with the reason, and all others
// go on.
func TestUserFailsAlone(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	bad, good := anna(t, dir), anna(t, dir)
	bad.SetName("bad")
	bad.Groups = []string{"nothere"}
	f, g := kindtest.Begin(t, "user", bad), kindtest.Begin(t, "user", good)
	out := bad.CheckApplyBatch(t.Context(), true, []engine.Res{bad, good})
	if out[0].Err == nil || !strings.Contains(out[0].Err.Error(), "there is no group nothere") || out[1].Err != nil {
		t.Errorf("the outcomes are %v", out)
	}
	if len(f.Changes()) != 12 || len(g.Changes()) != 12 || strings.Contains(text(t, dir, "passwd"), "bad") {
		t.Errorf("changes %v, %v; passwd\n%s", f.Changes(), g.Changes(), text(t, dir, "passwd"))
	}
}

// TestFindingD10CreatedUserShowsValues: a new user and a new group are told with the values that
// they get, and the hash of a password is not shown.
func TestFindingD10CreatedUserShowsValues(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	r := anna(t, dir)
	f := kindtest.Begin(t, "user", r)
	kindtest.Want(t, f, r, annaCreated)
	if text := fmt.Sprintf("%+v", f.Changes()); strings.Contains(text, r.Password.Reveal()) {
		t.Errorf("the hash is shown: %s", text)
	}
}

// TestUserClashes: a graph that says two things of one number is refused, unless it may
// be one of two.
func TestUserClashes(t *testing.T) {
	a, b := anna(t, ""), anna(t, "")
	b.SetName("berta")
	if err := a.Clashes(b); err == nil || !strings.Contains(err.Error(), "1500") {
		t.Errorf("two users of one number: %v", err)
	}
	b.AllowDup = true
	kindtest.Must(t, a.Clashes(b))
	b.AllowDup, b.State = false, Absent
	kindtest.Must(t, a.Clashes(b))
}

// TestUserEdges: a user comes after his groups and above his home, and before the groups
// go if he goes, when his service has stopped.
func TestUserEdges(t *testing.T) {
	r := anna(t, "")
	r.SetKind("user")
	got := strings.Join(kindtest.Asked(t, r), " ")
	if got != "group[web] group[extra] pkg with /bin/sh file[/home] file[/]" {
		t.Errorf("asked for %s", got)
	}
	var uids []string
	for _, u := range r.UIDs() {
		uids = append(uids, u.String())
	}
	if got := strings.Join(uids, " "); got != "user[anna] user[1500]" {
		t.Errorf("it is %s", got)
	}
	r.State = Absent
	edges, err := r.AutoEdges()
	kindtest.Must(t, err)
	for _, u := range edges.Next() {
		if group := autoedge.SpaceOf(u) == traits.SpaceGroup; group == u.IsReversed() {
			t.Errorf("%s goes before the user: %t", u, u.IsReversed())
		}
	}
	if inImage := anna(t, "/image"); inImage.UIDs() != nil {
		t.Error("a user of an image is one of this machine")
	}
}

// TestUsersAreOneReading: a thousand users that are looked at together are one reading of
// each database.
func TestUsersAreOneReading(t *testing.T) {
	dir := t.TempDir()
	members := thousandUsers(t, dir)
	opened := countOpens(t, filepath.Join(dir, "etc"))
	for i, o := range members[0].(engine.Batcher).CheckApplyBatch(t.Context(), false, members) {
		if !o.OK || o.Err != nil {
			t.Fatalf("user %d: %v", i, o)
		}
	}
	for name, n := range opened() {
		if n != 1 {
			t.Errorf("%s was read %d times", name, n)
		}
	}
}

// TestUsersSeeDrift: what users have in common is read anew as soon as a database is
// another one, also if it has kept its size.
func TestUsersSeeDrift(t *testing.T) {
	dir := t.TempDir()
	accountsBelow(t, dir)
	_, open := (&UserRes{Root: dir}).Shared()
	shared, err := open(t.Context(), nil)
	kindtest.Must(t, err)
	r := anna(t, dir)
	f := kindtest.Begin(t, "user", r, enginetest.WithShared(shared))
	kindtest.Want(t, f, r, annaCreated)
	for range 20 {
		kindtest.Want(t, f, r, "")
		editFile("passwd", ":1500:", ":1501:")(t, dir)
		kindtest.Want(t, f, r, "uid: 1501 -> 1500")
		editFile("shadow", hashOfA, hashOfB)(t, dir)
		kindtest.Want(t, f, r, "password: (secret) -> (secret)")
	}
	kindtest.Must(t, shared.Close())
}

// thousandUsers makes the databases of a system with a thousand users, who are as they
// should be, and their resources.
func thousandUsers(tb testing.TB, dir string) (members []engine.Res) {
	tb.Helper()
	var passwd, group, shadow strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&passwd, "u%d:x:%d:%d:User %d:/home/u%d:/bin/sh\n", i, 2000+i, 2000+i, i, i)
		fmt.Fprintf(&group, "u%d:x:%d:\n", i, 2000+i)
		fmt.Fprintf(&shadow, "u%d:%s:19000:0:99999:7:::\n", i, hashOfA)
		r := &UserRes{UID: new(2000 + i), Group: fmt.Sprint("u", i), HomeDir: fmt.Sprint("/home/u", i), Password: schema.NewSecret(hashOfA), Root: dir}
		r.SetKind("user")
		r.SetName(fmt.Sprint("u", i))
		if err := r.Init(enginetest.NewInit(tb).Init()); err != nil {
			tb.Fatal(err)
		}
		members = append(members, r)
	}
	if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o755); err != nil {
		tb.Fatal(err)
	}
	for name, b := range map[string]*strings.Builder{"passwd": &passwd, "group": &group, "shadow": &shadow} {
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(b.String()), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return members
}

// countOpens counts how often each file of a folder is opened from now on.
func countOpens(t *testing.T, dir string) func() map[string]int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	kindtest.Must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_OPEN)
	kindtest.Must(t, err)
	return func() map[string]int {
		counts := map[string]int{}
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		kindtest.Must(t, err)
		for at := 0; at < n; {
			size := int(buf[at+12]) | int(buf[at+13])<<8
			name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+size]), "\x00")
			if name != "" {
				counts[name]++
			}
			at += unix.SizeofInotifyEvent + size
		}
		if counts["passwd"] == 0 {
			t.Errorf("nothing was counted: %v", counts)
		}
		return counts
	}
}

// BenchmarkUsers checks a thousand users that are right.
func BenchmarkUsers(b *testing.B) {
	members := thousandUsers(b, b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		for _, o := range members[0].(engine.Batcher).CheckApplyBatch(context.Background(), false, members) {
			if !o.OK {
				b.Fatal(o)
			}
		}
	}
}

// TestLoadRefusesAccounts: what a backend lacks is an error when the graph is loaded.
func TestLoadRefusesAccounts(t *testing.T) {
	by := func(r engine.Res, backend string) { r.MetaParams().Backend = backend }
	alpine := kindtest.OnMachine(t, virtual.Facts{"os_family": "Alpine", "kernel": "Linux", "init": "openrc"}, "busybox", "adduser", "deluser", "addgroup", "delgroup", "rc-service", "rc-update", "apk")
	kindtest.Loaded(t, alpine, "user", func(r *UserRes) { r.Expiry = "2030-01-01" }, "")
	kindtest.Loaded(t, alpine, "user", func(r *UserRes) { r.Root = "/image"; by(r, "busybox") }, "user.add: the backend busybox has no root")
	kindtest.Loaded(t, alpine, "user", func(r *UserRes) { r.Root = "/image" }, "")
	kindtest.Loaded(t, alpine, "group", func(r *GroupRes) { r.Root = "/image"; by(r, "busybox") }, "group.add: the backend busybox has no root")
	kindtest.Loaded(t, alpine, "group", func(r *GroupRes) { by(r, "shadow") }, "no backend of group can be used here: shadow: there is no program groupadd")
}

// TestAccountWatchOnlyWaits: whatever the Watch has to ask, it asks on another stack. Its own would stay as large as that has
// made it.
func TestAccountWatchOnlyWaits(t *testing.T) {
	t.Run("user", func(t *testing.T) {
		dir := t.TempDir()
		accountsBelow(t, dir)
		r := madeUser(t, UserRes{Root: dir, ManageHome: true})
		f := kindtest.Begin(t, "user", r)
		kindtest.Resynced(t, f, r.Handle(), r)
	})
	t.Run("group", func(t *testing.T) {
		dir := t.TempDir()
		accountsBelow(t, dir)
		made, err := engine.DefaultRegistry().New("group")
		kindtest.Must(t, err)
		r := made.(*GroupRes)
		r.Root = dir
		f := kindtest.Begin(t, "group", r)
		kindtest.Resynced(t, f, r.Handle(), r)
	})
}

// TestBug28_CancelledWatchesEnd: each Watch returns as soon as its context ends.
//
// Seen failing with: internal/virtualkind/watch.go, WatchBy: ctx.Done answered by a break out of the select alone.
func TestBug28_CancelledWatchesEnd(t *testing.T) {
	dir := t.TempDir()
	for kind, r := range map[string]engine.Res{"user": &UserRes{Root: dir}, "group": &GroupRes{Root: dir}} {
		t.Run(kind, func(t *testing.T) { kindtest.WatchEnds(t, kind, r, nil) })
	}
}
