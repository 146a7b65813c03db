package integration_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// editor is a client of mgmt lsp, over the pipes of a process.
type editor struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	next int
	uri  string
	text string
	n    int // the version of the text
}

// newEditor starts the program in a folder, and does what an editor does first.
func newEditor(t *testing.T, dir string) (e *editor, cmd *exec.Cmd) {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), "lsp")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e = &editor{t: t, in: in, out: bufio.NewReader(out), uri: "file://" + filepath.Join(dir, "graph.yaml")}
	e.ask("initialize", map[string]any{"processId": os.Getpid(), "rootUri": "file://" + dir, "capabilities": map[string]any{}}, nil)
	e.send(map[string]any{"method": "initialized", "params": map[string]any{}})
	return e, cmd
}

func (e *editor) send(m map[string]any) {
	e.t.Helper()
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(b), b); err != nil {
		e.t.Fatal(err)
	}
}

type lspMessage struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (e *editor) read() (m lspMessage) {
	e.t.Helper()
	size := 0
	for {
		line, err := e.out.ReadString('\n')
		if err != nil {
			e.t.Fatal(err)
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(value)
		}
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(e.out, b); err != nil {
		e.t.Fatal(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		e.t.Fatalf("%s: %v", b, err)
	}
	return m
}

// ask sends a request, and returns its result as text.
func (e *editor) ask(method string, params map[string]any, result any) string {
	e.t.Helper()
	e.next++
	e.send(map[string]any{"id": e.next, "method": method, "params": params})
	for {
		m := e.read()
		if m.ID == nil || *m.ID != e.next {
			continue
		}
		if m.Error != nil {
			e.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				e.t.Fatal(err)
			}
		}
		return string(m.Result)
	}
}

// at are the parameters of a request at the end of a piece of the text.
func (e *editor) at(piece string) map[string]any {
	e.t.Helper()
	i := strings.Index(e.text, piece)
	if i < 0 {
		e.t.Fatalf("%q is not in the text", piece)
	}
	before := e.text[:i+len(piece)]
	line := strings.Count(before, "\n")
	return map[string]any{
		"textDocument": map[string]any{"uri": e.uri},
		"position":     map[string]any{"line": line, "character": len(before) - strings.LastIndex(before, "\n") - 1},
	}
}

// show opens the text or replaces it, and returns the messages of the findings about it.
func (e *editor) show(text string) (found []string) {
	e.t.Helper()
	e.text = text
	e.n++
	if e.n == 1 {
		e.send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{"textDocument": map[string]any{"uri": e.uri, "languageId": "yaml", "version": e.n, "text": text}}})
	} else {
		e.send(map[string]any{"method": "textDocument/didChange", "params": map[string]any{
			"textDocument": map[string]any{"uri": e.uri, "version": e.n}, "contentChanges": []any{map[string]any{"text": text}},
		}})
	}
	for {
		m := e.read()
		var p struct {
			URI         string
			Version     int
			Diagnostics []struct {
				Range   struct{ Start struct{ Line, Character int } }
				Message string
			}
		}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil || p.URI != e.uri || p.Version != e.n {
			continue
		}
		for _, d := range p.Diagnostics {
			found = append(found, fmt.Sprintf("%d:%d: %s", d.Range.Start.Line+1, d.Range.Start.Character+1, d.Message))
		}
		return found
	}
}

const editedGraph = `graph: web
vars:
  domain: {type: text, default: a.example, doc: The name of the site.}
resources:
  file:
  - name: /tmp/mgmt-lsp/app.conf
    content: ${{ vars.domain }}
    mode: "0644"
    notify: ["exec[restart]"]
  exec:
  - name: restart
    cmd: /bin/true
    refreshonly: true
`

// TestEditor: a person types into an editor, with the program itself behind it. The findings are those of validate.
func TestEditor(t *testing.T) {
	dir := t.TempDir()
	e, cmd := newEditor(t, dir)
	wrong := strings.Replace(strings.Replace(editedGraph, "mode:", "moed:", 1), "exec[restart]", "exec[restrat]", 1)
	found := e.show(wrong)
	if got, want := strings.Join(found, "\n"), validated(t, dir, wrong); got != want {
		t.Errorf("the editor shows\n%s\nvalidate finds\n%s", got, want)
	}
	if found := e.show(editedGraph); len(found) != 0 {
		t.Errorf("of a right graph: %q", found)
	}
	for _, x := range []struct{ method, piece, want string }{
		{"completion", "    refr", `"refreshonly: "`},
		{"completion", "${{ vars.", `"domain"`},
		{"hover", "  fi", "A file, a folder"},
		{"hover", "${{ vars.dom", "The name of the site."},
		{"definition", `notify: ["exec[rest`, `"start":{"line":10,"character":10}`},
		{"documentSymbol", "graph", "exec[restart]"},
	} {
		if got := e.ask("textDocument/"+x.method, e.at(x.piece), nil); !strings.Contains(got, x.want) {
			t.Errorf("%s behind %q: %s", x.method, x.piece, got)
		}
	}
	p := e.at(`notify: ["exec[rest`)
	p["newName"] = "again"
	if got := e.ask("textDocument/rename", p, nil); strings.Count(got, `"newText":"again"`) != 2 {
		t.Errorf("the rename is %s", got)
	}
	e.ask("shutdown", nil, nil)
	e.send(map[string]any{"method": "exit"})
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the folder has %v, %v", list, err)
	}
}

// validated returns what mgmt validate says of a graph, without the name of the file.
func validated(t *testing.T, dir, src string) string {
	t.Helper()
	path := filepath.Join(dir, "graph.yaml")
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, _ := program()
	out, _ := exec.CommandContext(t.Context(), filepath.Join(bin, "mgmt"), "validate", path).Output()
	return strings.TrimSpace(strings.ReplaceAll(string(out), path+":", ""))
}

// TestEditorLargeGraph: a graph of 1,000 resources is judged after the last keystroke, and completed.
func TestEditorLargeGraph(t *testing.T) {
	e, cmd := newEditor(t, t.TempDir())
	var b strings.Builder
	b.WriteString("vars:\n  a: x\nresources:\n  file:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - name: /tmp/mgmt-lsp/%d\n    content: ${{ vars.a }}\n", i)
	}
	e.show(b.String())
	const pause = 150 * time.Millisecond
	begin := time.Now()
	e.show(b.String() + "    mode: \"0644\"\n")
	checked := time.Since(begin) - pause
	begin = time.Now()
	e.ask("textDocument/completion", e.at("    mo"), nil)
	completed := time.Since(begin)
	t.Logf("findings %v after the pause, completion %v", checked, completed)
	e.in.Close()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("without a shutdown it ended with %v", err)
	}
}

// TestNeovim: the client of Neovim, which is none of ours, shows a finding, its end, and a definition.
func TestNeovim(t *testing.T) {
	nvim, err := exec.LookPath("nvim")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("this test needs neovim")
	default:
		t.Skip("nvim is missing; on Debian: apt-get install neovim")
	}
	dir := t.TempDir()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("graph.yaml", strings.Replace(editedGraph, "mode:", "moed:", 1))
	write("script.lua", `
local function wait(what, ready) assert(vim.wait(60000, ready, 20), "no " .. what) end
vim.cmd("edit graph.yaml")
local id = vim.lsp.start_client({ name = "mgmt", cmd = { os.getenv("SERVER"), "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)
wait("finding", function() return #vim.diagnostic.get(0) == 1 end)
local d = vim.diagnostic.get(0)[1]
io.stdout:write(d.lnum + 1, ":", d.col + 1, ": ", d.message, "\n")
vim.cmd("%s/moed/mode/")
wait("end of the finding", function() return #vim.diagnostic.get(0) == 0 end)
local params = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 8, character = 20 } }
local answer = vim.lsp.buf_request_sync(0, "textDocument/definition", params, 60000)
io.stdout:write("definition in line ", answer[id].result[1].range.start.line + 1, "\n")
vim.lsp.stop_client(id)
wait("end of the server", function() return vim.lsp.get_client_by_id(id) == nil or vim.lsp.client_is_stopped(id) end)
vim.cmd("qa!")
`)
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile script.lua", "-c", "cquit")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "SERVER="+filepath.Join(bin, "mgmt"), "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if want := "8:5: unknown key \"moed\" (did you mean \"mode\"?)\ndefinition in line 11\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s", out.String())
	}
}
