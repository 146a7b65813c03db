package expand

import (
	"maps"
	"slices"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// Document is one file of a graph.
type Document struct {
	File string // as findings name it
	Dir  string // what relative paths in it are relative to
	Src  []byte // for the places of findings inside of scalars
	Root *schema.Node

	lines []int // the offset of each line in Src, made when a place is asked for
}

// Bare returns the tree without the keys that a Graph reads, and with its expressions as they are written.
func (d *Document) Bare() *schema.Node {
	root := *d.Root
	root.Pairs = slices.DeleteFunc(slices.Clone(root.Pairs), func(p schema.Pair) bool { return slices.Contains(Keys, p.Key) })
	return &root
}

// Options of New.
type Options struct {
	// Facts returns the facts of the machine by name, as engine.Facts.Map gives them. A missing one is not known.
	Facts func() map[string]any

	// Hosts returns the facts of all hosts of the store by name. It is called where an expression reads them, and nil without a store.
	Hosts func() map[string]map[string]any
	// Scheduled returns the hosts that a schedule of a topic has chosen, sorted by name, and the lease that proves that this machine is one of them;
	// empty for no proof. It is nil without a store. Hostname is the name of this machine in the store; empty for the fact.
	Scheduled func(topic, name string) (hosts []string, lease string)
	Hostname  string

	// Kind returns the type of the resources of a kind, by its name in lower case. It is nil where the kinds are not known; so is its result.
	Kind func(name string) *schema.Type

	// NoKind returns the error of an unknown kind, by its name in lower case; nil for a known kind. It is nil where the kinds are not known.
	NoKind func(name string) *engine.UnknownKindError

	// Sends returns the type of what the resources of a kind send, by its name in lower case. It is nil, and so is its result, as with Kind.
	Sends func(name string) *schema.Type

	Vars     []Setting // in the order in which they count: the last one wins
	VarFiles []string  // files of variables, which count before Vars

	// Read returns the content of a file. It is called during New, Enter and Expand only.
	Read func(path string) ([]byte, error)

	// Parse reads one document of YAML.
	Parse func(file string, src []byte) (*schema.Node, schema.Diagnostics)

	// Unseal decrypts the value of a secret; nil without an identity. Its error has no part of the clear text.
	Unseal func(text string) (string, error)
	// Program runs a program that gives secrets, in a folder and with a standard input, and returns its output; nil where none may run. Its
	// error has no part of the output.
	Program func(dir string, stdin []byte, argv ...string) ([]byte, error)
	// Credentials is the folder with the credentials of systemd; empty for none.
	Credentials string
	// Secret, when not nil, has all secrets, and no source is asked. A test of a graph gives it.
	Secret func(name string) (string, bool)

	// Blind has a secret whose identity or credential is missing make an unknown value, and no error. The resource gets the
	// key Unread. So does one that depends on an answer of the store which is not there.
	Blind bool

	// Branch is told of each outcome of a condition, with its place; nil for none.
	Branch func(at schema.Pos, taken bool)

	// Memory keeps resources for the next computation of the same graph; nil for none.
	Memory *Memory

	// Write returns a plain value as a document of YAML; nil where there is no such function.
	Write func(v any) (string, error)
}

// Graph is one computation of a graph. Every document is entered before the first one is expanded. It is for one goroutine.
type Graph struct {
	*common // with its modules
	opts    Options

	vars     variables
	data     data
	defaults defaults

	keys    *keyring
	allowed bool     // a secret may stand in the text in hand
	touched bool     // the value in hand has read a secret
	hidden  []string // of the resource in hand: the secrets that were read
	unread  string   // of the resource in hand: the first secret that could not be read here; empty for none

	declared map[string]expr.Type // the names of the scope, once they are known
	scope    *expr.Scope          // of these names; nil before an expression needs it
	names    map[string]any
	compiled map[compiledKey]*text

	templates templates

	dir     string     // of the expression that is computed now
	escape  schema.Pos // of the first text with an escape
	sources bool       // there is an expression
	noting  *outcome   // of the entry in hand, where it may be kept; else nil
	Lacking bool       // a resource could not be computed, and is missing

	entered   []*Document
	instances instances
	named     map[string]*Instance // the same by their names
	some      bool                 // the scope has a part of them, see among
	parent    *Graph               // of a module: the graph that uses it; else nil
	instance  string               // of a module: its name there
	folder    string               // of a module
	given     variables            // of a module: its inputs
	proofs    proofs               // on which all of the graph depends
}

// common is what a graph shares with its modules.
type common struct {
	inputs  *inputs
	found   *findings
	late    *late
	store   *store
	made    map[string]made // the resources, by id
	leftOut map[string]bool // the resources that a condition has left out
	tainted bool            // an input or an output of a module is a secret
	entries int             // how many instances of modules there are, at any depth
	proved  proofs          // that the part in hand has read so far
}

// File is a file that was read in addition to the documents.
type File struct {
	Path string
	Src  []byte // nil where it could not be read
}

// Keys are the keys at the top of a document that Graph reads, and the frontend does not see.
var Keys = []string{"vars", "data", "defaults", "secrets", "use"}

// Needs reports whether a document has anything to compute.
func Needs(root *schema.Node) bool {
	for _, key := range Keys {
		if root.Get(key) != nil {
			return true
		}
	}
	return false
}

// New begins a computation.
func New(o Options) *Graph {
	return o.with(&common{
		inputs: newInputs(&o), found: newFindings(), late: &late{}, store: newStore(&o),
		made: make(map[string]made, o.Memory.resources()), leftOut: map[string]bool{},
	})
}

// with begins a computation that shares what another one has.
func (o Options) with(c *common) *Graph {
	return &Graph{
		opts: o, common: c, keys: &keyring{opts: &o, inputs: c.inputs, found: c.found}, vars: variables{}, defaults: defaults{},
		compiled: map[compiledKey]*text{}, given: variables{},
	}
}

// Enter takes the variables, the data and the defaults of a document.
func (g *Graph) Enter(d *Document) {
	g.inputs.docs[d.File] = d
	g.declared, g.scope = nil, nil
	g.entered = append(g.entered, d)
	for _, p := range d.Root.Pairs {
		switch p.Key {
		case "vars":
			g.vars.declare(p.Value, g.found)
		case "data":
			g.data.declare(d, p.Value, g.found)
		case "defaults":
			g.defaults.declare(p.Value, g.opts.NoKind, g.found)
		case "secrets":
			g.keys.declare(d, p.Value)
		}
	}
}

// Include returns the value of the key include of a document, with the expressions in it computed. The variables are those of the documents that
// were entered.
func (g *Graph) Include(d *Document) *schema.Node {
	n := d.Root.Get("include")
	if firstText(n, expr.Has) == nil {
		return n
	}
	// Variables of documents that come later are not known yet, so this is a computation of its own. Its findings about other documents are told
	// by the main one.
	opts := g.opts
	opts.Memory = nil
	early := New(opts)
	early.inputs, early.store, early.vars = g.inputs, g.store, maps.Clone(g.vars)
	for name, v := range g.vars {
		c := *v
		early.vars[name] = &c
	}
	early.ready()
	out, ok := early.top().node(n)
	g.proofs = g.proofs.with(early.proved...) // what is included depends on them, so all of the graph does
	for _, f := range early.found.All() {
		if !f.Pos.IsZero() && f.Pos.File == d.File {
			g.add(f)
		}
	}
	if !ok { // an empty optional includes nothing
		g.Lacking = g.Lacking || early.found.Errors() > 0
		return nil
	}
	return out
}

// Start ends the entering of documents: variables get their values, and layers of data are read.
func (g *Graph) Start() { g.ready() }

// Finish ends the computation, after each document was expanded. It warns of a graph whose only sign of an expression is the escape: its
// author may have meant those characters themselves.
func (g *Graph) Finish() {
	if m := g.opts.Memory; m != nil {
		m.end(g)
	}
	if g.escape.IsZero() || g.sources || len(g.vars)+len(g.data.layers)+len(g.defaults)+len(g.instances) > 0 {
		return
	}
	g.add(schema.Diagnostic{
		Severity: schema.Warning, Pos: g.escape, Message: "$${{ stands for the characters ${{ here; for the characters $${{ write $$${{",
	})
}

// Findings returns the faults that are known so far.
func (g *Graph) Findings() schema.Diagnostics { return g.found.All() }

// Facts returns the facts that were read, with their values. Where an expression has read them as a whole, they are all facts.
func (g *Graph) Facts() map[string]any {
	return g.inputs.factsOf(g.names["facts"].(map[string]any))
}

// Files returns the files that were read or looked for.
func (g *Graph) Files() []File { return g.inputs.files }

// LeftOut reports whether a condition has left out the resource of this id, and no other one has taken its place.
func (g *Graph) LeftOut(id string) bool { return g.leftOut[id] && g.made[id] == (made{}) }

// LeavesOut reports whether a condition has left out a resource.
func (g *Graph) LeavesOut() bool { return len(g.leftOut) > 0 }

// Expand returns the tree of a document without the keys that are computed.
func (g *Graph) Expand(d *Document) *schema.Node {
	root := *d.Root
	root.Pairs = make([]schema.Pair, 0, len(d.Root.Pairs))
	top := g.top()
	for _, p := range d.Bare().Pairs {
		switch {
		case g.parent != nil && slices.Contains(ModuleKeys, p.Key): // enterModule has read it
		case p.Key == "include": // Include has read it
		case p.Key == "edges" && p.Value.Kind == schema.NodeList:
			p.Value = g.edges(p.Value)
			root.Pairs = append(root.Pairs, p)
		case p.Key == "resources":
			if m := g.opts.Memory; m != nil && g.parent == nil {
				m.begin(g)
			}
			p.Value = g.resources(p.Value)
			root.Pairs = append(root.Pairs, p)
		default:
			if v, ok := top.node(p.Value); ok {
				p.Value = v
				root.Pairs = append(root.Pairs, p)
			}
		}
	}
	return &root
}

// edges returns the list of edges without the ones with a fault: half an edge would be a second one.
func (g *Graph) edges(n *schema.Node) *schema.Node {
	list := *n
	list.Items = make([]*schema.Node, 0, len(n.Items))
	top := g.top()
	for _, item := range n.Items {
		before := g.found.Errors()
		if out, ok := top.node(item); ok && g.found.Errors() == before {
			list.Items = append(list.Items, out)
		}
	}
	return &list
}

// ready computes the variables and the data, and makes the scope.
func (g *Graph) ready() {
	g.Lacking = !g.vars.apply(&g.opts, g.inputs, g.found) || g.Lacking
	facts := map[string]any{}
	if g.opts.Facts != nil {
		facts = g.opts.Facts()
	}
	// Data may be named by variables and facts, so it comes last.
	vars, types := map[string]any{}, map[string]expr.Type{}
	for name, v := range g.vars {
		vars[name], types[name] = v.value, v.typ
	}
	g.names = map[string]any{"facts": facts, "vars": vars, "hosts": func() any {
		all := g.store.all(facts)
		g.noteUnread(g.store.unread, "the hosts of the store")
		return all
	}}
	declared := map[string]expr.Type{"facts": factsType(), "vars": expr.Object("vars", types), "hosts": expr.MapOf(factsType())}
	g.scoped(declared)
	var values map[string]any
	var ok bool
	read := g.apart(func() { values, ok = g.data.load(g.inputs, g.found, g.pathOfLayer) })
	g.proofs = g.proofs.with(read...)
	g.Lacking = g.Lacking || !ok
	g.names["data"], declared["data"] = values, expr.MapOf(expr.Type{})
	g.scoped(declared)
	if g.parent != nil {
		g.nameModules(declared, g.instances)
	}
	g.useModules(declared)
}

// factsType is the type of facts.
func factsType() expr.Type {
	t, err := schema.Of(&engine.Facts{})
	if err != nil {
		panic(err) // a programmer's error, which any test shows
	}
	return expr.OfSchema("facts", t)
}

// pathOfLayer computes the path of a layer, which may name facts and variables. ok is false for one with a fault.
func (g *Graph) pathOfLayer(l layer) (path string, ok bool) {
	n, ok := g.top().needed(l.path, "a path of data.files")
	if !ok {
		return "", false
	}
	return within(l.doc.Dir, n.Text), true
}
