package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// coins is the world of the kind coin.
type coins struct {
	mu    sync.Mutex
	value map[string]coin
	bad   string        // a name that can't be listed
	news  chan struct{} // wakes the Watch
}

func (c *coins) at(name string) (coin, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.value[name]
	return v, ok
}

// coin has parameters of all sorts.
type coin struct {
	traits.Base
	world *coins
	init  *engine.Init

	Text  string            `yaml:"text" doc:"Some text. And more of it."`
	Count int               `yaml:"count" mgmt:"min=0"`
	Ratio float64           `yaml:"ratio"`
	On    bool              `yaml:"on"`
	Mode  schema.Mode       `yaml:"mode"`
	Metal string            `yaml:"metal" mgmt:"enum=gold|iron"`
	Tags  []string          `yaml:"list"`
	Map   map[string]string `yaml:"map"`
	Maybe *int              `yaml:"maybe"`
	Pin   schema.Secret     `yaml:"pin"`
	Pins  []schema.Secret   `yaml:"pins"`
	Size  schema.Size       `yaml:"size" mgmt:"readonly"`
}

func (c *coin) Default() engine.Res { return &coin{world: c.world} }

func (c *coin) Validate() error { return nil }

func (c *coin) Init(i *engine.Init) error {
	c.init = i
	return nil
}

func (c *coin) Cleanup() error { return nil }

func (c *coin) Watch(ctx context.Context) error {
	c.init.Running()
	for {
		select {
		case <-c.world.news:
			c.init.Event()
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *coin) CheckApply(_ context.Context, apply bool) (bool, error) {
	if c.Text == "fail" {
		return false, errors.New("it is broken")
	}
	is, ok := c.world.at(c.Name())
	if ok && is.show(c.Name()).Cmp(c) == nil {
		return true, nil
	}
	c.init.Change(engine.Change{Field: "text", From: is.Text, To: c.Text})
	if apply {
		c.world.mu.Lock()
		defer c.world.mu.Unlock()
		c.world.value[c.Name()] = *c
	}
	return false, nil
}

func (c *coin) Cmp(o engine.Res) error { return engine.CmpFields(c, o) }

func (c *coin) show(name string) *coin {
	got := *c
	got.Size = schema.Size(len(c.Text))
	got.SetKind("coin")
	got.SetName(name)
	return &got
}

func (c *coin) Read(context.Context) (engine.Res, error) {
	if is, ok := c.world.at(c.Name()); ok {
		return is.show(c.Name()), nil
	}
	return nil, nil
}

func (c *coin) List(context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		names := []string{}
		for name := range c.world.value {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			var err error
			res := engine.Res(nil)
			if name == c.world.bad {
				err = errors.New("it is broken")
			} else {
				is := c.world.value[name]
				res = is.show(name)
			}
			if !yield(res, err) {
				return
			}
		}
	}
}

// blank does nothing.
type blank struct {
	traits.Base
	init *engine.Init
}

func (*blank) Default() engine.Res { return &blank{} }

func (*blank) Validate() error { return nil }

func (b *blank) Init(i *engine.Init) error {
	b.init = i
	return nil
}

func (*blank) Cleanup() error { return nil }

func (b *blank) Watch(ctx context.Context) error {
	b.init.Running()
	<-ctx.Done()
	return nil
}

func (*blank) CheckApply(context.Context, bool) (bool, error) { return true, nil }

func (*blank) Cmp(engine.Res) error { return nil }

// talker can only be shown, and reads text by itself.
type talker struct {
	blank
	Word string `yaml:"word"`
}

func (*talker) Default() engine.Res { return &talker{} }

func (t *talker) Read(context.Context) (engine.Res, error) {
	got := &talker{Word: t.Word}
	return got, nil
}

func (*talker) FromText(key, text string) (any, error) {
	if text == "mad" {
		panic("boo")
	}
	if text == "bad" {
		return nil, fmt.Errorf("the word of %s is bad", key)
	}
	return strings.ToUpper(text), nil
}

// heap can only be listed.
type heap struct{ blank }

func (*heap) Default() engine.Res { return &heap{} }

func (*heap) List(context.Context) iter.Seq2[engine.Res, error] {
	return func(func(engine.Res, error) bool) {}
}

// mint returns the kinds coin, talker, heap, and deaf, which can't be looked at.
func mint(t *testing.T, value map[string]coin) (*coins, *engine.Registry) {
	t.Helper()
	c := &coins{value: value, news: make(chan struct{})}
	if value == nil {
		c.value = map[string]coin{}
	}
	reg := engine.NewRegistry()
	for name, make := range map[string]func() engine.Res{
		"coin":   func() engine.Res { return &coin{world: c} },
		"talker": func() engine.Res { return &talker{} },
		"heap":   func() engine.Res { return &heap{} },
		"deaf":   func() engine.Res { return &blank{} },
	} {
		if err := reg.Register(name, make); err != nil {
			t.Fatal(err)
		}
	}
	return c, reg
}

// resourceSays runs the program and compares its code, what it writes, and whether its errors
// have a text.
func resourceSays(t *testing.T, reg *engine.Registry, in string, code int, out, errs string, args ...string) {
	t.Helper()
	gotCode, gotOut, gotErrs := withKinds(t, reg, in, args...)
	if gotCode != code || !strings.Contains(gotErrs, errs) || errs == "" && gotErrs != "" {
		t.Errorf("%q: code %d, want %d; errors:\n%swant %s", args, gotCode, code, gotErrs, errs)
	}
	if diff := cmp.Diff(out, gotOut); out != "*" && diff != "" {
		t.Errorf("%q: %s", args, diff)
	}
}

func TestResourceShow(t *testing.T) {
	c, reg := mint(t, map[string]coin{"a": {Text: "it's", Maybe: new(0), Pin: schema.NewSecret("canary")}, "b": {Mode: "0644"}})
	a := `coin { 'a':
  text => 'it\'s',
  maybe => 0,
# pin => (secret), # Not Shown
# size => '4', # Read Only
}
`
	b := "coin { 'b':\n  mode => '0644',\n}\n"
	resourceSays(t, reg, "", 0, a, "", "resource", "COIN", "a")
	resourceSays(t, reg, "", 0, a+b, "", "resource", "coin")
	resourceSays(t, reg, "", 0, "# coin { 'c': } is absent\n", "", "resource", "coin", "c")
	resourceSays(t, reg, "", 0, `{
  "kind": "coin",
  "name": "a",
  "parameters": {
    "text": "it's",
    "maybe": 0
  },
  "read_only": {
    "size": "4"
  },
  "secret": [
    "pin"
  ]
}
`, "", "resource", "coin", "a", "-o", "json")
	resourceSays(t, reg, "", 0, "{\n  \"kind\": \"coin\",\n  \"name\": \"c\",\n  \"absent\": true\n}\n", "", "resource", "coin", "c", "-o", "json")
	resourceSays(t, reg, "", 0, `resources:
  coin:
  # secret, and left out of the next one: pin
  # read-only, and left out of the next one: size
  - name: a
    text: it's
    maybe: 0
  - name: b
    mode: '0644'
`, "", "resource", "coin", "-o", "yaml")
	_, out, _ := withKinds(t, reg, "", "resource", "coin", "-o", "json")
	var list []observationJSON0
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 || list[1].Parameters["mode"] != "0644" {
		t.Errorf("%v in\n%s", err, out)
	}
	c.bad = "a"
	resourceSays(t, reg, "", 4, b, "mgmt: it is broken\n", "resource", "coin")
	c.value = map[string]coin{"r": {Text: "\xff<", Map: map[string]string{"k": "\xfe"}}}
	resourceSays(t, reg, "", 0, `{
  "kind": "coin",
  "name": "r",
  "parameters": {
    "text": {
      "base64": "/zw="
    },
    "map": {
      "k": {
        "base64": "/g=="
      }
    }
  },
  "read_only": {
    "size": "2"
  }
}
`, "", "resource", "coin", "r", "-o", "json")
	c.value = nil
	resourceSays(t, reg, "", 0, "[]\n", "", "resource", "coin", "-o", "json")
}

// observationJSON0 is what a program reads.
type observationJSON0 struct {
	Kind, Name string
	Parameters map[string]any
}

func TestResourceKinds(t *testing.T) {
	_, reg := mint(t, nil)
	resourceSays(t, reg, "", 0, "coin    show, list  \nheap    list        \ntalker  show        \n", "", "resource")
	resourceSays(t, reg, "", 0, "*", "", "resource", "-o", "json")
	resourceSays(t, reg, "", 0, "*", "", "resource", "-o", "yaml")
}

func TestResourceSet(t *testing.T) {
	c, reg := mint(t, nil)
	resourceSays(t, reg, "", 2, "*", `coin[a] text: "" -> ""`, "resource", "coin", "a", "text=", "count= 0x1F ", "ratio=1", "on=true", "mode=u=rw", "metal=gold",
		`list:=["a", "b"]`, `map:={"k": "v=@"}`, "maybe:=null")
	want := coin{Count: 31, Ratio: 1, On: true, Mode: "u=rw", Metal: "gold", Tags: []string{"a", "b"}, Map: map[string]string{"k": "v=@"}}
	got, _ := c.at("a")
	if err := want.show("a").Cmp(got.show("a")); err != nil {
		t.Errorf("%v: %+v", err, got)
	}
	resourceSays(t, reg, "", 0, "*", "", "resource", "coin", "a", "count=31", "ratio=1.0", "on=true", "mode=u=rw", "metal=gold", `list:=["a","b"]`, `map:={"k":"v=@"}`)
	resourceSays(t, reg, "", 2, "*", `coin[a] would change: text: "" -> "k=v"`, "resource", "coin", "a", "text=k=v", "--noop", "--quiet=false")
	resourceSays(t, reg, "", 4, "*", "it is broken", "resource", "coin", "a", "text=fail")
	resourceSays(t, reg, "", 0, "talker { 'x':\n  word => 'WORD',\n}\n", "", "resource", "talker", "x", "word=word")
}

// TestResourceRefuses what was typed wrongly, and alters nothing.
func TestResourceRefuses(t *testing.T) {
	c, reg := mint(t, nil)
	for _, e := range []struct {
		want string
		args []string
	}{
		{`unknown resource kind "con" (did you mean "coin"?); mgmt resource lists`, []string{"con"}},
		{"of the kind deaf there is nothing to look at", []string{"deaf", "x"}},
		{"not all things of the kind talker can be listed: name one", []string{"talker"}},
		{"of the kind heap, one thing alone can't be looked at", []string{"heap", "x"}},
		{"the name of the coin is empty", []string{"coin", ""}},
		{`"text" is no parameter: write PARAMETER=VALUE`, []string{"coin", "x", "text"}},
		{`"=x" is no parameter`, []string{"coin", "x", "=x"}},
		{`the kind coin has no parameter "txt" (did you mean "text"?)`, []string{"coin", "x", "txt=1"}},
		{`the kind coin has no parameter "Text" (did you mean "text"?)`, []string{"coin", "x", "Text=1"}},
		{"the name stands before the parameters", []string{"coin", "x", "name=y"}},
		{"size can only be read, not set", []string{"coin", "x", "size=1"}},
		{"text is given twice", []string{"coin", "x", "text=1", "text=2"}},
		{"list must be a list of text: write it as JSON, list:='[\"a\", \"b\"]'", []string{"coin", "x", "list=a,b"}},
		{"map must be a map of text: write it as JSON", []string{"coin", "x", "map={}"}},
		{"list: it is no JSON", []string{"coin", "x", "list:=[a]"}},
		{"list: it is no JSON: something follows", []string{"coin", "x", "list:=[] []"}},
		{"pin: it is a secret, and every user can see arguments", []string{"coin", "x", "pin=1234"}},
		{"pins: it is a secret, and every user can see arguments: write", []string{"coin", "x", `pins:=["1234"]`}},
		{"pin: the name of the file is missing", []string{"coin", "x", "pin@"}},
		{"no such file", []string{"coin", "x", "pin@/nonexistent/file"}},
		{"standard input is read for pin already", []string{"coin", "x", "pin@-", "text@-"}},
		{`count must be a whole number of at least 0, not the text "many"`, []string{"coin", "x", "count=many"}},
		{`count must be a whole number of at least 0, not -1`, []string{"coin", "x", "count=-1"}},
		{`on must be true or false, not the text "Tru"`, []string{"coin", "x", "on=Tru"}},
		{`metal must be one of gold, iron, not "god"`, []string{"coin", "x", "metal=god"}},
		{"the word of word is bad", []string{"talker", "x", "word=bad"}},
		{"FromText panicked: boo", []string{"talker", "x", "word=mad"}},
		{"--watch needs a kind and the name", []string{"coin", "--watch"}},
		{"--watch only looks", []string{"coin", "x", "text=1", "--watch"}},
		{"--watch and --noop exclude each other", []string{"coin", "x", "--watch", "--noop"}},
		{"nothing is to be set", []string{"coin", "x", "--noop"}},
		{"nothing is to be set", []string{"coin", "--noop"}},
		{"nothing is to be set", []string{"--noop"}},
		{"it is empty, write a path", []string{"-f", ""}},
	} {
		code, out, errs := withKinds(t, reg, "", append([]string{"resource"}, e.args...)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, e.want) || strings.Contains(errs, "1234") {
			t.Errorf("%q: code %d, %q\n%swant %s", e.args, code, out, errs, e.want)
		}
	}
	code, _, errs := withKinds(t, reg, "", "resource", "coin", "x", "txt=1", "size=2", "pin=3")
	if code != cli.ExitUsage || strings.Count(errs, "\n") != 3 {
		t.Errorf("not all at once: %s", errs)
	}
	if len(c.value) > 0 {
		t.Errorf("%v", c.value)
	}
}

// TestResourceSecrets come from files or standard input, and are in no output, whatever
// the type of the parameter.
func TestResourceSecrets(t *testing.T) {
	c, reg := mint(t, nil)
	file := filepath.Join(t.TempDir(), "s")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`["canary1", "canary2"]`)
	code, out, errs := withKinds(t, reg, "canary-pin\n", "resource", "coin", "a", "pin@-", "pins:=@"+file)
	got, _ := c.at("a")
	if code != 2 || got.Pin.Reveal() != "canary-pin" || len(got.Pins) != 2 || strings.Contains(out+errs, "canary") || !strings.Contains(out, "# pin => (secret), # Not Shown") {
		t.Errorf("code %d, %q\n%s%s", code, got.Pin.Reveal(), out, errs)
	}
	write("canary text\n")
	code, out, errs = withKinds(t, reg, "", "resource", "coin", "b", "text@"+file, "--debug")
	got, _ = c.at("b")
	if code != 2 || got.Text != "canary text\n" || strings.Contains(out+errs, "canary") || !strings.Contains(errs, "(secret)") {
		t.Errorf("code %d, %q\n%s%s", code, got.Text, out, errs)
	}
	write("bad")
	if _, _, errs := withKinds(t, reg, "", "resource", "talker", "b", "word@"+file); strings.Contains(errs, "bad") || !strings.Contains(errs, "word: what is in the file is not text") {
		t.Error(errs)
	}
	write("canary")
	if code, out, errs := withKinds(t, reg, "", "resource", "coin", "b", "count@"+file); code != 1 || strings.Contains(out+errs, "canary") {
		t.Error(code, out, errs)
	}
}

// TestResourceText: what is shown can be set again, also from standard input.
func TestResourceText(t *testing.T) {
	c, reg := mint(t, map[string]coin{"a": {Text: "x\n", Map: map[string]string{"k": "v"}}, "b": {Count: 3}})
	_, text, _ := withKinds(t, reg, "", "resource", "coin")
	c.value = map[string]coin{}
	resourceSays(t, reg, text, 2, text, "coin[a] text", "resource", "-f", "-")
	resourceSays(t, reg, text, 0, text, "", "resource", "coin", "-f", "-")
	file := filepath.Join(t.TempDir(), "f")
	for src, want := range map[string]string{
		"":                         file + " sets nothing",
		"coin { a: ":               file + ":1:11: a parameter is missing",
		"con { a: }":               file + `:1:1: unknown resource kind "con" (did you mean "coin"?)`,
		"talker { a: }":            file + ":1:1: this is a talker, not a coin",
		"heap { a: }":              file + ":1:1: of the kind heap, one thing alone",
		"coin { a: count => -1 }":  file + ":1:20: count must be",
		"coin { a: txt => 1 }":     file + `:1:11: unknown key "txt" (did you mean "text"?)`,
		"coin { a: size => 1 }":    file + ":1:19: size can only be read, not set",
		"coin { a: } coin { a: }":  file + ":1:20: coin[a] is declared twice",
		"coin { '': count => 1 }":  file + ":1:8: this coin has no name",
		"coin { a: on => 'true' }": file + `:1:17: on must be true or false`,
	} {
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		resourceSays(t, reg, "", 1, "", want, "resource", "coin", "-f", file)
	}
	resourceSays(t, reg, text, 1, "", "the text says what to set", "resource", "coin", "a", "-f", "-")
	resourceSays(t, reg, "coin { '$x': count => 1 }", 2, "*", "coin[$x] text", "resource", "-f", "-")
}

// TestResourceWatch: a line for each change, and the end by a signal is no failure.
func TestResourceWatch(t *testing.T) {
	c, reg := mint(t, map[string]coin{"a": {Text: "1"}})
	r, w := io.Pipe()
	a := &cli.App{In: strings.NewReader(""), Out: w, Err: io.Discard, Exit: func(int) { panic("exit") }, Folders: kinds.Options{Kinds: reg}}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan int)
	go func() { done <- execute(ctx, a, []string{"resource", "coin", "a", "--watch", "-o", "json"}) }()
	lines := json.NewDecoder(r)
	for _, want := range []string{"1", "2", "3"} {
		var s observationJSON0
		if err := lines.Decode(&s); err != nil || s.Parameters["text"] != want {
			t.Errorf("%+v, %v", s, err)
		}
		c.mu.Lock()
		c.value["a"] = coin{Text: map[string]string{"1": "2", "2": "3", "3": "3"}[want]}
		c.mu.Unlock()
		c.news <- struct{}{}
	}
	cancel(cli.SignalError{Signal: os.Interrupt})
	if code := <-done; code != 0 {
		t.Errorf("code %d", code)
	}
}

// TestResourceStreams: the first thing is written before the last one is found.
func TestResourceStreams(t *testing.T) {
	for _, form := range []string{"text", "json", "yaml"} {
		many := map[string]coin{}
		for i := range 2000 {
			many[fmt.Sprintf("%04d", i)] = coin{Count: i + 1}
		}
		_, reg := mint(t, many)
		out := &firstWrites{}
		a := &cli.App{In: strings.NewReader(""), Out: out, Err: io.Discard, Folders: kinds.Options{Kinds: reg}}
		if code := execute(t.Context(), a, []string{"resource", "coin", "-o", form}); code != 0 || out.n < 2000 || out.most > 500 {
			t.Errorf("%s: code %d, %d writes of up to %d bytes", form, code, out.n, out.most)
		}
	}
}

type firstWrites struct{ n, most int }

func (w *firstWrites) Write(b []byte) (int, error) {
	w.n++
	w.most = max(w.most, len(b))
	return len(b), nil
}

// TestResourceNobodyReads: an output that can't be written to is an error, not silence.
func TestResourceNobodyReads(t *testing.T) {
	_, reg := mint(t, map[string]coin{"a": {}})
	for _, args := range [][]string{{"resource", "coin"}, {"resource", "coin", "a", "-o", "json"}, {"import", "coin"}, {"resource", "coin", "a", "--watch"}} {
		a := &cli.App{In: strings.NewReader(""), Out: fullWriter{}, Err: io.Discard, Folders: kinds.Options{Kinds: reg}}
		if code := execute(t.Context(), a, args); code == 0 {
			t.Errorf("%q: code 0", args)
		}
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestImport(t *testing.T) {
	c, reg := mint(t, map[string]coin{"$a": {Text: "x"}, "b": {Pin: schema.NewSecret("canary")}})
	want := `resources:
  coin:
  # read-only, and left out of the next one: size
  - name: $a
    text: x
    meta:
      dollar: true
  # secret, and left out of the next one: pin
  - name: b
`
	resourceSays(t, reg, "", 0, want, "", "import", "coin")
	resourceSays(t, reg, "", 0, "  # coin \"c\" is absent\nresources:\n  coin:\n  # secret, and left out of the next one: pin\n  - name: b\n", "mgmt: note: coin[c] is not there: it is left out\n", "import", "coin", "c", "b")
	resourceSays(t, engine.DefaultRegistry(), "", 0, "*", "mgmt: note: file[/tmp/mgmt-none-such] is not there: the graph has it with state: absent\n", "import", "file", "/tmp/mgmt-none-such")
	resourceSays(t, engine.DefaultRegistry(), "", 0, "*", "", "import", "file", t.TempDir())
	c.bad = "$a"
	resourceSays(t, reg, "", 4, "resources:\n  coin:\n  # secret, and left out of the next one: pin\n  - name: b\n", "it is broken", "import", "coin")
	resourceSays(t, reg, "", 1, "", "name one", "import", "talker")
	resourceSays(t, reg, "", 1, "", "can't be looked at", "import", "heap", "x")
	resourceSays(t, reg, "", 1, "", "nothing to look at", "import", "deaf")
	resourceSays(t, reg, "", 1, "", "given twice", "import", "coin", "b", "b")
	resourceSays(t, reg, "", 1, "", "missing argument", "import")
}

func TestResourceCompletion(t *testing.T) {
	_, reg := mint(t, map[string]coin{"one": {}, "once": {}, "two": {}})
	for want, args := range map[string][]string{
		"coin\nheap\ntalker\n:4\n":     {"resource", ""},
		"once\none\n:4\n":              {"resource", "coin", "on"},
		":0\n":                         {"resource", "talker", ""},
		":4\n":                         {"resource", "deaf", ""},
		"metal=gold\nmetal=iron\n:4\n": {"resource", "coin", "x", "metal="},
		"on=true\non=false\n:4\n":      {"resource", "coin", "x", "on="},
		"once\ntwo\n:4\n":              {"import", "coin", "one", ""},
		"word=\n:6\n":                  {"resource", "talker", "x", ""},
		"text=\tSome text.\ncount=\nratio=\non=\nmode=\nlist:=\nmap:=\nmaybe=\npin@\npins@\n:6\n": {"resource", "coin", "x", "metal=gold", ""},
	} {
		_, out, _ := withKinds(t, reg, "", append([]string{"__complete"}, args...)...)
		if out != want {
			t.Errorf("%q: %q, want %q", args, out, want)
		}
	}
}
