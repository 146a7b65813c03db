package cmd

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
)

// TestFindingJ3UnwrittenVerbs: a verb that reads its file once gives up where that is a pipe to which nobody writes.
func TestFindingJ3UnwrittenVerbs(t *testing.T) {
	if testing.Short() {
		t.Skip("make check runs it: each verb waits for 10 s")
	}
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, verb := range []string{
		"validate", "render", "graph", "fmt", "test", "secret list", "api apply --world etcd://127.0.0.1:1 -f", "resource -f",
	} {
		all.Go(func() {
			var said bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: &said, Err: &said}
			// Nothing ends the context, as in the program.
			if code := execute(context.Background(), a, append(strings.Fields(verb), pipe)); code == 0 || !strings.Contains(said.String(), "no program has opened this pipe") {
				t.Errorf("%s: code %d, %s", verb, code, &said)
			}
		})
	}
	all.Wait()
}
