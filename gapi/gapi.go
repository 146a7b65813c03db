package gapi

import (
	"cmp"
	"context"
	"io"
	"iter"
	"log/slog"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/provenance"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/world"
)

// Frontend yields declared graphs.
type Frontend interface {
	// Graphs yields declared graphs, one after the other, each replacing the one
	// before. A yielded error (schema.Diagnostics where the input is bad) is
	// reported; the last good graph goes on, and so does the sequence. When the
	// sequence ends, no other graph will come. A graph with an Error among its
	// Problems is yielded like any other: Build refuses it, with everything else
	// that is wrong.
	//
	// The sequence ends soon after the context does, and everything it holds is
	// released when the loop over it ends. It is ranged over once, by one
	// goroutine, and may block for as long as the input does not change.
	Graphs(ctx context.Context, env Env) iter.Seq2[*Declared, error]
}

// Env is what a frontend gets from the program.
type Env struct {
	// Registry returns the kinds of the next graph, for those frontends that must know them. A
	// frontend asks for each graph, since kinds come and go. It is nil where the kinds are not known.
	Registry func() *engine.Registry
	Host     engine.Host  // for watching the input; may be nil with NoWatch
	NoWatch  bool         // yield what is there and end
	Hostname string       // of this machine
	World    world.World  // the store, for frontends whose graphs depend on it; nil for none
	Proves   bool         // what the store says of this host counts only under a lease of World; false where another process may hold it, as for a plan
	Logger   *slog.Logger // nil for none
	Stdin    io.Reader    // what an input named "-" reads; nil for an empty one

	// Reload, when not nil, delivers requests to read the input again at once, also
	// with NoWatch. Each such question is answered by the next yield: the graph,
	// whether it has changed or not, or the error why there is none. The sequence
	// then does not end by itself. The sender does not wait for a frontend that is
	// busy: one token in a channel of capacity one is enough. It is never closed.
	Reload <-chan struct{}

	// Before, when not nil, is called before the input is read because Reload asked. Its
	// error is yielded in place of a graph, and the input is not read. It may block.
	Before func(context.Context) error
}

// Kinds returns the kinds of the next graph, none where they are not known.
func (e Env) Kinds() *engine.Registry {
	if e.Registry == nil {
		return engine.NewRegistry()
	}
	return e.Registry()
}

// before calls Before, if there is one.
func (e Env) before(ctx context.Context) error {
	if e.Before == nil {
		return nil
	}
	return e.Before(ctx)
}

// Log returns the logger; without one, a logger that discards.
func (e Env) Log() *slog.Logger {
	if e.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.Logger
}

// Declared is one graph as a frontend read it.
type Declared struct {
	Name      string
	Comment   string
	Pos       schema.Pos // of the graph as a whole
	Noop      bool       // every resource only looks and reports
	Kinds     []KindDecl // that it names, where that may be done without a resource
	Resources []Declaration
	Edges     []EdgeDecl
	Collects  []CollectDecl // which resources of other hosts it takes over
	Origin    provenance.Origin

	// Authored, when not nil, says that people wrote it, in the notation of graphs: Build takes
	// words of other tools in it where their meaning is clear. It is OtherTools{}.
	Authored Vocabulary

	// Thorough has Build note every default that differs from another tool's, also
	// the harmless ones. It is for a caller that wants all notes on a graph.
	Thorough bool

	// Problems are what the frontend found wrong and could read past. Build
	// returns them with its own, and leaves out its own findings at the same
	// places, except for places of problems that name their Resource.
	Problems schema.Diagnostics

	// Partial says that something that belongs to the graph could not be read at
	// all, as Problems tell. Then a reference to a missing resource does not make a
	// finding.
	Partial bool

	// Part, when not nil, gives the graph in another way: by its difference to the graph before. Then the other lists are
	// empty. Complete returns the graph as a whole.
	Part *Part

	// Again says that the frontend yields another graph where this one is refused. A run does not end by such a refusal.
	Again bool

	// Done, when not nil, is called each time when the graph is in effect, or was refused, before the next graph is asked for.
	// It must not block.
	Done func(Outcome)
}

// Part is the difference between a graph and its predecessor in the same sequence. A caller that has put the predecessor into
// effect may alter just the part; all others take the whole. A Part is never altered.
type Part struct {
	Resources []Declaration // new or altered resources; a faulty one that is not Optional makes the caller take the whole
	Removed   []string      // ids of resources of the graph before that this one does not have
	All       bool          // everything may differ: only the whole counts

	// Whole makes the whole graph, at the cost of that. It is callable at any time, from any goroutine, and does not block.
	Whole func() *Declared
}

// Complete returns the graph as a whole: d itself, unless that is given as a Part.
func (d *Declared) Complete() *Declared {
	if d == nil || d.Part == nil {
		return d
	}
	whole := *d.Part.Whole()
	whole.Again, whole.Done, whole.Origin = d.Again, d.Done, d.Origin
	return &whole
}

// IDs returns the ids that the lists of a graph declare, as they are written: without a target in their names.
func (d *Declared) IDs() map[string]bool {
	ids := make(map[string]bool, len(d.Resources))
	for i := range d.Resources {
		ids[d.Resources[i].ID()] = true
	}
	return ids
}

// ID returns the id of a resource as it is declared, without a target in its name.
func (d *Declaration) ID() string {
	kind, name := d.Kind, d.Name
	if d.Res != nil {
		kind, name = cmp.Or(kind, d.Res.Kind()), cmp.Or(name, d.Res.Name())
	}
	return idOf(kind, name)
}

// KindDecl is a kind that is named, whether there is a resource of it or not.
type KindDecl struct {
	Kind string
	Pos  schema.Pos
}

// Declaration is one resource as it was declared.
type Declaration struct {
	Kind, Name            string
	Pos, KindPos, NamePos schema.Pos

	// Value is the map of the parameters, without the name and the keys of
	// schema.ReservedKeys; nil for none. The key comment is free text where the
	// kind has no field of that name.
	Value *schema.Node

	// Res is a resource made in Go. It is used as it is, and must be used by one
	// graph only. Kind and Name, if given, are set on it, and Value is decoded
	// into it. Its kind need not be registered.
	Res engine.Res

	// Optional says that the graph does not need the resource: where it has a fault, it is put aside with the optional
	// resources that depend on it, and the rest goes on. Declared.Done tells of it.
	Optional bool

	Collected bool // another host exports the resource

	Rests bool // it rests after its first success, as if hidden

	// Unread, when not empty, says which part of Value the frontend could not read, in words such as "the secret db/password".
	// The resource stays in the graph, does not run, and its state is unknown. Only a plan has such a resource.
	Unread string

	// Hidden are the secrets of which parts of Value were made. They are shown nowhere, also where another resource prints one.
	Hidden []schema.Secret

	Module string // the instance of a module that declares it, behind those around that: web.tls; empty for the graph itself

	// Proofs are those without which no run of the resource begins; see engine.MetaParams.
	Proofs []world.Proof

	// Wrong says that Problems tell what is wrong with Value: Build does not read it, and says nothing more of it.
	Wrong bool

	Meta    *schema.Node   // the map of metaparameters; nil for none
	Leaving engine.Leaving // counts where Meta says nothing of what becomes of the work

	Recv []RecvDecl // the values that the resource receives

	Before, Depend []RefDecl // edges from this to those; from those to this
	Notify, Listen []RefDecl // the same, with refresh
}

// RecvDecl is one received value.
type RecvDecl struct {
	Field string     // path of the parameter that receives
	From  schema.Ref // the sender, with the key that it sends
	Pos   schema.Pos

	Formula *resgraph.Formula // makes the parameter of what it receives, see resgraph.Wire; nil for none
	Source  *schema.Node      // of a formula: the parameter with its expressions, for a frontend that writes graphs; nil where it has variables
}

// RefDecl is a reference to a resource.
type RefDecl struct {
	Ref schema.Ref // without a key
	Pos schema.Pos
}

// CollectDecl takes over the resources of a kind that hosts export. In a pattern, * stands for any
// characters, / too. An empty pattern fits everything; see lend.Fits.
type CollectDecl struct {
	Kind       string       // in lower case
	Name, From string       // patterns of the identities of resources, and of the names of hosts
	Fields     []string     // parameters that the other host decides, besides those that the kind lends; * for all
	Set        *schema.Node // a map of parameters that take the place of the exported ones; nil for none
	Pos        schema.Pos
}

// EdgeDecl is one edge that was declared by itself.
type EdgeDecl struct {
	Name     string // only shown; may be empty
	From, To EdgeEnd
	Pos      schema.Pos
	Notify   bool
}

// EdgeEnd is an end of an edge that was declared by itself: a resource, and its place in the file of the edge. A large graph has
// many, so it has neither a key nor the name of the file.
type EdgeEnd struct {
	Kind, Name string
	At         Place // zero for the place of the edge
}

// Place is a place in a file that is known.
type Place struct{ Line, Col int32 }

// EndOf returns the end of an edge that a reference names, at a place in the file of the edge.
func EndOf(r schema.Ref, pos schema.Pos) EdgeEnd {
	return EdgeEnd{Kind: r.Kind, Name: r.Name, At: Place{pos.Line, pos.Col}}
}

// Ref returns the resource.
func (e EdgeEnd) Ref() schema.Ref { return schema.Ref{Kind: e.Kind, Name: e.Name} }

// PosOf returns the place of one of its ends.
func (e *EdgeDecl) PosOf(end EdgeEnd) schema.Pos {
	if end.At.Line == 0 {
		return e.Pos
	}
	return schema.Pos{File: e.Pos.File, Line: end.At.Line, Col: end.At.Col}
}
