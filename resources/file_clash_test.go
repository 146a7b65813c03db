package resources

import (
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/basic"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFileClashes: two files of one path clash where one would undo the other.
//
// Seen failing with: file_clash.go: each of the cases left out, bothModes always
// true or false.
func TestFileClashes(t *testing.T) {
	x, y := "x", "y"
	gets := func(r *FileRes, key, from string) *FileRes {
		r.SetRecv(map[string]*engine.Send{key: {Res: schema.Ref{Kind: "value", Name: from}, Key: "value"}})
		return r
	}
	for name, c := range map[string]struct {
		a, b *FileRes
		want string
	}{
		"same":              {&FileRes{Path: "/a", Content: &x}, &FileRes{Path: "/a", Content: &x}, ""},
		"contents":          {&FileRes{Path: "/a", Content: &x}, &FileRes{Path: "/a", Content: &y}, "they want different contents"},
		"empty":             {&FileRes{Path: "/a", Content: &x}, &FileRes{Path: "/a", Content: new("")}, "they want different contents"},
		"sources":           {&FileRes{Path: "/a", Content: &x}, &FileRes{Path: "/a", Source: "/b"}, "they want different contents"},
		"fragments":         {&FileRes{Path: "/a", Fragments: []string{"/b"}}, &FileRes{Path: "/a", Fragments: []string{"/c"}}, "they want different contents"},
		"links":             {&FileRes{Path: "/a", Symlink: true, Source: "/b"}, &FileRes{Path: "/a", Symlink: true, Source: "/c"}, "they want different contents"},
		"link and file":     {&FileRes{Path: "/a", Symlink: true, Source: "/b"}, &FileRes{Path: "/a", Source: "/b"}, "one wants a file, the other one a link"},
		"folder and file":   {&FileRes{Path: "/a/"}, &FileRes{Path: "/a", Content: &x}, "one wants a file, the other one a folder"},
		"absent":            {&FileRes{Path: "/a", State: FileAbsent}, &FileRes{Path: "/a", State: FileExists}, "one wants a file, the other one nothing there"},
		"content and mode":  {&FileRes{Path: "/a", Content: &x}, &FileRes{Path: "/a", Mode: "0600"}, ""},
		"purged":            {&FileRes{Path: "/a/", Recurse: true, Source: "/b/"}, &FileRes{Path: "/a/", Recurse: true, Purge: true}, "one purges what the other one copies"},
		"owners":            {&FileRes{Path: "/a", Owner: "ada"}, &FileRes{Path: "/a", Owner: "bob"}, "they want different owners"},
		"name and number":   {&FileRes{Path: "/a", Owner: "ada"}, &FileRes{Path: "/a", Owner: "7"}, ""},
		"groups":            {&FileRes{Path: "/a", Group: "7"}, &FileRes{Path: "/a", Group: "8"}, "they want different groups"},
		"one owner":         {&FileRes{Path: "/a", Owner: "ada"}, &FileRes{Path: "/a", Group: "8"}, ""},
		"modes":             {&FileRes{Path: "/a", Mode: "0600"}, &FileRes{Path: "/a", Mode: "0644"}, "they want different modes"},
		"modes that agree":  {&FileRes{Path: "/a", Mode: "u=rw,go=r"}, &FileRes{Path: "/a", Mode: "g+r"}, ""},
		"modes that do not": {&FileRes{Path: "/a", Mode: "u=rw,go=r"}, &FileRes{Path: "/a", Mode: "g-r"}, "they want different modes"},
		"one sender":        {gets(&FileRes{Path: "/a"}, "content", "v"), gets(&FileRes{Path: "/a"}, "content", "v"), ""},
		"two senders":       {gets(&FileRes{Path: "/a"}, "content", "v"), gets(&FileRes{Path: "/a"}, "content", "w"), "they want different contents"},
		"sent and given":    {gets(&FileRes{Path: "/a"}, "content", "v"), &FileRes{Path: "/a", Content: &x}, "they want different contents"},
		"sent owner":        {gets(&FileRes{Path: "/a"}, "owner", "v"), &FileRes{Path: "/a", Owner: "ada"}, "they want different owners"},
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
	if (&FileRes{Path: "/a"}).Clashes(&basic.NoopRes{}) == nil {
		t.Error("a file is a noop")
	}
}
