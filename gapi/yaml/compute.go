package yaml

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// mayCompute reports whether the text of a file may have an expression, also one whose dollar is written as an escape.
// It is a cheap test before the parser: a false alarm costs a tree, and a missed expression
// would be read as text. In double quotes, \x24 stands for the dollar.
func mayCompute(src []byte) bool {
	return bytes.Contains(src, []byte(expr.Open)) || bytes.Contains(src, []byte("24{{"))
}

// computes reports whether a document has anything to compute. The words when and for_each may belong to something else: then the document is
// looked at in vain.
// It is asked after the parser, of the whole document.
func computes(src []byte, root *schema.Node) bool {
	return expand.Needs(root) || mayCompute(src) || bytes.Contains(src, []byte("when")) || bytes.Contains(src, []byte("for_each"))
}

// computed returns the computation of this reading.
// It is made at the first document that computes, or when variables are set. A graph without
// expressions neither reads facts nor has a computation.
func (g *loading) computed() *expand.Graph {
	if g.graph == nil {
		facts := g.opts.Facts
		if facts == nil {
			// The caller has no Host, such as a verb that reads one graph.
			facts = func() map[string]any { return (&host.FactReader{Hostname: g.opts.Hostname}).Facts().Map() }
		}
		g.graph = expand.New(expand.Options{
			Facts: facts, Hosts: g.opts.Hosts, Scheduled: g.opts.Scheduled, Hostname: g.opts.Hostname, Kind: g.kindType, NoKind: g.noKind, Sends: g.sendsType, Vars: g.opts.Vars, VarFiles: g.opts.VarFiles, Parse: Document, Read: g.input, Branch: g.opts.Branch,
			Unseal: g.opts.Unseal, Program: g.opts.Program, Credentials: g.opts.Credentials, Secret: g.opts.Secret, Blind: g.opts.Blind,
			Memory: g.memory,
			Write:  func(v any) (string, error) { return dumped(node(v)) },
		})
	}
	return g.graph
}

// kindType returns the type of a kind, nil for an unknown one: Build says what is wrong with that.
// Types are looked up in the registry for each graph, since kinds may come and go.
func (g *loading) kindType(name string) *schema.Type {
	if g.opts.Registry == nil {
		return nil
	}
	k, err := g.opts.Registry().Kind(name)
	if err != nil {
		return nil
	}
	return k.Type
}

// noKind returns the error of an unknown kind, nil for any other kind.
func (g *loading) noKind(name string) *engine.UnknownKindError {
	if g.opts.Registry == nil {
		return nil
	}
	_, err := g.opts.Registry().Kind(name)
	unknown, _ := errors.AsType[*engine.UnknownKindError](err)
	return unknown
}

// sendsType returns the type of the values that a kind sends. It is nil for an unknown kind, and for a kind that sends nothing. Expressions with
// sent values are checked against it.
func (g *loading) sendsType(name string) *schema.Type {
	if g.opts.Registry == nil {
		return nil
	}
	k, err := g.opts.Registry().Kind(name)
	if err != nil {
		return nil
	}
	return k.Abilities.Sends
}

// enter takes a document that computes, and returns its includes.
// The variables and the data of the document count from here on. Included files come after it,
// so that an include may use a variable of the file that has it.
func (g *loading) enter(p *part) []include {
	x := g.computed()
	x.Enter(p.doc)
	if g.taken != nil {
		g.docs = append(g.docs, p.doc)
	}
	n := x.Include(p.doc)
	if n == nil {
		return nil
	}
	// A part of its own reads the computed list, for its findings.
	reader := part{file: p.file}
	reader.includeList(n)
	g.errs.Add(beyond(x.Findings(), reader.found.All())...)
	return reader.includes
}

// input reads a file that an expression or the key data names.
// The bound MaxBytes counts these files too, and the state has their sums: see compute.
func (g *loading) input(path string) ([]byte, error) {
	// Credentials are those of the host, also for a graph that came from elsewhere.
	credential := g.opts.Credentials != "" && filepath.Dir(path) == g.opts.Credentials
	if g.mem != nil && !credential {
		src, ok := g.mem[filepath.ToSlash(filepath.Clean(path))]
		if !ok {
			return nil, fmt.Errorf("%w%.0w", errElsewhere, fs.ErrNotExist) // a layer of data may be missing
		}
		return src, nil
	}
	// A deploy carries such a file, too.
	src, err := g.regular(path)
	if err == nil && g.taken != nil && !credential {
		g.taken(path, src)
	}
	return src, err
}

// compute replaces the parts that compute by their results. It notes their inputs: equal inputs make equal graphs.
// The order is part of the contract: first all variables, then the resources of each document,
// then the modules, then references. Only in that order is each name known when it is looked
// up.
func (g *loading) compute() {
	if g.graph == nil && len(g.opts.Vars)+len(g.opts.VarFiles) == 0 {
		return
	}
	x := g.computed()
	x.Start()
	for i, p := range g.parts {
		if p.doc == nil {
			continue
		}
		// The part is made anew, because the kept part has the document and serves the next
		// reading.
		out := &part{file: p.file, graph: x, before: g.items[p.file]}
		out.document(x.Expand(p.doc))
		g.keep(out)
		// A place with a fault of its text or of its computation gets no second finding.
		out.problems = append(slices.Clip(p.problems), beyond(append(slices.Clip(p.problems), x.Findings()...), out.found.All())...)
		g.parts[i] = out
	}
	// References are known when all resources are: those of modules come last.
	modules := g.modules(x)
	x.Finish()
	for _, p := range g.parts {
		marks := len(x.Proofs()) > 0 || x.Unread() != ""
		if p.doc == nil && g.items != nil && (len(modules) > 0 || x.LeavesOut() || marks) {
			p.resources = slices.Clone(p.resources) // the kept ones stay as they were read
		}
		for i := 0; p.doc == nil && marks && i < len(p.resources); i++ {
			r := &p.resources[i]
			r.Proofs, r.Unread = x.Proofs(), cmp.Or(r.Unread, x.Unread())
		}
	}
	for _, p := range g.parts {
		if p.doc == nil {
			p.wholeModules(modules)
			p.cutEdges(x)
		}
	}
	g.partial = g.partial || x.Lacking
	// Equal inputs are an equal state, and then Follow yields nothing.
	for _, f := range x.Files() {
		g.watched(f.Path)
		sum := sha256.Sum256(f.Src)
		g.mark("input", f.Path, sum)
		g.sums = append(g.sums, fileSum{f.Path, sum})
	}
	for _, sum := range x.Outputs() {
		g.mark("secrets of a program", "", sum)
	}
	g.mark("facts", "", x.Facts())
	if read := x.Store(); read != nil { // of a graph that asks the store for nothing, the state stays as it is
		g.mark("store", "", read)
	}
}

// keep has the next reading take the declarations of a file.
// For a caller that reads once it does nothing.
func (g *loading) keep(p *part) {
	if g.items != nil {
		g.items[p.file] = &readItems{p.items, p.resources}
	}
}

// Eval computes one expression with the facts, the variables and the data of the graph at a
// path. Without a path there is no graph. It is called by a verb that shows the value. Findings
// about the expression have the name expression for a file. A value that is made from a secret
// is refused by a finding.
func Eval(path string, o Options, stdin io.Reader, src string) (any, schema.Diagnostics) {
	g, x := started(path, o, stdin)
	dir := "."
	if path != "" {
		dir = filepath.Dir(path)
	}
	v, _ := x.Eval("expression", dir, src)
	return v, g.all(x)
}

// started reads the graph at a path, or none where the path is empty, as far as its variables and its data.
// No resource is computed, so a fault in one is not among the findings.
func started(path string, o Options, stdin io.Reader) (*loading, *expand.Graph) {
	l := newFiles(path, o, stdin)
	g := &loading{loader: l, ctx: context.Background(), left: l.max, found: map[string]schema.Pos{}, cache: map[string]cached{}}
	if path != "" {
		g.path(path, schema.Pos{})
	}
	x := g.computed()
	x.Start()
	return g, x
}

// all returns the findings about the files and about the values.
func (g *loading) all(x *expand.Graph) schema.Diagnostics {
	var found schema.Findings
	found.Add(g.errs.All()...)
	found.Add(x.Findings()...)
	return found.All()
}

// DataOf says where the value of a key of a graph's data is from.
// It is the answer of mgmt data explain.
type DataOf struct {
	// All layers, the most exact first; a layer without the key has no value.
	Sources []expand.Source
	// The way in which the layers are merged: first, deep or append.
	How string
	// The value after the merge.
	Value any
}

// ExplainData reads the data of the graph at a path as New does, and says where the value of
// one key comes from. A path of keys such as users.ann is a key, too. It is called by a verb.
func ExplainData(path string, o Options, stdin io.Reader, key string) (d DataOf, found schema.Diagnostics) {
	g, x := started(path, o, stdin)
	var ok bool
	d.Sources, d.How, d.Value, ok = x.ExplainData(key)
	found = g.all(x)
	if !ok {
		found = append(found, schema.Diagnostic{Message: "the data of the graph have no key " + strconv.Quote(key), Suggestion: x.NearData(key)})
	}
	return d, found
}

// cutEdges leaves out the references to resources that a condition has left out. A value that
// such a resource would send is an error. An order without one of its ends means nothing, so an
// author may name such a resource. A parameter without its value is a fault.
func (p *part) cutEdges(x *expand.Graph) {
	gone := func(r schema.Ref) bool { return x.LeftOut(r.ID()) }
	cut := func(list []gapi.RefDecl) []gapi.RefDecl { // wholeModules has made the list
		return slices.DeleteFunc(list, func(r gapi.RefDecl) bool { return gone(r.Ref) })
	}
	for i := range p.resources {
		d := &p.resources[i]
		d.Before, d.Depend, d.Notify, d.Listen = cut(d.Before), cut(d.Depend), cut(d.Notify), cut(d.Listen)
		// The list belongs to the kept declaration, too: see keep.
		d.Recv = slices.DeleteFunc(slices.Clone(d.Recv), func(r gapi.RecvDecl) bool {
			sender := schema.Ref{Kind: r.From.Kind, Name: r.From.Name}
			if !gone(sender) {
				return false
			}
			// The finding has the word that the author wrote.
			word := "recv"
			if r.Formula != nil {
				word = "sent"
			}
			p.problems = append(p.problems, schema.Diagnostic{Pos: r.Pos, Message: word + ": " + sender.ID() + " is left out by its condition, so it sends nothing"})
			d.Value = lacking(d.Value, r)
			return true
		})
	}
	p.edges = slices.DeleteFunc(p.edges, func(e gapi.EdgeDecl) bool { return gone(e.From.Ref()) || gone(e.To.Ref()) })
}

// lacking returns the parameters with null for a value that is not sent. It has the place of that fault, so Build does not tell the missing
// parameter as a second one.
func lacking(value *schema.Node, r gapi.RecvDecl) *schema.Node {
	out := schema.Node{Kind: schema.NodeMap, Pos: r.Pos}
	if value != nil {
		out = *value
	}
	out.Pairs = append(slices.Clip(out.Pairs), schema.Pair{Key: r.Field, Pos: r.Pos, Value: &schema.Node{Pos: r.Pos}})
	return &out
}
