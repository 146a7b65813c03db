package host

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"golang.org/x/sys/unix"
)

// A faulty watcher is a real one that refuses and loses as it is told.
type faulty struct {
	eventSource
	evs  chan event
	errs chan error
	all  sync.WaitGroup
	done chan struct{}

	mu     sync.Mutex
	refuse func(path string) error
	lose   bool
	lost   map[string]bool // of which name an event was lost
}

// faultyHost returns a Host whose watcher is faulty, and its log.
func faultyHost(t *testing.T, refuse func(path string) error) (*Host, *faulty, *lines) {
	t.Helper()
	log := &lines{}
	f := &faulty{refuse: refuse, evs: make(chan event), errs: make(chan error), done: make(chan struct{}), lost: make(map[string]bool)}
	h := newHost(t, Options{
		Logger:       slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo})),
		PollInterval: 5 * time.Millisecond,
		open:         func(clock clock.Clock) (eventSource, error) { return f, f.begin(clock) },
	})
	return h, f, log
}

func (f *faulty) begin(clock clock.Clock) (err error) {
	if f.eventSource, err = openChosen(clock); err != nil {
		return err
	}
	f.all.Go(func() {
		for ev := range f.eventSource.events() {
			f.mu.Lock()
			lose := f.lose
			if lose {
				f.lost[ev.path()] = true
			}
			f.mu.Unlock()
			if !lose {
				select {
				case f.evs <- ev:
				case <-f.done:
				}
			}
		}
	})
	f.all.Go(func() {
		for err := range f.eventSource.errors() {
			f.fail(err)
		}
	})
	return nil
}

func (f *faulty) fail(err error) {
	select {
	case f.errs <- err:
	case <-f.done:
	}
}

func (f *faulty) events() <-chan event { return f.evs }
func (f *faulty) errors() <-chan error { return f.errs }

func (f *faulty) Add(path string) error {
	f.mu.Lock()
	refuse := f.refuse
	f.mu.Unlock()
	if refuse != nil {
		if err := refuse(path); err != nil {
			return err
		}
	}
	return f.eventSource.Add(path)
}

func (f *faulty) Close() error {
	close(f.done)
	err := f.eventSource.Close()
	f.all.Wait()
	close(f.errs)
	return err
}

func (f *faulty) set(refuse func(path string) error, lose bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse, f.lose = refuse, lose
}

func (f *faulty) hasLost(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost[name]
}

// below refuses what is below dir.
func below(dir string, err error) func(string) error {
	return func(path string) error {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return err
		}
		return nil
	}
}

func TestOverflowIsAResyncOfEverything(t *testing.T) {
	dir := t.TempDir()
	h, f, log := faultyHost(t, nil)
	mkdir(t, filepath.Join(dir, "tree/x"))
	mkdir(t, filepath.Join(dir, "d"))
	symlink(t, "d/linked", filepath.Join(dir, "l"))
	subs := map[string]events.Subscription{
		"there":   watch(t, h, plain, filepath.Join(dir, "d/f")),
		"missing": watch(t, h, plain, filepath.Join(dir, "none/f")),
		"tree":    watch(t, h, recurse, filepath.Join(dir, "tree")),
		"names":   watch(t, h, contents, filepath.Join(dir, "d")),
		"linked":  watch(t, h, plain, filepath.Join(dir, "l")),
		"root":    watch(t, h, plain, "/"),
	}
	settle(t, h)
	for _, s := range subs {
		drain(s)
	}
	f.set(nil, true) // from here on nothing is told
	mkdir(t, filepath.Join(dir, "tree/y/z"))
	was := identify(filepath.Join(dir, "d"))
	for range 100 { // until the new one has the number of the old one, if that can be had
		remove(t, filepath.Join(dir, "d"))
		mkdir(t, filepath.Join(dir, "d"))
		if identify(filepath.Join(dir, "d")) == was {
			break
		}
	}
	mkdir(t, filepath.Join(dir, "none"))
	write(t, filepath.Join(dir, "none/f"), "x")
	rename(t, filepath.Join(dir, "tree/x"), filepath.Join(dir, "tree/w"))
	write(t, filepath.Join(dir, "end"), "")
	settleUntil(t, func() bool { return f.hasLost(filepath.Join(dir, "end")) })
	f.set(nil, false)
	f.fail(fsnotify.ErrEventOverflow)
	for name, s := range subs {
		if c := woken(t, s); !c.Resync {
			t.Errorf("%s: %+v", name, c)
		}
	}
	check(t, h)
	for _, s := range subs {
		drain(s)
	}
	for name, file := range map[string]string{
		"there": "d/f", "missing": "none/f", "tree": "tree/y/z/f", "names": "d/any", "linked": "d/linked",
	} {
		write(t, filepath.Join(dir, file), "x")
		if c := woken(t, subs[name]); c.Resync {
			t.Errorf("%s: %+v", name, c)
		}
	}
	write(t, filepath.Join(dir, "tree/w/f"), "x")
	woken(t, subs["tree"])
	if n := strings.Count(log.String(), "file events were lost"); n != 1 {
		t.Errorf("told %d times", n)
	}
	for _, s := range subs {
		s.Close()
	}
	empty(t, h)
}

// A real overflow: the hub does not come to read, and the kernel's queue runs over.
func TestRealOverflow(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	a := filepath.Join(dir, "a")
	s := watch(t, h, plain, filepath.Join(dir, "never"))
	held := make(chan struct{})
	h.hub.calls <- func() { <-held }
	queue := 16384
	fmt.Sscan(readSysctl("fs.inotify.max_queued_events"), &queue)
	write(t, a, "")
	for i := range queue + 10000 { // with what the source and its channel can hold; events of one name would be merged
		b := filepath.Join(dir, fmt.Sprint("a", i))
		rename(t, a, b)
		a = b
	}
	close(held)
	if c := woken(t, s); !c.Resync || c.Merged < 1 {
		t.Errorf("cause %+v", c)
	}
	settle(t, h, s)
	if n := h.Stats().Resyncs; n < 1 {
		t.Errorf("%d resyncs are counted", n)
	}
	write(t, filepath.Join(dir, "never"), "x")
	if c := woken(t, s); c.Resync {
		t.Errorf("cause %+v", c)
	}
	check(t, h)
}

func TestWatchesRunOut(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	mkdir(t, filepath.Join(full, "d"))
	h, f, log := faultyHost(t, below(full, unix.ENOSPC))
	polled := watch(t, h, plain, filepath.Join(full, "d/f"))
	watched := watch(t, h, plain, filepath.Join(dir, "f"))
	tree := watch(t, h, recurse, full)
	names := watch(t, h, contents, filepath.Join(full, "d"))
	if st := h.Stats(); st.Polled != 2 || st.Watches == 0 {
		t.Errorf("stats %+v", st)
	}
	for _, say := range []string{"fs.inotify.max_user_watches is " + readSysctl("fs.inotify.max_user_watches"),
		"holds " + fmt.Sprint(h.Stats().Watches), "polling instead", "sysctl -w"} {
		if !strings.Contains(log.String(), say) {
			t.Errorf("the log does not say %q:\n%s", say, log)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, log)
	}
	write(t, filepath.Join(dir, "f"), "x")
	if c := woken(t, watched); c.Source != chosen() {
		t.Errorf("cause %+v", c)
	}
	for _, change := range []func(path string){
		func(p string) { write(t, p, "1") },
		func(p string) { write(t, p, "22") },
		func(p string) { must(t, os.Chmod(p, 0o600)) },
		func(p string) { write(t, p+".new", "33"); rename(t, p+".new", p) },
		func(p string) { remove(t, p) },
	} {
		change(filepath.Join(full, "d/f"))
		for _, s := range []events.Subscription{polled, tree, names} {
			if c := woken(t, s); c.Source != "poll" || c.Resync {
				t.Errorf("cause %+v", c)
			}
		}
	}
	calm(t, tree, names, polled)
	mkdir(t, filepath.Join(full, "new/x")) // below what is polled
	write(t, filepath.Join(full, "new/x/f"), "1")
	until(t, tree, "the file was made", exists(filepath.Join(full, "new/x/f")))
	calm(t, tree)
	write(t, filepath.Join(full, "new/x/f"), "22")
	woken(t, tree)

	f.set(nil, false) // there are some again
	recover := func() { h.hub.limits.next = time.Time{} }
	h.hub.calls <- recover
	settleUntil(t, func() bool { return h.Stats().Polled == 0 && strings.Contains(log.String(), "to be had again") })
	settle(t, h, polled, tree, names, watched)
	write(t, filepath.Join(full, "d/f"), "x")
	if c := woken(t, polled); c.Source != chosen() {
		t.Errorf("cause %+v", c)
	}
	check(t, h)
	for _, s := range []events.Subscription{polled, tree, names, watched} {
		s.Close()
	}
	empty(t, h)
}

// calm waits until a few rounds of polling brought nothing.
func calm(t *testing.T, subs ...events.Subscription) {
	t.Helper()
	for _, s := range subs {
		for quiet := false; !quiet; {
			select {
			case <-s.C():
				s.Cause()
			case <-time.After(50 * time.Millisecond):
				quiet = true
			}
		}
	}
}

func settleUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

func TestInstancesRunOut(t *testing.T) {
	dir := t.TempDir()
	log := &lines{}
	var mu sync.Mutex
	none := true
	h := newHost(t, Options{
		Logger: slog.New(slog.NewTextHandler(log, nil)), PollInterval: 5 * time.Millisecond,
		open: func(clock clock.Clock) (eventSource, error) {
			mu.Lock()
			defer mu.Unlock()
			if none {
				return nil, fmt.Errorf("couldn't initialize inotify: %w", unix.EMFILE)
			}
			return openChosen(clock)
		},
	})
	file := filepath.Join(dir, "a/b/f")
	s := watch(t, h, plain, file)
	if !strings.Contains(log.String(), "fs.inotify.max_user_instances is "+readSysctl("fs.inotify.max_user_instances")) {
		t.Errorf("the log:\n%s", log)
	}
	mkdir(t, filepath.Dir(file))
	write(t, file, "1")
	until(t, s, "the file was made", holds(file, "1"))
	rename(t, filepath.Join(dir, "a"), filepath.Join(dir, "x"))
	until(t, s, "it was moved", func() bool { return !exists(file)() })
	mkdir(t, filepath.Dir(file))
	write(t, file, "2")
	until(t, s, "the file was made again", holds(file, "2"))
	mu.Lock()
	none = false
	mu.Unlock()
	h.hub.calls <- func() { h.hub.limits.next = time.Time{} }
	settleUntil(t, func() bool { return h.Stats().Polled == 0 })
	settle(t, h, s)
	write(t, file, "3")
	if c := woken(t, s); c.Source != chosen() {
		t.Errorf("cause %+v", c)
	}
	check(t, h)
}

func TestDirectoryThatMayNotBeRead(t *testing.T) {
	dir := t.TempDir()
	h, f, log := faultyHost(t, below(filepath.Join(dir, "closed"), unix.EACCES))
	file := filepath.Join(dir, "closed", "f")
	mkdir(t, filepath.Dir(file))
	s := watch(t, h, plain, file)
	write(t, file, "1")
	if c := woken(t, s); c.Source != "poll" {
		t.Errorf("cause %+v", c)
	}
	if n := strings.Count(log.String(), "cannot be watched"); n != 1 || !strings.Contains(log.String(), "permission denied") {
		t.Errorf("the log:\n%s", log)
	}
	f.set(nil, false)
	settleUntil(t, func() bool { return h.Stats().Polled == 0 })
	settle(t, h, s)
	write(t, file, "2")
	if c := woken(t, s); c.Source != chosen() {
		t.Errorf("cause %+v", c)
	}
}

// A change between a refusal and the first look of polling is seen, and so is one
// between the last look and the return to watching.
func TestPollingLeavesNoGap(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	mkdir(t, full)
	h, f, _ := faultyHost(t, below(full, unix.ENOSPC))
	for i := range 50 {
		file := filepath.Join(full, fmt.Sprint(i%3))
		s := watch(t, h, plain, file)
		if i%4 == 3 {
			f.set(nil, false)
			h.hub.calls <- func() { h.hub.limits.next = time.Time{} }
		}
		text := fmt.Sprint(i, strings.Repeat("x", i))
		write(t, file, text)
		woken(t, s)
		until(t, s, "it was written", holds(file, text))
		s.Close()
		f.set(below(full, unix.ENOSPC), false)
	}
	empty(t, h)
}

func TestPollingStartsFromWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	h, _, _ := faultyHost(t, below(dir, unix.ENOSPC))
	first := watch(t, h, plain, filepath.Join(dir, "first"))
	for i := range 20 {
		stays, goes := filepath.Join(dir, fmt.Sprint("stays", i)), filepath.Join(dir, fmt.Sprint("goes", i))
		write(t, stays, "x")
		write(t, goes, "x")
		quiet, s := watch(t, h, plain, stays), watch(t, h, plain, goes)
		remove(t, goes)
		woken(t, s)
		if c := drain(quiet); c.Merged != 0 {
			t.Errorf("cause %+v", c)
		}
		s.Close()
		quiet.Close()
	}
	if c := drain(first); c.Merged != 0 {
		t.Errorf("cause %+v", c)
	}
}

// A directory that is watched below one that is not tells itself when it goes.
func TestWatchedBelowUnwatched(t *testing.T) {
	dir := t.TempDir()
	h, _, _ := faultyHost(t, func(path string) error {
		if path == dir {
			return unix.ENOSPC
		}
		return nil
	})
	h.hub.every = time.Hour
	for name, change := range map[string]func(d string){
		"moved":   func(d string) { rename(t, d, d+".old") },
		"removed": func(d string) { remove(t, d) },
	} {
		t.Run(name, func(t *testing.T) {
			d := filepath.Join(dir, name)
			mkdir(t, d)
			s := watch(t, h, plain, filepath.Join(d, "f"))
			change(d)
			woken(t, s)
			s.Close()
		})
	}
}

func TestLimitErrorSaysWhatItIs(t *testing.T) {
	err := error(&LimitError{"fs.inotify.max_user_watches", "8192", 8000, unix.ENOSPC})
	want := "no more file watches: the limit fs.inotify.max_user_watches is 8192, of which this process holds 8000 (no space left on device); raise it with sysctl -w fs.inotify.max_user_watches=N"
	if err.Error() != want || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	if got := (&LimitError{Sysctl: "x.y", Err: unix.EMFILE}).Error(); !strings.Contains(got, "x.y is unknown") {
		t.Errorf("%v", got)
	}
}

func TestLimiterWaitsLonger(t *testing.T) {
	var l limiter
	now := time.Now()
	if l.waiting(now) || !l.refuse(now) || l.refuse(now) {
		t.Error("the first refusal is told, once")
	}
	for _, want := range []time.Duration{firstWait, 2 * firstWait, 4 * firstWait} {
		if !l.waiting(now.Add(want-1)) || l.waiting(now.Add(want)) {
			t.Errorf("it does not wait %v", want)
		}
		now = now.Add(want)
		l.refuse(now)
	}
	for range 20 {
		now = now.Add(lastWait)
		l.refuse(now)
	}
	if l.wait != lastWait {
		t.Errorf("it waits %v", l.wait)
	}
}

func TestNamesInTheRootDirectory(t *testing.T) {
	h, f, _ := faultyHost(t, nil)
	name := watch(t, h, plain, "/no-such-name")
	root := watch(t, h, plain, "/")
	settle(t, h, name, root)
	f.evs <- event{dir: "/", name: "no-such-name", op: opClosed}
	woken(t, name)
	if c := drain(root); c.Merged != 0 {
		t.Errorf("cause %+v", c)
	}
	f.evs <- event{dir: "/", op: opAttributes}
	woken(t, root)
}
