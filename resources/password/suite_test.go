package password

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

func TestPasswordHostSuite(t *testing.T) {
	token := func(dir string) string { return filepath.Join(dir, "..", "var", tokenFile) }
	enginetest.Run(t, enginetest.Suite{
		Kind: "password", Setup: kindtest.Folder, Host: kindtest.NewHost,
		New: func(*testing.T, string) engine.Res { return (&Res{}).Default() },
		Drifts: map[string]func(*testing.T, string){
			"deleted": func(t *testing.T, dir string) {
				if err := os.Remove(token(dir)); err != nil {
					t.Fatal(err)
				}
			},
			"readable": func(t *testing.T, dir string) {
				if err := os.Chmod(token(dir), 0o644); err != nil {
					t.Fatal(err)
				}
			},
			"replaced": func(t *testing.T, dir string) {
				tmp := filepath.Join(dir, "tmp")
				if err := os.WriteFile(tmp, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(tmp, token(dir)); err != nil {
					t.Fatal(err)
				}
			},
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
		Kind: "password", Setup: kindtest.Folder,
		New: func(*testing.T, string) engine.Res { return (&Res{}).Default() },
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
			return &Res{Length: 12, Charset: "0123456789"}
		},
	})
}
