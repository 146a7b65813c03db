package backends

import (
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// statuses returns what a call of each function does by each backend, on a machine for which it is made.
func statuses() map[string]map[string]virtual.Status {
	all := map[string]map[string]virtual.Status{}
	for _, b := range backends {
		all[b.backend.Name] = map[string]virtual.Status{}
		for _, v := range virtual.Check(Interface(), b.backend, b.facts) {
			all[b.backend.Name][v.Function] = v.Status
		}
	}
	return all
}

func expectStatus(t *testing.T, function string, want virtual.Status, backends ...string) {
	t.Helper()
	for name, functions := range statuses() {
		if got := functions[function]; slices.Contains(backends, name) && got != want {
			t.Errorf("%s by %s is %s, want %s", function, name, got, want)
		}
	}
}

// TestFindingF9Functions: every backend says whether a newer version can be installed, and has the files by package.
func TestFindingF9Functions(t *testing.T) {
	for _, function := range []string{"upgrade_available", "file_dict"} {
		expectStatus(t, function, virtual.Implemented, "apk", "apt", "dnf", "pacman", "zypper")
	}
	for _, function := range []string{"list_repos", "get_repo", "mod_repo", "del_repo"} {
		expectStatus(t, function, virtual.Implemented, "apk", "apt", "dnf", "pacman", "zypper")
	}
}

// TestFindingF10HoldAndRepositories: who keeps versions, and who knows repositories. The transcripts of real tools
// say what they do.
func TestFindingF10HoldAndRepositories(t *testing.T) {
	for _, function := range []string{"hold", "unhold", "list_holds"} {
		expectStatus(t, function, virtual.Implemented, "apt", "dnf", "pacman", "zypper")
	}
}

// TestFindingF10RepoNames: what a tool would read as an option, a path or a pattern is no name, and an address has no password.
func TestFindingF10RepoNames(t *testing.T) {
	for _, name := range []string{"", "-x", "--all", "a b", "a/b", "*", "a\n"} {
		if checkRepo(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
	for address, ok := range map[string]bool{"https://example.com/x": true, "file:///srv/x": true, "-x": false, "x": false, "http://u:p@example.com": false, "http://a b": false, "": false} {
		if err := (&ModRepoArgs{Repo: "x", URL: &address}).check(); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestFindingF11Supported: what a package manager has no such thing for is not supported, and no gap; what it does by itself with
// each change is not applicable. What else is missing of the interface is nothing.
func TestFindingF11Supported(t *testing.T) {
	for function, backends := range map[string][]string{
		"hold": {"apk"}, "unhold": {"apk"}, "list_holds": {"apk"}, "contents": {"apk"},
		"purge": {"dnf", "zypper"}, "list_removed": {"apk", "dnf", "pacman", "zypper"}, "origins": {"apk", "dnf", "pacman", "zypper"}, "offered": {"apk", "dnf", "pacman", "zypper"},
	} {
		expectStatus(t, function, virtual.NotSupported, backends...)
	}
	expectStatus(t, "autoremove", virtual.NotApplicable, "apk")
	for backend, functions := range statuses() {
		for function, status := range functions {
			if status == virtual.NotImplemented || status == virtual.SignatureMismatch {
				t.Errorf("%s by %s is %s", function, backend, status)
			}
		}
	}
}
