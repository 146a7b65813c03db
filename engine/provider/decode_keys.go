package provider

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// definitionKeys are the keys of a definition in a file.
var definitionKeys = []key{
	{[]string{"name"}, func(d *decoder, n *schema.Node, path string) { d.def.Name = d.text(n, path) }},
	{[]string{"docs", "desc"}, func(d *decoder, n *schema.Node, path string) { d.def.Doc = strings.TrimSpace(d.text(n, path)) }},
	{[]string{"attributes"}, (*decoder).attributes},
	{[]string{"autorequire", "autorequires"}, func(d *decoder, n *schema.Node, path string) { d.def.Require = d.relations(n, path) }},
	{[]string{"autobefore"}, func(d *decoder, n *schema.Node, path string) { d.def.Before = d.relations(n, path) }},
	{[]string{"autosubscribe"}, func(d *decoder, n *schema.Node, path string) { d.def.Subscribe = d.relations(n, path) }},
	{[]string{"autonotify"}, func(d *decoder, n *schema.Node, path string) { d.def.Notify = d.relations(n, path) }},
	{[]string{"features"}, (*decoder).features},
	{[]string{"title_patterns"}, (*decoder).patterns},
	{[]string{"transports"}, func(d *decoder, n *schema.Node, path string) { d.def.Transports = d.texts(n, path, true) }},
	{[]string{"poll"}, func(d *decoder, n *schema.Node, path string) { d.def.Poll = d.duration(n, path) }},

	{[]string{"provider"}, func(d *decoder, n *schema.Node, path string) { d.src.Provider, d.src.Pos = d.text(n, path), n.Pos }},
	{[]string{"get"}, func(d *decoder, n *schema.Node, path string) { d.external().Get = d.argv(n, path) }},
	{[]string{"set"}, func(d *decoder, n *schema.Node, path string) { d.external().Set = d.argv(n, path) }},
	{[]string{"canonicalize"}, func(d *decoder, n *schema.Node, path string) { d.external().Canonicalize = d.argv(n, path) }},
	{[]string{"custom_insync"}, func(d *decoder, n *schema.Node, path string) { d.external().InSync = d.argv(n, path) }},
	{[]string{"env"}, func(d *decoder, n *schema.Node, path string) { d.external().Env = d.env(n, path) }},
	{[]string{"timeout"}, func(d *decoder, n *schema.Node, path string) { d.external().Timeout = d.timeout(n, path) }},
	{[]string{"dispatch"}, (*decoder).dispatch},
}

// attributeKeys returns the keys of an attribute; named says whether its name is one.
func attributeKeys(a *Attribute, named bool) []key {
	keys := []key{
		{[]string{"type"}, func(d *decoder, n *schema.Node, path string) { a.Type = d.text(n, path) }},
		{[]string{"docs", "desc"}, func(d *decoder, n *schema.Node, path string) { a.Doc = strings.TrimSpace(d.text(n, path)) }},
		{[]string{"kind", "behaviour", "behavior"}, func(d *decoder, n *schema.Node, path string) { a.Role = d.role(n, path) }},
		{[]string{"default"}, func(_ *decoder, _ *schema.Node, _ string) { a.HasDefault = true }},
		{[]string{"lend"}, func(d *decoder, n *schema.Node, path string) { a.Lend = oneOf(d, n, path, lendWords, "value", "name") }},
		{[]string{"sensitive"}, func(d *decoder, n *schema.Node, path string) { a.Sensitive = d.truth(n, path) }},
	}
	if named {
		keys = append(keys, key{[]string{"name"}, func(d *decoder, n *schema.Node, path string) { a.Name = d.text(n, path) }})
	}
	return keys
}

// attributes reads a map by name, or a list of maps with names.
func (d *decoder) attributes(n *schema.Node, path string) {
	switch n.Kind {
	case schema.NodeMap:
		for _, pair := range n.Pairs {
			d.attribute(Attribute{Name: pair.Key, Pos: pair.Pos}, pair.Value, false)
		}
	case schema.NodeList:
		for i, item := range n.Items {
			name := item.Get("name")
			if name == nil {
				d.errorf(item, fmt.Sprintf("%s[%d]", path, i), "an attribute in a list must be a map with a name")
				continue
			}
			d.attribute(Attribute{Name: name.Text, Pos: item.Pos}, item, true)
		}
	default:
		d.errorf(n, path, "%s must be a map by name, or a list, not %s", path, shape(n))
	}
}

func (d *decoder) attribute(a Attribute, n *schema.Node, named bool) {
	path := "attributes." + a.Name
	if _, again := d.at[path]; !again {
		d.at[path] = a.Pos
	}
	d.fields(n, path+".", "the attribute "+shorten(a.Name), attributeKeys(&a, named))
	d.initial(&a, n.Get("default"), path+".default")
	d.def.Attributes = append(d.def.Attributes, a)
}

// initial reads a default as a plain value of the attribute's type. Check tells of a
// type that can't be read.
func (d *decoder) initial(a *Attribute, n *schema.Node, path string) {
	if n == nil || n.Kind == schema.NodeNull {
		return
	}
	t, bad := a.parse()
	if bad != nil {
		d.spoil(path)
		return
	}
	v, found := schema.Value(t.Lower(), n)
	a.Default = v
	for _, f := range found {
		if f.Severity == schema.Error {
			d.spoil(path)
		}
		f.Path, f.Message = path, fmt.Sprintf("the default of %s.%s: %s", shorten(d.def.Name), shorten(a.Name), f.Message)
		d.found.Add(f)
	}
}

// roleWords are the roles as files have them.
var roleWords = map[string]Role{
	"property": Property, "namevar": Namevar, "read_only": ReadOnly, "init_only": InitOnly, "parameter": Parameter,
}

// lendWords say what is lent of an attribute, as files have them.
var lendWords = map[string]schema.Lend{"value": schema.LendValue, "name": schema.LendName}

func (d *decoder) role(n *schema.Node, path string) Role {
	return oneOf(d, n, path, roleWords, "property", "namevar", "read_only", "init_only", "parameter")
}

// featureWords are the features as files have them.
var featureWords = map[string]Features{
	"canonicalize": Canonicalize, "simple_get_filter": SimpleGetFilter, "noop_handler": NoopHandler, "supports_noop": NoopHandler,
	"custom_insync": CustomInSync, "find": Find, "refresh": Refreshable, "unverified": Unverified,
	"remote_resource": RemoteResource, "collectable": Collectable,
}

func (d *decoder) features(n *schema.Node, path string) {
	if n.Kind != schema.NodeList {
		d.errorf(n, path, "features must be a list of text, not %s", shape(n))
		return
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		f := oneOf(d, item, at, featureWords, "canonicalize", "simple_get_filter", "noop_handler", "supports_noop",
			"custom_insync", "find", "refresh", "unverified", "remote_resource", "collectable")
		if d.def.Features&f != 0 {
			d.errorf(item, at, "the feature %s is there twice", item.Text)
		}
		d.def.Features |= f
	}
}

// oneOf reads a word of a table; words gives their order.
func oneOf[T any](d *decoder, n *schema.Node, path string, table map[string]T, words ...string) T {
	v, ok := table[n.Text]
	if !ok || n.Kind != schema.NodeString {
		d.spoil(path)
		d.found.Add(schema.Diagnostic{
			Pos: n.Pos, Path: path, Suggestion: schema.Nearest(n.Text, words),
			Message: fmt.Sprintf("%s must be one of %s, not %s", path, strings.Join(words, ", "), shape(n)),
		})
	}
	return v
}

// relations reads a map from kinds to titles.
func (d *decoder) relations(n *schema.Node, path string) []Relation {
	if n.Kind != schema.NodeMap {
		d.errorf(n, path, "%s must be a map from kinds to titles, not %s", path, shape(n))
		return nil
	}
	out := make([]Relation, 0, len(n.Pairs))
	for _, pair := range n.Pairs {
		at := path + "." + pair.Key
		d.at[at] = pair.Value.Pos
		out = append(out, Relation{Kind: pair.Key, Titles: d.texts(pair.Value, at, true)})
	}
	return out
}

func (d *decoder) patterns(n *schema.Node, path string) {
	if n.Kind != schema.NodeList {
		d.errorf(n, path, "title_patterns must be a list of maps with the key pattern, not %s", shape(n))
		return
	}
	for i, item := range n.Items {
		var p TitlePattern
		at := fmt.Sprintf("%s[%d]", path, i)
		d.at[at] = item.Pos
		d.fields(item, at+".", fmt.Sprintf("title pattern %d", i+1), []key{
			{[]string{"pattern"}, func(d *decoder, n *schema.Node, path string) { p.Pattern, d.at[at] = d.text(n, path), n.Pos }},
			{[]string{"docs", "desc"}, func(d *decoder, n *schema.Node, path string) { p.Doc = d.text(n, path) }},
		})
		d.def.TitlePatterns = append(d.def.TitlePatterns, p)
	}
}

// external returns the commands, made at the first of their keys.
func (d *decoder) external() *External {
	if d.src.External == nil {
		d.src.External = &External{}
	}
	return d.src.External
}

// argv reads a command.
func (d *decoder) argv(n *schema.Node, path string) []string {
	argv := d.texts(n, path, false)
	if n.Kind == schema.NodeList && (len(argv) == 0 || argv[0] == "") {
		d.errorf(n, path, "%s must be a command and its arguments, such as [/usr/bin/keys, list]", path)
	}
	for i, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			d.errorf(n.Items[i], path, "%s holds a zero byte, which no argument can", path)
		}
	}
	return argv
}

func (d *decoder) env(n *schema.Node, path string) map[string]string {
	if n.Kind != schema.NodeMap {
		d.errorf(n, path, "env must be a map from names to text, not %s", shape(n))
		return nil
	}
	env := make(map[string]string, len(n.Pairs))
	for _, pair := range n.Pairs {
		v := d.text(pair.Value, path+"."+pair.Key)
		if pair.Key == "" || strings.ContainsAny(pair.Key, "=\x00") || strings.ContainsRune(v, 0) {
			d.errorf(pair.Value, path, "env: %q can't be the name of a variable with this value", shorten(pair.Key))
		}
		env[pair.Key] = v
	}
	return env
}

func (d *decoder) timeout(n *schema.Node, path string) time.Duration {
	t := d.duration(n, path)
	if t <= 0 && !d.known(path) {
		d.errorf(n, path, "timeout must be more than 0")
	}
	return t
}

func (d *decoder) dispatch(n *schema.Node, path string) {
	disp := &Dispatch{Pos: n.Pos}
	d.src.Dispatch = disp
	d.fields(n, path+".", "dispatch", []key{
		{[]string{"attribute"}, func(d *decoder, n *schema.Node, path string) { disp.Attribute = d.text(n, path) }},
		{[]string{"options"}, func(d *decoder, n *schema.Node, path string) { disp.Options = d.text(n, path) }},
		{[]string{"to"}, func(d *decoder, n *schema.Node, path string) { disp.To = d.env(n, path) }},
	})
}

// source checks that there is one source.
func (d *decoder) source(n *schema.Node) {
	var given []string
	if d.src.Provider != "" {
		given = append(given, "provider")
	}
	if e := d.src.External; e != nil {
		given = append(given, "get and set")
		if e.Canonicalize != nil {
			d.def.Features |= Canonicalize
		}
		if e.InSync != nil {
			d.def.Features |= CustomInSync
		}
		if n.Get("get") == nil || n.Get("set") == nil {
			d.errorf(n, "get", "a provider of commands has both get and set")
		}
	}
	if d.src.Dispatch != nil {
		given = append(given, "dispatch")
	}
	switch {
	case len(given) > 1:
		d.errorf(n, "provider", "a type has one provider, and here are %s", strings.Join(given, " and "))
	case len(given) == 0 && !d.known("provider"):
		d.errorf(n, "provider", "the type has no provider: it needs provider, get and set, or dispatch")
	}
}
