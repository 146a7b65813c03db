package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/gapi"
)

// TestWhereFrom: each input says by which name a later start knows it, and which file another graph can take the place of.
func TestWhereFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "g.yaml")
	if err := os.WriteFile(file, []byte("resources: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, none := os.Stat(Default)
	for name, c := range map[string]struct {
		Config
		frontend, lasting, path, why string
	}{
		"a file":         {Config{YAML: file}, "", file, file, ""},
		"a file to come": {Config{YAML: dir + "/new.yaml"}, "", "", dir + "/new.yaml", ""},
		"a folder":       {Config{YAML: dir}, "", dir, "", "put the file there"},
		"input":          {Config{YAML: "-"}, "", "", "", "standard input"},
		"a pipe":         {Config{YAML: "/dev/fd/63"}, "", "", "/dev/fd/63", ""},
		"a catalog":      {Config{Catalog: file}, "", file, "", "made of the catalog"},
		"a program":      {Config{TS: file}, "", file, "", "made by the program"},
		"the store":      {Config{Stored: true}, "", "store", "", "no graph of its own"},
		"nothing":        {Config{}, "no graph is given", "store", "", "no graph of its own"},
		"two":            {Config{YAML: file, TS: file}, "not from two of them", file, "", "made by the program"},
		"no variable":    {Config{YAML: file, Vars: []string{"a"}}, "write Graph.Vars NAME=VALUE", file, file, ""},
	} {
		if c.Config.path() == "" && none == nil {
			t.Logf("%s: this machine has a graph of its own", name)
			continue
		}
		in := New(c.Config, Env{})
		if _, err := in.Frontend(); !says(err, c.frontend) {
			t.Errorf("%s: %v", name, err)
		}
		if got := in.Lasting(); got != c.lasting {
			t.Errorf("%s is known by %q", name, got)
		}
		if got, err := in.Path(); got != c.path || !says(err, c.why) {
			t.Errorf("%s is at %q, %v", name, got, err)
		}
	}
}

func says(err error, want string) bool {
	return err == nil && want == "" || err != nil && want != "" && strings.Contains(err.Error(), want)
}

// TestSurroundings: variables of the environment come first and are shared with other graphs. A blind input runs no program for a secret.
func TestSurroundings(t *testing.T) {
	env := Env{From: gapi.Source{}, Environ: []string{"PATH=/bin", VarPrefix + "size=1", "CREDENTIALS_DIRECTORY=/run/c"}}
	o, err := New(Config{YAML: "g.yaml", Vars: []string{"size=2=3"}}, env).Options()
	if err != nil || len(o.Vars) != 2 || !o.Vars[0].Shared || o.Vars[0].Text != "1" || o.Vars[1].Shared || o.Vars[1].Text != "2=3" || o.Credentials != "/run/c" || o.Program == nil {
		t.Errorf("%+v, %v", o, err)
	}
	env.Blind = true
	if o := New(Config{YAML: "g.yaml"}, env).Foreign(); o.Program != nil || !o.Blind || len(o.Vars) != 0 {
		t.Errorf("a blind one: %+v", o)
	}
}
