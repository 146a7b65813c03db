package cmd

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestModulesOneAtATime: while one verb alters modules, another one that would is refused and alters nothing, and verbs that look are answered. A verb
// that was killed holds up none.
func TestModulesOneAtATime(t *testing.T) {
	t.Chdir(t.TempDir())
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := "module: m\n"
	if err := w.WriteHeader(&tar.Header{Name: "module.yaml", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("m.tar", b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
	run := func(code int, want string, args ...string) {
		t.Helper()
		if out, got := invoke(t, "", append([]string{"module"}, args...)...); got != code || !strings.Contains(out, want) {
			t.Errorf("%v: code %d, want %d and %q in %s", args, got, code, want, out)
		}
	}
	other, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"get", "./m.tar", "--sha256", sum}, {"get"}, {"update"}, {"remove", "modules/m"}} {
		run(cli.ExitUsage, "another mgmt module alters the modules of .", args...)
	}
	run(cli.ExitOK, "", "list")
	run(cli.ExitOK, "", "verify")
	if _, err := os.Stat("modules.lock"); err == nil {
		t.Error("a refused verb has written the lock file")
	}
	if err := other.Close(); err != nil { // as the kernel does after a kill
		t.Fatal(err)
	}
	run(cli.ExitOK, "modules/m is ./m.tar", "get", "./m.tar", "--sha256", sum)
	run(cli.ExitOK, "modules/m  ok", "list")
}
