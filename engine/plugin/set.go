package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// Options are the choices of Load. The zero value is of no use without ReadFile.
type Options struct {
	// ReadFile reads a schema file.
	ReadFile func(path string) ([]byte, error)
	// Trust returns an error for a file or a folder that root must not run anything from, such as one that another user can write.
	// It is asked before each start of a program that runs as the daemon's own user. The program, each file
	// among its arguments, and its folder are asked about. Nothing is refused when nil.
	Trust func(path string) error
	// Attach has, by the name of a provider, the unix:PATH of a running one: it is neither started nor ended. See ParseAttach.
	Attach map[string]string
	// Program and Version are told to the providers.
	Program, Version string
	// Before has the plugins of an earlier Load: one whose files are the same is taken over, with its kinds and its process.
	Before *Set
	// Changed is called where the schema of a program differs from the loaded one, and the schema file has changed since then, too.
	// The next Load takes the new file over. The function is called on a goroutine of the provider, at each such start, and must not
	// block. Nothing is told when nil.
	Changed func()
	// Breaks is how many ends in two minutes make a provider broken; 5 when 0.
	Breaks int
	// LongestPause bounds the pause before a start; 30 s when 0.
	LongestPause time.Duration
}

// Set is the providers of one folder. It is not altered after Load, and safe for concurrent use.
type Set struct {
	plugins []*Plugin
}

// Load makes plugins of descriptors. It starts nothing. The findings are all that is wrong, each with its
// place; a plugin with an error is left out.
func Load(nodes []*schema.Node, o Options) (*Set, schema.Diagnostics) {
	o.Breaks, o.LongestPause = cmp.Or(o.Breaks, 5), cmp.Or(o.LongestPause, longestPause)
	var found schema.Findings
	s := &Set{}
	first := map[string]schema.Pos{}
	for _, n := range nodes {
		p, ds := load(n, o)
		found.Add(ds...)
		if ds.Err() != nil {
			continue
		}
		if ds := p.claim(first, n.Pos); ds != nil {
			found.Add(ds...)
			continue
		}
		s.plugins = append(s.plugins, p)
	}
	return s, found.All()
}

// claim notes the kinds of a plugin as its own. A plugin with a kind that another one has claimed gets none.
func (p *Plugin) claim(first map[string]schema.Pos, pos schema.Pos) (ds schema.Diagnostics) {
	for _, k := range p.kinds {
		if at, twice := first[k.name]; twice {
			ds = append(ds, schema.Diagnostic{Pos: pos, Message: fmt.Sprintf("the kind %s is there twice", k.name),
				Related: []schema.Related{{Pos: at, Message: "first here"}}})
		}
	}
	if ds != nil {
		return ds
	}
	for _, k := range p.kinds {
		first[k.name] = pos
	}
	return nil
}

// load makes one plugin: it reads the descriptor, the schema file and the types in it. The plugin of an earlier Set is taken
// over where both files are the same, so its resources stay as they are.
func load(n *schema.Node, o Options) (*Plugin, schema.Diagnostics) {
	d, ds := decode(n)
	if ds.Err() != nil {
		return nil, ds
	}
	at := n.At("schema").Pos
	text, err := o.ReadFile(d.Schema)
	if err != nil {
		ds.Errorf(at, "the schema of the provider %s cannot be read: %v", d.Name, err)
		return nil, ds
	}
	doc, err := decodeSchema(text)
	if err != nil {
		ds.Errorf(at, "%s: %v", d.Schema, err)
		return nil, ds
	}
	p := &Plugin{Descriptor: *d, doc: doc, hash: protocol.HashOf(text), opt: o}
	p.opt.Before = nil
	if old := o.Before.same(p); old != nil {
		return old, ds
	}
	for _, t := range doc.Types {
		k, found := newKind(p, t)
		ds = append(ds, found...)
		p.kinds = append(p.kinds, k)
	}
	return p, ds
}

// same returns the plugin of a Set that has the files of p, nil for none. The Set may be nil.
func (s *Set) same(p *Plugin) *Plugin {
	if s == nil {
		return nil
	}
	for _, old := range s.plugins {
		if old.hash == p.hash && reflect.DeepEqual(old.Descriptor, p.Descriptor) {
			return old
		}
	}
	return nil
}

// Equal reports whether two sets have the same plugins.
func (s *Set) Equal(o *Set) bool {
	return s != nil && o != nil && slices.Equal(s.plugins, o.plugins)
}

// Register adds the kinds to a registry.
func (s *Set) Register(r *engine.Registry) error {
	var errs []error
	for _, p := range s.plugins {
		for _, k := range p.kinds {
			if err := r.Register(k.name, k.New); err != nil {
				errs = append(errs, fmt.Errorf("the provider %s: %w", p.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Plugins returns the plugins, in the order of their descriptors.
func (s *Set) Plugins() []*Plugin { return slices.Clone(s.plugins) }

// Plugin is one provider. It is safe for concurrent use.
type Plugin struct {
	Descriptor
	doc   *protocol.Schema
	hash  string // of the text of the schema
	kinds []*Kind
	opt   Options

	mu  sync.Mutex
	now *session // of a process; nil where no resource is there
}

// Version returns the version that the schema file has.
func (p *Plugin) Version() string { return p.doc.Version }

// Hash returns the hash of the schema file.
func (p *Plugin) Hash() string { return p.hash }

// Kinds returns the names of the kinds.
func (p *Plugin) Kinds() []string {
	names := make([]string, len(p.kinds))
	for i, k := range p.kinds {
		names[i] = k.name
	}
	return names
}

// ParseAttach reads NAME=unix:PATH, several with commas between them, as MGMT_ATTACH_PROVIDERS has it.
func ParseAttach(text string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		name, at, ok := strings.Cut(part, "=")
		path, isUnix := strings.CutPrefix(at, "unix:")
		if !ok || name == "" || !isUnix || path == "" {
			return nil, fmt.Errorf("%q is not NAME=unix:PATH", part)
		}
		out[name] = path
	}
	return out, nil
}
