package expand

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func ringOf(t *testing.T, o *Options, sources string) *keyring {
	t.Helper()
	k := &keyring{opts: o, inputs: newInputs(o), found: newFindings()}
	k.declare(&Document{Dir: "dir"}, tree(t, sources))
	return k
}

func TestKeyringAsksInOrder(t *testing.T) {
	s := &shelf{files: map[string]string{"dir/age": `{"a": "ENC[1]", "deep": {"b": "ENC[2]"}, "plain": "x"}`, "creds/c": "text\n"}}
	o := optionsOf(s)
	o.Credentials = "creds"
	o.Unseal = func(text string) (string, error) { return "clear " + text, nil }
	runs := map[string]int{}
	o.Program = func(_ string, _ []byte, argv ...string) ([]byte, error) {
		runs[argv[len(argv)-1]]++
		return []byte(`{"a": "late", "d": "of all"}`), nil
	}
	k := ringOf(t, o, `[{"age": "age"}, {"credentials": true}, {"command": ["all"]}]`)
	for name, want := range map[string]string{"a": "clear ENC[1]", "deep/b": "clear ENC[2]", "c": "text", "d": "of all"} {
		for range 2 {
			if text, err := k.find(name); err != nil || text != want {
				t.Errorf("%s is %q, %v, want %q", name, text, err, want)
			}
		}
	}
	if s.reads["dir/age"] != 1 || runs["all"] != 1 || len(k.inputs.outputs) != 1 {
		t.Errorf("read %v, run %v, %d outputs", s.reads, runs, len(k.inputs.outputs))
	}
	for name, part := range map[string]string{"plain": "is not encrypted", "nowhere": "there is no secret", "../c": "there is no secret"} {
		if text, err := k.find(name); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	says(t, k.found)
}

func TestKeyringForEachSecret(t *testing.T) {
	o := optionsOf(&shelf{})
	var asked []string
	o.Program = func(dir string, _ []byte, argv ...string) ([]byte, error) {
		asked = append(asked, dir+": "+strings.Join(argv, " "))
		return []byte("text\n"), nil
	}
	k := ringOf(t, o, `[{"command": ["pass", "show", "x/{}"]}]`)
	for range 2 {
		if text, err := k.find("a"); err != nil || text != "text" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if _, err := k.find("--help"); err == nil {
		t.Error("a name that could be an option is taken")
	}
	if !slices.Equal(asked, []string{"dir: pass show x/a"}) {
		t.Errorf("asked %q", asked)
	}
}

func TestKeyringFailsOnce(t *testing.T) {
	for sources, want := range map[string]int{`[{"command": ["all"]}]`: 1, `[{"command": ["pass", "{}"]}]`: 2, `[{"sops": "s.json"}]`: 1} {
		runs := 0
		o := optionsOf(&shelf{files: map[string]string{"dir/s.json": "{}"}})
		o.Program = func(string, []byte, ...string) ([]byte, error) { runs++; return nil, errors.New("no connection") }
		k := ringOf(t, o, sources)
		for _, name := range []string{"a", "b", "a", "b"} {
			if _, err := k.find(name); err == nil || !strings.Contains(err.Error(), "the secret "+name+" can't be read: no connection") {
				t.Errorf("%s: %s gives %v", sources, name, err)
			}
		}
		if runs != want {
			t.Errorf("%s: the program has run %d times, and not %d", sources, runs, want)
		}
	}
}

func TestKeyringWithoutIdentity(t *testing.T) {
	o := optionsOf(&shelf{files: map[string]string{"dir/age": `{"a": "ENC[1]"}`}})
	for _, sources := range []string{`[{"age": "age"}]`, `[{"credentials": true}]`, `[{"command": ["all"]}]`} {
		var keyless *keylessError
		if _, err := ringOf(t, o, sources).find("a"); !errors.As(err, &keyless) {
			t.Errorf("%s: %v is no error of a missing identity", sources, err)
		}
	}
	k := ringOf(t, o, `[{"age": "none"}]`)
	var unread *unreadError
	if _, err := k.find("a"); !errors.As(err, &unread) {
		t.Errorf("a source that is missing gives %v", err)
	}
	says(t, k.found, "can't read dir/none")
	says(t, ringOf(t, o, `[{"age": ""}, 1]`).found, `"age" is no source`, "a source of secrets has one key")
}

func TestKeyringOfATest(t *testing.T) {
	s := &shelf{}
	o := optionsOf(s)
	o.Secret = func(name string) (string, bool) { return "given", name == "a" }
	k := ringOf(t, o, `[{"age": "age"}]`)
	if text, err := k.find("a"); err != nil || text != "given" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := k.find("b"); err == nil {
		t.Error("a secret that the test does not have is found")
	}
	if len(s.reads) > 0 {
		t.Errorf("read %v", s.reads)
	}
}
