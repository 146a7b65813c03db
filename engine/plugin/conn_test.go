package plugin_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reactivegraph/mgmt/engine/internal/filename"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// heldStream tells each write, which ends when the test lets it.
type heldStream struct {
	net.Conn
	writes chan string
	goOn   chan struct{}
}

func (s heldStream) Write(p []byte) (int, error) {
	s.writes <- string(bytes.Clone(p))
	<-s.goOn
	return len(p), nil
}

// TestFindingN5Joined: questions that wait while one is being written go out in one write, as lines of their own.
func TestFindingN5Joined(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	s := heldStream{ours, make(chan string), make(chan struct{})}
	c, queued := plugin.NewLines(s)
	var all sync.WaitGroup
	ask := func() { _ = c.Call(t.Context(), protocol.MethodGet, &protocol.GetRequest{}, nil) }
	all.Go(ask)
	<-s.writes
	for range 5 {
		all.Go(ask)
	}
	await.Until(t, "five wait", func() bool { return queued() == 5 })
	s.goOn <- struct{}{}
	if text := <-s.writes; bytes.Count([]byte(text), []byte("\n")) != 5 {
		t.Errorf("the second write is %q", text)
	}
	_ = c.Close()
	all.Wait()
	s.goOn <- struct{}{}
}

// TestFolderRemoved: the record of a resource whose state folder somebody has removed meanwhile gets a new one.
func TestFolderRemoved(t *testing.T) {
	b := newBench(t, "", plugin.Options{})
	r := b.res("toy:index:thing", "a", map[string]any{"color": "red"})
	r.run(false)
	dir := filepath.Join(b.vars, filename.Of("a"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	r.run(true)
	if id, err := plugin.RecordID(dir); err != nil || id == "" {
		t.Errorf("the record has the ID %q, %v", id, err)
	}
}
