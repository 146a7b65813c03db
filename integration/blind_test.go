//go:build linux

package integration_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/transform"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"golang.org/x/sys/unix"
)

// blindEnv tells the child of TestBuildLooksAtNothing what it is to do.
const blindEnv = "MGMT_TEST_BLIND"

// looks are the calls by which a program asks the machine for something: a file, its state, a name, another program.
// They are those that Go makes; each is forbidden to the child.
var looks = map[string]uintptr{
	"openat": unix.SYS_OPENAT, "openat2": unix.SYS_OPENAT2, "newfstatat": unix.SYS_NEWFSTATAT, "statx": unix.SYS_STATX, "statfs": unix.SYS_STATFS,
	"faccessat": unix.SYS_FACCESSAT, "faccessat2": unix.SYS_FACCESSAT2, "readlinkat": unix.SYS_READLINKAT, "getdents64": unix.SYS_GETDENTS64,
	"getcwd": unix.SYS_GETCWD, "uname": unix.SYS_UNAME, "socket": unix.SYS_SOCKET, "execve": unix.SYS_EXECVE, "execveat": unix.SYS_EXECVEAT,
	"mkdirat": unix.SYS_MKDIRAT, "unlinkat": unix.SYS_UNLINKAT, "renameat2": unix.SYS_RENAMEAT2, "symlinkat": unix.SYS_SYMLINKAT,
	"inotify_init1": unix.SYS_INOTIFY_INIT1, "pipe2": unix.SYS_PIPE2, "kill": unix.SYS_KILL, "chdir": unix.SYS_CHDIR,
}

// TestBuildLooksAtNothing: Validate, UIDs, Clashes, AutoEdges and all of Build do no I/O. A child of this test builds
// the examples of all kinds, and makes their automatic edges. The kernel ends it, with the stack of the culprit, when
// it makes a call by which it could see something of the machine.
func TestBuildLooksAtNothing(t *testing.T) {
	for _, how := range []string{"build", "peek"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBuildBlind$", "-test.v")
		cmd.Env = append(os.Environ(), blindEnv+"="+how, "GOTRACEBACK=all")
		out, err := cmd.CombinedOutput()
		switch {
		case how == "build" && (err != nil || !strings.Contains(string(out), "built blind")):
			t.Errorf("%v\n%s", err, out)
		case how == "peek" && (err == nil || !strings.Contains(string(out), "SIGSYS") || !strings.Contains(string(out), "peekAtMachine")):
			t.Errorf("a look at the machine goes unseen: %v\n%s", err, out)
		}
	}
}

// TestBuildBlind is the child.
func TestBuildBlind(t *testing.T) {
	how := os.Getenv(blindEnv)
	if how == "" {
		return // TestBuildLooksAtNothing runs it in a process of its own
	}
	graphs := exampleGraphs(t)
	kinds := map[string]bool{}
	for _, d := range graphs {
		for _, r := range d.Resources {
			kinds[r.Kind] = true
		}
	}
	for _, name := range engine.DefaultRegistry().Kinds() {
		if !kinds[name] {
			t.Errorf("no example has a %s", name)
		}
	}
	goBlind(t)
	if how == "peek" {
		peekAtMachine()
	}
	for _, d := range graphs {
		g, ds := gapi.Build(engine.DefaultRegistry(), d)
		if g == nil {
			t.Fatal(ds)
		}
		if _, err := transform.Run(context.Background(), g, transform.Default(), nil); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("built blind")
	os.Exit(0) // TestMain could not even remove its folder
}

func peekAtMachine() { _, _ = os.Stat("/etc/hostname") }

// exampleGraphs reads the examples, each a graph.
func exampleGraphs(t *testing.T) (all []*gapi.Declared) {
	t.Helper()
	files, err := filepath.Glob("../examples/*.yaml")
	files = slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.yaml") })
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := yaml.Load(name, yaml.Options{}, f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Resources {
			d.Resources[i].Meta = nil // such as hidden, which has a resource not asked
		}
		all = append(all, d)
	}
	return all
}

// goBlind has the kernel send SIGSYS to this process, on all of its threads, when it makes one of the calls.
func goBlind(t *testing.T) {
	t.Helper()
	code := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number of the call
	for _, n := range looks {
		code = append(code,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(n)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRAP})
	}
	code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread() // which has the right to filter, before all others get it
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		t.Fatal(errno)
	}
}
