package integration_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
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

func newInfo() *types.Info {
	return &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
}

// fileOf returns the name of the file that a position is in.
func (c *checked) fileOf(pos token.Pos) string { return filepath.Base(c.fset.Position(pos).Filename) }

// checkTypes reads the types of the packages that a pattern names.
func checkTypes(t *testing.T, patterns ...string) map[string]*checked {
	t.Helper()
	exports := exportsOf(t, patterns...)
	all := map[string]*checked{}
	for _, p := range goList(t, patterns...) {
		c := &checked{fset: token.NewFileSet(), info: newInfo()}
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
// with all its fields, and so does a struct without a name; the methods of each are added to methods.
func fieldsOf(named *types.Named, methods map[string]bool, seen map[*types.Named]bool) (n int) {
	if seen[named] {
		return 0
	}
	seen[named] = true
	for m := range named.Methods() {
		methods[m.Name()] = true
	}
	if st, ok := named.Underlying().(*types.Struct); ok {
		return fieldsIn(st, named, methods, seen)
	}
	return 0
}

// fieldsIn counts the fields of a struct that stands in a type.
func fieldsIn(st *types.Struct, of *types.Named, methods map[string]bool, seen map[*types.Named]bool) (n int) {
	for f := range st.Fields() {
		inner, nameless := f.Type().(*types.Struct)
		switch part := partOf(f, of); {
		case part != nil:
			n += fieldsOf(part, methods, seen)
		case nameless:
			n += fieldsIn(inner, of, methods, seen)
		default:
			n++
		}
	}
	return n
}

// namedTypes returns the types that a package declares, those inside of functions too.
func (c *checked) namedTypes() (list []*types.Named) {
	for _, obj := range c.info.Defs {
		tn, ok := obj.(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		if named, ok := tn.Type().(*types.Named); ok { // else it is a parameter of a type
			list = append(list, named)
		}
	}
	return list
}

// oversized returns a line for each type of a package beyond the limits, and the most fields and methods.
func (c *checked) oversized(path string) (faults []string, mostFields, mostMethods int) {
	for _, named := range c.namedTypes() {
		methods := map[string]bool{}
		fields := fieldsOf(named, methods, map[*types.Named]bool{})
		if fields > maxFields {
			faults = append(faults, fmt.Sprintf("%s.%s has %d fields, at most %d are allowed", path, named.Obj().Name(), fields, maxFields))
		}
		if len(methods) > maxMethods {
			faults = append(faults, fmt.Sprintf("%s.%s has %d methods, at most %d are allowed", path, named.Obj().Name(), len(methods), maxMethods))
		}
		mostFields, mostMethods = max(mostFields, fields), max(mostMethods, len(methods))
	}
	slices.Sort(faults)
	return faults, mostFields, mostMethods
}

// partOf returns the struct of the same package that a field embeds, nil for none.
func partOf(f *types.Var, of *types.Named) *types.Named {
	at := types.Unalias(f.Type())
	if p, ok := at.(*types.Pointer); ok {
		at = types.Unalias(p.Elem())
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
		faults, fields, methods := c.oversized(path)
		for _, fault := range faults {
			t.Error(fault)
		}
		mostFields, mostMethods = max(mostFields, fields), max(mostMethods, methods)
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
	dirs := map[string]int{"engine/reactor": 100, "gapi/expand": 100} // and so many calls between files at least
	parts, err := os.ReadDir("../" + components)
	if err != nil || len(parts) < 6 {
		t.Fatalf("%d components, %v", len(parts), err)
	}
	for _, part := range parts {
		if dir := components + part.Name(); !slices.Contains(apart, dir) {
			dirs[dir] = 1
		}
	}
	for dir, least := range dirs {
		t.Run(dir, func(t *testing.T) { callersAbove(t, dir, least) })
	}
}

// callersAbove counts the calls of one package that go down and up. There must be some between files.
func callersAbove(t *testing.T, dir string, least int) {
	t.Helper()
	order := orderOf(t, filepath.Join("..", dir))
	c := checkTypes(t, "./"+dir)[dir]
	for _, f := range c.files {
		if _, ok := order[c.fileOf(f.Package)]; !ok {
			t.Errorf("doc.go does not name %s", c.fileOf(f.Package))
		}
	}
	between := c.between(order)
	for _, pos := range between.up {
		t.Logf("%s calls up", pos)
	}
	t.Log(between)
	if between.calls < least || between.tooMany() {
		t.Errorf("%s; at most %d %% may", between, maxUpward)
	}
}

// fileCalls are the calls between the files of a package, and the pairs of files that they connect.
type fileCalls struct {
	calls, pairs, upPairs int
	up                    []token.Position
}

func (f fileCalls) String() string {
	return fmt.Sprintf("%d of %d calls between files point up, and %d of %d pairs of files", len(f.up), f.calls, f.upPairs, f.pairs)
}

// tooMany reports whether more calls, or more pairs, point up than may.
func (f fileCalls) tooMany() bool {
	return 100*len(f.up) > maxUpward*f.calls || 100*f.upPairs > maxUpward*f.pairs
}

// between counts the calls between files, which have an order.
func (c *checked) between(order map[string]int) (all fileCalls) {
	pairs := map[[2]string]bool{} // whether the pair points up
	for _, f := range c.files {
		from := c.fileOf(f.Package)
		ast.Inspect(f, func(n ast.Node) bool {
			to := c.callee(n)
			if to == "" || to == from {
				return true
			}
			all.calls++
			pairs[[2]string{from, to}] = order[to] < order[from]
			if order[to] < order[from] {
				all.up = append(all.up, c.fset.Position(n.Pos()))
			}
			return true
		})
	}
	all.pairs = len(pairs)
	for _, pointsUp := range pairs {
		if pointsUp {
			all.upPairs++
		}
	}
	return all
}

// callee returns the file of the package in which the function stands that a node calls, "" for
// all else.
func (c *checked) callee(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
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

// checkText reads the types of a package of some files, by their names.
func checkText(t *testing.T, files map[string]string) *checked {
	t.Helper()
	c := &checked{fset: token.NewFileSet(), info: newInfo()}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(c.fset, name, files[name], 0)
		if err != nil {
			t.Fatal(err)
		}
		c.files = append(c.files, f)
	}
	var err error
	if c.types, err = new(types.Config).Check("p", c.fset, c.files, c.info); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestShapeIsCounted: the counting sees embedded structs, by another name too, structs without a name and types inside of
// functions, and tells of each that is too large.
func TestShapeIsCounted(t *testing.T) {
	c := checkText(t, map[string]string{"p.go": `package p
type base struct { a, b int }
func (base) one() {}
type also = base
type Whole struct { *base; c int; d struct { e, f int } }
type Other struct { also }
func (*Whole) two() {}
func f() { type inner struct { a, b, c, d, e, f, g int } }`})
	got := map[string][2]int{}
	for _, named := range c.namedTypes() {
		methods := map[string]bool{}
		n := fieldsOf(named, methods, map[*types.Named]bool{})
		got[named.Obj().Name()] = [2]int{n, len(methods)}
	}
	want := map[string][2]int{"base": {2, 1}, "Whole": {5, 2}, "Other": {2, 1}, "inner": {7, 0}}
	if !maps.Equal(got, want) {
		t.Errorf("fields and methods are %v, want %v", got, want)
	}
	for n, faults := range map[int]int{maxFields: 0, maxFields + 1: 1} {
		c := checkText(t, map[string]string{"p.go": "package p\ntype T struct { base; X [1]int }\ntype base struct {\n" + lines(n-1, "f%d int") + "}\n"})
		if got, _, _ := c.oversized("p"); len(got) != faults {
			t.Errorf("%d fields: %q", n, got)
		}
	}
	for n, faults := range map[int]int{maxMethods: 0, maxMethods + 1: 1} {
		c := checkText(t, map[string]string{"p.go": "package p\ntype T struct { *base }\ntype base struct{}\nfunc (T) m() {}\n" + lines(n-1, "func (base) m%d() {}")})
		if got, _, _ := c.oversized("p"); len(got) != faults {
			t.Errorf("%d methods: %q", n, got)
		}
	}
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

// TestCallsAreCounted: calls of functions and of methods count, generic ones too, by the files in which they are declared.
func TestCallsAreCounted(t *testing.T) {
	c := checkText(t, map[string]string{
		"a.go": "package p\ntype T[K any] struct{}\nfunc (T[K]) m() { low(); low() }\nfunc pair[A, B any]() {}",
		"b.go": "package p\nfunc low() { (T[int]{}).m(); pair[int, string](); deep() }\nfunc also() { low() }",
		"c.go": "package p\nfunc deep() {}",
	})
	got := c.between(map[string]int{"a.go": 0, "b.go": 1, "c.go": 2})
	if got.calls != 5 || len(got.up) != 2 || got.pairs != 3 || got.upPairs != 1 || !got.tooMany() {
		t.Errorf("%s, too many: %t", got, got.tooMany())
	}
	if got := c.between(map[string]int{"b.go": 0, "c.go": 1, "a.go": 2}); got.upPairs != 1 || len(got.up) != 2 {
		t.Errorf("in another order %s", got)
	}
	for up, bad := range map[int]bool{maxUpward: false, maxUpward + 1: true} {
		if got := (fileCalls{calls: 100, up: make([]token.Position, up), pairs: 1}); got.tooMany() != bad {
			t.Errorf("%s: %t", got, !bad)
		}
		if got := (fileCalls{calls: 1, pairs: 100, upPairs: up}); got.tooMany() != bad {
			t.Errorf("%s: %t", got, !bad)
		}
	}
}
