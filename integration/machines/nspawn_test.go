package machines

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// nspawnSetup makes an archive of a container that has nothing but a shell, as its first
// process, that ends when it is asked to power off or to halt, if it listens already. The folder is what a
// container with a systemd needs beside the /usr of the machine.
const nspawnSetup = `
	root=/root/web
	mkdir -p $root/sbin $root/etc $root/usr
	cp --parents -L /usr/bin/busybox $(ldd /usr/bin/busybox | grep -o "/[^ ]*") $root
	test -e $root/lib64 || ln -s usr/lib64 $root/lib64
	printf '#!/usr/bin/busybox sh\ntrap "exit 0" 37 38\nwhile :; do /usr/bin/busybox sleep 1000 & wait; done\n' >$root/sbin/init
	chmod 0755 $root/sbin/init
	echo ID=web >$root/etc/os-release
	tar -C $root -czf /srv/web.tar.gz .
	mkdir -p /etc/systemd/system/systemd-nspawn@web.service.d
	printf "[Service]\nTimeoutStopSec=1\n" >/etc/systemd/system/systemd-nspawn@web.service.d/stop.conf
	systemctl daemon-reload
	mkdir -p /var/lib/machines/full/usr /var/lib/machines/full/etc
	cd /var/lib/machines/full
	for dir in bin sbin lib lib64; do ln -s usr/$dir $dir; done
	mkdir -p proc sys dev tmp run var root
	echo ID=full >etc/os-release; : >etc/machine-id`

// nspawnText is what the container is started with: it has no network of its own, a folder of
// the machine, and a first process that may not yet listen when it is to stop.
const nspawnText = "[Exec]\nPrivateUsers=no\nKillSignal=SIGKILL\n[Network]\nVirtualEthernet=no\n[Files]\nBindReadOnly=/srv:/mnt\n"

// nspawnCase is a container, with what it is made of.
var nspawnCase = kindCase{
	kind: "nspawn",
	name: "web",
	have: params{"settings": nspawnText, "startup": "enabled"},
	gone: params{"state": "absent", "force": true},
	right: `machinectl show web -p State | grep -qx State=running; systemctl is-active -q systemd-nspawn@web
		systemctl is-enabled -q systemd-nspawn@web; grep -q BindReadOnly=/srv:/mnt /etc/systemd/nspawn/web.nspawn
		test -e /proc/$(machinectl show web -p Leader --value)/root/mnt/web.tar.gz`,
	absent: `! systemctl is-active -q systemd-nspawn@web && ! systemctl is-enabled -q systemd-nspawn@web && ! test -e /etc/systemd/nspawn/web.nspawn && ! test -e /var/lib/machines/web && ! machinectl show web`,
	drifts: []string{
		`machinectl poweroff web`,
		`machinectl terminate web`,
		`systemctl stop systemd-nspawn@web`,
		`machinectl kill --signal=KILL web`,
		`systemctl kill --signal=KILL systemd-nspawn@web`,
		`systemctl disable --now systemd-nspawn@web`,
		`systemctl mask --runtime --now systemd-nspawn@web`,
		`printf "[Exec]\nKillSignal=SIGKILL\n" >/etc/systemd/nspawn/web.nspawn; systemctl restart systemd-nspawn@web`,
		`rm -f /etc/systemd/nspawn/web.nspawn`,
	},
}

// bootContainers boots a machine that can have containers.
func bootContainers(t *testing.T) *hosts.Host {
	t.Helper()
	tree := hosts.Base(t, "systemd-container")
	path, err := deb()
	if err != nil {
		t.Fatal(err)
	}
	h := tree.Boot(t, "nspawn")
	h.Install(path)
	return h
}

// nspawnGraph is the container, the archive of which its image is made, and what is told of
// it and notifies it.
func nspawnGraph(have params) graph {
	g := graph{}
	g.add("tar", "/var/lib/machines/web/", params{"extract": "/srv/web.tar.gz"})
	g.add("file", "/var/lib/machines/web/", params{})
	g.add("file", "/etc/web.conf", params{"content": "one\n", "notify": []string{"nspawn[web]"}})
	g.addNotifying(nspawnCase)
	maps.Copy(g["nspawn"][0], have)
	return g
}

// TestNspawn has a machine in which there are containers.
func TestNspawn(t *testing.T) {
	t.Parallel()
	h := bootContainers(t)
	h.Sh(nspawnSetup)
	for _, part := range []struct {
		name string
		do   func(*testing.T, *hosts.Host)
	}{
		{"once", nspawnOnce},
		{"drift", nspawnDrifts},
		{"settings", nspawnSettings},
		{"notified", nspawnNotified},
		{"random", nspawnRandom},
		{"systemd", nspawnFull},
		{"gone", nspawnGone},
		{"package", nspawnPackage},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.do(t, h.For(t)) }) {
			return
		}
	}
}

// nspawnOnce: from an archive to a container that runs, and nothing of that without apply.
func nspawnOnce(t *testing.T, h *hosts.Host) {
	nspawnGraph(nil).put(t, h)
	except := []string{"/var/log/journal"}
	before := h.Snapshot(except...)
	if code := once(t, h, "--noop"); code != 2 {
		t.Errorf("noop ends with %d", code)
	}
	if diff := before.Diff(h.Snapshot(except...)); diff != "" || !h.Holds(nspawnCase.absent) {
		t.Errorf("noop has done something:\n%s", diff)
	}
	if code := once(t, h); code != 0 {
		t.Errorf("the run ends with %d", code)
	}
	if !h.Holds(nspawnCase.right) {
		t.Errorf("it is not right:\n%s", h.Sh("machinectl; systemctl status --no-pager systemd-nspawn@web || true"))
	}
	if one, all := h.Run("mgmt", "resource", "nspawn", "web"), h.Run("mgmt", "resource", "nspawn"); !strings.Contains(one, "running") || !strings.Contains(all, "full") || !strings.Contains(all, "web") {
		t.Errorf("looked at:\n%s\n%s", one, all)
	}
	before = h.Snapshot(except...)
	if code := once(t, h, "--noop"); code != 0 {
		t.Error("after the run there is something to do")
	}
	leader := nspawnLeader(h)
	once(t, h)
	if diff := before.Diff(h.Snapshot(except...)); diff != "" || nspawnLeader(h) != leader {
		t.Errorf("a second run does something:\n%s", diff)
	}
}

// nspawnLeader is the first process of the container.
func nspawnLeader(h *hosts.Host) string {
	return strings.TrimSpace(h.Run("machinectl", "show", "web", "-p", "Leader", "--value"))
}

func nspawnDrifts(t *testing.T, h *hosts.Host) {
	h.Put("/etc/default/mgmt", "MGMT_OPTIONS=--flapping off\n")
	h.Run("systemctl", "start", "mgmt")
	settle(h)
	nspawnCase.testDrifts(t, h)
}

// nspawnSettings: what only the file lacks is no reason to restart, new settings are.
func nspawnSettings(t *testing.T, h *hosts.Host) {
	explain(t, h, nspawnCase.right, nspawnCase.id())
	settle(h)
	leader := nspawnLeader(h)
	h.Sh("echo '[Exec]' >/etc/systemd/nspawn/web.nspawn")
	h.Eventually("the file is right again", patience, func() bool { return h.Get("/etc/systemd/nspawn/web.nspawn") == nspawnText })
	settle(h)
	if now := nspawnLeader(h); now != leader {
		t.Errorf("it was restarted for settings with which it runs: %s is now %s", leader, now)
	}
	nspawnGraph(params{"settings": strings.Replace(nspawnText, "/mnt", "/media", 1)}).put(t, h)
	h.Eventually("it has the new settings", patience, func() bool {
		return h.Holds("test -e /proc/$(machinectl show web -p Leader --value)/root/media/web.tar.gz")
	})
	nspawnGraph(nil).put(t, h)
	h.Eventually("it has the old settings", patience, func() bool { return h.Holds(nspawnCase.right) })
}

func nspawnNotified(t *testing.T, h *hosts.Host) {
	settle(h)
	leader := nspawnLeader(h)
	h.Sh("echo two >/etc/web.conf")
	h.Eventually("it is restarted", patience, func() bool {
		now, err := h.Try("machinectl", "show", "web", "-p", "Leader", "--value") // it may just be gone
		return err == nil && strings.TrimSpace(now) != leader && h.Holds(nspawnCase.right)
	})
}

// nspawnRandom: whatever order drifts come in, and however fast, all is right in the end.
func nspawnRandom(t *testing.T, h *hosts.Host) {
	explain(t, h, nspawnCase.right, nspawnCase.id())
	var script strings.Builder
	r, n := draws(t), driftRuns(t)
	for range n {
		drift := nspawnCase.drifts[r.IntN(len(nspawnCase.drifts))]
		fmt.Fprintf(&script, "(%s) || true\nsleep 0.0%d\n", drift, r.IntN(10))
	}
	start := time.Now()
	h.Sh(script.String())
	h.Eventually("it is right after\n"+script.String(), patience, func() bool { return h.Holds(nspawnCase.right) })
	t.Logf("%d drifts in a row: %.1f s until it is right", n, time.Since(start).Seconds())
	settle(h)
}

// nspawnFull: a container with a systemd of its own, which is up when that has started all.
func nspawnFull(t *testing.T, h *hosts.Host) {
	g := nspawnGraph(nil)
	g.add("nspawn", "full", params{"settings": "[Exec]\nNotifyReady=yes\nPrivateUsers=no\n[Files]\nBindReadOnly=/usr\n[Network]\nVirtualEthernet=no\n"})
	g.put(t, h)
	up := `test "$(systemctl is-active systemd-nspawn@full)" = active; systemctl -M full is-active -q multi-user.target`
	took := h.Eventually("it is up", patience, func() bool { return h.Holds(up) })
	t.Logf("%7.1f ms from the graph to a systemd that is up", took.Seconds()*1000)
	leader := h.Run("machinectl", "show", "full", "-p", "Leader", "--value")
	h.Sh("machinectl poweroff full")
	took = h.Eventually("it is up again", patience, func() bool {
		now, err := h.Try("machinectl", "show", "full", "-p", "Leader", "--value")
		return err == nil && now != leader && h.Holds(up)
	})
	t.Logf("%7.1f ms from machinectl poweroff to a systemd that is up again", took.Seconds()*1000)
	nspawnGraph(nil).put(t, h)
	settle(h)
}

// nspawnGone: an image is removed only if that is asked for.
func nspawnGone(t *testing.T, h *hosts.Host) {
	h.Run("systemctl", "stop", "mgmt")
	g := graph{}
	g.add("nspawn", "web", params{"state": "absent"})
	g.put(t, h)
	if out, err := h.Try("mgmt", "run", "--yaml", graphPath, "--tmp-prefix", "--converged-exit", "--max-runtime", "3m"); err == nil || !strings.Contains(out, "force: true") || !h.Holds(nspawnCase.right) {
		t.Errorf("%v, %s", err, out)
	}
	g = graph{}
	g.add("nspawn", "web", nspawnCase.gone)
	g.put(t, h)
	if code := once(t, h); code != 0 || !h.Holds(nspawnCase.absent) {
		t.Errorf("it ends with %d", code)
	}
	if code := once(t, h, "--noop"); code != 0 {
		t.Error("there is something to do again")
	}
}

// nspawnPackage: without the package what is to be installed is said, and all else goes on.
func nspawnPackage(t *testing.T, h *hosts.Host) {
	h.Run("dpkg", "--purge", "systemd-container")
	g := graph{}
	g.add("nspawn", "full", params{})
	g.add("file", "/etc/beside", params{"content": "here\n"})
	g.put(t, h)
	out, err := h.Try("mgmt", "run", "--yaml", graphPath, "--tmp-prefix", "--converged-exit", "--max-runtime", "3m")
	if err == nil || !strings.Contains(out, "install the package systemd-container") || !h.Holds("test -e /etc/beside") {
		t.Errorf("%v, %s", err, out)
	}
}
