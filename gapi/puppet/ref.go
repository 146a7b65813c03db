package puppet

import (
	"fmt"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
)

// ident is what references to a resource have in common: the type in lower case,
// and the title in the form that its type gives it.
type ident struct{ typ, title string }

// identOf folds a type and a title.
// Puppet writes types with capitals in references, takes classes in any case, and a path of a
// file with or without slashes at its end.
func identOf(typ, title string) ident {
	typ = strings.TrimPrefix(strings.ToLower(typ), "::")
	switch typ {
	case "class":
		title = strings.TrimPrefix(strings.ToLower(title), "::")
	case "file":
		if t := strings.TrimRight(title, "/"); t != "" {
			title = t
		} else {
			title = "/"
		}
	}
	return ident{typ, title}
}

// parseRef reads Type[title]. The title may hold brackets.
// The title ends at the last bracket.
func parseRef(s string) (ident, error) {
	typ, rest, ok := strings.Cut(s, "[")
	title, closed := strings.CutSuffix(rest, "]")
	if !ok || !closed || typ == "" || title == "" {
		return ident{}, fmt.Errorf("%s is no reference, which is Type[title]", quote(s))
	}
	return identOf(strings.TrimSpace(typ), title), nil
}

// index finds resources by the names in references: the title, the namevar, and
// their aliases.
// It is made once for a catalog. A look-up is one access to a map.
type index struct {
	by      map[ident]*resource
	found   *schema.Findings
	guesses int // how many better references were looked for
}

// namevars are the parameters by which a resource of a type can be named besides its
// title. For all others it is name.
var namevars = map[string]string{"file": "path", "exec": ""}

// newIndex finds resources by type and title, in the spelling that Puppet takes as equal.
// A title that is declared twice is a finding with both places.
func newIndex(cat *catalog, found *schema.Findings) *index {
	x := &index{by: make(map[ident]*resource, len(cat.resources)), found: found}
	for _, r := range cat.resources {
		id := identOf(r.typ, r.title)
		if first := x.by[id]; first != nil {
			d := r.finding(schema.Error, "", "it is declared twice")
			d.Related = []schema.Related{{Pos: first.at, Message: "first declared here"}}
			found.Add(d)
			continue
		}
		x.by[id] = r
	}
	for _, r := range cat.resources {
		x.names(r)
	}
	return x
}

// names adds the other names of a resource. The name of a class is its title. A secret name is
// left out.
func (x *index) names(r *resource) {
	typ := identOf(r.typ, r.title).typ
	namevar, special := namevars[typ]
	if !special {
		namevar = "name"
	}
	if name := r.text(namevar); name != "" && typ != "class" {
		// Two that are one thing are found out by the builder, with their kinds.
		if id := identOf(r.typ, name); x.by[id] == nil {
			x.by[id] = r
		}
	}
	if p := r.param("alias"); p != nil && !p.secret {
		for _, n := range asList(p.value) {
			x.alias(r, n.Text)
		}
	}
}

// alias adds a further name of a resource. A name that another resource has is a finding;
// a repetition of the own one is not.
func (x *index) alias(r *resource, name string) {
	id := identOf(r.typ, name)
	first := x.by[id]
	if first == nil {
		x.by[id] = r
		return
	}
	if first != r {
		d := r.finding(schema.Error, "alias", fmt.Sprintf("%s is also called %s[%s]", first.ref(), r.typ, name))
		d.Related = []schema.Related{{Pos: first.at, Message: first.ref() + " is declared here"}}
		x.found.Add(d)
	}
}

// find returns the resource that a reference names.
// The error names the nearest reference, for the first maxGuesses of them.
func (x *index) find(ref string) (*resource, error) {
	id, err := parseRef(ref)
	if err != nil {
		return nil, err
	}
	if r := x.by[id]; r != nil {
		return r, nil
	}
	err = fmt.Errorf("%s is not in the catalog", schema.Shorten(ref))
	if near := x.nearest(ref); near != "" {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	return nil, err
}

// maxGuesses bounds how often a better reference is looked for.
const maxGuesses = 20

// nearest returns the reference that was perhaps meant. The number of guesses is bounded,
// since each one compares with all resources.
func (x *index) nearest(ref string) string {
	if x.guesses++; x.guesses > maxGuesses {
		return ""
	}
	refs := make([]string, 0, len(x.by))
	for _, r := range x.by {
		refs = append(refs, r.ref())
	}
	return schema.Nearest(ref, refs)
}
