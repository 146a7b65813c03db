package machines

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/integration/hosts"
	_ "github.com/reactivegraph/mgmt/resources/all"
)

const (
	graphPath = "/etc/mgmt/graph.yaml"
	driftFew  = 5 // of a kind of which a test of its own draws more
)

// id is how the program names the resource.
func (c kindCase) id() string { return c.kind + "[" + c.name + "]" }

// told is a file in the machine that gets a line at each refresh.
func (c kindCase) told() string { return "/run/told-" + c.kind }

// graph is what a graph file says.
type graph map[string][]params

// add adds a resource with parameters of its own and others.
func (g graph) add(kind, name string, parts ...params) {
	all := params{"name": name}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	g[kind] = append(g[kind], all)
}

// retried is for drifts that come while one is being repaired: that may fail, and systemd
// starts a unit only so often in ten seconds.
var retried = params{"retry": -1, "delay": 500}

// addNotifying adds the resource, which notifies a command and is retried.
func (g graph) addNotifying(c kindCase) {
	g.add("exec", "tell "+c.kind, params{"shell": "/bin/sh", "refreshonly": true, "cmd": "echo >>" + c.told()})
	g.add(c.kind, c.name, c.have, params{"notify": []string{"exec[tell " + c.kind + "]"}, "meta": retried})
}

// put writes the graph where the service reads it. JSON is YAML.
func (g graph) put(t *testing.T, h *hosts.Host) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"resources": g})
	if err != nil {
		t.Fatal(err)
	}
	h.Put(graphPath, string(text))
}

// one is the graph of one resource.
func one(c kindCase, p params) graph {
	g := graph{}
	g.add(c.kind, c.name, p)
	return g
}

// once runs the program until it has converged, and returns its exit code.
func once(t *testing.T, h *hosts.Host, flags ...string) int {
	t.Helper()
	out, err := h.Try("mgmt", append([]string{"run", "--yaml", graphPath, "--tmp-prefix", "--converged-exit", "--max-runtime", "3m"}, flags...)...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case ok && exit.ExitCode() == 2:
		return 2
	}
	t.Fatalf("mgmt run %q: %v\n%s", flags, err, out)
	return -1
}

// TestKinds has a machine in which each kind is made from nothing and removed again, and then
// the daemon repairs what drifts, for all kinds at once.
func TestKinds(t *testing.T) {
	t.Parallel()
	h := boot(t, "kinds")
	h.AddRepository(hosts.Repository(t, repository...))
	all := graph{}
	for _, c := range kindCases {
		h.Sh(c.setup)
		all.addNotifying(c)
	}
	for _, c := range kindCases {
		t.Run("once/"+c.kind, func(t *testing.T) { c.testOnce(t, h.For(t)) })
	}
	if t.Failed() {
		return
	}
	all.put(t, h)
	h.Put("/etc/default/mgmt", "MGMT_OPTIONS=--flapping off\n") // nobody drifts so often
	h.Run("systemctl", "start", "mgmt")
	settle(h)
	for _, c := range kindCases {
		t.Run("drift/"+c.kind, func(t *testing.T) { c.testDrifts(t, h.For(t)) })
	}
	t.Run("random", func(t *testing.T) { testRandomDrifts(t, h.For(t)) })
	for _, c := range kindCases {
		if c.kind != "exec" && c.kind != "line" { // the one is nothing that is there, the other has more than a name
			t.Run("look/"+c.kind, func(t *testing.T) { c.testLook(t, h.For(t)) })
		}
	}
}

// tried are the kinds that do not stand in the table, and what tries them.
var tried = map[string]string{
	"kv":       "it has no thing on the machine, but a key in the store: resources/kv runs it over stores that come and go",
	"nspawn":   "TestNspawn",
	"schedule": "it has no thing on the machine, but a place among the hosts: resources/schedule runs it over stores that come and go",
	"noop":     "nothing of a machine", "print": "the same", "msg": "the same", "value": "the same", "test": "the same", "timer": "the same", "password": "the same",
}

// TestEveryKind: who adds a kind tries it on a machine.
func TestEveryKind(t *testing.T) {
	for _, kind := range engine.DefaultRegistry().Kinds() {
		there := slices.ContainsFunc(kindCases, func(c kindCase) bool { return c.kind == kind })
		if _, elsewhere := tried[kind]; there == elsewhere {
			t.Errorf("%s: in the table %t, elsewhere %t", kind, there, elsewhere)
		}
	}
}

// testLook: the thing can be looked at; and a graph that is made of what is there, of this and
// of all that can be found, has nothing to do.
func (c kindCase) testLook(t *testing.T, h *hosts.Host) {
	if out := h.Run("mgmt", "resource", c.kind, c.name); !strings.Contains(out, c.name) {
		t.Errorf("it is shown as\n%s", out)
	}
	if slices.Contains(madeOf, c.kind) {
		return
	}
	h.Sh(fmt.Sprintf("mgmt import %s '%s' >/root/one.yaml && mgmt plan --yaml /root/one.yaml --prefix /root/empty", c.kind, c.name))
	if slices.Contains(listed, c.kind) {
		h.Run("systemctl", "stop", "systemd-hostnamed") // the kind hostname has asked it: it ends by itself soon, and what was found would be stale
		h.Sh(fmt.Sprintf("mgmt import %s >/root/all.yaml && grep -q . /root/all.yaml && mgmt plan --yaml /root/all.yaml --prefix /root/empty", c.kind))
	}
}

// madeOf are the kinds of what is made of something that nobody can tell from it.
var madeOf = []string{"tar", "gzip", "download"}

// listed are the kinds of which all can be found.
var listed = []string{"apt_key", "cron", "crontab", "group", "host", "hostname", "mount", "net", "pkg", "ssh_authorized_key", "svc", "sysctl", "user"}

// testOnce: noop leaves no trace and says that it would do something; a run makes the
// thing, after which there is nothing to do; the same for its removal.
func (c kindCase) testOnce(t *testing.T, h *hosts.Host) {
	c.testState(t, h, c.have, c.right)
	if c.gone != nil {
		c.testState(t, h, c.gone, c.absent)
	}
}

// except are the traces that the tools of the machine leave when they are asked something: rpm touches its index of
// readers, and dnf, which is asked whether its last transaction has ended, also its logs and the folder of its cache.
var except = []string{
	"/var/log/journal", "/var/lib/rpm/rpmdb.sqlite-shm",
	"/var/cache/dnf", "/var/lib/dnf/history.sqlite", "/var/lib/dnf/history.sqlite-shm",
	"/var/log/dnf.librepo.log", "/var/log/dnf.log", "/var/log/dnf.rpm.log", "/var/log/hawkey.log",
}

func (c kindCase) testState(t *testing.T, h *hosts.Host, p params, holds string) {
	t.Helper()
	one(c, p).put(t, h)
	if h.Holds(holds) {
		t.Fatalf("before anything is done it holds: %s", holds)
	}
	before := h.Snapshot(except...)
	if code := once(t, h, "--noop"); code != 2 {
		t.Errorf("noop ends with %d", code)
	}
	if diff := before.Diff(h.Snapshot(except...)); diff != "" || h.Holds(holds) {
		t.Errorf("noop has done something:\n%s", diff)
	}
	if code := once(t, h); code != 0 {
		t.Errorf("the run ends with %d", code)
	}
	h.Eventually("it holds: "+holds, patience, func() bool { return h.Holds(holds) }) // a service may take a moment to answer
	before = h.Snapshot(except...)
	if code := once(t, h, "--noop"); code != 0 && c.kind != "exec" {
		t.Errorf("after the run there is something to do")
	}
	once(t, h)
	if diff := before.Diff(h.Snapshot(except...)); diff != "" {
		t.Errorf("a second run does something:\n%s", diff)
	}
}

// testDrifts: the daemon repairs each drift, and says so to those who want to know.
func (c kindCase) testDrifts(t *testing.T, h *hosts.Host) {
	explain(t, h, c.right, c.id())
	for _, drift := range c.drifts {
		before := c.refreshes(h)
		said, err := h.Try("sh", "-euc", drift) // it may be repaired before it is over
		took := h.Eventually(fmt.Sprintf("%s is repaired after: %s (%v)\n%s", c.id(), drift, err, said), patience, func() bool {
			if c.refreshes(h) > before {
				return h.Holds(c.right)
			}
			if err != nil { // it may have done nothing: hostnamectl finds nobody while hostnamed ends
				_, err = h.Try("sh", "-euc", drift)
			}
			return false
		})
		t.Logf("%7.1f ms after: %s", took.Seconds()*1000, drift)
	}
}

// explain has the test, if it fails, show what a script does, line by line, and what the
// daemon says of these resources.
func explain(t *testing.T, h *hosts.Host, script string, ids ...string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		out, err := h.Try("sh", "-euxc", script)
		t.Log(h.Run("mgmt", "status"), out, err)
		for _, id := range ids {
			t.Log(h.Journal("-u", "mgmt", "-n", "20", "MGMT_RESOURCE="+id), h.Run("mgmt", "why", id))
		}
	})
}

// refreshes counts how often the resource has notified.
func (c kindCase) refreshes(h *hosts.Host) int {
	return strings.Count(h.Sh("cat "+c.told()+" 2>/dev/null || true"), "\n")
}

// driftedElsewhere are the kinds of which a test of their own draws the drifts:
// TestPackageManagers, TestServices, TestAccountsAndMounts.
var driftedElsewhere = []string{"pkg", "svc", "user", "group", "mount"}

// testRandomDrifts: whatever order drifts come in, and however fast, all is right in the end.
func testRandomDrifts(t *testing.T, h *hosts.Host) {
	r, most := draws(t), driftRuns(t)
	var turns []kindCase
	for _, c := range kindCases {
		n := most
		if slices.Contains(driftedElsewhere, c.kind) {
			n = driftFew
		}
		turns = append(turns, slices.Repeat([]kindCase{c}, n)...)
	}
	r.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	made := map[string]string{} // of each resource
	var script strings.Builder
	for _, c := range turns {
		drift := c.drifts[r.IntN(len(c.drifts))]
		fmt.Fprintf(&script, "(%s) || true\nsleep 0.0%d\n", drift, r.IntN(5)) // what it drifts may be gone
		made[c.id()] += drift + "\n"
	}
	h.Sh(script.String())
	for _, c := range kindCases {
		t.Run(c.kind, func(t *testing.T) {
			h := h.For(t)
			explain(t, h, c.right, c.id())
			h.Eventually(c.id()+" is right after\n"+made[c.id()], patience, func() bool { return h.Holds(c.right) })
		})
	}
	settle(h) // nothing has failed, and nothing goes on
}
