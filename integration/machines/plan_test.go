package machines

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// servicePackage is a service as a distribution has it.
func servicePackage(name string, files ...string) hosts.Package {
	p := hosts.Package{
		Name: name, Version: "100", // the libc of the machine breaks old ones
		Files:   map[string]string{"/usr/lib/systemd/system/" + name + ".service": "[Service]\nExecStart=sleep infinity\nExecReload=true\n[Install]\nWantedBy=multi-user.target\n"},
		Scripts: map[string]string{"postinst": "#!/bin/sh\nsystemctl daemon-reload\n"},
	}
	for _, path := range files {
		p.Files[path] = "# of the package\n"
	}
	return p
}

// TestFindingL1WebServer: on a machine with nothing, the plan of the example with a web server says what will change, and a run changes
// exactly that.
func TestFindingL1WebServer(t *testing.T) {
	t.Parallel()
	h := boot(t, "plan")
	h.AddRepository(hosts.Repository(t, servicePackage("nginx", "/etc/nginx/nginx.conf", "/etc/nginx/sites-enabled/default"), servicePackage("chrony")))
	const example = "../../examples/webserver"
	err := fs.WalkDir(os.DirFS(example), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			h.Copy(filepath.Join(example, path), filepath.Join("/srv/webserver", path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	h.Put("/root/key", key.String()+"\n")
	h.Sh(`value=$(printf "the key" | mgmt secret encrypt --to ` + key.Recipient().String() + `); printf 'tls: {key: "%s"}\n' "$value" >/srv/webserver/secrets.yaml`)
	if n, of := planIsRun(t, h, "/srv/webserver/web.yaml", "--identity", "/root/key"); n != of || n < 30 {
		t.Errorf("%d of %d resources change", n, of)
	}
}

// ownersGraph has who owns things, above them.
const ownersGraph = `
resources:
  group:
  - {name: team}
  user:
  - {name: web, system: true, group: team, homedir: /srv/web}
  file:
  - {name: /srv/web/, owner: web, group: team, mode: "0750"}
  - {name: /srv/web/sub/, owner: web}
  - {name: /srv/web/index.html, owner: web, group: team, content: "hello\n", notify: ["svc[tiny]"]}
  - {name: /srv/web/latest, symlink: true, source: index.html}
  - {name: /usr/share/tiny, content: "three\n"}
  - {name: /etc/tiny/env, recv: {content: "value[port].any"}, depend: ["pkg[tinyd]"]}
  - {name: /etc/systemd/system/tiny.service.d/, depend: ["pkg[tinyd]"]}
  - {name: /etc/systemd/system/tiny.service.d/env.conf, content: "[Service]\nEnvironmentFile=/etc/tiny/env\n", notify: ["svc[tiny]"]}
  value:
  - {name: port, any: "PORT=1\n"}
  tar:
  - {name: /srv/web.tar, inputs: [/srv/web/], owner: web}
  gzip:
  - {name: /srv/web.tar.gz, input: /srv/web.tar, group: team}
  crontab:
  - {name: job, user: web, command: "true", minute: 5}
  ssh_authorized_key:
  - {name: laptop, user: web, type: ssh-ed25519, key: AAAAC3NzaC1lZDI1NTE5AAAAIO6GETXd7xt9QLRqKWCfMA5HdBsS4xeU87ctbVKTluNz}
  pkg:
  - {name: tinyd}
  svc:
  - {name: tiny, state: running, startup: enabled, depend: ["pkg[tinyd]"]}
`

// TestFindingL1Kinds: the plan of a graph with each kind says what a run changes, from nothing, and to nothing.
func TestFindingL1Kinds(t *testing.T) {
	t.Parallel()
	h := boot(t, "plan-kinds")
	tiny := servicePackage("tinyd", "/etc/tiny/env")
	tiny.Files["/usr/lib/systemd/system/tiny.service"] = tiny.Files["/usr/lib/systemd/system/tinyd.service"]
	h.AddRepository(hosts.Repository(t, append(repository, tiny)...))
	have, gone := graph{}, graph{}
	for _, c := range kindCases {
		h.Sh(c.setup)
		have.add(c.kind, c.name, c.have)
		if c.gone != nil {
			gone.add(c.kind, c.name, c.gone)
		}
	}
	have.put(t, h)
	planIsRun(t, h, graphPath)
	gone.put(t, h)
	planIsRun(t, h, graphPath)
	h.Put(graphPath, ownersGraph)
	planIsRun(t, h, graphPath)
}

// planIsRun compares the plan of a graph with a run of it, resource by resource, and returns how many of how many resources change. No
// step is unknown, the plan leaves no trace, and after the run there is nothing to do but for commands that say so.
func planIsRun(t *testing.T, h *hosts.Host, graph string, flags ...string) (n, of int) {
	t.Helper()
	before := h.Snapshot(except...)
	would := planOf(t, h, graph, flags...)
	if diff := before.Diff(h.Snapshot(except...)); diff != "" {
		t.Errorf("the plan has done something:\n%s", diff)
	}
	out, err := h.Try("mgmt", append([]string{"run", graph, "--tmp-prefix", "--converged-exit", "--max-runtime", "3m", "--log-format", "json"}, flags...)...)
	if err != nil {
		t.Fatalf("the run: %v\n%s", err, out)
	}
	did := map[string]bool{}
	for line := range strings.Lines(out) {
		var l struct{ Msg, Resource string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "changed" {
			did[l.Resource] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(would)) {
		if would[id].State == "would-change" {
			n++
		}
		if would[id].State != map[bool]string{true: "would-change", false: "ok"}[did[id]] {
			t.Errorf("%s: in the plan it is %+v; the run has changed it: %t", id, would[id], did[id])
		}
		delete(did, id)
	}
	if len(did) > 0 {
		t.Errorf("the run has changed %v, which the plan does not have", did)
	}
	for id, s := range planOf(t, h, graph, flags...) {
		if s.State != "ok" {
			t.Errorf("after the run %s is %+v", id, s)
		}
	}
	t.Logf("%d of %d resources change", n, len(would))
	if t.Failed() {
		t.Log(out)
	}
	return n, len(would)
}

// step is what this test reads of a plan.
type step struct {
	Resource, State, Error, Until string
	Changes                       any
}

// planOf returns the steps of the plan of a graph on a machine that remembers nothing.
func planOf(t *testing.T, h *hosts.Host, graph string, flags ...string) map[string]step {
	t.Helper()
	out, err := h.Try("mgmt", append([]string{"plan", graph, "-o", "json", "--prefix", "/root/none"}, flags...)...)
	var p struct{ Resources []step }
	if jerr := json.Unmarshal([]byte(out), &p); jerr != nil {
		t.Fatalf("the plan: %v, %v\n%s", err, jerr, out)
	}
	steps := map[string]step{}
	for _, s := range p.Resources {
		steps[s.Resource] = s
	}
	return steps
}
