package cmd

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// TestRenewTrustedKeys: a reload reads the files of the keys again. A file with a fault changes nothing, and is an error.
func TestRenewTrustedKeys(t *testing.T) {
	dir, w := t.TempDir(), memory.New()
	defer w.Close()
	path := filepath.Join(dir, "keys.pub")
	var keys []deploy.Public
	var texts []string
	for _, name := range []string{"a", "b"} {
		k, err := deploy.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		if err := deploy.WriteKey(filepath.Join(dir, name), k); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		keys, texts = append(keys, k.Public()), append(texts, string(text))
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(texts[0])
	d, err := openDeploys(&app{trustOthers: true}, w, "", "h1", []string{path}, yaml.Options{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	trusts := func(want ...deploy.Public) {
		t.Helper()
		got := *d.trusted.Load()
		if len(got) != len(want) || got[len(got)-1].ID != want[len(want)-1].ID {
			t.Errorf("%v are trusted, not %v", got, want)
		}
	}
	trusts(keys[0])
	write(texts[0] + texts[1])
	if err := d.renew(); err != nil {
		t.Fatal(err)
	}
	trusts(keys...)
	write("no key")
	if err := d.renew(); err == nil {
		t.Error("a file without a key is taken")
	}
	trusts(keys...)
	write(texts[1])
	if err := d.renew(); err != nil {
		t.Fatal(err)
	}
	trusts(keys[1])
}
