package integration_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reactivegraph/mgmt/engine/enginetest"
)

// release makes a release in a folder, with more in its environment.
func release(t *testing.T, dir, version string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../packaging/release", dir, version)
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestFindingD9Release: a release has all its parts, its checksums and its signatures.
func TestFindingD9Release(t *testing.T) {
	if testing.Short() {
		t.Skip("make check builds a release")
	}
	gpg := enginetest.Need(t, "gpg", "gnupg")
	enginetest.Need(t, "git", "git")
	dir, home := filepath.Join(t.TempDir(), "release"), t.TempDir()
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() })
	output(t, gpg, "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "releases@localhost", "ed25519", "sign", "never")
	if out, err := release(t, dir, "1.2.3~git4.abcdef0", "MGMT_RELEASE_KEY=releases@localhost"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages := []string{
		"mgmt-1.2.3~git4.abcdef0-1.aarch64.rpm", "mgmt-1.2.3~git4.abcdef0-1.x86_64.rpm",
		"mgmt_1.2.3~git4.abcdef0_amd64.deb", "mgmt_1.2.3~git4.abcdef0_arm64.deb",
	}
	want := append([]string{"CHANGELOG", "SHA256SUMS", "SHA256SUMS.asc", "mgmt-1.2.3~git4.abcdef0-linux-amd64", "mgmt-1.2.3~git4.abcdef0-linux-arm64", "repository"}, packages...)
	compareNames(t, dir, want)
	compareNames(t, filepath.Join(dir, "repository"), append([]string{"InRelease", "Packages", "Packages.gz", "Release", "Release.gpg", "mgmt.asc", "repodata"}, packages...))
	for _, name := range []string{"SHA256SUMS", "repository/Release", "repository/repodata/repomd.xml"} {
		signature := filepath.Join(dir, name) + ".asc"
		if name == "repository/Release" {
			signature = filepath.Join(dir, name) + ".gpg"
		}
		output(t, gpg, "--verify", signature, filepath.Join(dir, name))
	}
	output(t, gpg, "--verify", filepath.Join(dir, "repository/InRelease"))
	output(t, "sh", "-c", `cd "$0" && sha256sum --check --strict SHA256SUMS && test $(wc -l <SHA256SUMS) = 7`, dir)
	for name, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		f, err := elf.Open(filepath.Join(dir, "mgmt-1.2.3~git4.abcdef0-linux-"+name))
		if err != nil {
			t.Fatal(err)
		}
		if libraries, err := f.ImportedLibraries(); f.Machine != machine || len(libraries) > 0 || err != nil {
			t.Errorf("%s: %v, libraries %q, %v", name, f.Machine, libraries, err)
		}
		_ = f.Close()
	}
	if text, err := os.ReadFile(filepath.Join(dir, "CHANGELOG")); err != nil || !strings.HasPrefix(string(text), "mgmt 1.2.3~git4.abcdef0, 2023-11-14") || !strings.Contains(string(text), "\n- ") {
		t.Errorf("CHANGELOG: %v, %.200s", err, text)
	}
}

func compareNames(t *testing.T, dir string, want []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", dir, diff)
	}
}

// TestFindingD9ReleaseRefused: without its key, or over a folder that is none of its own, a release changes nothing.
func TestFindingD9ReleaseRefused(t *testing.T) {
	enginetest.Need(t, "gpg", "gnupg")
	t.Setenv("GNUPGHOME", t.TempDir())
	dir := t.TempDir()
	if out, err := release(t, dir, "1.2.3", "MGMT_RELEASE_KEY=nobody@localhost"); err == nil || !strings.Contains(out, "gpg has no secret key nobody@localhost") {
		t.Errorf("%v, %s", err, out)
	}
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := release(t, dir, "1.2.3", "MGMT_RELEASE_KEY="); err == nil || !strings.Contains(out, "is not a release") {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}
