package file

import (
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// TestFindingB5HintNamesThePackage: a folder that is missing where packages have theirs may be one that a package brings;
// elsewhere only a file can.
func TestFindingB5HintNamesThePackage(t *testing.T) {
	for folder, want := range map[string]string{
		"/etc/nginx":               `depend: ["pkg[nginx]"]`,
		"/etc/nginx/conf.d":        `depend: ["pkg[nginx]"]`,
		"/var/lib/postgresql/15/x": `depend: ["pkg[postgresql]"]`,
		"/etc/.odd/x":              `depend: ["pkg[NAME]"]`,
		"/home/ann/.config":        "",
		"/tmp/x":                   "",
		"/etc":                     "",
	} {
		if got := files.OrPackage(folder); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
	r := &Res{Path: "/etc/no-such-package-here/conf.d/x.conf", Content: new("x")}
	kindtest.Begin(t, "file", r)
	_, err := r.CheckApply(t.Context(), false)
	if err == nil || !strings.Contains(err.Error(), `add file[/etc/no-such-package-here/conf.d/] to the graph; or, if a package brings it`) || !strings.Contains(err.Error(), `depend: ["pkg[no-such-package-here]"]`) {
		t.Errorf("%v", err)
	}
}
