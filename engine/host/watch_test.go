package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"golang.org/x/sys/unix"
)

var (
	plain    = events.Options{}
	recurse  = events.Options{Recurse: true}
	contents = events.Options{Contents: true}
)

func TestEveryChangeOfAFileWakes(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	h := newHost(t, Options{})
	s := watch(t, h, plain, file)
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"created", func() { write(t, file, "one") }},
		{"overwritten", func() { write(t, file, "two") }},
		{"appended", func() {
			f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("more")
			must(t, errors.Join(err, f.Close()))
		}},
		{"truncated", func() { must(t, os.Truncate(file, 1)) }},
		{"mode", func() { must(t, os.Chmod(file, 0o600)) }},
		{"owner", func() { must(t, os.Chown(file, os.Getuid(), os.Getgid())) }},
		{"xattr", func() { must(t, unix.Setxattr(file, "user.k", []byte("v"), 0)) }},
		{"renamed over", func() { write(t, other, "new"); rename(t, other, file) }},
		{"deleted", func() { remove(t, file) }},
		{"made a directory", func() { mkdir(t, file) }},
		{"directory mode", func() { must(t, os.Chmod(file, 0o700)) }},
		{"moved away", func() { rename(t, file, other) }},
		{"moved back", func() { rename(t, other, file) }},
		{"directory removed", func() { remove(t, file) }},
		{"made a link", func() { symlink(t, "nowhere", file) }},
		{"replaced by a hard link", func() {
			write(t, other, "x")
			remove(t, file)
			must(t, os.Link(other, file))
		}},
	} {
		t.Run(change.name, func(t *testing.T) {
			settle(t, h, s)
			change.do()
			c := woken(t, s)
			if c.Source != chosen() || c.Path != file || c.Merged < 1 || c.Resync {
				t.Errorf("cause %+v", c)
			}
		})
	}
}

func TestOnlyTheNameThatWasAskedForWakes(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	s := watch(t, h, plain, filepath.Join(dir, "f"))
	write(t, filepath.Join(dir, "g"), "x")
	write(t, filepath.Join(dir, "ff"), "x")
	mkdir(t, filepath.Join(dir, "d"))
	silent(t, h, s)
}

func TestWakeUpsMerge(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	h := newHost(t, Options{})
	write(t, a, "") // a name that is made rests for a moment, and then the other may come first
	write(t, b, "")
	s := watch(t, h, plain, a, b)
	for range 10 {
		write(t, a, "x")
		write(t, b, "x")
	}
	settle(t, h)
	c := woken(t, s)
	if c.Path != a && c.Path != b || c.Merged < 2 { // the kernel merges events, too, and a name that rests comes later
		t.Errorf("cause %+v", c)
	}
	if c := drain(s); c != (events.Cause{}) {
		t.Errorf("a second wake-up: %+v", c)
	}
	if c := s.Cause(); c != (events.Cause{}) {
		t.Errorf("the cause is still there: %+v", c)
	}
}

func TestArmedWhenWatchReturns(t *testing.T) {
	h := newHost(t, Options{})
	for i := range 200 {
		dir := t.TempDir()
		deep := filepath.Join(dir, "a", "b")
		if i%2 == 0 {
			mkdir(t, deep)
		}
		file := filepath.Join(deep, "f")
		s := watch(t, h, plain, file)
		mkdir(t, deep)
		write(t, file, "x")
		until(t, s, "the file was made", exists(file))
		s.Close()
	}
	empty(t, h)
}

func TestMissingParents(t *testing.T) {
	steps := map[string]func(t *testing.T, h *Host, dir string){
		"at once": func(t *testing.T, h *Host, dir string) { mkdir(t, filepath.Join(dir, "a/b/c")) },
		"step by step": func(t *testing.T, h *Host, dir string) {
			for _, d := range []string{"a", "a/b", "a/b/c"} {
				must(t, os.Mkdir(filepath.Join(dir, d), 0o755))
				settle(t, h)
			}
		},
		"moved in": func(t *testing.T, h *Host, dir string) {
			mkdir(t, filepath.Join(dir, "x/b/c"))
			rename(t, filepath.Join(dir, "x"), filepath.Join(dir, "a"))
		},
		"after a file in the way": func(t *testing.T, h *Host, dir string) {
			write(t, filepath.Join(dir, "a"), "")
			settle(t, h)
			remove(t, filepath.Join(dir, "a"))
			mkdir(t, filepath.Join(dir, "a/b/c"))
		},
	}
	for name, make := range steps {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := newHost(t, Options{})
			file := filepath.Join(dir, "a/b/c/f")
			s := watch(t, h, plain, file)
			silent(t, h, s)
			make(t, h, dir)
			write(t, file, "one")
			until(t, s, "the file was made", holds(file, "one"))
			settle(t, h, s)
			write(t, file, "two")
			woken(t, s)
			remove(t, filepath.Join(dir, "a"))
			until(t, s, "all was removed", func() bool { return !exists(file)() })
			settle(t, h, s)
			mkdir(t, filepath.Join(dir, "a/b/c"))
			write(t, file, "three")
			until(t, s, "the file was made again", holds(file, "three"))
			check(t, h)
			s.Close()
			empty(t, h)
		})
	}
}

func TestUpperDirectoryMovedAwayAndMadeAgain(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	file, old := filepath.Join(dir, "a/b/c/f"), filepath.Join(dir, "old/b/c/f")
	mkdir(t, filepath.Dir(file))
	write(t, file, "one")
	s := watch(t, h, plain, file)

	rename(t, filepath.Join(dir, "a"), filepath.Join(dir, "old"))
	woken(t, s)
	settle(t, h, s)
	write(t, old, "not ours")
	remove(t, old)
	silent(t, h, s)

	mkdir(t, filepath.Dir(file))
	write(t, file, "two")
	until(t, s, "the file was made", holds(file, "two"))
	settle(t, h, s)
	write(t, old, "not ours")
	must(t, os.Chmod(filepath.Dir(old), 0o700))
	silent(t, h, s)
	write(t, file, "three")
	woken(t, s)
	check(t, h)

	// And without a moment in between.
	for i := range 20 {
		rename(t, filepath.Join(dir, "a"), filepath.Join(dir, fmt.Sprint("old", i)))
		mkdir(t, filepath.Dir(file))
		write(t, file, fmt.Sprint(i))
		until(t, s, "the file was made", holds(file, fmt.Sprint(i)))
		settle(t, h, s)
		write(t, file, "again")
		woken(t, s)
	}
	check(t, h)
	s.Close()
	empty(t, h)
}

func TestDirectoryRemovedAndMadeAgain(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	sub := filepath.Join(dir, "d")
	file := filepath.Join(sub, "f")
	s := watch(t, h, plain, file)
	for i := range 100 { // file systems like to give the same inode number again
		must(t, os.Mkdir(sub, 0o755))
		write(t, file, fmt.Sprint(i))
		until(t, s, "the file was made", holds(file, fmt.Sprint(i)))
		if i%2 == 0 {
			settle(t, h, s)
			write(t, file, "again")
			woken(t, s)
		}
		remove(t, sub)
	}
	check(t, h)
}

func TestMovedBackAndForth(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	mkdir(t, filepath.Join(a, "x"))
	inA := watch(t, h, plain, filepath.Join(a, "x", "f"))
	inB := watch(t, h, plain, filepath.Join(b, "x", "f"))
	at := a
	for i := range 50 {
		from, to, s := a, b, inB
		if i%2 == 1 {
			from, to, s = b, a, inA
		}
		rename(t, from, to)
		at = to
		if i%3 == 0 {
			settle(t, h, inA, inB)
		}
		text := fmt.Sprint(i)
		write(t, filepath.Join(to, "x", "f"), text)
		until(t, s, "the file was written", holds(filepath.Join(to, "x", "f"), text))
	}
	check(t, h)
	settle(t, h, inA, inB)
	write(t, filepath.Join(at, "x", "f"), "end")
	woken(t, inA)
	if c := drain(inB); c.Merged != 0 {
		t.Errorf("the other one woke up: %+v", c)
	}
}

func TestRoot(t *testing.T) {
	h := newHost(t, Options{})
	s := watch(t, h, contents, "/")
	check(t, h)
	s.Close()
	empty(t, h)
}

func TestContents(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	d := filepath.Join(dir, "d")
	s := watch(t, h, contents, d)
	mkdir(t, filepath.Join(d, "sub"))
	until(t, s, "the directory was made", exists(filepath.Join(d, "sub")))
	settle(t, h, s)
	write(t, filepath.Join(d, "any"), "x")
	woken(t, s)
	settle(t, h, s)
	write(t, filepath.Join(d, "sub", "deeper"), "x")
	silent(t, h, s)
	must(t, os.Chmod(d, 0o700))
	woken(t, s)
	s.Close()
	empty(t, h)
}

func TestBadPaths(t *testing.T) {
	h := newHost(t, Options{})
	for _, paths := range [][]string{nil, {""}, {"relative"}, {"/ok", "./no"}, {"/nul\x00"}} {
		if _, err := h.Watch(t.Context(), paths, plain); err == nil {
			t.Errorf("%q was accepted", paths)
		}
	}
	dir := t.TempDir()
	s := watch(t, h, plain, dir+"//x/../f/") // is cleaned
	write(t, filepath.Join(dir, "f"), "")
	if c := woken(t, s); c.Path != filepath.Join(dir, "f") {
		t.Errorf("cause %+v", c)
	}
}

func TestSubscriptionEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := h.Watch(ctx, []string{filepath.Join(dir, "f")}, plain)
	must(t, err)
	cancel()
	empty(t, h)
	write(t, filepath.Join(dir, "f"), "x")
	silent(t, h, s)
	if _, err := h.Watch(ctx, []string{dir}, plain); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	s.Close()
	s.Close()
	empty(t, h)
}

func TestClosedHost(t *testing.T) {
	for _, used := range []bool{false, true} {
		h, err := New(t.Context(), Options{})
		must(t, err)
		if used {
			s := watch(t, h, plain, t.TempDir())
			defer s.Close()
		}
		must(t, h.Close())
		must(t, h.Close())
		if _, err := h.Watch(t.Context(), []string{"/"}, plain); !errors.Is(err, ErrClosed) {
			t.Errorf("used %v: %v", used, err)
		}
	}
}

func TestNothingIsOpenedBeforeItIsNeeded(t *testing.T) {
	opened := false
	h := newHost(t, Options{open: func(clock clock.Clock) (eventSource, error) { opened = true; return openChosen(clock) }})
	if h.Facts().Hostname == "" || h.Facts().CPUs < 1 {
		t.Errorf("facts %+v", h.Facts())
	}
	if h.hub.in.started || opened {
		t.Error("started without need")
	}
	watch(t, h, plain, t.TempDir())
	if !opened {
		t.Error("not opened")
	}
}
