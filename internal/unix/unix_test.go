package unix_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestFindingD11Names: both files declare the same names, so that what compiles on Linux compiles everywhere.
func TestFindingD11Names(t *testing.T) {
	linux, other := exported(t, "unix_linux.go"), exported(t, "unix_other.go")
	for _, pair := range []struct {
		has, lacks []string
		file       string
	}{{linux, other, "unix_other.go"}, {other, linux, "unix_linux.go"}} {
		for _, name := range pair.has {
			if !slices.Contains(pair.lacks, name) {
				t.Errorf("%s lacks %s", pair.file, name)
			}
		}
	}
	if len(linux) < 100 {
		t.Errorf("only %d names were found", len(linux))
	}
}

// exported returns the exported names that a file declares; methods are none.
func exported(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string) {
		if ast.IsExported(name) {
			names = append(names, name)
		}
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add(n.Name)
					}
				}
			}
		}
	}
	return names
}
