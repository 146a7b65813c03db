package cmd

import (
	"context"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// A provider in a debugger is neither started nor ended by mgmt. Its author starts it, and tells mgmt its socket.
//
// attachVariable names providers that run already, in a debugger perhaps.
// Its form is NAME=unix:PATH, several with commas between them. It is read at each reading of the
// folder, from the environment of the process alone.
const attachVariable = "MGMT_ATTACH_PROVIDERS"

// A daemon follows the folder. A change of it makes the daemon read its kinds and its graph again, so a provider that is added is there
// with the next graph. The processes belong to the resources of the graph, and not to this verb: nothing is started here, and a
// verb that only reads starts none.
//
// A provider whose files are as before keeps its kinds, and so its resources keep their places in the graph. A faulty descriptor
// takes away its own kinds alone: its faults are warnings, and a graph that needs one of its kinds is refused.
//
// loadPlugins adds the kinds of the providers of the folder to the existing ones, and returns the faults of their descriptors.
// It is the third step of the kinds.
func (a *app) loadPlugins() schema.Diagnostics {
	if a.pluginsFolder == "" {
		// A reload may have taken the folder away, and the desk must not show the providers of
		// before.
		a.tellPlugins(nil)
		return nil
	}
	nodes, ds := yaml.Documents(a.pluginsFolder, yaml.Options{Source: a.source(), Ours: gapi.HasKey("command", "types"), Form: "descriptor of a provider"})
	ds = a.from("plugins", ds)
	nodes = slices.DeleteFunc(nodes, isProviderSchema)
	attach, err := plugin.ParseAttach(os.Getenv(attachVariable))
	if err != nil {
		ds.Errorf(schema.Pos{}, "%s: %v", attachVariable, err)
	}
	// The pointer is made before the providers are, and filled by followSchemas when the daemon
	// has its channel. A verb without a daemon never fills it.
	if a.sets.ask == nil {
		a.sets.ask = &atomic.Pointer[func()]{}
	}
	s, again := &a.sets.plugged, a.sets.ask
	changed := func() {
		if ask := again.Load(); ask != nil {
			(*ask)()
		}
	}
	set, found := plugin.Load(nodes, plugin.Options{
		ReadFile: a.readFile, Trust: a.trust, Attach: attach, Program: a.program(), Version: currentVersion().Version, Before: s.plugins, Changed: changed,
	})
	if ds = a.leaveOut(append(ds, found...)); ds.Err() != nil {
		return ds
	}
	// Equal providers on the same kinds keep their registry, so no resource is made anew by a
	// reload.
	if from := a.kinds(); s.kinds == nil || s.from != from || !set.Equal(s.plugins) {
		made := step{from: from, kinds: from.Clone(), plugins: set}
		// The name may be that of a kind that is there already. Other kinds of the folder are
		// registered.
		if err := set.Register(made.kinds); err != nil {
			ds = append(ds, schema.Diagnostic{Severity: schema.Warning, Pos: schema.Pos{File: a.pluginsFolder}, Message: "a kind is left out: " + err.Error()})
		}
		*s = made
	}
	a.registry, a.plugins = s.kinds, s.plugins
	a.tellPlugins(a.plugins)
	return ds
}

// tellPlugins has the desk of a daemon answer about these providers. Each reading of the settings has a copy of the app, and all copies
// have the one pointer: the desk runs on other goroutines than the readings.
func (a *app) tellPlugins(set *plugin.Set) {
	if a.sets.live != nil {
		a.sets.live.Store(set)
	}
}

// A schema file may lie outside of the folder that a daemon follows, and an upgrade may bring it after the program. The providers say so,
// from their goroutines, when they start a program of another schema. They were loaded before the engine, and so before the channel of reloads.
//
// followSchemas has the graph read again when a provider has another schema file.
// The request does not block: a daemon that is about to read anyway reads once.
func (a *app) followSchemas(reload chan<- struct{}) {
	if a.sets.ask != nil {
		a.sets.ask.Store(new(func() { ask(reload) }))
	}
}

// The desk is opened before the engine is made, and it has to know the providers of a graph that comes much later. So it gets a pointer
// and not a set. A graph that is refused leaves the older providers at work, and the desk answers about the newer ones: the folder is
// in effect at once, and only the graph is not.
//
// livePlugins returns the answers of the desk about the providers, also about those of later readings of the folder.
func (a *app) livePlugins() control.Providers {
	a.sets.live = &atomic.Pointer[plugin.Set]{}
	a.sets.live.Store(a.plugins)
	return &pluginDesk{a.sets.live}
}

// pluginDesk converts between the two packages: the desk of the daemon knows no plugins, and the plugins know no API. It never waits for
// a process, so a provider that hangs delays no answer.
//
// pluginDesk answers a daemon's questions about its providers, on any goroutine.
type pluginDesk struct{ live *atomic.Pointer[plugin.Set] }

// all returns the providers; none where there is no folder of them.
func (d *pluginDesk) all() []*plugin.Plugin {
	if set := d.live.Load(); set != nil {
		return set.Plugins()
	}
	return nil
}

// List implements control.Providers. A plugin gives its own status under its own lock, so the list is not of one moment.
func (d *pluginDesk) List() []control.Provider {
	list := []control.Provider{}
	for _, p := range d.all() {
		s := p.Status()
		list = append(list, control.Provider{Name: s.Name, Version: s.Version, Phase: string(s.Phase), PID: s.PID, Starts: s.Starts, Since: s.Since,
			Error: s.Error, Kinds: s.Kinds, Hash: s.Hash, Attached: s.Attached})
	}
	return list
}

// Restart implements control.Providers. Of two descriptors of one name the first one counts.
func (d *pluginDesk) Restart(name string) (found, running bool) {
	for _, p := range d.all() {
		if p.Name == name {
			return true, p.Restart()
		}
	}
	return false, false
}

// A schema file may lie next to its descriptor. A file that is neither is a descriptor with faults, since a misspelt key must not go
// unseen.
//
// isProviderSchema recognises a schema file by the keys that each one has.
func isProviderSchema(n *schema.Node) bool {
	return n.Get("command") == nil && n.Get("format") != nil && n.Get("types") != nil
}

// leaveOut makes warnings of the faults of single descriptors. A fault of the folder, or of the environment, stays an error.
// A warning leaves the verb going; a graph that needs the kinds is refused with an unknown kind.
func (a *app) leaveOut(ds schema.Diagnostics) schema.Diagnostics {
	for i := range ds {
		if file := ds[i].Pos.File; ds[i].Severity == schema.Error && file != "" && file != a.pluginsFolder {
			ds[i].Severity = schema.Warning
			ds[i].Message = "the provider is left out: " + ds[i].Message
		}
	}
	return ds
}

// A schema file says which values the provider will get, secrets among them. So it is guarded as a graph is.
//
// readFile reads a file as the files of a graph are read: as root not one that other users can write.
func (a *app) readFile(path string) ([]byte, error) {
	// A file that grows while it is read is cut one byte after the size that it had.
	text, err := a.asking().ReadFile(context.Background(), a.source(), path, func(f *os.File, size int64) ([]byte, error) {
		return io.ReadAll(io.LimitReader(f, size+1))
	})
	return text, safepath.WithoutPath(err)
}

// A program in a folder of another user would run with the rights of root.
//
// trust refuses a program or a folder as the files of a graph are refused: as root, if other users can write it.
func (a *app) trust(path string) error {
	f, err := a.source().Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
