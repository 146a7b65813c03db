package backends

import (
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

const primaryList = `<?xml version="1.0"?>
<metadata packages="2"><package type="rpm">
  <name>odd-server</name>
  <format><file>/etc/odd/a&amp;b.conf</file><file type="dir">/etc/odd</file>
    <file type="ghost">/etc/odd/ghost</file></format>
</package><package type="rpm"><name>other</name><format><file>/etc/other</file></format></package></metadata>
`

const fileList = `<filelists><package pkgid="x" name="odd-server" arch="noarch"><version epoch="0" ver="1" rel="1"/>
<file>/usr/share/odd/tool</file><file>/etc/odd/a&amp;b.conf</file></package></filelists>
`

// TestFindingF9ZypperContents: the lists that zypper keeps tell what packages bring; one that is broken is an error.
func TestFindingF9ZypperContents(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "/var/cache/zypp/raw/local/repodata")
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(primaryList)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	b := &zypper{rpm{newTools(virtual.Env{Host: h, Root: root}, judgeZypper)}}
	expect := func(want map[string][]string, names ...string) {
		t.Helper()
		got, err := b.contents(t.Context(), ContentsArgs{names})
		if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q: %q, %v; want %q", names, got, err, want)
		}
	}
	expect(map[string][]string{}, "odd-server")
	tree{"1-primary.xml.gz": packed.String()}.write(t, dir)
	expect(map[string][]string{"odd-server": {"/etc/odd/a&b.conf", "/etc/odd/ghost"}}, "odd-server", "nope")
	tree{"2-filelists.xml": fileList}.write(t, dir)
	expect(map[string][]string{"odd-server": {"/etc/odd/a&b.conf", "/etc/odd/ghost", "/usr/share/odd/tool"}, "other": {"/etc/other"}}, "odd-server", "other")
	if err := os.WriteFile(filepath.Join(dir, "3-primary.xml.gz"), []byte("no gzip"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := b.contents(t.Context(), ContentsArgs{[]string{"other"}}); err == nil || !strings.Contains(err.Error(), "3-primary.xml.gz cannot be read") {
		t.Errorf("a broken list: %q, %v", got, err)
	}
}
