package idl

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Marker is the path of the package with the markers Resource and NamedResource.
const Marker = "github.com/reactivegraph/mgmt/idl"

// The bounds of an input.
const (
	MaxFile  = 1 << 20 // bytes of a file
	MaxFiles = 10_000
	MaxText  = 64 << 10 // bytes of a constant
	maxParts = 200_000  // properties of all types, counted wherever a struct is used
)

// Options say how a folder is compiled.
type Options struct {
	Package string // begins every token: small letters, digits and -
	Root    string // the path by which Go imports the folder; PACKAGE/idl when empty
	Marker  string // the path of the markers; Marker when empty
	Tag     string // the key of the tags; lumi when empty
}

// packageName is what a token may begin with.
var packageName = lazyregexp.New(`^[a-z0-9][a-z0-9-]*$`)

// Compile compiles the definitions below the root of a file system. The package is nil where a
// finding is an error. The verbs of mgmt idl call it. It blocks while it reads, and stops
// between files when the context ends.
func Compile(ctx context.Context, root fs.FS, o Options) (*Package, schema.Diagnostics) {
	o.Root = cmp.Or(o.Root, path.Join(o.Package, "idl"))
	o.Marker = cmp.Or(o.Marker, Marker)
	o.Tag = cmp.Or(o.Tag, "lumi")
	c := &compiler{
		o: o, fset: token.NewFileSet(), folders: map[string]*folder{}, byObject: map[types.Object]*Decl{},
		refused: map[types.Object]bool{}, sizes: map[types.Object]constExpr{},
	}
	if !packageName.MatchString(o.Package) {
		c.found = append(c.found, schema.Diagnostic{Class: EPackage,
			Message: fmt.Sprintf("the package name %q is not made of small letters, digits and -; give one with --package", o.Package)})
	}
	c.load(ctx, root)
	c.check()
	p := &Package{Name: o.Package}
	for _, f := range c.order() {
		p.Modules = append(p.Modules, c.declare(f))
	}
	for _, f := range c.order() {
		c.properties(f)
	}
	c.collide(p)
	if c.found.Err() == nil {
		c.lowerAll(p)
	}
	c.found.Sort()
	if c.found.Err() != nil {
		return nil, c.found
	}
	return p, c.found
}

// compiler is one run of Compile.
type compiler struct {
	o        Options
	fset     *token.FileSet
	folders  map[string]*folder // by the path of import
	marker   *types.Package
	byObject map[types.Object]*Decl     // the declarations that were taken
	refused  map[types.Object]bool      // the types that were refused, and said so
	sizes    map[types.Object]constExpr // the text of each constant, for its length
	found    schema.Diagnostics
}

// order returns the folders that Go takes, by their path.
func (c *compiler) order() []*folder {
	var all []*folder
	for _, f := range c.folders {
		if f.checked != nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *folder) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// fail adds a finding. subject is the declaration or the property, such as S.A.
func (c *compiler) fail(class string, at token.Pos, subject, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if subject != "" {
		text = subject + ": " + text
	}
	c.found = append(c.found, schema.Diagnostic{Class: class, Pos: c.pos(at), Path: subject, Message: text})
}

// pos is a place in the files as they are: a comment can't move it.
func (c *compiler) pos(at token.Pos) schema.Pos {
	p := c.fset.PositionFor(at, false)
	return schema.Pos{File: p.Filename, Line: int32(p.Line), Col: int32(p.Column)}
}
