package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLifecycle: requests have their order, faults have their codes, and an orderly end is no error.
func TestLifecycle(t *testing.T) {
	c := connect(t, testOptions(t, nil), nil)
	failed := func(method string, params any, code int) {
		t.Helper()
		if f := c.ask(method, params, nil); f == nil || f.Code != code {
			t.Errorf("%s: %v, want %d", method, f, code)
		}
	}
	failed("textDocument/hover", map[string]any{}, codeNotInitialized)
	failed("initialize", []int{}, codeBadParams)
	if f := c.ask("initialize", map[string]any{}, nil); f != nil {
		t.Fatal(f)
	}
	failed("initialize", map[string]any{}, codeInvalid)
	failed("textDocument/nonsense", nil, codeNoMethod)
	failed("textDocument/hover", "x", codeBadParams)
	if err := writeFrame(c.in, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if m := c.read(); m.Error == nil || m.Error.Code != codeParse || string(m.ID) != "null" {
		t.Errorf("an answer to no JSON: %+v", m)
	}
	if f := c.ask("shutdown", nil, nil); f != nil {
		t.Fatal(f)
	}
	failed("textDocument/hover", map[string]any{}, codeInvalid)
	c.tell("exit", nil)
	if err := <-c.ended; err != nil {
		t.Errorf("an orderly end: %v", err)
	}
	c.ended <- nil // for the cleanup
}

// TestLeft: an editor that just goes away is an error, and so is a broken frame.
func TestLeft(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing":    {"", ErrLeft.Error()},
		"exit first": {"Content-Length: 33\r\n\r\n" + `{"jsonrpc":"2.0","method":"exit"}`, ErrLeft.Error()},
		"no length":  {"Content-Type: x\r\n\r\n{}", "no Content-Length"},
		"no number":  {"Content-Length: many\r\n\r\n", "must be a number"},
		"too long":   {"Content-Length: 999999999999\r\n\r\n", "must be a number"},
		"cut":        {"Content-Length: 100\r\n\r\n{}", "unexpected EOF"},
		"no header":  {"hello\r\n\r\n", "no line of a header"},
		"long line":  {strings.Repeat("x", maxHeader+1), "more than"},
		"many lines": {strings.Repeat("A: b\r\n", maxLines+2), "more than"},
	} {
		err := Serve(t.Context(), strings.NewReader(c.in), io.Discard, testOptions(t, nil))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPanic: a request that panics is answered, and the next one is served.
func TestPanic(t *testing.T) {
	o := testOptions(t, nil)
	o.Format = func(string, []byte) ([]byte, error) { panic("boom") }
	c := start(t, o, nil)
	doc := c.cursor("g.yaml", "graph: g‸\n")
	if f := c.ask("textDocument/formatting", doc, nil); f == nil || f.Code != codeInternal {
		t.Errorf("%v", f)
	}
	if f := c.ask("textDocument/documentSymbol", doc, nil); f != nil {
		t.Error(f)
	}
}

// TestCanceled: a request that was taken back before its turn is not done.
func TestCanceled(t *testing.T) {
	s := &server{canceled: map[string]bool{}}
	s.cancel("7")
	if _, err := s.guarded(message{ID: json.RawMessage("7"), Method: "initialize"}); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
	if _, err := s.guarded(message{ID: json.RawMessage("7"), Method: "initialize", Params: json.RawMessage("{}")}); err != nil {
		t.Errorf("the id is used again: %v", err)
	}
	for range 3 * maxCanceled {
		s.cancel(strings.Repeat("x", len(s.canceled)))
	}
	if len(s.canceled) > maxCanceled {
		t.Errorf("%d ids are kept", len(s.canceled))
	}
}

// TestFindings: findings come as the text is typed, at the place in UTF-16, and go when it is mended.
func TestFindings(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	c.edit("g.yaml", "resources:\n  note:\n  - name: a\n    tags: {\"😀é\": x, b: [1]}\n    lout: true\n")
	got := c.findings("g.yaml")
	// 😀 takes two units and é one, so b is at column 21 and not at 20.
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, `4:4-8 unknown key "lout"`) }) || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "3:24-") }) {
		t.Errorf("%q", got)
	}
	c.edit("g.yaml", "resources:\n  note:\n  - name: \"a\n")
	if got := c.findings("g.yaml"); len(got) != 1 {
		t.Errorf("of a text that is no YAML: %q", got)
	}
	c.edit("g.yaml", "resources:\n  note:\n  - name: a\n")
	if got := c.findings("g.yaml"); len(got) != 0 {
		t.Errorf("of a right graph: %q", got)
	}
}

// TestIncluded: an included file is judged as a part of its graph, with the texts of the editor in the place of files.
func TestIncluded(t *testing.T) {
	c := start(t, testOptions(t, nil), map[string]string{
		"graph.yaml":      "include: [parts/base.yaml]\nresources:\n  note:\n  - name: a\n",
		"parts/base.yaml": "resources:\n  note:\n  - name: b\n    depend: [\"note[a]\"]\n",
	})
	c.edit("parts/base.yaml", "resources:\n  note:\n  - name: b\n    depend: [\"note[a]\"]\n")
	if got := c.findings("parts/base.yaml"); len(got) != 0 {
		t.Errorf("a reference to the graph: %q", got)
	}
	c.edit("parts/base.yaml", "resources:\n  note:\n  - name: b\n    depend: [\"note[c]\"]\n")
	if got := c.findings("parts/base.yaml"); len(got) != 1 || !strings.HasPrefix(got[0], "3:13-") {
		t.Errorf("a reference to nothing: %q", got)
	}
	// The graph itself is open, too, and not saved.
	c.edit("graph.yaml", "include: [parts/base.yaml]\nresources:\n  note:\n  - name: c\n")
	if got := c.findings("parts/base.yaml"); len(got) != 0 {
		t.Errorf("a reference to an unsaved resource: %q", got)
	}
}

// TestOthers: a YAML file of something else has no findings, and a module and a file of tests have theirs.
func TestOthers(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	c.edit("docker-compose.yaml", "services:\n  web: {image: x}\n")
	c.edit("web/module.yaml", "inputs: {}\n")
	if got := c.findings("web/module.yaml"); len(got) != 1 || !strings.Contains(got[0], "module") {
		t.Errorf("%q", got)
	}
	c.edit("g_test.yaml", "tests: [\n")
	if got := c.findings("g_test.yaml"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestClosed: the findings of a file go when it is closed.
func TestClosed(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	c.edit("g.yaml", "resources:\n  nope:\n  - name: a\n")
	if got := c.findings("g.yaml"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	c.tell("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri("g.yaml")}})
	c.open["g.yaml"] = 0
	if got := c.findings("g.yaml"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestDebounce: fifty keystrokes are one check, after the pause.
func TestDebounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int64
		o := testOptions(t, &checks)
		o.Debounce = DefaultDebounce
		c := start(t, o, nil)
		go io.Copy(io.Discard, c.out)
		for i := range 50 {
			c.edit("g.yaml", "resources:\n  note:\n  - name: a"+strings.Repeat("b", i)+"\n")
			time.Sleep(DefaultDebounce / 3)
		}
		if n := checks.Load(); n != 0 {
			t.Errorf("%d checks while keys are pressed", n)
		}
		time.Sleep(DefaultDebounce)
		synctest.Wait()
		if n := checks.Load(); n != 1 {
			t.Errorf("%d checks after a pause", n)
		}
	})
}

// TestText: places in characters, bytes and UTF-16 units are converted, and edits apply where the protocol says.
func TestText(t *testing.T) {
	x := newText("a😀b\r\nzwei\n")
	for _, c := range []struct{ line, char, want int }{{0, 0, 0}, {0, 1, 1}, {0, 3, 5}, {0, 99, 6}, {1, 0, 8}, {1, 4, 12}, {2, 0, 13}, {9, 0, 13}, {-1, 0, 0}} {
		if got := x.offset(position{c.line, c.char}); got != c.want {
			t.Errorf("%d:%d is byte %d, want %d", c.line, c.char, got, c.want)
		}
	}
	if p := x.position(5); p != (position{0, 3}) {
		t.Errorf("byte 5 is at %v", p)
	}
	if got := x.edited(contentChange{&span{position{0, 1}, position{0, 3}}, "c"}).src; got != "acb\r\nzwei\n" {
		t.Errorf("%q", got)
	}
	if got := x.edited(contentChange{&span{position{1, 2}, position{0, 0}}, "c"}).src; !strings.HasSuffix(got, "ei\n") {
		t.Errorf("a range that ends before its begin: %q", got)
	}
}

// TestURI: a path becomes a URI and back, also with spaces and the drive of Windows.
func TestURI(t *testing.T) {
	for _, path := range []string{"/a/b.yaml", "/a b/ü#?.yaml", "/100%/x"} {
		if got := pathOf(uriOf(path)); got != path {
			t.Errorf("%s becomes %s", path, got)
		}
	}
	if got := filepath.ToSlash(pathOf("file:///c%3A/x/y.yaml")); got != "c:/x/y.yaml" {
		t.Errorf("%q", got)
	}
	for _, uri := range []string{"untitled:Untitled-1", "file:", "::", "https://x/y"} {
		if got := pathOf(uri); got != "" {
			t.Errorf("%s has the path %q", uri, got)
		}
	}
}

// FuzzFrame: any stream ends with an error or a message, and a length alone takes no memory.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("content-length: 1\nX: y\n\na"))
	f.Fuzz(func(t *testing.T, src []byte) {
		r := bufio.NewReader(bytes.NewReader(src))
		for range 100 {
			if _, err := readFrame(r); err != nil {
				return
			}
		}
	})
}

// TestGone: the server does not outlive a context that ends.
func TestGone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	gone := errors.New("gone")
	cancel(gone)
	if err := Serve(ctx, r, io.Discard, testOptions(t, nil)); !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := os.Stat("mgmt"); err == nil {
		t.Error("a file was made")
	}
}

// TestRunsNothing: no program that gives secrets is run, whatever the caller's options say, and the secret is an unknown value.
func TestRunsNothing(t *testing.T) {
	o := testOptions(t, nil)
	var ran atomic.Bool
	o.YAML.Program = func(string, []byte, ...string) ([]byte, error) { ran.Store(true); return nil, nil }
	c := start(t, o, nil)
	src := "secrets:\n- {command: [print-secrets]}\nresources:\n  note:\n  - name: a\n    text: x ${{ secret('k') }}\n"
	c.edit("g.yaml", src)
	if got := c.findings("g.yaml"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, piece := range []string{"text: x ${{ secret(", "text: x ${{ sec"} {
		if f := c.ask("textDocument/hover", c.cursor("g.yaml", strings.Replace(src, piece, piece+"‸", 1)), nil); f != nil {
			t.Error(f)
		}
	}
	if ran.Load() {
		t.Error("a program was run")
	}
}

// TestAnswersOfTheClient: an answer that was never asked for is dropped, and a request without a method is refused.
func TestAnswersOfTheClient(t *testing.T) {
	c := start(t, testOptions(t, nil), nil)
	c.raw(map[string]any{"id": 71, "result": true})
	c.raw(map[string]any{"id": 72, "error": map[string]any{"code": 1, "message": "no"}})
	c.raw(map[string]any{"id": 73})
	if m := c.read(); string(m.ID) != "73" || m.Error == nil || m.Error.Code != codeInvalid {
		t.Errorf("%s: %+v", m.ID, m.Error)
	}
}
