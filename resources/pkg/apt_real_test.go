package pkg

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// aptRoot is a machine for apt in a folder: nothing outside of it is read or written but
// the programs. Its repository is in it, too.
type aptRoot struct {
	t   *testing.T
	dir string
}

// newAptRoot ends the test where there is no apt, or where only root may own files:
// in CI that is a failure.
func newAptRoot(t *testing.T) *aptRoot {
	t.Helper()
	for _, tool := range []string{"apt-get", "dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil || os.Geteuid() != 0 {
			if os.Getenv("CI") == "true" {
				t.Fatal("this test needs root, and apt")
			}
			t.Skip("this test needs root, and apt")
		}
	}
	r := &aptRoot{t, t.TempDir()}
	for _, dir := range []string{"repo", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/log/apt", "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.write("var/lib/dpkg/status", "")
	r.write("etc/apt/sources.list", "deb [trusted=yes] file:"+r.dir+"/repo ./\n")
	r.write("apt.conf", fmt.Sprintf(`Dir "%[1]s"; Dir::State::status "%[1]s/var/lib/dpkg/status"; APT::Sandbox::User "root"; APT::Architecture "amd64";
Dpkg::Options { "--root=%[1]s"; "--log=%[1]s/var/log/dpkg.log"; "--force-script-chrootless"; }; Dir::Bin::dpkg "/usr/bin/dpkg";
`, r.dir))
	return r
}

func (r *aptRoot) write(path, text string) {
	r.t.Helper()
	path = filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// publish puts a package into the repository.
func (r *aptRoot) publish(name, version string) {
	r.t.Helper()
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: a package\n", name, version)
	tree := "build/" + name + version
	r.write(tree+"/DEBIAN/control", control)
	r.write(tree+"/etc/"+name+".conf", "version = "+version+"\n")
	r.write(tree+"/DEBIAN/conffiles", "/etc/"+name+".conf\n")
	file := name + "_" + version + "_all.deb"
	r.shell("dpkg-deb", "--root-owner-group", "-b", filepath.Join(r.dir, tree), filepath.Join(r.dir, "repo", file))
	st, err := os.Stat(filepath.Join(r.dir, "repo", file))
	if err != nil {
		r.t.Fatal(err)
	}
	index, _ := os.ReadFile(filepath.Join(r.dir, "repo/Packages"))
	sum, _, _ := strings.Cut(r.shell("sha256sum", filepath.Join(r.dir, "repo", file)), " ")
	r.write("repo/Packages", string(index)+control+fmt.Sprintf("Filename: ./%s\nSize: %d\nSHA256: %s\n\n", file, st.Size(), sum))
}

func (r *aptRoot) shell(argv ...string) string {
	r.t.Helper()
	out, err := exec.CommandContext(r.t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%q: %v %s", argv, err, out)
	}
	return string(out)
}

// command runs the tools of apt, and has them look at the folder.
func (r *aptRoot) command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	argv := slices.Clone(c.Argv)
	switch argv[0] {
	case "dpkg-query":
		argv = slices.Insert(argv, 1, "--admindir="+r.dir+"/var/lib/dpkg")
	case "dpkg":
		argv = slices.Insert(argv, 1, "--root="+r.dir, "--log="+r.dir+"/var/log/dpkg.log")
	}
	return runReal(ctx, exec.CommandContext(ctx, argv[0], argv[1:]...), append(slices.Clone(c.Env), "APT_CONFIG="+r.dir+"/apt.conf"))
}

// TestRealApt: the real apt does what the transcripts say, in a folder.
func TestRealApt(t *testing.T) {
	r := newAptRoot(t)
	r.publish("tiny", "1.0")
	r.publish("other", "1.0")
	h := enginetest.NewHost()
	h.SetCommand(r.command)
	m := bind(t, Apt, virtual.Facts{"os_family": "Debian", "osarch": "amd64"}, h)
	ctx := t.Context()
	installed := func(want map[string]string) {
		t.Helper()
		got, _, err := ListInstalled.Call(ctx, m, NamesArgs{})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	installed(map[string]string{})
	args := InstallArgs{Pkgs: map[string]string{"tiny": "", "other": "1.0"}, Refresh: true, Recommends: true}
	changes, _, err := Install.Call(ctx, m, args)
	if err != nil || len(changes) != 2 {
		t.Fatalf("%v, %v", changes, err)
	}
	installed(map[string]string{"tiny": "1.0", "other": "1.0"})

	// What somebody has altered stays, and no question is asked.
	r.write("etc/tiny.conf", "mine\n")
	r.publish("tiny", "2.0")
	if _, _, err := RefreshDB.Call(ctx, m, virtual.Nothing{}); err != nil {
		t.Fatal(err)
	}
	if latest, _, err := LatestVersion.Call(ctx, m, NamesArgs{[]string{"tiny", "nope"}}); err != nil || !maps.Equal(latest, map[string]string{"tiny": "2.0"}) {
		t.Errorf("%v, %v", latest, err)
	}
	if _, _, err := Upgrade.Call(ctx, m, UpgradeArgs{Names: []string{"tiny"}}); err != nil {
		t.Fatal(err)
	}
	installed(map[string]string{"tiny": "2.0", "other": "1.0"})
	if text, err := os.ReadFile(filepath.Join(r.dir, "etc/tiny.conf")); err != nil || string(text) != "mine\n" {
		t.Errorf("the configuration is %q, %v", text, err)
	}

	if _, _, err := Remove.Call(ctx, m, RemoveArgs{Names: []string{"tiny"}}); err != nil {
		t.Fatal(err)
	}
	installed(map[string]string{"other": "1.0"})
	if left, _, err := ListRemoved.Call(ctx, m, NamesArgs{}); err != nil || left["tiny"] != "2.0" {
		t.Errorf("%v, %v", left, err)
	}
	if _, _, err := Purge.Call(ctx, m, RemoveArgs{Names: []string{"tiny", "other"}}); err != nil {
		t.Fatal(err)
	}
	installed(map[string]string{})
	if _, err := os.Stat(filepath.Join(r.dir, "etc/tiny.conf")); !os.IsNotExist(err) {
		t.Errorf("the configuration is still there: %v", err)
	}
}
