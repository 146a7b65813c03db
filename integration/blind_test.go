//go:build linux

package integration_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
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
// the examples of all kinds, and variants of them, and makes their automatic edges. The kernel ends it, with the stack of the culprit, when
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
	variants, valid := 0, 0
	for _, d := range graphs {
		for v := range variantsOf(t, d) {
			variants++
			g, _ := gapi.Build(engine.DefaultRegistry(), v)
			if g == nil {
				continue
			}
			valid++
			if _, err := transform.Run(context.Background(), g, transform.Default(), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if variants < 1000 || valid < variants/2 {
		t.Errorf("only %d of %d variants of the examples are valid", valid, variants)
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

// variantsOf yields a graph with each of its resources as the author might also have declared it: without one of its parameters,
// with another value of one that has few of them, and both with its texts marked as secrets.
func variantsOf(t *testing.T, d *gapi.Declared) iter.Seq[*gapi.Declared] {
	t.Helper()
	kinds := map[string]*schema.Type{}
	for _, r := range d.Resources {
		k, err := engine.DefaultRegistry().Kind(r.Kind)
		if err != nil {
			t.Fatal(err)
		}
		kinds[r.Kind] = k.Type
	}
	return func(yield func(*gapi.Declared) bool) {
		for i, r := range d.Resources {
			texts := secretTexts(kinds[r.Kind])
			for _, value := range valuesOf(kinds[r.Kind], r.Value) {
				for _, meta := range []*schema.Node{nil, texts} {
					v := *d
					v.Resources = slices.Clone(d.Resources)
					v.Resources[i].Value, v.Resources[i].Meta = value, meta
					if !yield(&v) {
						return
					}
				}
			}
		}
	}
}

// secretTexts is the metaparameter that marks each text of a kind as a secret.
func secretTexts(t *schema.Type) *schema.Node {
	keys := &schema.Node{Kind: schema.NodeList}
	for _, f := range t.Fields {
		if f.Type.Kind == schema.KindString && len(f.Type.Enum) == 0 {
			keys.Items = append(keys.Items, &schema.Node{Kind: schema.NodeString, Text: f.Key})
		}
	}
	return &schema.Node{Kind: schema.NodeMap, Pairs: []schema.Pair{{Key: "secret", Value: keys}}}
}

// valuesOf returns the parameters of a resource with one of them left out, or with another value.
func valuesOf(t *schema.Type, value *schema.Node) (all []*schema.Node) {
	if value == nil {
		value = &schema.Node{Kind: schema.NodeMap}
	}
	for _, f := range t.Fields {
		without := *value
		without.Pairs = slices.DeleteFunc(slices.Clone(value.Pairs), func(p schema.Pair) bool { return p.Key == f.Key || p.Key == f.Alias })
		if len(without.Pairs) < len(value.Pairs) {
			all = append(all, &without)
		}
		words, kind := f.Type.Enum, schema.NodeString
		if f.Type.Kind == schema.KindBool {
			words, kind = []string{"true", "false"}, schema.NodeBool
		}
		for _, word := range words {
			with := without
			with.Pairs = append(slices.Clone(without.Pairs), schema.Pair{Key: f.Key, Value: &schema.Node{Kind: kind, Text: word}})
			all = append(all, &with)
		}
	}
	return all
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
