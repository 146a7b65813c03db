package integration_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared are the names that the code declares.
type declared struct {
	names   map[string]bool // Name, package.Name and Type.Member, tests included
	folders map[string]bool // of packages, by path and by each end of it
	files   map[string]bool // by path and by name
}

// declarations reads the names of the whole module.
func declarations(t *testing.T) *declared {
	t.Helper()
	d := &declared{names: map[string]bool{}, folders: map[string]bool{}, files: map[string]bool{}}
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		d.files[name], d.files[path.Base(name)] = true, true
		for at := path.Dir(name); at != "."; at = path.Dir(at) {
			d.folders[at] = true
		}
		for end := path.Dir(name); ; {
			d.folders[end] = true
			_, rest, more := strings.Cut(end, "/")
			if end = rest; !more {
				break
			}
		}
		if strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/") {
			return d.read(file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// read takes the names of one file.
func (d *declared) read(file string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg := strings.TrimSuffix(f.Name.Name, "_test")
	d.names[pkg] = true
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.add(pkg, receiver(decl), decl.Name.Name)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					d.add(pkg, "", spec.Name.Name)
					d.members(pkg, spec)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						d.add(pkg, "", n.Name)
					}
				}
			}
		}
	}
	return nil
}

// members takes the fields and methods of a type.
func (d *declared) members(pkg string, spec *ast.TypeSpec) {
	var list *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, n := range field.Names {
			d.add(pkg, spec.Name.Name, n.Name)
		}
	}
}

func (d *declared) add(pkg, typ, name string) {
	d.names[name] = true
	if typ == "" {
		d.names[pkg+"."+name] = true
		return
	}
	d.names[typ+"."+name], d.names[pkg+"."+typ+"."+name] = true, true
}

// receiver returns the type of a method, without a star and parameters; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

var (
	codeFence   = regexp.MustCompile("(?s)```.*?```")
	backquoted  = regexp.MustCompile("`([^`\n]+)`")
	namedTest   = regexp.MustCompile(`\bTest[A-Z]\w*`)
	dottedName  = regexp.MustCompile(`^(\w+\.)+[A-Z]\w*$|^[A-Z]\w*\.\w+$`)
	namedFile   = regexp.MustCompile(`^[\w/]+\.go$`)
	namedFolder = regexp.MustCompile(`^(engine|gapi|graph|traits|resources|cmd|service|internal|integration|packaging)(/\w+)+$`)
	plainName   = regexp.MustCompile(`^\w+$`)
	walkPart    = regexp.MustCompile(`(?s)\n## (An edit|A part|A write|A refresh|A request).*?\n## `)
)

// toCome are packages that the page gives a place before they are there.
var toCome = []string{"engine/plugin"}

// TestNamesInArchitecture: each function, type, file, package and test that docs/ARCHITECTURE.md names is there. In its walks
// each single word in backquotes is such a name, too.
func TestNamesInArchitecture(t *testing.T) {
	raw, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := codeFence.ReplaceAllString(string(raw), "")
	d := declarations(t)
	checked := 0
	check := func(name string, there bool) {
		checked++
		if !there {
			t.Errorf("docs/ARCHITECTURE.md names %s, which is not there", name)
		}
	}
	for _, m := range backquoted.FindAllStringSubmatch(text, -1) {
		switch name := strings.TrimSuffix(m[1], "()"); {
		case namedFile.MatchString(name):
			check(name, d.files[name])
		case namedFolder.MatchString(name):
			check(name, d.folders[name] || d.files[name] || slices.Contains(toCome, name))
		case dottedName.MatchString(name):
			check(name, d.names[name])
		}
	}
	for _, name := range namedTest.FindAllString(text, -1) {
		check(name, d.names[name])
	}
	walks := walkPart.FindAllString(strings.ReplaceAll(text, "\n## ", "\n## \n## "), -1)
	if len(walks) != 5 {
		t.Errorf("%d walks were found", len(walks))
	}
	for _, w := range walks {
		for _, m := range backquoted.FindAllStringSubmatch(w, -1) {
			if plainName.MatchString(m[1]) {
				check(m[1], d.names[m[1]] || d.folders[m[1]])
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d names were found", checked)
	}
}
