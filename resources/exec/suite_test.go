package exec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// toucher gives the fake host one command, that makes the file it is named.
func toucher(t *testing.T, dir string, f *enginetest.Fake) {
	kindtest.Folder(t, dir, f)
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
			return &Res{Cmd: "touch", Args: []string{path}, Creates: path, Env: map[string]string{"A": "1"}}
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
			return &Res{Cmd: "touch", Args: []string{filepath.Join(dir, "made")}, WatchFiles: []string{filepath.Join(dir, "in")}}
		},
		Drifts: map[string]func(*testing.T, string){"changed": kindtest.Change("in")},
	})
}

func TestExecMtimesSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Kind: "exec", Setup: toucher,
		Prepare: kindtest.Change("in"),
		New: func(_ *testing.T, dir string) engine.Res {
			return &Res{Cmd: "touch", Args: []string{filepath.Join(dir, "made")}, Mtimes: []string{filepath.Join(dir, "in")}}
		},
		Drifts: map[string]func(*testing.T, string){"changed": kindtest.Change("in")},
	})
}
