package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/puppettype"
	"github.com/reactivegraph/mgmt/engine/schema"
)

// commandRig is a provider of commands on a machine of a test.
type commandRig struct {
	host   *enginetest.FakeHost
	rt     *provider.Runtime
	prov   provider.Provider
	events []provider.Event
}

// rigFor makes one of a definition whose command answers by a function.
func rigFor(t testing.TB, attributes string, titles []string, run func(context.Context, engine.Command) (*engine.Result, error)) *commandRig {
	t.Helper()
	n, err := jsonNode("", `{"name": "thing", "docs": "x", "attributes": {`+attributes+`},
		"get": ["/bin/thing", "get"], "set": ["/bin/thing", "set"], "env": {"B": "2", "A": "1"}, "timeout": "1m"}`)
	defMust(err)
	def, src, ds := provider.DecodeDefinition(n)
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	kind, err := provider.New(*def, src.External.New)
	defMust(err)
	r := &commandRig{host: enginetest.NewHost(), prov: src.External.New()}
	r.host.SetCommand(run)
	r.rt = &provider.Runtime{Type: kind, Host: r.host, Log: provider.NewLogger(provider.LogOptions{
		Type: "thing", Titles: titles, Sink: func(e provider.Event) { r.events = append(r.events, e) },
		Secret: func(a string) bool { return a == "token" },
	})}
	return r
}

func (r *commandRig) get(ctx context.Context, f provider.Filter) (list []provider.Record, err error) {
	for rec, err := range r.prov.Get(ctx, r.rt, f) {
		if err != nil && rec != nil {
			return nil, fmt.Errorf("an error about %v alone: %w", rec, err)
		}
		if err != nil {
			return list, err
		}
		list = append(list, rec)
	}
	return list, nil
}

const (
	plainAttributes = `"id": {"type": "String", "docs": "x", "kind": "namevar"}, "ensure": {"type": "Enum[present, absent]", "docs": "x"},
		"n": {"type": "Optional[Integer]", "docs": "x"}, "f": {"type": "Optional[Float]", "docs": "x"}, "at": {"type": "Optional[Timestamp]", "docs": "x"},
		"raw": {"type": "Optional[Binary]", "docs": "x"}, "any": {"type": "Any", "docs": "x"}, "span": {"type": "Optional[Timespan]", "docs": "x"}`
	secretAttributes = `"id": {"type": "String", "docs": "x", "kind": "namevar"}, "token": {"type": "Optional[String]", "docs": "x", "sensitive": true},
		"pin": {"type": "Optional[Sensitive[Integer]]", "docs": "x"}`
	twoNames = `"a": {"type": "String", "docs": "x", "kind": "namevar"}, "b": {"type": "Integer", "docs": "x", "kind": "namevar"}`
)

// answering is a command that writes this and ends.
func answering(stdout, stderr string, code int) func(context.Context, engine.Command) (*engine.Result, error) {
	return func(_ context.Context, c engine.Command) (*engine.Result, error) {
		for line := range strings.Lines(stderr) {
			c.Stderr([]byte(strings.TrimSuffix(line, "\n")))
		}
		return &engine.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), ExitCode: code}, nil
	}
}

func TestExternalGet(t *testing.T) {
	r := rigFor(t, plainAttributes, nil, answering(`{"id": "x", "n": 5, "f": 1, "at": "2020-01-31T12:30:00Z", "raw": "aGk=", "any": [1, {"k": 1.5}], "span": "1d"}

	{"id":"y","n":"five","unknown":true,"f":null}
`, "careful\n", 0))
	got, err := r.get(t.Context(), provider.Filter{All: true})
	want := []provider.Record{
		{"id": "x", "n": int64(5), "f": 1.0, "at": time.Date(2020, 1, 31, 12, 30, 0, 0, time.UTC), "raw": []byte("hi"),
			"any": []any{int64(1), map[string]any{"k": 1.5}}, "span": 24 * time.Hour},
		{"id": "y", "n": "five", "unknown": true, "f": nil},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v\n%#v\n%v", got, want, err)
	}
	if len(r.events) != 1 || r.events[0].Message != "careful" {
		t.Errorf("%+v", r.events)
	}
	c := r.host.Commands()[0]
	if !slices.Equal(c.Argv, []string{"/bin/thing", "get"}) || string(c.Stdin) != `{"type":"thing","names":null}`+"\n" ||
		len(c.Env) != 3 || !strings.HasPrefix(c.Env[0], "PATH=/") || c.Env[1] != "A=1" || c.Env[2] != "B=2" {
		t.Errorf("%+v %s", c, c.Stdin)
	}
}

// TestExternalText holds that text is what JSON says it is.
func TestExternalText(t *testing.T) {
	r := rigFor(t, plainAttributes, nil, answering(`{"id": "\ud83d\uDE00 \\ud83d \ud7ff \ufffd �", "any": [[], {}, {"": null}]}`, "", 0))
	got, err := r.get(t.Context(), provider.Filter{All: true})
	want := provider.Record{"id": "😀 \\ud83d \ud7ff � �", "any": []any{[]any{}, map[string]any{}, map[string]any{"": nil}}}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("%#v %v", got, err)
	}
}

func TestExternalNames(t *testing.T) {
	r := rigFor(t, plainAttributes, nil, answering("", "", 0))
	_, err := r.get(t.Context(), provider.Filter{Names: []provider.Name{provider.NameOf("a<b"), provider.NameOf("c")}})
	if in := string(r.host.Commands()[0].Stdin); err != nil || in != `{"type":"thing","names":["a<b","c"]}`+"\n" {
		t.Error(in, err)
	}
	r = rigFor(t, twoNames, nil, answering("", "", 0))
	_, err = r.get(t.Context(), provider.Filter{Names: []provider.Name{provider.NameOf("x", "5")}})
	if in := string(r.host.Commands()[0].Stdin); err != nil || in != `{"type":"thing","names":[{"a":"x","b":5}]}`+"\n" {
		t.Error(in, err)
	}
	r = rigFor(t, plainAttributes, nil, answering("", "", 0))
	_, err = r.get(t.Context(), provider.Filter{})
	if in := string(r.host.Commands()[0].Stdin); err != nil || in != `{"type":"thing","names":[]}`+"\n" {
		t.Error(in, err)
	}
}

// TestExternalGetBroken holds what is said of a get command that does not do as it
// should.
func TestExternalGetBroken(t *testing.T) {
	long := `{"id": "` + strings.Repeat("x", 2<<20) + `"}`
	for _, c := range []struct {
		name string
		run  func(context.Context, engine.Command) (*engine.Result, error)
		want string
	}{
		{"code", answering(`{"id": "x"}`, "a\nwhy\n", 3), "it ended with code 3: a\nwhy"},
		{"signal", func(context.Context, engine.Command) (*engine.Result, error) {
			return &engine.Result{ExitCode: -1, Signal: "killed"}, nil
		}, "it was ended by killed"},
		{"missing", func(context.Context, engine.Command) (*engine.Result, error) { return nil, errors.New("not found") }, "not found"},
		{"cut", func(context.Context, engine.Command) (*engine.Result, error) {
			return &engine.Result{Truncated: true}, nil
		},
			"it has written more than 64 MiB"},
		{"no JSON", answering("{\"id\": \"x\"}\n\nhello\n", "", 0), "line 3 of its output: it is no JSON: hello"},
		{"half", answering(`{"id": "x"`, "", 0), "line 1 of its output: it is no JSON: {"},
		{"two", answering(`{"id": "x"} {"id": "y"}`, "", 0), "it is more than one value"},
		{"list", answering(`[1]`, "", 0), "it is no object: [1]"},
		{"null", answering(`null`, "", 0), "it is no object: null"},
		{"large", answering(`{"n": 123456789012345678901234567890}`, "", 0), "a number is too large: {\"n\": 123456789012345678901234567890}"},
		{"huge", answering(`{"f": [1e999]}`, "", 0), "a number is too large: {\"f\": [1e999]}"},
		{"long", answering(long, "", 0), "it is longer than 1048576 bytes"},
		{"no UTF-8", answering("{\"id\": \"caf\xe9\"}", "", 0), `line 1 of its output: it is no UTF-8: {"id": "caf?"}`},
		{"first half", answering(`{"id": "\ud83d"}`, "", 0), "it has half of a surrogate pair"},
		{"second half", answering(`{"id": "\\\uDE00"}`, "", 0), "it has half of a surrogate pair"},
		{"halves that are no pair", answering(`{"id": "\ud83d\ud83d\ude00"}`, "", 0), "it has half of a surrogate pair"},
		{"a key twice", answering(`{"id": "x", "any": [{"k": 1, "\u006b": 2}]}`, "", 0), "a key is there twice"},
		{"deep", answering(`{"id": "x", "any": `+strings.Repeat("[", 1<<18)+strings.Repeat("]", 1<<18), "", 0), "it has more than 100 levels"},
		{"braces", answering(`{"id": [1}`, "", 0), "it is no JSON"},
		{"a key that is none", answering(`{5: 1}`, "", 0), "it is no JSON"},
	} {
		got, err := rigFor(t, plainAttributes, nil, c.run).get(t.Context(), provider.Filter{All: true})
		prefix := "the get command of thing (/bin/thing): "
		if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 {
			t.Errorf("%s: %.300v", c.name, err)
		}
		if c.name == "code" && len(got) > 0 {
			t.Error("records of a command that failed are used")
		}
	}
}

// TestExternalRecords holds that the number of records is bounded.
func TestExternalRecords(t *testing.T) {
	r := rigFor(t, plainAttributes, nil, answering(strings.Repeat(`{"id": "x"}`+"\n", 1<<18+1), "", 0))
	got, err := r.get(t.Context(), provider.Filter{All: true})
	if err == nil || !strings.Contains(err.Error(), "more than 262144 records") || len(got) != 1<<18 {
		t.Error(len(got), err)
	}
}

// TestExternalSecret holds that what a command says is not repeated where it could be
// secret.
func TestExternalSecret(t *testing.T) {
	for _, run := range []func(context.Context, engine.Command) (*engine.Result, error){
		answering(`{"token": "hunter2"`, "", 0), answering(`hunter2`, "", 0), answering("", "hunter2", 1), answering(`{"token": 1} hunter2`, "hunter2", 0),
	} {
		r := rigFor(t, secretAttributes, nil, run)
		_, err := r.get(t.Context(), provider.Filter{All: true})
		if err == nil || strings.Contains(err.Error()+fmt.Sprint(r.events), "hunter2") {
			t.Error(err, r.events)
		}
	}
	r := rigFor(t, secretAttributes, nil, answering(`{"id": "x", "token": "hunter2", "pin": 5}`, "", 0))
	got, err := r.get(t.Context(), provider.Filter{All: true})
	if err != nil || strings.Contains(fmt.Sprintf("%+v", got), "hunter2") || got[0]["token"].(schema.Secret).Reveal() != "hunter2" ||
		!reflect.DeepEqual(got[0]["pin"].(puppettype.Sensitive).Reveal(), int64(5)) {
		t.Errorf("%+v %v", got, err)
	}
}

// TestExternalSecretInside holds the same for what is secret in a part of an attribute.
func TestExternalSecretInside(t *testing.T) {
	for _, inside := range []string{
		"Hash[String, Sensitive[String]]", "Optional[Struct[{user => String, pass => Sensitive[String]}]]", "Array[Sensitive]",
		"Tuple[String, Sensitive[String]]", "Variant[Sensitive[String], Integer]", "Variant[Undef, Sensitive[String]]", "NotUndef[Sensitive[String]]",
	} {
		attributes := `"id": {"type": "String", "docs": "x", "kind": "namevar"}, "login": {"type": "` + inside + `", "docs": "x"}`
		for _, run := range []func(context.Context, engine.Command) (*engine.Result, error){
			answering(`{"login": "hunter2"`, "", 0), answering("", "hunter2\n", 1), answering("", "hunter2\n", 0),
		} {
			r := rigFor(t, attributes, nil, run)
			_, err := r.get(t.Context(), provider.Filter{All: true})
			if said := fmt.Sprint(err, r.events); strings.Contains(said, "hunter2") {
				t.Errorf("%s: %s", inside, said)
			}
		}
	}
}

// TestExternalSecretCut holds that nothing is left of a secret where a long text is cut
// within it, or that a command has quoted.
func TestExternalSecretCut(t *testing.T) {
	const secret = `hun"ter\2<é😀'&>`
	should := provider.Record{"id": "x", "token": schema.NewSecret(secret)}
	for name, text := range map[string]string{
		"the start of a warning": strings.Repeat("-", 195) + secret,
		"the end of an error":    secret + strings.Repeat("-", 1020),
		"python":                 `{'token': 'hun"ter\\2<é😀\'&>'}`,
		"json of python":         `{"token": "hun\"ter\\2<\u00e9\ud83d\ude00'&>"}`,
		"json of Go":             `{"token": "hun\"ter\\2\u003cé😀'\u0026\u003e"}`,
		"bash":                   `+ curl 'hun"ter\2<é😀'\''&>'`,
		"dash":                   `+ curl 'hun"ter\2<é😀'"'"'&>'`,
	} {
		for _, run := range []func(context.Context, engine.Command) (*engine.Result, error){
			answering("", text+"\n", 1), // the same in an answer:
			answering(jsonOf(t, map[string]any{"title": "x", "status": "failed", "message": text}), "", 0),
			answering(jsonOf(t, map[string]any{"title": text, "status": "updated"}), "", 0),
			answering(jsonOf(t, map[string]any{"title": "x", text: "updated"}), "", 0),
			answering(jsonOf(t, map[string]any{"title": "x", "attribute": text}), "", 0),
		} {
			r := rigFor(t, secretAttributes, []string{"x"}, run)
			r.rt.Log.AttributeChanged("token", nil, should["token"], provider.Of("x")) // as the engine has it learn what it must not say
			err := errors.Join(r.prov.Set(t.Context(), r.rt, []provider.Change{{Title: "x", Name: provider.NameOf("x"), Should: should}}), r.rt.Log.Broken())
			if said := fmt.Sprintf("%v %+v", err, r.events); strings.Contains(said, "hun") || strings.Contains(said, "&>") {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}

func TestExternalSetSecret(t *testing.T) {
	r := rigFor(t, secretAttributes, []string{"x"}, answering(
		`{"title": "x", "level": "notice", "message": "token hunter2"}
{"title": "x", "attribute": "token", "from": "oldsecret", "to": "hunter2"}
hunter2
`, "curl -H hunter2\n", 4))
	err := r.prov.Set(t.Context(), r.rt, []provider.Change{{Title: "x", Name: provider.NameOf("x"),
		Is:     provider.State{Presence: provider.Known, Record: provider.Record{"token": schema.NewSecret("oldsecret")}},
		Should: provider.Record{"id": "x", "token": schema.NewSecret("hunter2"), "pin": puppettype.NewSensitive(int64(77))}}})
	said := fmt.Sprintf("%v %+v", err, r.events)
	if err == nil || strings.Contains(said, "hunter2") || strings.Contains(said, "oldsecret") || !strings.Contains(said, "curl -H (secret)") {
		t.Error(said)
	}
	c := r.host.Commands()[0]
	if strings.Contains(fmt.Sprint(c.Argv, c.Env), "hunter2") {
		t.Error("a secret is in the arguments or the environment")
	}
	if want := `{"is":{"token":"oldsecret"},"name":"x","noop":false,"should":{"id":"x","pin":77,"token":"hunter2"},"title":"x"}` + "\n"; string(c.Stdin) != want {
		t.Errorf("%s", c.Stdin)
	}
}

func TestExternalSet(t *testing.T) {
	titles := []string{"a", "b", "c", "d", "e", "f", "g"}
	r := rigFor(t, plainAttributes, titles, answering(`{"title": "a", "attribute": "n", "from": 1, "to": 2}
{"title": "a", "status": "updated"}
{"title": "b", "status": "created", "message": "made it"}
{"title": "c", "status": "deleted"}
{"title": "d", "status": "unchanged"}
{"title": "e", "status": "processed"}
{"title": "f", "status": "failed", "message": "no room"}
{"level": "info", "message": "all"}
{"level": "err", "title": "g", "message": "hm"}
{"level": "debug", "message": "d"}
{"level": "warning", "message": "w"}
`, "", 0))
	var changes []provider.Change
	for _, title := range titles {
		changes = append(changes, provider.Change{Title: title, Name: provider.NameOf(title), Noop: title == "a",
			Should: provider.Record{"id": title, "span": 90 * time.Second, "f": 2.0}})
	}
	changes[0].Is = provider.State{Presence: provider.Known, Record: provider.Record{"n": int64(1)}}
	changes[1].Is.Presence = provider.Absent
	if err := errors.Join(r.prov.Set(t.Context(), r.rt, changes), r.rt.Log.Broken()); err != nil {
		t.Fatal(err)
	}
	want := []provider.Status{provider.Updated, provider.Created, provider.Deleted, provider.Unchanged, provider.Processed, provider.Failed, provider.Unmarked}
	for i, title := range titles {
		if s, _ := r.rt.Log.Status(title); s != want[i] {
			t.Errorf("%s: %s", title, s)
		}
	}
	if _, text := r.rt.Log.Status("f"); text != "no room" {
		t.Error(text)
	}
	lines := strings.Split(string(r.host.Commands()[0].Stdin), "\n")
	if len(lines) != 8 || !strings.Contains(lines[0], `"is":{"n":1},"name":"a","noop":true`) || !strings.Contains(lines[1], `"is":null`) || strings.Contains(lines[2], `"is"`) {
		t.Error(lines)
	}
	if !strings.Contains(lines[2], `"f":2.0,`) || !strings.Contains(lines[2], `"span":"1m30s"`) {
		t.Error(lines[2])
	}
}

// TestExternalNoUTF8 holds that what JSON would alter is not handed to a command.
func TestExternalNoUTF8(t *testing.T) {
	const bad = "caf\xe9"
	titles := []string{bad, "deep", "key", "fine"}
	r := rigFor(t, plainAttributes, titles, answering("", "", 0))
	changes := []provider.Change{
		{Title: bad, Name: provider.NameOf(bad), Should: provider.Record{"id": bad}},
		{Title: "deep", Name: provider.NameOf("deep"), Should: provider.Record{"id": "deep", "any": []any{map[string]any{"k": bad}}}},
		{Title: "key", Name: provider.NameOf("key"), Should: provider.Record{"id": "key", "any": map[string]any{bad: int64(1)}}},
		{Title: "fine", Name: provider.NameOf("fine"), Should: provider.Record{"id": "fine", "raw": []byte(bad)}},
	}
	if err := errors.Join(r.prov.Set(t.Context(), r.rt, changes[:3]), r.rt.Log.Broken()); err != nil || len(r.host.Commands()) > 0 {
		t.Error(err, r.host.Commands())
	}
	for _, title := range titles[:3] {
		if s, text := r.rt.Log.Status(title); s != provider.Failed || !strings.Contains(text, "is no UTF-8") {
			t.Errorf("%q: %s %s", title, s, text)
		}
	}
	must(t, r.prov.Set(t.Context(), r.rt, changes[3:]))
	if _, err := r.get(t.Context(), provider.Only(provider.NameOf(bad), provider.NameOf("fine"))); err != nil {
		t.Error(err)
	}
	want := []string{`{"name":"fine","noop":false,"should":{"id":"fine","raw":"Y2Fm6Q=="},"title":"fine"}`, `{"type":"thing","names":["fine"]}`}
	for i, c := range r.host.Commands() {
		if got := strings.TrimSpace(string(c.Stdin)); i >= len(want) || got != want[i] {
			t.Errorf("%d: %s", i, got)
		}
	}
}

// TestExternalSetBroken holds that a line that says nothing known is an error with its
// number, and that the other lines count.
func TestExternalSetBroken(t *testing.T) {
	for line, want := range map[string]string{
		`{"title": "x"}`: "one of status, attribute, level and context",
		`{"title": "x", "status": "updated", "level": "info"}`: "one of status, attribute, level and context",
		`{"status": "updated"}`:                                "it has no title",
		`{"title": "x", "status": "done"}`:                     "status must be created",
		`{"level": "shout", "message": "x"}`:                   "level must be debug",
		`{"title": 5, "status": "updated"}`:                    "title is no text",
		`{"titel": "x", "status": "updated"}`:                  `unknown key "titel"`,
		`nothing`:                                              "it is no JSON: nothing",
	} {
		r := rigFor(t, plainAttributes, []string{"x", "y"}, answering(line+"\n"+`{"title": "y", "status": "updated"}`, "", 0))
		err := r.prov.Set(t.Context(), r.rt, []provider.Change{{Title: "x"}, {Title: "y"}})
		if err == nil || !strings.Contains(err.Error(), "the set command of thing (/bin/thing): line 1 of its output: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
		if s, _ := r.rt.Log.Status("y"); s != provider.Updated {
			t.Errorf("%s: y is %s", line, s)
		}
	}
}

// TestExternalTimeout holds that a command that hangs is given up, and that what it has
// said until then counts.
func TestExternalTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rigFor(t, plainAttributes, []string{"x"}, func(ctx context.Context, _ engine.Command) (*engine.Result, error) {
			<-ctx.Done()
			return &engine.Result{Stdout: []byte(`{"title": "x", "status": "updated"}`)}, context.Cause(ctx)
		})
		start := time.Now()
		err := r.prov.Set(t.Context(), r.rt, []provider.Change{{Title: "x"}})
		if err == nil || strings.Count(err.Error(), "the set command of ") != 1 || !strings.HasSuffix(err.Error(), ": it has not ended within 1m0s") || time.Since(start) != time.Minute {
			t.Error(err, time.Since(start))
		}
		if s, _ := r.rt.Log.Status("x"); s != provider.Updated {
			t.Error(s)
		}
	})
}

// TestExternalStops holds that who asks for no more records gets none.
func TestExternalStops(t *testing.T) {
	r := rigFor(t, plainAttributes, nil, answering("{}\n{}\nbroken\n", "", 0))
	for range r.prov.Get(t.Context(), r.rt, provider.Filter{All: true}) {
		break
	}
}

// TestExternalProcess runs a program of its own on the real machine: with a clean
// environment, in "/", and its values as they were given.
func TestExternalProcess(t *testing.T) {
	h, err := host.New(t.Context(), host.Options{})
	defMust(err)
	defer func() { defMust(h.Close()) }()
	script := filepath.Join(t.TempDir(), "thing")
	defMust(os.WriteFile(script, []byte("#!/bin/sh\nread -r line\nprintf '{\"id\": \"x\", \"any\": [\"%s\", \"%s\", \"%s\"]}\\n' \"$PWD\" \"$A\" \"$HOME\"\necho warn >&2\n"), 0o755))
	r := rigFor(t, plainAttributes, nil, nil)
	r.rt.Host = h
	x := &provider.External{Get: []string{script}, Set: []string{script}, Env: map[string]string{"A": "1"}}
	for rec, err := range x.New().Get(t.Context(), r.rt, provider.Filter{All: true}) {
		if err != nil || !reflect.DeepEqual(rec["any"], []any{"/", "1", ""}) {
			t.Error(rec, err)
		}
	}
	if len(r.events) != 1 || r.events[0].Message != "warn" {
		t.Error(r.events)
	}
}

// TestExternalLaw holds that a record that a set command writes down and a get command
// reads is the same.
func TestExternalLaw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var stdin string
		r := rigFor(t, plainAttributes+","+secretAttributes[strings.Index(secretAttributes, `"token"`):], []string{"x"}, func(_ context.Context, c engine.Command) (*engine.Result, error) {
			if c.Argv[1] == "set" {
				stdin = string(c.Stdin)
				return &engine.Result{}, nil
			}
			var line struct{ Should json.RawMessage }
			defMust(json.Unmarshal([]byte(stdin), &line))
			return &engine.Result{Stdout: line.Should}, nil
		})
		should := provider.Record{
			"id": rapid.String().Draw(rt, "id"), "n": rapid.Int64().Draw(rt, "n"), "f": rapid.Float64().Draw(rt, "f"),
			"at":  time.Unix(rapid.Int64Range(-1e9, 1e9).Draw(rt, "at"), rapid.Int64Range(0, 999).Draw(rt, "ms")*1e6).UTC(),
			"raw": rapid.SliceOf(rapid.Byte()).Draw(rt, "raw"), "any": rapid.SampledFrom([]any{nil, true, []any{}, map[string]any{"k": int64(1)}}).Draw(rt, "any"),
			"span":  time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(rt, "span")),
			"token": schema.NewSecret(rapid.String().Draw(rt, "token")), "pin": puppettype.NewSensitive(rapid.Int64().Draw(rt, "pin")),
		}
		if err := r.prov.Set(t.Context(), r.rt, []provider.Change{{Title: "x", Should: should}}); err != nil {
			rt.Fatal(err)
		}
		got, err := r.get(t.Context(), provider.Filter{All: true})
		if err != nil || len(got) != 1 || !sameRecord(should, got[0]) {
			rt.Fatalf("%#v came back as %#v, %v", should, got, err)
		}
	})
}

func sameRecord(a, b provider.Record) bool {
	return reflect.DeepEqual(openRecord(a), openRecord(b))
}

// openRecord reveals secrets, for the comparison.
func openRecord(r provider.Record) map[string]any {
	out := map[string]any{}
	for k, v := range r {
		switch s := v.(type) {
		case schema.Secret:
			v = []any{"secret", s.Reveal()}
		case puppettype.Sensitive:
			v = []any{"secret", s.Reveal()}
		}
		out[k] = v
	}
	return out
}
