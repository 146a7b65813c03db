//go:build linux

// Package providers_test runs the sample providers of all languages against real servers and tools.
package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/plugin"
	"github.com/reactivegraph/mgmt/engine/plugin/plugintest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/internal/await"
	"github.com/reactivegraph/mgmt/provider/protocol"
)

// sample is a provider of this folder, in a language.
type sample struct {
	token  string
	schema string
	source string // the file that is broken on purpose
	faults []fault
	// make readies the sample and its server for one test, with a text in the place of its source. The text is "" for the
	// source itself.
	make func(t testing.TB, source string) started
}

// started says how a sample is run.
type started struct {
	command []string
	env     map[string]string
	config  map[string]any
	inputs  protocol.Bag
}

// fault is one way in which a sample is broken: a text of its source, another one in its place, and the rule that finds it.
type fault struct{ rule, old, new string }

var samples = map[string]sample{
	"go":     {"ca:x509:Certificate", "ca/provider/schema.json", "ca/provider/certificates.go", goFaults, makeGo},
	"node":   {"git:index:Checkout", "git/schema.json", "git/git.mjs", nodeFaults, makeNode},
	"python": {"postgres:index:Role", "postgres/schema.json", "postgres/postgres.py", pythonFaults, makePython},
}

// TestSamples: each sample keeps all rules.
func TestSamples(t *testing.T) {
	for name, s := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := s.check(t, ""); len(found) > 0 {
				t.Errorf("the findings are %v", found)
			}
		})
	}
}

// TestBroken: each sample that is broken on purpose is found by the right rule.
func TestBroken(t *testing.T) {
	for name, s := range samples {
		text, err := os.ReadFile(s.source)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.faults) < 10 {
			t.Errorf("%s is broken in %d ways", name, len(s.faults))
		}
		for _, f := range s.faults {
			t.Run(name+"/"+f.rule, func(t *testing.T) {
				t.Parallel()
				if n := strings.Count(string(text), f.old); n != 1 {
					t.Fatalf("the source has %q %d times", f.old, n)
				}
				found := s.check(t, strings.Replace(string(text), f.old, f.new, 1))
				if !slices.ContainsFunc(found, func(one plugintest.Finding) bool { return one.Check == f.rule }) {
					t.Errorf("the findings are %v", found)
				}
			})
		}
	}
}

// check runs the conformance kit. A sample that was broken on purpose may leave questions without an answer, and a sound one answers all.
func (s *sample) check(t testing.TB, source string) []plugintest.Finding {
	t.Helper()
	st := s.make(t, source)
	p, h := s.plugin(t, st)
	wait := await.Left()
	if source != "" {
		wait = 3 * time.Second
	}
	found, err := plugintest.Run(t.Context(), p, h, plugintest.Options{Inputs: map[string]protocol.Bag{s.token: st.inputs}, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// plugin loads a descriptor of the sample, and makes a host for its process.
func (s *sample) plugin(t testing.TB, st started) (*plugin.Plugin, *host.Host) {
	t.Helper()
	set, h := s.load(t, st)
	return set.Plugins()[0], h
}

// load does the work of plugin, and returns the whole set.
func (s *sample) load(t testing.TB, st started) (*plugin.Set, *host.Host) {
	t.Helper()
	at, err := filepath.Abs(s.schema)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(s.token, ":")
	text, err := json.Marshal(map[string]any{
		"name": name, "command": st.command, "schema": at, "env": st.env, "config": st.config, "grace": "1s", "dir": t.TempDir(),
	})
	var plain map[string]any
	if err = errors.Join(err, json.Unmarshal(text, &plain)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"env", "config"} {
		if plain[key] == nil {
			delete(plain, key)
		}
	}
	n, err := schema.NodeOf(plain)
	if err != nil {
		t.Fatal(err)
	}
	set, ds := plugin.Load([]*schema.Node{n}, plugin.Options{ReadFile: os.ReadFile, Program: "mgmt", Version: "test"})
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(context.Background(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return set, h
}

// copyOf returns the path of a file like one of this folder, in a tree of its own, with another text. The SDKs are there too.
func copyOf(t testing.TB, source, text string) string {
	t.Helper()
	if text == "" {
		at, err := filepath.Abs(source)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	root := t.TempDir()
	at := filepath.Join(root, "examples", "providers", source)
	sdk, err := filepath.Abs("../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	schemaText, err := os.ReadFile(filepath.Join(filepath.Dir(source), "schema.json"))
	err = errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(sdk, filepath.Join(root, "sdk")), os.WriteFile(at, []byte(text), 0o600),
		os.WriteFile(filepath.Join(filepath.Dir(at), "schema.json"), schemaText, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// output runs a program, and returns its output.
func output(t testing.TB, env []string, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// made creates a thing of a sample. The connection ends with the test.
func (s *sample) made(t testing.TB, st started, name string, in protocol.Bag) (protocol.CreateReply, plugin.Conn) {
	t.Helper()
	p, h := s.plugin(t, st)
	conn, end, err := p.Connect(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	var made protocol.CreateReply
	r := &protocol.CreateRequest{Subject: protocol.Subject{Token: s.token, Name: name, Key: "key-" + name}, Properties: in}
	if err := conn.Call(t.Context(), protocol.MethodCreate, r, &made); err != nil {
		t.Fatal(err)
	}
	return made, conn
}

var goFaults = []fault{
	{"create", "c.ID = nameOf(c, in)\n\tn, err", "defer func() { c.ID = \"\" }()\n\tc.ID = nameOf(c, in)\n\tn, err"},
	{"create with the same key", "if n != nil && n.Key == c.Key {\n\t\treturn", "if n != nil && n.Key == c.Key {\n\t\tc.ID += \"2\"\n\t\treturn"},
	{"get by id", "Name: &name, Hosts: hosts(cert)", "Name: &name, Hosts: []string{}"},
	{"get twice", "Expires: new(cert.NotAfter.UTC().Format(time.RFC3339))", "Expires: new(time.Now().String())"},
	{"get of no thing", "if n == nil || err != nil {\n\t\treturn nil, err", "if n == nil || err != nil {\n\t\treturn nil, errors.New(\"none\")"},
	{"get by key", "if out != nil {", "if c.ID == \"\" {\n\t\treturn nil, nil\n\t}\n\tif out != nil {"},
	{"get after delete", "[]string{\".crt\", \".key\", \".json\"}", "[]string{}"},
	{"delete of no thing", "err != nil && !errors.Is(err, fs.ErrNotExist) {\n\t\t\treturn err", "err != nil {\n\t\t\treturn err"},
	{"watch", "\tchanged()\n", "\t_ = changed\n"},
	{"list", "for _, at := range notes {", "for _, at := range notes[:0] {"},
	{"check of right inputs", "return faults, nil", "return append(faults, provider.Failure{Message: \"no\"}), nil"},
}

// makeGo builds the sample in Go.
func makeGo(t testing.TB, source string) started {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, "ca")
	args := []string{"build", "-o", at}
	if source != "" {
		changed, overlay := filepath.Join(dir, "certificates.go"), filepath.Join(dir, "overlay.json")
		old, err := filepath.Abs("ca/provider/certificates.go")
		text, err2 := json.Marshal(map[string]any{"Replace": map[string]string{old: changed}})
		if err := errors.Join(err, err2, os.WriteFile(changed, []byte(source), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay", overlay)
	}
	output(t, []string{"CGO_ENABLED=0"}, "go", append(args, "./ca/provider")...)
	return started{command: []string{at, "-folder", t.TempDir()}, inputs: protocol.Bag{"hosts": []any{"localhost", "127.0.0.1"}}}
}

// TestCertificate: openssl takes a certificate of the sample, for its names and with its key.
func TestCertificate(t *testing.T) {
	openssl := enginetest.Need(t, "openssl", "openssl")
	s := samples["go"]
	st := s.make(t, "")
	made, _ := s.made(t, st, "web", st.inputs)
	folder := st.command[2]
	for _, purpose := range []string{"sslserver", "sslclient"} {
		args := []string{"verify", "-x509_strict", "-purpose", purpose, "-verify_hostname", "localhost", "-CAfile", folder + "/authority.crt", folder + "/web.crt"}
		if got := output(t, nil, openssl, args...); !strings.HasSuffix(got, ": OK") {
			t.Error(got)
		}
	}
	key, _ := made.Properties["keyFile"].(string)
	if output(t, nil, openssl, "pkey", "-in", key, "-pubout") != output(t, nil, openssl, "x509", "-in", folder+"/web.crt", "-noout", "-pubkey") {
		t.Error("the key is that of another certificate")
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file is %v, %v", info, err)
	}
}

var nodeFaults = []fault{
	{"create", "call.id = path;\n    return shown(path);\n  }\n\n  async update", "return shown(path);\n  }\n\n  async update"},
	{"create with the same key", "(await ask(path, \"config\", \"mgmt.key\")) !== call.key) {\n        throw", "true) {\n        throw"},
	{"get by id", "return { path, repository, revision: is, commit };", "return { path, repository, revision: commit, commit };"},
	{"get twice", "revision: is, commit };", "revision: is, commit: String(Math.random()) };"},
	{"get of no thing", "await isThere(join(path, \".git\")))) {\n      return null;", "await isThere(join(path, \".git\")))) {\n      throw new Error(\"none\");"},
	{"get by key", "!call.id && call.key && (await", "!call.id && call.key || (await"},
	{"get after delete", "await rm(call.id, { recursive: true, force: true });", ""},
	{"delete of no thing", "if (await isThere(join(call.id, \".git\"))) {", "{\n      await access(call.id);"},
	{"watch", "    running();\n", ""},
	{"list", "items.push({ name, id: path", "items.push({ name, id: name"},
	{"check of right inputs", "const failures = [];", "const failures = [{ path: \"path\", message: \"no\" }];"},
}

// makeNode readies the sample in JavaScript, with a repository.
func makeNode(t testing.TB, source string) started {
	t.Helper()
	node := enginetest.Need(t, "node", "nodejs")
	dir := t.TempDir()
	origin, copies := filepath.Join(dir, "origin"), filepath.Join(dir, "copies")
	runGit(t, dir, "init", "--quiet", "--initial-branch=main", origin)
	commitFile(t, origin, "one")
	if err := os.Mkdir(copies, 0o755); err != nil {
		t.Fatal(err)
	}
	return started{
		command: []string{node, copyOf(t, "git/git.mjs", source), copies}, env: gitEnv,
		inputs: protocol.Bag{"path": filepath.Join(copies, "a"), "repository": origin, "revision": "main"},
	}
}

// gitEnv keeps the settings of the machine out of git.
var gitEnv = map[string]string{
	"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent",
	"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "test", "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "test@localhost",
}

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	var env []string
	for key, v := range gitEnv {
		env = append(env, key+"="+v)
	}
	return output(t, env, enginetest.Need(t, "git", "git"), append([]string{"-C", dir}, args...)...)
}

func commitFile(t testing.TB, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	runGit(t, dir, "add", "file")
	runGit(t, dir, "commit", "--quiet", "-m", text)
}

// TestCheckout: a change of a file is seen and put back, and a notified checkout follows its branch.
func TestCheckout(t *testing.T) {
	s := samples["node"]
	st := s.make(t, "")
	made, conn := s.made(t, st, "a", st.inputs)
	file := filepath.Join(made.ID, "file")
	sub := protocol.Subject{Token: s.token, Name: "a", ID: made.ID}
	get := func() any {
		t.Helper()
		var is protocol.GetReply
		if err := conn.Call(t.Context(), protocol.MethodGet, &protocol.GetRequest{Subject: sub, Properties: st.inputs}, &is); err != nil {
			t.Fatal(err)
		}
		return is.Properties["revision"]
	}
	update := func(refresh bool) {
		t.Helper()
		r := &protocol.UpdateRequest{Subject: sub, Old: made.Properties, New: st.inputs, Refresh: refresh}
		if err := conn.Call(t.Context(), protocol.MethodUpdate, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("drift"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := get().(string); !strings.HasSuffix(got, " with changes") {
		t.Errorf("the revision of a changed checkout is %q", got)
	}
	origin, _ := st.inputs["repository"].(string)
	commitFile(t, origin, "two")
	for refresh, want := range []string{"one", "two"} {
		update(refresh == 1)
		if text, err := os.ReadFile(file); err != nil || string(text) != want || get() != "main" {
			t.Errorf("the file has %q, want %q, %v", text, want, err)
		}
	}
}

var pythonFaults = []fault{
	{"create", "call.id = \"\"\n        return self.get(call, inputs)", "call.id = \"\"\n        row = self.get(call, inputs)\n        call.id = \"\"\n        return row"},
	{"create with the same key", "if not made:", "if True:"},
	{"get by id", "\"connectionLimit\", \"memberOf\", *", "\"memberOf\", *"},
	{"get twice", "if password and fits", "out[\"oid\"] = os.urandom(4).hex()\n        if password and fits"},
	{"get of no thing", "return row and self.shown", "return self.shown"},
	{"get by key", "found = call.key and roles(", "if call.key:\n                return None\n            found = call.key and roles("},
	{"get after delete", "        if row:\n            psql(", "        if not row:\n            psql("},
	{"delete of no thing", "        if row:\n            psql(", "        if True:\n            psql("},
	{"watch", "        running()\n", ""},
	{"list", "for row in roles():", "for row in roles()[:0]:"},
	{"check of right inputs", "        return []\n", "        return [(\"\", \"no\")]\n"},
}

// makePython readies the sample in Python, with the server of the test.
func makePython(t testing.TB, source string) started {
	t.Helper()
	python := enginetest.Need(t, "python3", "python3")
	enginetest.Need(t, "psql", "postgresql-client")
	return started{
		command: []string{python, copyOf(t, "postgres/postgres.py", source)}, env: postgres(t), config: map[string]any{"interval": 0.05},
		inputs: protocol.Bag{"login": true, "password": "canary-pass", "connectionLimit": int64(3), "memberOf": []any{"pg_monitor"}},
	}
}

// TestRole: the server takes the password of a role, and one that was changed. Its log has neither.
func TestRole(t *testing.T) {
	s := samples["python"]
	st := s.make(t, "")
	made, conn := s.made(t, st, "alice", st.inputs)
	login := func(password string) {
		t.Helper()
		env := []string{"PGHOST=" + st.env["PGHOST"], "PGUSER=alice", "PGDATABASE=postgres", "PGPASSWORD=" + password}
		if got := output(t, env, "psql", "-XAtc", "SELECT current_user"); got != "alice" {
			t.Errorf("the user is %q", got)
		}
	}
	login("canary-pass")
	in := protocol.Bag{"login": true, "password": "canary-new", "connectionLimit": int64(-1), "memberOf": []any{}}
	sub := protocol.Subject{Token: s.token, Name: "alice", ID: made.ID}
	var is protocol.UpdateReply
	if err := conn.Call(t.Context(), protocol.MethodUpdate, &protocol.UpdateRequest{Subject: sub, Old: made.Properties, New: in}, &is); err != nil {
		t.Fatal(err)
	}
	login("canary-new")
	if is.Properties["password"] != "canary-new" || !schema.Equal(is.Properties["memberOf"], []any{}) || !schema.Equal(is.Properties["connectionLimit"], int64(-1)) {
		t.Errorf("%v", is.Properties)
	}
	if log, err := os.ReadFile(filepath.Join(st.env["PGHOST"], "log")); err != nil || len(log) == 0 || strings.Contains(string(log), "canary") {
		t.Errorf("the log of the server has a password, or nothing: %d bytes, %v", len(log), err)
	}
}
