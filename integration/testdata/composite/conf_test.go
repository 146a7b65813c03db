package composite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/composite"
	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
)

func newConf(dir, content string) *composite.ConfRes {
	return &composite.ConfRes{
		Path: filepath.Join(dir, "app.conf"), Content: content, Mode: "0640", Check: []string{"checker", "--file={}"},
	}
}

// checker is the command: it refuses what holds the word bad.
func checker(_ context.Context, c engine.Command) (*engine.Result, error) {
	path, ok := strings.CutPrefix(c.Argv[len(c.Argv)-1], "--file=")
	if !ok {
		return nil, fmt.Errorf("it was called as %q", c.Argv)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(text), "bad") {
		return &engine.Result{ExitCode: 1, Output: []byte("line 1: bad\n")}, nil
	}
	return &engine.Result{}, nil
}

// TestSuite: a composite resource keeps the laws that every resource keeps.
func TestSuite(t *testing.T) {
	drift := func(f func(path string) error) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := f(filepath.Join(dir, "app.conf")); err != nil {
				t.Fatal(err)
			}
		}
	}
	enginetest.Run(t, enginetest.Suite{
		Kind:  "conf",
		New:   func(t *testing.T, dir string) engine.Res { return newConf(dir, "good\n") },
		Setup: func(t *testing.T, dir string, f *enginetest.Fake) { f.Host().SetCommand(checker) },
		Drifts: map[string]func(*testing.T, string){
			"removed": drift(os.Remove),
			"edited":  drift(func(p string) error { return os.WriteFile(p, []byte("other"), 0o600) }),
			"mode":    drift(func(p string) error { return os.Chmod(p, 0o600) }),
		},
		Received: []string{"content"},
	})
}

func begin(t *testing.T, r *composite.ConfRes) *enginetest.Fake {
	t.Helper()
	r.SetKind("conf")
	r.SetName("app")
	f := enginetest.NewInit(t)
	f.Host().SetCommand(checker)
	if err := errors.Join(r.Validate(), r.Init(f.Init())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func apply(t *testing.T, r *composite.ConfRes, want string) {
	t.Helper()
	_, err := r.CheckApply(t.Context(), true)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Fatalf("the error is %v, want %q", err, want)
	}
}

func holds(t *testing.T, r *composite.ConfRes, want string) {
	t.Helper()
	if text, err := os.ReadFile(r.Path); err != nil || string(text) != want {
		t.Errorf("it holds %q, %v, want %q", text, err, want)
	}
}

// TestRefused: what the command refuses does not take the place of the old
// content, and no copy is left.
func TestRefused(t *testing.T) {
	r := newConf(t.TempDir(), "good\n")
	f := begin(t, r)
	apply(t, r, "")
	if got := f.Changes(); len(got) == 0 || !strings.HasPrefix(got[0].Field, "file["+r.Path+"]") {
		t.Errorf("the changes are %v", got)
	}
	r.Content = "bad\n" // as if it had been received
	apply(t, r, "refused the new content: line 1: bad")
	holds(t, r, "good\n")
	if left, err := os.ReadDir(f.VarDir()); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	r.Content = "better\n"
	apply(t, r, "")
	holds(t, r, "better\n")
}

// TestCheckedOnce: the command runs only when there is something new.
func TestCheckedOnce(t *testing.T) {
	r := newConf(t.TempDir(), "good\n")
	f := begin(t, r)
	for range 3 {
		apply(t, r, "")
	}
	if n := len(f.Host().Commands()); n != 1 {
		t.Errorf("the command ran %d times", n)
	}
}

// TestSecret: a content that came from a secret is one in the changes too.
func TestSecret(t *testing.T) {
	r := newConf(t.TempDir(), "good secret\n")
	f := begin(t, r)
	f.SetRecv(map[string]*engine.Send{"content": {Res: schema.Ref{Kind: "a", Name: "b"}, Key: "c", Secret: true}})
	apply(t, r, "")
	if text := fmt.Sprint(f.Changes()); strings.Contains(text, "good") {
		t.Error(text)
	}
}

// TestInvalid: what is wrong with a child is wrong with its parent.
func TestInvalid(t *testing.T) {
	r := &composite.ConfRes{Path: "relative"}
	err := r.Validate()
	if err == nil || !strings.Contains(err.Error(), "check: name a command") || !strings.Contains(err.Error(), "is not absolute") {
		t.Errorf("%v", err)
	}
}

// TestRun: under the engine, with a real command.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	r := newConf(dir, "good\n")
	r.Check = []string{"/bin/sh", "-c", `! grep bad "$1"`, "sh", "{}"}
	bad := newConf(dir, "bad\n")
	bad.Path += ".bad"
	bad.Check = r.Check
	states := map[string]resgraph.State{}
	graph := &gapi.Declared{Name: "example", Resources: []gapi.Declaration{
		static.Declare("conf", "good", r), static.Declare("conf", "bad", bad),
	}}
	if _, err := mgmt.Run(t.Context(), mgmt.Options{
		State: mgmt.StateIn(filepath.Join(dir, "state")), ConvergedExit: true,
		Observer: mgmt.Observer{Ran: func(run reactor.Run) { states[run.Resource] = run.State }},
	}, static.New(graph)); err != nil {
		t.Fatal(err)
	}
	holds(t, r, "good\n")
	if _, err := os.Stat(bad.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the bad one is there: %v", err)
	}
	if states["conf[good]"] != resgraph.StateOK || states["conf[bad]"] != resgraph.StateFailed {
		t.Errorf("%v", states)
	}
}
