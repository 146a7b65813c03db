package kindtest

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Place is the folder of the test that runs, for providers that a suite makes. A
// suite makes its providers before it knows the folder of the test, and sets it
// later. It is safe for concurrent use.
type Place struct{ dir atomic.Pointer[string] }

// Set is called at the begin of each test, before a provider asks for a path.
func (p *Place) Set(dir string) { p.dir.Store(&dir) }

// Path returns the path of a file in the folder. Before Set it leads to a place that
// does not exist.
func (p *Place) Path(name string) string {
	if dir := p.dir.Load(); dir != nil {
		return filepath.Join(*dir, name)
	}
	return "/nowhere/" + name
}

// KindOf makes a kind whose provider is that of another folder in each test. make is
// called for each resource. The registry has that kind alone, so tests do not
// disturb each other.
func KindOf(t *testing.T, d provider.Definition, make func() provider.Provider) (*provider.Kind, *engine.Registry) {
	t.Helper()
	k, err := provider.New(d, make)
	if err != nil {
		t.Fatal(err)
	}
	r := engine.NewRegistry()
	if err := r.Register(k.Name(), k.New); err != nil {
		t.Fatal(err)
	}
	return k, r
}

// Filled returns a resource of a kind with these values. A key or a value that the
// type does not know fails the test.
func Filled(t *testing.T, k *provider.Kind, name string, values map[string]any) engine.Res {
	t.Helper()
	r := k.New()
	r.SetKind(k.Name())
	r.SetName(name)
	typed, ok := r.(schema.Typed)
	if !ok {
		t.Fatalf("a %T says nothing of its type", r)
	}
	for key, v := range values {
		if err := schema.Set(typed, key, v); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	return r
}

// Records are the records that a provider returns for names, or all. It reads the
// iterator to its end, so errors in the middle are all returned.
func Records(t *testing.T, p provider.Provider, names ...provider.Name) ([]provider.Record, []error) {
	t.Helper()
	var list []provider.Record
	var errs []error
	f := provider.Filter{All: len(names) == 0, Names: names}
	for r, err := range p.Get(t.Context(), &provider.Runtime{Log: provider.NewLogger(provider.LogOptions{})}, f) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, r)
	}
	return list, errs
}

// Edit is one change of a file by a resource of a kind, as a row of a table. Title
// is the name of the resource, and Name that of the subtest.
type Edit struct {
	Name, Title string
	Values      map[string]any
	File        string // below the folder of the test
	Before      string // its text; "-" for none
	Want        string // the text after
	Says        string // or a part of the error; then nothing is altered
}

// RunEdits makes the changes, each in a folder of its own that prepare has
// furnished. In values and before $DIR is that folder. Then nothing is left to be
// done. Each edit is checked twice: once applied, and once more to see that it finds
// nothing left. An edit with Says has to be refused and leaves every file as it is.
func RunEdits(t *testing.T, k *provider.Kind, prepare func(t *testing.T, dir string), edits []Edit, o ...enginetest.Option) {
	t.Helper()
	for _, e := range edits {
		t.Run(e.Name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(t, dir)
			in := func(s string) string { return strings.ReplaceAll(s, "$DIR", dir) }
			if e.Before != "-" {
				Lay(t, dir+"/"+e.File, in(e.Before))
			}
			values := map[string]any{}
			for key, v := range e.Values {
				if s, ok := v.(string); ok {
					v = in(s)
				}
				values[key] = v
			}
			r := Filled(t, k, in(e.Title), values)
			if e.Says != "" {
				if got := Refused(t, r, dir, o...); !strings.Contains(got, e.Says) {
					t.Errorf("it says %q", got)
				}
				return
			}
			f := Begin(t, k.Name(), r, o...)
			if got := Verbs(t, f, r, true); strings.HasPrefix(got, "error") {
				t.Fatal(got)
			}
			WantFile(t, dir+"/"+e.File, in(e.Want))
			Want(t, f, r, "")
		})
	}
}

// Refused returns the errors of a resource from Validate or, if that takes it, from
// a run of CheckApply, which has to leave the files below dir as they are. A
// resource that is accepted fails the test.
func Refused(t *testing.T, r engine.Res, dir string, o ...enginetest.Option) string {
	t.Helper()
	if err := r.Validate(); err != nil {
		return err.Error()
	}
	before := enginetest.Snapshot(t, dir)
	f := enginetest.NewInit(t, o...)
	if err := r.Init(f.Init()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Cleanup(); err != nil {
			t.Error(err)
		}
	}()
	ok, err := r.CheckApply(context.WithoutCancel(t.Context()), true)
	if err == nil {
		t.Errorf("it was taken: %t, %v", ok, f.Changes())
		return ""
	}
	if changed := before.Changed(enginetest.Snapshot(t, dir)); len(changed) > 0 {
		t.Errorf("refused, and altered: %q", changed)
	}
	return err.Error()
}
