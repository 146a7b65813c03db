package integration_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// helper builds mgmt-ts next to the program under test, once.
var helper = sync.OnceValue(func() error {
	out, err := exec.Command("go", "-C", "../typescript", "build", "-o", filepath.Join(programDir, "mgmt-ts"), "./mgmt-ts").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// cmdTypescript makes a script able to use --ts. In its *.ts files $WORK is the folder that it runs in.
func cmdTypescript(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 0, "typescript")
	ts.Check(helper())
	work := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(work, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".ts" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "$WORK", work)), 0o600)
	}))
}
