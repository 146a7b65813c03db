package machines

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/integration/hosts"
)

// fetchContents has apt fetch the lists of what packages bring, as the configuration of apt-file does.
const fetchContents = `Acquire::IndexTargets::deb::Contents-deb {
  MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; flatMetaKey "Contents-$(ARCHITECTURE)";
  ShortDescription "Contents"; Description "Contents"; flatDescription "Contents"; KeepCompressed "true"; Identifier "Contents-deb"; };
`

// publish makes the repository in /srv/repository one that says what its packages bring.
const publish = `cd /srv/repository; arch=$(dpkg --print-architecture)
for p in *.deb; do
	dpkg-deb --fsys-tarfile "$p" | tar -t | sed -n 's|^\./\(.*[^/]\)$|\1 misc/'"$(dpkg-deb -f "$p" Package)"'|p'
done >Contents-$arch
{
	printf 'Date: %s\nArchitectures: %s all\nSHA256:\n' "$(date -Ru)" $arch
	for f in Packages Contents-$arch; do echo " $(sha256sum <$f | cut -d' ' -f1) $(stat -c %s $f) $f"; done
} >Release
chmod -R a+rX .; apt-get -qq update`

// TestFindingB5Machine: a file, a program and a service of which only a package's contents say that it brings them come after the
// package, on the first run, and fail not once.
func TestFindingB5Machine(t *testing.T) {
	t.Parallel()
	h := boot(t, "contents")
	h.AddRepository(hosts.Repository(t, hosts.Package{
		Name: "odd-server", Version: "1.0",
		Files: map[string]string{
			"/etc/strange/main.conf":               "x\n",
			"/usr/lib/systemd/system/oddd.service": "[Service]\nExecStart=sleep infinity\n",
			"/usr/share/odd/tool":                  "x\n",
		},
		Scripts: map[string]string{"postinst": "#!/bin/sh\nln -s /bin/true /usr/sbin/oddctl\nsystemctl daemon-reload\n"},
	}))
	const declared = `resources:
  svc: [{name: oddd, state: running}]
  file: [{name: /etc/strange/conf.d.conf, content: mine}]
  exec: [{name: tool, cmd: "/usr/bin/test -e /usr/share/odd/tool", depend: ["file[/etc/strange/conf.d.conf]"]}]
  pkg: [{name: odd-server}]
`
	h.Put("/root/graph.yaml", declared)
	explain := func() string { return h.Run("mgmt", "graph", "--yaml", "/root/graph.yaml", "--explain") }
	if got := explain(); strings.Contains(got, "pkg[odd-server]") {
		t.Errorf("without lists there is an edge:\n%s", got)
	}
	h.Put("/etc/apt/apt.conf.d/50contents", fetchContents)
	h.Sh(publish)
	got := explain()
	for _, want := range []string{
		"pkg[odd-server] -> file[/etc/strange/conf.d.conf]: file[/etc/strange/conf.d.conf] wants pkg with /etc/strange, which it will bring, as the lists of apt tell",
		"pkg[odd-server] -> svc[oddd]: svc[oddd] wants pkg with /usr/lib/systemd/system/oddd.service, which it will bring, as the lists of apt tell",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	out := h.Run("mgmt", "run", "--yaml", "/root/graph.yaml", "--tmp-prefix", "--converged-exit", "--converged-timeout", "1s")
	if strings.Contains(out, "ERROR") || strings.Contains(out, "fail") || !h.Holds("grep -qx mine /etc/strange/conf.d.conf && systemctl is-active oddd") {
		t.Errorf("it says\n%s", out)
	}
	if got := explain(); strings.Contains(got, "as the lists of apt tell") {
		t.Errorf("what is installed is still to come:\n%s", got)
	}
}

// TestFindingC9Machine: a package behind a command that installs, removes or publishes it by hand is judged by what the command has left.
func TestFindingC9Machine(t *testing.T) {
	t.Parallel()
	h := boot(t, "byhand")
	h.AddRepository(hosts.Repository(t, hosts.Package{Name: "tiny", Version: "1.0"}, hosts.Package{Name: "wide", Version: "1.0"}))
	h.Sh("apt-get -qq install wide; mkdir /srv/next")
	later := hosts.Repository(t, hosts.Package{Name: "tiny", Version: "2.0"}, hosts.Package{Name: "wide", Version: "2.0"})
	for _, file := range []string{"Packages", "tiny_2.0_all.deb", "wide_2.0_all.deb"} {
		h.Copy(filepath.Join(later, file), "/srv/next/"+file)
	}
	h.Put("/root/graph.yaml", `resources:
  exec:
  - {name: install, cmd: "/usr/bin/dpkg -i /srv/repository/tiny_1.0_all.deb", nifcmd: "/usr/bin/test -e /run/done", before: ["pkg[tiny]"]}
  - {name: remove, cmd: "/usr/bin/dpkg --purge tiny", nifcmd: "/usr/bin/test -e /run/done", depend: ["pkg[tiny]"], before: ["pkg[wide]"]}
  - {name: publish, shell: /bin/sh, cmd: "cp /srv/next/* /srv/repository/; touch /run/done", nifcmd: "/usr/bin/test -e /run/done", depend: ["exec[remove]"], before: ["pkg[wide]"]}
  pkg: [{name: tiny, state: "1.0"}, {name: wide, state: newest}]
`)
	out := h.Run("mgmt", "run", "--yaml", "/root/graph.yaml", "--tmp-prefix", "--converged-exit", "--converged-timeout", "2s")
	if got := h.Sh("dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' tiny wide"); got != "tiny 1.0 installed\nwide 2.0 installed\n" {
		t.Errorf("there is\n%s\nand it says\n%s", got, out)
	}
}
