package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"golang.org/x/sys/unix"
)

// The roles in which the test's own program is started again.
const (
	roleVar   = "MGMT_HOST_TEST_ROLE"
	roleOnTTY = "daemon on a terminal" // runs a command as another user
	roleTyper = "typer"                // tries to type into the controlling terminal
	roleMoved = "moved"                // makes a group of its own, says its number and stays
)

// playRole runs the program in its role, if it has one, and ends it.
func playRole() {
	switch os.Getenv(roleVar) {
	case roleOnTTY:
		runTyper()
	case roleTyper:
		typeInto("/dev/tty")
	case roleMoved:
		_ = syscall.Setpgid(0, 0)
		fmt.Println(os.Getpid())
		_ = unix.Pause()
	default:
		return
	}
	os.Exit(0)
}

// runTyper starts the typer as the user of UNDER, over a Host.
func runTyper() {
	h, err := New(context.Background(), Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	self, _ := readProc(os.Getpid())
	res, err := h.Command(context.Background(), engine.Command{
		Argv: []string{os.Args[0]}, User: os.Getenv("UNDER"),
		Env: []string{roleVar + "=" + roleTyper, "NOT=" + strconv.Itoa(self.session)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", res.Output)
}

// typeInto says what becomes of a character that is put into the input of a terminal.
func typeInto(path string) {
	self, _ := readProc(os.Getpid())
	fmt.Println("another session:", strconv.Itoa(self.session) != os.Getenv("NOT"))
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		fmt.Println("no terminal:", errors.Is(err, unix.ENXIO), err)
		return
	}
	c := byte('x')
	err = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSTI, int(c))
	fmt.Println("THERE IS A TERMINAL, and typing gives", err)
}

// pty opens a pseudo terminal.
func pty(t *testing.T) (far, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { far.Close() })
	must(t, unix.IoctlSetPointerInt(int(far.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(far.Fd()), unix.TIOCGPTN)
	must(t, err)
	near, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { near.Close() })
	return far, near
}

// everybodysProgram returns a copy of the test's program that any user may run.
func everybodysProgram(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mgmt-host-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer from.Close()
	path := filepath.Join(dir, "program")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, err)
	must(t, to.Close())
	return path
}

// TestFindingA4NoTerminalToTypeInto: a program with a terminal runs a command, as
// another user where it may. The command has no controlling terminal and another session,
// so that TIOCSTI types nothing. Seen failing with a process group only.
func TestFindingA4NoTerminalToTypeInto(t *testing.T) {
	_, near := pty(t)
	cmd := exec.Command(everybodysProgram(t))
	cmd.Env = []string{roleVar + "=" + roleOnTTY}
	if os.Getuid() == 0 {
		cmd.Env = append(cmd.Env, "UNDER=nobody")
	}
	var out strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = near, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, cmd.Run())
	if got := out.String(); !strings.HasPrefix(got, "another session: true\nno terminal: true") {
		t.Errorf("the command says:\n%s", got)
	}
}

// TestFindingA4TheSessionIsKilled: also what has left the group and the tree of the
// command, but not its session, ends with it.
func TestFindingA4TheSessionIsKilled(t *testing.T) {
	h := newHost(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	c := sh(`sh -c '"$0" & exec true' "$0"; exec sleep 1000`)
	c.Argv = append(c.Argv, everybodysProgram(t))
	c.Env = []string{roleVar + "=" + roleMoved, "PATH=" + DefaultPath}
	s := start(t, ctx, h, c)
	orphan := func() bool {
		x, _ := readProc(s.pids[0])
		parent, _ := readProc(x.parent)
		return x.alive && x.group == x.pid && x.session != parent.session
	}
	for end := time.Now().Add(patience); !orphan(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is no orphan with a group of its own")
		}
	}
	cancel()
	_ = s.wait(t)
	gone(t, s.pids)
}
