package machines

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/integration/hosts"
	"github.com/reactivegraph/mgmt/resources/pkg/backends"
	"github.com/reactivegraph/mgmt/resources/pkg/backends/pkgtest"
)

var update = flag.Bool("update", false, "write the transcripts of package managers anew")

// packageTools are the package managers that Debian has beside its own, and what makes
// repositories for them.
var packageTools = []string{"createrepo-c", "dnf", "dnf-plugins-core", "libarchive-tools", "makepkg", "pacman-package-manager", "python3-rpm", "rpm", "zstd", "zypper"}

// distribution is what a machine has to be for a package manager.
type distribution struct {
	backend *virtual.Backend
	facts   virtual.Facts
	release string // what /etc/os-release says
	tools   string // what repositories.sh makes its packages for; empty for apt
}

var distributions = []distribution{
	{backends.Apt(), virtual.Facts{"os": "Debian", "os_family": "Debian", "osarch": "amd64"}, "ID=debian\n", ""},
	{backends.Dnf(), virtual.Facts{"os_family": "RedHat"}, "ID=fedora\n", "rpm"},
	{backends.Pacman(), virtual.Facts{"os_family": "Arch"}, "ID=arch\n", "pacman"},
	{backends.Zypper(), virtual.Facts{"os_family": "Suse"}, "ID=opensuse-leap\n", "rpm"},
}

// debs are what repositories.sh makes for the other package managers.
func debs() []hosts.Package {
	const hold = "#!/bin/sh\ntouch /run/held; while test -e /run/hold; do sleep 0.05; done\n"
	all := []hosts.Package{
		{Name: "tiny", Version: "1.0"}, {Name: "tiny", Version: "2.0"},
		{Name: "other", Version: "1:3.0-1", Fields: []string{"Depends: tiny", "Recommends: extra"}},
		{Name: "extra", Version: "1.0"},
		{Name: "mta-a", Version: "1.0", Fields: []string{"Provides: mta"}},
		{Name: "needy", Version: "1.0", Fields: []string{"Depends: not-there"}},
		{Name: "slow", Version: "1.0", Scripts: map[string]string{"postinst": hold}},
		{Name: "g++", Version: "1.0"}, {Name: "gxx", Version: "1.0"},
	}
	for _, name := range manyPackages() {
		all = append(all, hosts.Package{Name: name, Version: "1.0"})
	}
	for i, p := range all {
		conf := "/etc/" + p.Name + "/" + p.Name + ".conf"
		all[i].Files = map[string]string{conf: p.Version + "\n"}
		scripts := map[string]string{"conffiles": conf + "\n"}
		if s := p.Scripts["postinst"]; s != "" {
			scripts["postinst"] = s
		}
		all[i].Scripts = scripts
	}
	return all
}

// boot boots a machine that has all package managers, and a repository for this one.
func (d distribution) boot(t *testing.T) *hosts.Host {
	t.Helper()
	h := hosts.Base(t, packageTools...).Boot(t, d.backend.Name)
	h.Put("/etc/os-release", d.release)
	if d.tools == "" {
		h.AddRepository(hosts.Repository(t, debs()...))
		return h
	}
	h.Copy("testdata/repositories.sh", "/root/repositories.sh")
	h.Run("sh", "/root/repositories.sh", d.tools)
	return h
}

// onMachine runs the commands of a backend on a machine.
func onMachine(h *hosts.Host) pkgtest.Command {
	return func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		var stdout, stderr bytes.Buffer
		cmd := h.Command(ctx, "env", slices.Concat([]string{"-i"}, c.Env, c.Argv)...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			return nil, err
		}
		return &engine.Result{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}, nil
	}
}

// onHost is a host whose commands are run on a machine, and nothing else.
func onHost(h *hosts.Host) engine.Host {
	host := enginetest.NewHost()
	host.SetCommand(onMachine(h))
	return host
}

// bind returns a backend of which the tools are run on a machine.
func (d distribution) bind(t *testing.T, host engine.Host) *virtual.Module {
	t.Helper()
	m, err := virtual.Bind(t.Context(), backends.Interface(), d.backend, virtual.Env{Host: host, Facts: d.facts, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPackageManagers has a machine for each package manager.
func TestPackageManagers(t *testing.T) {
	for _, d := range distributions {
		t.Run(d.backend.Name, func(t *testing.T) {
			t.Parallel()
			path, err := deb()
			if err != nil {
				t.Fatal(err)
			}
			h := d.boot(t)
			h.Install(path)
			if d.testTranscripts(t, h); *update {
				return
			}
			t.Run("lock", func(t *testing.T) { d.testLock(t, h.For(t)) })
			t.Run("once", func(t *testing.T) { d.testOnce(t, h.For(t)) })
			t.Run("versions", func(t *testing.T) { d.testVersions(t, h.For(t)) })
			t.Run("story", func(t *testing.T) { d.testStory(t, h.For(t)) })
			t.Run("daemon", func(t *testing.T) { d.testDaemon(t, h.For(t)) })
		})
	}
}

// testTranscripts: the real tools make of the calls of the transcripts what stands there. With -update the
// transcripts are written anew.
func (d distribution) testTranscripts(t *testing.T, h *hosts.Host) {
	files, err := filepath.Glob(filepath.Join("../../resources/pkg/backends/testdata", d.backend.Name, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no transcripts (%v)", d.backend.Name, err)
	}
	play := pkgtest.Check
	if *update {
		play = pkgtest.Record
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			play(t, file, func(host engine.Host) *virtual.Module { return d.bind(t, host) }, onMachine(h.For(t)))
		})
	}
}
