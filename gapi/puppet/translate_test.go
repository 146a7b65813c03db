package puppet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/puppet"
)

// entry is one resource of a catalog, on line n of site.pp.
func entry(n int, typ, title, params string, more ...string) string {
	if params == "" {
		params = "{}"
	}
	return fmt.Sprintf(`{"type": %q, "title": %q, "file": "site.pp", "line": %d, "kind": "compilable_type", "parameters": %s%s}`,
		typ, title, n, params, strings.Join(append([]string{""}, more...), ", "))
}

// source makes a catalog of resources and of "Container > Contained".
func source(resources []string, contains ...string) string {
	edges := make([]string, len(contains))
	for i, c := range contains {
		from, to, _ := strings.Cut(c, " > ")
		edges[i] = fmt.Sprintf(`{"source": %q, "target": %q}`, from, to)
	}
	return `{"name": "node", "resources": [` + strings.Join(resources, ",\n") + `], "edges": [` + strings.Join(edges, ", ") + `]}`
}

func read(t *testing.T, src string, o puppet.Options) *gapi.Declared {
	t.Helper()
	d, err := puppet.Read("c.json", []byte(src), kinds, o)
	must(t, err)
	return d
}

// text writes a node on one line.
func text(n *schema.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == schema.NodeList:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = text(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.Kind == schema.NodeMap:
		parts := make([]string, len(n.Pairs))
		for i, p := range n.Pairs {
			parts[i] = p.Key + ": " + text(p.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.Kind == schema.NodeString:
		return fmt.Sprintf("%q", n.Text)
	default:
		return n.Text
	}
}

// shown writes a declaration on one line.
func shown(d gapi.Declaration) string {
	parts := []string{fmt.Sprintf("%s[%s]", d.Kind, d.Name)}
	if d.Value != nil && len(d.Value.Pairs) > 0 {
		parts = append(parts, text(d.Value))
	}
	if d.Meta != nil {
		parts = append(parts, "meta "+text(d.Meta))
	}
	for _, r := range d.Recv {
		parts = append(parts, fmt.Sprintf("%s <- %s", r.Field, r.From))
	}
	return strings.Join(parts, " ")
}

// said writes what became of a catalog: the declarations, and the findings with what
// Build finds.
func said(t *testing.T, d *gapi.Declared) (list []string) {
	t.Helper()
	for _, r := range d.Resources {
		list = append(list, shown(r))
	}
	g, ds := gapi.Build(kinds, d)
	for _, d := range ds {
		list = append(list, d.String())
	}
	if (g == nil) != (ds.Err() != nil) {
		t.Errorf("graph %v with %v", g, ds)
	}
	return list
}

// TestTranslate: what becomes of one resource, on line 3 of site.pp.
func TestTranslate(t *testing.T) {
	const left = ` meta {autogroup: false, hidden: true}`
	for _, c := range []struct {
		typ, title, params string
		want               []string
	}{
		{"File", "/x", `{"ensure": "file", "links": "follow", "content": "a", "owner": 0, "group": "adm", "mode": "0644", "backup": false}`,
			[]string{`file[/x] {owner: 0, group: "adm", mode: "0644", content: "a", state: "exists"}`}},
		{"File", "/x/", `{"ensure": "directory", "path": "/x", "mode": "0640", "force": true}`,
			[]string{`file[/x/] {force: true, mode: "0750", state: "exists", path: "/x/"}`}},
		{"File", "/x", `{"ensure": "directory", "mode": "u=rwX,go=rX"}`,
			[]string{`file[/x] {mode: "u=rwX,go=rX", state: "exists", path: "/x/"}`}},
		{"File", "conf", `{"path": "/etc/x", "source": ["file:///srv/x"]}`,
			[]string{`file[conf] {source: "/srv/x", path: "/etc/x"}`}},
		{"File", "/x", `{"ensure": "link", "target": "../y", "mode": "0644"}`, []string{`file[/x] {symlink: true, source: "../y"}`}},
		{"File", "/x", `{"ensure": "/y"}`, []string{`file[/x] {symlink: true, source: "/y"}`}},
		{"File", "/x", `{"target": "/y"}`, []string{`file[/x] {symlink: true, source: "/y"}`}},
		{"File", "/x", `{"ensure": "absent", "content": "a", "force": "yes"}`, []string{`file[/x] {force: true, state: "absent"}`}},
		{"File", "/x", `{"ensure": "directory", "source": "/y", "recurse": true, "purge": true, "force": true}`,
			[]string{`file[/x] {force: true, state: "exists", copy_mode: "new", source: "/y/", recurse: true, purge: true, path: "/x/"}`}},
		{"File", "/x", `{"source": "/y", "recurse": "remote", "owner": "a"}`,
			[]string{`file[/x] {owner: "a", state: "exists", copy_mode: "new", source: "/y/", recurse: true, path: "/x/"}`}},
		{"File", "/x", `{"content": {"__ptype": "Binary", "__pvalue": "AAH/"}}`, []string{`file[/x] {content: "\x00\x01\xff"}`}},
		{"File", "/x", `{"content": "a", "show_diff": false}`, []string{
			`value[File[/x] content] {any: "(secret)"}`, `file[/x] content <- value[File[/x] content].any`}},
		{"File", "x", `{}`, []string{"noop[File[x]]" + left, `site.pp:3: File[x]: path: it must be absolute, not "x"`}},
		{"File", "/x", `{"ensure": "directory", "recurse": true, "mode": "0644"}`, []string{
			`file[/x] {mode: "0755", state: "exists", path: "/x/"}`,
			`site.pp:3: File[/x]: recurse: mgmt sets mode of the folder only, not of its content`}},
		{"File", "/x", `{"ensure": "directory", "recurse": true, "purge": true}`, []string{
			`file[/x] {state: "exists", path: "/x/"}`,
			`site.pp:3: File[/x]: purge: mgmt removes folders below, too; say force => true if that is meant`}},
		{"File", "/x", `{"source": "puppet:///modules/m/x"}`, []string{"file[/x]",
			`site.pp:3: File[/x]: source: a source is a file of this machine, or of a module in the folders of puppet_modules, not "puppet:///modules/m/x"`}},
		{"File", "/x", `{"source": ["/a", "/b"]}`, []string{"file[/x]",
			`site.pp:3: File[/x]: source: mgmt has one source and not the first of several that is there`}},
		{"File", "/x", `{"content": "{md5}d41d8cd98f00b204e9800998ecf8427e"}`, []string{"file[/x]",
			`site.pp:3: File[/x]: content: it is the checksum of a content that is somewhere else`}},
		{"File", "/x", `{"mode": 420, "seltype": "t", "force": 3, "replace": false, "bakcup": 1}`, []string{"noop[File[/x]]" + left,
			`site.pp:3: File[/x]: seltype: mgmt does not set labels of SELinux`,
			`site.pp:3: File[/x]: force: it must be true or false, not 3`,
			`site.pp:3: File[/x]: bakcup: file has no such attribute (did you mean "backup"?)`,
			`site.pp:3: File[/x]: mode: it must be text such as '0644', not 420`}},
		{"File", "/x", `{"mode": "u=rwz"}`, []string{`file[/x] {mode: "u=rwz"}`,
			`site.pp:3: file[/x]: mode: "u=rwz" is not a mode: 'z' is not one of r w x X s t`}},

		{"Exec", "a b", ``, []string{`exec[a b] {cmd: "a b", timeout: 300}`}},
		{"Exec", "x", `{"command": "echo $HOME | cat", "path": ["/bin", "/usr/bin"], "timeout": 0}`,
			[]string{`exec[x] {shell: "/bin/sh", cmd: "echo $HOME | cat", env: {PATH: "/bin:/usr/bin"}, timeout: "0s"}`}},
		{"Exec", "x", `{"command": "/bin/true", "provider": "shell", "cwd": "/srv", "user": "app", "unless": "test -e x"}`,
			[]string{`exec[x] {user: "app", shell: "/bin/sh", cmd: "/bin/true", nifshell: "/bin/sh", nifcmd: "test -e x", cwd: "/srv", nifcwd: "/srv", timeout: 300}`}},
		{"Exec", "x", `{"command": ["/bin/echo", "a b", "it's"], "timeout": "1.5", "refreshonly": true}`,
			[]string{`exec[x] {refreshonly: true, cmd: "/bin/echo", args: ["a b", "it's"], timeout: "1.5s"}`}},
		{"Exec", "x", `{"command": ["/opt/a b"], "returns": ["0", 0], "creates": "/a", "timeout": [3]}`,
			[]string{`exec[x] {shell: "/bin/sh", cmd: "(\n'/opt/a b'\n)\ns=$?\ncase $s in\n0|0) exit 0 ;;\n0) exit 1 ;;\nesac\nexit $s", creates: "/a", timeout: "3s"}`}},
		{"Exec", "x", `{"command": "/bin/a", "umask": "077", "returns": 0}`,
			[]string{`exec[x] {shell: "/bin/sh", cmd: "umask 077\n/bin/a", timeout: 300}`}},
		{"Exec", "x", `{"command": "/bin/a", "onlyif": ["/bin/b", ["/bin/c", "d e"]], "creates": ["/p", "/q"], "environment": ["A=1", "B=2=3", "A=4"]}`,
			[]string{`exec[x] {cmd: "/bin/a", env: {B: "2=3", A: "4"}, ifshell: "/bin/sh", ifcmd: "(\n/bin/b\n) &&\n(\n'/bin/c' 'd e'\n)", nifshell: "/bin/sh", nifcmd: "(\n'test' '-e' '/p'\n) ||\n(\n'test' '-e' '/q'\n)", timeout: 300}`}},
		{"Exec", "x", `{"command": "/bin/a", "tries": 3, "try_sleep": 2, "environment": "A=1"}`,
			[]string{`exec[x] {cmd: "/bin/a", env: {A: "1"}, timeout: 300} meta {retry: 2, retryreset: true, delay: "2s"}`}},
		{"Exec", "x", `{"command": [], "tries": 0, "try_sleep": -1, "returns": [256], "umask": "9", "environment": ["A"], "timeout": "x"}`,
			[]string{"noop[Exec[x]]" + left,
				`site.pp:3: Exec[x]: tries: it must be a number from 1, not 0`,
				`site.pp:3: Exec[x]: try_sleep: it must be a number of seconds, not -1`,
				`site.pp:3: Exec[x]: command: there is no command`,
				`site.pp:3: Exec[x]: environment: a variable is NAME=value, not "A"`,
				`site.pp:3: Exec[x]: timeout: it must be a number of seconds, not the text "x"`}},
		{"Exec", "x", `{"command": "/bin/a", "returns": [256], "umask": "9", "provider": "windows", "refresh": "/bin/b"}`,
			[]string{"noop[Exec[x]]" + left,
				`site.pp:3: Exec[x]: provider: mgmt runs commands as posix and shell do`,
				`site.pp:3: Exec[x]: refresh: a refresh runs the command itself`,
				`site.pp:3: Exec[x]: umask: it must be octal, such as 022, not the text "9"`,
				`site.pp:3: Exec[x]: returns: a code is a number from 0 to 255, not "256"`}},

		{"User", "u", `{"name": "bob", "ensure": "present", "uid": "7", "gid": "app", "groups": "adm", "home": "/h", "managehome": true}`,
			[]string{`user[bob] {state: "exists", uid: 7, group: "app", groups: ["adm"], homedir: "/h"}`,
				`site.pp:3: User[u]: managehome: the kind user of this program has no managehome`}},
		{"User", "u", `{"gid": "7", "uid": "x"}`, []string{"noop[User[u]]" + left,
			`site.pp:3: User[u]: uid: it must be a number, not the text "x"`}},
		{"User", "u", `{"gid": 7, "ensure": "role"}`, []string{"noop[User[u]]" + left,
			`site.pp:3: User[u]: ensure: it must be absent or present, not the text "role"`}},
		{"Mount", "/m", `{"ensure": "mounted", "device": "/dev/sdb1", "fstype": "ext4", "options": "noatime, ro", "dump": "1", "pass": 2, "target": "/etc/tab", "remounts": true}`,
			[]string{`mount[/m] {state: "exists", device: "/dev/sdb1", type: "ext4", options: ["noatime", "ro"], freq: 1, passno: 2, fstab: "/etc/tab"}`}},
		{"Mount", "m", `{"name": "/m", "ensure": "unmounted", "options": ["rw", "sync"]}`,
			[]string{`mount[m] {path: "/m", state: "unmounted", options: ["rw", "sync"]}`}},
		{"Mount", "/m", `{"ensure": "absent"}`, []string{`mount[/m] {state: "absent"}`}},
		{"Mount", "/m", `{"ensure": "defined", "atboot": true}`, []string{`mount[/m] {state: "listed"}`}},
		{"Mount", "/m", `{"ensure": "defined", "atboot": false}`, []string{`mount[/m] {state: "listed"}`,
			"site.pp:3: Mount[/m]: atboot: the option noauto says that"}},
		{"Service", "s", `{"ensure": true, "enable": "mask", "hasstatus": true, "provider": "systemd"}`,
			[]string{`svc[s] {state: "running", startup: "masked", refresh: "restart"} meta {backend: "systemd"}`}},
		{"Service", "s", `{"ensure": "stopped", "provider": "Debian"}`, []string{`svc[s] {state: "stopped", refresh: "restart"} meta {backend: "sysv"}`}},
		{"Service", "s", `{"ensure": "stopped", "provider": "service"}`, []string{`svc[s] {state: "stopped", refresh: "restart"}`}},
		{"Service", "s", `{"ensure": "stopped", "provider": "windows"}`, []string{`svc[s] {state: "stopped", refresh: "restart"}`,
			`site.pp:3: Service[s]: provider: mgmt uses the service manager of the system`}},
		{"User", "u", `{"name": "bob", "provider": "useradd"}`, []string{"user[bob]"}},
		{"User", "u", `{"name": "bob", "provider": "ldap"}`, []string{"user[bob]",
			`site.pp:3: User[u]: provider: mgmt has the users of the databases of the machine`}},
		{"Package", "p", `{"ensure": "latest"}`, []string{"noop[Package[p]]" + left,
			`site.pp:3: Package[p]: this program has no kind pkg, which it would be`}},
		{"Notify", "n", `{"loglevel": "verbose", "withpath": true}`, []string{`msg[n] {body: "n", priority: "info"}`}},
		{"Notify", "n", `{"message": "m"}`, []string{`msg[n] {body: "m", priority: "notice"}`}},
		{"Notify", "n", `{"message": {"b<": [1, 1.50, null, true, "\"\u2603"], "a": {}}}`,
			[]string{`msg[n] {body: "{\"b<\": [1, 1.50, null, true, \"\\\"☃\"], \"a\": {}}", priority: "notice"}`}},
		{"Notify", "n", `{"message": {"__ptype": "Deferred", "name": "f"}, "schedule": "daily"}`, []string{"noop[Notify[n]]" + left,
			`site.pp:3: Notify[n]: message: a Deferred value is what a function of Puppet returns when the catalog is applied, and mgmt has none of them`,
			`site.pp:3: Notify[n]: schedule: mgmt has no times at which a resource may run`}},
		{"Anchor", "a", ``, []string{`noop[a]`}},
		{"Schedule", "a", ``, []string{"noop[Schedule[a]]" + left}},
		{"Resources", "user", `{"purge": true}`, []string{"noop[Resources[user]]" + left,
			`site.pp:3: Resources[user]: mgmt does not remove things that no resource manages`}},
		{"Thing", "$t", `{"ensure": "present", "size": 3, "parts": {"__ptype": "Hash", "__pvalue": [1, "a"]}, "noop": true}`,
			[]string{`thing[$t] {ensure: "present", size: 3, parts: {1: "a"}} meta {noop: true, dollar: true}`}},
		{"Thing", "t", `{"size": "big", "sieze": 1}`, []string{`thing[t] {size: "big"}`,
			`site.pp:3: Thing[t]: sieze: the kind thing of this program has no sieze`,
			`site.pp:3: thing[t]: size must be a whole number, not the text "big"`}},
		{"Thnig", "t", ``, []string{"noop[Thnig[t]]" + left, `site.pp:3: Thnig[t]: unknown type: mgmt has no kind thnig (did you mean thing?)`}},
		{"Thing", "t", `{"ensure": {"__ptype": "Pcore::IntegerType", "from": 1}, "audit": "all", "schedule": "daily"}`, []string{"noop[Thing[t]]" + left,
			`site.pp:3: Thing[t]: ensure: a value of the type Pcore::IntegerType has no meaning here`,
			`site.pp:3: Thing[t]: audit: mgmt does not watch single attributes; meta drift: report does it for a whole resource`,
			`site.pp:3: Thing[t]: schedule: mgmt has no times at which a resource may run`}},
	} {
		t.Run(c.typ+" "+c.params, func(t *testing.T) {
			d := read(t, source([]string{entry(3, c.typ, c.title, c.params)}), puppet.Options{})
			if diff := cmp.Diff(c.want, said(t, d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
