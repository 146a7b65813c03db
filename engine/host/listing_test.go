package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/events"
)

// manyIn makes a directory with plain files, folders and links, and returns the paths of
// these and of what is missing.
func manyIn(t *testing.T, dir string) (paths []string) {
	t.Helper()
	mkdir(t, filepath.Join(dir, "real"))
	mkdir(t, filepath.Join(dir, "at"))
	for i := range manyNames {
		at := func(kind string) string { return filepath.Join(dir, "at", fmt.Sprint(kind, i)) }
		write(t, at("file"), "")
		mkdir(t, at("folder"))
		symlink(t, fmt.Sprint("../real/", i), at("link"))
		paths = append(paths, at("file"), at("folder"), at("link"), at("missing"))
	}
	return paths
}

// TestManyNamesOfADirectory: where so many names are asked for that the directory is read once,
// the links among them are followed as if each name were looked at.
func TestManyNamesOfADirectory(t *testing.T) {
	for name, known := range map[string]bool{"new": false, "known": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := newHost(t, Options{})
			paths := manyIn(t, dir)
			var first events.Subscription
			if known {
				first = watch(t, h, plain, filepath.Join(dir, "at", "other"))
			}
			s := watch(t, h, plain, paths...)
			write(t, filepath.Join(dir, "real", "7"), "1")
			woken(t, s)
			settle(t, h, s)
			symlink(t, "../real/x", filepath.Join(dir, "at", "missing3"))
			woken(t, s)
			settle(t, h, s)
			write(t, filepath.Join(dir, "real", "x"), "1")
			woken(t, s)
			check(t, h)
			s.Close()
			if first != nil {
				first.Close()
			}
			empty(t, h)
		})
	}
}

// TestManySubscriptionsToLinks: the same for as many subscriptions of one name each.
func TestManySubscriptionsToLinks(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	got := make(chan events.Subscription)
	paths := manyIn(t, dir)
	for _, p := range paths {
		go func() { got <- watch(t, h, plain, p) }()
	}
	subs := []events.Subscription{watch(t, h, plain, filepath.Join(dir, "at", "link5"))}
	for range paths {
		subs = append(subs, <-got)
	}
	settle(t, h, subs...)
	write(t, filepath.Join(dir, "real", "5"), "1")
	woken(t, subs[0])
	for _, s := range subs {
		s.Close()
	}
	empty(t, h)
}

func TestListing(t *testing.T) {
	dir := t.TempDir()
	manyIn(t, dir)
	at := filepath.Join(dir, "at")
	must(t, unix.Mkfifo(filepath.Join(at, "pipe"), 0o600))
	l, ok := list(at, manyNames)
	if !ok {
		t.Fatal("it was not read")
	}
	want := []string{".", "..", "pipe"}
	for i := range manyNames {
		want = append(want, fmt.Sprint("folder", i), fmt.Sprint("link", i))
	}
	slices.Sort(want)
	var names []string
	for name := range l {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("it has %q", names)
	}
	for what, ok := range map[string]bool{
		"few names":        second(list(at, manyNames-1)),
		"a missing folder": second(list(at+"/no", manyNames)),
		"a file":           second(list(at+"/file1", manyNames)),
	} {
		if ok {
			t.Errorf("%s: it was read", what)
		}
	}
	for i := range 8 * manyNames {
		write(t, filepath.Join(at, fmt.Sprint("more", i)), "")
	}
	if second(list(at, manyNames)) {
		t.Error("a directory with far more names was read to its end")
	}
}

func second(_ listing, ok bool) bool { return ok }
