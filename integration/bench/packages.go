package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/static"
	"github.com/reactivegraph/mgmt/resources/pkg"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
)

// It is about the number of packages in one role of a server.
// packages is the number of packages that become due at once.
const packages = 20

// packageTime is what a transaction of the package manager takes that is made up.
const packageTime = 100 * time.Millisecond

// packageRows are about the package manager. Packages that are due while a transaction runs make
// one transaction together; the package whose watch is armed first does not wait for that.
func packageRows() []row {
	return []row{
		{"20 packages installed", library, "a graph of them handed to Run, to converged; the calls of a package manager that is made up, of 100 ms each", "one transaction", packagesInstalled},
	}
}

// stubPackages is a package manager that counts its calls.
// It is a backend of the virtual module pkg in Go. Its methods may be called from several
// goroutines, so it locks.
type stubPackages struct {
	mu             sync.Mutex
	installed      map[string]string
	looks, changes int
}

// Looks counts how often the kinds ask: one reading must serve all twenty.
// list answers with what is installed, and counts the question.
func (s *stubPackages) list(context.Context, backends.NamesArgs) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return maps.Clone(s.installed), nil
}

// No name is provided by another package here.
// provided answers that packages have no other names.
func (s *stubPackages) provided(context.Context, backends.NamesArgs) (map[string][]string, error) {
	return map[string][]string{}, nil
}

// The lists of packages are always fresh, so refreshing costs no time.
// refresh answers that the lists are new.
func (s *stubPackages) refresh(context.Context, virtual.Nothing) (backends.Refreshed, error) {
	return backends.Refreshed{Fetched: true}, nil
}

// It holds the lock while it sleeps, as a real one keeps its database locked.
// install is one transaction. It takes the same time for one package as for twenty, so only their number counts.
func (s *stubPackages) install(_ context.Context, args backends.InstallArgs) (map[string]backends.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	time.Sleep(packageTime)
	changes := map[string]backends.Change{}
	for name := range args.Pkgs {
		s.installed[name] = "1"
		changes[name] = backends.Change{New: "1"}
	}
	return changes, nil
}

// Each run registers a backend under a name of its own, since a catalog takes a name
// once. Exactly one transaction is right, with all twenty in it.
// packagesInstalled counts the transactions of a graph of packages that are all missing.
func packagesInstalled(*bench) result {
	s := &stubPackages{installed: map[string]string{}}
	name := fmt.Sprintf("shelf%p", s) // of each run
	b := virtual.Native(name, func(context.Context, virtual.Env) (*stubPackages, error) { return s, nil },
		virtual.Func("list_installed", (*stubPackages).list), virtual.Func("provided", (*stubPackages).provided),
		virtual.Func("refresh_db", (*stubPackages).refresh), virtual.Func("install", (*stubPackages).install))
	b.Module = "pkg"
	must(virtual.DefaultCatalog().Add(b))
	var decls []gapi.Declaration
	for i := range packages {
		r := (&pkg.Res{}).Default().(*pkg.Res)
		r.MetaParams().Backend = name
		decls = append(decls, static.Declare("pkg", fmt.Sprintf("p%d", i), r))
	}
	begin := time.Now()
	run := start(static.New(&gapi.Declared{Name: "bench", Resources: decls}), mgmt.Options{})
	took := run.rest().Sub(begin)
	run.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return result{
		Figure: fmt.Sprintf("%s; %d transactions, %d looks", round(took), s.changes, s.looks),
		OK:     s.changes == 1 && len(s.installed) == packages,
	}
}
