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

// maxUpward is the percentage of the calls, and of the pairs of files, that may point up in a package.
const maxUpward = 15

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
	dirs := map[string]int{"gapi/expand": 100} // and so many calls between files at least
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

// TestReactorHasFloors: the files of the reactor have an order in which each stands above those whose functions it names, called or as a
// value; and nothing that the loop holds leads back to the loop.
func TestReactorHasFloors(t *testing.T) {
	c := checkTypes(t, "./engine/reactor")["engine/reactor"]
	below := map[string]map[string]bool{}
	for name, o := range c.info.Uses {
		from, fn := c.fileOf(name.Pos()), o
		if f, ok := fn.(*types.Func); !ok || f.Pkg() != c.types {
			continue
		}
		if below[from] == nil {
			below[from] = map[string]bool{}
		}
		below[from][c.fileOf(fn.Pos())] = true
	}
	if len(below) < 50 {
		t.Errorf("only %d files name functions of others", len(below))
	}
	if circle := circleOf(below); circle != nil {
		t.Errorf("these files name each other's functions: %s", strings.Join(circle, " > "))
	}
	for _, way := range c.waysTo("loop", "Reactor") {
		t.Errorf("%s leads back to the loop", way)
	}
}

// maxMethods bounds the methods of a type of cmd, with those of what it embeds. A verb with more has become the helper of other verbs.
const maxMethods = 25

// TestVerbsHaveFewMethods: a verb holds what it needs as fields, and inherits no methods of other verbs.
func TestVerbsHaveFewMethods(t *testing.T) {
	most := 0
	for path, c := range checkTypes(t, "./cmd/...") {
		scope := c.types.Scope()
		for _, name := range scope.Names() {
			if named, ok := scope.Lookup(name).(*types.TypeName); ok {
				n := types.NewMethodSet(types.NewPointer(named.Type())).Len()
				if most = max(most, n); n > maxMethods {
					t.Errorf("%s.%s has %d methods: give others what they need as a type of its own", path, name, n)
				}
			}
		}
	}
	if most < maxMethods/2 {
		t.Errorf("the most methods of a type are %d: the test does not see them", most)
	}
}

// circleOf returns files that name each other in a circle, nil for none.
func circleOf(below map[string]map[string]bool) (circle []string) {
	done := map[string]bool{}
	var visit func(way []string) bool
	visit = func(way []string) bool {
		last := way[len(way)-1]
		if at := slices.Index(way[:len(way)-1], last); at >= 0 {
			circle = way[at:]
			return true
		}
		for _, next := range slices.Sorted(maps.Keys(below[last])) {
			if next != last && !done[next] && visit(append(slices.Clip(way), next)) {
				return true
			}
		}
		done[last] = true
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(below)) {
		if !done[name] && visit([]string{name}) {
			return circle
		}
	}
	return nil
}

// waysTo returns the fields, of a struct of this package that the first type holds in some way, which are of one of these types.
func (c *checked) waysTo(names ...string) (ways []string) {
	seen := map[types.Type]bool{}
	var walk func(typ types.Type, way string)
	walk = func(typ types.Type, way string) {
		if named, ok := typ.(*types.Named); ok {
			if named.Obj().Pkg() != c.types || seen[typ] {
				return
			}
			if way != "" && slices.Contains(names, named.Obj().Name()) {
				ways = append(ways, way)
				return
			}
			seen[typ] = way != ""
			way = named.Obj().Name()
		}
		switch u := typ.Underlying().(type) {
		case *types.Struct:
			for f := range u.Fields() {
				walk(f.Type(), way+"."+f.Name())
			}
		case *types.Map:
			walk(u.Key(), way)
			walk(u.Elem(), way)
		case interface{ Elem() types.Type }:
			walk(u.Elem(), way)
		}
	}
	walk(c.types.Scope().Lookup(names[0]).Type(), "")
	return ways
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
