package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/schema"
)

const doorInfo = `"connection_info": {"room": {"type": "String", "docs": "x"}, "word": {"type": "String", "docs": "x", "sensitive": true}, "floor": {"type": "Integer", "docs": "x", "default": 1}}`

// TestDecodeTransport: what is wrong with the file of a transport is said once, with its place.
func TestDecodeTransport(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "door", "docs": "x", ` + doorInfo + `}`: "",
		`{"name": "door", "desc": "x", "connection_info": [{"name": "room", "type": "String", "desc": "x"}], "verify": ["/bin/v"], "facts": ["/bin/f"], "command": ["/bin/c"], "env": {"A": "1"}, "timeout": "10s"}`: "",
		`{"name": "door", "docs": "x", "connection_info": 5}`:                                              "d.json:1:50: ",
		`{"name": "door", "docs": "x", "connection_info": {"a": 5}}`:                                       "d.json:1:56: ",
		`{"name": "door", "docs": "x", "connection_info": {"a": {"type": "Strin", "docs": "x"}}}`:          "d.json:1:65: ",
		`{"name": "door", "docs": "x", "connection_info": {"a": {"type": 5, "docs": "x"}}}`:                "d.json:1:65: ",
		`{"name": "door", "docs": "x", "connection_info": {"transport": {"type": "String", "docs": "x"}}}`: "no attribute of a target can be called transport",
		`{"name": "Door", "docs": "x", "connection_info": {}}`:                                             "d.json:1:10: the transport \"Door\" has a name that is none",
		`{"docs": "x", "connection_info": {}}`:                                                             "d.json:1:1: the transport has no name",
		`{"name": "door", "docs": "x", "connection_info": {}, "verify": "/bin/v"}`:                         "d.json:1:64: ",
		`{"name": "door", "docs": "x", "connection_info": {}, "verify": []}`:                               "d.json:1:64: ",
		`{"name": "door", "docs": "x", "connection_info": {}, "env": []}`:                                  "d.json:1:61: ",
		`{"name": "door", "docs": "x", "connection_info": {}, "timeout": "soon"}`:                          "d.json:1:65: ",
		`{"name": "door", "docs": "x", "connection_info": {}, "fact": ["/bin/f"]}`:                         `unknown key "fact" of a transport (did you mean "facts"?)`,
		`{"name": "door", "docs": "x", "desc": "y", "connection_info": {}}`:                                "d.json:1:31: a transport has both docs and desc",
		`[]`: "d.json:1:1: a transport is a map with the keys name, docs and connection_info, not a list",
	} {
		n, err := jsonNode("d.json", text)
		defMust(err)
		def, by, ds := provider.DecodeTransport(n)
		if want == "" && (ds.Err() != nil || def.Name != "door" || def.Doc != "x" || len(def.ConnectionInfo) == 0 || by == nil) {
			t.Errorf("%s: %v", text, ds)
		}
		if errs := len(ds); want != "" && (errs != 1 || ds.Err() == nil || !strings.Contains(ds.Error(), want)) {
			t.Errorf("%s: %d findings: %v, want one: %s", text, errs, ds, want)
		}
	}
	if _, _, ds := provider.DecodeTransport(nil); ds.Err() == nil {
		t.Error("nothing is a transport")
	}
}

// doors is a transport of commands, whose commands answer by a function.
type doors struct {
	ts    *provider.Targets
	host  *enginetest.FakeHost
	kinds *engine.Registry
}

// newDoors loads a transport with these further keys, and the type note of two commands.
func newDoors(t testing.TB, keys string, run func(context.Context, engine.Command) (*engine.Result, error)) *doors {
	t.Helper()
	var nodes []*schema.Node
	for _, text := range []string{
		`{"name": "door", "docs": "x", ` + doorInfo + keys + `}`,
		`{"name": "note", "docs": "x", "features": ["remote_resource"], "get": ["/bin/note", "get"], "set": ["/bin/note", "set"], "attributes": {"name": {"type": "String", "docs": "x", "kind": "namevar"}, "text": {"type": "Optional[String]", "docs": "x"}}}`,
	} {
		n, err := jsonNode("types.json", text)
		defMust(err)
		nodes = append(nodes, n)
	}
	known, kinds := provider.NewTransports(), engine.NewRegistry()
	if ds := provider.LoadAll(kinds, known, nodes, nil); ds.Err() != nil {
		t.Fatal(ds)
	}
	d := &doors{ts: provider.NewTargets(), host: enginetest.NewHost()}
	d.ts.Replace(decodeTargets(t, known, `{"cellar": {"transport": "door", "room": "a<b", "word": "opensesame"}}`))
	d.host.SetCommand(run)
	var err error
	d.kinds, err = provider.BindTargets(kinds, d.ts)
	defMust(err)
	return d
}

func (d *doors) facts(ctx context.Context) (map[string]any, error) {
	return d.ts.Facts(ctx, "cellar", d.host)
}

const doorHead = `{"connection":{"floor":1,"room":"a<b","word":"opensesame"},"target":"cellar","transport":"door"}` + "\n"

// TestExternalTransportFacts: the commands get the way to the target at their standard input, and nowhere else.
func TestExternalTransportFacts(t *testing.T) {
	d := newDoors(t, `, "verify": ["/bin/door", "verify"], "facts": ["/bin/door", "facts"], "env": {"B": "2", "A": "1"}`, answering(` {"doors": 1, "list": [1.5, null]} `+"\n", "", 0))
	facts, err := d.facts(t.Context())
	if err != nil || fmt.Sprint(facts) != "map[doors:1 list:[1.5 <nil>]]" {
		t.Error(facts, err)
	}
	var argv []string
	for _, c := range d.host.Commands() {
		argv = append(argv, strings.Join(c.Argv, " "))
		if string(c.Stdin) != doorHead || len(c.Env) != 3 || !strings.HasPrefix(c.Env[0], "PATH=/") || !slices.Equal(c.Env[1:], []string{"A=1", "B=2"}) {
			t.Errorf("%q is run with %s and %q", c.Argv, c.Stdin, c.Env)
		}
	}
	if !slices.Equal(argv, []string{"/bin/door verify", "/bin/door verify", "/bin/door facts"}) {
		t.Errorf("%q", argv)
	}
	d = newDoors(t, "", func(context.Context, engine.Command) (*engine.Result, error) {
		return nil, errors.New("nothing is to be run")
	})
	if facts, err := d.facts(t.Context()); err != nil || facts == nil || len(facts) != 0 {
		t.Error("without commands:", facts, err)
	}
}

// TestExternalTransportFails: what is said of commands that do not do as they should; the secret of the target is in no error.
func TestExternalTransportFails(t *testing.T) {
	const verify, facts = `, "verify": ["/bin/door", "verify"]`, `, "facts": ["/bin/door", "facts"]`
	for name, c := range map[string]struct {
		keys, stdout, stderr string
		code                 int
		want                 string
	}{
		"verify":     {verify, "", "the word opensesame is wrong\n", 3, "the target cellar (transport door) can't be used: the verify command (/bin/door) ended with code 3: the word (secret) is wrong"},
		"silent":     {verify, "", "", 1, "the verify command (/bin/door) ended with code 1"},
		"facts":      {facts, "{}", "no opensesame", 1, "the facts command (/bin/door) ended with code 1: no (secret)"},
		"no JSON":    {facts, "opensesame", "", 0, "the facts command (/bin/door): its output: "},
		"no object":  {facts, "[1]", "", 0, "the facts command (/bin/door): its output is no object"},
		"no output":  {facts, "", "", 0, "the facts command (/bin/door): its output: "},
		"two values": {facts, "{} {}", "", 0, "the facts command (/bin/door): its output: "},
		"key twice":  {facts, `{"a": 1, "a": 2}`, "", 0, "the facts command (/bin/door): its output: "},
		"no UTF-8":   {facts, "{\"a\": \"\xff\"}", "", 0, "the facts command (/bin/door): its output: "},
	} {
		d := newDoors(t, c.keys, answeringQuietly(c.stdout, c.stderr, c.code))
		facts, err := d.facts(t.Context())
		if err == nil || facts != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "opensesame") {
			t.Errorf("%s: %v %v", name, facts, err)
		}
	}
	d := newDoors(t, verify, func(context.Context, engine.Command) (*engine.Result, error) { return nil, errors.New("no such file") })
	if _, err := d.facts(t.Context()); err == nil || !strings.Contains(err.Error(), "can't be used: the verify command (/bin/door): no such file") {
		t.Error("a command that is not there:", err)
	}
}

// answeringQuietly is answering without lines as they come.
func answeringQuietly(stdout, stderr string, code int) func(context.Context, engine.Command) (*engine.Result, error) {
	return func(context.Context, engine.Command) (*engine.Result, error) {
		return &engine.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), ExitCode: code}, nil
	}
}

// TestExternalTransportHangs: a command of a transport is ended after its timeout.
func TestExternalTransportHangs(t *testing.T) {
	for keys, want := range map[string]time.Duration{
		`, "verify": ["/bin/door"], "timeout": "7s"`: 7 * time.Second,
		`, "verify": ["/bin/door"]`:                  time.Minute, // which connecting may take
		`, "facts": ["/bin/door"]`:                   provider.DefaultTimeout,
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDoors(t, keys, func(ctx context.Context, _ engine.Command) (*engine.Result, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
			began := time.Now()
			_, err := d.facts(t.Context())
			if took := time.Since(began); err == nil || took != want || !strings.Contains(err.Error(), "within "+want.String()) {
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
}

// TestExternalTransportCommands: the commands of a type run on the target by the command of the transport. Without it, they run here, and
// get the way to the target before their own lines.
func TestExternalTransportCommands(t *testing.T) {
	for keys, want := range map[string][]string{
		`, "command": ["/bin/door", "command"]`: {"/bin/door command", doorHead + `{"argv":["/bin/note","get"],"dir":"","env":null}` + "\n" + `{"type":"note","names":null}` + "\n"},
		"":                                      {"/bin/note get", doorHead + `{"type":"note","names":null}` + "\n"},
	} {
		d := newDoors(t, keys, answeringQuietly(`{"name": "milk", "text": "buy some"}`, "", 0))
		r, err := d.kinds.New("note")
		must(t, err)
		r.SetName("milk@cellar")
		for key, v := range map[string]any{"target": "cellar", "text": "buy some"} {
			must(t, schema.Set(r.(schema.Typed), key, v))
		}
		must(t, r.Validate())
		_, open := r.(engine.SharedRes).Shared()
		sh, err := open(t.Context(), d.host)
		must(t, err)
		f := enginetest.NewInit(t, enginetest.WithShared(sh), enginetest.WithHost(d.host))
		must(t, r.Init(f.Init()))
		c := &crew{t: t, sh: sh, res: []engine.Res{r}, fakes: []*enginetest.Fake{f}}
		wantOuts(t, c.run(false), "ok")
		c.end()
		var got []string
		for _, cmd := range d.host.Commands() {
			got = append(got, strings.Join(cmd.Argv, " "), string(cmd.Stdin))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLoadTransports: a file of a transport is no type, and its name is free once only.
func TestLoadTransports(t *testing.T) {
	load := func(known *provider.Transports, texts ...string) schema.Diagnostics {
		var nodes []*schema.Node
		for i, text := range texts {
			n, err := jsonNode(string(rune('a'+i))+".json", text)
			defMust(err)
			nodes = append(nodes, n)
		}
		return provider.LoadAll(engine.NewRegistry(), known, nodes, nil)
	}
	door := `{"name": "door", "docs": "x", ` + doorInfo + `}`
	known := wires(t, noWire)
	if ds := load(known, "["+door+"]"); ds.Err() != nil || !slices.Equal(known.Names(), []string{"door", "wire"}) {
		t.Error(known.Names(), ds)
	}
	for text, want := range map[string]string{
		door: "a.json:1:1: the transport door is registered already",
		strings.ReplaceAll(door, `"docs": "x", "con`, `"get": ["a"], "docs": "x", "con`): "a.json:1:18: unknown key \"get\" of a transport",
	} {
		if ds := load(known, text); len(ds) != 1 || !strings.Contains(ds.Error(), want) {
			t.Errorf("%s: %v", text, ds)
		}
	}
}
