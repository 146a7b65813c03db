package yaml_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, unix.Mkfifo(path, 0o600))
	return path
}

// Who waits for a graph that is still being written ends with the context,
// whether anybody has opened the pipe or not.
func TestPipeEndsWithContext(t *testing.T) {
	opened := pipe(t)
	w, err := os.OpenFile(opened, os.O_RDWR, 0)
	must(t, err)
	defer w.Close()
	r, stdin, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer stdin.Close()
	for _, path := range []string{pipe(t), opened, "-"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			var last error
			for _, last = range yaml.New(path, yaml.Options{}).Graphs(ctx, gapi.Env{Host: &fakeHost{}, Stdin: r}) {
			}
			done <- last
		}()
		select {
		case err := <-done:
			t.Fatalf("%s: ended with %v", path, err)
		case <-time.After(3 * time.Second / 10):
		}
		cancel()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s: read a graph", path)
			}
		case <-time.After(await.Left()):
			t.Fatalf("%s: does not end", path)
		}
	}
}

// A pipe is read to its end, however slowly it is written and whenever that
// begins.
func TestSlowPipe(t *testing.T) {
	path := pipe(t)
	writer := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		if err != nil {
			writer <- err
			return
		}
		for _, b := range []byte(graphSource("slow")) {
			time.Sleep(2 * time.Millisecond)
			if _, err = f.Write([]byte{b}); err != nil {
				break
			}
		}
		_ = f.Close()
		writer <- err
	}()
	once(t, path, gapi.Env{Host: &fakeHost{}}, "slow")
	must(t, <-writer)
}
