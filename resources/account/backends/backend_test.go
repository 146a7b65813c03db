package backends

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

const someHash = "$6$salt$hash"

// image makes the databases of a small system.
func image(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	must(t, os.MkdirAll(root+"/etc/skel", 0o755))
	must(t, os.Mkdir(root+"/home", 0o755))
	for name, text := range map[string]string{
		"passwd":     "root:x:0:0:root:/root:/bin/sh\nbot:x:900:900::/:/bin/false\n",
		"group":      "root:x:0:\nbot:x:900:\nweb:x:800:bot\nextra:x:801:\n",
		"shadow":     "root:*:19000:0:99999:7:::\nbot:!:19000::::::\n",
		"gshadow":    "root:*::\nbot:!::\nweb:!::bot\nextra:!::\n",
		"login.defs": "UID_MIN 1400\nGID_MIN\t1400\n# UID_MAX 5\nPASS_MAX_DAYS 365\nUSERGROUPS_ENAB yes\nCREATE_MAIL_SPOOL no\nMAIL_DIR /var/mail\n",
		"skel/.rc":   "greeting\n",
	} {
		must(t, os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o640))
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/", root, "etc", name))
	must(t, err)
	return string(data)
}

// modules are user and group by one backend.
type modules struct{ user, group *virtual.Module }

func bind(t *testing.T, h engine.Host, user, group *virtual.Backend) modules {
	t.Helper()
	env := virtual.Env{Host: h, Facts: virtual.Facts{"kernel": "Linux"}}
	u, err := virtual.Bind(t.Context(), UserInterface(), user, env)
	must(t, err)
	g, err := virtual.Bind(t.Context(), GroupInterface(), group, env)
	must(t, err)
	return modules{u, g}
}

func (m modules) getent(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	users, _, err := GetUsers.Call(t.Context(), m.user, AllArgs{Where{root}})
	must(t, err)
	number := func(p *int) any {
		if p == nil {
			return "-"
		}
		return *p
	}
	for _, u := range users {
		group := "-"
		if u.Group != nil {
			group = *u.Group
		}
		fmt.Fprintln(&out, u.Name, u.UID, u.GID, group, u.Groups, u.Home, u.Shell, u.Comment, u.Password.Reveal(), *u.Expires, number(u.MinAge), number(u.MaxAge), number(u.WarnDays))
	}
	groups, _, err := GetGroups.Call(t.Context(), m.group, AllArgs{Where{root}})
	must(t, err)
	for _, g := range groups {
		fmt.Fprintln(&out, g.Name, g.GID, g.Members)
	}
	return out.String()
}

// storyEnd is what the databases say after the story. The last user and his days are as the
// system gives them.
func storyEnd(last string) string {
	return "root 0 0 root [] /root /bin/sh root *  0 99999 7\n" +
		"bot 900 900 bot [web] / /bin/false  !  - - -\n" +
		"berta 1500 1500 anna [extra staff web] /home/anna /bin/false  " + someHash + "  1 90 5\n" + last +
		"root 0 []\nbot 900 []\nweb 800 [berta bot]\nextra 801 [berta]\nstaff 701 [berta]\nanna 1500 []\n"
}

const lastOfDefs = "extra 1501 801 extra [] /e /bin/sh  !  - 365 -\n"

// story is what every backend has to make of an image.
func story(t *testing.T, m modules, root, last string) {
	ctx, at := t.Context(), Where{root}
	step := func(what string, err error, reason string) {
		t.Helper()
		if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
			t.Fatalf("%s: %v, not %q", what, err, reason)
		}
	}
	_, _, err := AddGroup.Call(ctx, m.group, AddGroupArgs{Name: "staff", GID: new(700), Unique: true, Where: at})
	step("a group", err, "")
	_, _, err = AddGroup.Call(ctx, m.group, AddGroupArgs{Name: "staff", GID: new(701), Unique: true, Where: at})
	step("its number", err, "")
	_, _, err = AddGroup.Call(ctx, m.group, AddGroupArgs{Name: "other", GID: new(701), Unique: true, Where: at})
	step("a number that is taken", err, "701")
	_, _, err = AddUser.Call(ctx, m.user, AddArgs{Name: "anna", CreateHome: true, UserGroup: true, Where: at, Attributes: Attributes{
		UID: new(1500), Groups: new([]string{"staff", "extra"}), Home: new("/home/anna"), Shell: new("/bin/sh"), Comment: new("Anna A, 1"),
		Password: new(schema.NewSecret(someHash)), Expires: new("2031-02-03"), MinAge: new(1), MaxAge: new(90), WarnDays: new(5), Unique: true,
	}})
	step("a user", err, "")
	_, _, err = AddUser.Call(ctx, m.user, AddArgs{Name: "dup", Attributes: Attributes{UID: new(1500), Unique: true}, UserGroup: true, Where: at})
	step("a uid that is taken", err, "1500")
	_, _, err = AddUser.Call(ctx, m.user, AddArgs{Name: "twin", Attributes: Attributes{UID: new(1500), Group: new("web"), Home: new("/t"), Shell: new("/bin/sh")}, Where: at})
	step("a uid that may be taken", err, "")
	_, _, err = AddUser.Call(ctx, m.user, AddArgs{Name: "extra", Attributes: Attributes{Home: new("/e"), Shell: new("/bin/sh"), Unique: true}, UserGroup: true, Where: at})
	step("a user of the name of a group", err, "")
	_, _, err = ChangeUser.Call(ctx, m.user, ChangeArgs{Name: "anna", Attributes: Attributes{Groups: new([]string{"web"}), Append: true, Unique: true}, Where: at})
	step("one more group", err, "")
	_, _, err = ChangeUser.Call(ctx, m.user, ChangeArgs{Name: "anna", Attributes: Attributes{Shell: new("/bin/false"), Comment: new(""), Expires: new(""), Unique: true}, Where: at})
	step("other words", err, "")
	_, _, err = ChangeUser.Call(ctx, m.user, ChangeArgs{Name: "twin", Attributes: Attributes{Groups: new([]string{}), Unique: true}, Where: at})
	step("no groups", err, "")
	_, _, err = ChangeUser.Call(ctx, m.user, ChangeArgs{Name: "anna", Attributes: Attributes{Groups: new([]string{"nothere"}), Unique: true}, Where: at})
	step("a group that is not there", err, "nothere")
	_, _, err = SetMembers.Call(ctx, m.group, MembersArgs{Name: "web", Members: []string{"anna", "root"}, Where: at})
	step("members", err, "")
	_, _, err = RemoveMember.Call(ctx, m.group, MemberArgs{Name: "web", Username: "root", Where: at})
	step("a member less", err, "")
	_, _, err = AddMember.Call(ctx, m.group, MemberArgs{Name: "web", Username: "bot", Where: at})
	step("a member more", err, "")
	_, _, err = DeleteGroup.Call(ctx, m.group, NameArgs{Name: "bot", Where: at})
	step("a group in use", err, "bot")
	_, _, err = DeleteUser.Call(ctx, m.user, DeleteArgs{Name: "twin", Where: at})
	step("a removal", err, "")
	_, _, err = DeleteUser.Call(ctx, m.user, DeleteArgs{Name: "twin", Where: at})
	step("what is gone", err, "")
	_, _, err = RenameUser.Call(ctx, m.user, RenameArgs{Name: "anna", NewName: "berta", Where: at})
	step("another name", err, "")

	want := sortedLines(storyEnd(last))
	got := sortedLines(m.getent(t, root))
	if got != want {
		t.Errorf("the databases say\n%swant\n%s", got, want)
	}
	if data, err := os.ReadFile(root + "/home/anna/.rc"); err != nil || string(data) != "greeting\n" {
		t.Errorf("the home: %q, %v", data, err)
	}
	if gshadow := content(t, root, "gshadow"); !strings.Contains(gshadow, "staff:!::berta\n") {
		t.Errorf("gshadow is\n%s", gshadow)
	}
}

// sortedLines sorts the lines of a text: in which order the tools write is theirs.
func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// TestFiles: the files themselves are edited.
func TestFiles(t *testing.T) {
	asRoot(t)
	host := enginetest.NewHost()
	host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) {
		return nil, errors.New("no tool is needed")
	})
	story(t, bind(t, host, filesUsers(), filesGroups()), image(t), lastOfDefs)
}

// asRoot ends a test that gives files to others, where that cannot be.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
}

// TestShadow: the tools make the same of it, for real, in an image.
func TestShadow(t *testing.T) {
	asRoot(t)
	root := image(t)
	host := enginetest.NewHost()
	host.SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		if !slices.Contains(c.Argv, root) { // nothing but the image is altered
			return nil, fmt.Errorf("%v is not about the image", c.Argv)
		}
		if strings.Contains(strings.Join(c.Argv, " "), someHash) {
			t.Errorf("a hash is an argument: %v", c.Argv)
		}
		return runReal(ctx, c)
	})
	for _, b := range []*virtual.Backend{shadowUsers(), shadowGroups()} {
		for _, tool := range b.Needs {
			switch _, err := exec.LookPath(tool); {
			case err != nil && os.Getenv("CI") == "true":
				t.Fatal("CI has to have shadow-utils: ", err)
			case err != nil:
				t.Skip("shadow-utils is not there: ", err)
			}
		}
	}
	story(t, bind(t, host, shadowUsers(), shadowGroups()), root, lastOfDefs)
}

func runReal(ctx context.Context, c engine.Command) (*engine.Result, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Stdin), &stdout, &stderr
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, c.Env...)
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, err
	}
	return &engine.Result{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}, nil
}

// TestShadowSpeaks: the reason that a tool has is the error, and the hash reaches it by its
// standard input alone.
func TestShadowSpeaks(t *testing.T) {
	root, stdin := image(t), ""
	host := enginetest.NewHost()
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		stdin += string(c.Stdin)
		if c.Argv[0] == "userdel" {
			return &engine.Result{ExitCode: 8, Stderr: []byte("userdel: user bot is currently used by process 42\n")}, nil
		}
		return &engine.Result{}, nil
	})
	m := bind(t, host, shadowUsers(), shadowGroups())
	_, _, err := DeleteUser.Call(t.Context(), m.user, DeleteArgs{Name: "bot", Where: Where{root}})
	if err == nil || !strings.Contains(err.Error(), "used by process 42") {
		t.Errorf("a user in use: %v", err)
	}
	_, _, err = ChangeUser.Call(t.Context(), m.user, ChangeArgs{Name: "bot", Attributes: Attributes{Password: new(schema.NewSecret(someHash)), Unique: true}, Where: Where{root}})
	if err != nil || stdin != "bot:"+someHash+"\n" {
		t.Errorf("the standard input is %q, %v", stdin, err)
	}
	if got, want := ran(host), "[userdel --root "+root+" bot] [chpasswd --root "+root+" --encrypted]"; got != want {
		t.Errorf("it ran %s, not %s", got, want)
	}
}

// TestOwnGroupGoesMeanwhile: userdel, which another one runs, has removed the user and not
// yet the group of the same name when useradd looks that up.
func TestOwnGroupGoesMeanwhile(t *testing.T) {
	root := image(t)
	replace := func(name, from, to string) {
		must(t, os.WriteFile(filepath.Join(root, "etc", name), []byte(strings.Replace(content(t, root, name), from, to, 1)), 0o640))
	}
	replace("passwd", "bot:x:900:900::/:/bin/false\n", "")
	host := enginetest.NewHost()
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		switch c.Argv[0] {
		case "useradd":
			replace("group", "bot:x:900:\n", "")
			replace("passwd", "root:", "bot:x:901:900::/:/bin/false\nroot:")
		case "groupadd":
			replace("group", "root:", "bot:x:900:\nroot:")
		}
		return &engine.Result{}, nil
	})
	m := bind(t, host, shadowUsers(), shadowGroups())
	for range 2 { // for the second time it stays
		must(t, fails(AddUser.Call(t.Context(), m.user, AddArgs{Name: "bot", Attributes: Attributes{Unique: true}, UserGroup: true, Where: Where{root}})))
		replace("passwd", "bot:x:901:900::/:/bin/false\n", "")
		host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) {
			replace("passwd", "root:", "bot:x:901:900::/:/bin/false\nroot:")
			return &engine.Result{}, nil
		})
	}
	add := "[useradd --root " + root + " --no-create-home --no-user-group --gid bot bot]"
	if got, want := ran(host), add+" [groupadd --root "+root+" --gid 900 bot] "+add; got != want {
		t.Errorf("it ran\n%s, not\n%s", got, want)
	}
}

// ran are the commands that were run.
func ran(h *enginetest.FakeHost) string {
	var all []string
	for _, c := range h.Commands() {
		all = append(all, fmt.Sprint(c.Argv))
	}
	return strings.Join(all, " ")
}

// TestNamesAreRefused: before a tool is run, or a file is read.
func TestNamesAreRefused(t *testing.T) {
	host := enginetest.NewHost()
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) {
		t.Errorf("%v was run", c.Argv)
		return &engine.Result{}, nil
	})
	backends := []modules{
		bind(t, host, shadowUsers(), shadowGroups()), bind(t, host, filesUsers(), filesGroups()), bind(t, host, busyboxUsers(), busyboxGroups()),
	}
	for _, m := range backends {
		for _, name := range []string{"-o", "../x", "a:b", "a\nb", "", "0"} {
			root := Where{image(t)}
			if m.user.Backend.Name == "busybox" {
				root = Where{}
			}
			for what, err := range map[string]error{
				"add":         fails(AddUser.Call(t.Context(), m.user, AddArgs{Name: name, Attributes: Attributes{Unique: true}, UserGroup: true, Where: root})),
				"delete":      fails(DeleteUser.Call(t.Context(), m.user, DeleteArgs{Name: name, Where: root})),
				"add group":   fails(AddGroup.Call(t.Context(), m.group, AddGroupArgs{Name: name, Unique: true, Where: root})),
				"del group":   fails(DeleteGroup.Call(t.Context(), m.group, NameArgs{Name: name, Where: root})),
				"member":      fails(AddMember.Call(t.Context(), m.group, MemberArgs{Name: "root", Username: name, Where: root})),
				"not member":  fails(RemoveMember.Call(t.Context(), m.group, MemberArgs{Name: "root", Username: name, Where: root})),
				"description": fails(DescribeUser.Call(t.Context(), m.user, NameArgs{Name: name, Where: root})),
			} {
				if err == nil {
					t.Errorf("%s: %s of %q is not refused", m.user.Backend.Name, what, name)
				}
			}
		}
	}
}

func fails[R any](_ R, _ *virtual.Result, err error) error { return err }

// TestBusybox: its tools make and remove; what they cannot do is done as by files.
func TestBusybox(t *testing.T) {
	root := image(t)
	host := enginetest.NewHost()
	host.SetCommand(func(_ context.Context, c engine.Command) (*engine.Result, error) { return fakeBusybox(t, root, c) })
	f, err := newFiles(t.Context(), virtual.Env{Host: host})
	must(t, err)
	b := &busybox{*f, tool{host}, root}
	_, err = b.add(t.Context(), busyboxAddArgs{Name: "anna", CreateHome: true, UserGroup: true, Attributes: Attributes{
		UID: new(1500), Groups: new([]string{"extra"}), Home: new("/home/anna"), Shell: new("/bin/sh"), Comment: new("Anna"),
		Password: new(schema.NewSecret(someHash)), Expires: new("2031-02-03"), Unique: true,
	}})
	must(t, err)
	_, err = b.add(t.Context(), busyboxAddArgs{Name: "daemon", System: true, UserGroup: true, Attributes: Attributes{Unique: true}})
	must(t, err)
	s, err := load(root)
	must(t, err)
	u, ok := s.userNamed("anna")
	if !ok || u.UID != 1500 || fmt.Sprint(u.Groups) != "[extra]" || u.Password.Reveal() != someHash || *u.Expires != "2031-02-03" {
		t.Errorf("%t, %+v", ok, u)
	}
	for what, err := range map[string]error{
		"a number that is taken": second(b.add(t.Context(), busyboxAddArgs{Name: "dup", Attributes: Attributes{UID: new(1500), Unique: true}})),
		"no such group":          second(b.add(t.Context(), busyboxAddArgs{Name: "dup", Attributes: Attributes{Group: new("nothere"), Unique: true}})),
		"no group of the number": second(b.add(t.Context(), busyboxAddArgs{Name: "dup", Attributes: Attributes{GID: new(77), Unique: true}})),
	} {
		if err == nil {
			t.Errorf("%s passes", what)
		}
	}
	must(t, second(b.addMember(t.Context(), busyboxMemberArgs{"web", "anna"})))
	must(t, second(b.removeMember(t.Context(), busyboxMemberArgs{"extra", "anna"})))
	must(t, second(b.addGroup(t.Context(), busyboxGroupArgs{Name: "ops", GID: new(55), Unique: true})))
	must(t, second(b.removeGroup(t.Context(), busyboxNameArgs{"nothere"})))
	must(t, second(b.remove(t.Context(), busyboxDeleteArgs{Name: "bot", Remove: true})))
	want := "[adduser -D -u 1500 -h /home/anna -s /bin/sh -g Anna anna] [addgroup -S daemon] [adduser -D -S -H -g  -G daemon daemon] " +
		"[addgroup anna web] [delgroup anna extra] [addgroup -g 55 ops] [deluser bot]"
	if got := ran(host); got != want {
		t.Errorf("it ran\n%s, not\n%s", got, want)
	}
}

func second[R any](_ R, err error) error { return err }

// fakeBusybox does what adduser of busybox does to the databases, as far as the test
// needs it.
func fakeBusybox(t *testing.T, root string, c engine.Command) (*engine.Result, error) {
	t.Helper()
	name := c.Argv[len(c.Argv)-1]
	for file, line := range map[string]string{
		"passwd": name + ":x:1500:1500:Anna:/home/" + name + ":/bin/sh\n",
		"shadow": name + ":!:19000:0:99999:7:::\n",
		"group":  name + ":x:1500:\n",
	} {
		if c.Argv[0] != "adduser" && (c.Argv[1] != "-S" || file != "group") {
			continue
		}
		f, err := os.OpenFile(filepath.Join(root, "etc", file), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString(line)
		must(t, errors.Join(err, f.Close()))
	}
	return &engine.Result{}, nil
}

// TestLockIsRespected: while another program holds the lock nothing is altered; who waits
// goes on as soon as it is free, and gives up with its context.
func TestLockIsRespected(t *testing.T) {
	root := image(t)
	fd, err := unix.Open(root+"/etc/"+lockName, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	must(t, err)
	must(t, unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	m := bind(t, enginetest.NewHost(), filesUsers(), filesGroups())
	before := content(t, root, "group")
	add := func(ctx context.Context) error {
		return fails(AddGroup.Call(ctx, m.group, AddGroupArgs{Name: "new", Unique: true, Where: Where{root}}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockTry)
	defer cancel()
	if err := add(ctx); !errors.Is(err, context.DeadlineExceeded) || content(t, root, "group") != before {
		t.Errorf("with the lock held: %v\n%s", err, content(t, root, "group"))
	}
	done := make(chan error, 1)
	go func() { done <- add(t.Context()) }()
	select {
	case err := <-done:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(3 * lockTry):
	}
	must(t, unix.Close(fd))
	must(t, <-done)
	if !strings.Contains(content(t, root, "group"), "new:x:1400:\n") {
		t.Errorf("group is\n%s", content(t, root, "group"))
	}
}

// holdVariable makes of the test's program one that holds a lock.
const holdVariable = "MGMT_TEST_HOLD"

// hold locks a file as the C library does, says so, and keeps the lock until its standard input ends.
func hold(path string) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestFindingBadLockNamesItsHolder: who holds the lock of the databases for too long is named, with what to do. When the lock is
// free, the next try succeeds.
func TestFindingBadLockNamesItsHolder(t *testing.T) {
	root := image(t)
	exe, err := os.Executable()
	must(t, err)
	// The shell that starts it ends, so that it is no process of ours.
	cmd := exec.Command("sh", "-c", `exec 3<&0; "$0" <&3 & echo $!`, exe)
	cmd.Env = []string{holdVariable + "=" + root + "/etc/" + lockName}
	stdin, in, err := os.Pipe()
	must(t, err)
	defer in.Close()
	out, stdout, err := os.Pipe()
	must(t, err)
	defer out.Close()
	cmd.Stdin, cmd.Stdout = stdin, stdout
	must(t, cmd.Run())
	must(t, errors.Join(stdin.Close(), stdout.Close()))
	lines := bufio.NewReader(out)
	pid, err := lines.ReadString('\n')
	must(t, err)
	if line, err := lines.ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	c := enginetest.NewClock()
	got := make(chan error, 1)
	go func() {
		_, err := lock(t.Context(), c, root+"/etc")
		got <- err
	}()
	for err = nil; err == nil; {
		select {
		case err = <-got:
		case <-time.After(time.Millisecond):
			c.Advance(time.Second)
		}
	}
	if want := fmt.Sprintf("held the lock of the databases for 15s: it is process %s (", strings.TrimSpace(pid)); !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "if it hangs, end it") {
		t.Errorf("%v, want %s", err, want)
	}
	must(t, in.Close())
	_, err = io.ReadAll(lines) // it has ended
	must(t, err)
	unlock, err := lock(t.Context(), clock.System{}, root+"/etc")
	must(t, err)
	unlock()
}

// TestUserInUse: a user of this machine who has processes is not removed.
func TestUserInUse(t *testing.T) {
	proc := t.TempDir()
	must(t, os.Mkdir(proc+"/42", 0o700))
	must(t, os.Mkdir(proc+"/self", 0o700))
	f := &files{proc: proc}
	me := UserInfo{Name: "me", UID: os.Getuid()}
	if err := f.idle("", me); err == nil || !strings.Contains(err.Error(), "process 42") {
		t.Errorf("in use: %v", err)
	}
	must(t, f.idle("", UserInfo{Name: "other", UID: os.Getuid() + 1}))
	must(t, f.idle("/image", me))
}

// TestImagesAreNotLeft: neither the databases nor a home of an image are followed to
// somewhere else by links.
func TestImagesAreNotLeft(t *testing.T) {
	root, outside := image(t), image(t)
	m := bind(t, enginetest.NewHost(), filesUsers(), filesGroups())
	must(t, os.Remove(root+"/home"))
	must(t, os.Symlink(outside+"/home", root+"/home"))
	args := AddArgs{Name: "anna", CreateHome: true, UserGroup: true, Attributes: Attributes{UID: new(os.Getuid() + 7), Home: new("/home/anna"), Unique: true}, Where: Where{root}}
	if err := fails(AddUser.Call(t.Context(), m.user, args)); err == nil {
		t.Error("a home was made through a link")
	}
	before := content(t, outside, "group")
	edited := func() error {
		return fails(AddGroup.Call(t.Context(), m.group, AddGroupArgs{Name: "new", Unique: true, Where: Where{root}}))
	}
	must(t, os.Rename(root+"/etc/group", root+"/etc/was"))
	must(t, os.Symlink(outside+"/etc/group", root+"/etc/group"))
	if edited() == nil {
		t.Error("a database that is a link is edited")
	}
	must(t, os.Rename(root+"/etc/was", root+"/etc/group"))
	must(t, os.Rename(root+"/etc", root+"/etc.was"))
	must(t, os.Symlink(outside+"/etc", root+"/etc"))
	if edited() == nil {
		t.Error("databases are edited through a link")
	}
	if got, err := os.ReadDir(outside + "/home"); err != nil || len(got) != 0 || content(t, outside, "group") != before {
		t.Errorf("outside there is %v, %v\n%s", got, err, content(t, outside, "group"))
	}
}

// TestRootShapes: a root without databases, and one that is not there.
func TestRootShapes(t *testing.T) {
	m := bind(t, enginetest.NewHost(), filesUsers(), filesGroups())
	empty := t.TempDir()
	if err := fails(GetUsers.Call(t.Context(), m.user, AllArgs{Where{empty}})); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder etc: %v", err)
	}
	must(t, os.Mkdir(empty+"/etc", 0o755))
	must(t, fails(AddUser.Call(t.Context(), m.user, AddArgs{Name: "anna", UserGroup: true, Attributes: Attributes{Unique: true}, Where: Where{empty}})))
	if got := content(t, empty, "passwd"); got != "anna:x:1000:1000::/home/anna:/bin/sh\n" {
		t.Errorf("passwd is %q", got)
	}
	if st, err := os.Stat(empty + "/etc/shadow"); err != nil || st.Mode().Perm()&0o7 != 0 {
		t.Errorf("shadow: %v, %v", st, err)
	}
	names, _, err := ListUsers.Call(t.Context(), m.user, AllArgs{Where{empty}})
	if err != nil || fmt.Sprint(names) != "[anna]" {
		t.Errorf("the users are %v, %v", names, err)
	}
	groups, _, err := ListGroups.Call(t.Context(), m.user, NameArgs{"anna", Where{empty}})
	if err != nil || fmt.Sprint(groups) != "[anna]" {
		t.Errorf("the groups are %v, %v", groups, err)
	}
	if _, r, err := DescribeUser.Call(t.Context(), m.user, NameArgs{"berta", Where{empty}}); err != nil || r.Found {
		t.Errorf("one who is not there: %v, %v", r, err)
	}
}
