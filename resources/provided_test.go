package resources

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// place is the folder of the test that runs, for providers that a suite makes.
type place struct{ dir atomic.Pointer[string] }

func (p *place) set(dir string) { p.dir.Store(&dir) }

func (p *place) path(name string) string {
	if dir := p.dir.Load(); dir != nil {
		return filepath.Join(*dir, name)
	}
	return "/nowhere/" + name
}

// kindOf makes a kind whose provider is that of another folder in each test.
func kindOf(t *testing.T, d provider.Definition, make func() provider.Provider) (*provider.Kind, *engine.Registry) {
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

// filled returns a resource of a kind with these values.
func filled(t *testing.T, k *provider.Kind, name string, values map[string]any) engine.Res {
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

// provided are resources of all kinds that have a provider, about what is below dir.
func provided(t *testing.T, dir string) map[string]engine.Res {
	t.Helper()
	layHome(t, dir)
	layCrontab(t, dir)
	all := map[string]engine.Res{}
	for name, at := range map[string]func(*testing.T) (*provider.Kind, *place){"host": hostKindAt, "crontab": crontabKindAt, "apt_key": aptKindAt, "ssh_authorized_key": sshKindAt} {
		k, place := at(t)
		place.set(dir)
		all[name] = filled(t, k, strings.Repeat("A", 40), nil)
	}
	all["ini_setting"] = filled(t, iniKindHere(t), dir+"/a.ini [main] port", nil)
	return all
}

// lay writes a file, with the folders above it.
func lay(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantFile compares the text of a file.
func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is\n%s\nand not\n%s", path, got, want)
	}
}

// records are the records that a provider returns for names, or all.
func records(t *testing.T, p provider.Provider, names ...provider.Name) ([]provider.Record, []error) {
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

// edit is one change of a file by a resource of a kind.
type edit struct {
	name, title string
	values      map[string]any
	file        string // below the folder of the test
	before      string // its text; "-" for none
	want        string // the text after
	says        string // or what the error says; then nothing is altered
}

// runEdits makes the changes, each in a folder of its own that prepare has furnished.
// In values and before $DIR is that folder. Then nothing is left to be done.
func runEdits(t *testing.T, k *provider.Kind, prepare func(t *testing.T, dir string), edits []edit, o ...enginetest.Option) {
	t.Helper()
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			dir := t.TempDir()
			prepare(t, dir)
			in := func(s string) string { return strings.ReplaceAll(s, "$DIR", dir) }
			if e.before != "-" {
				lay(t, dir+"/"+e.file, in(e.before))
			}
			values := map[string]any{}
			for key, v := range e.values {
				if s, ok := v.(string); ok {
					v = in(s)
				}
				values[key] = v
			}
			r := filled(t, k, in(e.title), values)
			if e.says != "" {
				if got := refused(t, r, dir, o...); !strings.Contains(got, e.says) {
					t.Errorf("it says %q", got)
				}
				return
			}
			f := begin(t, k.Name(), r, o...)
			if got := verbs(t, f, r, true); strings.HasPrefix(got, "error") {
				t.Fatal(got)
			}
			wantFile(t, dir+"/"+e.file, in(e.want))
			want(t, f, r, "")
		})
	}
}

// refused returns the errors of a resource from Validate or, if that takes it, from a
// run of CheckApply, which has to leave the files below dir as they are.
func refused(t *testing.T, r engine.Res, dir string, o ...enginetest.Option) string {
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
