package idl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// folder is one package of Go while it is compiled.
type folder struct {
	dir, path string
	name      string // of the package
	files     []*parsed
	broken    bool // it can't be given to go/types
	checked   *types.Package
	info      *types.Info
	module    *Module
}

// parsed is one file.
type parsed struct {
	name   string // relative to the root
	syntax *ast.File
	out    *File
}

// load reads and parses the files.
func (c *compiler) load(ctx context.Context, root fs.FS) {
	files := 0
	err := fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir() && name != "." && (ignored(base) || base == "testdata" || base == "vendor"):
			return fs.SkipDir
		case e.IsDir() || ignored(base) || path.Ext(base) != ".go" || strings.HasSuffix(base, "_test.go"):
			return nil
		case files == MaxFiles:
			return fmt.Errorf("there are more than %d files", MaxFiles)
		}
		files++
		return c.file(root, name)
	})
	if err != nil {
		c.found = append(c.found, schema.Diagnostic{Class: EFile, Message: err.Error()})
	}
	if files == 0 && err == nil {
		c.found = append(c.found, schema.Diagnostic{Class: EFile, Message: "there is no .go file; name the folder of the definitions"})
	}
	for _, f := range c.folders {
		slices.SortFunc(f.files, func(a, b *parsed) int { return strings.Compare(a.name, b.name) })
	}
	c.mixed()
	c.cycles()
}

// ignored reports whether the go command passes over a name too.
func ignored(base string) bool { return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") }

// file reads one file. An error of it does not hide those of others.
func (c *compiler) file(root fs.FS, name string) error {
	info, err := fs.Stat(root, name)
	if err != nil {
		return err
	}
	if info.Size() > MaxFile {
		c.found = append(c.found, schema.Diagnostic{Class: EFile, Pos: schema.Pos{File: name},
			Message: fmt.Sprintf("the file has %d bytes, and may have %d; divide it", info.Size(), MaxFile)})
		return nil
	}
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	f := c.folderOf(path.Dir(name))
	syntax, err := parser.ParseFile(c.fset, name, text, parser.ParseComments|parser.SkipObjectResolution|parser.AllErrors)
	if err != nil {
		f.broken = true
		c.syntaxErrors(name, err)
		return nil
	}
	f.files = append(f.files, &parsed{name: name, syntax: syntax})
	c.constraints(syntax)
	if word := systemOf(path.Base(name)); word != "" {
		c.fail(EBuildConstraint, syntax.Package, "", "definitions are the same for all systems, and the go command takes a file with this name for %s alone; give the file another name", word)
	}
	if path.Base(name) == "index.go" {
		c.fail(EFileConflict, syntax.Package, "", "index.ts is the list of what the module exports; give the file another name")
	}
	return nil
}

// folderOf returns the folder at a place, and makes it at its first file.
func (c *compiler) folderOf(dir string) *folder {
	at := path.Join(c.o.Root, dir)
	if c.folders[at] == nil {
		c.folders[at] = &folder{dir: dir, path: at}
	}
	return c.folders[at]
}

// syntaxErrors takes the faults of a parser, one for each line.
func (c *compiler) syntaxErrors(name string, err error) {
	list, ok := errors.AsType[scanner.ErrorList](err)
	if !ok {
		c.found = append(c.found, schema.Diagnostic{Class: EGo, Pos: schema.Pos{File: name}, Message: err.Error()})
		return
	}
	line := 0
	for _, e := range list {
		if e.Pos.Line == line {
			continue // follows from the one before
		}
		line = e.Pos.Line
		c.found = append(c.found, schema.Diagnostic{Class: EGo, Message: "this is no Go: " + e.Msg,
			Pos: schema.Pos{File: name, Line: int32(e.Pos.Line), Col: int32(e.Pos.Column)}})
	}
}

// constraints refuses conditions of the build. They would hide types from the go command that
// are here.
func (c *compiler) constraints(f *ast.File) {
	for _, group := range f.Comments {
		for _, line := range group.List {
			if group.Pos() < f.Package && (constraint.IsGoBuild(line.Text) || constraint.IsPlusBuild(line.Text)) {
				c.fail(EBuildConstraint, line.Pos(), "", "definitions are the same for all systems; remove the constraint")
			}
		}
	}
}

// systems are the words at the end of the name of a file that have the go command take it for one system alone.
var systems = strings.Fields(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos
	386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64
	s390 s390x sparc sparc64 wasm`)

// systemOf returns the system that the name of a file stands for, empty for all: disk_windows.go gives windows. A name that is only
// such a word stands for all.
func systemOf(base string) string {
	base, _, _ = strings.Cut(base, ".")
	i := strings.LastIndex(base, "_")
	if i < 0 || !slices.Contains(systems, base[i+1:]) {
		return ""
	}
	return base[i+1:]
}

// mixed refuses folders with more than one package.
func (c *compiler) mixed() {
	for _, f := range c.folders {
		for _, file := range f.files {
			f.name = cmp.Or(f.name, file.syntax.Name.Name)
			if file.syntax.Name.Name != f.name {
				f.broken = true
				c.fail(EGo, file.syntax.Name.Pos(), "", "the package is %s here, and %s in %s; a folder has one package", file.syntax.Name.Name, f.name, f.files[0].name)
			}
		}
	}
}

// cycles refuses modules that import each other, and imports from elsewhere. It goes through
// the modules in the order of their paths, so the import that is blamed is always the same one.
func (c *compiler) cycles() {
	state := map[*folder]int{} // 1 while it is on the path, 2 afterwards
	var visit func(f *folder)
	visit = func(f *folder) {
		state[f] = 1
		for _, file := range f.files {
			for _, spec := range file.syntax.Imports {
				to := c.folders[importPath(spec)]
				switch {
				case to == nil:
					c.foreign(spec)
				case state[to] == 0:
					visit(to)
				case state[to] == 1:
					f.broken = true
					c.fail(EGo, spec.Pos(), "", "%s imports itself over %s; move the types that both use to a module of their own", to.path, f.path)
				}
			}
		}
		state[f] = 2
	}
	for _, at := range slices.Sorted(maps.Keys(c.folders)) {
		if f := c.folders[at]; state[f] == 0 {
			visit(f)
		}
	}
}

// foreign refuses an import from outside of the definitions. Types of other packages have no
// form in the targets.
func (c *compiler) foreign(spec *ast.ImportSpec) {
	if at := importPath(spec); at != c.o.Marker {
		c.fail(EImport, spec.Pos(), "", "a definition imports %s and modules below %s, not %q", c.o.Marker, c.o.Root, at)
	}
}

// importPath returns the path of an import. The parser has judged the quotes.
func importPath(spec *ast.ImportSpec) string {
	at, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return at
}

// markers is the package of the markers, as far as definitions see it.
const markers = `package idl
type Resource struct{}
type NamedResource struct{ Name *string }
type Asset struct{ Path, URI, Text *string }
type Archive struct{ Path, URI *string }`

// check gives the folders to go/types. A folder comes after all that it imports.
func (c *compiler) check() {
	syntax, err := parser.ParseFile(c.fset, "idl.go", markers, parser.SkipObjectResolution)
	if err != nil {
		panic(err) // the text above is at fault
	}
	c.marker, err = new(types.Config).Check(c.o.Marker, c.fset, []*ast.File{syntax}, nil)
	if err != nil {
		panic(err) // the text above is at fault
	}
	for _, at := range slices.Sorted(maps.Keys(c.folders)) {
		_, _ = c.Import(at) // the findings are kept
	}
}

// errImport says that an import was found to be wrong before.
var errImport = errors.New("this import was refused")

// Import implements types.Importer.
func (c *compiler) Import(at string) (*types.Package, error) {
	if at == c.o.Marker {
		return c.marker, nil
	}
	f := c.folders[at]
	if f == nil || f.broken {
		return nil, errImport
	}
	if f.checked == nil {
		c.types(f)
	}
	return f.checked, nil
}

// types checks the types of a folder. Bodies of functions are checked too: without them,
// go/types would not look for unused imports.
func (c *compiler) types(f *folder) {
	f.checked = types.NewPackage(f.path, f.name) // where go/types fails
	f.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	defer func() {
		if fault := recover(); fault != nil {
			c.fail(EGo, f.files[0].syntax.Package, "", "Go can't read the types of this package: %v", fault)
		}
	}()
	conf := types.Config{Importer: c, Error: func(err error) { c.typeError(f, err) }}
	var files []*ast.File
	for _, file := range f.files {
		files = append(files, file.syntax)
	}
	checked, _ := conf.Check(f.path, c.fset, files, f.info)
	f.checked = checked
}

// typeError takes a finding of go/types. A text with a tab at its begin goes on about the
// finding before it. Faults inside of a function are not said, since functions are refused as a
// whole.
func (c *compiler) typeError(f *folder, err error) {
	e, ok := errors.AsType[types.Error](err)
	switch {
	case !ok:
		c.fail(EGo, token.NoPos, "", "%v", err)
	case strings.HasPrefix(e.Msg, "\t") && len(c.found) > 0:
		last := &c.found[len(c.found)-1]
		last.Related = append(last.Related, schema.Related{Pos: c.pos(e.Pos), Message: strings.TrimSpace(e.Msg)})
	case strings.Contains(e.Msg, errImport.Error()): // said at the import already
	case f.inFunc(e.Pos):
	default:
		c.fail(EGo, e.Pos, "", "%s", e.Msg)
	}
}

// inFunc reports whether a place is in a function.
func (f *folder) inFunc(at token.Pos) bool {
	for _, file := range f.files {
		for _, d := range file.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= at && at < fn.End() {
				return true
			}
		}
	}
	return false
}
