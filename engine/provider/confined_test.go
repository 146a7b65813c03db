package provider_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// warden is a clerk that says which attributes are not for all users.
type warden struct {
	clerk
	shut []string
}

func (w warden) Confined(wanted provider.Record, attribute string) bool {
	wanted["name"] = "altered" // it belongs to the provider
	return slices.Contains(w.shut, attribute)
}

// filer is a clerk whose things are in files.
type filer struct {
	clerk
	path string
}

func (f filer) Files(provider.Record) []string { return []string{f.path} }

// changeOf runs a resource that wants a to be "topsecret" where it is "1", and returns the change as text.
func changeOf(t *testing.T, mk func() provider.Provider, recv map[string]*engine.Send) string {
	t.Helper()
	c := newCrew(t, simple(0), mk, "x=topsecret")
	defer c.end()
	c.fakes[0].SetRecv(recv)
	wantOuts(t, c.run(true), "changed")
	var out []string
	for _, ch := range c.fakes[0].Changes() {
		out = append(out, fmt.Sprintf("%s: %v -> %v", ch.Field, ch.From, ch.To))
	}
	for _, line := range c.fakes[0].Logs() {
		if strings.Contains(line, "topsecret") {
			out = append(out, "log: "+line)
		}
	}
	return strings.Join(out, "; ")
}

// TestConfinedChanges: a change shows its values, unless the provider or the file of the thing says that not all users may read them, or
// the value was received from a secret.
func TestConfinedChanges(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	must(t, os.Mkdir(folder, 0o700))
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chmod(path, mode))
		return path
	}
	for name, c := range map[string]struct {
		hire func(*stock) provider.Provider
		recv map[string]*engine.Send
		open bool
	}{
		"plain":             {func(s *stock) provider.Provider { return clerk{s} }, nil, true},
		"shut":              {func(s *stock) provider.Provider { return warden{clerk{s}, []string{"a"}} }, nil, false},
		"another is shut":   {func(s *stock) provider.Provider { return warden{clerk{s}, []string{"b"}} }, nil, true},
		"in a shut file":    {func(s *stock) provider.Provider { return filer{clerk{s}, file("shut", 0o640)} }, nil, false},
		"in an open file":   {func(s *stock) provider.Provider { return filer{clerk{s}, file("open", 0o644)} }, nil, true},
		"in no file":        {func(s *stock) provider.Provider { return filer{clerk{s}, filepath.Join(dir, "none")} }, nil, true},
		"in a folder":       {func(s *stock) provider.Provider { return filer{clerk{s}, folder} }, nil, true},
		"received":          {func(s *stock) provider.Provider { return clerk{s} }, map[string]*engine.Send{"a": {}}, true},
		"received a secret": {func(s *stock) provider.Provider { return clerk{s} }, map[string]*engine.Send{"a": {Secret: true}}, false},
	} {
		s := newStock("x")
		got := changeOf(t, func() provider.Provider { return s.hire(c.hire(s)) }, c.recv)
		if shown := strings.Contains(got, "topsecret"); shown != c.open || !strings.HasPrefix(got, "a: ") || c.open && got != "a: 1 -> topsecret" {
			t.Errorf("%s: %s", name, got)
		}
		if s.things["x"]["name"] != "x" || s.things["x"]["a"] != "topsecret" {
			t.Errorf("%s: it has set %v", name, s.things["x"])
		}
	}
}

// comparer is a clerk that compares by itself, and notes which attributes are secrets to it.
type comparer struct {
	clerk
	told map[string]bool
}

func (c comparer) InSync(_ context.Context, rt *provider.Runtime, _ provider.Name, attribute string, _, _ provider.Record) (provider.Answer, string, error) {
	c.told[attribute] = rt.IsSecret(attribute)
	return provider.Default, "", nil
}

// TestIsSecret: a provider that compares is told which values are secret though their attributes are not.
func TestIsSecret(t *testing.T) {
	for _, secret := range []bool{false, true} {
		s, told := newStock("x"), map[string]bool{}
		c := newCrew(t, simple(provider.CustomInSync), func() provider.Provider { return s.hire(comparer{clerk{s}, told}) }, "x=1")
		c.fakes[0].SetRecv(map[string]*engine.Send{"a": {Secret: secret}})
		wantOuts(t, c.run(false), "ok")
		if got, asked := told["a"]; !asked || got != secret {
			t.Errorf("secret %v: told %v", secret, told)
		}
		c.end()
	}
}

// TestExposes: the values of a thing in a file end up there.
func TestExposes(t *testing.T) {
	for name, c := range map[string]struct {
		mk     func(*stock) provider.Provider
		params []string
		want   string
	}{
		"in a file":    {func(s *stock) provider.Provider { return filer{clerk{s}, "/etc/x"} }, []string{"a"}, "/etc/x"},
		"no parameter": {func(s *stock) provider.Provider { return filer{clerk{s}, "/etc/x"} }, nil, ""},
		"in no file":   {func(s *stock) provider.Provider { return clerk{s} }, []string{"a"}, ""},
	} {
		s := newStock()
		k, err := provider.New(simple(0), func() provider.Provider { return c.mk(s) })
		must(t, err)
		r := k.New()
		r.SetName("x")
		must(t, schema.Set(r.(schema.Typed), "a", "1"))
		if path, mode := r.(declaration.Exposing).Exposes(c.params); path != c.want || mode != "" {
			t.Errorf("%s: %q %q", name, path, mode)
		}
	}
}
