package backends

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// A transcript is what the tools of busybox do with the databases of an image. Its lines
// begin with
//
//	$ a command, its words parted by blanks
//	= its exit status, if it is not 0
//	! a line that it prints to the standard error
//	passwd| a line of a database that it has altered, and so on for each of them
//
// With -record it is written anew, from the busybox that testdata/busybox.sh builds. Without
// that option the tools have to do what it says, where they are there; elsewhere it takes
// their place.
var record = flag.Bool("record", false, "write the transcript of busybox anew")

const transcriptPath = "testdata/busybox.txt"

// imageKey is in the environment of a test that runs on an image.
const imageKey = "MGMT_TEST_IMAGE"

// onImage runs the test that calls it once more, in a process for which the databases and
// homes of an image are those of the machine. It returns true there.
func onImage(t *testing.T) bool {
	t.Helper()
	asRoot(t)
	if root := os.Getenv(imageKey); root != "" {
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		for _, name := range []string{"/etc", "/home"} {
			must(t, unix.Mount(root+name, name, "", unix.MS_BIND, ""))
		}
		return true
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=10m"}
	if *record {
		args = append(args, "-record")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), imageKey+"="+image(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS: "+t.Name())):
		t.Log(string(out))
	case errors.Is(err, syscall.EPERM) && os.Getenv("CI") != "true":
		t.Skipf("no namespace for mounting: %v", err)
	default:
		t.Errorf("on an image: %v\n%s", err, out)
	}
	return false
}

// TestBusyboxReal: the tools of busybox make the same of an image as all others.
func TestBusyboxReal(t *testing.T) {
	tools := busyboxTools(t)
	if !onImage(t) {
		return
	}
	text, err := os.ReadFile(transcriptPath)
	if err != nil && !*record {
		t.Fatal(err)
	}
	p := &player{t: t, tools: tools, lines: strings.Split(string(text), "\n")}
	host := enginetest.NewHost()
	host.SetCommand(p.command)
	story(t, bind(t, host, busyboxUsers(), busyboxGroups()), "", "extra 1000 801 extra [] /e /bin/sh  !  0 99999 7\n")
	thenBusybox(t, bind(t, host, busyboxUsers(), busyboxGroups()))
	if *record {
		must(t, os.WriteFile(transcriptPath, []byte(p.out.String()), 0o644))
	} else if rest := strings.TrimSpace(strings.Join(p.lines, "\n")); rest != "" {
		t.Errorf("not run was\n%s", rest)
	}
}

// thenBusybox is what happens to the image then: a user of the system, who has a group of his
// own; another home; and the removal with the home.
func thenBusybox(t *testing.T, m modules) {
	ctx := t.Context()
	must(t, fails(AddUser.Call(ctx, m.user, AddArgs{Name: "web.d", System: true, UserGroup: true, Attributes: Attributes{Home: new("/srv"), Unique: true}})))
	u, _, err := DescribeUser.Call(ctx, m.user, NameArgs{Name: "web.d"})
	if err != nil || u.UID < 100 || u.UID > 999 || u.Group == nil || *u.Group != "web.d" || u.Comment != "" {
		t.Errorf("a user of the system is %+v, %v", u, err)
	}
	must(t, fails(ChangeUser.Call(ctx, m.user, ChangeArgs{Name: "berta", Attributes: Attributes{Home: new("/home/b"), Unique: true}, MoveHome: true})))
	if data, err := os.ReadFile("/home/b/.rc"); err != nil || string(data) != "greeting\n" {
		t.Errorf("the home that was moved: %q, %v", data, err)
	}
	must(t, fails(DeleteUser.Call(ctx, m.user, DeleteArgs{Name: "berta", Remove: true})))
	if _, err := os.Stat("/home/b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home is there: %v", err)
	}
	if left := m.getent(t, ""); strings.Contains(left, "berta") {
		t.Errorf("of a removed user there is left\n%s", left)
	}
}

// busyboxTools returns a folder with the tools; nothing where there are none.
func busyboxTools(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	must(t, err)
	busybox := filepath.Join(cache, "mgmt-busybox/busybox")
	if _, err := os.Stat(busybox); err != nil {
		if os.Getenv("CI") == "true" || *record {
			t.Fatalf("run testdata/busybox.sh first: %v", err)
		}
		t.Logf("by the transcript alone, for want of %s: testdata/busybox.sh makes it", busybox)
		return ""
	}
	tools := t.TempDir()
	for _, name := range []string{"adduser", "deluser", "addgroup", "delgroup"} {
		must(t, os.Symlink(busybox, filepath.Join(tools, name)))
	}
	return tools
}

// player runs the commands of a transcript.
type player struct {
	t     *testing.T
	tools string // empty for those of the transcript
	lines []string
	out   strings.Builder // the transcript of what was run
}

func (p *player) command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if p.tools == "" {
		return p.replay(c)
	}
	before := p.databases()
	argv := append([]string{filepath.Join(p.tools, c.Argv[0])}, c.Argv[1:]...)
	r, err := runReal(ctx, engine.Command{Argv: argv, Stdin: c.Stdin, Env: []string{"PATH=" + p.tools}}) // adduser runs addgroup
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	fmt.Fprintf(&said, "$ %s\n", strings.Join(c.Argv, " "))
	if r.ExitCode != 0 {
		fmt.Fprintf(&said, "= %d\n", r.ExitCode)
	}
	for line := range strings.Lines(string(r.Stderr)) {
		fmt.Fprintf(&said, "! %s", line)
	}
	after := p.databases()
	for i, name := range fileNames {
		if after[i] != before[i] {
			for line := range strings.Lines(after[i]) {
				fmt.Fprintf(&said, "%s| %s", name, line)
			}
		}
	}
	p.out.WriteString(said.String())
	if want := p.next(); !*record && said.String() != want {
		p.t.Errorf("busybox does\n%s, and not\n%s", &said, want)
	}
	return r, nil
}

// databases reads them. The day is the one of the transcript.
func (p *player) databases() (text [databases]string) {
	for i, name := range fileNames {
		data, err := os.ReadFile("/etc/" + name)
		must(p.t, err)
		text[i] = strings.ReplaceAll(string(data), fmt.Sprintf(":%d:", editor{clock.System{}}.today()), ":19000:")
	}
	return text
}

// next takes the lines of one command from the transcript.
func (p *player) next() string {
	end := 1
	for end < len(p.lines) && !strings.HasPrefix(p.lines[end], "$ ") {
		end++
	}
	end = min(end, len(p.lines))
	lines := slices.DeleteFunc(slices.Clone(p.lines[:end]), func(l string) bool { return l == "" })
	p.lines = p.lines[end:]
	return strings.Join(lines, "\n") + "\n"
}

// replay does to the databases what the command has done.
func (p *player) replay(c engine.Command) (*engine.Result, error) {
	r := &engine.Result{}
	texts := map[string]string{}
	for line := range strings.Lines(p.next()) {
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "$":
			if rest != strings.Join(c.Argv, " ")+"\n" {
				p.t.Fatalf("it runs %q, and the transcript has %s", c.Argv, rest)
			}
		case "=":
			_, err := fmt.Sscan(rest, &r.ExitCode)
			must(p.t, err)
		case "!":
			r.Stderr = append(r.Stderr, rest...)
		default:
			texts[strings.TrimSuffix(mark, "|")] += rest
		}
	}
	for name, text := range texts {
		must(p.t, os.WriteFile("/etc/"+name, []byte(text), 0o640))
	}
	if slices.Contains(c.Argv, "-h") && r.ExitCode == 0 { // the home
		must(p.t, makeHome("", UserInfo{Name: "anna", UID: 1500, GID: 1500, Home: "/home/anna"}))
	}
	return r, nil
}
