package backends

import (
	"context"
	"slices"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// hostile are names that a tool would take for something else than the name of a package.
var hostile = []string{
	"", "-o", "--help", "../x", "./x.deb", "/etc/passwd", "a b", "a\nb", "a\x00b", "\x1b[0m", "é", "$(id)", "a;b", "`id`",
	"git=1.0", "git/stable", "git>1", "git<2", "git!", "g*", "g?t", "[g]it", "{git,x}", "^git", "git$", "(git)", "a|b", "~ninstalled", "?name(git)", "@group", "%git", "git,x", "a&b", "a\\b", "'a'", `"a"`, "#a",
}

// argsOf returns the arguments with which a function is asked about a package; false if it is not about one.
func argsOf(function, name string) (map[string]any, bool) {
	switch function {
	case "install":
		return map[string]any{"pkgs": map[string]any{"fine": "", name: ""}}, true
	case "list_installed", "latest_version", "info_installed", "file_list", "provided", "list_removed", "offered", "remove", "purge", "upgrade", "hold", "unhold":
		return map[string]any{"names": []any{"fine", name}}, true
	}
	return nil, false
}

// No tool is run with a name that it could take for something else, whatever function of whatever backend it
// is given to.
func TestHostileNames(t *testing.T) {
	for _, b := range backends {
		host := enginetest.NewHost()
		host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })
		m := bind(t, b.backend, b.facts, host)
		asked := 0
		for _, function := range m.Functions() {
			for _, name := range hostile {
				args, ok := argsOf(function, name)
				if !ok || m.Needs(function) != nil {
					continue
				}
				asked++
				if _, err := m.Call(t.Context(), function, virtual.Args{Named: args}); err == nil || len(host.Commands()) > 0 {
					t.Fatalf("%s: %s of %q: %v, %v", b.backend.Name, function, name, err, host.Commands())
				}
			}
		}
		if asked < 8*len(hostile) {
			t.Errorf("%s was asked %d times only", b.backend.Name, asked)
		}
	}
}

// Versions are names of nothing else either, and are refused before a tool is run.
func TestHostileVersions(t *testing.T) {
	for _, b := range backends {
		host := enginetest.NewHost()
		m := bind(t, b.backend, b.facts, host)
		for _, version := range slices.DeleteFunc(slices.Clone(hostile), func(s string) bool { return s == "" }) {
			for function, args := range map[string]map[string]any{
				"install":     {"pkgs": map[string]any{"fine": version}},
				"version_cmp": {"a": "1", "b": version},
			} {
				if _, err := m.Call(t.Context(), function, virtual.Args{Named: args}); err == nil || len(host.Commands()) > 0 {
					t.Errorf("%s: %s of %q: %v, %v", b.backend.Name, function, version, err, host.Commands())
				}
			}
		}
	}
}
