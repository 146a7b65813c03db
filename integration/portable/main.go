// Command portable checks that the program compiles on the systems of those who write graphs, and vets it there:
//
//	go run ./integration/portable [SYSTEM/ARCHITECTURE...]
//
// It reads the types of the sources and of all that they import, and compiles nothing: half a minute for each system, where a compilation
// takes five on a new machine. It prints all that is wrong, and exits with 1 then. What calls the kernel goes through the package
// internal/unix, which has a file for the systems other than Linux.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	systems := os.Args[1:]
	if len(systems) == 0 {
		systems = []string{"linux/arm64", "darwin/arm64", "windows/amd64", "freebsd/amd64"}
	}
	var bad bool
	for _, system := range systems {
		// Beside the program, packages that tests of others use.
		err := check(".", system, "./cmd/mgmt", "./engine/world/memory", "./engine/world/worldtest", "./graph/graphtest", "./packaging/repository")
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: the program has to compile there; call the kernel through internal/unix\n%v\n", system, err)
			bad = true
		}
	}
	if bad {
		os.Exit(1)
	}
}

// check returns all that is wrong, on a system, with packages of the module in a folder and with those of it that they import.
func check(dir, system string, patterns ...string) error {
	goos, arch, _ := strings.Cut(system, "/")
	roots, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule,
		Dir:  dir,
		Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch),
	}, patterns...)
	if err != nil {
		return err
	}
	var errs []error
	var own []*packages.Package
	for p := range packages.Postorder(roots) {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
		if p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	found, err := checker.Analyze(vet.Suite, own, nil)
	if err != nil {
		return err
	}
	for _, a := range found.Roots {
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
		for _, d := range a.Diagnostics {
			errs = append(errs, fmt.Errorf("%s: %s", a.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	return errors.Join(errs...)
}
