package yaml_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Who asks gets an answer at once, the same or not.
func TestReload(t *testing.T) {
	for name, noWatch := range map[string]bool{"watched": false, "not watched": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				path := write(t, dir, "g.yaml", graphSource("one"))
				reload := make(chan struct{}, 1)
				f := followEnv(t, path, gapi.Env{Host: &fakeHost{}, NoWatch: noWatch, Reload: reload})
				f.expect("one")
				start := time.Now()
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "one")
				write(t, dir, "g.yaml", graphSource("two"))
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "two")
				write(t, dir, "g.yaml", "resources: [")
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "error: expected a value")
				must(t, os.Remove(path))
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "error: no such file")
				if took := time.Since(start); took != 0 {
					t.Errorf("the answers took %s", took)
				}
				write(t, dir, "g.yaml", graphSource("three"))
				reload <- struct{}{}
				f.expect("three")
				f.end()
			})
		})
	}
}

// A question that comes while an edit settles is no second answer, and one while a
// file is gone for a moment is not lost.
func TestReloadWhileSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := write(t, dir, "g.yaml", graphSource("one"))
		host := &fakeHost{}
		reload := make(chan struct{}, 1)
		f := followEnv(t, path, gapi.Env{Host: host, Reload: reload})
		f.expect("one")

		write(t, dir, "g.yaml", graphSource("two"))
		host.touch()
		time.Sleep(yaml.DefaultSettle / 2)
		reload <- struct{}{}
		synctest.Wait()
		f.seenNow(t, "two")
		f.expect()

		must(t, os.Rename(path, path+"~"))
		host.touch()
		time.Sleep(2 * yaml.DefaultSettle)
		reload <- struct{}{}
		time.Sleep(2 * yaml.DefaultSettle)
		must(t, os.Rename(path+"~", path))
		f.expect("two")
		f.end()
	})
}

// When the files can't be watched any more, they can still be read.
func TestReloadUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		host := &fakeHost{}
		reload := make(chan struct{}, 1)
		f := followEnv(t, write(t, dir, "g.yaml", graphSource("one")), gapi.Env{Host: host, Reload: reload})
		f.expect("one")
		host.mu.Lock()
		host.err = unix.ENOSPC
		host.mu.Unlock()
		write(t, dir, "h.yaml", "graph: h\n")
		write(t, dir, "g.yaml", "include: [h.yaml]\n"+graphSource("two"))
		host.touch()
		f.expect("two", "error: not watched any more")
		reload <- struct{}{}
		f.expect("two")
		f.end()
	})
}

// What can be read only once says so each time, and the sequence goes on.
func TestReloadOfAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reload := make(chan struct{}, 1)
		f := followEnv(t, "-", gapi.Env{Stdin: strings.NewReader(graphSource("one")), Reload: reload})
		f.expect("one")
		for range 2 {
			reload <- struct{}{}
			f.expect("error: can't be read again")
		}
		f.end()
	})
}

// A first graph that can't be read ends the sequence as ever.
func TestReloadAfterABadStart(t *testing.T) {
	for _, noWatch := range []bool{false, true} {
		n := 0
		path := filepath.Join(t.TempDir(), "missing.yaml")
		env := gapi.Env{Host: &fakeHost{}, NoWatch: noWatch, Reload: make(chan struct{})}
		for _, err := range yaml.New(path, yaml.Options{}).Graphs(context.Background(), env) {
			if _, ok := err.(schema.Diagnostics); !ok {
				t.Errorf("%v", err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("yielded %d times", n)
		}
	}
}

// TestFindingD6BeforeReload: what is to be done before a reload can refuse it. The input is not read for it, and
// an edit that came at the same time is not lost.
func TestFindingD6BeforeReload(t *testing.T) {
	for name, noWatch := range map[string]bool{"watched": false, "not watched": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				path := write(t, dir, "g.yaml", graphSource("one"))
				host, reload := &fakeHost{}, make(chan struct{}, 1)
				var refusal error
				asked := 0
				before := func(context.Context) error { asked++; return refusal }
				f := followEnv(t, path, gapi.Env{Host: host, NoWatch: noWatch, Reload: reload, Before: before})
				f.expect("one")
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "one")
				refusal = errors.New("broken settings")
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "error: broken settings")
				if !noWatch {
					write(t, dir, "g.yaml", graphSource("two"))
					host.touch()
					time.Sleep(yaml.DefaultSettle / 2)
					reload <- struct{}{}
					f.expect("error: broken settings", "two")
				}
				refusal = nil
				write(t, dir, "g.yaml", graphSource("three"))
				reload <- struct{}{}
				synctest.Wait()
				f.seenNow(t, "three")
				f.end()
				if want := map[bool]int{true: 3, false: 4}[noWatch]; asked != want {
					t.Errorf("asked %d times, want %d", asked, want)
				}
			})
		})
	}
}
