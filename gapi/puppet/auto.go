package puppet

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/internal/lazyregexp"
)

// auto is a rule of automatic relations: the resource that a parameter names comes
// first, if it is in the catalog. Relations that our kinds ask for by themselves,
// known to the engine, count only for the order of the manifest.
// A catalog has no automatic relations in it, so the frontend owns Puppet's rules.
type auto struct {
	typ, attr string
	target    string // the type of the earlier resource
	// The titles in a text, the nearest first; nil for the text itself.
	names func(string) []string
	all   bool // of the titles all that are there come first, not the nearest
	// The parameter of the earlier resource that a number stands for, such as gid; empty for
	// none.
	number string
	// Our own kinds ask for this relation by themselves.
	engine bool
}

// autos are the rules of Puppet's types. They are those of the types in Puppet's core and of
// its modules for cron, mount and ssh keys. Tests compare the graphs of catalogs with Puppet's
// own.
var autos = []auto{
	{typ: "file", attr: "path", target: "file", names: parents, engine: true},
	{typ: "file", attr: "owner", target: "user", engine: true},
	{typ: "file", attr: "group", target: "group", engine: true},
	{typ: "file", attr: "target", target: "file"},
	{typ: "file", attr: "path", target: "mount", names: mounts, all: true}, // what Puppet has as before of a mount
	{typ: "exec", attr: "cwd", target: "file"},
	{typ: "exec", attr: "command", target: "file", names: programs},
	{typ: "exec", attr: "onlyif", target: "file", names: programs},
	{typ: "exec", attr: "unless", target: "file", names: programs},
	{typ: "exec", attr: "user", target: "user", engine: true},
	{typ: "package", attr: "source", target: "file"},
	{typ: "package", attr: "adminfile", target: "file"},
	{typ: "package", attr: "responsefile", target: "file"},
	{typ: "user", attr: "gid", target: "group", number: "gid"},
	{typ: "user", attr: "groups", target: "group"},
	{typ: "cron", attr: "user", target: "user"},
	{typ: "mount", attr: "name", target: "mount", names: parents, all: true},
	{typ: "ssh_authorized_key", attr: "user", target: "user"},
}

// parents returns the folders above a path, the nearest first.
// A path that is not absolute has none.
func parents(p string) (list []string) {
	for p = path.Clean(p); path.IsAbs(p) && p != "/"; list = append(list, p) {
		p = path.Dir(p)
	}
	return list
}

// mounts returns the places above a path where something else can be mounted.
// Nothing waits for the root, which is always mounted.
func mounts(p string) []string {
	return slices.DeleteFunc(parents(p), func(dir string) bool { return dir == "/" })
}

// program finds a program at the beginning of a line that is named by its path.
var program = lazyregexp.New(`(?m)^(?:(/\S+)|"(/[^"]+)")`)

// programs returns the programs that a command begins with, each line by itself. Only a program
// named by its path counts, with or without quotes. Puppet requires the files of these by
// itself, so the translation does too.
func programs(command string) (list []string) {
	for _, m := range program.FindAllStringSubmatch(command, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

// automatic returns the relations that the rules give, the first existing one for each text. Of
// the first list, relations that would close a cycle are left out later. The second one has the
// relations that the engine makes itself. The cost is linear in the parameters.
func (rs *relations) automatic() (soft []relation, known []relation) {
	rules := map[string][]auto{}
	for _, a := range autos {
		rules[a.typ] = append(rules[a.typ], a)
	}
	for _, r := range rs.cat.resources {
		for _, a := range rules[strings.ToLower(r.typ)] {
			for _, first := range rs.wanted(r, a) {
				e := relation{lastOf(first), firstOf(r), "automatic", r.at, false}
				if a.engine {
					known = append(known, e)
				} else {
					soft = append(soft, e)
				}
			}
		}
	}
	return soft, known
}

// wanted returns the finds of a rule for a resource.
// A resource never waits for itself.
func (rs *relations) wanted(r *resource, a auto) (list []*resource) {
	for _, text := range r.texts(a.attr) {
		names := []string{text}
		if a.names != nil {
			names = a.names(text)
		}
		for _, name := range names {
			first := rs.first(a, name)
			if first == nil || first == r {
				continue
			}
			list = append(list, first)
			if !a.all {
				break
			}
		}
	}
	return list
}

// first returns the resource that a rule means by a name, nil if it is not there.
// A number is looked up by the parameter that it stands for, such as the gid of a group.
func (rs *relations) first(a auto, name string) *resource {
	if _, err := strconv.ParseUint(name, 10, 32); err != nil || a.number == "" {
		return rs.by[identOf(a.target, name)]
	}
	return rs.numbered(a)[name]
}

// numbered returns the resources that a rule means by numbers, the first one of each number.
// The index is made once for each type, since a search for each number would make the cost
// quadratic.
func (rs *relations) numbered(a auto) map[string]*resource {
	list, known := rs.numbers[a.target]
	if known {
		return list
	}
	list = map[string]*resource{}
	for _, r := range rs.cat.resources {
		if !strings.EqualFold(r.typ, a.target) {
			continue
		}
		for _, n := range r.texts(a.number) {
			if list[n] == nil {
				list[n] = r
			}
		}
	}
	if rs.numbers == nil {
		rs.numbers = map[string]map[string]*resource{}
	}
	rs.numbers[a.target] = list
	return list
}

// texts returns the texts of a parameter. The title stands for a path, a name or a
// command that is not given.
// A secret gives none: a relation would show it.
func (r *resource) texts(attr string) (list []string) {
	p := r.param(attr)
	switch {
	case p != nil && p.secret:
		return nil
	case p != nil:
		for _, n := range asList(p.value) {
			list = append(list, n.Text)
		}
		return list
	case attr == "path" || attr == "name" || attr == "command":
		return []string{r.title}
	default:
		return nil
	}
}
