package kindtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/lifecycle"
	"github.com/reactivegraph/mgmt/engine/records"
	"github.com/reactivegraph/mgmt/engine/reversal"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/traits"
)

// Asked returns everything that a resource wants, in order, in a graph of the given resources alone. The names are those of the UIDs, such as file[/etc]. It fails the
// test for an edge in the wrong direction. there lists the UIDs that the graph has,
// which may end the questions early.
func Asked(t *testing.T, r engine.EdgeableRes, there ...string) (all []string) {
	t.Helper()
	edges, err := r.AutoEdges()
	if err != nil {
		t.Fatal(err)
	}
	for edges != nil {
		next := edges.Next()
		if len(next) == 0 {
			break
		}
		found := make([]bool, len(next))
		for i, u := range next {
			if !u.IsReversed() {
				t.Errorf("%s comes after who asks for it", u)
			}
			if autoedge.SpaceOf(u) != traits.SpaceMount { // asked for with each path; see TestMountEdges
				all = append(all, u.String())
			}
			found[i] = slices.Contains(there, u.String())
		}
		if !edges.Test(found) {
			break
		}
	}
	return all
}

// Found returns those of the given resources that a resource finds as its automatic
// edges, in order. It stops asking where the resource is content. Unlike Asked it
// does not say what else the resource would have wanted.
func Found(t *testing.T, r engine.EdgeableRes, there ...string) (all []string) {
	t.Helper()
	e, err := r.AutoEdges()
	Must(t, err)
	for e != nil {
		next := e.Next()
		found := make([]bool, len(next))
		for i, u := range next {
			if found[i] = slices.Contains(there, u.String()); found[i] {
				all = append(all, u.String())
			}
		}
		if len(next) == 0 || !e.Test(found) {
			return all
		}
	}
	return nil
}

// NewHost makes a host of this machine that outlives the test's context, and closes
// it after the test. An error of the close fails the test.
func NewHost(tb testing.TB) engine.Host {
	tb.Helper()
	h, err := host.New(context.Background(), host.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := h.Close(); err != nil {
			tb.Error(err)
		}
	})
	return h
}

// Eventually waits for a condition, as await.Until does.
func Eventually(t *testing.T, what string, ok func() bool) { t.Helper(); await.Until(t, what, ok) }

// PidIn waits until a file holds the number of a process. The number counts only
// with its newline, so that a half-written one is not taken.
func PidIn(t *testing.T, path string) int {
	t.Helper()
	var pid int
	Eventually(t, "written "+path, func() bool {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(data, []byte("\n")) {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}

// Gone waits until a process has ended. A zombie of this process does not count as ended, but a zombie of another parent does. It reads the process's record in /proc, so it works for any process of the machine.
func Gone(t *testing.T, pid int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("ended %d", pid), func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
		}
		var state byte
		var parent int
		_, after, _ := strings.Cut(string(stat), ") ")
		if _, err := fmt.Sscanf(after, "%c %d", &state, &parent); err != nil {
			t.Fatalf("%s: %v", stat, err)
		}
		return state == 'Z' && parent != os.Getpid()
	})
}

// ErrText returns the text of an error, and nothing for none, so that tables can
// have both.
func ErrText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// RealHost is this machine, for a Suite. Unlike that of NewHost its context is that
// of the test. It may alter the machine, so suites that use it run in a namespace.
func RealHost(tb testing.TB) engine.Host {
	h, err := host.New(tb.Context(), host.Options{})
	Must(tb, err)
	tb.Cleanup(func() { Must(tb, h.Close()) })
	return h
}

// UndoOf returns the resource that undoes another one, by the way that the engine takes. The result of Read is written down, and read again as another process would. It goes through
// the records of the engine's store, so a field that they lose makes the test fail.
// was is nil where nothing was there.
func UndoOf(t *testing.T, r engine.Res, was engine.Res) (engine.Res, error) {
	t.Helper()
	img, err := reversal.Take(r, was, nil)
	Must(t, err)
	rev := &reversal.Reversal{Kind: r.Kind(), Name: r.Name()}
	writes, err := rev.Writes(img)
	Must(t, err)
	head, err := reversal.Decode(records.Record{Key: writes[0].Key, Value: writes[0].Value})
	Must(t, err)
	img, err = reversal.DecodeImage(records.Record{Key: writes[1].Key, Value: writes[1].Value})
	Must(t, err)
	return lifecycle.Undo(img, head, engine.DefaultRegistry().New, false)
}

// octal returns permissions as four digits. Go keeps the special bits apart from the
// permissions, so they are put together again.
func octal(m os.FileMode) string {
	perm := uint32(m.Perm())
	for bit, special := range map[uint32]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if m&special != 0 {
			perm |= bit
		}
	}
	return fmt.Sprintf("%04o", perm)
}

// Have describes what is at a path, and below it if it is a folder: one line for
// each thing. A folder ends in a slash and a link shows its target. A file shows its
// mode and text. Entries are in the order of their names, so the text can be
// compared. A missing path gives nothing.
func Have(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	Must(t, filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		rel := strings.TrimPrefix(p, filepath.Dir(root)+"/")
		perm := octal(info.Mode())
		switch {
		case info.IsDir():
			lines = append(lines, rel+"/ "+perm)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			Must(t, err)
			lines = append(lines, rel+" -> "+target)
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			Must(t, err)
			lines = append(lines, rel+" "+perm+" "+string(data))
		default:
			lines = append(lines, rel+" "+info.Mode().String())
		}
		return nil
	}))
	return strings.Join(lines, "\n")
}

// Must fails the test on an error of a preparation. It is for steps that only
// prepare.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Put writes a file whose folder is there, with the mode 0644 less the umask.
func Put(t testing.TB, path, text string) {
	t.Helper()
	Must(t, os.WriteFile(path, []byte(text), 0o644))
}

// WriteInto replaces a file by another text each time. It is a step for suites that
// call it again and again: the text is the same, so only the first call alters the
// contents.
func WriteInto(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		Lay(t, filepath.Join(dir, name), text)
	}
}

// NothingComesOf fails the test if each call of a function leads to an event. One event alone may come from an earlier step, and still be on its way. It fails after ten
// rounds with an event in each. A round without one, of 100 ms, is enough; a late
// event would be missed, and never makes a false alarm.
func NothingComesOf(t *testing.T, f *enginetest.Fake, what func()) {
	t.Helper()
	for range 10 {
		what()
		select {
		case <-f.Events():
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
	t.Error("an event for nothing")
}

// Begin validates and initialises a resource that was filled by hand. The kind is
// only a name: the registry is not asked. Cleanup follows at the end of the test.
// The result has the events, changes and logs.
func Begin(t *testing.T, kind string, r engine.Res, o ...enginetest.Option) *enginetest.Fake {
	t.Helper()
	r.SetKind(kind)
	if r.Name() == "" {
		r.SetName("it")
	}
	if err := r.Validate(); err != nil {
		t.Fatalf("Validate: %v", err)
	}
	f := enginetest.NewInit(t, o...)
	if err := r.Init(f.Init()); err != nil {
		t.Fatalf("Init: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Cleanup(); err != nil {
			t.Errorf("Cleanup: %v", err)
		}
	})
	return f
}

// Verbs runs CheckApply once, and returns the verbs of its changes as one text:
// nothing when all was right, and "error: ..." when it failed. It also checks the
// contract: a CheckApply that reports a change returns false, and one without
// changes returns true.
func Verbs(t *testing.T, f *enginetest.Fake, r engine.Res, apply bool) string {
	t.Helper()
	f.Reset()
	f.SetNoop(!apply)
	defer f.SetNoop(false)
	ok, err := r.CheckApply(t.Context(), apply)
	if err != nil {
		if ok {
			t.Errorf("CheckApply returned true and %v", err)
		}
		return "error: " + err.Error()
	}
	var words []string
	for _, c := range f.Changes() {
		words = append(words, c.String())
	}
	if ok != (len(words) == 0) {
		t.Errorf("CheckApply(%t) returned %t with the changes %v", apply, ok, words)
	}
	return strings.Join(words, " ")
}

// Want fails the test unless CheckApply says exactly this, looking first and then
// applying: both have to agree. So a dry run must announce exactly the changes of
// the real one. Nothing stands for a resource that is right.
func Want(t *testing.T, f *enginetest.Fake, r engine.Res, what string) {
	t.Helper()
	if got := Verbs(t, f, r, false); got != what {
		t.Fatalf("looking: got %q, want %q", got, what)
	}
	if got := Verbs(t, f, r, true); got != what {
		t.Fatalf("applying: got %q, want %q", got, what)
	}
}

// Watching runs Watch until the test ends, and waits until it is armed. stop ends it
// earlier, and may be called again. A Watch that ends with an error fails the test.
func Watching(t *testing.T, f *enginetest.Fake, r engine.Res) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx) }()
	stop = func() {
		if cancel == nil {
			return
		}
		cancel()
		cancel = nil
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	}
	t.Cleanup(stop)
	f.WaitRunning(t)
	return stop
}

// Sh runs a program, and fails the test with its output if it fails. No shell is in
// between.
func Sh(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", argv, err, out)
	}
}

// Lay writes a file, with the folders above it. The modes are 0700 and 0600, so a resource that needs a wider one has to widen it.
func Lay(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WantFile compares the text of a file. It goes on after a difference, so that a
// test shows all of them.
func WantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is\n%s\nand not\n%s", path, got, want)
	}
}

// Folder makes the resource's own folder beforehand. Otherwise the engine makes it when it is asked for, and the suite would blame the resource. It is a preparation for suites that
// compare the files before and after a run.
func Folder(t *testing.T, _ string, f *enginetest.Fake) {
	if err := os.MkdirAll(f.VarDir(), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Change returns a step for suites that call it again and again: each call writes one more byte into the file.
func Change(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		old, _ := os.ReadFile(path)
		if err := os.WriteFile(path, append(old, 'x'), 0o600); err != nil {
			t.Fatal(err)
		}
		// Two writes may fall into one tick of the file system's clock.
		later := time.Now().Add(time.Duration(len(old)) * time.Hour)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
}
