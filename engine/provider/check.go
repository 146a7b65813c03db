package provider

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype/rubyre"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// Check returns everything that is wrong with a definition, each finding with its
// place if that is known, sorted by it. It holds
//
//   - names: a lower case word of letters, digits and _; attributes differ from each
//     other and are none of ReservedAttributes
//   - types: each attribute has a type that puppettype.Parse takes
//   - defaults: they are of their types; read_only attributes and namevars have none
//   - namevars: there is one at least; each is text or a whole number, not undef
//     and not sensitive; an attribute called name is one
//   - ensure: it is a property of type Enum[present, absent], or an Optional of that
//   - title patterns: they compile, have named groups, and each of these is a namevar
//   - relations: $attribute is an attribute
//   - a type with the feature remote_resource has no attribute target, and one without names no transports
//   - Poll is 0, or a second at least
//
// Missing documentation is a warning.
func (d *Definition) Check() schema.Diagnostics { return d.check(nil, "") }

// ReservedAttributes are the names that an attribute must not have: the metaparameters of
// catalogs, the names of the Resource API's own runtime, and schema.ReservedKeys.
func ReservedAttributes() []string {
	return append([]string{"title", "provider", "alias", "audit", "consume", "export", "loglevel", "noop", "require",
		"schedule", "stage", "subscribe", "tag", "rsapi_custom_insync_trigger"}, schema.ReservedKeys...)
}

// MinPoll is the shortest time between two polls.
const MinPoll Interval = time.Second

// places are the places of the parts of a definition, by their paths: docs,
// attributes.id.type, title_patterns[0], autorequire.file.
type places map[string]schema.Pos

// checker is one check of a definition.
type checker struct {
	*Definition
	what   string // type or transport
	at     places
	allow  string   // a name that is reserved otherwise
	all    []string // the names of the attributes
	names  []string // the names of the namevars
	titles int      // of relations, so far
	found  schema.Findings
}

// The bounds of a definition, so that checking it takes no time to speak of.
const (
	maxAttributes = 1000
	maxPatterns   = 100
	maxTitles     = 1000
)

func (d *Definition) check(at places, allow string) schema.Diagnostics {
	c := &checker{Definition: d, what: "type", at: at, allow: allow}
	c.kind()
	if n := len(d.Attributes); n > maxAttributes {
		c.errorf("attributes", "%s has %d attributes, at most %d are allowed", c.subject(), n, maxAttributes)
		return c.found.All()
	}
	for _, a := range d.Attributes {
		c.all = append(c.all, a.Name)
		if a.Role == Namevar {
			c.names = append(c.names, a.Name)
		}
	}
	c.attributes()
	c.namevars()
	c.patterns()
	for _, r := range d.relations() {
		c.relations(r.word, *r.list)
	}
	c.remote()
	if d.Poll != 0 && d.Poll < MinPoll {
		c.errorf("poll", "%s: poll is %s, at least %s is wanted", c.subject(), d.Poll, MinPoll)
	}
	return c.found.All()
}

// relationList is one of the four sorts of automatic relations.
type relationList struct {
	word string
	list *[]Relation
}

// relations returns them, under the names that they have in files.
func (d *Definition) relations() []relationList {
	return []relationList{
		{"autorequire", &d.Require}, {"autobefore", &d.Before}, {"autosubscribe", &d.Subscribe}, {"autonotify", &d.Notify},
	}
}

// pos returns the place of a path, or of the nearest part above it that has one.
func (c *checker) pos(path string) schema.Pos {
	for p := path; p != ""; p = p[:max(strings.LastIndexAny(p, ".["), 0)] {
		if pos, ok := c.at[p]; ok {
			return pos
		}
	}
	for _, a := range c.Attributes {
		if path == "attributes."+a.Name || strings.HasPrefix(path, "attributes."+a.Name+".") {
			return a.Pos
		}
	}
	return c.Pos
}

func (c *checker) errorf(path, format string, args ...any) {
	c.add(schema.Diagnostic{Pos: c.pos(path), Path: path, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) add(d schema.Diagnostic) { c.found.Add(d) }

func (c *checker) undocumented(path, subject string) {
	c.add(schema.Diagnostic{Severity: schema.Warning, Pos: c.pos(path), Path: path,
		Message: subject + " has no documentation, add docs"})
}

// subject names the type for a message.
func (c *checker) subject() string {
	if c.Name == "" {
		return "the " + c.what
	}
	return shorten(c.Name)
}

// word is what names are made of.
var word = lazyregexp.New(`^[a-z][a-z0-9_]{0,63}$`)

const wordRule = "a lower case letter, and then at most 63 lower case letters, digits and _"

func (c *checker) kind() {
	switch {
	case c.Name == "":
		c.errorf("name", "the %s has no name", c.what)
	case !word.MatchString(c.Name):
		c.errorf("name", "the %s %q has a name that is none: it is %s", c.what, shorten(c.Name), wordRule)
	}
	if c.Doc == "" {
		c.undocumented("docs", c.subject())
	}
}

func (c *checker) attributes() {
	seen := map[string]bool{}
	for i := range c.Attributes {
		a := &c.Attributes[i]
		if seen[a.Name] {
			c.errorf("attributes."+a.Name, "%s has the attribute %q twice", c.subject(), shorten(a.Name))
			continue
		}
		seen[a.Name] = true
		c.attribute(a, c.subject()+"."+shorten(a.Name), "attributes."+a.Name)
	}
}

func (c *checker) attribute(a *Attribute, subject, path string) {
	c.attributeName(a, subject, path)
	if a.Doc == "" {
		c.undocumented(path+".docs", subject)
	}
	if a.Role > Parameter {
		c.errorf(path+".kind", "%s has an unknown role (%d)", subject, a.Role)
	}
	if a.Type == "" {
		c.errorf(path+".type", "%s has no type", subject)
		return
	}
	t, err := a.parse()
	if err != nil {
		c.badType(err, subject, path+".type")
		return
	}
	if a.Name == ensureKey {
		c.ensure(a, t, subject, path)
	}
	if a.Role == Namevar {
		c.namevar(a, t, subject, path)
	}
	c.initial(a, t, subject, path+".default")
}

func (c *checker) attributeName(a *Attribute, subject, path string) {
	switch {
	case a.Name == "":
		c.errorf(path, "%s has an attribute without a name", c.subject())
	case !word.MatchString(a.Name):
		c.errorf(path, "%s: the name of an attribute is %s", subject, wordRule)
	case a.Name != c.allow && slices.Contains(ReservedAttributes(), a.Name):
		c.errorf(path, "%s: no attribute can be called %s, that name is reserved", subject, a.Name)
	}
}

// badType reports a type that can't be read, at the place in its text.
func (c *checker) badType(err *puppettype.Error, subject, path string) {
	pos := c.pos(path)
	if _, exact := c.at[path]; exact {
		pos = err.Pos(pos)
	}
	c.add(schema.Diagnostic{Pos: pos, Path: path, Message: subject + ": " + err.Error()})
}

// parse reads the type, wrapped if the attribute is sensitive.
func (a *Attribute) parse() (*puppettype.Type, *puppettype.Error) {
	t, err := puppettype.Parse(a.Type)
	if err != nil {
		return nil, err.(*puppettype.Error)
	}
	if a.Sensitive {
		t = t.AsSensitive()
	}
	return t, nil
}

// The types are parsed at their first use, which most runs never reach.
var (
	ensureTypes = sync.OnceValue(func() []*puppettype.Type {
		return []*puppettype.Type{
			puppettype.MustParse("Enum[present, absent]"), puppettype.MustParse("Optional[Enum[present, absent]]"),
			puppettype.MustParse("Variant[Undef, Enum[present, absent]]"), puppettype.MustParse("Variant[Enum[present, absent], Undef]"),
		}
	})
	namevarType = sync.OnceValue(func() *puppettype.Type { return puppettype.MustParse("Variant[String, Integer]") })
)

func (c *checker) ensure(a *Attribute, t *puppettype.Type, subject, path string) {
	if !slices.ContainsFunc(ensureTypes(), t.Equal) {
		c.errorf(path+".type", "%s must be of the type Enum[present, absent] or Optional[Enum[present, absent]]", subject)
	}
	if a.Role != Property {
		c.errorf(path+".kind", "%s must be a property", subject)
	}
}

func (c *checker) namevar(a *Attribute, t *puppettype.Type, subject, path string) {
	switch {
	case t.Lower().Secret:
		c.errorf(path, "%s is a namevar: names are shown, so it can't be sensitive", subject)
	case !namevarType().Assignable(t):
		c.errorf(path+".type", "%s is a namevar: it must be text or a whole number, not %s", subject, shorten(t.String()))
	}
}

// initial checks the default.
func (c *checker) initial(a *Attribute, t *puppettype.Type, subject, path string) {
	switch {
	case !a.HasDefault && a.Default != nil:
		c.errorf(path, "%s has a default, but HasDefault is not set", subject)
	case !a.HasDefault:
	case a.Role == ReadOnly:
		c.errorf(path, "%s is read_only, it can't have a default", subject)
	case a.Role == Namevar:
		c.errorf(path, "%s is a namevar: the title gives it, it can't have a default", subject)
	default:
		if _, err := t.Lift(subject, clone(a.Default)); err != nil {
			c.errorf(path, "the default of %s", err)
		}
	}
}

// remote checks what a type says of targets.
func (c *checker) remote() {
	remote := c.Features&RemoteResource != 0
	if len(c.Transports) > 0 && !remote {
		c.errorf("transports", "%s has transports, but not the feature remote_resource", c.subject())
	}
	if remote && slices.Contains(c.all, targetKey) {
		c.errorf("attributes."+targetKey, "%s has the feature remote_resource: %s names the target of a resource, and no attribute can be called so", c.subject(), targetKey)
	}
	for i, name := range c.Transports {
		if !word.MatchString(name) {
			c.errorf(fmt.Sprintf("transports[%d]", i), "%s: the transport %q has a name that is none: it is %s", c.subject(), shorten(name), wordRule)
		}
	}
}

func (c *checker) namevars() {
	i := slices.IndexFunc(c.Attributes, func(a Attribute) bool { return a.Name == "name" })
	switch {
	case i >= 0 && c.Attributes[i].Role != Namevar:
		c.errorf("attributes.name.kind", "%s.name must be a namevar: the name of a resource is what it is called by", c.subject())
	case len(c.names) == 0:
		c.errorf("attributes", "%s has no namevar: one attribute at least must have the kind namevar", c.subject())
	}
}

func (c *checker) patterns() {
	if n := len(c.TitlePatterns); n > maxPatterns {
		c.errorf("title_patterns", "%s has %d title patterns, at most %d are allowed", c.subject(), n, maxPatterns)
		return
	}
	for i := range c.TitlePatterns {
		c.pattern(i)
	}
}

func (c *checker) pattern(i int) {
	path := fmt.Sprintf("title_patterns[%d]", i)
	re, err := rubyre.New(c.TitlePatterns[i].Pattern)
	if err != nil {
		c.errorf(path, "%s: title pattern %d: %v", c.subject(), i+1, err)
		return
	}
	groups := groupsOf(re)
	if len(groups) == 0 {
		c.errorf(path, "%s: title pattern %d has no named group, such as (?<%s>.*)", c.subject(), i+1, first(c.names, "name"))
	}
	for _, g := range groups {
		if !slices.Contains(c.names, g) {
			c.add(schema.Diagnostic{Pos: c.pos(path), Path: path, Suggestion: schema.Nearest(g, c.names),
				Message: fmt.Sprintf("%s: title pattern %d has the group %q, which is no namevar", c.subject(), i+1, shorten(g))})
		}
	}
}

// groupsOf returns the names of the groups of an expression.
func groupsOf(re *rubyre.Regexp) []string {
	return slices.DeleteFunc(slices.Clone(re.Compiled().SubexpNames()), func(s string) bool { return s == "" })
}

func first(list []string, otherwise string) string {
	if len(list) > 0 {
		return list[0]
	}
	return otherwise
}

func (c *checker) relations(how string, list []Relation) {
	for _, r := range list {
		path := how + "." + r.Kind
		if !word.MatchString(r.Kind) {
			c.errorf(path, "%s: %s names the kind %q: a kind is %s", c.subject(), how, shorten(r.Kind), wordRule)
		}
		for _, title := range r.Titles {
			c.relationTitle(title, how, path)
		}
	}
}

func (c *checker) relationTitle(title, how, path string) {
	name, isRef := strings.CutPrefix(title, "$")
	switch c.titles++; {
	case c.titles == maxTitles+1:
		c.errorf(path, "%s has more than %d titles in its relations", c.subject(), maxTitles)
	case c.titles > maxTitles:
	case title == "":
		c.errorf(path, "%s: %s has an empty title", c.subject(), how)
	case isRef && !slices.Contains(c.all, name):
		c.add(schema.Diagnostic{Pos: c.pos(path), Path: path, Suggestion: schema.Nearest(name, c.all),
			Message: fmt.Sprintf("%s: %s refers to $%s, and there is no such attribute", c.subject(), how, shorten(name))})
	}
}

// compile returns the attributes with their types, of a definition that was checked.
func (d *Definition) compile() ([]compiled, error) {
	out := make([]compiled, len(d.Attributes))
	for i, a := range d.Attributes {
		t, err := a.parse()
		if err != nil {
			return nil, err
		}
		out[i] = compiled{Attribute: a, typ: t, optional: t.Accepts(nil), secret: t.Lower().Secret, covert: t.Holds(puppettype.KindSensitive)}
	}
	return out, nil
}

// maxShown bounds how much of a foreign text a message repeats, in characters.
const maxShown = 200

func shorten(s string) string {
	if r := []rune(s); len(r) > maxShown {
		s = string(r[:maxShown]) + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
