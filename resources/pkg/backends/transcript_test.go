package backends

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/pkg/backends/pkgtest"
)

// backends are all, with the facts of a machine that they are for.
var backends = []struct {
	backend *virtual.Backend
	facts   virtual.Facts
}{
	{Apk(), virtual.Facts{"os_family": "Alpine"}},
	{Apt(), virtual.Facts{"os": "Debian", "os_family": "Debian", "osarch": "amd64"}},
	{Dnf(), virtual.Facts{"os_family": "RedHat"}},
	{Pacman(), virtual.Facts{"os_family": "Arch"}},
	{Zypper(), virtual.Facts{"os_family": "Suse"}},
}

// TestTranscripts: each backend runs the commands of its transcripts, and understands what they print. Those
// of tools that Debian has are checked and recorded by integration/machines, on a machine that has them.
func TestTranscripts(t *testing.T) {
	for _, b := range backends {
		files, err := filepath.Glob(filepath.Join("testdata", b.backend.Name, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no transcripts (%v)", b.backend.Name, err)
		}
		for _, file := range files {
			t.Run(b.backend.Name+"/"+filepath.Base(file), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					pkgtest.Replay(t, file, func(host engine.Host) *virtual.Module { return bind(t, b.backend, b.facts, host) })
				})
			})
		}
	}
}

func bind(t *testing.T, b *virtual.Backend, facts virtual.Facts, host engine.Host) *virtual.Module {
	t.Helper()
	m, err := virtual.Bind(t.Context(), Interface(), b, virtual.Env{Host: host, Facts: facts, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
