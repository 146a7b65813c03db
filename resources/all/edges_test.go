package all_test

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/resources/exec"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestMountEdgesOfKinds: a mount comes before everything that is below it, and the nearest mount or folder counts.
func TestMountEdgesOfKinds(t *testing.T) {
	for _, c := range []struct {
		r           engine.EdgeableRes
		there, want []string
	}{
		{&file.Res{Path: "/m/a/b"}, []string{"mount[/m]", "mount[/]"}, []string{"mount[/m]"}},
		{&file.Res{Path: "/m/a"}, []string{"mount[/m]", "file[/m]"}, []string{"file[/m]", "mount[/m]"}},
		{&file.Res{Path: "/m/a/b"}, []string{"mount[/m]", "file[/m/a]"}, []string{"file[/m/a]"}},
		{&file.Res{Path: "/m/"}, []string{"mount[/m]"}, nil},
		{&exec.Res{Cmd: "ls", Cwd: "/m"}, []string{"mount[/m]"}, []string{"mount[/m]"}},
	} {
		if got := kindtest.Found(t, c.r, c.there...); !slices.Equal(got, c.want) {
			t.Errorf("%+v finds %v, and not %v", c.r, got, c.want)
		}
	}
}
