package puppet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// edges writes the edges of a declaration, with ~> for those that refresh.
func edges(d *gapi.Declared) (list []string) {
	for _, e := range d.Edges {
		arrow := "->"
		if e.Notify {
			arrow = "~>"
		}
		list = append(list, fmt.Sprintf("%s %s %s (%s)", e.From.Ref(), arrow, e.To.Ref(), e.Name))
	}
	return list
}

// thing is an entry of a kind that refreshes, note one of a kind that does not.
func thing(title, params string) string { return entry(1, "Thing", title, params) }
func note(title, params string) string  { return entry(1, "File", "/"+title, params) }

func container(typ, title, params string) string {
	return strings.Replace(entry(1, typ, title, params), "compilable_type", "defined_type", 1)
}

// TestRelations: references are found by whatever names a resource, and containers
// are two vertices where something relates to them.
func TestRelations(t *testing.T) {
	for _, c := range []struct {
		name      string
		resources []string
		contains  []string
		want      []string
	}{
		{"all four, as text and as list",
			[]string{thing("a", `{"before": "Thing[b]", "notify": ["Thing[c]"]}`), thing("b", `{"require": ["Thing[c]", "Thing[c]", null]}`), thing("c", ""), thing("d", `{"subscribe": "Thing[a]"}`)}, nil,
			[]string{"thing[a] -> thing[b] (before)", "thing[a] ~> thing[c] (notify)", "thing[c] -> thing[b] (require)", "thing[a] ~> thing[d] (subscribe)"}},
		{"a file is not refreshed", []string{thing("a", `{"notify": "File[/f]"}`), note("f", "")}, nil, []string{"thing[a] -> file[/f] (notify)"}},
		{"a message refreshes nothing", []string{entry(1, "Notify", "m", `{"notify": "Thing[a]"}`), thing("a", "")}, nil, []string{"msg[m] -> thing[a] (notify)"}},
		{"other names", []string{
			thing("a", `{"before": ["tHing[x]", "::Thing[y]", "Thing[z]", "FILE[/f/]", "File[/g]", "Class[::My::Class]"]}`),
			thing("b", `{"alias": "x"}`), thing("c", `{"alias": ["y", "w"]}`), thing("d", `{"name": "z"}`), note("f", ""), entry(1, "File", "t", `{"path": "/g/"}`),
			container("Class", "My::class", "")}, nil,
			[]string{"thing[a] -> thing[b] (before)", "thing[a] -> thing[c] (before)", "thing[a] -> thing[z] (before)", "thing[a] -> file[/f] (before)",
				"thing[a] -> file[t] (before)", "thing[a] -> noop[start of Class[My::class]] (before)",
				"noop[start of Class[My::class]] -> noop[end of Class[My::class]] (contained)"}},
		{"titles with brackets", []string{thing("a[0]", ""), thing("b", `{"require": "Thing[a[0]]"}`)}, nil, []string{"thing[a[0]] -> thing[b] (require)"}},
		{"a container nobody relates to", []string{container("Class", "c", ""), thing("a", "")}, []string{"Class[c] > Thing[a]"}, nil},
		{"into a container", []string{container("Class", "c", ""), container("D", "d", ""), thing("a", ""), note("f", ""), thing("x", `{"notify": "Class[c]"}`)},
			[]string{"Class[c] > D[d]", "D[d] > Thing[a]", "Class[c] > File[/f]"},
			[]string{"thing[x] ~> noop[start of Class[c]] (notify)", "noop[start of Class[c]] ~> thing[a] (contained)", "thing[a] -> noop[end of Class[c]] (contained)",
				"noop[start of Class[c]] -> file[/f] (contained)", "file[/f] -> noop[end of Class[c]] (contained)"}},
		{"out of nested containers", []string{container("Class", "c", `{"notify": "Thing[x]"}`), container("D", "d", `{"require": "Thing[y]"}`), thing("a", ""), thing("x", ""), thing("y", "")},
			[]string{"Class[c] > D[d]", "D[d] > Thing[a]"},
			[]string{"noop[end of Class[c]] ~> thing[x] (notify)", "thing[y] -> noop[start of D[d]] (require)",
				"noop[start of Class[c]] -> noop[start of D[d]] (contained)", "noop[end of D[d]] ~> noop[end of Class[c]] (contained)",
				"noop[start of D[d]] -> thing[a] (contained)", "thing[a] ~> noop[end of D[d]] (contained)"}},
		{"into nested containers", []string{container("Class", "c", ""), container("D", "d", `{"require": "Thing[x]"}`), thing("a", ""), thing("x", `{"notify": "Class[c]"}`)},
			[]string{"Class[c] > D[d]", "D[d] > Thing[a]"},
			[]string{"thing[x] -> noop[start of D[d]] (require)", "thing[x] ~> noop[start of Class[c]] (notify)",
				"noop[start of Class[c]] ~> noop[start of D[d]] (contained)", "noop[end of D[d]] -> noop[end of Class[c]] (contained)",
				"noop[start of D[d]] ~> thing[a] (contained)", "thing[a] -> noop[end of D[d]] (contained)"}},
		{"through an empty one", []string{container("Class", "c", `{"notify": "Thing[b]"}`), container("Class", "e", ""), thing("a", `{"notify": "Class[c]"}`), thing("b", "")}, []string{"Class[c] > Class[e]"},
			[]string{"noop[end of Class[c]] ~> thing[b] (notify)", "thing[a] ~> noop[start of Class[c]] (notify)", "noop[start of Class[c]] -> noop[end of Class[c]] (contained)"}},
		{"contained twice", []string{container("Class", "c", ""), container("Class", "d", `{"before": "Thing[x]"}`), container("Class", "e", ""), thing("a", ""), thing("x", "")},
			[]string{"Class[c] > Class[e]", "Class[d] > Class[e]", "Class[e] > Thing[a]"},
			[]string{"noop[end of Class[d]] -> thing[x] (before)",
				"noop[start of Class[d]] -> noop[start of Class[e]] (contained)", "noop[end of Class[e]] -> noop[end of Class[d]] (contained)",
				"noop[start of Class[e]] -> thing[a] (contained)", "thing[a] -> noop[end of Class[e]] (contained)"}},
		{"stages", []string{entry(1, "Stage", "main", ""), entry(1, "Stage", "pre", `{"before": "Stage[main]"}`), container("Class", "c", ""), thing("a", ""), thing("b", "")},
			[]string{"Stage[pre] > Class[c]", "Class[c] > Thing[a]", "Stage[main] > Thing[b]"},
			[]string{"noop[end of Stage[pre]] -> noop[start of Stage[main]] (before)", "noop[start of Stage[pre]] -> thing[a] (contained)", "thing[a] -> noop[end of Stage[pre]] (contained)",
				"noop[start of Stage[main]] -> thing[b] (contained)", "thing[b] -> noop[end of Stage[main]] (contained)"}},
		{"automatic", []string{note("d", ""), note("p", ""), entry(1, "Exec", "x", `{"command": "/p a", "cwd": "/d", "user": "u"}`), entry(1, "User", "u", "")}, nil,
			[]string{"file[/d] -> exec[x] (automatic)", "file[/p] -> exec[x] (automatic)"}},
		{"automatic against the others", []string{entry(1, "File", "/d", `{"require": "Exec[x]"}`), entry(1, "Exec", "x", `{"command": "/d/p", "cwd": "/d", "onlyif": "/p"}`), note("p", "")}, nil,
			[]string{"exec[x] -> file[/d] (require)", "file[/p] -> exec[x] (automatic)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := read(t, source(c.resources, c.contains...), puppet.Options{})
			if diff := cmp.Diff(c.want, edges(d)); diff != "" {
				t.Error(diff)
			}
			for _, p := range d.Problems {
				if p.Severity == 0 {
					t.Error(p)
				}
			}
			if g, ds := gapi.Build(kinds, d); g == nil {
				t.Error(ds)
			}
		})
	}
}

// TestAnchors: the vertices of a container run only where a refresh goes through them.
func TestAnchors(t *testing.T) {
	d := read(t, source([]string{container("Class", "a", `{"notify": "Class[b]"}`), container("Class", "b", ""), container("Class", "c", `{"require": "Class[b]"}`)}), puppet.Options{})
	const hidden = " meta {autogroup: false, hidden: true}"
	const runs = " meta {autogroup: false}"
	want := []string{
		"noop[start of Class[a]]" + hidden, "noop[end of Class[a]]" + runs, "noop[start of Class[b]]" + runs,
		"noop[end of Class[b]]" + hidden, "noop[start of Class[c]]" + hidden, "noop[end of Class[c]]" + hidden,
	}
	if diff := cmp.Diff(want, said(t, d)); diff != "" {
		t.Error(diff)
	}
}

// TestBadRelations: all that is wrong is said at once.
func TestBadRelations(t *testing.T) {
	src := source([]string{
		thing("a", `{"before": ["Thing[aa]", "nothing", 3], "alias": "b"}`), thing("b", `{"require": "Thing[b]"}`), thing("b", ""),
		container("Class", "c", `{"notify": {"__ptype": "Default"}}`), container("D", "d", ""),
	}, "Class[c] > D[d]", "D[d] > Class[c]", "Thing[a] > Thing[b]", "Class[c] > Thing[zzz]", "Class[c] > Class[c]")
	want := []string{
		`c.json:5:197: an edge of the catalog: Thing[a] is no class, defined type or stage, so it contains nothing`,
		`c.json:5:243: an edge of the catalog: Thing[zzz] is not in the catalog (did you mean Thing[a]?)`,
		`c.json:5:291: an edge of the catalog: Class[c] contains itself`,
		`site.pp:1: Thing[b]: it is declared twice` + "\n    site.pp:1: first declared here",
		`site.pp:1: Thing[a]: alias: Thing[b] is also called Thing[b]` + "\n    site.pp:1: Thing[b] is declared here",
		`site.pp:1: D[d]: it contains itself, by way of Class[c]`,
		`site.pp:1: Thing[a]: before: Thing[aa] is not in the catalog (did you mean Thing[a]?)`,
		`site.pp:1: Thing[a]: before: "nothing" is no reference, which is Type[title]`,
		`site.pp:1: Thing[a]: before: a reference is text such as File[/etc/motd], not 3`,
		`site.pp:1: Class[c]: notify: "default" is no reference, which is Type[title]`,
	}
	d := read(t, src, puppet.Options{})
	var got []string
	for _, p := range d.Problems {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOrdering: one row, in the order of the manifest as far as relations allow,
// automatic ones too.
func TestOrdering(t *testing.T) {
	src := source([]string{note("d/f", ""), thing("b", ""), thing("a", `{"before": "Class[c]"}`), container("Class", "c", ""), thing("e", `{"before": "Thing[b]"}`), note("d", "")},
		"Class[c] > Thing[b]")
	d := read(t, src, puppet.Options{Ordering: puppet.Manifest})
	var got []string
	for _, e := range edges(d) {
		if row, ok := strings.CutSuffix(e, " (manifest order)"); ok {
			got = append(got, row)
		}
	}
	want := []string{"thing[a] -> thing[e]", "thing[e] -> thing[b]", "thing[b] -> file[/d]", "file[/d] -> file[/d/f]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestContainersAreLinear: a relation between two large containers costs as many
// edges as there are resources.
func TestContainersAreLinear(t *testing.T) {
	const n = 1000
	resources := []string{container("Class", "a", ""), container("Class", "b", `{"require": "Class[a]"}`)}
	var contains []string
	for i := range n {
		name := fmt.Sprint(i)
		resources = append(resources, thing("a"+name, ""), thing("b"+name, ""))
		contains = append(contains, "Class[a] > Thing[a"+name+"]", "Class[b] > Thing[b"+name+"]")
	}
	d := read(t, source(resources, contains...), puppet.Options{})
	if len(d.Edges) != 4*n+1 || len(d.Resources) != 2*n+4 {
		t.Errorf("%d edges between %d vertices", len(d.Edges), len(d.Resources))
	}
}

// TestContainment: whatever contains what, a relation between two resources or
// containers is one between all that is in them, and none more.
func TestContainment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Each of n nodes is in an earlier one; those with something in them are
		// containers.
		n := rapid.IntRange(2, 12).Draw(t, "n")
		parent := make([]int, n)
		inner := make([]bool, n)
		for i := range n {
			parent[i] = rapid.IntRange(-1, i-1).Draw(t, "parent")
			if parent[i] >= 0 {
				inner[parent[i]] = true
			}
		}
		name := func(i int) string {
			if inner[i] {
				return fmt.Sprintf("D[%d]", i)
			}
			return fmt.Sprintf("Thing[%d]", i)
		}
		within := func(i, in int) bool {
			for ; i >= 0; i = parent[i] {
				if i == in {
					return true
				}
			}
			return false
		}
		from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
		if within(from, to) || within(to, from) {
			return
		}
		var resources, contains []string
		want := map[puppet.Pair]bool{}
		for i := range n {
			params := ""
			if i == from {
				params = fmt.Sprintf(`{"notify": %q}`, name(to))
			}
			if inner[i] {
				resources = append(resources, container("D", fmt.Sprint(i), params))
			} else {
				resources = append(resources, thing(fmt.Sprint(i), params))
			}
			if parent[i] >= 0 {
				contains = append(contains, name(parent[i])+" > "+name(i))
			}
			for j := range n {
				if !inner[i] && !inner[j] && within(i, from) && within(j, to) {
					want[puppet.Pair{Source: name(i), Target: name(j), Refresh: true}] = true
				}
			}
		}
		pairs, order, ds := puppet.Relations("c.json", []byte(source(resources, contains...)), kinds)
		got := map[puppet.Pair]bool{}
		for _, p := range pairs {
			got[p] = true
		}
		if diff := cmp.Diff(want, got); diff != "" || order == nil || len(ds) > 0 {
			t.Fatalf("%v\n%s", ds, diff)
		}
	})
}

// TestAutomaticOfMountsAndNumbers: as Puppet has it, a mount comes after all of those
// above it and before the files below it, and a user after the group that its number
// stands for.
func TestAutomaticOfMountsAndNumbers(t *testing.T) {
	src := source([]string{
		entry(1, "Mount", "/", ""), entry(2, "Mount", "/srv", ""), entry(3, "Mount", "data", `{"name": "/srv/app/data"}`),
		entry(4, "File", "/srv", ""), entry(5, "File", "/srv/app/data/x/y", ""), entry(6, "File", "/srvx", ""),
		entry(7, "Group", "staff", `{"gid": 50}`), entry(8, "Group", "60", `{"gid": "61"}`),
		entry(9, "User", "a", `{"gid": 50}`), entry(10, "User", "b", `{"gid": "61"}`), entry(11, "User", "c", `{"gid": 60}`), entry(12, "User", "d", `{"gid": "staff"}`),
	})
	pairs, _, ds := puppet.Relations("c.json", []byte(src), kinds)
	var got []string
	for _, p := range pairs {
		got = append(got, p.Source+" -> "+p.Target)
	}
	want := []string{
		"File[/srv] -> File[/srv/app/data/x/y]",
		"Group[60] -> User[b]", "Group[staff] -> User[a]", "Group[staff] -> User[d]",
		"Mount[/] -> Mount[/srv]", "Mount[/] -> Mount[data]",
		"Mount[/srv] -> File[/srv/app/data/x/y]", "Mount[/srv] -> Mount[data]",
		"Mount[data] -> File[/srv/app/data/x/y]",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(ds) > 0 {
		t.Error(diff, ds)
	}
}
