package kindtest

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// OnMachine returns a registry whose virtual kinds believe the facts, and find those programs; every program if none is named. The registry of
// the program stays as it is. The programs need not exist, so a test of Debian runs
// everywhere.
func OnMachine(t testing.TB, facts virtual.Facts, programs ...string) *engine.Registry {
	t.Helper()
	has := func(p string) bool {
		return len(programs) == 0 || strings.Contains(" "+strings.Join(programs, " ")+" ", " "+p+" ")
	}
	r, err := virtual.Rebind(engine.DefaultRegistry(), virtual.DefaultCatalog(), func(virtual.Facts) virtual.System { return virtual.System{Facts: facts, Has: has} })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Loaded makes a valid resource, or fails the test unless Validate or, for the
// machine of its kind, CheckMachine says something with want in it. It returns the
// resource, which is not initialised, also where an error was wanted.
func Loaded[R engine.Res](t testing.TB, reg *engine.Registry, kind string, set func(R), want string) R {
	t.Helper()
	res, err := reg.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	res.SetName("it")
	r := res.(R)
	set(r)
	switch err := Judged(r); {
	case want == "" && err != nil:
		t.Errorf("%s: %v", kind, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want %s", kind, err, want)
	}
	return r
}

// Judged returns the error of Validate or, without one, of CheckMachine for the
// machine of the kind. A kind that is bound to no machine is judged on this one.
func Judged(r engine.Res) error {
	machine := host.MachineOf((&host.FactReader{}).Facts())
	if v, ok := r.(interface{ VirtualKind() *virtual.Kind }); ok && v.VirtualKind() != nil {
		machine = v.VirtualKind().System()
	}
	err := r.Validate()
	if c, ok := engine.As[engine.MachineCheckedRes](r); ok && err == nil {
		err = c.CheckMachine(machine)
	}
	return err
}
