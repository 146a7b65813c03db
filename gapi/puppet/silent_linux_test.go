package puppet_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingJ3SilentCatalog: a catalog on a file system that never answers is an error after a while.
func TestFindingJ3SilentCatalog(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir, wake := nstest.Silent(t)
	asker := &gapi.Asker{Limit: 20 * time.Millisecond}
	f := puppet.New(filepath.Join(dir, "c.json"), puppet.Options{Source: gapi.Source{Asker: asker}})
	for _, err := range f.Graphs(t.Context(), gapi.Env{NoWatch: true}) {
		if err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Error(err)
		}
	}
	wake()
	asker.Wait()
}
