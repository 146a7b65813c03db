package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// related makes a resource of a type with these relations, over an attribute of each form.
func related(t *testing.T, d provider.Definition, values map[string]any) engine.Res {
	t.Helper()
	d.Name, d.Doc = "rec", "x"
	d.Attributes = []provider.Attribute{
		{Name: "ensure", Type: "Enum[present, absent]", Doc: "x", Default: "present", HasDefault: true},
		{Name: "name", Type: "String[1]", Doc: "x", Role: provider.Namevar},
		{Name: "one", Type: "Optional[Any]", Doc: "x"},
		{Name: "many", Type: "Optional[Array[Any]]", Doc: "x", Role: provider.Parameter},
	}
	k, err := provider.New(d, newStock().clerk)
	must(t, err)
	r := k.New()
	r.SetKind("rec")
	r.SetName(values["name"].(string))
	for key, v := range values {
		must(t, schema.Set(r.(schema.Typed), key, v))
	}
	return r
}

// asks returns what a resource asks for: a sign for the direction, an exclamation mark for a notification, and the UID.
func asks(t *testing.T, r engine.Res) []string {
	t.Helper()
	edge, err := r.(engine.EdgeableRes).AutoEdges()
	must(t, err)
	if edge == nil {
		return nil
	}
	return askedFor(edge.Next())
}

func askedFor(uids []autoedge.UID) (out []string) {
	for _, u := range uids {
		sign := ">"
		if u.IsReversed() {
			sign = "<"
		}
		if n, ok := u.(interface{ Notifies() bool }); ok && n.Notifies() {
			sign += "!"
		}
		out = append(out, sign+u.String())
	}
	return out
}

// TestRelationsAsk: each of the four relations asks in its direction, and with a notification or without.
func TestRelationsAsk(t *testing.T) {
	r := related(t, provider.Definition{
		Require:   []provider.Relation{{Kind: "oak", Titles: []string{"a", "$one"}}},
		Before:    []provider.Relation{{Kind: "oak", Titles: []string{"b"}}},
		Subscribe: []provider.Relation{{Kind: "oak", Titles: []string{"c"}}},
		Notify:    []provider.Relation{{Kind: "oak", Titles: []string{"d"}}},
	}, map[string]any{"name": "x", "one": "o"})
	must(t, r.Validate())
	if got := asks(t, r); !slices.Equal(got, []string{"<oak[a]", "<oak[o]", ">oak[b]", "<!oak[c]", ">!oak[d]"}) {
		t.Errorf("%q", got)
	}
}

// TestRelationTitles: an attribute names one title, or as many as it holds; what is empty names none.
func TestRelationTitles(t *testing.T) {
	d := provider.Definition{Require: []provider.Relation{{Kind: "oak", Titles: []string{"$one", "$many", "$name", "const"}}}}
	for _, c := range []struct {
		one  any
		many []any
		want string
	}{
		{nil, nil, "x const"},
		{"", []any{}, "x const"},
		{"a", []any{"b", "c"}, "a b c x const"},
		{5, []any{true, 1.5}, "5 true 1.5 x const"},
		{[]any{"a", []any{"b", []any{"", nil, "c"}}}, []any{nil, "d"}, "a b c d x const"},
	} {
		values := map[string]any{"name": "x"}
		if c.one != nil {
			values["one"] = c.one
		}
		if c.many != nil {
			values["many"] = c.many
		}
		r := related(t, d, values)
		must(t, r.Validate())
		var titles []string
		for _, a := range asks(t, r) {
			titles = append(titles, strings.TrimSuffix(strings.TrimPrefix(a, "<oak["), "]"))
		}
		if got := strings.Join(titles, " "); got != c.want {
			t.Errorf("%v %v: %s, want %s", c.one, c.many, got, c.want)
		}
	}
}

// TestRelationKinds: the words of catalogs are our kinds, and a kind with UIDs of its own is asked for by those.
func TestRelationKinds(t *testing.T) {
	for kind, want := range map[string]string{
		"file /etc/x/": "file[/etc/x]", "package vim": "pkg[vim]", "pkg vim": "pkg[vim]", "service sshd.service": "svc[sshd]", "svc sshd": "svc[sshd]",
		"user root": "user[root]", "group adm": "group[adm]", "cron daily": "crontab[daily]", "notify hi": "msg[hi]", "oak o": "oak[o]",
	} {
		word, title, _ := strings.Cut(kind, " ")
		r := related(t, provider.Definition{Require: []provider.Relation{{Kind: word, Titles: []string{title}}}}, map[string]any{"name": "x"})
		must(t, r.Validate())
		if got := asks(t, r); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %s", kind, got, want)
		}
	}
}

// TestRelationFolders: a file that has to come before and is not in the graph is asked for again as its folder, and so on up to the root.
// What was found, comes after, or is no file is asked for once.
func TestRelationFolders(t *testing.T) {
	r := related(t, provider.Definition{
		Require:   []provider.Relation{{Kind: "file", Titles: []string{"/a/b/c", "/d/e", "rel/f"}}, {Kind: "oak", Titles: []string{"/o/p"}}},
		Before:    []provider.Relation{{Kind: "file", Titles: []string{"/g/h"}}},
		Subscribe: []provider.Relation{{Kind: "file", Titles: []string{"/i/j"}}},
	}, map[string]any{"name": "x"})
	must(t, r.Validate())
	edge, err := r.(engine.EdgeableRes).AutoEdges()
	must(t, err)
	if n := len(edge.Next()); n != 6 {
		t.Fatalf("%d questions", n)
	}
	var steps []string
	for found := []bool{false, true, false, false, false, false}; edge.Test(found); found = nil {
		steps = append(steps, strings.Join(askedFor(edge.Next()), " "))
		if len(steps) > 9 {
			t.Fatal("it asks without an end")
		}
	}
	if want := []string{"</a/b", "</a", "</"}; len(steps) != 3 || !slices.EqualFunc(steps, want, func(got, want string) bool {
		return strings.Contains(got, want[1:]) && got[0] == '<' && !strings.Contains(got, " ")
	}) {
		t.Errorf("%q", steps)
	}
	edge, err = r.(engine.EdgeableRes).AutoEdges()
	must(t, err)
	if edge.Test([]bool{true, true, true, true, true, true}) {
		t.Errorf("all was found, and it goes on with %q", askedFor(edge.Next()))
	}
}

// TestRelationsOfNothing: a type without relations asks for nothing, and so does a resource that is not valid.
func TestRelationsOfNothing(t *testing.T) {
	if got := asks(t, related(t, provider.Definition{}, map[string]any{"name": "x"})); got != nil {
		t.Errorf("%q", got)
	}
	r := related(t, provider.Definition{Require: []provider.Relation{{Kind: "oak", Titles: []string{"a"}}}}, map[string]any{"name": "x"})
	must(t, schema.Set(r.(schema.Typed), "name", nil))
	r.SetName("")
	if err := r.Validate(); err == nil {
		t.Error("a name of no letters is valid")
	}
	if got, uids := asks(t, r), r.(engine.EdgeableRes).UIDs(); got != nil || uids != nil {
		t.Errorf("one that is not valid asks for %q, and is %v", got, uids)
	}
	if err := r.(engine.ClashingRes).Clashes(r); err != nil {
		t.Error("one that is not valid clashes:", err)
	}
}

// TestThingUID: two resources are the same thing by kind, name and target, whatever their titles are.
func TestThingUID(t *testing.T) {
	thing := func(kind, title, name string) engine.Res {
		d := simple(0)
		d.Name = kind
		k, err := provider.New(d, newStock().clerk)
		must(t, err)
		r := k.New()
		r.SetKind(kind)
		r.SetName(title)
		if name != "" {
			must(t, schema.Set(r.(schema.Typed), "name", name))
		}
		must(t, r.Validate())
		return r
	}
	x := thing("rec", "x", "")
	for _, c := range []struct {
		other engine.Res
		same  bool
	}{{thing("rec", "x", ""), true}, {thing("rec", "another", "x"), true}, {thing("rec", "y", ""), false}, {thing("other", "x", ""), false}, {thing("rec", "x", "y"), false}} {
		a, b := x.(engine.EdgeableRes).UIDs()[0], c.other.(engine.EdgeableRes).UIDs()[0]
		hash := func(u autoedge.UID) string {
			return autoedge.SpaceOf(u) + " " + u.(interface{ Hash() string }).Hash()
		}
		if a.IFF(b) != c.same || b.IFF(a) != c.same || (hash(a) == hash(b)) != c.same {
			t.Errorf("%s and %s: the same is %v and %v, want %v", a, b, a.IFF(b), b.IFF(a), c.same)
		}
		if a.IFF(autoedge.NameUID(autoedge.BaseUID{}, "rec", "x")) {
			t.Error("it is the same as a name")
		}
	}
	err := x.(engine.ClashingRes).Clashes(thing("rec", "another", "x"))
	if err == nil || err.Error() != "both are the rec x" {
		t.Error(err)
	}
	if err := x.(engine.ClashingRes).Clashes(thing("rec", "y", "")); err != nil {
		t.Error(err)
	}
	gone := thing("rec", "x", "")
	must(t, schema.Set(gone.(schema.Typed), "ensure", "absent"))
	if x.(engine.LeavingRes).Leaving() || !gone.(engine.LeavingRes).Leaving() {
		t.Error("Leaving")
	}
}
