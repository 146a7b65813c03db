package machines

import (
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// webPackage is a web server as a distribution has them: a unit, and a default
// configuration that belongs to whom edits it.
var webPackage = hosts.Package{
	Name: "tinyweb", Version: "1.0",
	Files: map[string]string{
		"/etc/tinyweb/env":                        "PORT=81\n",
		"/usr/lib/systemd/system/tinyweb.service": "[Service]\nUser=web\nEnvironmentFile=/etc/tinyweb/env\nExecStart=busybox httpd -f -p 127.0.0.1:${PORT} -h /srv/tinyweb\n[Install]\nWantedBy=multi-user.target\n",
	},
	Scripts: map[string]string{
		"conffiles": "/etc/tinyweb/env\n",
		"postinst":  "#!/bin/sh\nsystemctl daemon-reload\n",
		"prerm":     "#!/bin/sh\nsystemctl disable --now tinyweb || true\n",
		"postrm":    "#!/bin/sh\nsystemctl daemon-reload\n",
	},
}

// webGraph says what there is, and nothing of what comes first: only when the server starts
// anew, because it does not look again at where its folder is.
const webGraph = `
resources:
  value:
  - {name: greeting, any: "hello from here\n"}
  - {name: port, any: "PORT=8080\n"}
  pkg:
  - {name: tinyweb}
  user:
  - {name: web, system: true, homedir: /srv/tinyweb}
  file:
  - {name: /srv/tinyweb/, owner: web, mode: "0750"}
  - {name: /srv/tinyweb/index.html, owner: web, mode: "0640", recv: {content: "value[greeting].any"}}
  - {name: /etc/tinyweb/env, mode: "0644", recv: {content: "value[port].any"}, meta: {retry: -1, delay: 500}}
  svc:
  - {name: tinyweb, state: running, startup: enabled, listen: ["file[/etc/tinyweb/env]", "file[/srv/tinyweb/]"], meta: {retry: -1, delay: 500}}
`

// TestWebServer: a web server with all that belongs to it, from nothing, and again after
// whatever is done to it.
func TestWebServer(t *testing.T) {
	t.Parallel()
	h := boot(t, "web")
	h.AddRepository(hosts.Repository(t, webPackage))
	h.Put(graphPath, webGraph)
	served := `test "$(busybox wget -q -O - http://127.0.0.1:8080/)" = "hello from here"; systemctl is-enabled tinyweb; test "$(ps -o user= -C busybox)" = web`
	if code := once(t, h); code != 0 {
		t.Fatalf("the run ends with %d", code)
	}
	h.Eventually("the page is served", patience, func() bool { return h.Holds(served) })
	h.Run("systemctl", "enable", "--now", "mgmt")
	settle(h)
	explain(t, h, served, "svc[tinyweb]", "file[/etc/tinyweb/env]")
	for _, drift := range []string{
		`systemctl stop tinyweb`,
		`systemctl kill -s KILL tinyweb`,
		`echo defaced >/srv/tinyweb/index.html`,
		`rm -rf /srv/tinyweb`,
		`chown -R root:root /srv/tinyweb; chmod 0700 /srv/tinyweb`,
		`echo PORT=81 >/etc/tinyweb/env; systemctl restart tinyweb`,
		`apt-get -qq remove tinyweb`,
		`dpkg --purge tinyweb; rm -rf /etc/tinyweb`,
		`systemctl disable --now tinyweb; echo defaced >/srv/tinyweb/index.html; dpkg --purge tinyweb`,
	} {
		_, _ = h.Try("sh", "-euc", drift) // it may be repaired before it is over
		took := h.Eventually("the page is served after: "+drift, patience, func() bool { return h.Holds(served) })
		t.Logf("%7.1f ms after: %s", took.Seconds()*1000, drift)
	}
	h.Reboot()
	took := h.Eventually("the page is served after a reboot", patience, func() bool { return h.Holds(served) })
	t.Logf("%7.1f ms after a reboot", took.Seconds()*1000)
	settle(h)
}
