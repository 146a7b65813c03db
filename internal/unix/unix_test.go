package unix_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestFindingD11Names: the files for Linux and those for all other systems declare the same names, so that what compiles on Linux compiles everywhere.
func TestFindingD11Names(t *testing.T) {
	linux, other := exported(t, "kernel_linux.go", "unix_linux.go"), exported(t, "kernel_other.go", "unix_other.go")
	for _, pair := range []struct {
		has, lacks []string
		files      string
	}{{linux, other, "*_other.go"}, {other, linux, "*_linux.go"}} {
		for _, name := range pair.has {
			if !slices.Contains(pair.lacks, name) {
				t.Errorf("%s lacks %s", pair.files, name)
			}
		}
	}
	if len(linux) < 100 {
		t.Errorf("only %d names were found", len(linux))
	}
}

// exported returns the exported names that files declare; methods are none.
func exported(t *testing.T, files ...string) (names []string) {
	t.Helper()
	var decls []ast.Decl
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		decls = append(decls, f.Decls...)
	}
	add := func(name string) {
		if ast.IsExported(name) {
			names = append(names, name)
		}
	}
	for _, decl := range decls {
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
