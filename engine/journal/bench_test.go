package journal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/journal"
	"github.com/reactivegraph/mgmt/engine/records"
)

// BenchmarkCycle is what the reactor commits for one change of a vertex with one
// notify edge: an intent, its end with a refresh, and the end of that. It is to
// be run where TMPDIR is a tmpfs.
func BenchmarkCycle(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) { cycles(b, callers) })
	}
}

func cycles(b *testing.B, callers int) {
	j, err := journal.Open(filepath.Join(b.TempDir(), "j"), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	var n atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := enginetest.Computed(b)
	for range callers {
		wg.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				if err := cycle(j, int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(enginetest.Computed(b)-before)/float64(b.N), "cpu-ns/op")
}

func cycle(s records.Store, i int) error {
	ctx, one := context.Background(), []byte{1}
	from := fmt.Sprintf("file[/etc/mgmt/some/folder/%06d]", i%10_000)
	refresh := fmt.Sprintf("exec[restart]\x00%s\x00%d", from, i)
	for _, writes := range [][]records.Write{
		{{Table: "intent", Key: from, Value: one}},
		{{Table: "intent", Key: from}, {Table: "refresh", Key: refresh, Value: one}},
		{{Table: "refresh", Key: refresh}},
	} {
		if err := s.Commit(ctx, writes); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkBurst is 10,000 entries at once into a history, until they are written.
func BenchmarkBurst(b *testing.B) {
	j, err := journal.Open(filepath.Join(b.TempDir(), "j"), journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	const burst = 10_000
	data := []byte(`{"changes":[{"field":"mode","from":"0600","to":"0644"}],"took":"1.2ms"}`)
	h, e := j.History(), journal.Entry{Resource: "file[/etc/mgmt/some/folder/000123]", Outcome: "changed", Data: data}
	b.ReportAllocs()
	appending, before := time.Duration(0), enginetest.Computed(b)
	for b.Loop() {
		start := time.Now()
		for range burst {
			if h.Append(e) == 0 {
				b.Fatal("a burst has no room")
			}
		}
		appending += time.Since(start)
		b.StopTimer()
		time.Sleep(1500 * time.Millisecond) // until the next flush is over
		b.StartTimer()
	}
	b.ReportMetric(float64(appending)/float64(b.N)/burst, "append-ns/entry")
	b.ReportMetric(float64(enginetest.Computed(b)-before)/float64(b.N)/burst, "cpu-ns/entry")
}
