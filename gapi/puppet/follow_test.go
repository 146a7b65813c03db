package puppet_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/internal/await"
)

func catalogOf(title string) string { return source([]string{entry(1, "Thing", title, "")}) }

func write(t *testing.T, path, text string) {
	t.Helper()
	tmp := path + "~"
	must(t, os.WriteFile(tmp, []byte(text), 0o600))
	must(t, os.Rename(tmp, path))
}

// TestFollow: an edit is another graph, a bad one an error after which the next good
// one comes; what is asked for comes though it is the same.
func TestFollow(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), await.Left())
	defer stop()
	h, err := host.New(ctx, host.Options{})
	must(t, err)
	defer h.Close()
	path := filepath.Join(t.TempDir(), "c.json")
	write(t, path, catalogOf("one"))
	reload := make(chan struct{}, 1)
	steps := []struct {
		want string // the first resource, or the error
		next func()
	}{
		{"one", func() { write(t, path, "{") }},
		{path + ":1:2: this is no catalog: it ends too early", func() { write(t, path, catalogOf("two")) }},
		{"two", func() { reload <- struct{}{} }},
		{"two", func() { must(t, os.Remove(path)) }},
		{path + ": no such file or directory", func() { write(t, path, catalogOf("three")) }},
		{"three", nil},
	}
	at := 0
	for d, err := range puppet.New(path, puppet.Options{}).Graphs(ctx, gapi.Env{Host: h, Registry: func() *engine.Registry { return kinds }, Reload: reload}) {
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = d.Resources[0].Name
		}
		if got != steps[at].want {
			t.Fatalf("step %d: %q, want %q", at, got, steps[at].want)
		}
		if steps[at].next == nil {
			return
		}
		steps[at].next()
		at++
	}
	t.Fatalf("the sequence ended at step %d", at)
}

// waker is a host on which the test says when a file has changed.
type waker struct {
	engine.Host
	c chan struct{}
}

func (w waker) Watch(context.Context, []string, events.Options) (events.Subscription, error) {
	return w, nil
}
func (w waker) C() <-chan struct{}  { return w.c }
func (w waker) Cause() events.Cause { return events.Cause{} }
func (w waker) Close()              {}

// TestPatience: a file that is gone or empty for a moment only, as while an editor or
// a shell writes it anew, is no error.
func TestPatience(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	for name, away := range map[string]func(){
		"gone":  func() { must(t, os.Remove(path)) },
		"empty": func() { write(t, path, "") },
	} {
		t.Run(name, func(t *testing.T) {
			write(t, path, catalogOf("one"))
			synctest.Test(t, func(t *testing.T) {
				w := waker{c: make(chan struct{}, 1)}
				var got []string
				for d, err := range puppet.New(path, puppet.Options{}).Graphs(t.Context(), gapi.Env{Host: w, Registry: func() *engine.Registry { return kinds }}) {
					must(t, err)
					got = append(got, d.Resources[0].Name)
					if len(got) == 2 {
						break
					}
					away()
					w.c <- struct{}{}
					time.AfterFunc(4*puppet.DefaultSettle, func() {
						write(t, path, catalogOf("two"))
						w.c <- struct{}{}
					})
				}
				if strings.Join(got, " ") != "one two" {
					t.Error(got)
				}
			})
		})
	}
}

// one returns what a frontend yields once.
func one(t *testing.T, path string, o puppet.Options, stdin io.Reader) (string, error) {
	t.Helper()
	for d, err := range puppet.New(path, o).Graphs(t.Context(), gapi.Env{Registry: func() *engine.Registry { return kinds }, Stdin: stdin, NoWatch: true}) {
		if err != nil {
			return "", err
		}
		return d.Resources[0].Name, nil
	}
	return "", errors.New("nothing was yielded")
}

// TestSources: a file, standard input and a pipe are read; each that can't be says why.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.json")
	write(t, path, catalogOf("a"))
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	go func() {
		_, _ = io.WriteString(w, catalogOf("p"))
		_ = w.Close()
	}()
	small := puppet.Options{MaxBytes: 10}
	for _, c := range []struct {
		path  string
		opts  puppet.Options
		stdin io.Reader
		want  string
	}{
		{path, puppet.Options{}, nil, "a"},
		{"-", puppet.Options{}, strings.NewReader(catalogOf("s")), "s"},
		{"-", puppet.Options{}, r, "p"},
		{"-", puppet.Options{}, nil, "stdin:1:1: there is no catalog"},
		{dir, puppet.Options{}, nil, dir + ": it is a folder, and a catalog is one file"},
		{dir + "/none", puppet.Options{}, nil, dir + "/none: no such file or directory"},
		{path, small, nil, path + ":1:11: too big: a catalog may have 10 bytes; the setting max_graph_size allows more"},
		{"-", small, strings.NewReader(catalogOf("s")), "stdin:1:11: too big: a catalog may have 10 bytes; the setting max_graph_size allows more"},
	} {
		got, err := one(t, c.path, c.opts, c.stdin)
		if err != nil {
			if _, ok := errors.AsType[schema.Diagnostics](err); !ok {
				t.Errorf("%s: an error of type %T", c.path, err)
			}
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.path, got, c.want)
		}
	}
}
