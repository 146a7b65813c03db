package policy

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/reactivegraph/mgmt/engine/expr"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// written is a rule as a file has it.
type written struct {
	Name      string         `yaml:"name" doc:"The name of the rule, in messages and tests." mgmt:"required,pattern=^[a-z0-9][a-z0-9_-]{0,63}$"`
	Match     string         `yaml:"match" doc:"A CEL expression over one resource and its change; the rule counts where it is true." mgmt:"required"`
	Effect    reactor.Effect `yaml:"effect" doc:"What the rule does: deny refuses the resource or its change, ask holds the change for mgmt approve, warn logs it." mgmt:"required,enum=deny|ask|warn"`
	Message   string         `yaml:"message" doc:"What is wrong, for whoever meets the rule." mgmt:"required"`
	Approvals int            `yaml:"approvals" doc:"With ask: how many persons have to approve the change; 1 if absent. From 2 on, who has had the resource declared is none of them." mgmt:"min=1,max=9"`
}

// Policy is the rules of some files.
type Policy struct {
	rules  []*rule
	params bool   // a rule reads them
	text   string // of the files
}

// rule is one that is compiled.
type rule struct {
	written
	pos     schema.Pos
	program *expr.Program
	dynamic bool // it reads the change, or the history
}

// Bounds of the files.
const (
	maxBytes = 1 << 20
	maxRules = 1000
	maxCost  = 10_000 // of one rule on one resource, half a millisecond
)

// The names that are known with a change alone.
const (
	nameChanges = "changes"
	nameHistory = "history"
)

var scope = sync.OnceValue(func() *expr.Scope {
	s, err := expr.NewScope(map[string]expr.Type{
		"kind": expr.Text, "name": expr.Text, "resource": expr.Text, "module": expr.Text, "labels": expr.MapOf(expr.Text), "params": expr.MapOf(expr.Type{}),
		nameChanges: expr.ListOf(expr.Object("change", map[string]expr.Type{"action": expr.Text, "field": expr.Text, "from": {}, "to": {}})),
		nameHistory: expr.Object("history", map[string]expr.Type{
			"changed_ago": expr.Int, "failed_ago": expr.Int, "changes": expr.Int, "failures": expr.Int,
		}),
	})
	if err != nil {
		panic(err) // of the names above, which any test shows
	}
	return s.Within(maxCost)
})

// Load reads files of rules; nil for none. was, which may be nil, is returned where nothing has changed since. The findings are all that is
// wrong, each with its place; with an error among them there is no policy.
func Load(ctx context.Context, files []string, from gapi.Source, was *Policy) (*Policy, schema.Diagnostics) {
	if len(files) == 0 {
		return nil, nil
	}
	p := &Policy{}
	var ds schema.Diagnostics
	var text strings.Builder
	places := map[string]schema.Pos{}
	for _, file := range files {
		src, err := from.ReadRegular(ctx, file, maxBytes, "the file is too big: a policy")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			ds.Errorf(schema.Pos{File: file}, "policy: there is no such file")
			continue
		case err != nil:
			ds.Errorf(schema.Pos{File: file}, "policy: %v", safepath.WithoutPath(err))
			continue
		}
		text.WriteString(file + "\x00" + string(src) + "\x00")
		n, found := yaml.Document(file, src)
		if ds = append(ds, found...); found.Err() == nil {
			ds = append(ds, p.read(file, n, places)...)
		}
	}
	if p.text = text.String(); was != nil && was.text == p.text && ds.Err() == nil {
		return was, ds
	}
	if ds.Err() != nil {
		return nil, ds
	}
	return p, ds
}

// read takes the rules of one file.
func (p *Policy) read(file string, n *schema.Node, places map[string]schema.Pos) schema.Diagnostics {
	if n == nil || n.Kind != schema.NodeList {
		return schema.Diagnostics{{Pos: schema.Pos{File: file}, Message: "a policy is a list of rules, such as [{name: no-telnet, match: 'kind == \"pkg\" && name == \"telnetd\"', effect: deny, message: use ssh}]"}}
	}
	var list []written
	ds := schema.Decode(n, &list)
	if len(p.rules)+len(list) > maxRules {
		ds.Errorf(n.Pos, "%d rules, %d are the most", len(p.rules)+len(list), maxRules)
		return ds
	}
	for i, w := range list {
		at := n.Items[i]
		if first, twice := places[w.Name]; twice && w.Name != "" {
			ds = append(ds, schema.Diagnostic{Pos: at.At("name").Pos, Message: "another rule is called " + w.Name + ", too", Related: []schema.Related{{Pos: first, Message: "this one"}}})
		}
		places[w.Name] = at.Pos
		if w.Approvals > 0 && w.Effect != reactor.EffectAsk {
			ds.Errorf(at.At("approvals").Pos, "approvals belong to a rule with effect: ask")
		}
		if w.Match == "" {
			continue // it is said already
		}
		program, faults := scope().CompileBool(w.Match)
		ds = append(ds, expr.Found(at.At("match"), "match", w.Match, faults)...)
		if program == nil {
			continue
		}
		r := &rule{written: w, pos: at.Pos, program: program}
		for _, in := range program.Reads() {
			r.dynamic = r.dynamic || in.Name == nameChanges || in.Name == nameHistory
			p.params = p.params || in.Name == "params"
		}
		p.rules = append(p.rules, r)
	}
	return ds
}

// Rules returns the names of the rules.
func (p *Policy) Rules() (names []string) {
	for _, r := range p.rules {
		names = append(names, r.Name)
	}
	return slices.Clip(names)
}
