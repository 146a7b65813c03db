package integration_test

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of the reactor and of the packages below it. They are a ratchet: a change may
// lower them.
const (
	maxFields  = 32 // of one struct, its embedded structs included
	maxMethods = 75 // of one receiver, its embedded structs included
	maxUpward  = 15 // percent of the calls, and of the pairs of files, that point up
)

// checked is a package of this module with its types. Its tests are left out.
type checked struct {
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// fileOf returns the name of the file that a position is in.
func (c *checked) fileOf(pos token.Pos) string { return filepath.Base(c.fset.Position(pos).Filename) }

// checkTypes reads the types of the packages that a pattern names.
func checkTypes(t *testing.T, patterns ...string) map[string]*checked {
	t.Helper()
	exports := exportsOf(t, patterns...)
	all := map[string]*checked{}
	for _, p := range goList(t, patterns...) {
		c := &checked{fset: token.NewFileSet(), info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
		names, err := filepath.Glob(filepath.Join("..", p.ImportPath, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if ours, err := build.Default.MatchFile(filepath.Split(name)); err != nil || !ours {
				continue // of another system, or with another tag
			}
			f, err := parser.ParseFile(c.fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.files = append(c.files, f)
		}
		conf := types.Config{Importer: importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(exports[path])
		})}
		if c.types, err = conf.Check(p.ImportPath, c.fset, c.files, c.info); err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = c
	}
	return all
}

// exportsOf returns the files with the types of all packages that a pattern depends on.
func exportsOf(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, patterns...)...)
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	return exports
}

// fieldsOf counts the fields of a struct. A struct of the same package that it embeds counts
// with all its fields; the methods of each are added to methods.
func fieldsOf(named *types.Named, methods map[string]bool, seen map[*types.Named]bool) (n int) {
	if seen[named] {
		return 0
	}
	seen[named] = true
	for m := range named.Methods() {
		methods[m.Name()] = true
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		return 0
	}
	for f := range st.Fields() {
		if part := partOf(f, named); part != nil {
			n += fieldsOf(part, methods, seen)
		} else {
			n++
		}
	}
	return n
}

// partOf returns the struct of the same package that a field embeds, nil for none.
func partOf(f *types.Var, of *types.Named) *types.Named {
	at := f.Type()
	if p, ok := at.(*types.Pointer); ok {
		at = p.Elem()
	}
	part, ok := at.(*types.Named)
	if !ok || !f.Embedded() || part.Obj().Pkg() != of.Obj().Pkg() {
		return nil
	}
	if _, ok := part.Underlying().(*types.Struct); !ok {
		return nil
	}
	return part
}

// TestShapeOfTheEngine: no struct of the engine and of the frontends has too many fields, and no receiver too
// many methods.
func TestShapeOfTheEngine(t *testing.T) {
	all := checkTypes(t, "./engine/...", "./gapi/...")
	if len(all) < 2 || all["engine/reactor"] == nil || all["gapi/expand"] == nil {
		t.Fatalf("only %d packages were found", len(all))
	}
	mostFields, mostMethods := 0, 0
	for path, c := range all {
		if ofTests(path + "/") {
			continue // a suite of laws: its runner has a method for each of them
		}
		scope := c.types.Scope()
		for _, name := range scope.Names() {
			tn, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || tn.IsAlias() {
				continue
			}
			named := tn.Type().(*types.Named)
			methods := map[string]bool{}
			fields := fieldsOf(named, methods, map[*types.Named]bool{})
			if fields > maxFields {
				t.Errorf("%s.%s has %d fields, at most %d are allowed", path, name, fields, maxFields)
			}
			if len(methods) > maxMethods {
				t.Errorf("%s.%s has %d methods, at most %d are allowed", path, name, len(methods), maxMethods)
			}
			mostFields, mostMethods = max(mostFields, fields), max(mostMethods, len(methods))
		}
	}
	t.Logf("at most %d fields and %d methods", mostFields, mostMethods)
}

var goFile = regexp.MustCompile(`[a-z_]+\.go`)

// orderOf returns the files in the order in which the section Files of doc.go names them.
func orderOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, files, ok := strings.Cut(string(text), "// # Files\n")
	if !ok {
		t.Fatalf("%s/doc.go has no section Files", dir)
	}
	files, _, _ = strings.Cut(files, "// # ")
	order := map[string]int{}
	for _, name := range goFile.FindAllString(files, -1) {
		if _, twice := order[name]; twice {
			t.Errorf("doc.go names %s twice", name)
		}
		order[name] = len(order)
	}
	return order
}

// TestCallersStandAboveCallees: doc.go names every file of the package, and a call goes down in
// that order, with few exceptions.
func TestCallersStandAboveCallees(t *testing.T) {
	for _, dir := range []string{"engine/reactor", "gapi/expand"} {
		t.Run(dir, func(t *testing.T) { callersAbove(t, dir) })
	}
}

// callersAbove counts the calls of one package that go down and up.
func callersAbove(t *testing.T, dir string) {
	t.Helper()
	order := orderOf(t, filepath.Join("..", dir))
	c := checkTypes(t, "./"+dir)[dir]
	calls, up := 0, 0
	pairs := map[[2]string]bool{} // whether the pair points up
	for _, f := range c.files {
		from := c.fileOf(f.Package)
		if _, ok := order[from]; !ok {
			t.Errorf("doc.go does not name %s", from)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			to := c.callee(n)
			if to == "" || to == from {
				return true
			}
			calls++
			pairs[[2]string{from, to}] = order[to] < order[from]
			if order[to] < order[from] {
				up++
				t.Logf("%s calls up", c.fset.Position(n.Pos()))
			}
			return true
		})
	}
	upPairs := 0
	for _, pointsUp := range pairs {
		if pointsUp {
			upPairs++
		}
	}
	t.Logf("%d of %d calls between files point up; %d of %d pairs of files", up, calls, upPairs, len(pairs))
	if calls < 100 || 100*up > maxUpward*calls || 100*upPairs > maxUpward*len(pairs) {
		t.Errorf("%d of %d calls between files point up, and %d of %d pairs of files; at most %d %% may", up, calls, upPairs, len(pairs), maxUpward)
	}
}

// callee returns the file of the package in which the function stands that a node calls, "" for
// all else.
func (c *checked) callee(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	fun := ast.Unparen(call.Fun)
	if x, ok := fun.(*ast.IndexExpr); ok {
		fun = x.X
	}
	var name *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		name = fun
	case *ast.SelectorExpr:
		name = fun.Sel
	default:
		return ""
	}
	if fn, ok := c.info.Uses[name].(*types.Func); ok && fn.Pkg() == c.types {
		return c.fileOf(fn.Origin().Pos())
	}
	return ""
}

// TestShapeIsCounted: the counting sees embedded structs, and each call once.
func TestShapeIsCounted(t *testing.T) {
	fset := token.NewFileSet()
	const text = `package p
type base struct { a, b int }
func (base) one() {}
type Whole struct { *base; c int }
func (*Whole) two() { f() }
func f() { (*Whole).two(nil) }`
	f, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &checked{fset: fset, files: []*ast.File{f}, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	if c.types, err = new(types.Config).Check("p", fset, c.files, c.info); err != nil {
		t.Fatal(err)
	}
	methods := map[string]bool{}
	if n := fieldsOf(c.types.Scope().Lookup("Whole").Type().(*types.Named), methods, map[*types.Named]bool{}); n != 3 || len(methods) != 2 {
		t.Errorf("%d fields and %d methods, want 3 and 2", n, len(methods))
	}
	var calls []string
	ast.Inspect(f, func(n ast.Node) bool { calls = append(calls, c.callee(n)); return true })
	if calls = slices.DeleteFunc(calls, func(s string) bool { return s == "" }); len(calls) != 2 {
		t.Errorf("%d calls, want 2", len(calls))
	}
}
