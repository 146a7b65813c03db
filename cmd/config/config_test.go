package config_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/config"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
)

// table is a small one with each sort of setting.
func table() *config.Table {
	text, yes := &schema.Type{Kind: schema.KindString}, &schema.Type{Kind: schema.KindBool}
	return &config.Table{
		Folder: "folder", Scratch: "scratch",
		Settings: []*config.Setting{
			{Key: "folder", Type: text, Path: true, Group: "state", Doc: "a `folder`", Example: "/x"},
			{Key: "scratch", Type: yes, Group: "state", Doc: "a scratch folder", Example: "true"},
			{Key: "out", Type: text, Own: true, Doc: "an output", Example: "a"},
			{Key: "many_words", Type: &schema.Type{Kind: schema.KindList, Elem: text}, Doc: "some `words`", Example: "[a]"},
			{Key: "size", Type: &schema.Type{Kind: schema.KindInt, Bits: 32, Min: new(int64(0))}, Default: "3", Was: "old_size", Doc: "a size", Example: "1", Live: true},
			{Key: "even", Type: text, Doc: "an even word", Example: "ab", Check: func(s string) error {
				if len(s)%2 != 0 {
					return errors.New("odd")
				}
				return nil
			}},
		},
	}
}

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func variables(m map[string]string) func(string) string {
	return func(name string) string { return m[name] }
}

// TestFindingD6Sources: in each mixture of sources the strongest one that gives a value wins, and
// the value says where it is from.
func TestFindingD6Sources(t *testing.T) {
	tab := table()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var file strings.Builder
		env, flags := map[string]string{}, config.Resolved{}
		want := config.SourceDefault
		file.WriteString("# a comment\n")
		if rng.IntN(2) == 0 {
			file.WriteString("size: 5\n")
			want = config.SourceFile
		}
		if rng.IntN(2) == 0 {
			env["MGMT_SIZE"] = "6"
			want = config.SourceEnvironment
		}
		if rng.IntN(2) == 0 {
			flags["size"] = config.Value{Texts: []string{"7"}, Source: config.SourceFlag, Name: "--size"}
			want = config.SourceFlag
		}
		read, ds := tab.Read(write(t, file.String()), gapi.Source{})
		given, more := tab.Environment(variables(env))
		if len(ds)+len(more) > 0 {
			t.Fatal(ds, more)
		}
		got := tab.Resolve(flags, given, read)
		value := tab.Shown(got, tab.Get("size"))
		if got["size"].Source != want || value != map[config.Source]string{0: "3", 1: "5", 2: "6", 3: "7"}[want] {
			t.Fatalf("%s from %s, want %s", value, got["size"].From(), want)
		}
		if want == config.SourceFile && !strings.HasSuffix(got["size"].From(), "c.yaml:2:1") {
			t.Fatalf("from %s", got["size"].From())
		}
	}
}

// TestFindingD6Variables: a wrong variable is an error with its name, and a misspelled one a warning.
func TestFindingD6Variables(t *testing.T) {
	tab := table()
	_, ds := tab.Environment(variables(map[string]string{"MGMT_SIZE": "-1", "MGMT_SCRATCH": "maybe", "MGMT_EVEN": "odd", "MGMT_FOLDER": ""}))
	text := ds.Error()
	for _, want := range []string{"MGMT_SIZE=-1: ", "MGMT_SCRATCH=maybe: write true or false", "MGMT_EVEN=odd: odd"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if len(ds) != 3 {
		t.Errorf("%d findings: %s", len(ds), text)
	}
	given, ds := tab.Environment(variables(map[string]string{"MGMT_MANY_WORDS": "a,b", "MGMT_SCRATCH": "1", "MGMT_FOLDER": "rel"}))
	if len(ds) > 0 || len(given["many_words"].Texts) != 2 || given["scratch"].Text() != "true" || given["folder"].Text() != "rel" {
		t.Errorf("%v, %v", given, ds)
	}
	warned := tab.Misspelled([]string{"MGMT_SIZ=1", "MGMT_SIZE=1", "MGMT_OPTIONS=x", "SIZ=1", "MGMT_="})
	if len(warned) != 1 || warned.Err() != nil || warned[0].Suggestion != "MGMT_SIZE" {
		t.Errorf("%v", warned)
	}
}

// TestFindingD6Paths: a relative path of the file counts from its folder.
func TestFindingD6Paths(t *testing.T) {
	path := write(t, "folder: a/b\n")
	read, ds := table().Read(path, gapi.Source{})
	if got := read.Given["folder"].Text(); len(ds) > 0 || got != filepath.Join(filepath.Dir(path), "a/b") {
		t.Errorf("%q, %v", got, ds)
	}
	missing, ds := table().Read(filepath.Join(filepath.Dir(path), "none"), gapi.Source{})
	if len(ds) > 0 || missing.Exists || len(missing.Given) > 0 {
		t.Errorf("%v, %v", missing, ds)
	}
}

// FuzzRead: no text makes the reader fail otherwise than by findings, each with the file; a file with an
// error gives nothing, and what is given passes the checks of its setting.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "size: 1\n", "many_words: [a, {b: c}]\n", "even: a\n", "world: x\n", "folder: ''\n", "a: &a [*a]\n", "size: 1\nsize: 2\n", "scratch: true\nfolder: x\n", "- a\n", "even: !!binary YWI=\n", "<<: {size: 1}\n", "? [a]\n: b\n"} {
		f.Add(text)
	}
	path := filepath.Join(f.TempDir(), "c.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tab := table()
		read, ds := tab.Read(path, gapi.Source{})
		if ds.Err() != nil && len(read.Given) > 0 {
			t.Errorf("%q has errors and gives %v", text, read.Given)
		}
		for _, d := range ds {
			if d.Pos.File != path {
				t.Errorf("a finding without the file: %s", d)
			}
		}
		for key, v := range read.Given {
			s := tab.Get(key)
			if s == nil || v.Source != config.SourceFile || v.Pos.Line == 0 {
				t.Errorf("%q gives %s: %v", text, key, v)
				continue
			}
			for _, one := range v.Texts {
				if s.Check != nil && s.Check(one) != nil {
					t.Errorf("%s has %q", key, one)
				}
			}
		}
	})
}

// TestOldNames: the key that a setting had before still counts in a file and in the environment, and is a warning.
func TestOldNames(t *testing.T) {
	tab := table()
	file, ds := tab.Read(write(t, "old_size: 7\n"), gapi.Source{})
	if len(ds) != 1 || ds[0].Severity != schema.Warning || ds[0].Pos.Line != 1 ||
		ds[0].Message != "old_size is called size now; the old name still counts" || file.Given["size"].Text() != "7" {
		t.Errorf("in a file: %v, %v", file.Given, ds)
	}
	for _, text := range []string{"old_size: 7\nsize: 8\n", "size: 8\nold_size: 7\n"} {
		file, ds = tab.Read(write(t, text), gapi.Source{})
		if err := ds.Err(); err == nil || !strings.Contains(err.Error(), "2:1: size and old_size are two names of one setting: leave old_size out") || file.Given != nil {
			t.Errorf("%q: %v, %v", text, file.Given, ds)
		}
	}
	env, ds := tab.Environment(variables(map[string]string{"MGMT_OLD_SIZE": "9"}))
	if len(ds) != 1 || ds[0].Severity != schema.Warning || env["size"].Text() != "9" || env["size"].From() != "MGMT_OLD_SIZE" {
		t.Errorf("in the environment: %v, %v", env, ds)
	}
	env, ds = tab.Environment(variables(map[string]string{"MGMT_OLD_SIZE": "9", "MGMT_SIZE": "1"}))
	if len(ds) != 0 || env["size"].Text() != "1" {
		t.Errorf("with both variables: %v, %v", env, ds)
	}
	if ds := tab.Misspelled([]string{"MGMT_OLD_SIZE=9"}); len(ds) != 0 {
		t.Errorf("an old name counts as misspelled: %v", ds)
	}
}
