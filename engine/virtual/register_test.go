package virtual_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// registered counts the runs of TestRegister: what is registered stays.
var registered atomic.Int32

// TestRegister: what is registered is there at once, made when somebody asks about it, and
// made once, also by those who have a clone.
func TestRegister(t *testing.T) {
	made, name := 0, fmt.Sprintf("put_off_%d", registered.Add(1))
	virtual.Register(name, func() (*virtual.Interface, []*virtual.Backend) {
		made++
		b := wireBackend()
		b.Module = ""
		return &virtual.Interface{Module: name, Functions: lampInterface.Functions}, []*virtual.Backend{b}
	})
	more := wireBackend()
	more.Name, more.Module = "more", name
	c, r := virtual.DefaultCatalog(), engine.NewRegistry()
	system := func(virtual.Facts) virtual.System { return virtual.System{} }
	if err := virtual.RegisterKind(r, c, name, system, func(k *virtual.Kind) virtual.Resource { return &lampRes{kind: k} }); err != nil {
		t.Fatal(err)
	}
	clone := c.Clone()
	if len(c.Orphans()) != 0 || made != 0 {
		t.Errorf("orphans %v, made %d times before anybody asked", c.Orphans(), made)
	}
	if err := clone.Add(more); err != nil {
		t.Fatal(err)
	}
	if n, m := len(clone.Backends(name)), len(c.Backends(name)); n != 2 || m != 1 || made != 1 {
		t.Errorf("%d backends in the clone, %d in the first one, made %d times", n, m, made)
	}
	if i, err := c.Interface(name); err != nil || i.Module != name {
		t.Error(i, err)
	}
	late := wireBackend()
	late.Name, late.Module = "late", name
	virtual.RegisterBackend(late)
	if n, m := len(c.Backends(name)), len(clone.Backends(name)); n != 2 || m != 2 {
		t.Errorf("%d backends with one that another package has registered, %d in the clone", n, m)
	}
	for how, wrong := range map[string]func(){
		"a backend twice": func() { virtual.RegisterBackend(late) },
		"twice":           func() { virtual.Register(name, nil) },
		"by another name": func() {
			virtual.Register("other_"+name, func() (*virtual.Interface, []*virtual.Backend) {
				return &virtual.Interface{Module: "its_name"}, nil
			})
			c.Backends("other_" + name)
		},
	} {
		if !panics(wrong) {
			t.Errorf("it is registered %s", how)
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}
