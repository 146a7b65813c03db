package idl

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// declare reads the declarations of a folder. Types come first, since constants speak of them.
func (c *compiler) declare(f *folder) *Module {
	f.module = &Module{Dir: f.dir, Name: f.name, Path: f.path}
	for _, file := range f.files {
		file.out = &File{Path: file.name, Module: f.module}
		f.module.Files = append(f.module.Files, file.out)
		for _, d := range file.syntax.Decls {
			c.declareTypes(f, d)
		}
	}
	counted := map[types.Object]int{} // the constants of other types than enums
	for _, file := range f.files {
		for _, d := range file.syntax.Decls {
			c.declaration(f, file, d, counted)
		}
	}
	c.enums(f, counted)
	return f.module
}

// declareTypes enters the structs and the enums of a declaration, and refuses all other types.
func (c *compiler) declareTypes(f *folder, d ast.Decl) {
	gen, ok := d.(*ast.GenDecl)
	if !ok || gen.Tok != token.TYPE {
		return
	}
	for _, s := range gen.Specs {
		spec := s.(*ast.TypeSpec)
		object := f.info.Defs[spec.Name]
		if object == nil || spec.Name.Name == "_" {
			continue
		}
		if kind, ok := c.typeSpec(f, spec); ok && (kind != DeclEnum || c.plainGo(spec.Name)) {
			c.byObject[object] = &Decl{Kind: kind, Name: spec.Name.Name, Doc: docOf(spec.Doc, gen.Doc), Exported: spec.Name.IsExported(), Pos: c.pos(spec.Name.Pos())}
		} else {
			c.refused[object] = true
		}
	}
}

// docOf returns the text of the first comment that is there.
func docOf(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.TrimSpace(g.Text()); text != "" {
			return strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	return ""
}

// needed are the predeclared names that stubs use. A struct of such a name gets another one in stubs, see Decl.Lower.
var needed = strings.Fields("any bool error false float64 nil string true")

// plainGo refuses names that mean something else in stubs.
func (c *compiler) plainGo(id *ast.Ident) bool {
	if slices.Contains(needed, id.Name) {
		c.fail(EPredeclared, id.Pos(), id.Name, "Go has this name for something that the stubs need; choose another name")
		return false
	}
	return true
}

// typeSpec tells the kind of a type by its syntax. It says why it refuses one, but for a name
// of a basic type: enums speaks about that.
func (c *compiler) typeSpec(f *folder, spec *ast.TypeSpec) (DeclKind, bool) {
	at, name := spec.Name.Pos(), spec.Name.Name
	if spec.Assign.IsValid() {
		c.fail(EGoAlias, at, name, "a second name for a type is not supported; use the type itself")
		return 0, false
	}
	if spec.TypeParams != nil {
		c.fail(EBadTypedef, at, name, "a type with parameters is not supported; write a struct for each use")
		return 0, false
	}
	switch t := ast.Unparen(spec.Type).(type) {
	case *ast.StructType:
		return DeclStruct, true
	case *ast.MapType:
		c.fail(EAliasNotEnum, at, name, "only enums are names for other types; write the map where it is used")
	case *ast.ArrayType:
		if t.Len == nil {
			c.fail(EAliasNotEnum, at, name, "only enums are names for other types; write the list where it is used")
			return 0, false
		}
		c.fail(EBadTypedef, at, name, "a list of a fixed length is not supported; use a slice where it is needed, with minItems and maxItems")
	case *ast.Ident:
		basic, ok := c.basic(f, t)
		switch {
		case ok && basic.Kind() == types.String:
			return DeclEnum, true
		case ok || f.info.Uses[t] == nil: // see enums; or Go has refused it
		default:
			c.fail(EBadTypedef, at, name, "a type made from another one is not supported; use %s, or write a struct of its own", t.Name)
		}
	default:
		c.fail(EBadTypedef, at, name, "only structs and enums are types of definitions; an enum is made from string")
	}
	return 0, false
}

// basic returns the predeclared type that a name stands for.
func (c *compiler) basic(f *folder, id *ast.Ident) (*types.Basic, bool) {
	object, ok := f.info.Uses[id].(*types.TypeName)
	if !ok || object.Pkg() != nil {
		return nil, false
	}
	basic, ok := types.Unalias(object.Type()).(*types.Basic)
	return basic, ok
}

// declaration enters types and constants into their file, in the order of the source.
func (c *compiler) declaration(f *folder, file *parsed, d ast.Decl, counted map[types.Object]int) {
	gen, ok := d.(*ast.GenDecl)
	if !ok {
		fn, ok := d.(*ast.FuncDecl)
		if ok {
			c.fail(EToplevelFunc, fn.Name.Pos(), funcName(fn), "definitions have no functions; write it next to the generated pack, or in the provider")
		}
		return
	}
	var exprs []ast.Expr // of the constant before, which one without any repeats
	for _, s := range gen.Specs {
		switch spec := s.(type) {
		case *ast.TypeSpec:
			if decl := c.byObject[f.info.Defs[spec.Name]]; decl != nil {
				decl.File = file.out
				file.out.Decls = append(file.out.Decls, decl)
			}
		case *ast.ValueSpec:
			if len(spec.Values) > 0 {
				exprs = spec.Values
			}
			c.values(f, file, gen, spec, exprs, counted)
		}
	}
}

// funcName returns the name of a function, with the type of a method.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// values enters constants, and refuses variables.
func (c *compiler) values(f *folder, file *parsed, gen *ast.GenDecl, spec *ast.ValueSpec, exprs []ast.Expr, counted map[types.Object]int) {
	for i, id := range spec.Names {
		if gen.Tok == token.VAR {
			c.fail(EToplevelVar, id.Pos(), id.Name, "definitions have no variables; write a constant")
			continue
		}
		object, ok := f.info.Defs[id].(*types.Const)
		if !ok || id.Name == "_" || !c.plainGo(id) {
			continue
		}
		if i < len(exprs) {
			c.sizes[object] = constExpr{f, exprs[i]}
		}
		doc := docOf(spec.Doc, spec.Comment)
		if doc == "" && !gen.Lparen.IsValid() {
			doc = docOf(gen.Doc)
		}
		decl := &Decl{Kind: DeclConst, Name: id.Name, Doc: doc, Exported: id.IsExported(), File: file.out, Pos: c.pos(id.Pos())}
		if c.constant(f, decl, object, id, counted) {
			file.out.Decls = append(file.out.Decls, decl)
		}
	}
}

// constant reads the type and the value of a constant, and reports whether it is taken.
func (c *compiler) constant(f *folder, decl *Decl, object *types.Const, id *ast.Ident, counted map[types.Object]int) bool {
	if named, ok := types.Unalias(object.Type()).(*types.Named); ok {
		return c.enumConst(f, decl, object, named.Obj(), id, counted)
	}
	basic, ok := types.Unalias(object.Type()).(*types.Basic)
	if !ok || basic.Kind() == types.Invalid {
		return false
	}
	switch basic.Kind() {
	case types.Bool, types.UntypedBool:
		decl.Value = constant.BoolVal(object.Val())
	case types.String, types.UntypedString:
		return c.text(decl, object, id)
	case types.Float64, types.UntypedFloat, types.UntypedInt:
		n, _ := constant.Float64Val(constant.ToFloat(object.Val()))
		if n-n != 0 { // infinite
			c.fail(EConstType, id.Pos(), id.Name, "the number is beyond float64")
			return false
		}
		if written := c.written(object, n); !held(written, n) {
			c.fail(EConstType, id.Pos(), id.Name, "float64 does not hold the number %s, and the nearest one that it holds is %s; write that one, or the number as text",
				wholeText(written), strconv.FormatFloat(n, 'g', -1, 64))
			return false
		}
		decl.Value = n
	default:
		c.fail(EConstType, id.Pos(), id.Name, "a constant is a bool, a float64, a string or a member of an enum, not %s", basic.Name())
		return false
	}
	return true
}

// written returns the value of a constant before Go has brought it to its type. n is its value as a float64.
func (c *compiler) written(object *types.Const, n float64) constant.Value {
	from, ok := c.sizes[object]
	if !ok {
		return object.Val()
	}
	// The values that were recorded are rounded to the type of the constant. Alone, the expression has none.
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if types.CheckExpr(c.fset, from.f.checked, from.expr.Pos(), from.expr, info) != nil {
		return object.Val() // such as one with iota
	}
	v := info.Types[from.expr].Value
	if v == nil || v.Kind() != constant.Int && v.Kind() != constant.Float {
		return object.Val()
	}
	if m, _ := constant.Float64Val(constant.ToFloat(v)); m != n {
		return object.Val()
	}
	return v
}

// held reports whether n stands for the number v. A fraction is rounded, as everywhere in Go and JavaScript. A whole number stays what it
// is, where n is the same number, or where the usual notation of n is: 1e23 is no float64 either, but is printed as it was written.
func held(v constant.Value, n float64) bool {
	if v.Kind() == constant.Unknown { // Go has refused it
		return true
	}
	if n < 0 {
		v, n = constant.UnaryOp(token.SUB, v, 0), -n
	}
	if constant.ToInt(v).Kind() != constant.Int {
		return n != 0 || constant.Sign(v) == 0
	}
	return constant.Compare(constant.MakeFloat64(n), token.EQL, v) ||
		constant.Compare(constant.MakeFromLiteral(strconv.FormatFloat(n, 'g', -1, 64), token.FLOAT, 0), token.EQL, v)
}

// wholeText writes a number, with all digits where it is a whole one.
func wholeText(v constant.Value) string {
	if whole := constant.ToInt(v); whole.Kind() == constant.Int {
		return whole.ExactString()
	}
	return v.String()
}

// text reads a constant of text, within its bound.
func (c *compiler) text(decl *Decl, object *types.Const, id *ast.Ident) bool {
	if c.length(object, 0) > MaxText {
		c.fail(EConstType, id.Pos(), id.Name, "the text has more than %d bytes", MaxText)
		return false
	}
	decl.Value = strings.ToValidUTF8(constant.StringVal(object.Val()), "\uFFFD")
	return true
}

// constExpr is the expression of a constant, and the folder that it is in.
type constExpr struct {
	f    *folder
	expr ast.Expr
}

// length bounds the length of a constant from its expression. Go joins texts late, so a small
// file can stand for a text that no memory holds.
func (c *compiler) length(object *types.Const, depth int) int {
	from, ok := c.sizes[object]
	if !ok || depth > 100 {
		return 0
	}
	return c.exprLength(from, from.expr, depth)
}

// exprLength bounds the length of one expression. It stops at MaxText, so the sum of long texts
// does not overflow.
func (c *compiler) exprLength(from constExpr, e ast.Expr, depth int) int {
	switch x := e.(type) {
	case *ast.BasicLit:
		return len(x.Value)
	case *ast.ParenExpr:
		return c.exprLength(from, x.X, depth)
	case *ast.BinaryExpr:
		return min(MaxText+1, c.exprLength(from, x.X, depth)+c.exprLength(from, x.Y, depth))
	case *ast.CallExpr:
		if len(x.Args) == 1 {
			return c.exprLength(from, x.Args[0], depth)
		}
	case *ast.SelectorExpr:
		return c.exprLength(from, x.Sel, depth)
	case *ast.Ident:
		if object, ok := from.f.info.Uses[x].(*types.Const); ok && depth < 100 {
			n := c.length(object, depth+1)
			c.sizes[object] = constExpr{from.f, &ast.BasicLit{Value: strings.Repeat("x", min(n, MaxText+1))}} // so each is measured once
			return n
		}
	}
	return 0
}

// enumConst enters a constant of an enum.
func (c *compiler) enumConst(f *folder, decl *Decl, object *types.Const, of types.Object, id *ast.Ident, counted map[types.Object]int) bool {
	enum := c.byObject[of]
	switch {
	case of.Pkg() != f.checked:
		c.fail(EEnumForeign, id.Pos(), id.Name, "%s is an enum of another package, which has all its constants", of.Name())
		return false
	case enum == nil || enum.Kind != DeclEnum:
		counted[of]++
		if basic, ok := of.Type().Underlying().(*types.Basic); ok && basic.Kind() != types.String {
			c.fail(EEnumNotString, id.Pos(), id.Name, "an enum is made from string, not from %s", basic.Name())
		}
		return false
	case !c.text(decl, object, id):
		return false
	}
	for _, other := range enum.Values {
		if other.Value == decl.Value {
			c.found = append(c.found, schema.Diagnostic{Class: EEnumDuplicate, Pos: decl.Pos, Path: id.Name,
				Message: id.Name + ": the enum has this value already", Related: []schema.Related{{Pos: other.Pos, Message: "as " + other.Name}}})
			return false
		}
	}
	decl.Of = enum
	enum.Values = append(enum.Values, decl)
	return true
}

// enums refuses names for basic types without constants: they are not enums.
func (c *compiler) enums(f *folder, counted map[types.Object]int) {
	for _, file := range f.files {
		for _, d := range file.syntax.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, s := range gen.Specs {
				c.emptyEnum(f, s.(*ast.TypeSpec), counted)
			}
		}
	}
}

// emptyEnum judges one type. A constant with a fault of its own speaks for its type, so the
// type is not said again.
func (c *compiler) emptyEnum(f *folder, spec *ast.TypeSpec, counted map[types.Object]int) {
	object := f.info.Defs[spec.Name]
	decl := c.byObject[object]
	id, named := ast.Unparen(spec.Type).(*ast.Ident)
	if object == nil || !named || spec.Assign.IsValid() || spec.TypeParams != nil {
		return
	}
	_, basic := c.basic(f, id)
	if decl != nil && len(decl.Values) == 0 || decl == nil && basic && counted[object] == 0 {
		c.fail(EAliasNotEnum, spec.Name.Pos(), spec.Name.Name, "only enums are names for other types; make it from string and declare its constants, or use %s itself", id.Name)
		delete(c.byObject, object)
		c.refused[object] = true
	}
}

// token is the name of a resource everywhere: aws:ec2:SecurityGroup. The root folder is the
// module index.
func (c *compiler) token(f *folder, name string) string {
	dir := f.dir
	if dir == "." {
		dir = "index"
	}
	return strings.Join([]string{c.o.Package, path.Clean(dir), name}, ":")
}
