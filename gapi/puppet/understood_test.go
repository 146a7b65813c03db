package puppet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// became is one resource of a type, on line 3 of site.pp, and what becomes of it.
type became struct {
	typ, title, params string
	want               []string
}

func (c became) test(t *testing.T) {
	t.Helper()
	d := read(t, source([]string{entry(3, c.typ, c.title, c.params)}), puppet.Options{})
	if diff := cmp.Diff(c.want, said(t, d)); diff != "" {
		t.Errorf("%s[%s] %s\n%s", c.typ, c.title, c.params, diff)
	}
}

// TestFindingE5FileReplace: a content that is for a new file only, and what checks one.
func TestFindingE5FileReplace(t *testing.T) {
	const left = ` meta {autogroup: false, hidden: true}`
	for _, c := range []became{
		{"File", "/x", `{"content": "a", "replace": false}`, []string{`file[/x] {content: "a", keep: true}`}},
		{"File", "/x", `{"content": "a", "replace": "yes"}`, []string{`file[/x] {content: "a"}`}},
		{"File", "/x", `{"owner": "a", "replace": false}`, []string{`file[/x] {owner: "a"}`}},
		{"File", "/x", `{"ensure": "link", "target": "/y", "replace": false}`, []string{`file[/x] {symlink: true, source: "/y"}`,
			`site.pp:3: File[/x]: replace: mgmt leaves the contents of files alone only, and not links, or the content of a folder`}},
		{"File", "/x", `{"content": "a", "validate_cmd": "/usr/sbin/visudo -cf %"}`, []string{`file[/x] {content: "a", validate: "/usr/sbin/visudo -cf %"}`}},
		{"File", "/x", `{"content": "a", "validate_cmd": "test 1% -lt 2 && check @", "validate_replacement": "@"}`,
			[]string{`file[/x] {content: "a", validate: "/bin/sh -c 'test 1%% -lt 2 && check %'"}`}},
		{"File", "/x", `{"owner": "a", "validate_cmd": "false %"}`, []string{`file[/x] {owner: "a"}`}},
		{"File", "/x", `{"content": "a", "validate_cmd": "visudo -c"}`, []string{`noop[File[/x]]` + left,
			`site.pp:3: File[/x]: validate_cmd: it must have "%" in it, in the place of the path`}},
		{"Concat_file", "/x", `{"validate_cmd": "haproxy -f % -c", "replace": false}`,
			[]string{`file[/x] {content: "", state: "exists", keep: true, validate: "haproxy -f % -c"}`}},
	} {
		c.test(t)
	}
}

// TestFindingE5Service: a command that is what the service manager does is that; a
// refresh restarts, as it does in Puppet.
func TestFindingE5Service(t *testing.T) {
	for _, c := range []became{
		{"Service", "s", `{"ensure": "running"}`, []string{`svc[s] {state: "running", refresh: "restart"}`}},
		{"Service", "s", `{"hasrestart": false, "hasstatus": false, "pattern": "/usr/sbin/s"}`, []string{`svc[s] {refresh: "restart"}`}},
		{"Service", "s", `{"restart": "/usr/sbin/service s reload"}`, []string{`svc[s] {refresh: "reload"}`}},
		{"Service", "t", `{"name": "s", "restart": "systemctl  reload-or-restart s.service"}`, []string{`svc[s] {refresh: "try"}`}},
		{"Service", "s", `{"restart": "/etc/init.d/s restart", "status": "systemctl is-active s"}`, []string{`svc[s] {refresh: "restart"}`}},
		{"Service", "s", `{"restart": "service other reload"}`, []string{`svc[s] {refresh: "restart"}`,
			`site.pp:3: Service[s]: restart: mgmt asks the service manager, not scripts: it restarts the service`}},
		{"Service", "s", `{"status": "pgrep s"}`, []string{`svc[s] {refresh: "restart"}`,
			`site.pp:3: Service[s]: status: mgmt asks the service manager, not scripts: it knows whether the service runs`}},
	} {
		c.test(t)
	}
}

// TestFindingE5FileLine: the lines of stdlib.
func TestFindingE5FileLine(t *testing.T) {
	const left = ` meta {autogroup: false, hidden: true}`
	for _, c := range []became{
		{"File_line", "l", `{"path": "/x", "line": "a"}`, []string{`line[l] {file: "/x", create: false, content: "a"}`}},
		{"File_line", "l", `{"path": "/x", "line": "a", "ensure": "absent", "match": "^b"}`, []string{`line[l] {file: "/x", state: "absent", create: false, content: "a"}`}},
		{"File_line", "l", `{"path": "/x", "line": "a=2", "match": "^a="}`,
			[]string{`line[l] {file: "/x", create: false, content: "a=2", match: "^a=", if_missing: true, one_match: true}`}},
		{"File_line", "l", `{"path": "/x", "line": "a=2", "match": "^a=", "multiple": true, "replace": false}`,
			[]string{`line[l] {file: "/x", create: false, content: "a=2", match: "^a=", if_missing: true, all_matches: true, keep: true}`}},
		{"File_line", "l", `{"path": "/x", "line": "a=2", "match": "^a=", "replace_all_matches_not_matching_line": true, "append_on_no_match": false}`,
			[]string{`line[l] {file: "/x", create: false, content: "a=2", match: "^a=", all_matches: true, no_add: true}`}},
		{"File_line", "l", `{"path": "/x", "line": "a", "after": "^[s]$"}`,
			[]string{`line[l] {file: "/x", create: false, content: "a", below: "(?m)^\\x{73}$", one_match: true}`}},
		{"File_line", "l", `{"path": "/x", "ensure": "absent", "match": "^a", "match_for_absence": true}`,
			[]string{`line[l] {file: "/x", state: "absent", create: false, match: "^a", one_match: true}`}},
		{"File_line", "l", `{"path": "/x", "ensure": "absent", "match": "^a\\Z", "match_for_absence": true, "multiple": "true"}`,
			[]string{`line[l] {file: "/x", state: "absent", create: false, match: "(?m)^a(?:\\n?\\z)"}`}},
		{"File_line", "l", `{"path": "/x", "line": "a", "match": "a(?=b)"}`, []string{
			`line[l] {file: "/x", create: false, content: "a", if_missing: true, one_match: true}`,
			`site.pp:3: File_line[l]: match: the regular expression /a(?=b)/ has look-ahead, which RE2 cannot do; write it without`}},
		{"File_line", "l", `{"path": "/x", "line": "a", "after": "b", "multiple": true}`, []string{`line[l] {file: "/x", create: false, content: "a"}`,
			`site.pp:3: File_line[l]: multiple: mgmt adds a line once, and not below each line that matches`}},
		{"File_line", "l", `{"path": "/x"}`, []string{`noop[File_line[l]]` + left, `site.pp:3: File_line[l]: line: it is missing`}},
	} {
		c.test(t)
	}
}

// TestFindingE5Others: aliases of mail, and values of the kernel.
func TestFindingE5Others(t *testing.T) {
	const left = ` meta {autogroup: false, hidden: true}`
	for _, c := range []became{
		{"Mailalias", "root", `{"recipient": ["a@b.c", "|/bin/x"]}`,
			[]string{`line[Mailalias[root]] {file: "/etc/aliases", match: "^root\\s*:", content: "root: a@b.c,\"|/bin/x\""}`}},
		{"Mailalias", "list", `{"file": "/etc/list", "target": "/a"}`,
			[]string{`line[Mailalias[list]] {file: "/a", match: "^list\\s*:", content: "list: :include: /etc/list"}`}},
		{"Mailalias", "a.b", `{"ensure": "absent"}`, []string{`line[Mailalias[a.b]] {state: "absent", file: "/etc/aliases", match: "^a\\.b\\s*:"}`}},
		{"Mailalias", "a", `{}`, []string{`noop[Mailalias[a]]` + left, `site.pp:3: Mailalias[a]: recipient: an alias needs a recipient or a file, and not both`}},
		{"Sysctl", "a.b", `{"val": "1"}`, []string{`sysctl[a.b] {value: "1", runtime: false, path: "/etc/sysctl.conf"}`}},
		{"Sysctl", "a.b", `{"value": "1", "persist": false}`, []string{`sysctl[a.b] {value: "1", persist: false}`}},
		{"Sysctl_runtime", "a.b", `{"val": "1"}`, []string{`sysctl[Sysctl_runtime[a.b]] {value: "1", key: "a.b", persist: false}`}},
	} {
		c.test(t)
	}
}

// TestFindingE2Mount: every word of ensure has its state.
func TestFindingE2Mount(t *testing.T) {
	for word, state := range map[string]string{"mounted": "exists", "present": "listed", "defined": "listed", "unmounted": "unmounted", "absent": "absent"} {
		became{"Mount", "/m", `{"ensure": "` + word + `", "device": "/d"}`, []string{`mount[/m] {state: "` + state + `", device: "/d"}`}}.test(t)
	}
	d := read(t, source([]string{entry(3, "Mount", "/m", `{"ensure": "ghost"}`), entry(4, "File", "/x", `{"mode": "u=rwz", "seltype": "t"}`)}), puppet.Options{Lenient: true})
	if len(d.Problems) == 0 {
		t.Error("a word that is none is an error")
	}
}

// TestFindingE1Recurse: what is copied does not get the permissions of the source.
func TestFindingE1Recurse(t *testing.T) {
	for _, c := range []became{
		{"File", "/x", `{"ensure": "directory", "source": "/y", "recurse": true}`, []string{`file[/x] {state: "exists", copy_mode: "new", source: "/y/", recurse: true, path: "/x/"}`}},
		{"File", "/x", `{"ensure": "directory", "source": "/y", "recurse": true, "mode": "0640"}`,
			[]string{`file[/x] {mode: "0750", state: "exists", copy_mode: "0640", source: "/y/", recurse: true, path: "/x/"}`}},
	} {
		c.test(t)
	}
}

// TestFindingE5Psql: a statement of the module postgresql is a command.
func TestFindingE5Psql(t *testing.T) {
	for _, c := range []became{
		{"Postgresql_psql", "ALTER ROLE \"app\" LOGIN", `{"unless": "SELECT 1", "db": "postgres", "port": 5432, "psql_path": "/usr/bin/psql"}`, []string{
			`exec[ALTER ROLE "app" LOGIN] {user: "postgres", group: "postgres", shell: "/bin/sh", ` +
				`cmd: "/usr/bin/psql -d 'postgres' -p '5432' -t -X -c \"ALTER ROLE \\\"app\\\" LOGIN\"", nifshell: "/bin/sh", ` +
				`nifcmd: "n=$(/usr/bin/psql -d 'postgres' -p '5432' -t -X -c \"SELECT COUNT(*) FROM (SELECT 1) count\") && test \"$n\" -gt 0", cwd: "/tmp", nifcwd: "/tmp"}`}},
		{"Postgresql_psql", "x", `{"command": "SELECT 1", "refreshonly": true, "psql_user": "u", "psql_group": "g", "cwd": "/", "environment": "A=1", "connect_settings": {"PGHOST": "h", "A": "2"}}`, []string{
			`exec[x] {refreshonly: true, user: "u", group: "g", shell: "/bin/sh", cmd: "psql -t -X -c \"SELECT 1\"", env: {PGHOST: "h", A: "1"}, cwd: "/"}`}},
	} {
		c.test(t)
	}
}

// TestFindingE6Nothing: a value that asks for nothing is none that is refused.
func TestFindingE6Nothing(t *testing.T) {
	for _, c := range []became{
		{"Exec", "/bin/true", `{"refresh": false, "timeout": 0}`, []string{`exec[/bin/true] {cmd: "/bin/true", timeout: "0s"}`}},
		{"Exec", "/bin/true", `{"refresh": "/bin/false", "timeout": 0}`, []string{`exec[/bin/true] {cmd: "/bin/true", timeout: "0s"}`,
			"site.pp:3: Exec[/bin/true]: refresh: a refresh runs the command itself"}},
		{"File", "/x", `{"backup": "puppet", "content": "a"}`, []string{`file[/x] {content: "a"}`}},
		{"Mount", "/m", `{"atboot": true}`, []string{`mount[/m]`}},
	} {
		c.test(t)
	}
}

// TestFindingE5Million: a catalog of a million resources is refused with a reason and a place,
// before it costs more than its bound.
func TestFindingE5Million(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"resources": [`)
	for i := range 1_000_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"Notify","title":"%d"}`, i)
	}
	b.WriteString(`]}`)
	d, err := puppet.Read("c.json", []byte(b.String()), kinds, puppet.Options{})
	if d != nil || err == nil || err.Error() != "c.json:1:8638906: the graph has more than 250000 resources, and this one is beyond; the setting max_resources allows more" {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "c.json")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]puppet.Options{
		"over a size too": {MaxBytes: 20 << 20},
		"fewer":           {MaxResources: 7},
	} {
		for _, err := range puppet.New(path, o).Graphs(t.Context(), gapi.Env{Registry: func() *engine.Registry { return kinds }, NoWatch: true}) {
			if err == nil || !strings.Contains(err.Error(), path+":1:") || !strings.Contains(err.Error(), "the setting max_resources allows more") {
				t.Error(name, err)
			}
		}
	}
}
