package ineffect

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
)

// TestDeclarations: what a Keeper has kept of declarations is read with its salt. Without a file, and where it can't be read, there is
// a new salt and nothing else.
func TestDeclarations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "declared")
	was, err := ReadDeclarations[string](path)
	if err != nil || len(was.Salt) != saltLen || len(was.Prints) > 0 {
		t.Fatalf("without a file: %v, %v", was, err)
	}
	was.Prints = map[string]string{"file[/a]": "x", "file[/b]": "y"}
	k := NewOf("the declarations", path, slog.New(slog.DiscardHandler), engine.SystemClock{})
	k.KeepAny(func() any { return was })
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	is, err := ReadDeclarations[string](path)
	if err != nil || !bytes.Equal(is.Salt, was.Salt) || !maps.Equal(is.Prints, was.Prints) {
		t.Errorf("%v, %v, want %v", is, err, was)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can read it", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if is, err = ReadDeclarations[string](path); err == nil || len(is.Salt) != saltLen || bytes.Equal(is.Salt, was.Salt) || len(is.Prints) > 0 {
		t.Errorf("of a broken file: %v, %v", is, err)
	}
}
