package machines

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// webdStops are what a package does in its prerm that stops its service: it takes its time, and notes if somebody starts
// the service meanwhile.
const webdStops = `#!/bin/sh
set -e
systemctl stop webd
for i in 1 2 3 4 5 6; do
	sleep 0.3
	if systemctl is-active --quiet webd; then echo "$@" >>/run/disturbed; exit 1; fi
done
`

// webd is a package with a service that does not stop at once.
func webd(version string) hosts.Package {
	return hosts.Package{
		Name: "webd", Version: version,
		Files: map[string]string{"/usr/lib/systemd/system/webd.service": "[Service]\nExecStart=sleep infinity\nExecStop=sleep 1\n[Install]\nWantedBy=multi-user.target\n"},
		Scripts: map[string]string{
			"prerm":    webdStops,
			"postinst": "#!/bin/sh\nset -e\nsystemctl daemon-reload\nsystemctl --quiet enable webd\nsystemctl start webd\n",
			"postrm":   "#!/bin/sh\nsystemctl daemon-reload\n",
		},
	}
}

// others is a machine on which other people and programs work on the service webd, which mgmt keeps running.
type others struct{ services }

// told is what `mgmt status` says of svc[webd].
type told struct {
	State, Error string
	WaitsFor     string `json:"waits_for"`
	Changes      int
}

func (o others) webd() (is told) {
	o.t.Helper()
	var all struct {
		Resources []struct {
			Resource string
			told
		}
	}
	text := o.Run("mgmt", "status", "--all", "-o", "json")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		o.t.Fatalf("%v:\n%s", err, text)
	}
	for _, r := range all.Resources {
		if r.Resource == "svc[webd]" {
			is = r.told
		}
	}
	return is
}

// starts counts how often systemd has started the service.
func (o others) starts() int { return strings.Count(o.Journal("-b", "-u", "webd"), "Started webd") }

// rests waits until mgmt has nothing to do any more, and checks that nobody was disturbed, and that the package database is whole.
func (o others) rests(state string) told {
	o.t.Helper()
	var is told
	o.Eventually("svc[webd] is "+state, patience, func() bool {
		is = o.webd()
		return is.State == state
	})
	if out := o.Sh("dpkg --audit; cat /run/disturbed 2>/dev/null || true"); strings.TrimSpace(out) != "" {
		o.t.Errorf("something was disturbed:\n%s", out)
	}
	o.Sh("apt-get -qq check")
	return is
}

// during runs a script that must succeed, and returns all that svc[webd] has waited for meanwhile. An empty text stands for
// nothing.
func (o others) during(script string) (awaited []string) {
	o.t.Helper()
	done := make(chan error, 1)
	go func() {
		out, err := o.Try("sh", "-euc", script)
		if err != nil {
			err = fmt.Errorf("%s: %w\n%s", script, err, out)
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				o.t.Error(err)
			}
			return awaited
		default:
			awaited = append(awaited, o.webd().WaitsFor)
		}
	}
}

func (o others) saw(awaited []string, what string) {
	o.t.Helper()
	if !slices.ContainsFunc(awaited, func(s string) bool { return strings.Contains(s, what) }) {
		o.t.Errorf("svc[webd] did not say that it waits for %s, but for %q", what, slices.Compact(awaited))
	}
}

// TestFindingB3Machine has a machine on which people and programs stop, restart, upgrade and remove a service that mgmt keeps running.
func TestFindingB3Machine(t *testing.T) {
	t.Parallel()
	h := hosts.Base(t, "unattended-upgrades").Boot(t, "others")
	path, err := deb()
	if err != nil {
		t.Fatal(err)
	}
	h.Install(path)
	h.Sh("systemctl --quiet mask --now apt-daily.timer apt-daily-upgrade.timer")
	h.AddRepository(hosts.Repository(t, webd("1.0"), webd("2.0"), webd("3.0")))
	h.Sh("apt-get -qq install webd=1.0")
	g := graph{}
	g.add("svc", "webd", params{"state": "running", "startup": "enabled"})
	services{h, t}.declare(g)
	for _, step := range []struct {
		name string
		do   func(others)
	}{
		{"restart", restartByHand}, {"stop", stopByHand}, {"upgrade", upgradeByHand}, {"unattended", unattendedUpgrade}, {"lock", lockForLong}, {"purge", purgeByHand},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(others{services{h.For(t), t}}) }) {
			status, _ := h.Try("mgmt", "status")
			t.Log(status, h.Journal("-u", "mgmt", "-u", "webd", "-n", "60"))
		}
	}
}

// restartByHand: a restart that ends well is no drift, and the service is started once.
func restartByHand(o others) {
	before, starts := o.rests("ok"), o.starts()
	o.saw(o.during("systemctl restart webd"), "the job restart of webd.service")
	if is := o.rests("ok"); is.Changes != before.Changes || o.starts() != starts+1 {
		o.t.Errorf("%d changes and %d starts", is.Changes-before.Changes, o.starts()-starts)
	}
}

// stopByHand: the stop succeeds, and is repaired after it.
func stopByHand(o others) {
	before, starts := o.rests("ok"), o.starts()
	o.saw(o.during("systemctl stop webd"), "the job stop of webd.service")
	o.Eventually("it is started again", patience, func() bool { return o.webd().Changes > before.Changes })
	if is := o.rests("ok"); is.Changes != before.Changes+1 || o.starts() != starts+1 || o.property("webd", "ActiveState") != "active" {
		o.t.Errorf("%d changes and %d starts", is.Changes-before.Changes, o.starts()-starts)
	}
}

// upgradeByHand: the prerm stops the service, and mgmt leaves that alone.
func upgradeByHand(o others) {
	before := o.rests("ok")
	o.saw(o.during("apt-get -qq install webd=2.0"), "which holds /var/lib/dpkg/lock")
	if is := o.rests("ok"); is.Changes != before.Changes {
		o.t.Errorf("%d changes", is.Changes-before.Changes)
	}
}

// unattendedUpgrade: so it is with an upgrade that nobody looks at.
func unattendedUpgrade(o others) {
	o.Put("/etc/apt/apt.conf.d/99tests", `Unattended-Upgrade::Origins-Pattern { "origin=*"; };`+"\n")
	before := o.rests("ok")
	o.saw(o.during("unattended-upgrade -v"), "(unattended-upgr")
	if version := o.Sh("dpkg-query -W -f '${Version}' webd"); version != "3.0" {
		o.t.Errorf("webd is %s: %s", version, o.Sh("cat /var/log/unattended-upgrades/*.log"))
	}
	if is := o.rests("ok"); is.Changes != before.Changes {
		o.t.Errorf("%d changes", is.Changes-before.Changes)
	}
}

// holdDpkg holds dpkg's lock until it is killed.
const holdDpkg = `systemd-run --quiet --unit=holder --expand-environment=no perl -e 'use Fcntl; open(F, "+<", "/var/lib/dpkg/lock-frontend") or die; my $l = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0); fcntl(F, F_SETLK, $l) or die; open(G, ">", "/run/holding") or die; sleep 10000'`

// lockForLong: the resource waits, says for which process and what to do, has not failed, and goes on when the lock is free.
func lockForLong(o others) {
	o.Sh(holdDpkg)
	o.Eventually("the lock is held", patience, func() bool { return o.Holds("test -e /run/holding") })
	holder := "process " + o.property("holder", "MainPID") + " (perl), which holds /var/lib/dpkg/lock-frontend; if it hangs, end it, and then run dpkg --configure -a"
	o.Sh("systemctl stop webd")
	o.Eventually("it waits for "+holder, patience, func() bool {
		is := o.webd()
		return is.State == "waiting" && is.WaitsFor == holder
	})
	o.Eventually("the log tells of the wait", patience, func() bool { return strings.Contains(o.Journal("-u", "mgmt"), "(perl), which holds") })
	if _, err := o.Try("mgmt", "status", "--wait", "converged", "--timeout", "1s"); err == nil {
		o.t.Error("it has converged")
	}
	o.Sh("systemctl stop holder")
	o.Eventually("it is started", patience, func() bool { return o.property("webd", "ActiveState") == "active" })
	o.rests("ok")
}

// purgeByHand: the package goes, mgmt says that its service is not there, and looks after it when it is back.
func purgeByHand(o others) {
	o.during("apt-get -qq purge webd")
	if is := o.rests("failed"); !strings.Contains(is.Error, "there is no service webd") {
		o.t.Errorf("it is %+v", is)
	}
	o.during("apt-get -qq install webd")
	o.rests("ok")
}
