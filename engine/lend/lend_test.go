package lend_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/lend"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

func TestFits(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{"", "a/b", "/a/../b"}, nil},
		{"*", []string{"", "a/b"}, []string{"/a/../b", "..", "a/."}},
		{"a*", []string{"a", "a/b/c"}, []string{"", "ba"}},
		{"*a", []string{"a", "b/a"}, []string{"", "ab"}},
		{"a*b*c", []string{"abc", "a/b/b/c", "axbxbc"}, []string{"ac", "acb", "abcd"}},
		{"ab*ba", []string{"abba", "abxba"}, []string{"aba", "ab"}},
		{"a?[b]", []string{"a?[b]"}, []string{"axb"}},
		{"/d/", []string{"/d/a", "/d/a/b", "/d/a/"}, []string{"/d", "/d/", "/d//", "/da", "/d/../x", "/d/./x", "/d/."}},
		{"/d/*", []string{"/d/a", "/d/a/"}, []string{"/d", "/d/", "/d//", "/d/a/.."}},
		{"/d", []string{"/d", "/d/"}, []string{"/d/a"}},
	} {
		for _, text := range append(slices.Clone(c.yes), c.no...) {
			if got := lend.Fits(c.pattern, text); got != slices.Contains(c.yes, text) {
				t.Errorf("%q fits %q: %t", c.pattern, text, got)
			}
		}
	}
}

// thing is a kind that another host may give.
type thing struct {
	engine.Res
	traits.Base
	silent bool // it does not say that it may come

	Path    string      `yaml:"path" mgmt:"identity" doc:"A path."`
	Other   string      `yaml:"other" mgmt:"identity" doc:"A second part of the identity."`
	State   string      `yaml:"state" mgmt:"enum=there|absent,lend" doc:"A state."`
	Text    string      `yaml:"text" mgmt:"lend" doc:"A text."`
	Mode    schema.Mode `yaml:"mode" mgmt:"lend" doc:"A mode."`
	Aliases []string    `yaml:"aliases" mgmt:"lend=name" doc:"Other names."`
	Cmd     string      `yaml:"cmd" mgmt:"param" doc:"A command."`
}

func (x *thing) Default() engine.Res { return &thing{State: "there", silent: x.silent} }
func (x *thing) Collects() bool      { return !x.silent }
func (x *thing) String() string      { return x.Base.String() }
func (x *thing) Kind() string        { return x.Base.Kind() }
func (x *thing) SetKind(s string)    { x.Base.SetKind(s) }
func (x *thing) Name() string        { return x.Base.Name() }
func (x *thing) SetName(s string)    { x.Base.SetName(s) }

func (x *thing) MetaParams() *engine.MetaParams     { return x.Base.MetaParams() }
func (x *thing) SetMetaParams(m *engine.MetaParams) { x.Base.SetMetaParams(m) }

func kinds(t *testing.T) *engine.Registry {
	reg := engine.NewRegistry()
	for kind, make := range map[string]func() engine.Res{"thing": func() engine.Res { return &thing{State: "there"} }, "silent": func() engine.Res { return &thing{State: "there", silent: true} }} {
		if err := reg.Register(kind, make); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

func node(t *testing.T, m map[string]any) *schema.Node {
	n, err := schema.NodeOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// m is a map of parameters.
type m = map[string]any

// TestJudge: what another host gives is judged by the place, by the fields that the kind lends, and by what the operator has widened.
func TestJudge(t *testing.T) {
	reg := kinds(t)
	for name, c := range map[string]struct {
		accept  []string
		kind    string // thing, if empty
		name    string // /d/a, if empty
		value   m
		wiring  []string
		pattern string
		set     m
		fields  []string
		want    string // of the error; empty for none
	}{
		"by default":                     {accept: nil, want: "by default only host, kv, noop, print, value come from other hosts: to take it over, set accept"},
		"another kind":                   {accept: []string{"other"}, want: "this host takes over the kinds other (setting accept): add thing=PATTERN"},
		"none":                           {accept: []string{}, want: "takes over the kinds none"},
		"accepted":                       {value: m{"text": "x", "mode": "0755", "state": "there"}},
		"the default is nothing given":   {value: m{"cmd": "", "state": "there"}},
		"a command":                      {value: m{"cmd": "x"}, want: "it gives cmd, which the kind does not lend to other hosts: add thing.cmd to the setting accept"},
		"a command by accept":            {accept: []string{"thing.cmd"}, value: m{"cmd": "x"}},
		"a command by the graph":         {value: m{"cmd": "x"}, fields: []string{"cmd"}},
		"all by the graph":               {value: m{"cmd": "x", "other": "y", "state": "absent"}, fields: []string{"*"}},
		"a command by set":               {value: m{"cmd": "x"}, set: m{"cmd": "true"}},
		"absent":                         {value: m{"state": "absent"}, want: "it gives state, which takes the thing away"},
		"absent by accept":               {accept: []string{"thing", "thing.state"}, value: m{"state": "absent"}},
		"absent by set":                  {set: m{"state": "absent"}},
		"setuid":                         {value: m{"mode": "4755"}, want: "a mode with bits above 0777"},
		"sticky in symbols":              {value: m{"mode": "+t"}, want: "a mode with bits above 0777"},
		"setgid in symbols":              {value: m{"mode": "u=rw,g+s"}, want: "a mode with bits above 0777"},
		"symbols":                        {value: m{"mode": "u=rw,go=r"}},
		"another place by path":          {pattern: "/d/*", value: m{"path": "/e/a"}, want: `its path is "/e/a", which name: "/d/*" does not fit`},
		"another place by steps":         {pattern: "/d/*", value: m{"path": "/d/../e"}, want: "does not fit"},
		"another place by name":          {pattern: "/d/*", name: "/e/a", want: "does not fit"},
		"the place by path":              {pattern: "/d/*", name: "any", value: m{"path": "/d/a"}},
		"another place by a Go name":     {pattern: "/d/*", value: m{"Path": "/e/a"}, want: "Path"},
		"the path by set":                {pattern: "a*", name: "ab", value: m{"path": "/e/a"}, set: m{"path": "/d/x"}},
		"the path by set, another name":  {pattern: "a*", name: "b", set: m{"path": "/d/x"}, want: "does not fit"},
		"outside of accept":              {accept: []string{"thing=/d/"}, name: "/e/a", want: `its path is "/e/a", and the setting accept takes a thing only at /d/: add thing=PATTERN`},
		"inside of accept":               {accept: []string{"thing=/x", "thing=/d/"}},
		"a place and a field":            {accept: []string{"thing=/d/", "thing.cmd"}, name: "/e/a", value: m{"cmd": "x"}, want: "only at /d/"},
		"the second part":                {value: m{"other": "y"}, want: "it gives other"},
		"the second part by set":         {value: m{"other": "y"}, set: m{"other": "z"}},
		"aliases that fit":               {pattern: "/d/*", value: m{"aliases": []any{"/d/b"}}},
		"aliases elsewhere":              {pattern: "/d/*", value: m{"aliases": []any{"/d/b", "/e"}}, want: "it gives aliases, with a name that does not fit"},
		"aliases outside of accept":      {accept: []string{"thing=/d/"}, value: m{"aliases": []any{"/e"}}, want: "it gives aliases"},
		"a kind that does not say so":    {accept: []string{"silent"}, kind: "silent", want: "no silent comes from another host as it is, since the kind does not say that its name does no harm: the setting accept lends it whole with silent.*"},
		"such a kind, lent whole":        {accept: []string{"silent.*"}, kind: "silent", value: m{"cmd": "x"}},
		"such a kind, with another word": {accept: []string{"silent.cmd"}, kind: "silent", value: m{"cmd": "x"}, want: "no silent comes"},
		"such a kind, its identity":      {accept: []string{"silent.path", "silent.cmd"}, kind: "silent", value: m{"cmd": "x"}},
		"it receives":                    {wiring: []string{"recv"}, want: "it has recv, which reaches other resources of this host"},
		"it notifies":                    {wiring: []string{"depend", "notify"}, want: "it has notify"},
		"it depends":                     {wiring: []string{"depend", "listen"}},
		"it may notify":                  {accept: []string{"thing", "thing.notify"}, wiring: []string{"notify"}},
		"an unknown key":                 {value: m{"nothing": 1}, want: "nothing"},
		"no value":                       {value: m{"text": []any{}}, want: "text"},
		"a comment":                      {value: m{"comment": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			accept := c.accept
			if accept == nil && name != "by default" {
				accept = []string{"thing"}
			}
			rules, err := lend.Parse(accept)
			if err != nil {
				t.Fatal(err)
			}
			f := lend.Foreign{Kind: c.kind, Name: c.name, Value: node(t, c.value), Wiring: c.wiring, Pattern: c.pattern, Fields: c.fields}
			if f.Kind == "" {
				f.Kind = "thing"
			}
			if f.Name == "" {
				f.Name = "/d/a"
			}
			if c.set != nil {
				f.Set = node(t, c.set)
			}
			taken, err := rules.Judge(reg, f)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
			for key, v := range c.set {
				if got := taken.Value.Get(key); err == nil && (got == nil || got.Text != v) {
					t.Errorf("%s is %v, want %v", key, got, v)
				}
			}
		})
	}
}

// TestMerged: what the operator sets takes the place of what the other host gives, by whatever name each calls it.
func TestMerged(t *testing.T) {
	rules, _ := lend.Parse([]string{"thing"})
	taken, err := rules.Judge(kinds(t), lend.Foreign{Kind: "thing", Name: "x", Value: node(t, m{"Cmd": "evil", "text": "t"}), Set: node(t, m{"cmd": "good"})})
	if err != nil {
		var refused *lend.RefusedError
		if errors.As(err, &refused) {
			t.Fatal(err)
		}
		return // the decoder does not know the word
	}
	if len(taken.Value.Pairs) != 2 || taken.Value.Get("cmd").Text != "good" {
		t.Errorf("%v", taken.Value)
	}
}

// TestFindingH3Meta: of the metaparameters of another host only a few count, and an export never does.
func TestFindingH3Meta(t *testing.T) {
	given := m{"export": []any{"*"}, "poll": 60, "retry": 1, "sema": []any{"all/x"}, "reverse": true, "hidden": true, "noop": false, "realize": true, "secret": []any{"text"}}
	for accept, want := range map[string]string{"thing": "poll retry secret", "thing.meta": "hidden noop poll realize retry reverse secret sema"} {
		rules, _ := lend.Parse([]string{accept})
		taken, err := rules.Judge(kinds(t), lend.Foreign{Kind: "thing", Name: "x", Meta: node(t, given)})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, p := range taken.Meta.Pairs {
			keys = append(keys, p.Key)
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: %s, want %s", accept, got, want)
		}
	}
	if n := lend.Meta(node(t, m{"noop": true, "export": []any{"*"}})); n == nil || len(n.Pairs) != 1 {
		t.Errorf("%v", n)
	}
	if n := lend.Meta(node(t, m{"noop": false, "export": []any{"*"}})); n != nil {
		t.Errorf("%v", n)
	}
}

// TestParse: wrong items are errors that say how to write them, and a list comes back as it was meant.
func TestParse(t *testing.T) {
	for _, bad := range []string{"", "File", "file[x]", "*", "a b", "file=", "file.", "=x", ".x", "file.owner=x"} {
		if _, err := lend.Parse([]string{"host", bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	list := []string{"aws:ec2:vpc", "file.owner", "file=/etc/x.d/", "host"}
	r, err := lend.Parse(list)
	if err != nil || r.String() != "aws:ec2:vpc, file=/etc/x.d/, file.owner, host" {
		t.Errorf("%v %v", r, err)
	}
	var none *lend.Rules
	if none.String() != "host, kv, noop, print, value" {
		t.Error(none)
	}
}
