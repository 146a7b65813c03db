package yaml_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestNothingOfTheGraphIsKept: while the file of a graph rests, nothing of what was
// read stays in memory.
func TestNothingOfTheGraphIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "g.yaml")
		if err := os.WriteFile(path, []byte("resources:\n  noop:\n  - {name: a, comment: x}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		values := make(chan weak.Pointer[schema.Node], 1)
		done := make(chan struct{})
		host := &fakeHost{}
		go func() {
			defer close(done)
			for d, err := range yaml.New(path, yaml.Options{}).Graphs(t.Context(), gapi.Env{Host: host}) {
				if err != nil {
					t.Error(err)
					return
				}
				if d.Resources[0].Name == "b" {
					return
				}
				values <- weak.Make(d.Resources[0].Value)
			}
		}()
		value := <-values
		synctest.Wait()
		runtime.GC()
		if value.Value() != nil {
			t.Error("what the file said is still there")
		}
		if err := os.WriteFile(path, []byte("resources:\n  noop:\n  - name: b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		host.touch()
		<-done
	})
}
