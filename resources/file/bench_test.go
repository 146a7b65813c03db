package file

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// quietInit is an Init that does nothing.
func quietInit(s engine.Shared) *engine.Init {
	return &engine.Init{
		Change: func(engine.Change) {}, Recv: func() map[string]*engine.Send { return nil },
		Logf: func(string, ...any) {}, Shared: s,
	}
}

const fileBenchText = "0123456789012345678901234567890123456789012345678901234567890123"

// floorWrite is the least that an atomic write takes.
func floorWrite(b *testing.B, path string) {
	fd, err := unix.Open(path+".tmp~", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	kindtest.Must(b, err)
	_, err = unix.Write(fd, []byte(fileBenchText))
	kindtest.Must(b, err)
	kindtest.Must(b, unix.Close(fd))
	kindtest.Must(b, unix.Rename(path+".tmp~", path))
}

func benchFiles(b *testing.B, n int) (*files.Shared, []*Res) {
	dir := b.TempDir()
	s := files.New(nil)
	init := quietInit(s)
	text := fileBenchText
	files := make([]*Res, n)
	for i := range files {
		files[i] = &Res{Path: fmt.Sprintf("%s/%d", dir, i), Content: &text}
		files[i].SetKind("file")
		files[i].SetName(files[i].Path)
		kindtest.Must(b, files[i].Init(init))
	}
	return s, files
}

func checkApply(b *testing.B, r *Res, want bool) {
	if ok, err := r.CheckApply(context.Background(), true); err != nil || ok != want {
		b.Fatalf("%s: %t, %v", r.Path, ok, err)
	}
}

// BenchmarkFileCold writes 2000 new files, and does what is the least in turns
// with it; ratio is the one over the other.
func BenchmarkFileCold(b *testing.B) {
	benchRatio(b, func(r *Res) { checkApply(b, r, false) }, func(p string) { floorWrite(b, p) })
}

// BenchmarkFileRepair puts back 2000 files after an overwrite. The floor reads
// and replaces them.
func BenchmarkFileRepair(b *testing.B) {
	spoil := func(p string) { kindtest.Must(b, os.WriteFile(p, []byte("drift"), 0o644)) }
	benchRatio(b, func(r *Res) {
		spoil(r.Path)
		checkApply(b, r, false)
	}, func(p string) {
		spoil(p)
		f, _, err := atomicfile.Open(p)
		kindtest.Must(b, err)
		_, err = io.ReadAll(f)
		kindtest.Must(b, err)
		kindtest.Must(b, f.Close())
		floorWrite(b, p)
	})
}

func benchRatio(b *testing.B, ours func(*Res), floor func(string)) {
	const n, slice = 2000, 100
	var a, z time.Duration
	for b.Loop() {
		s, files := benchFiles(b, 2*n)
		for i := 0; i < 2*n; i += 2 * slice {
			start := time.Now()
			for _, r := range files[i : i+slice] {
				ours(r)
			}
			mid := time.Now()
			for _, r := range files[i+slice : i+2*slice] {
				floor(r.Path)
			}
			a, z = a+mid.Sub(start), z+time.Since(mid)
		}
		s.Forget()
	}
	b.ReportMetric(float64(a)/float64(z), "ratio")
	b.ReportMetric(float64(a.Microseconds())/float64(b.N)/n, "us/file")
	b.ReportMetric(float64(z.Microseconds())/float64(b.N)/n, "us/floor")
}

func BenchmarkFileClean(b *testing.B) {
	_, files := benchFiles(b, 1)
	checkApply(b, files[0], false)
	for b.Loop() {
		checkApply(b, files[0], true)
	}
}
