package lend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/selection"
)

// Default are the kinds that a host takes over where nothing else is said. They hold values, and no thing of the machine but a name of
// /etc/hosts.
var Default = []string{"host", "kv", "noop", "print", "value"}

// Whole is the word for all fields of a kind, and what belongs to its declaration: see Parse.
const Whole = "*"

// Rules say what a host takes over from other hosts. Make them with Parse; nil stands for the default. They are immutable.
type Rules struct {
	kinds map[string]*rule
	stock bool // they are the default
}

// rule is what is accepted of one kind.
type rule struct {
	anywhere bool
	places   []string        // patterns and folders
	fields   map[string]bool // that the rules lend in addition
}

// stock are the rules of a host that says nothing.
var stock = func() *Rules {
	r, err := parse(Default)
	if err != nil {
		panic(err) // the list above is at fault
	}
	r.stock = true
	return r
}()

// Parse reads the list of the setting accept. Each item is one of these:
//
//	KIND          resources of the kind, with the fields that it lends
//	KIND=PATTERN  only those whose identity fits; a pattern that ends in a slash is a folder with all that is below
//	KIND.FIELD    in addition this field, with every value; KIND.* for all of them
//
// A nil list gives the default. An empty list accepts nothing.
func Parse(list []string) (*Rules, error) {
	if list == nil {
		return stock, nil
	}
	return parse(list)
}

// parse is Parse of a list that is there.
func parse(list []string) (*Rules, error) {
	r := &Rules{kinds: map[string]*rule{}}
	for _, item := range list {
		head, place, placed := strings.Cut(item, "=")
		kind, field, widens := strings.Cut(head, ".")
		switch {
		case kind == "" || kind != strings.ToLower(kind) || strings.ContainsAny(kind, "[] */"):
			return nil, fmt.Errorf("%q is no kind: write one, such as file, a kind with a place, such as file=/etc/motd.d/, or a kind with a field, such as file.owner", item)
		case placed && place == "", widens && field == "", placed && widens:
			return nil, fmt.Errorf("%q says nothing of the kind %s: write %s=PATTERN or %s.FIELD", item, kind, kind, kind)
		}
		k := r.kinds[kind]
		if k == nil {
			k = &rule{fields: map[string]bool{}}
			r.kinds[kind] = k
		}
		switch {
		case placed:
			k.places = append(k.places, place)
		case widens:
			k.fields[field] = true
		default:
			k.anywhere = true
		}
	}
	for _, k := range r.kinds {
		k.anywhere = k.anywhere || len(k.places) == 0
	}
	return r, nil
}

// String returns the list that Parse reads, in order.
func (r *Rules) String() string {
	if r == nil {
		r = stock
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		k := r.kinds[kind]
		for _, p := range k.places {
			list = append(list, kind+"="+p)
		}
		for _, f := range slices.Sorted(maps.Keys(k.fields)) {
			list = append(list, kind+"."+f)
		}
		if k.anywhere && len(k.fields) == 0 {
			list = append(list, kind)
		}
	}
	return strings.Join(list, ", ")
}

// words returns the accepted kinds, for a message.
func (r *Rules) words() string {
	if len(r.kinds) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(r.kinds)), ", ")
}

// accepts reports whether an identity is at an accepted place.
func (k *rule) accepts(identity string) bool {
	return k.anywhere || slices.ContainsFunc(k.places, func(p string) bool { return Fits(p, identity) })
}

// Fits reports whether a pattern fits a text. In a pattern, * stands for any characters, / too. A pattern that ends in a slash is a folder: it
// fits all that is below, and not the folder itself. The empty pattern fits everything. A text with . or .. between slashes names another
// place than it seems to, and fits the empty pattern only.
func Fits(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	if strings.HasPrefix(text, "/") {
		text = strings.TrimRight(text, "/") // the slash says that it is a folder, and not that something is below
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "*"
	}
	return selection.Like(strings.Split(pattern, "*"), text)
}

// Metas are the metaparameters that another host may give: how often this host looks and tries, that it only looks, and what it shows to nobody.
var Metas = []string{"noop", "poll", "retry", "retryreset", "delay", "delaymax", "timeout", "limit", "burst", "secret"}

// Dropped returns the keys of the metaparameters that do not count, of those that were given. An export is none of them: it is what has
// brought the resource here.
func Dropped(given, counts *schema.Node) (keys []string) {
	if given == nil {
		return nil
	}
	for _, p := range given.Pairs {
		if p.Key != "export" && counts.Get(p.Key) == nil {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// Meta returns the metaparameters of another host that count: nil for none. A noop counts only if it is true, since this host may be
// run to alter nothing.
func Meta(n *schema.Node) *schema.Node {
	if n == nil || n.Kind != schema.NodeMap {
		return nil
	}
	c := *n
	c.Pairs = nil
	for _, p := range n.Pairs {
		if slices.Contains(Metas, p.Key) && (p.Key != "noop" || p.Value != nil && p.Value.Kind == schema.NodeBool && p.Value.Text == "true") {
			c.Pairs = append(c.Pairs, p)
		}
	}
	if len(c.Pairs) == 0 {
		return nil
	}
	return &c
}
