package entries

import (
	"os"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/host"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/engine/provider/providertest"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// The kinds that are made of data keep the laws of providers, and those of kinds.

// drifts are files that are written, or removed where there is no text, below dir.
func drifts(path string, texts map[string]string) map[string]func(*testing.T, string) {
	out := map[string]func(*testing.T, string){"removed": func(t *testing.T, dir string) { kindtest.Must(t, os.Remove(dir+"/"+path)) }}
	for name, text := range texts {
		out[name] = func(t *testing.T, dir string) { kindtest.Lay(t, dir+"/"+path, text) }
	}
	return out
}

// machine is a real host.
func machine(t testing.TB) engine.Host {
	h, err := host.New(t.Context(), host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

type (
	thing  = providertest.Thing
	values = providertest.Values
)

func TestHostLaws(t *testing.T) {
	providertest.Run(t, providertest.Suite{
		Definition: hostDefinition(),
		New: func(t *testing.T, dir string) func() provider.Provider {
			kindtest.Lay(t, dir+"/hosts", hostsText)
			return func() provider.Provider { return &hosts{file: dir + "/hosts"} }
		},
		Thing: func(string) thing {
			return thing{Title: "Web", Values: values{"ip": "10.0.0.9", "host_aliases": []string{"w", "w.x"}, "comment": "main"}}
		},
		Others: func(string) []thing {
			return []thing{{Title: "web ipv6", Values: values{"ip": "FD00::9"}}, {Title: "mail", Values: values{"ip": "10.0.0.10", "host_aliases": []string{"MX"}}}}
		},
		Updates: map[string]values{
			"address": {"ip": "10.0.0.8"}, "no alias": {"host_aliases": []string{}}, "comment": {"comment": "spare"},
		},
		Invalid: map[string]values{"address": {"ip": "300.0.0.1"}, "family": {"ip": "::1", "family": "ipv4"}},
		Drifts: drifts("hosts", map[string]string{
			"emptied": "", "another address": "10.0.0.6 web w w.x # main\n", "no alias": "10.0.0.9 web # main\n",
			"a second line": "10.0.0.9 web w w.x # main\n10.0.0.6 web\n",
		}),
	})
}

func TestIniSettingLaws(t *testing.T) {
	title := func(dir, name string) string { return dir + "/app.ini [main] " + name }
	providertest.Run(t, providertest.Suite{
		Definition: iniDefinition(),
		New: func(t *testing.T, dir string) func() provider.Provider {
			kindtest.Lay(t, dir+"/app.ini", "; a comment\n[main]\nname = x\n")
			return func() provider.Provider { return iniSettings{seen: map[iniFile]iniSeen{}} }
		},
		Thing: func(dir string) thing { return thing{Title: title(dir, "port"), Values: values{"value": "8080"}} },
		Others: func(dir string) []thing {
			return []thing{
				{Title: title(dir, "host"), Values: values{"value": "here"}},
				{Title: title(dir, "token"), Values: values{"secret": schema.NewSecret("hush-hush")}},
				{Title: dir + "/other.ini [] x", Values: values{"value": ""}},
			}
		},
		Updates: map[string]values{"other": {"value": "8081"}, "empty": {"value": ""}},
		Invalid: map[string]values{"two lines": {"value": "a\nb"}, "both": {"secret": schema.NewSecret("hush-hush")}},
		Drifts:  drifts("app.ini", map[string]string{"emptied": "", "another value": "[main]\nport = 80\n", "in another section": "[maint]\nport = 8080\n"}),
	})
}

func TestSSHAuthorizedKeyLaws(t *testing.T) {
	one, two := sshKey("one"), sshKey("two")
	providertest.Run(t, providertest.Suite{
		Definition: sshKeyDefinition(),
		New: func(t *testing.T, dir string) func() provider.Provider {
			layHome(t, dir)
			return func() provider.Provider { return sshKeysAt(dir) }
		},
		Thing: func(string) thing {
			return thing{Title: "a@b", Values: values{"type": "ssh-ed25519", "key": one, "options": []string{"no-pty", `command="a b"`}}}
		},
		Others: func(string) []thing {
			return []thing{{Title: "c@d for me", Values: values{"type": "ed25519", "key": two}}}
		},
		Updates: map[string]values{"key": {"key": two}, "options": {"options": []string{}}},
		Invalid: map[string]values{"cut off": {"key": one[:12]}, "another type": {"type": "ssh-rsa"}},
		Drifts: drifts(keysPath, map[string]string{
			"emptied": "", "another key": `no-pty,command="a b" ssh-ed25519 ` + two + " a@b\n", "no options": "ssh-ed25519 " + one + " a@b\n",
		}),
	})
}

func TestCrontabLaws(t *testing.T) {
	providertest.Run(t, providertest.Suite{
		Definition: crontabDefinition(),
		New: func(t *testing.T, dir string) func() provider.Provider {
			layCrontab(t, dir)
			kindtest.Lay(t, dir+"/spool/me", "# mine\n@daily /bin/true\n")
			return func() provider.Provider { return crontabsAt(dir) }
		},
		Host: machine,
		Thing: func(string) thing {
			return thing{Title: "backup", Values: values{"command": "/bin/backup", "minute": "30", "hour": "2", "environment": []string{"MAILTO=me"}}}
		},
		Others: func(dir string) []thing {
			return []thing{
				{Title: "clean of bob", Values: values{"command": "/bin/clean", "special": "daily"}},
				{Title: "clean in " + dir + "/table", Values: values{"command": "/bin/clean", "weekday": "sun"}},
			}
		},
		Updates: map[string]values{"command": {"command": "/bin/b"}, "times": {"minute": []any{int64(0), int64(30)}, "hour": "*"}},
		Invalid: map[string]values{"minute": {"minute": "61"}, "refused": {"command": "/bin/REFUSE"}},
		Drifts: drifts("spool/me", map[string]string{
			"emptied": "", "another time": "# mgmt name: backup\nMAILTO=me\n31 2 * * * /bin/backup\n",
		}),
	})
}

func TestAptKeyLaws(t *testing.T) {
	enginetest.Need(t, "gpg", "gnupg")
	a, b := keyOf(t, "ab.gpg", aptKeyA, true), keyOf(t, "ab.gpg", aptKeyB, true)
	providertest.Run(t, providertest.Suite{
		Definition: aptKeyDefinition(),
		New: func(t *testing.T, dir string) func() provider.Provider {
			kindtest.Lay(t, dir+"/trusted/old.asc", keyData(t, "old.asc"))
			kindtest.Must(t, os.Mkdir(dir+"/keyrings", 0o755))
			return func() provider.Provider { return aptKeysAt(dir) }
		},
		Host:  machine,
		Thing: func(string) thing { return thing{Title: "0x" + strings.ToLower(aptKeyA), Values: values{"content": a}} },
		Others: func(dir string) []thing {
			return []thing{{Title: aptKeyB + " in " + dir + "/keyrings/b.gpg", Values: values{"content": b}}}
		},
		Invalid: map[string]values{"another key": {"content": b}, "no key": {"content": "hello"}},
		Drifts:  drifts("keyrings/"+aptKeyA+".gpg", map[string]string{"another key": keyOf(t, "ab.gpg", aptKeyB, false)}),
	})
}
