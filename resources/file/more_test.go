package file

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// Contents larger than what is shown or held at once are compared and copied.
func TestFileLarge(t *testing.T) {
	dir := t.TempDir()
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	kindtest.Put(t, dir+"/src", big)
	r := &Res{Path: dir + "/f", Source: dir + "/src"}
	f := kindtest.Begin(t, "file", r)
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, `state created content: (none) -> "(2097152 bytes, sha256:`) {
		t.Errorf("it says %s", got)
	}
	kindtest.Want(t, f, r, "")
	for _, at := range []int{0, 64<<10 - 1, 64 << 10, len(big) - 1} {
		file, err := os.OpenFile(dir+"/f", os.O_WRONLY, 0)
		kindtest.Must(t, err)
		_, err = file.WriteAt([]byte("X"), int64(at))
		kindtest.Must(t, err)
		kindtest.Must(t, file.Close())
		if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "content: ") {
			t.Errorf("a difference at %d: %q", at, got)
		}
		if data, err := os.ReadFile(dir + "/f"); err != nil || string(data) != big {
			t.Errorf("after a difference at %d the copy differs, %v", at, err)
		}
	}
	got, err := r.Read(t.Context())
	kindtest.Must(t, err)
	if c := got.(*Res).Content; c == nil || *c != big {
		t.Error("Read does not show the content")
	}
}

// TestFileMemory measures what a watched file costs above the declaration: its
// Watch goroutine, the hub's part and the resource itself.
func TestFileMemory(t *testing.T) {
	const n = 5000
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h, err := host.New(t.Context(), host.Options{})
	kindtest.Must(t, err)
	defer func() { kindtest.Must(t, h.Close()) }()
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	start := used()
	s := files.New(nil)
	running := make(chan struct{}, n)
	init := quietInit(s)
	init.Host, init.Running, init.Event = h, func() { running <- struct{}{} }, func() {}
	files := make([]*Res, n)
	done := make(chan error, n)
	for i := range files {
		name := dir + "/" + strings.Repeat("f", i%50) + string(rune('a'+i%26)) + strings.Repeat("x", i/50)
		files[i] = &Res{Content: new("0123456789")}
		files[i].SetName(name)
		kindtest.Must(t, files[i].Init(init))
		go func() { done <- files[i].Watch(ctx) }()
	}
	for range n {
		<-running
	}
	per := (used() - start) / n
	t.Logf("%d bytes each", per)
	if per > 8<<10 {
		t.Errorf("a watched file takes %d bytes, more than 8 KiB", per)
	}
	runtime.KeepAlive(files)
	cancel()
	for range n {
		kindtest.Must(t, <-done)
	}
}

var _ engine.Shared = (*files.Shared)(nil)

// Two resources of one path, as at a swap, count as two.
func TestFileSharedCounts(t *testing.T) {
	s := files.New(nil)
	mk := func() *Res {
		r := &Res{Path: "/d/a/f"}
		kindtest.Must(t, r.Init(enginetest.NewInit(t, enginetest.WithShared(s)).Init()))
		return r
	}
	a, b := mk(), mk()
	kindtest.Must(t, a.Cleanup())
	if got := s.ManagedBelow("/d/"); len(got) != 2 || !got["a/f"] || got["a"] {
		t.Errorf("managed are %v", got)
	}
	b.Path = "/d/other" // as if it was received
	_, _ = b.CheckApply(t.Context(), false)
	if got := s.ManagedBelow("/d/"); len(got) != 1 || !got["other"] {
		t.Errorf("managed are %v", got)
	}
	kindtest.Must(t, b.Cleanup())
	if got := s.ManagedBelow("/d/"); len(got) != 0 {
		t.Errorf("managed are %v", got)
	}
}
