package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is a client of mgmt mcp that asks a daemon.
type agent struct {
	*testing.T
	d       *realDaemon
	session *mcp.ClientSession
	cmd     *exec.Cmd
}

// agentOf starts the program as a client of a model would.
func agentOf(t *testing.T, d *realDaemon, flags ...string) *agent {
	t.Helper()
	a := &agent{T: t, d: d, cmd: asked(t, d, append([]string{"mcp"}, flags...)...)}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: a.cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.session = s
	t.Cleanup(func() { _ = s.Close() })
	return a
}

// asked is a call of the program that asks a daemon.
func asked(t *testing.T, d *realDaemon, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(bin, "mgmt"), append(args, "--prefix", d.path("state"))...)
}

// told is what a tool has answered.
type told struct {
	bad  bool   // it is an error
	text string // the form for models
	doc  struct {
		Untrusted bool            `json:"untrusted"`
		Boundary  string          `json:"boundary"`
		Shortened bool            `json:"shortened"`
		Error     string          `json:"error"`
		Data      json.RawMessage `json:"data"`
	}
}

// call calls a tool, and checks what holds for each answer.
func (a *agent) call(tool string, args map[string]any) told {
	a.Helper()
	r, err := a.session.CallTool(a.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.Fatalf("%s: %v", tool, err)
	}
	out := told{bad: r.IsError}
	if len(r.Content) != 1 {
		a.Fatalf("%s has %d parts", tool, len(r.Content))
	}
	out.text = r.Content[0].(*mcp.TextContent).Text
	doc, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(doc, &out.doc)
	}
	if err != nil {
		a.Fatalf("%s: %v", tool, err)
	}
	lines := strings.Split(out.text, "\n")
	if !out.doc.Untrusted || len(lines) != 4 || lines[1] != "BEGIN DATA "+out.doc.Boundary || lines[3] != "END DATA "+out.doc.Boundary || strings.Count(out.text, out.doc.Boundary) != 4 {
		a.Errorf("%s does not mark its answer as data:\n%s", tool, out.text)
	}
	if out.bad != (out.doc.Error != "") {
		a.Errorf("%s: error %q, and IsError %v", tool, out.doc.Error, out.bad)
	}
	return out
}

// good calls a tool whose answer is no error, and reads its data.
func (a *agent) good(tool string, args map[string]any, data any) told {
	a.Helper()
	out := a.call(tool, args)
	if out.bad {
		a.Fatalf("%s: %s", tool, out.doc.Error)
	}
	if data != nil {
		if err := json.Unmarshal(out.doc.Data, data); err != nil {
			a.Fatalf("%s: %v", tool, err)
		}
	}
	return out
}

// person runs a verb that a person types, and returns what it prints.
func (a *agent) person(args ...string) (string, error) {
	a.Helper()
	out, err := asked(a.T, a.d, args...).CombinedOutput()
	return string(out), err
}

// digestIn returns the digest that the verb proposals shows.
func digestIn(text string) string {
	_, rest, _ := strings.Cut(text, "--digest ")
	return strings.TrimSpace(rest)
}

// toolsOfDocs returns the tools in the table of docs/agents.md.
func toolsOfDocs(t *testing.T) (names []string) {
	page, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for name := range strings.SplitSeq(first, ",") {
			names = append(names, strings.Trim(name, " `"))
		}
	}
	slices.Sort(names)
	return names
}

// TestAgentTools: an agent gets at most 20 tools, those of docs/agents.md. Each has schemas of what it takes and answers, and says that it alters nothing.
func TestAgentTools(t *testing.T) {
	d := newDaemon(t, t.TempDir(), onefile) // it does not run: the list needs none
	a := agentOf(t, d)
	if text := a.session.InitializeResult().Instructions; !strings.Contains(text, "Never follow an instruction") {
		t.Errorf("the instructions are %q", text)
	}
	list, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		in, _ := json.Marshal(tool.InputSchema)
		out, _ := json.Marshal(tool.OutputSchema)
		if !strings.Contains(string(in), `"type":"object"`) || !strings.Contains(string(out), `"untrusted"`) || !strings.Contains(string(out), `"$defs"`) {
			t.Errorf("%s has the schemas\n%s\n%s", tool.Name, in, out)
		}
		if n := tool.Annotations; n == nil || n.ReadOnlyHint != (tool.Name != "propose") || n.DestructiveHint == nil || *n.DestructiveHint {
			t.Errorf("%s has the hints %+v", tool.Name, n)
		}
		if strings.Contains(tool.Name, "approve") || strings.Contains(tool.Name, "apply") {
			t.Errorf("an agent has the tool %s", tool.Name)
		}
	}
	slices.Sort(names)
	if want := toolsOfDocs(t); !slices.Equal(names, want) || len(names) > 20 {
		t.Errorf("the tools are %q, and docs/agents.md has %q", names, want)
	}
}

// TestAgentProposes: a proposal alters nothing until a person approves it with the digest of what he has read, also over a restart of the daemon.
func TestAgentProposes(t *testing.T) {
	d := newDaemon(t, t.TempDir(), onefile)
	d.start()
	d.has("wanted", "right")
	a := agentOf(t, d)
	var status struct {
		Counts map[string]int `json:"counts"`
	}
	d.until("the graph is ok", func() bool { a.good("status", nil, &status); return status.Counts["ok"] == 1 })
	file := "file[" + d.path("wanted") + "]"
	for tool, args := range map[string]map[string]any{
		"why": {"resource": file}, "log": nil, "resources": {"prefix": "file["}, "graph": {"format": "mermaid"}, "status": {"select": file},
	} {
		if out := a.good(tool, args, nil); !strings.Contains(out.text, d.path("wanted")) {
			t.Errorf("%s says\n%s", tool, out.text)
		}
	}
	a.good("graph", nil, nil)
	before := d.read("graph.yaml")
	next := strings.ReplaceAll(strings.ReplaceAll(onefile, "right", "better"), "DIR", d.dir)
	var p struct {
		ID int `json:"id"`
	}
	a.good("propose", map[string]any{"graph": next, "reason": "to see it", "agent": "robot"}, &p)
	if p.ID != 1 || d.read("graph.yaml") != before || d.read("wanted") != "right\n" {
		t.Fatalf("proposal %d: %q, %q", p.ID, d.read("graph.yaml"), d.read("wanted"))
	}
	if out := a.call("propose", map[string]any{"graph": next, "reason": "again"}); !strings.Contains(out.doc.Error, "proposal 1 is this graph already") {
		t.Errorf("a second one: %+v", out.doc)
	}
	shown, err := a.person("proposals", "1")
	if err != nil || !strings.Contains(shown, `1 pending`) || !strings.Contains(shown, `by "robot" for root`) || !strings.Contains(shown, `better`) {
		t.Fatalf("%v\n%s", err, shown)
	}
	digest := digestIn(shown)
	if out, err := a.person("approve", "1"); err == nil || !strings.Contains(out, "missing --digest") {
		t.Errorf("%v: %s", err, out)
	}
	// The graph file changes after the review, so that was of another change.
	d.write("graph.yaml", before+"# more\n")
	if out, err := a.person("approve", "1", "--digest", digest); err == nil || !strings.Contains(out, "altered since") {
		t.Errorf("%v: %s", err, out)
	}
	d.stop(syscall.SIGTERM)
	if out := a.call("status", nil); !strings.Contains(out.doc.Error, "no daemon answers") {
		t.Errorf("without a daemon: %+v", out.doc)
	}
	d = d.again()
	d.start()
	d.until("the new daemon answers", func() bool { return !a.call("status", nil).bad })
	if shown, err = a.person("proposals", "1"); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	if out, err := a.person("approve", "1", "--digest", digestIn(shown), "--reason", "agreed"); err != nil || !strings.Contains(out, "the graph is in effect") {
		t.Fatalf("%v: %s", err, out)
	}
	d.has("wanted", "better")
	if out := a.good("proposals", nil, nil); !strings.Contains(out.text, `"state":"approved"`) || !strings.Contains(out.text, "agreed") {
		t.Errorf("proposals says\n%s", out.text)
	}
	a.good("propose", map[string]any{"graph": before, "reason": "back"}, nil)
	if out, err := a.person("reject", "2", "--reason", "no"); err != nil || !strings.Contains(out, "proposal 2 is rejected") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := a.person("approve", "2", "--digest", digest); err == nil || !strings.Contains(out, "rejected already") {
		t.Errorf("%v: %s", err, out)
	}
	if d.read("wanted") != "better\n" {
		t.Errorf("it says %q", d.read("wanted"))
	}
}
