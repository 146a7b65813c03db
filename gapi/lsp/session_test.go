package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/traits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// note is a kind with a parameter of each sort that completion has to know.
type note struct {
	traits.Base
	traits.Sendable
	traits.Recvable
	State string            `yaml:"state" mgmt:"enum=present|absent" doc:"Whether it is there."`
	Text  string            `yaml:"text" doc:"What it says."`
	Loud  bool              `yaml:"loud"`
	Tags  map[string]string `yaml:"tags"`
}

func (*note) Default() engine.Res                            { return &note{State: "present"} }
func (*note) Doc() string                                    { return "A note for tests.\n\nIt has more to say." }
func (*note) Validate() error                                { return nil }
func (*note) Init(*engine.Init) error                        { return nil }
func (*note) Cleanup() error                                 { return nil }
func (*note) Watch(context.Context) error                    { return nil }
func (*note) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (*note) Cmp(engine.Res) error                           { return nil }
func (*note) Sends() any {
	return &struct {
		Said string `yaml:"said" doc:"The text."`
	}{}
}

// testOptions are those of a session whose kinds are notes. Checks are counted.
func testOptions(t *testing.T, checks *atomic.Int64) Options {
	reg := engine.NewRegistry()
	if err := reg.Register("note", func() engine.Res { return &note{} }); err != nil {
		t.Fatal(err)
	}
	meta, err := schema.Of(new(engine.MetaParams).Outright())
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		YAML:  yaml.Options{Facts: func() map[string]any { return map[string]any{"hostname": "h1"} }},
		Kinds: func() *engine.Registry { return reg }, Meta: meta, Format: func(_ string, src []byte) ([]byte, error) { return yaml.Format(src) }, Version: "1", Debounce: time.Millisecond,
		Check: func(d *gapi.Declared) schema.Diagnostics {
			if checks != nil {
				checks.Add(1)
			}
			_, ds := gapi.Build(reg, d)
			return ds
		},
	}
}

// client is the editor's side of a session.
type client struct {
	t     *testing.T
	dir   string
	in    *io.PipeWriter
	out   *bufio.Reader
	next  int
	ended chan error
	open  map[string]int    // versions
	typed map[string]string // the texts
}

// start begins a session in a folder with some files.
func start(t *testing.T, o Options, files map[string]string) *client {
	t.Helper()
	c := connect(t, o, files)
	c.ask("initialize", map[string]any{"rootUri": uriOf(c.dir)}, nil)
	c.tell("initialized", map[string]any{})
	return c
}

// connect begins a session without a request. At the end of the test the session is ended, too.
func connect(t *testing.T, o Options, files map[string]string) *client {
	t.Helper()
	c := &client{t: t, dir: t.TempDir(), ended: make(chan error, 1), open: map[string]int{}, typed: map[string]string{}}
	for name, src := range files {
		path := filepath.Join(c.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(src), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c.in, c.out = inW, bufio.NewReader(outR)
	go func() {
		err := Serve(context.Background(), inR, outW, o)
		inR.Close()
		outW.Close()
		c.ended <- err
	}()
	t.Cleanup(func() {
		c.in.Close()
		go io.Copy(io.Discard, c.out)
		<-c.ended
	})
	return c
}

func (c *client) raw(m map[string]any) {
	c.t.Helper()
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err == nil {
		err = writeFrame(c.in, b)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) tell(method string, params any) {
	c.t.Helper()
	c.raw(map[string]any{"method": method, "params": params})
}

// read returns the next message of the server.
func (c *client) read() message {
	c.t.Helper()
	raw, err := readFrame(c.out)
	if err != nil {
		c.t.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		c.t.Fatalf("%s: %v", raw, err)
	}
	return m
}

// ask sends a request and decodes its answer. Notifications that come before it are dropped. It returns the failure of the answer.
func (c *client) ask(method string, params, result any) *failure {
	c.t.Helper()
	c.next++
	c.raw(map[string]any{"id": c.next, "method": method, "params": params})
	for {
		m := c.read()
		if m.Method != "" {
			continue
		}
		if string(m.ID) != fmt.Sprint(c.next) {
			c.t.Fatalf("the answer of %s, and not of %d", m.ID, c.next)
		}
		if m.Error == nil && result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				c.t.Fatalf("%s: %v", m.Result, err)
			}
		}
		return m.Error
	}
}

func (c *client) uri(name string) string { return uriOf(filepath.Join(c.dir, name)) }

// edit opens a document, or replaces its text.
func (c *client) edit(name, src string) {
	c.t.Helper()
	c.open[name]++
	c.typed[name] = src
	doc := map[string]any{"uri": c.uri(name), "version": c.open[name]}
	if c.open[name] == 1 {
		doc["text"], doc["languageId"] = src, "yaml"
		c.tell("textDocument/didOpen", map[string]any{"textDocument": doc})
		return
	}
	c.tell("textDocument/didChange", map[string]any{"textDocument": doc, "contentChanges": []any{map[string]any{"text": src}}})
}

// findings waits for the findings about the present text of a document, as line:column-column message.
func (c *client) findings(name string) (list []string) {
	c.t.Helper()
	for {
		m := c.read()
		if m.Method != "textDocument/publishDiagnostics" {
			continue
		}
		var p published
		if err := json.Unmarshal(m.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		if p.URI != c.uri(name) || c.open[name] > 0 && (p.Version == nil || *p.Version != c.open[name]) {
			continue
		}
		for _, d := range p.Diagnostics {
			list = append(list, fmt.Sprintf("%d:%d-%d %s", d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Character, d.Message))
		}
		return list
	}
}

// cursor takes the cursor ‸ out of a source, opens it, and returns the parameters of a request at that place.
func (c *client) cursor(name, marked string) map[string]any {
	c.t.Helper()
	i := strings.Index(marked, "‸")
	if i < 0 {
		c.t.Fatalf("no cursor in %q", marked)
	}
	src := strings.Replace(marked, "‸", "", 1)
	if c.open[name] == 0 || src != c.typed[name] {
		c.edit(name, src)
	}
	return map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "position": newText(src).position(i)}
}
