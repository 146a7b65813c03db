package resources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/schema"
)

func TestNoopSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "noop", NoState: true,
		New: func(*testing.T, string) engine.Res { return &NoopRes{Comment: "a point"} },
	})
}

func TestPrintSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "print", NoState: true, Received: []string{"msg"},
		New: func(*testing.T, string) engine.Res { return &PrintRes{Msg: "hello"} },
	})
}

func TestMsgSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "msg", NoState: true, Received: []string{"body", "fields"},
		New: func(*testing.T, string) engine.Res {
			return &MsgRes{Body: "hello", Priority: "notice", Fields: map[string]string{"A": "1"}}
		},
	})
}

func TestValueSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "value", NoState: true,
		New: func(*testing.T, string) engine.Res { return &ValueRes{Any: "hello"} },
		Variants: map[string]func(engine.Res){
			"int":  func(r engine.Res) { r.(*ValueRes).Any = int64(1) },
			"bool": func(r engine.Res) { r.(*ValueRes).Any = true },
			"none": func(r engine.Res) { r.(*ValueRes).Any = nil },
		},
	})
}

func TestTimerSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "timer", NoState: true,
		New: func(*testing.T, string) engine.Res { return &TimerRes{Interval: time.Hour} },
	})
}

func TestTestSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "test", NoState: true,
		New: func(*testing.T, string) engine.Res {
			return &TestRes{
				Str: "text", Int: 1, Any: "any", List: []string{"a"}, Map: map[string]string{"a": "b"},
				Secret: schema.NewSecret("hidden"), Duration: time.Minute, Size: 1 << 20, Mode: "0644",
				Ref:    schema.Ref{Kind: "noop", Name: "a"},
				Struct: TestStruct{Str: "s", Sub: &TestInner{List: []int{1}}}, Structs: []TestStruct{{Int: 2}},
				Optional: new("there"), Differs: 1, Batch: "b",
			}
		},
	})
}

func TestPasswordSuite(t *testing.T) {
	token := func(dir string) string { return filepath.Join(dir, "..", "var", tokenFile) }
	do := func(f func(path string) error) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			if err := f(token(dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	enginetest.Run(t, enginetest.Suite{
		Kind: "password", Setup: folder,
		New: func(*testing.T, string) engine.Res { return (&PasswordRes{}).Default() },
		Drifts: map[string]func(*testing.T, string){
			"deleted":   do(os.Remove),
			"emptied":   do(func(p string) error { return os.Truncate(p, 0) }),
			"cut":       do(func(p string) error { return os.Truncate(p, 50) }),
			"readable":  do(func(p string) error { return os.Chmod(p, 0o644) }),
			"overwrite": do(func(p string) error { return os.WriteFile(p, formatToken("other"), 0o600) }),
			"linked": do(func(p string) error {
				if err := os.Remove(p); err != nil {
					return err
				}
				return os.Symlink("elsewhere", p)
			}),
		},
	})
}

func TestPasswordUnsavedSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "password", NoState: true,
		New: func(*testing.T, string) engine.Res {
			return &PasswordRes{Length: 12, Charset: "0123456789"}
		},
	})
}

// folder makes the resource's own folder beforehand: that the engine makes it
// when it is asked for is no doing of the resource.
func folder(t *testing.T, _ string, f *enginetest.Fake) {
	if err := os.MkdirAll(f.VarDir(), 0o700); err != nil {
		t.Fatal(err)
	}
}

// toucher gives the fake host one command, that makes the file it is named.
func toucher(t *testing.T, dir string, f *enginetest.Fake) {
	folder(t, dir, f)
	f.Host().SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		out := []byte("touched\n")
		res := &engine.Result{Stdout: out, Output: out}
		path := c.Argv[len(c.Argv)-1]
		if !filepath.IsAbs(path) { // nothing is made but in the test's own folder
			return nil, fmt.Errorf("asked to touch %q", path)
		}
		return res, os.WriteFile(path, nil, 0o600)
	})
}

func TestExecSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "exec", Setup: toucher, Received: []string{"cmd", "args", "env", "stdin"},
		New: func(_ *testing.T, dir string) engine.Res {
			path := filepath.Join(dir, "made")
			return &ExecRes{Cmd: "touch", Args: []string{path}, Creates: path, Env: map[string]string{"A": "1"}}
		},
		Drifts: map[string]func(*testing.T, string){
			"deleted": func(t *testing.T, dir string) {
				if err := os.Remove(filepath.Join(dir, "made")); err != nil {
					t.Fatal(err)
				}
			},
		},
	})
}

func TestExecWatchFilesSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "exec", Setup: toucher, NoState: true, // a new instance runs it again
		New: func(_ *testing.T, dir string) engine.Res {
			return &ExecRes{Cmd: "touch", Args: []string{filepath.Join(dir, "made")}, WatchFiles: []string{filepath.Join(dir, "in")}}
		},
		Drifts: map[string]func(*testing.T, string){"changed": change("in")},
	})
}

func TestExecMtimesSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "exec", Setup: toucher,
		Prepare: change("in"),
		New: func(_ *testing.T, dir string) engine.Res {
			return &ExecRes{Cmd: "touch", Args: []string{filepath.Join(dir, "made")}, Mtimes: []string{filepath.Join(dir, "in")}}
		},
		Drifts: map[string]func(*testing.T, string){"changed": change("in")},
	})
}

// change writes more into a file each time.
func change(name string) func(*testing.T, string) {
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
