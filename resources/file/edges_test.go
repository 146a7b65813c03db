package file

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/traits"
)

func TestFileEdges(t *testing.T) {
	for _, c := range []struct {
		r     *Res
		there []string
		want  []string
	}{
		{&Res{Path: "/a/b/c"}, []string{"file[/a]", "file[/]"}, []string{"pkg with /a/b/c", "file[/a/b]", "file[/a]"}},
		{&Res{Path: "/a/"}, nil, []string{"pkg with /a", "file[/]"}},
		{&Res{Path: "/"}, nil, []string{"pkg with /"}},
		{&Res{Path: "/a", Source: "/s/x/"}, []string{"file[/s]"}, []string{"pkg with /a", "file[/]", "file[/s/x]", "file[/s]"}},
		{&Res{Path: "/a", Source: "/s/x", Symlink: true}, nil, []string{"pkg with /a", "file[/]"}},
		{
			&Res{Path: "/a", Fragments: []string{"/f/", "/g"}, Owner: "ada", Group: "7"},
			[]string{"file[/]", "file[/f]", "file[/g]"},
			[]string{"user[ada]", "group[7]", "pkg with /a", "files below /f", "file[/]", "file[/f]", "file[/g]"},
		},
		{&Res{Path: "/a/", Source: "/s/x/", Recurse: true}, nil, []string{"pkg with /a", "files below /s/x", "file[/]", "file[/s/x]", "file[/s]", "file[/]"}},
	} {
		if got := kindtest.Asked(t, c.r, c.there...); !slices.Equal(got, c.want) {
			t.Errorf("%+v wants %v, not %v", c.r.Path, got, c.want)
		}
	}
	parent := &Res{Path: "/a/"}
	if !parent.UIDs()[0].IFF(traits.FileUID(autoedge.BaseUID{}, "/a")) {
		t.Error("a folder is not found by its path")
	}
}
