package machines

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// TestAccountsAndMounts: drifts of a user, of a group and of a mount are each
// repaired; and what is in use says by whom, and goes when it is free.
func TestAccountsAndMounts(t *testing.T) {
	t.Parallel()
	h := boot(t, "accounts")
	all := graph{}
	var cases []kindCase
	for _, c := range kindCases {
		if slices.Contains([]string{"user", "group", "mount"}, c.kind) {
			h.Sh(c.setup)
			all.addNotifying(c)
			cases = append(cases, c)
		}
	}
	all.put(t, h)
	h.Put("/etc/default/mgmt", "MGMT_OPTIONS=--flapping off\n")
	h.Run("systemctl", "start", "mgmt")
	settle(h)
	t.Run("drifts", func(t *testing.T) { testAtOnce(t, h.For(t), cases) })
	t.Run("user in use", func(t *testing.T) { testUserInUse(t, h.For(t)) })
	t.Run("mount in use", func(t *testing.T) { testMountInUse(t, h.For(t)) })
	t.Run("table not read", func(t *testing.T) { testTableNotRead(t, h.For(t)) })
}

// testAtOnce draws drifts of each, at the same time, and waits after most of them
// until all is right again: how long that took is what the machine prints.
func testAtOnce(t *testing.T, h *hosts.Host, cases []kindCase) {
	var script strings.Builder
	r := draws(t)
	for _, c := range cases {
		explain(t, h, c.right, c.id())
		fmt.Fprintf(&script, "(\nright() { (%s) >/dev/null 2>&1; }\n", c.right)
		for range driftRuns(t) {
			drift := c.drifts[r.IntN(len(c.drifts))]
			fmt.Fprintf(&script, "(%s) >/dev/null 2>&1 || true\n", drift)
			if r.IntN(4) == 0 {
				continue // the next one comes at once
			}
			fmt.Fprintf(&script, `begun=$(date +%%s%%N); n=0
until right; do
	n=$((n + 1)); test $n -lt 3000 || { echo "%s: never after: %s"; exit; }
	sleep 0.01
done
echo "%s $(($(date +%%s%%N) - begun))"
`, c.kind, strings.NewReplacer(`"`, `\"`, `$`, `\$`).Replace(drift), c.kind)
		}
		script.WriteString(") &\n")
	}
	out := h.Sh(script.String() + "wait")
	took := map[string][]time.Duration{}
	for line := range strings.Lines(out) {
		kind, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Error(line)
			continue
		}
		took[kind] = append(took[kind], time.Duration(n))
	}
	for _, c := range cases {
		times := took[c.kind]
		if slices.Sort(times); len(times) == 0 {
			t.Fatalf("no drift of %s was repaired:\n%s", c.kind, out)
		}
		t.Logf("%-5s repaired %3d times: half of them within %v, all within %v, the look included", c.kind, len(times),
			times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond))
		h.Eventually(c.id()+" is right", patience, func() bool { return h.Holds(c.right) })
		said := h.Journal("-u", "mgmt", "MGMT_RESOURCE="+c.id())
		switch n := strings.Count(said, "] failed: "); {
		case n > 0 && c.kind != "mount":
			t.Errorf("what came meanwhile is no failure:\n%s", said)
		case n > 0: // systemd may need a second for each change of the table
			t.Logf("%s had to be retried %d times", c.id(), n)
		}
	}
	settle(h)
}

// fails waits until a resource has failed, and its reason says all of this.
func fails(h *hosts.Host, id string, says ...string) {
	h.Eventually(id+" fails with "+strings.Join(says, ", "), patience, func() bool {
		why := h.Run("mgmt", "why", id)
		return strings.Contains(why, "failed") && !slices.ContainsFunc(says, func(s string) bool { return !strings.Contains(why, s) })
	})
}

// testUserInUse: one who has processes is not removed until they have ended.
func testUserInUse(t *testing.T, h *hosts.Host) {
	// usermod hands the folder over when it has let go of the lock, so after many drifts it may
	// belong to the number that one of them has given carol; and what is another one's stays.
	h.Sh("chown -R carol: /home/carol; systemd-run --quiet --property=Type=exec --unit=held --uid=carol sleep 1000")
	pid := strings.TrimSpace(h.Run("systemctl", "show", "-P", "MainPID", "held"))
	g := graph{}
	g.add("user", "carol", params{"state": "absent", "managehome": true, "meta": retried})
	g.put(t, h)
	h.Run("systemctl", "reload", "mgmt")
	explain(t, h, "id carol; ls -ld /home/carol", "user[carol]")
	fails(h, "user[carol]", "process "+pid)
	if !h.Holds("id carol && test -d /home/carol") {
		t.Error("what is in use is gone")
	}
	h.Run("systemctl", "stop", "held")
	h.Eventually("the user goes", patience, func() bool { return h.Holds("! id carol && ! test -e /home/carol") })
}

// testMountInUse: what is in use is not unmounted, and is as soon as nobody uses it; without
// a retry.
func testMountInUse(t *testing.T, h *hosts.Host) {
	h.Sh("mkdir -p /srv/used; mount -t tmpfs used /srv/used; systemd-run --quiet --property=Type=exec --unit=held --working-directory=/srv/used sleep 1000")
	pid := strings.TrimSpace(h.Run("systemctl", "show", "-P", "MainPID", "held"))
	g := graph{}
	g.add("mount", "/srv/used", params{"state": "absent"})
	g.put(t, h)
	h.Run("systemctl", "reload", "mgmt")
	fails(h, "mount[/srv/used]", "busy", "sleep (process "+pid+")")
	h.Run("systemctl", "stop", "held")
	took := h.Eventually("it is unmounted", patience, func() bool { return h.Holds("! findmnt /srv/used") })
	t.Logf("unmounted %v after nobody used it", took.Round(time.Millisecond))
	settle(h)
}

// testTableNotRead: what stands in the table already, which systemd has not read, is mounted
// by its unit; and words for systemd stay in the table.
func testTableNotRead(t *testing.T, h *hosts.Host) {
	h.Sh("mkdir -p /srv/new; echo tmpfs /srv/new tmpfs nofail,x-systemd.device-timeout=5 0 0 >>/etc/fstab")
	g := graph{}
	g.add("mount", "/srv/new", params{"device": "tmpfs", "type": "tmpfs", "options": []string{"nofail", "x-systemd.device-timeout=5", "nodev"}})
	g.add("mount", "/srv/new/a b", params{"device": "tmpfs", "type": "tmpfs", "options": []string{"size=1m"}})
	g.add("file", "/srv/new/a b/", params{"mode": "0755"})
	g.add("file", "/srv/new/a b/file", params{"content": "there"})
	g.put(t, h)
	h.Run("systemctl", "reload", "mgmt")
	right := `test "$(findmnt -no SOURCE,FSTYPE /srv/new)" = "tmpfs  tmpfs" || findmnt -n /srv/new; findmnt "/srv/new/a b"; test "$(cat "/srv/new/a b/file")" = there
		grep -q "x-systemd.device-timeout=5,nodev" /etc/fstab; grep -qF "/srv/new/a\\040b" /etc/fstab; systemctl is-active srv-new.mount "$(systemd-escape -p --suffix=mount "/srv/new/a b")"`
	explain(t, h, right, "mount[/srv/new]", "mount[/srv/new/a b]", "file[/srv/new/a b/]")
	h.Eventually("both are mounted, with the file", patience, func() bool { return h.Holds(right) })
	settle(h)
	h.Sh("umount --lazy /srv/new") // both at once: between two calls the inner one would be mounted again
	h.Eventually("both are mounted again, with the file", patience, func() bool { return h.Holds(right) })
}
