package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/schema/idl"
)

// sdk is the path of the package with which providers are written.
const sdk = "github.com/reactivegraph/mgmt/provider"

// goStubs writes the stubs with the schema, so that both are of one state: one file for each
// file of definitions, and the schema of the provider.
func goStubs(p *idl.Package, o Options) (Files, error) {
	out, err := schemaFile(p, o)
	if err != nil {
		return nil, err
	}
	for _, f := range p.Files() {
		text, err := newStub(f, o).file()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		out[swap(f.Path, "_stub.go")] = text
	}
	return out, nil
}

// stub writes one file of Go. It is used once.
type stub struct {
	f       *idl.File
	o       Options
	taken   map[string]bool   // the names of the package
	imports map[string]string // names by path
	b       bytes.Buffer
}

// newStub knows all names of the package, since each file of it shares them.
func newStub(f *idl.File, o Options) *stub {
	w := &stub{f: f, o: o, taken: map[string]bool{}, imports: map[string]string{}}
	for _, file := range f.Module.Files {
		for _, d := range file.Decls {
			for _, name := range []string{d.Name, d.Lower(), d.Name + "Data", d.Name + "Provider", d.Name + "ProviderOps", "New" + d.Name + "Provider"} {
				w.taken[name] = true
			}
		}
	}
	return w
}

// use returns the name of an imported package, and imports it. A name that the package has gets
// an underscore.
func (w *stub) use(name, path string) string {
	if have, ok := w.imports[path]; ok {
		return have
	}
	for w.taken[name] {
		name += "_"
	}
	w.taken[name] = true
	w.imports[path] = name
	return name
}

// file writes the whole file, in the form of gofmt.
func (w *stub) file() ([]byte, error) {
	for _, d := range w.f.Decls {
		w.b.WriteString("\n")
		switch d.Kind {
		case idl.DeclEnum:
			comment(&w.b, "", d.Doc)
			fmt.Fprintf(&w.b, "type %s string\n", d.Name)
		case idl.DeclConst:
			w.constant(d)
		case idl.DeclStruct:
			w.structure(d)
		case idl.DeclResource:
			w.resource(d)
		}
	}
	var head bytes.Buffer
	head.WriteString(header("// ", w.f.Path))
	fmt.Fprintf(&head, "\npackage %s\n", w.f.Module.Name)
	if len(w.imports) > 0 {
		head.WriteString("\nimport (\n")
		std := true
		for _, at := range slices.SortedFunc(maps.Keys(w.imports), byOrigin) {
			if strings.Contains(at, ".") && std && len(w.imports) > 1 && w.imports["context"] != "" {
				head.WriteString("\n")
				std = false
			}
			name := w.imports[at] + " "
			if path.Base(at) == w.imports[at] {
				name = ""
			}
			fmt.Fprintf(&head, "\t%s%q\n", name, at)
		}
		head.WriteString(")\n")
	}
	return format.Source(append(head.Bytes(), w.b.Bytes()...))
}

// byOrigin sorts the standard library before others, as gofmt leaves it.
func byOrigin(a, b string) int {
	if x, y := strings.Contains(a, "."), strings.Contains(b, "."); x != y {
		return rank(x) - rank(y)
	}
	return strings.Compare(a, b)
}

// comment writes a comment of Go. A space stands before each line, so the go command obeys none
// of them. An empty text writes nothing.
func comment(b *bytes.Buffer, indent, text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if strings.TrimSpace(text) != "" {
			b.WriteString(strings.TrimRight(indent+"// "+line, " \t\r") + "\n")
		}
	}
}

// constant writes a constant with its type, so a number without a point stays a float64.
func (w *stub) constant(d *idl.Decl) {
	comment(&w.b, "", d.Doc)
	typ := ""
	if d.Of != nil {
		typ = " " + d.Of.Name
	}
	if _, ok := d.Value.(float64); ok {
		typ = " float64"
	}
	fmt.Fprintf(&w.b, "const %s%s = %s\n", d.Name, typ, goLiteral(d.Value))
}

// goLiteral writes a constant. The shortest text that reads back as the same number is enough.
func goLiteral(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// structure writes the struct that JSON fills, and a name for it that other packages see. An
// output is never required, since its value is unknown before the resource is made.
func (w *stub) structure(d *idl.Decl) {
	if d.Kind == idl.DeclStruct {
		comment(&w.b, "", d.Doc)
	} else {
		fmt.Fprintf(&w.b, "// %s has the properties of one %s.\n", d.Lower(), d.Name)
	}
	fmt.Fprintf(&w.b, "type %s struct {\n", d.Lower())
	if d.Named {
		w.b.WriteString("\t// The name of the resource, or another one that it was given.\n\tName *string `json:\"name,omitempty\"`\n")
	}
	for _, f := range d.Fields {
		comment(&w.b, "\t", f.Doc)
		pointer := ""
		if f.Pointer {
			pointer = "*"
		}
		option := ""
		if !f.Required() || f.In {
			option = ",omitempty"
		}
		fmt.Fprintf(&w.b, "\t%s %s%s `json:\"%s%s\"`\n", f.Name, pointer, w.shape(f.Shape), f.Key, option)
	}
	w.b.WriteString("}\n")
	if d.Exported {
		fmt.Fprintf(&w.b, "\n// %sData is the struct for other packages.\ntype %sData = %s\n", d.Name, d.Name, d.Lower())
	}
}

// shape writes a type of Go. Names of another module bring its import along.
func (w *stub) shape(s *idl.Shape) string {
	if s.Blob != "" {
		return w.use("idl", idl.Marker) + "." + s.Blob
	}
	switch t := s.Type; t.Kind {
	case schema.KindAny:
		return "any"
	case schema.KindBool:
		return "bool"
	case schema.KindFloat:
		return "float64"
	case schema.KindRef:
		return w.use("idl", idl.Marker) + ".URN"
	case schema.KindList:
		return "[]" + w.shape(s.Elem)
	case schema.KindMap:
		key := "string"
		if s.Keys != nil {
			key = w.qualified(s.Keys, s.Keys.Name)
		}
		return "map[" + key + "]" + w.shape(s.Elem)
	case schema.KindStruct:
		if s.Decl.File.Module == w.f.Module {
			return s.Decl.Lower()
		}
		return w.qualified(s.Decl, s.Decl.Name+"Data")
	}
	if s.Decl != nil {
		return w.qualified(s.Decl, s.Decl.Name)
	}
	return "string"
}

// qualified returns a name with that of its package, where it is another one.
func (w *stub) qualified(d *idl.Decl, name string) string {
	if d.File.Module == w.f.Module {
		return name
	}
	return w.use(d.File.Module.Name, w.stubsOf(d.File.Module)) + "." + name
}

// stubsOf is the path of the stubs of another module. They stand to each other as the
// definitions do.
func (w *stub) stubsOf(m *idl.Module) string { return path.Join(cmp.Or(w.o.Stubs, "provider"), m.Dir) }

// resource writes all parts of a resource: its token, its struct, the interface for its author,
// and its provider. The order is that of the design document.
func (w *stub) resource(d *idl.Decl) {
	fmt.Fprintf(&w.b, "// %s is the token of the type.\n", d.Name)
	comment(&w.b, "", d.Doc)
	fmt.Fprintf(&w.b, "const %s = %q\n\n", d.Name, d.Token)
	w.structure(d)
	w.ops(d)
	w.provider(d)
}

// ops writes the interface that the author implements. It is that of the package provider,
// written out: the author sees all methods with the own struct in one place.
func (w *stub) ops(d *idl.Decl) {
	ctx, lib, in := w.use("context", "context")+".Context", w.use("provider", sdk), "*"+d.Lower()
	fmt.Fprintf(&w.b, `
// %[1]sProviderOps is the work on a %[1]s. By convention, %[2]sProviderOpsImpl implements it.
type %[1]sProviderOps interface {
	// Check says what is wrong with inputs that fit the schema, and may fill in defaults.
	Check(ctx %[4]s, c *%[3]s.Call, in %[5]s) ([]%[3]s.Failure, error)
	// Diff says what a difference means; nil leaves that to the schema.
	Diff(ctx %[4]s, c *%[3]s.Call, old, new %[5]s) (*%[3]s.Difference, error)
	// Create makes the thing, sets c.ID, and returns inputs and outputs.
	Create(ctx %[4]s, c *%[3]s.Call, in %[5]s) (%[5]s, error)
	// Get returns the thing as it is, nil where there is none.
	Get(ctx %[4]s, c *%[3]s.Call, in %[5]s) (%[5]s, error)
	// Update changes the thing, and returns inputs and outputs.
	Update(ctx %[4]s, c *%[3]s.Call, old, new %[5]s) (%[5]s, error)
	// Delete removes the thing.
	Delete(ctx %[4]s, c *%[3]s.Call, old %[5]s) error
`, d.Name, idl.Property(d.Name), lib, ctx, in)
	if !d.Named {
		fmt.Fprintf(&w.b, "\t// Name is the name of the thing, since the type has no property for it.\n\tName(ctx %s, c *%s.Call, in %s) (string, error)\n", ctx, lib, in)
	}
	if d.Watch {
		fmt.Fprintf(&w.b, "\t%s.Watcher[%s]\n", lib, d.Lower())
	}
	if d.List {
		fmt.Fprintf(&w.b, "\t%s.Lister[%s]\n", lib, d.Lower())
	}
	if d.Batch > 0 {
		fmt.Fprintf(&w.b, "\t%s.Batcher[%s]\n", lib, d.Lower())
	}
	w.b.WriteString("}\n")
}

// provider writes the type that turns bags into structs and back. The package provider does the
// work, so a stub has little code that could be wrong.
func (w *stub) provider(d *idl.Decl) {
	ctx, lib := w.use("context", "context")+".Context", w.use("provider", sdk)
	own, given := "", "" // the work itself, where a method asks it
	if !d.Named {
		own, given = "\tops "+d.Name+"ProviderOps\n", ", ops"
	}
	fmt.Fprintf(&w.b, `
// %[1]sProvider serves %[1]s with the work of its author: bags become structs, and structs
// bags.
type %[1]sProvider struct {
	%[2]s.Resource
%[4]s}

// New%[1]sProvider returns what serves %[1]s, for Resources of a %[2]s.Provider.
func New%[1]sProvider(ops %[1]sProviderOps) *%[1]sProvider {
	return &%[1]sProvider{%[2]s.Typed[%[3]s](ops)%[5]s}
}
`, d.Name, lib, d.Lower(), own, given)
	if d.Named {
		fmt.Fprintf(&w.b, `
// Name returns the name of the thing: that of the resource, unless a name was given.
func (p *%[1]sProvider) Name(_ %[4]s, c *%[2]s.Call, in *%[3]s) (string, error) {
	if in.Name != nil {
		return *in.Name, nil
	}
	return c.Name, nil
}
`, d.Name, lib, d.Lower(), ctx)
	} else {
		fmt.Fprintf(&w.b, `
// Name asks the author for the name of the thing.
func (p *%[1]sProvider) Name(ctx %[4]s, c *%[2]s.Call, in *%[3]s) (string, error) {
	return p.ops.Name(ctx, c, in)
}
`, d.Name, lib, d.Lower(), ctx)
	}
	w.passOn(d, ctx, lib)
}

// passOn writes the methods that only some types have. An embedded interface would hide them.
func (w *stub) passOn(d *idl.Decl, ctx, lib string) {
	if d.Watch {
		fmt.Fprintf(&w.b, `
// Watch has the author tell of changes.
func (p *%[1]sProvider) Watch(ctx %[2]s, r *%[3]s.WatchRequest, running, changed func()) error {
	return p.Resource.(%[4]s.BagWatcher).Watch(ctx, r, running, changed)
}
`, d.Name, ctx, w.use("protocol", sdk+"/protocol"), lib)
	}
	if d.List {
		fmt.Fprintf(&w.b, `
// List has the author find all things of the type.
func (p *%[1]sProvider) List(ctx %[2]s, r *%[3]s.ListRequest) (*%[3]s.ListReply, error) {
	return p.Resource.(%[4]s.BagLister).List(ctx, r)
}
`, d.Name, ctx, w.use("protocol", sdk+"/protocol"), lib)
	}
	if d.Batch > 0 {
		fmt.Fprintf(&w.b, `
// Batch has the author do several calls as one.
func (p *%[1]sProvider) Batch(ctx %[2]s, calls []%[3]s.Call) []%[3]s.Outcome {
	return p.Resource.(%[4]s.BagBatcher).Batch(ctx, calls)
}
`, d.Name, ctx, w.use("protocol", sdk+"/protocol"), lib)
	}
}
