package yaml_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/internal/nstest"
)

// TestFindingJ3Silent: a graph, an include and a folder on a file system that never answers are an error after a
// while. Nothing waits for ever, and a second question about the same file adds no goroutine.
func TestFindingJ3Silent(t *testing.T) {
	if !nstest.InNamespace(t) {
		return
	}
	dir, wake := nstest.Silent(t)
	own := filepath.Join(t.TempDir(), "g.yaml")
	lost := filepath.Join(dir, "g.yaml")
	if err := os.WriteFile(own, []byte("include: ["+lost+"]\nresources: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asker := &gapi.Asker{Limit: 20 * time.Millisecond}
	source := gapi.Source{Asker: asker}
	for _, path := range []string{lost, own, dir} {
		var err error
		await.Until(t, "an error of "+dir, func() bool {
			_, err = yaml.Load(path, yaml.Options{Source: source}, nil)
			return err == nil || !strings.Contains(err.Error(), "system at "+own) // a loaded machine takes its time
		})
		if err == nil || !strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, err := range yaml.New(lost, yaml.Options{Source: source}).Graphs(t.Context(), gapi.Env{NoWatch: true}) {
		if err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("a frontend: %v", err)
		}
	}
	if _, err := asker.Stat(t.Context(), dir+"/other"); !errors.Is(err, gapi.ErrSilent) {
		t.Error(err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := (&gapi.Asker{}).Stat(ctx, dir+"/third"); !errors.Is(err, stopped) {
		t.Errorf("a context that has ended: %v", err)
	}
	wake()
	asker.Wait()
	asker.Limit = 0
	if _, err := asker.Stat(t.Context(), lost); err == nil || errors.Is(err, gapi.ErrSilent) {
		t.Errorf("an unmounted folder: %v", err)
	}
	if d, err := yaml.Load(own, yaml.Options{Source: source}, nil); d == nil && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("after that: %v", err)
	}
}
