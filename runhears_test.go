package mgmt_test

import (
	"os"
	"testing"

	"github.com/reactivegraph/mgmt"
)

// TestRunHearsOfItsOwnWork: a run ends when what its own work is news for has been run again, also where no edge says so.
func TestRunHearsOfItsOwnWork(t *testing.T) {
	for range 20 {
		root := t.TempDir()
		if err := os.WriteFile(root+"/source", []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		e, f := from(t, `
resources:
  file:
  - {name: `+root+`/copy, source: `+root+`/source, meta: {autoedge: false}}
  - {name: `+root+`/source, content: new, depend: ["exec[after]"], meta: {autoedge: false}}
  exec:
  - {name: after, cmd: "true", creates: `+root+`/copy, depend: ["file[`+root+`/copy]"]}
`, mgmt.Options{ConvergedExit: true})
		if err := e.Run(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(root + "/copy"); err != nil || string(text) != "new" {
			t.Errorf("the copy is %q, %v", text, err)
		}
	}
}
