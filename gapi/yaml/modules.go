package yaml

import (
	"path/filepath"
	"slices"

	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/expand"
)

// moduleKind is the kind of references that name a whole module.
const moduleKind = "module"

// modules adds the parts of the modules that a graph uses, and returns the resources of each one with those of the modules in it.
// It is called once, after the documents of the graph are expanded.
func (g *loading) modules(x *expand.Graph) map[*expand.Graph][]schema.Ref {
	// A module used twice is expanded twice: each instance has inputs of its own.
	instances := x.Instances()
	own := make(map[*expand.Graph][]schema.Ref, len(instances))
	for _, i := range instances {
		out := &part{file: i.Doc.File, graph: i.Graph}
		out.document(i.Graph.Expand(i.Doc))
		out.problems = beyond(x.Findings(), out.found.All())
		out.name, out.comment = "", "" // those of the graph count
		g.parts = append(g.parts, out)
		g.partial = g.partial || i.Graph.Lacking
		for j := range out.resources {
			d := &out.resources[j]
			d.Module = i.Graph.Path()
			own[i.Graph] = append(own[i.Graph], schema.Ref{Kind: d.Kind, Name: d.Name})
		}
	}
	// A caller that waits for a module waits for the modules in it, too.
	whole := make(map[*expand.Graph][]schema.Ref, len(instances))
	for _, i := range instances {
		whole[i.Graph] = slices.Clone(own[i.Graph])
		for _, inner := range i.Graph.Instances() {
			whole[i.Graph] = append(whole[i.Graph], own[inner.Graph]...)
		}
	}
	return whole
}

// wholeModules puts the resources of a module in the place of a reference to it. An edge between two modules becomes one between each two of their
// resources. A module without resources makes no edge.
// Two modules with n and m resources get n times m edges. It makes new lists, which cutEdges
// may alter.
func (p *part) wholeModules(modules map[*expand.Graph][]schema.Ref) {
	for i := range p.resources {
		d := &p.resources[i]
		for _, list := range []*[]gapi.RefDecl{&d.Before, &d.Depend, &d.Notify, &d.Listen} {
			var all []gapi.RefDecl
			for _, r := range *list {
				for _, ref := range p.meant(r.Ref, r.Pos, modules) {
					all = append(all, gapi.RefDecl{Ref: ref, Pos: r.Pos})
				}
			}
			*list = all
		}
	}
	var edges []gapi.EdgeDecl
	for _, e := range p.edges {
		for _, from := range p.meant(e.From.Ref(), e.PosOf(e.From), modules) {
			for _, to := range p.meant(e.To.Ref(), e.PosOf(e.To), modules) {
				one := e
				one.From.Kind, one.From.Name, one.To.Kind, one.To.Name = from.Kind, from.Name, to.Kind, to.Name
				edges = append(edges, one)
			}
		}
	}
	p.edges = edges
}

// meant returns the resources that a reference names: most often the one.
// An unknown name is a finding with the nearest known one, and stands for no resource.
func (p *part) meant(r schema.Ref, pos schema.Pos, modules map[*expand.Graph][]schema.Ref) []schema.Ref {
	// A file that does not compute has no key use, and a kind of its own may have this name.
	if r.Kind != moduleKind || p.graph == nil {
		return []schema.Ref{r}
	}
	i, near := p.graph.Instance(r.Name)
	if i == nil {
		p.problems = append(p.problems, schema.Diagnostic{Pos: pos, Message: "no module is called " + r.Name + " here: the key use names them", Suggestion: near})
		return nil
	}
	return modules[i.Graph]
}

// newLoading returns a loading that reads single files.
func newLoading(path string, o Options) *loading {
	return &loading{loader: newFiles(path, o, nil), left: o.maxBytes()}
}

// Module reads the description of the module in a folder.
// Its errors are findings with places in module.yaml; a missing file is one, too.
func Module(dir string, o Options) (expand.Description, schema.Diagnostics) {
	path := filepath.Join(dir, expand.ModuleFile)
	src, err := newLoading(path, o).regular(path)
	if err != nil {
		return expand.Description{}, schema.Diagnostics{{Pos: schema.Pos{File: path}, Message: safepath.WithoutPath(err).Error()}}
	}
	return ModuleText(path, src)
}

// ModuleText reads the description of a module in the text of its file. Findings name that
// file. Its resources are not computed.
func ModuleText(file string, src []byte) (expand.Description, schema.Diagnostics) {
	root, ds := Document(file, src)
	if ds.Err() != nil {
		return expand.Description{}, ds
	}
	if root == nil {
		return expand.Description{}, schema.Diagnostics{{Pos: schema.Pos{File: file}, Message: "the file is empty: the key module gives the name of the module"}}
	}
	return expand.Describe(&expand.Document{File: file, Dir: filepath.Dir(file), Src: src, Root: root}, expand.Options{Parse: Document})
}
