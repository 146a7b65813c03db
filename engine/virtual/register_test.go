package virtual_test

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// TestRegister: what is registered is there at once, made when somebody asks about it, and
// made once, also by those who have a clone.
func TestRegister(t *testing.T) {
	made := 0
	virtual.Register("put_off", func() (*virtual.Interface, []*virtual.Backend) {
		made++
		b := wireBackend()
		b.Module = ""
		return &virtual.Interface{Module: "put_off", Functions: lampInterface.Functions}, []*virtual.Backend{b}
	})
	more := wireBackend()
	more.Name, more.Module = "more", "put_off"
	c, r := virtual.DefaultCatalog(), engine.NewRegistry()
	system := func() virtual.System { return virtual.System{} }
	if err := virtual.RegisterKind(r, c, "put_off", system, func(k *virtual.Kind) virtual.Resource { return &lampRes{kind: k} }); err != nil {
		t.Fatal(err)
	}
	clone := c.Clone()
	if len(c.Orphans()) != 0 || made != 0 {
		t.Errorf("orphans %v, made %d times before anybody asked", c.Orphans(), made)
	}
	if err := clone.Add(more); err != nil {
		t.Fatal(err)
	}
	if n, m := len(clone.Backends("put_off")), len(c.Backends("put_off")); n != 2 || m != 1 || made != 1 {
		t.Errorf("%d backends in the clone, %d in the first one, made %d times", n, m, made)
	}
	if i, err := c.Interface("put_off"); err != nil || i.Module != "put_off" {
		t.Error(i, err)
	}
	late := wireBackend()
	late.Name, late.Module = "late", "put_off"
	virtual.RegisterBackend(late)
	if n, m := len(c.Backends("put_off")), len(clone.Backends("put_off")); n != 2 || m != 2 {
		t.Errorf("%d backends with one that another package has registered, %d in the clone", n, m)
	}
	for name, wrong := range map[string]func(){
		"a backend twice": func() { virtual.RegisterBackend(late) },
		"twice":           func() { virtual.Register("put_off", nil) },
		"by another name": func() {
			virtual.Register("other_name", func() (*virtual.Interface, []*virtual.Backend) {
				return &virtual.Interface{Module: "its_name"}, nil
			})
			c.Backends("other_name")
		},
	} {
		if !panics(wrong) {
			t.Errorf("it is registered %s", name)
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}
