package host

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestLinkedParentIsReplaced(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	one, two, link := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "link")
	mkdir(t, filepath.Join(one, "sub"))
	mkdir(t, filepath.Join(two, "sub"))
	for _, kind := range []string{"absolute", "relative"} {
		t.Run(kind, func(t *testing.T) {
			to := func(path string) string {
				if kind == "relative" {
					return filepath.Base(path)
				}
				return path
			}
			symlink(t, to(one), link)
			file := filepath.Join(link, "sub", "f")
			s := watch(t, h, plain, file)
			settle(t, h, s) // of the link itself
			write(t, file, "1")
			if c := woken(t, s); c.Path != filepath.Join(one, "sub", "f") {
				t.Errorf("cause %+v", c)
			}
			settle(t, h, s)
			symlink(t, to(two), link+".new")
			rename(t, link+".new", link)
			woken(t, s)
			settle(t, h, s)
			write(t, filepath.Join(one, "sub", "f"), "not ours now")
			silent(t, h, s)
			write(t, filepath.Join(two, "sub", "f"), "2")
			woken(t, s)
			check(t, h)
			remove(t, link)
			until(t, s, "the link was removed", func() bool { return !exists(file)() })
			s.Close()
			empty(t, h)
		})
	}
}

func TestLinkedFile(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	mkdir(t, filepath.Join(dir, "real"))
	mkdir(t, filepath.Join(dir, "at"))
	link, target := filepath.Join(dir, "at", "l"), filepath.Join(dir, "real", "f")
	symlink(t, "../real/f", link)
	s := watch(t, h, plain, link)

	write(t, target, "1") // it was dangling
	until(t, s, "the target was made", holds(link, "1"))
	settle(t, h, s)
	write(t, target, "2")
	woken(t, s)
	settle(t, h, s)
	write(t, filepath.Join(dir, "real", "other"), "x")
	silent(t, h, s)

	rename(t, filepath.Join(dir, "real"), filepath.Join(dir, "away"))
	until(t, s, "the target is gone", func() bool { return !exists(link)() })
	settle(t, h, s)
	mkdir(t, filepath.Join(dir, "real"))
	write(t, target, "3")
	until(t, s, "the target is back", holds(link, "3"))
	settle(t, h, s)

	remove(t, link)
	write(t, link, "plain now")
	until(t, s, "the link is a file", holds(link, "plain now"))
	settle(t, h, s)
	write(t, target, "not ours now")
	silent(t, h, s)

	symlink(t, target, link+".new")
	rename(t, link+".new", link)
	until(t, s, "the file is a link again", holds(link, "not ours now"))
	settle(t, h, s)
	write(t, target, "4")
	woken(t, s)
	check(t, h)
	s.Close()
	empty(t, h)
}

func TestLinkInADirectoryThatIsKnown(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	mkdir(t, filepath.Join(dir, "real"))
	symlink(t, "real/f", filepath.Join(dir, "l"))
	known := watch(t, h, plain, filepath.Join(dir, "other"))
	first, second := watch(t, h, plain, filepath.Join(dir, "l")), watch(t, h, plain, filepath.Join(dir, "l"))
	write(t, filepath.Join(dir, "real/f"), "1")
	woken(t, first)
	woken(t, second)
	first.Close()
	settle(t, h, second)
	write(t, filepath.Join(dir, "real/f"), "2")
	woken(t, second)
	second.Close()
	known.Close()
	empty(t, h)
}

func TestDanglingLinkWithMissingParents(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	link := filepath.Join(dir, "l")
	symlink(t, filepath.Join(dir, "a/b/c"), link)
	file := filepath.Join(link, "d", "f")
	s, leaf := watch(t, h, plain, file), watch(t, h, plain, link)
	mkdir(t, filepath.Join(dir, "a/b/c/d"))
	until(t, leaf, "the link leads somewhere", exists(link))
	write(t, file, "1")
	until(t, s, "the file was made", holds(file, "1"))
	settle(t, h, s, leaf)
	must(t, os.Chmod(filepath.Join(dir, "a/b/c"), 0o700))
	woken(t, leaf)
	check(t, h)
	s.Close()
	leaf.Close()
	empty(t, h)
}

func TestChainOfLinks(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	at := func(n string) string { return filepath.Join(dir, n) }
	mkdir(t, at("d1"))
	mkdir(t, at("d2"))
	symlink(t, "l2/f", at("l1"))
	symlink(t, "l3", at("l2"))
	symlink(t, "d1", at("l3"))
	s := watch(t, h, plain, at("l1"))
	write(t, at("d1/f"), "1")
	until(t, s, "the file was made", holds(at("l1"), "1"))
	settle(t, h, s)
	write(t, at("d2/f"), "2")
	symlink(t, "d2", at("new"))
	rename(t, at("new"), at("l3"))
	until(t, s, "the last link was replaced", holds(at("l1"), "2"))
	settle(t, h, s)
	write(t, at("d1/f"), "not ours now")
	silent(t, h, s)
	write(t, at("d2/f"), "3")
	woken(t, s)
	check(t, h)
	s.Close()
	empty(t, h)
}

func TestLoopsOfLinks(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	at := func(n string) string { return filepath.Join(dir, n) }
	symlink(t, "b", at("a"))
	symlink(t, "a", at("b"))
	symlink(t, "self", at("self"))
	symlink(t, "in/x", at("in"))
	symlink(t, "r2/y", at("r1"))
	symlink(t, "r1/x", at("r2"))
	symlink(t, ".", at("here"))
	s := watch(t, h, plain, at("a"), at("b"), at("self"), at("in"), at("a/f"), at("r1/f"), at("r2/f"), at("in/f"), at("here/here/here/f"))
	silent(t, h, s)
	write(t, at("f"), "1")
	until(t, s, "the file was made", holds(at("here/here/f"), "1"))
	settle(t, h, s)
	mkdir(t, at("d"))
	symlink(t, "d", at("new"))
	rename(t, at("new"), at("b"))
	write(t, at("d/f"), "1")
	until(t, s, "the loop was broken", holds(at("a/f"), "1"))
	settle(t, h, s)
	write(t, at("d/f"), "2")
	woken(t, s)
	check(t, h)
	s.Close()
	empty(t, h)
}

// Whichever of the links of a loop is replaced, all that lead there are followed.
func TestLoopBrokenAtEitherLink(t *testing.T) {
	for _, broken := range []string{"a", "b"} {
		t.Run(broken, func(t *testing.T) {
			dir := t.TempDir()
			h := newHost(t, Options{})
			at := func(n string) string { return filepath.Join(dir, n) }
			symlink(t, "b", at("a"))
			symlink(t, "a", at("b"))
			inA, inB := watch(t, h, plain, at("a/f")), watch(t, h, plain, at("b/f"))
			mkdir(t, at("d"))
			symlink(t, "d", at("new"))
			rename(t, at("new"), at(broken))
			settle(t, h, inA, inB)
			for i := range 3 {
				write(t, at("d/f"), fmt.Sprint(i))
				woken(t, inA)
				woken(t, inB)
				settle(t, h, inA, inB)
			}
			check(t, h)
			inA.Close()
			inB.Close()
			empty(t, h)
		})
	}
}

func TestTwoNamesOfOneDirectory(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	mkdir(t, real)
	symlink(t, "real", link)
	a, b := watch(t, h, plain, filepath.Join(real, "f")), watch(t, h, plain, filepath.Join(link, "f"))
	write(t, filepath.Join(link, "f"), "1")
	woken(t, a)
	woken(t, b)
	b.Close()
	settle(t, h, a)
	write(t, filepath.Join(link, "f"), "2")
	woken(t, a)
	a.Close()
	empty(t, h)

	a, b = watch(t, h, plain, filepath.Join(real, "f")), watch(t, h, plain, filepath.Join(link, "f"))
	a.Close()
	write(t, filepath.Join(real, "f"), "3")
	woken(t, b)
	rename(t, real, real+".old")
	mkdir(t, real)
	write(t, filepath.Join(real, "f"), "4")
	until(t, b, "the directory was replaced", holds(filepath.Join(link, "f"), "4"))
	check(t, h)
	b.Close()
	empty(t, h)
}

func TestTargetPath(t *testing.T) {
	dir := mustEval(t.TempDir())
	mkdir(t, filepath.Join(dir, "x/y/z"))
	mkdir(t, filepath.Join(dir, "at"))
	symlink(t, "../x/y", filepath.Join(dir, "at", "s"))
	at := filepath.Join(dir, "at")
	for target, want := range map[string]string{
		"f":                                filepath.Join(at, "f"),
		"./f/":                             filepath.Join(at, "f"),
		"../f":                             filepath.Join(dir, "f"),
		"s/../f":                           filepath.Join(dir, "x/f"), // as the kernel does it
		"none/../f":                        filepath.Join(at, "f"),
		"/abs//x":                          "/abs/x",
		"/":                                "/",
		"/..":                              "/",
		"../../../../../../../../../../..": "/",
	} {
		if got := targetPath(at, target); got != want {
			t.Errorf("%q leads to %q, not %q", target, got, want)
		}
	}
}
