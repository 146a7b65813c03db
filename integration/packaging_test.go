package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// ownView are the settings of systemd.exec(5) that give a service a mount namespace, and
// with it a view of the file system, the devices or the users that others do not have.
// What mgmt sees must be what there is: it would repair a world that nobody else sees.
var ownView = []string{
	"BindLogSockets", "BindPaths", "BindReadOnlyPaths", "DynamicUser", "ExecPaths", "ExtensionDirectories", "ExtensionImages",
	"InaccessiblePaths", "MountAPIVFS", "MountFlags", "MountImages",
	"NoExecPaths", "PrivateBPF", "PrivateDevices", "PrivateIPC", "PrivateMounts", "PrivateNetwork", "PrivatePIDs", "PrivateTmp",
	"PrivateUsers", "ProcSubset", "ProtectClock", "ProtectControlGroups", "ProtectHome", "ProtectHostname", "ProtectKernelLogs",
	"ProtectKernelModules", "ProtectKernelTunables", "ProtectProc", "ProtectSystem", "ReadOnlyPaths", "ReadWritePaths",
	"RootDirectory", "RootEphemeral", "RootImage", "TemporaryFileSystem",
	"InaccessibleDirectories", "ReadOnlyDirectories", "ReadWriteDirectories", // older names
	"IPCNamespacePath", "JoinsNamespaceOf", "NetworkNamespacePath", "UserNamespacePath",
}

// fewerRights are settings under which a command does not do what it does elsewhere.
// Only the audit, which alters nothing, may have them.
var fewerRights = []string{"CapabilityBoundingSet", "NoNewPrivileges", "RestrictSUIDSGID", "SystemCallFilter", "User"}

// unitSettings reads the settings of a unit.
func unitSettings(t *testing.T, name string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../packaging/systemd/" + name)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}

func TestUnitsSeeWhatThereIs(t *testing.T) {
	for _, unit := range []string{"mgmt.service", "mgmt-audit.service"} {
		for key := range unitSettings(t, unit) {
			if slices.Contains(ownView, key) {
				t.Errorf("%s: %s gives it a view of its own", unit, key)
			}
			if unit == "mgmt.service" && slices.Contains(fewerRights, key) {
				t.Errorf("%s: under %s commands fail that work elsewhere", unit, key)
			}
		}
	}
}

func TestUnitsPromise(t *testing.T) {
	for _, c := range []struct{ unit, key, want string }{
		{"mgmt.service", "Type", "notify"},
		{"mgmt.service", "ExecReload", "/usr/bin/mgmt reload"},
		{"mgmt.service", "Restart", "on-failure"},
		{"mgmt.service", "KillMode", "mixed"},
		{"mgmt.service", "OOMPolicy", "continue"},
		{"mgmt.service", "SuccessExitStatus", "2 4 5 6"},
		{"mgmt-audit.service", "SuccessExitStatus", "2"},
	} {
		got := unitSettings(t, c.unit)[c.key]
		if len(got) == 0 || got[len(got)-1] != c.want {
			t.Errorf("%s: %s is %q, not %q", c.unit, c.key, got, c.want)
		}
	}
	audit := unitSettings(t, "mgmt-audit.service")
	if run := audit["ExecStart"]; len(run) != 1 || !strings.Contains(run[0], " --noop=all ") || strings.Contains(run[0], "$") || len(audit["EnvironmentFile"]) > 0 {
		t.Errorf("the audit could be made to alter something: %q, %q", run, audit["EnvironmentFile"])
	}
}

// TestUnitsVerify asks systemd. What only a newer one knows is no error of ours.
func TestUnitsVerify(t *testing.T) {
	analyze := enginetest.Need(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	for _, name := range []string{"mgmt.service", "mgmt-audit.service", "mgmt-audit.timer"} {
		text, err := os.ReadFile("../packaging/systemd/" + name)
		if err != nil {
			t.Fatal(err)
		}
		here := strings.ReplaceAll(string(text), "/usr/bin/mgmt", "/bin/true")
		here = regexp.MustCompile(`(?m)^Documentation=.*\n`).ReplaceAllString(here, "")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := exec.CommandContext(t.Context(), analyze, "verify", filepath.Join(dir, name)).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, dir) && !strings.Contains(line, "notify-reload") && !strings.Contains(line, "'Restart") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// buildPackages makes the packages and returns their paths, deb and rpm.
func buildPackages(t *testing.T, dir, version string) (deb, rpm string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../packaging/build", dir, version)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	one := func(pattern string) string {
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %q, %v", pattern, list, err)
		}
		return list[0]
	}
	return one("*.deb"), one("*.rpm")
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("make check builds the packages")
	}
	dpkg := enginetest.Need(t, "dpkg-deb", "dpkg")
	deb, rpm := buildPackages(t, t.TempDir(), "v1.2.3-4-gabcdef")
	deb2, rpm2 := buildPackages(t, t.TempDir(), "v1.2.3-4-gabcdef")
	for _, pair := range [][2]string{{deb, deb2}, {rpm, rpm2}} {
		a, err := os.ReadFile(pair[0])
		b, err2 := os.ReadFile(pair[1])
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: the same sources made other bytes (%v, %v)", filepath.Base(pair[0]), err, err2)
		}
	}
	if got := output(t, dpkg, "-f", deb, "Version"); got != "1.2.3+4.gabcdef\n" {
		t.Errorf("version %q", got)
	}
	var files []string
	for line := range strings.Lines(output(t, dpkg, "-c", deb)) {
		f := strings.Fields(line)
		if f[1] != "root/root" || f[3] != "2023-11-14" {
			t.Errorf("owner or date: %s", line)
		}
		if !strings.HasPrefix(f[0], "d") {
			files = append(files, f[0]+" "+f[5])
		}
	}
	want := []string{
		"-rw-r--r-- ./etc/default/mgmt",
		"-rw------- ./etc/mgmt/graph.yaml",
		"-rw-r--r-- ./etc/mgmt/mgmt.yaml",
		"-rwxr-xr-x ./usr/bin/mgmt",
		"-rwxr-xr-x ./usr/lib/mgmt/mgmt-ts",
		"-rw-r--r-- ./usr/lib/systemd/system/mgmt-audit.service",
		"-rw-r--r-- ./usr/lib/systemd/system/mgmt-audit.timer",
		"-rw-r--r-- ./usr/lib/systemd/system/mgmt.service",
		"-rw-r--r-- ./usr/share/bash-completion/completions/mgmt",
		"-rw-r--r-- ./usr/share/doc/mgmt/copyright",
		"-rw-r--r-- ./usr/share/fish/vendor_completions.d/mgmt.fish",
		"-rw-r--r-- ./usr/share/man/man1/mgmt.1.gz",
		"-rw-r--r-- ./usr/share/zsh/site-functions/_mgmt",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	checkUnpacked(t, dpkg, deb)
	if lead, err := os.ReadFile(rpm); err != nil || !bytes.HasPrefix(lead, []byte{0xed, 0xab, 0xee, 0xdb}) {
		t.Errorf("no rpm: %v", err)
	}
}

// checkUnpacked looks at what is in a deb: its program runs, its graph changes nothing,
// its scripts are scripts, and what an operator edits is kept at an upgrade.
func checkUnpacked(t *testing.T, dpkg, deb string) {
	t.Helper()
	root := t.TempDir()
	output(t, dpkg, "-x", deb, root)
	output(t, dpkg, "-e", deb, filepath.Join(root, "DEBIAN"))
	mgmt := filepath.Join(root, "usr/bin/mgmt")
	if got := output(t, mgmt, "version"); !strings.HasPrefix(got, "mgmt v1.2.3-4-gabcdef ") {
		t.Errorf("version: %s", got)
	}
	output(t, mgmt, "plan", "--yaml", filepath.Join(root, "etc/mgmt/graph.yaml"), "--prefix", t.TempDir()) // 2 if it would change something
	conffiles := strings.Fields(output(t, "cat", filepath.Join(root, "DEBIAN/conffiles")))
	slices.Sort(conffiles)
	if diff := cmp.Diff([]string{"/etc/default/mgmt", "/etc/mgmt/graph.yaml", "/etc/mgmt/mgmt.yaml"}, conffiles); diff != "" {
		t.Errorf("conffiles: %s", diff)
	}
	if got := output(t, mgmt, "config", "--check", "--trust-others", "--config", filepath.Join(root, "etc/mgmt/mgmt.yaml")); !strings.Contains(got, "0 settings") {
		t.Errorf("the configuration of the package sets something: %s", got)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		output(t, "sh", "-n", filepath.Join(root, "DEBIAN", script))
	}
	text, err := os.ReadFile(filepath.Join(root, "DEBIAN/postinst"))
	if err != nil || regexp.MustCompile(`systemctl.* (enable|start|restart)\b`).Match(text) || !bytes.Contains(text, []byte("--no-block try-restart")) {
		t.Errorf("an installation starts the service, or an upgrade by mgmt itself waits for itself (%v)", err)
	}
	if size := fileSize(t, mgmt); size > maxSize {
		t.Errorf("the program has %d bytes, more than %d", size, maxSize)
	}
	page := output(t, "sh", "-c", "zcat '"+filepath.Join(root, "usr/share/man/man1/mgmt.1.gz")+"'")
	for _, want := range []string{`.TH MGMT 1 2023-11-14 "mgmt v1.2.3\-4\-gabcdef"`, ".SS mgmt run", `\fB\-\-prometheus\-remote\fR`, ".SH EXIT STATUS"} {
		if !strings.Contains(page, want) {
			t.Errorf("the manual page does not have %q", want)
		}
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
