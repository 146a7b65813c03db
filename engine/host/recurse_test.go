package host

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
)

func TestRecursionMissesNothing(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	s := watch(t, h, recurse, dir)
	for i := range 200 {
		top := filepath.Join(dir, fmt.Sprint("a", i))
		file := filepath.Join(top, "b/c/f")
		mkdir(t, filepath.Dir(file))
		write(t, file, "x")
		until(t, s, "the file was made", exists(file))
		if i%10 == 0 {
			settle(t, h, s)
			write(t, file, "again")
			if c := woken(t, s); c.Path != file {
				t.Errorf("cause %+v", c)
			}
		}
		if i%2 == 0 {
			remove(t, top)
		}
	}
	check(t, h)
	s.Close()
	empty(t, h)
}

// In a burst, the last wake-up comes after the last change, for what the
// subscriber sees then; and all directories are watched in the end.
func TestRecursionInABurst(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	s := watch(t, h, recurse, dir)
	const rounds = 200
	for i := range rounds {
		deep := filepath.Join(dir, fmt.Sprint(i), "b/c")
		mkdir(t, deep)
		write(t, filepath.Join(deep, "f"), "x")
	}
	until(t, s, "all were made", func() bool {
		all, err := filepath.Glob(filepath.Join(dir, "*/b/c/f"))
		return err == nil && len(all) == rounds
	})
	settle(t, h, s)
	for i := range rounds {
		file := filepath.Join(dir, fmt.Sprint(i), "b/c/f")
		write(t, file, "y")
		woken(t, s)
		settleQuick(t, h, s)
	}
	check(t, h)
	remove(t, filepath.Join(dir, "0"))
	rename(t, filepath.Join(dir, "1"), filepath.Join(dir, "moved"))
	settle(t, h, s)
	write(t, filepath.Join(dir, "moved/b/c/f"), "z")
	if c := woken(t, s); c.Path != filepath.Join(dir, "moved/b/c/f") {
		t.Errorf("cause %+v", c)
	}
	check(t, h)
	s.Close()
	empty(t, h)
}

// settleQuick takes the wake-ups of one write, which is two events.
func settleQuick(t *testing.T, h *Host, s events.Subscription) {
	quiesce(h)
	drain(s)
}

func TestRecursionOverWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	mkdir(t, filepath.Join(dir, "x/y/z"))
	mkdir(t, filepath.Join(dir, "outside"))
	symlink(t, "../../outside", filepath.Join(dir, "x/y/link"))
	near := watch(t, h, plain, filepath.Join(dir, "x/y/z/f")) // its directories are known before
	s := watch(t, h, recurse, filepath.Join(dir, "x"))
	write(t, filepath.Join(dir, "outside/f"), "links are not followed down")
	silent(t, h, s)
	write(t, filepath.Join(dir, "x/y/z/f"), "x")
	woken(t, s)
	woken(t, near)
	near.Close()
	settle(t, h, s)
	write(t, filepath.Join(dir, "x/y/z/g"), "x")
	woken(t, s)
	settle(t, h, s)
	must(t, os.Chmod(filepath.Join(dir, "x"), 0o700))
	woken(t, s)
	check(t, h)
	s.Close()
	empty(t, h)
}

func TestRecursionBelowWhatIsMissingAndLinked(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	link := filepath.Join(dir, "link")
	s := watch(t, h, recurse, filepath.Join(link, "tree"))
	mkdir(t, filepath.Join(dir, "real/tree/a/b"))
	symlink(t, "real", link)
	write(t, filepath.Join(link, "tree/a/b/f"), "1")
	until(t, s, "the file was made", holds(filepath.Join(link, "tree/a/b/f"), "1"))
	settle(t, h, s)
	write(t, filepath.Join(link, "tree/a/b/f"), "2")
	woken(t, s)
	remove(t, filepath.Join(dir, "real/tree"))
	until(t, s, "all was removed", func() bool { return !exists(filepath.Join(link, "tree"))() })
	settle(t, h, s)
	mkdir(t, filepath.Join(dir, "real/tree/c/d"))
	settle(t, h, s)
	write(t, filepath.Join(link, "tree/c/d/f"), "3")
	woken(t, s)
	check(t, h)
	s.Close()
	empty(t, h)
}

func TestRecursionsOverlap(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	mkdir(t, filepath.Join(dir, "x/y/z"))
	outer, inner := watch(t, h, recurse, dir), watch(t, h, recurse, filepath.Join(dir, "x/y"))
	outer.Close()
	settle(t, h)
	write(t, filepath.Join(dir, "x/y/z/f"), "1")
	woken(t, inner)
	outer = watch(t, h, recurse, dir)
	inner.Close()
	settle(t, h, outer)
	write(t, filepath.Join(dir, "x/y/z/f"), "2")
	woken(t, outer)
	check(t, h)
	outer.Close()
	empty(t, h)
}

// A random sequence of changes, after each of which the hub must know the tree
// exactly as it is; and every file that is asked for must wake its subscription.
func TestHubKnowsTheTree(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { shuffle(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func shuffle(t *testing.T, r *rand.Rand) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	names := []string{"a", "b", "c"}
	path := func(depth int) string {
		p := dir
		for range depth {
			p = filepath.Join(p, names[r.IntN(len(names))])
		}
		return p
	}
	tree := watch(t, h, recurse, filepath.Join(dir, "a"))
	var subs []events.Subscription
	var files []string
	for range 10 {
		f := filepath.Join(path(1+r.IntN(3)), "f")
		files = append(files, f)
		subs = append(subs, watch(t, h, plain, f))
	}
	for range 30 {
		for range 1 + r.IntN(6) { // what fails, fails
			from, to := path(1+r.IntN(3)), path(1+r.IntN(3))
			switch r.IntN(6) {
			case 0, 1:
				_ = os.MkdirAll(from, 0o755)
			case 2:
				_ = os.RemoveAll(from)
			case 3, 4:
				_ = os.Rename(from, to)
			case 5:
				_ = os.Symlink(to, from)
			}
		}
		check(t, h)
		drain(tree)
		for i, s := range subs {
			drain(s)
			if os.WriteFile(files[i], []byte("x"), 0o644) == nil {
				woken(t, s)
			}
		}
	}
	tree.Close()
	for _, s := range subs {
		s.Close()
	}
	empty(t, h)
}

func TestManySubscriptionsAndAStorm(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	const n = 1000
	var subs []events.Subscription
	for i := range n {
		subs = append(subs, watch(t, h, plain, filepath.Join(dir, fmt.Sprint("d", i%10), fmt.Sprint(i))))
	}
	for i := range 10 {
		mkdir(t, filepath.Join(dir, fmt.Sprint("d", i)))
	}
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprint("d", i%10), fmt.Sprint(i)), "x")
	}
	for i, s := range subs {
		until(t, s, "the file was made", exists(filepath.Join(dir, fmt.Sprint("d", i%10), fmt.Sprint(i))))
	}
	if w := h.Stats().Watches; w > 20 {
		t.Errorf("%d watches for ten directories", w)
	}
	stop := storm(t, dir)
	var all sync.WaitGroup
	for _, s := range subs {
		all.Go(s.Close)
	}
	all.Wait()
	stop()
	empty(t, h)
}

// storm changes all sorts of things below dir until it is stopped.
func storm(t *testing.T, dir string) (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-done:
					return
				default:
				}
				d := filepath.Join(dir, fmt.Sprint("d", j%10))
				deep := filepath.Join(d, fmt.Sprint("s", i), "t")
				_ = os.MkdirAll(deep, 0o755)
				_ = os.WriteFile(filepath.Join(deep, "f"), nil, 0o644)
				_ = os.WriteFile(filepath.Join(d, fmt.Sprint(j%1000)), nil, 0o644)
				if j%7 == 0 {
					_ = os.Rename(d, d+".old")
					_ = os.RemoveAll(d + ".old")
				}
			}
		})
	}
	return func() { close(done); all.Wait() }
}

func TestHammer(t *testing.T) {
	dir := t.TempDir()
	h := newHost(t, Options{})
	stop := storm(t, dir)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 60 {
				o := []events.Options{plain, contents, recurse}[(i+j)%3]
				d := filepath.Join(dir, fmt.Sprint("d", j%10))
				s, err := h.Watch(t.Context(), []string{filepath.Join(d, "s0/t/f"), d}, o)
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case <-s.C():
					s.Cause()
				case <-time.After(time.Millisecond):
				}
				s.Close()
			}
		})
	}
	all.Wait()
	stop()
	empty(t, h)
}

func TestCloseDuringAStorm(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		h := newHost(t, Options{})
		for range 20 {
			watch(t, h, recurse, dir)
		}
		stop := storm(t, dir)
		closed := make(chan error, 1)
		go func() { closed <- h.Close() }()
		select {
		case err := <-closed:
			must(t, err)
		case <-time.After(patience):
			t.Fatal("it does not close")
		}
		stop()
	}
}
