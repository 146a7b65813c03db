package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
)

// BenchmarkWakeUp measures from before the write to after the wake-up of one of
// 1,000 watched files, beside the same with nothing but fsnotify.
func BenchmarkWakeUp(b *testing.B) {
	b.Run("hub", func(b *testing.B) {
		dir := b.TempDir()
		h := newHost(b, Options{})
		var s events.Subscription
		for i := range 1000 {
			s = watch(b, h, plain, filepath.Join(dir, fmt.Sprint(i)))
		}
		wakeUps(b, filepath.Join(dir, "999"), func() { <-s.C() }, func() { drain(s) })
	})
	b.Run("fsnotify", func(b *testing.B) {
		dir := b.TempDir()
		w, err := fsnotify.NewWatcher()
		must(b, err)
		defer w.Close()
		must(b, w.Add(dir))
		wakeUps(b, filepath.Join(dir, "999"), func() { <-w.Events }, func() {
			for {
				select {
				case <-w.Events:
				default:
					return
				}
			}
		})
	})
}

func wakeUps(b *testing.B, path string, wait, rest func()) {
	write(b, path, "")
	time.Sleep(50 * time.Millisecond)
	rest()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(b, err)
		_, err = f.WriteAt([]byte{byte(i)}, 0)
		must(b, errors.Join(err, f.Close()))
		wait()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
}

// BenchmarkEvent measures the hub's own work for one event.
func BenchmarkEvent(b *testing.B) {
	dir := b.TempDir()
	h := newHost(b, Options{})
	const n = 10000
	names := make([]event, n)
	for i := range n {
		p := filepath.Join(dir, fmt.Sprint(i))
		watch(b, h, plain, p)
		names[i] = event{dir: dir, name: fmt.Sprint(i), op: opClosed}
	}
	for name, events := range map[string][]event{
		"subscribed": names,
		"other":      {{dir: dir, name: "other", op: opClosed}},
	} {
		b.Run(name, func(b *testing.B) {
			done := make(chan struct{})
			b.ReportAllocs()
			h.hub.calls <- func() {
				defer close(done)
				for i := 0; b.Loop(); i++ {
					h.hub.event(events[i%len(events)])
				}
			}
			<-done
		})
	}
}

// BenchmarkSubscriptions measures memory and time of 10,000 subscriptions.
func BenchmarkSubscriptions(b *testing.B) {
	for _, dirs := range []int{1, 100, 10000} {
		b.Run(fmt.Sprintf("10000 files in %d directories", dirs), func(b *testing.B) {
			top := b.TempDir()
			paths := make([][]string, 10000)
			for i := range paths {
				d := filepath.Join(top, fmt.Sprint(i%dirs))
				mkdir(b, d)
				paths[i] = []string{filepath.Join(d, fmt.Sprint(i))}
			}
			for b.Loop() {
				subscriptions(b, paths)
			}
		})
	}
}

func subscriptions(b *testing.B, paths [][]string) {
	h := newHost(b, Options{})
	first := watch(b, h, plain, filepath.Dir(paths[0][0])) // what is there once
	ctx, cancel := context.WithCancel(b.Context())
	subs := make([]events.Subscription, len(paths))
	ctxs := make([]context.Context, len(paths))
	var cancels []context.CancelFunc
	for i := range ctxs {
		c, end := context.WithCancel(ctx)
		ctxs[i], cancels = c, append(cancels, end)
	}
	before := heap()
	began := time.Now()
	for i, p := range paths {
		s, err := h.Watch(ctxs[i], p, plain)
		must(b, err)
		subs[i] = s
	}
	armed := time.Since(began)
	after := heap()
	n := float64(len(paths))
	b.ReportMetric(float64(after-before)/n, "B/sub")
	b.ReportMetric(float64(armed.Nanoseconds())/n/1e3, "us/watch")
	began = time.Now()
	cancel()
	for h.Stats().Subscriptions > 1 {
		time.Sleep(100 * time.Microsecond)
	}
	b.ReportMetric(float64(time.Since(began).Microseconds())/1e3, "ms/close-all")
	first.Close()
	runtime.KeepAlive(subs)
	for _, c := range cancels {
		c()
	}
	must(b, h.Close())
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkStacks measures the stacks of those who have called Watch and wait.
func BenchmarkStacks(b *testing.B) {
	dir := b.TempDir()
	const n = 10000
	for b.Loop() {
		h := newHost(b, Options{})
		ctx, cancel := context.WithCancel(b.Context())
		var all, ready sync.WaitGroup
		before := stacks()
		for i := range n {
			ready.Add(1)
			all.Go(func() {
				s, err := h.Watch(ctx, []string{filepath.Join(dir, fmt.Sprint(i))}, plain)
				ready.Done()
				for err == nil {
					select {
					case <-s.C():
					case <-ctx.Done():
						return
					}
				}
			})
		}
		ready.Wait()
		b.ReportMetric(float64(stacks()-before)/n, "B-stack/goroutine")
		cancel()
		all.Wait()
		must(b, h.Close())
	}
}

func stacks() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.StackInuse)
}

// BenchmarkCommand measures a command that does nothing.
func BenchmarkCommand(b *testing.B) {
	h := newHost(b, Options{})
	for b.Loop() {
		command(b, h, engine.Command{Argv: []string{"/bin/true"}})
	}
}

// BenchmarkRecursion measures the subscription to a tree of 1,111 directories.
func BenchmarkRecursion(b *testing.B) {
	dir := b.TempDir()
	for i := range 10 {
		for j := range 10 {
			for k := range 10 {
				mkdir(b, filepath.Join(dir, fmt.Sprint(i), fmt.Sprint(j), fmt.Sprint(k)))
			}
		}
	}
	h := newHost(b, Options{})
	for b.Loop() {
		watch(b, h, recurse, dir).Close()
	}
}
