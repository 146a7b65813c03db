// Command soak runs the engine for a long time under random drift and with a new
// graph every second, and checks that it ends where it began: no more memory, no
// more goroutines, no more file descriptors, and every file right.
//
//	go run ./integration/soak [-for 10m] [-files 2000] [-dir FOLDER]
//
// It prints one line a minute. The exit code is 1 when something has grown or is
// wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	_ "github.com/reactivegraph/mgmt/resources/all"
	"github.com/reactivegraph/mgmt/resources/file"
)

// main reads the flags and ends with 1 where the machine is not as declared at the end.
func main() {
	var (
		length = flag.Duration("for", 10*time.Minute, "how long")
		files  = flag.Int("files", 2000, "how many files")
		dir    = flag.String("dir", "", "where to work (default a temporary folder)")
		seed   = flag.Uint64("seed", rand.Uint64(), "of chance")
	)
	flag.Parse()
	if err := soak(*length, *files, *dir, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soaking is one run.
type soaking struct {
	// dir is the folder of the run; n is how many files it has.
	dir string
	n   int
	// rand is for the goroutine of play alone.
	rand  *rand.Rand
	swaps int // graphs so far
	// wants has the content of each file by its number; empty for a file that is not in the graph.
	wants []string
	// runs is written by the Observer, and read for the report only: a number that is late by one
	// does no harm.
	runs  int
	drift int

	engine *mgmt.Engine
	// swapped and converged have room for one token each.
	swapped   chan struct{}
	converged chan struct{}
}

// soak runs the engine over many files for a time while chance disturbs them. The seed
// makes a failure repeatable.
func soak(length time.Duration, n int, dir string, seed uint64) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "mgmt-soak-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	s := &soaking{
		dir: dir, n: n, rand: rand.New(rand.NewPCG(seed, 0)), wants: make([]string, n),
		swapped: make(chan struct{}, 1), converged: make(chan struct{}, 1),
	}
	for i := range s.wants {
		s.wants[i] = fmt.Sprintf("file %d\n", i)
	}
	fmt.Printf("seed %d, %d files, %s\n", seed, n, length)
	for _, d := range []string{s.folder(), s.state()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	if err := wakePoller(); err != nil {
		return err
	}
	// The comparison begins before the engine, so that a goroutine which outlives Run is seen.
	idle := look()
	graphs := make(chan *gapi.Declared)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s.engine, err = mgmt.Open(ctx, mgmt.Options{
		State: mgmt.StateIn(s.state()), Strict: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Observer: mgmt.Observer{
			Swapped: func(reactor.Swap) { token(s.swapped) },
			Ran:     func(reactor.Run) { s.runs++ },
			Converged: func(yes bool, _ reactor.Counts) {
				if yes {
					token(s.converged)
				}
			},
		},
	}, static.From(each(ctx, graphs)))
	if err != nil {
		stop()
		return err
	}
	go func() { done <- s.engine.Wait() }()
	err = s.play(graphs, length)
	stop()
	err = errors.Join(err, <-done)
	end := look()
	if end.goroutines > idle.goroutines || end.files > idle.files {
		err = errors.Join(err, fmt.Errorf("after the end there are %s, before the start there were %s", end, idle))
	}
	return err
}

// wakePoller makes the Go runtime open the descriptors that it keeps for ever.
func wakePoller() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	return errors.Join(r.SetDeadline(time.Now()), r.Close(), w.Close())
}

// The files and the state have folders of their own, so that the watch of one does not see
// the other.
func (s *soaking) folder() string { return filepath.Join(s.dir, "files") }
func (s *soaking) state() string  { return filepath.Join(s.dir, "state") }

// path is the file with a number.
func (s *soaking) path(i int) string { return filepath.Join(s.folder(), fmt.Sprintf("f%05d", i)) }

// play brings the graph about, disturbs it for a time, and compares.
func (s *soaking) play(graphs chan<- *gapi.Declared, length time.Duration) error {
	s.swap(graphs)
	if err := s.rest(); err != nil {
		return err
	}
	// The first minute brings caches and pools to their size.
	if err := s.disturb(graphs, min(time.Minute, length/4)); err != nil {
		return err
	}
	// From here on nothing may grow: every cache has been filled.
	first := look()
	fmt.Println("begin:", first)
	begin := time.Now()
	for left := length; left > 0; left = length - time.Since(begin) {
		if err := s.disturb(graphs, min(time.Minute, left)); err != nil {
			return err
		}
		fmt.Printf("%s: %s; %d graphs, %d drifts, %d runs\n", time.Since(begin).Round(time.Second), look(), s.swaps, s.drift, s.runs)
	}
	return first.compare(look())
}

// disturb drifts files and changes the graph every second, lets it come to rest,
// and checks every file.
func (s *soaking) disturb(graphs chan<- *gapi.Declared, d time.Duration) error {
	end := time.Now().Add(d)
	// The graphs come by the clock and not after each other, so a slow engine has to take several
	// changes at once.
	for next := time.Now(); time.Now().Before(end); next = next.Add(time.Second) {
		s.swap(graphs)
		for time.Now().Before(next.Add(time.Second)) {
			s.hurt(s.rand.IntN(s.n))
			time.Sleep(time.Duration(s.rand.IntN(20)) * time.Millisecond)
		}
	}
	return s.rest()
}

// hurt changes one file from outside.
func (s *soaking) hurt(i int) {
	s.drift++
	path := s.path(i)
	// The four are what people and editors do: to delete, to write in place, to change the mode,
	// and to rename a new file over the old one.
	switch s.rand.IntN(4) { // a call that fails found no file
	case 0:
		_ = os.Remove(path)
	case 1:
		_ = os.WriteFile(path, []byte("drift "+strconv.Itoa(s.drift)), 0o600)
	case 2:
		_ = os.Chmod(path, 0o640)
	default:
		other := filepath.Join(s.dir, "other")
		if os.WriteFile(other, []byte("drift"), 0o600) == nil {
			_ = os.Rename(other, path)
		}
	}
}

// swap sends another graph: some files want something else, some are gone, some
// come back.
func (s *soaking) swap(graphs chan<- *gapi.Declared) {
	s.swaps++
	for range max(1, s.n/20) {
		i := s.rand.IntN(s.n)
		s.wants[i] = fmt.Sprintf("file %d of graph %d\n", i, s.swaps)
		if s.rand.IntN(4) == 0 {
			s.wants[i] = "" // it leaves the graph
		}
	}
	// The whole graph is declared anew each time, as a frontend that follows a file does.
	g := &gapi.Declared{Name: "soak"}
	for i, want := range s.wants {
		if want != "" {
			g.Resources = append(g.Resources, static.Declare("file", s.path(i), &file.Res{Content: &want, Mode: "0644"}))
		}
	}
	graphs <- g
	// It waits until the graph has taken effect, so that each of them is counted.
	<-s.swapped
}

// rest waits until the graph has come to rest, and checks the files that it has.
func (s *soaking) rest() error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		bad := s.firstWrong()
		if bad < 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("file %d has not been repaired in 30 s", bad)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// firstWrong returns the first file that is not as declared, or -1.
func (s *soaking) firstWrong() int {
	for i, want := range s.wants {
		if want == "" {
			continue
		}
		got, err := os.ReadFile(s.path(i))
		info, err2 := os.Stat(s.path(i))
		if err != nil || err2 != nil || string(got) != want || info.Mode().Perm() != 0o644 {
			return i
		}
	}
	return -1
}

// figures are what must not grow.
// Goroutines and descriptors are counts, and the rest is in bytes.
type figures struct {
	goroutines, files int
	heap, rss         uint64 // bytes
}

// look measures the process after a collection of garbage, so that two looks compare only
// living memory.
func look() figures {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := figures{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.files = len(list)
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseUint(fields[1], 10, 64)
			f.rss = pages * uint64(os.Getpagesize())
		}
	}
	return f
}

// String writes the figures on one line of the report.
func (f figures) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, heap %.1f MB, resident %.1f MB", f.goroutines, f.files, float64(f.heap)/1e6, float64(f.rss)/1e6)
}

// compare allows for chance: the number of files in the graph differs, and so do
// the pages in use.
func (f figures) compare(end figures) error {
	var errs []error
	grown := func(what string, a, b, slack float64) {
		// A quarter more is chance, as the slack for small numbers is. A leak of one thing for
		// each graph is far above both after ten minutes.
		if b > a*1.25+slack {
			errs = append(errs, fmt.Errorf("%s has grown from %.0f to %.0f", what, a, b))
		}
	}
	grown("the number of goroutines", float64(f.goroutines), float64(end.goroutines), 20)
	grown("the number of descriptors", float64(f.files), float64(end.files), 4)
	grown("the heap", float64(f.heap), float64(end.heap), 2e6)
	grown("the resident memory", float64(f.rss), float64(end.rss), 8e6)
	return errors.Join(errs...)
}

// token wakes a reader; one waiting token is enough.
func token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// each yields the values of a channel until the context ends.
func each[T any](ctx context.Context, c <-chan T) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for {
			select {
			case x := <-c:
				if !yield(x) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
