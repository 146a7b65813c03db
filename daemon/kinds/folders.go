package kinds

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"

	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// documents reads the files of the folder of a setting. A finding about the folder as a whole gets the place of the setting.
func (l *loading) documents(setting, folder, form string, ours func(*schema.Node) bool) ([]*schema.Node, schema.Diagnostics) {
	nodes, ds := yaml.Documents(folder, yaml.Options{Source: l.Source, Ours: ours, Form: form})
	var named schema.Pos
	if l.Place != nil {
		named = l.Place(setting)
	}
	for i, d := range ds {
		if d.Pos.Line == 0 && d.Pos.File == folder && !named.IsZero() {
			ds[i].Related = append(d.Related, schema.Related{Pos: named, Message: "named here"})
		}
	}
	return nodes, ds
}

// read calls documents and keeps the findings.
func (l *loading) read(setting, folder, form string, ours func(*schema.Node) bool) []*schema.Node {
	nodes, ds := l.documents(setting, folder, form, ours)
	l.found.Add(ds...)
	return nodes
}

// loadBackends has the kinds choose among the backends of the folder too, and by the roles and the name of the machine.
func (l *loading) loadBackends() {
	if l.Backends == "" && l.Hostname == "" && len(l.Roles) == 0 && l.Machine == nil {
		l.set.backed = step{}
		return
	}
	var nodes []*schema.Node
	if l.Backends != "" {
		nodes = l.read("backends", l.Backends, "backend or interface", gapi.HasKey("name", "module", "command", "interface"))
		if l.found.Errors() > 0 {
			return
		}
	}
	// The facts of another machine are not compared, so its step is always made anew.
	if l.Machine != nil || !l.set.backed.madeOf(l.now, nodes) {
		c, ds := l.catalog(nodes)
		l.found.Add(ds...)
		if ds.Err() != nil {
			return
		}
		bound, err := virtual.Rebind(l.now, c, l.System())
		if err != nil {
			l.found.Errorf(schema.Pos{}, "%v", err)
			return
		}
		l.set.backed = step{from: l.now, nodes: nodes, kinds: bound, catalog: c}
	}
	l.now = l.set.backed.kinds
}

// catalog returns the backends of the program with those of files.
func (l *loading) catalog(nodes []*schema.Node) (c *virtual.Catalog, ds schema.Diagnostics) {
	c = cmp.Or(l.Catalog, virtual.DefaultCatalog()).Clone()
	for _, n := range nodes { // a backend refers to an interface, in whatever file
		if virtual.IsDeclaration(n) {
			ds = append(ds, declare(c, n)...)
		}
	}
	if len(nodes) == 0 {
		return c, ds
	}
	facts := l.System()(nil).Facts
	for _, n := range nodes {
		if !virtual.IsDeclaration(n) {
			ds = append(ds, addBackend(c, n, facts)...)
		}
	}
	return c, ds
}

// declare adds an interface that a file declares.
func declare(c *virtual.Catalog, n *schema.Node) schema.Diagnostics {
	i, ds := virtual.Declared(n)
	if ds.Err() == nil {
		if err := c.Declare(i); err != nil {
			ds.Errorf(n.At("interface").Pos, "%v", err)
		}
	}
	return ds
}

// addBackend adds a backend that a file describes. What its program lacks on this machine is a warning: it may be installed later.
func addBackend(c *virtual.Catalog, n *schema.Node, facts virtual.Facts) schema.Diagnostics {
	b, ds := virtual.External(n)
	if ds.Err() != nil {
		return ds
	}
	if _, err := c.Interface(b.Module); err != nil {
		ds.Errorf(n.At("module").Pos, "backend %s: %v", b.Name, err)
	} else if err := c.Add(b); err != nil {
		ds.Errorf(n.At("name").Pos, "backend %s: %v", b.Name, err)
	}
	for _, f := range b.Lint(facts) {
		ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Pos: n.At(f.Key).Pos, Message: f.String()})
	}
	return ds
}

// loadTypes adds the types that are data.
func (l *loading) loadTypes() {
	if l.Types == "" {
		l.set.typed = step{}
		return
	}
	nodes := l.read("types", l.Types, "type", gapi.HasKey("name", "attributes", "connection_info"))
	if !l.set.typed.madeOf(l.now, nodes) {
		made := step{from: l.now, nodes: nodes, kinds: l.now.Clone(), transports: provider.DefaultTransports().Clone()}
		ds := provider.LoadAll(made.kinds, made.transports, nodes, nil)
		if l.found.Add(ds...); ds.Err() != nil {
			return
		}
		l.set.typed = made
	}
	l.now = l.set.typed.kinds
}

// loadPlugins adds the kinds of the providers.
func (l *loading) loadPlugins() {
	if l.Plugins == "" {
		l.set.plugged = step{}
		return
	}
	nodes, ds := l.documents("plugins", l.Plugins, "descriptor of a provider", gapi.HasKey("command", "types"))
	// A schema may lie next to its descriptor. A file that is neither is a descriptor with faults: a misspelt key must not go unseen.
	nodes = slices.DeleteFunc(nodes, func(n *schema.Node) bool {
		return n.Get("command") == nil && n.Get("format") != nil && n.Get("types") != nil
	})
	set, more := plugin.Load(nodes, plugin.Options{
		ReadFile: l.readFile, Trust: l.trust, Attach: l.Attach, Program: l.Program, Version: l.Version, Before: l.set.plugged.plugins, Changed: l.changed,
	})
	ds = append(ds, more...)
	for i, d := range ds {
		if d.Severity == schema.Error && d.Pos.File != "" && d.Pos.File != l.Plugins { // of one descriptor
			ds[i].Severity, ds[i].Message = schema.Warning, "the provider is left out: "+d.Message
		}
	}
	if l.found.Add(ds...); ds.Err() != nil {
		return
	}
	if p := &l.set.plugged; p.kinds == nil || p.from != l.now || !set.Equal(p.plugins) {
		made := step{from: l.now, kinds: l.now.Clone(), plugins: set}
		if err := set.Register(made.kinds); err != nil { // a name that is taken; the other kinds are there
			l.found.Add(schema.Diagnostic{Severity: schema.Warning, Pos: schema.Pos{File: l.Plugins}, Message: "a kind is left out: " + err.Error()})
		}
		*p = made
	}
	l.now = l.set.plugged.kinds
}

func (l *loading) changed() {
	if l.Changed != nil {
		l.Changed()
	}
}

// readFile reads the schema of a provider. It is guarded as a graph is: it says which values the provider will get.
func (l *loading) readFile(path string) ([]byte, error) {
	text, err := l.Source.Asking().ReadFile(context.Background(), l.Source, path, func(f *os.File, size int64) ([]byte, error) {
		return io.ReadAll(io.LimitReader(f, size+1)) // of a file that grows, no more
	})
	return text, safepath.WithoutPath(err)
}

// trust refuses a program or a folder that other users can write, where this process is root's.
func (l *loading) trust(path string) error {
	f, err := l.Source.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// loadTargets has the kinds know the targets. Other targets alone make no other kinds.
func (l *loading) loadTargets() {
	if l.set.listed = nil; l.Targets == "" {
		l.set.aimed = step{}
		return
	}
	nodes := l.read("targets", l.Targets, "file of targets", hasTarget)
	files := make([]provider.TargetFile, len(nodes))
	for i, n := range nodes {
		files[i] = provider.TargetFile{Node: n, Mode: 0o777} // as one that others can read, where that can't be known
		if st, err := os.Stat(n.Pos.File); err == nil {
			files[i].Mode = st.Mode()
		}
	}
	list, ds := provider.DecodeTargets(files, l.set.Transports())
	if l.found.Add(ds...); l.found.Errors() > 0 {
		return
	}
	if l.set.listed = list; l.set.targets == nil {
		l.set.targets = provider.NewTargets()
		l.set.targets.Replace(list)
	}
	if !l.set.aimed.madeOf(l.now, nil) {
		bound, err := provider.BindTargets(l.now, l.set.targets)
		if err != nil {
			l.found.Errorf(schema.Pos{File: l.Targets}, "%v", err)
			return
		}
		l.set.aimed = step{from: l.now, kinds: bound}
	}
	l.now = l.set.aimed.kinds
}

// hasTarget recognises a file with at least one target.
func hasTarget(n *schema.Node) bool {
	return slices.ContainsFunc(n.Pairs, func(p schema.Pair) bool { return p.Value.Get("transport") != nil })
}
