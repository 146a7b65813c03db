package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/daemon/kinds"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// echoBackend describes a backend of the module group that is a program.
const echoBackend = `name: echo
module: group
doc: Says what it was asked.
command: [/bin/sh, -c, '%s', echo]
functions:
- name: info
  params: [{name: name, type: string}, {name: colour, default: red}]
- name: getent
- name: add
  params: [{name: name, type: string}]
- name: sum
  params: [{name: numbers, kind: varargs}]
- name: adduser
  params: [{name: group}, {name: name}]
- name: shout
  params: [{name: word, type: string}, {name: loud, type: int, default: 3}]
`

// programs makes a folder with one backend, which runs a shell script.
func programs(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	text := strings.ReplaceAll(echoBackend, "%s", strings.ReplaceAll(script, "'", "''"))
	if err := os.WriteFile(filepath.Join(dir, "echo.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// say is a script that answers by function.
const say = `in=$(cat); case $in in
*'"info"'*gone*) echo '{"not_found": true}';;
*'"info"'*) echo '{"result": {"name": "wheel", "gid": 10, "members": ["a", "b"], "passwd": "x"}}';;
*'"getent"'*) echo '{"result": [{"name": "wheel"}]}';;
*'"add"'*fail*) echo '{"error": "the disk is full"}';;
*'"add"'*crash*) echo oops >&2; exit 3;;
*'"add"'*) echo '{"result": null}';;
*'"sum"'*'[1,2,3]'*) echo '{"result": 6}';;
*'"sum"'*) echo '{"result": "many"}';;
*'"shout"'*) echo "$in" | sed 's/.*"args"/{"result"/; s/}}$/}}/';;
esac`

type groupName struct {
	Name string `yaml:"name" mgmt:"required" doc:"The name of the group."`
}

type groupAdd struct {
	Name   string        `yaml:"name" mgmt:"required"`
	GID    *int          `yaml:"gid" mgmt:"min=0"`
	System bool          `yaml:"system"`
	Pass   schema.Secret `yaml:"pass"`
}

type groupMember struct {
	Name     string `yaml:"name" mgmt:"required" doc:"The name of the group."`
	Username string `yaml:"username" mgmt:"required" doc:"The name of the user."`
}

type groupInfo struct {
	Name    string   `yaml:"name"`
	GID     int      `yaml:"gid"`
	Members []string `yaml:"members"`
}

type groupNumbers struct {
	Numbers []int `yaml:"numbers" arg:"varargs"`
}

// groups is a catalog with one module, which no backend of the program does.
func groups(t *testing.T) *virtual.Catalog {
	t.Helper()
	c := virtual.NewCatalog()
	err := c.Declare(&virtual.Interface{Module: "group", Doc: "Groups of the machine.", Functions: []virtual.Function{
		virtual.Declare[groupAdd, virtual.Nothing]("add", "Make a group.").Function(),
		virtual.Declare[groupName, virtual.Nothing]("delete", "Remove a group.").Function(),
		virtual.Declare[groupName, groupInfo]("info", "The record of a group.", virtual.OrNotFound(nil)).Function(),
		virtual.Declare[virtual.Nothing, []groupInfo]("getent", "All groups.").Function(),
		virtual.Declare[groupMember, virtual.Nothing]("adduser", "Put a user into a group.").Function(),
		virtual.Declare[groupNumbers, int]("sum", "Add numbers.").Function(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// askGroups runs the program with the module of groups.
func askGroups(t *testing.T, stdin string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	a := &cli.App{In: strings.NewReader(stdin), Out: &o, Err: &e, Folders: kinds.Options{Catalog: groups(t)}}
	code = execute(t.Context(), a, args)
	return o.String(), e.String(), code
}

func TestCallVerb(t *testing.T) {
	dir := programs(t, say)
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string // the output is this
		errs string // the errors have this in them
	}{
		{"a record", []string{"group.info", "wheel"}, 0, "gid: 10\nmembers:\n  - a\n  - b\nname: wheel\n", ""},
		{"by name", []string{"group.info", "name=wheel"}, 0, "gid: 10\nmembers:\n  - a\n  - b\nname: wheel\n", ""},
		{"not there", []string{"group.info", "gone"}, cli.ExitFailed, "", "group.info: it is not there"},
		{"nothing to say", []string{"group.add", "x"}, 0, "", ""},
		{"it failed", []string{"group.add", "fail"}, cli.ExitFailed, "", "group.add: the disk is full"},
		{"it crashed", []string{"group.add", "crash"}, cli.ExitFailed, "", "ended with code 3: oops"},
		{"a wrong result", []string{"group.getent"}, cli.ExitFailed, "", "[0].gid: it is not there"},
		{"a wrong result that may pass", []string{"group.getent", "--lax"}, 0, "-\n  name: wheel\n", "does not allow"},
		{"an argument that it lacks", []string{"group.add", "x", "gid=5"}, cli.ExitUsage, "", "the backend echo has no gid"},
		{"an unknown argument", []string{"group.add", "x", "gidd=5"}, cli.ExitUsage, "", "did you mean gid?"},
		{"a wrong argument", []string{"group.add", "x", "gid=five"}, cli.ExitUsage, "", "gid: the value must be a whole number"},
		{"no argument", []string{"group.add"}, cli.ExitUsage, "", "name is required"},
		{"twice", []string{"group.add", "name=a", "name=b"}, cli.ExitUsage, "", "name is given twice"},
		{"its own argument", []string{"group.info", "wheel", "extra.colour=blue"}, 0, "gid: 10\nmembers:\n  - a\n  - b\nname: wheel\n", ""},
		{"a mismatch", []string{"group.adduser", "wheel", "jo"}, cli.ExitFailed, "", "it requires group"},
		{"a function that it lacks", []string{"group.delete", "wheel"}, cli.ExitFailed, "", "group.delete is not implemented by the backend echo"},
		{"a function of its own", []string{"group.shout", "word=hey"}, 0, "word: hey\n", "deprecated"},
		{"deprecated, quietly", []string{"group.shout", "word=hey", "--quiet"}, 0, "word: hey\n", "deprecated"},
		{"an unknown function", []string{"group.inf", "x"}, cli.ExitUsage, "", "did you mean group.info?"},
		{"an unknown module", []string{"grup.info", "x"}, cli.ExitUsage, "", `did you mean "group"?`},
		{"no function", []string{"group"}, cli.ExitUsage, "", "write MODULE.FUNCTION"},
		{"no JSON", []string{"group.add", "name:={"}, cli.ExitUsage, "", "it is no JSON"},
		{"numbers by place", []string{"group.sum", "1", "2", "3"}, 0, "6\n", ""},
		{"a text for a number", []string{"group.sum", "1", "two"}, cli.ExitUsage, "", "whole number"},
		{"a result of another type", []string{"group.sum"}, cli.ExitFailed, "", "does not allow"},
		{"a secret in an argument", []string{"group.add", "x", "pass=hunter2"}, cli.ExitUsage, "", "PARAMETER@FILE"},
		{"a secret in JSON", []string{"group.add", "x", `pass:="hunter2"`}, cli.ExitUsage, "", "PARAMETER@FILE"},
		{"an unknown backend", []string{"group.add", "x", "--backend", "other"}, cli.ExitUsage, "", "there is no backend other of group, only echo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"call", "--backends", dir, "--backend", "echo"}
			out, errs, code := askGroups(t, "", append(args, c.args...)...)
			if code != c.code || out != c.out || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
				t.Errorf("code %d, want %d\n%s, want\n%s\nerrors: %s, want %s", code, c.code, out, c.out, errs, c.errs)
			}
		})
	}
}

func TestCallEnvelope(t *testing.T) {
	out, errs, code := askGroups(t, "", "call", "--backends", programs(t, say), "--backend", "echo", "group.info", "wheel", "-o", "json")
	var r struct {
		Backend, Status string
		Found           bool
		Common          map[string]any
		Extra           map[string]string
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatalf("%v, %s", err, errs)
	}
	if r.Backend != "echo" || !r.Found || r.Extra["passwd"] != "x" || len(r.Common) != 3 || r.Status != "implemented" {
		t.Errorf("%+v", r)
	}
}

// TestCallWarnings: what a deprecated function gives says that it is, beside the one line of the log.
func TestCallWarnings(t *testing.T) {
	dir := programs(t, say)
	for _, c := range []struct{ output, want string }{
		{"json", `"text": "group.shout is deprecated: the interface of the module does not have it"`},
		{"yaml", `text: "group.shout is deprecated: the interface of the module does not have it"`},
	} {
		out, errs, code := askGroups(t, "", "call", "--backends", dir, "--backend", "echo", "group.shout", "word=hey", "-o", c.output)
		if code != 0 || !strings.Contains(out, c.want) || strings.Count(errs, "WARN") != 1 {
			t.Errorf("code %d\n%s\n%s", code, out, errs)
		}
	}
	if out, _, _ := askGroups(t, "", "call", "--backends", dir, "--backend", "echo", "group.info", "wheel", "-o", "json"); strings.Contains(out, "warnings") {
		t.Error(out)
	}
}

// TestCallSecret: what comes from a file is passed on and shown nowhere else.
func TestCallSecret(t *testing.T) {
	dir := programs(t, `in=$(cat); case $in in *hunter2*) echo '{"result": "passed"}';; *) echo '{"error": "no secret"}';; esac`)
	out, errs, code := askGroups(t, "hunter2\n", "call", "--debug", "--backends", dir, "--backend", "echo", "group.shout", "word@-")
	if code != 0 || out != "passed\n" || strings.Contains(errs, "hunter2") {
		t.Errorf("code %d, %q, %s", code, out, errs)
	}
}

// TestCallFile: what is wrong with what comes from a file is said without showing it.
func TestCallFile(t *testing.T) {
	dir := programs(t, say)
	for stdin, want := range map[string]string{"hunter2\n": "gid: what is in the file is not a whole number", "-1": "gid: what is in the file is not", "5": "the backend echo has no gid"} {
		out, errs, code := askGroups(t, stdin, "call", "--backends", dir, "--backend", "echo", "group.add", "x", "gid@-")
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "hunter2") {
			t.Errorf("%q: code %d, %s", stdin, code, errs)
		}
	}
	if _, errs, code := askGroups(t, "", "call", "--backends", dir, "--backend", "echo", "group.add", "name@"+dir+"/none"); code != cli.ExitUsage || !strings.Contains(errs, "name: "+dir+"/none: no such file") {
		t.Errorf("code %d, %s", code, errs)
	}
}

func TestInterfaceVerbs(t *testing.T) {
	dir := programs(t, say)
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string // parts of what is written
	}{
		{"list", []string{"list", "--backends", dir}, 0, []string{"Groups of the machine.", "echo"}},
		{"show", []string{"show", "group"}, 0, []string{"adduser(name, username)", "Put a user into a group."}},
		{"show one", []string{"show", "group.adduser"}, 0, []string{"adduser(name, username)", "    username: The name of the user. (text)"}},
		{"show a result", []string{"show", "group.info"}, 0, []string{"    gid: ", "    members: "}},
		{"show what is not there", []string{"show", "group.aduser"}, cli.ExitUsage, []string{`did you mean group.adduser?`}},
		{"check", []string{"check", "group", "echo", "--backends", dir}, cli.ExitFailed, []string{"add      implemented", "it has no parameter gid", "delete   not_implemented", "adduser  signature_mismatch", "shout    deprecated"}},
		{"check what is not there", []string{"check", "group", "ecco", "--backends", dir}, cli.ExitUsage, []string{`did you mean "echo"?`}},
		{"matrix", []string{"matrix", "group", "--backends", dir}, 0, []string{"| echo | ", "| adduser | mismatch |", "yes, without gid, system, pass", "Deprecated functions of echo"}},
		{"generate", []string{"generate", "group", "--from", "echo", "--backends", dir}, 0, []string{"info(name, colour='red')\ngetent()\nadd(name)\n"}},
		{"generate by the backend alone", []string{"generate", "--from", "echo", "--backends", dir}, 0, []string{"getent()"}},
		{"generate by no backend", []string{"generate", "--from", "ecco", "--backends", dir}, cli.ExitUsage, []string{`did you mean "echo"?`}},
		{"generate from nothing", []string{"generate", "group"}, cli.ExitUsage, []string{"--from BACKEND"}},
		{"an unknown verb", []string{"lisst"}, cli.ExitUsage, []string{"lisst"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, code := askGroups(t, "", append([]string{"interface"}, c.args...)...)
			if code != c.code {
				t.Errorf("code %d, want %d: %s", code, c.code, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(out+errs, want) {
					t.Errorf("no %q in\n%s%s", want, out, errs)
				}
			}
		})
	}
	for _, args := range [][]string{{"list"}, {"show", "group"}, {"check", "group", "echo", "--backends", dir}, {"matrix", "group", "--backends", dir}} {
		out, _, _ := askGroups(t, "", append(append([]string{"interface"}, args...), "-o", "json")...)
		var list []map[string]any
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
}

// TestBrokenBackends: a description that is wrong is refused with its place.
func TestBrokenBackends(t *testing.T) {
	dir := t.TempDir()
	text := "name: x\nmodule: group\ncommand: [sh]\nwach: poll\nfunctions:\n- name: info\n  params: [{name: a, type: strin}]\n"
	if err := os.WriteFile(filepath.Join(dir, "x.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := askGroups(t, "", "interface", "list", "--backends", dir)
	if code != cli.ExitUsage || !strings.Contains(errs, "x.yaml:4:1") || !strings.Contains(errs, `no type "strin"`) {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestLostBackends: a backend of a module that there is not is an error.
func TestLostBackends(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.yaml"), []byte("name: x\nmodule: grup\ncommand: [sh]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := askGroups(t, "", "interface", "list", "--backends", dir)
	if code != cli.ExitUsage || !strings.Contains(errs, `did you mean "group"?`) {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestLintedBackends: a description with a rule on a fact that there is not, or on one
// of another case, is warned about.
func TestLintedBackends(t *testing.T) {
	dir := t.TempDir()
	text := "name: x\nmodule: group\ncommand: [sh]\nwhen: {osfamily: [Debian], kernel: [linux]}\n"
	if err := os.WriteFile(filepath.Join(dir, "x.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := askGroups(t, "", "interface", "list", "--backends", dir)
	if code != 0 || !strings.Contains(errs, `did you mean "os_family"?`) || !strings.Contains(errs, `kernel is "Linux" here and not "linux"`) {
		t.Errorf("code %d: %s", code, errs)
	}
}

// TestModules: every backend of the program is of a module, and what is wrong with an
// interface would be found when it is declared.
func TestModules(t *testing.T) {
	c := virtual.DefaultCatalog()
	if orphans := c.Orphans(); len(orphans) > 0 {
		t.Errorf("backends without a module: %v", orphans)
	}
	for _, want := range []string{"group", "pkg", "svc", "user"} {
		if i, err := c.Interface(want); err != nil || i.Validate() != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, module := range c.Modules() {
		i, err := c.Interface(module)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range c.Backends(module) {
			if b.Doc == "" || b.Validate() != nil {
				t.Errorf("%s/%s: no doc, or %v", module, b.Name, b.Validate())
			}
			for _, v := range virtual.Check(i, b, nil) {
				if v.Status == virtual.Deprecated || v.Status == virtual.SignatureMismatch || v.Misfit() != "" || len(v.Lacks()) > 0 {
					t.Errorf("%s.%s of %s is %s: %v", module, v.Function, b.Name, v.Status, v.Differences)
				}
			}
		}
		facts, err := host.ReadFacts("/", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range i.Lint(facts.Map()) {
			t.Errorf("%s: %s", module, f)
		}
	}
}

// TestHostileBackends: control characters in a description of a backend reach no terminal, whichever verb shows it.
func TestHostileBackends(t *testing.T) {
	dir := t.TempDir()
	text := `name: x
module: group
command: [sh]
when: {"\e[31mfact": [a], kernel: ["\e[32m"]}
functions:
- name: info
  params: [{name: name}, {name: colour, type: string, default: "\e[33mred"}]
`
	if err := os.WriteFile(filepath.Join(dir, "x.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, args := range [][]string{{"list"}, {"show", "group"}, {"check", "group", "x"}, {"matrix", "group"}, {"generate", "group", "--from", "x"}, {"generate", "--from", "x"}} {
		out, errs, _ := askGroups(t, "", append(append([]string{"interface"}, args...), "--backends", dir)...)
		if render.VisibleLines(out+errs) != out+errs {
			t.Errorf("%v: %q, %q", args, out, errs)
		}
		seen = seen || strings.Contains(out, `\x1b[33mred`)
	}
	if !seen {
		t.Error("no verb has shown the texts of the description")
	}
}
