package file

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFileClashes: two files of one path clash where one would undo the other.
//
// Seen failing with: clash.go: each of the cases left out, bothModes always
// true or false.
func TestFileClashes(t *testing.T) {
	x, y := "x", "y"
	gets := func(r *Res, key, from string) *Res {
		r.SetRecv(map[string]*engine.Send{key: {Res: schema.Ref{Kind: "value", Name: from}, Key: "value"}})
		return r
	}
	for name, c := range map[string]struct {
		a, b *Res
		want string
	}{
		"same":              {&Res{Path: "/a", Content: &x}, &Res{Path: "/a", Content: &x}, ""},
		"contents":          {&Res{Path: "/a", Content: &x}, &Res{Path: "/a", Content: &y}, "they want different contents"},
		"empty":             {&Res{Path: "/a", Content: &x}, &Res{Path: "/a", Content: new("")}, "they want different contents"},
		"sources":           {&Res{Path: "/a", Content: &x}, &Res{Path: "/a", Source: "/b"}, "they want different contents"},
		"fragments":         {&Res{Path: "/a", Fragments: []string{"/b"}}, &Res{Path: "/a", Fragments: []string{"/c"}}, "they want different contents"},
		"links":             {&Res{Path: "/a", Symlink: true, Source: "/b"}, &Res{Path: "/a", Symlink: true, Source: "/c"}, "they want different contents"},
		"link and file":     {&Res{Path: "/a", Symlink: true, Source: "/b"}, &Res{Path: "/a", Source: "/b"}, "one wants a file, the other one a link"},
		"folder and file":   {&Res{Path: "/a/"}, &Res{Path: "/a", Content: &x}, "one wants a file, the other one a folder"},
		"absent":            {&Res{Path: "/a", State: Absent}, &Res{Path: "/a", State: Exists}, "one wants a file, the other one nothing there"},
		"content and mode":  {&Res{Path: "/a", Content: &x}, &Res{Path: "/a", Mode: "0600"}, ""},
		"purged":            {&Res{Path: "/a/", Recurse: true, Source: "/b/"}, &Res{Path: "/a/", Recurse: true, Purge: true}, "one purges what the other one copies"},
		"owners":            {&Res{Path: "/a", Owner: "ada"}, &Res{Path: "/a", Owner: "bob"}, "they want different owners"},
		"name and number":   {&Res{Path: "/a", Owner: "ada"}, &Res{Path: "/a", Owner: "7"}, ""},
		"groups":            {&Res{Path: "/a", Group: "7"}, &Res{Path: "/a", Group: "8"}, "they want different groups"},
		"one owner":         {&Res{Path: "/a", Owner: "ada"}, &Res{Path: "/a", Group: "8"}, ""},
		"modes":             {&Res{Path: "/a", Mode: "0600"}, &Res{Path: "/a", Mode: "0644"}, "they want different modes"},
		"modes that agree":  {&Res{Path: "/a", Mode: "u=rw,go=r"}, &Res{Path: "/a", Mode: "g+r"}, ""},
		"modes that do not": {&Res{Path: "/a", Mode: "u=rw,go=r"}, &Res{Path: "/a", Mode: "g-r"}, "they want different modes"},
		"one sender":        {gets(&Res{Path: "/a"}, "content", "v"), gets(&Res{Path: "/a"}, "content", "v"), ""},
		"two senders":       {gets(&Res{Path: "/a"}, "content", "v"), gets(&Res{Path: "/a"}, "content", "w"), "they want different contents"},
		"sent and given":    {gets(&Res{Path: "/a"}, "content", "v"), &Res{Path: "/a", Content: &x}, "they want different contents"},
		"sent owner":        {gets(&Res{Path: "/a"}, "owner", "v"), &Res{Path: "/a", Owner: "ada"}, "they want different owners"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kindtest.ErrText(c.a.Clashes(c.b)); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
			if err := c.b.Clashes(c.a); (err == nil) != (c.want == "") {
				t.Errorf("the other way: %v", err)
			}
		})
	}
	if (&Res{Path: "/a"}).Clashes(&kindtest.Stranger{}) == nil {
		t.Error("a file is a noop")
	}
}
