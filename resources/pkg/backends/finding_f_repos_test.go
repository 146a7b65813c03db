package backends

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// tree are files by their paths.
type tree map[string]string

func (f tree) write(t *testing.T, root string) {
	t.Helper()
	for path, text := range f {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
}

func readTree(t *testing.T, root string) tree {
	t.Helper()
	f := tree{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		f[strings.TrimPrefix(path, root)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// onFiles binds a backend to the files below a folder. Its tools print nothing.
func onFiles(t *testing.T, backend, root string) *virtual.Module {
	t.Helper()
	host := enginetest.NewHost()
	host.SetCommand(func(context.Context, engine.Command) (*engine.Result, error) { return &engine.Result{}, nil })
	for _, b := range backends {
		if b.backend.Name == backend {
			m, err := virtual.Bind(t.Context(), Interface(), b.backend, virtual.Env{Host: host, Facts: b.facts, Root: root})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
	t.Fatal(backend)
	return nil
}

func callOn(t *testing.T, m *virtual.Module, line string) (*virtual.Result, error) {
	t.Helper()
	function, text, _ := strings.Cut(line, " ")
	var args virtual.Args
	if text != "" {
		if err := json.Unmarshal([]byte(text), &args.Named); err != nil {
			t.Fatal(err)
		}
	}
	return m.Call(t.Context(), function, args)
}

const debianSources = `# ours
Types: deb deb-src
URIs: http://deb.example/debian/
# both of them
Suites: stable stable-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP-----
 .
 abc

# security
Types: deb
URIs: http://security.example/
Suites: stable-security
Components: main
`

const yumRepo = `# ours
[local]
name = Local
baseurl = file:///srv/rpm
#enabled=1

# the other one
[other]
name=Other
mirrorlist=http://mirrors.example/
gpgcheck=1
`

const pacmanText = `[options]
Architecture = auto
#IgnorePkg   =

# first of all
[core]
Include = /etc/pacman.d/mirrorlist

# An example.
#[custom]
#SigLevel = Optional TrustAll
#Server = file:///home/custompkgs
`

var repoCases = []struct {
	backend, name string
	before        tree
	call          string
	after         tree // those that differ; empty text for one that is gone
}{
	{"apt", "a new one", tree{"/etc/apt/sources.list.d/x.sources": debianSources},
		`mod_repo {"repo": "https://example.com/apt/ stable main extra", "key": "/etc/apt/keyrings/x.asc"}`,
		tree{"/etc/apt/sources.list.d/example.com_apt_stable.sources": "Types: deb\nURIs: https://example.com/apt/\nSuites: stable\nComponents: main extra\nSigned-By: /etc/apt/keyrings/x.asc\n"}},
	{"apt", "a flat one, unsigned and off", tree{"/etc/apt/sources.list.d/x.list": ""},
		`mod_repo {"repo": "file:/srv/x ./", "untrusted": true, "enabled": false}`,
		tree{"/etc/apt/sources.list.d/srv_x.sources": "Types: deb\nURIs: file:/srv/x\nSuites: ./\nEnabled: no\nTrusted: yes\n"}},
	{"apt", "a component more", tree{"/etc/apt/sources.list": "deb http://a.example stable main\n", "/etc/apt/sources.list.d/a.example_stable.sources": "# mine"},
		`mod_repo {"repo": "http://a.example/ stable main contrib"}`,
		tree{"/etc/apt/sources.list.d/a.example_stable.sources": "# mine\n\nTypes: deb\nURIs: http://a.example/\nSuites: stable\nComponents: contrib\n"}},
	{"apt", "what is so already", tree{"/etc/apt/sources.list.d/x.sources": debianSources},
		`mod_repo {"repo": "http://deb.example/debian stable-updates contrib", "enabled": true}`, nil},
	{"apt", "one of a stanza goes off", tree{"/etc/apt/sources.list.d/x.sources": debianSources},
		`mod_repo {"repo": "http://deb.example/debian/ stable-updates contrib", "enabled": false}`,
		tree{"/etc/apt/sources.list.d/x.sources": `# ours
Types: deb-src
URIs: http://deb.example/debian/
# both of them
Suites: stable stable-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP-----
 .
 abc

Types: deb
URIs: http://deb.example/debian/
Suites: stable
Components: main contrib
Signed-By:
 -----BEGIN PGP-----
 .
 abc

Types: deb
URIs: http://deb.example/debian/
Suites: stable-updates
Components: main
Signed-By:
 -----BEGIN PGP-----
 .
 abc

Types: deb
URIs: http://deb.example/debian/
Suites: stable-updates
Components: contrib
Signed-By:
 -----BEGIN PGP-----
 .
 abc
Enabled: no

# security
Types: deb
URIs: http://security.example/
Suites: stable-security
Components: main
`}},
	{"apt", "a whole stanza goes off", tree{"/etc/apt/sources.list.d/x.sources": debianSources},
		`mod_repo {"repo": "http://security.example/ stable-security main", "enabled": false}`,
		tree{"/etc/apt/sources.list.d/x.sources": debianSources + "Enabled: no\n"}},
	{"apt", "a stanza comes back", tree{"/etc/apt/sources.list.d/x.sources": "Types: deb\nEnabled: No\nURIs: http://a.example\nSuites: stable\nComponents: main\n"},
		`mod_repo {"repo": "http://a.example stable main", "enabled": true}`,
		tree{"/etc/apt/sources.list.d/x.sources": "Types: deb\nEnabled: yes\nURIs: http://a.example\nSuites: stable\nComponents: main\n"}},
	{"apt", "a stanza goes", tree{"/etc/apt/sources.list.d/x.sources": debianSources},
		`del_repo {"repo": "http://security.example/ stable-security main"}`,
		tree{"/etc/apt/sources.list.d/x.sources": strings.Replace(debianSources, "\n# security\nTypes: deb\nURIs: http://security.example/\nSuites: stable-security\nComponents: main\n", "\n", 1)}},
	{"apt", "a component of a line goes off", tree{"/etc/apt/sources.list": "# ours\ndeb [arch=amd64] http://a.example/ stable main contrib # why\n"},
		`mod_repo {"repo": "http://a.example/ stable contrib", "enabled": false}`,
		tree{"/etc/apt/sources.list": "# ours\ndeb [arch=amd64] http://a.example/ stable main # why\n# deb [arch=amd64] http://a.example/ stable contrib # why\n"}},
	{"apt", "a line comes back, unsigned", tree{"/etc/apt/sources.list": "#deb [ arch=amd64 ] http://a.example/ stable main\n"},
		`mod_repo {"repo": "http://a.example/ stable main", "enabled": true, "untrusted": true}`,
		tree{"/etc/apt/sources.list": "deb [arch=amd64 trusted=yes] http://a.example/ stable main\n"}},
	{"apt", "a file that is empty then goes", tree{"/etc/apt/sources.list": "deb http://a.example/ stable main\n", "/etc/apt/sources.list.d/a.list": "\ndeb http://a.example stable main\n"},
		`del_repo {"repo": "http://a.example/ stable main"}`,
		tree{"/etc/apt/sources.list": "", "/etc/apt/sources.list.d/a.list": ""}},
	{"apt", "what is no entry stays", tree{"/etc/apt/sources.list": "# deb is a word\ndeb nonsense\ndeb cdrom:[A B]/ stable main\n", "/etc/apt/sources.list.d/a.list.save": "deb http://a.example/ stable main\n"},
		`del_repo {"repo": "http://a.example/ stable main"}`, nil},
	{"dnf", "a new one", tree{"/etc/yum.repos.d/x.repo": yumRepo},
		`mod_repo {"repo": "more", "url": "file:///srv/more", "untrusted": true}`,
		tree{"/etc/yum.repos.d/more.repo": "[more]\nname=more\nbaseurl=file:///srv/more\nenabled=1\ngpgcheck=0\n"}},
	{"dnf", "off", tree{"/etc/yum.repos.d/x.repo": yumRepo}, `mod_repo {"repo": "local", "enabled": false}`,
		tree{"/etc/yum.repos.d/x.repo": strings.Replace(yumRepo, "#enabled=1\n", "#enabled=1\nenabled=0\n", 1)}},
	{"dnf", "so already", tree{"/etc/yum.repos.d/x.repo": yumRepo}, `mod_repo {"repo": "local", "url": "file:///srv/rpm", "enabled": true}`, nil},
	{"dnf", "elsewhere", tree{"/etc/yum.repos.d/x.repo": yumRepo}, `mod_repo {"repo": "other", "url": "https://example.com/x", "key": "/etc/pki/x"}`,
		tree{"/etc/yum.repos.d/x.repo": strings.Replace(yumRepo, "mirrorlist=http://mirrors.example/\ngpgcheck=1\n", "gpgcheck=1\nbaseurl=https://example.com/x\ngpgkey=file:///etc/pki/x\n", 1)}},
	{"dnf", "gone", tree{"/etc/yum.repos.d/x.repo": yumRepo}, `del_repo {"repo": "local"}`,
		tree{"/etc/yum.repos.d/x.repo": "# ours\n#enabled=1\n\n# the other one\n[other]\nname=Other\nmirrorlist=http://mirrors.example/\ngpgcheck=1\n"}},
	{"dnf", "the last of a file", tree{"/etc/yum.repos.d/x.repo": "[more]\nname=more\n"}, `del_repo {"repo": "more"}`, tree{"/etc/yum.repos.d/x.repo": ""}},
	{"pacman", "a new one", tree{"/etc/pacman.conf": pacmanText}, `mod_repo {"repo": "more", "url": "file:///srv/more", "untrusted": true}`,
		tree{"/etc/pacman.conf": pacmanText + "[more]\nServer = file:///srv/more\nSigLevel = Optional TrustAll\n"}},
	{"pacman", "off", tree{"/etc/pacman.conf": pacmanText}, `mod_repo {"repo": "core", "enabled": false}`,
		tree{"/etc/pacman.conf": strings.Replace(pacmanText, "[core]\nInclude", "#[core]\n#Include", 1)}},
	{"pacman", "on", tree{"/etc/pacman.conf": pacmanText}, `mod_repo {"repo": "custom", "enabled": true}`,
		tree{"/etc/pacman.conf": strings.Replace(pacmanText, "#[custom]\n#SigLevel = Optional TrustAll\n#Server", "[custom]\nSigLevel = Optional TrustAll\nServer", 1)}},
	{"pacman", "elsewhere, and off as before", tree{"/etc/pacman.conf": pacmanText}, `mod_repo {"repo": "custom", "url": "file:///srv/more"}`,
		tree{"/etc/pacman.conf": strings.Replace(pacmanText, "/home/custompkgs", "/srv/more", 1)}},
	{"pacman", "gone", tree{"/etc/pacman.conf": pacmanText}, `del_repo {"repo": "core"}`,
		tree{"/etc/pacman.conf": strings.Replace(pacmanText, "[core]\nInclude = /etc/pacman.d/mirrorlist\n\n", "\n", 1)}},
	{"pacman", "gone, though off", tree{"/etc/pacman.conf": pacmanText}, `del_repo {"repo": "custom"}`,
		tree{"/etc/pacman.conf": strings.Replace(pacmanText, "#[custom]\n#SigLevel = Optional TrustAll\n#Server = file:///home/custompkgs\n", "", 1)}},
	{"apk", "a new one", tree{"/etc/apk/repositories": "# ours\nhttp://a.example/main"}, `mod_repo {"repo": "/srv/apk"}`,
		tree{"/etc/apk/repositories": "# ours\nhttp://a.example/main\n/srv/apk\n"}},
	{"apk", "off", tree{"/etc/apk/repositories": "http://a.example/main\n@edge http://a.example/edge\n"}, `mod_repo {"repo": "http://a.example/edge", "enabled": false}`,
		tree{"/etc/apk/repositories": "http://a.example/main\n#@edge http://a.example/edge\n"}},
	{"apk", "on", tree{"/etc/apk/repositories": "# ours\n# http://a.example/main\n"}, `mod_repo {"repo": "http://a.example/main", "enabled": true}`,
		tree{"/etc/apk/repositories": "# ours\nhttp://a.example/main\n"}},
	{"apk", "gone", tree{"/etc/apk/repositories": "# ours\nhttp://a.example/main/\n"}, `del_repo {"repo": "http://a.example/main"}`, tree{"/etc/apk/repositories": "# ours\n"}},
}

// TestFindingF10RepoFiles: a repository is made, altered and removed in the files of each package manager, and what else stands there,
// comments above all, stays. A second call finds nothing to do.
func TestFindingF10RepoFiles(t *testing.T) {
	for _, c := range repoCases {
		t.Run(c.backend+", "+c.name, func(t *testing.T) {
			root := t.TempDir()
			tree{"/etc/apt/sources.list.d/.keep": "", "/etc/yum.repos.d/.keep": "", "/etc/apk/.keep": ""}.write(t, root)
			c.before.write(t, root)
			want := readTree(t, root)
			for path, text := range c.after {
				want[path] = text
				if text == "" && path != "/etc/apt/sources.list" {
					delete(want, path)
				}
			}
			for _, time := range []string{"once", "twice"} {
				if _, err := callOn(t, onFiles(t, c.backend, root), c.call); err != nil {
					t.Fatal(time, err)
				}
				got := readTree(t, root)
				for _, path := range slices.Sorted(maps.Keys(got)) {
					if got[path] != want[path] {
						t.Errorf("%s, %s is\n%s\nwant\n%s", time, path, got[path], want[path])
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s, there are %q, want %q", time, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
				}
			}
		})
	}
}

// TestFindingF10RepoRefused: bad input is refused with the reason, and changes nothing.
func TestFindingF10RepoRefused(t *testing.T) {
	for _, c := range []struct{ backend, call, want string }{
		{"apt", `mod_repo {"repo": "stable main"}`, "no repository of apt"},
		{"apt", `mod_repo {"repo": "http://a.example/ stable"}`, "no repository of apt"},
		{"apt", `mod_repo {"repo": "http://a.example/ ./ main"}`, "no repository of apt"},
		{"apt", `mod_repo {"repo": "http://a.example/ stable main\nTrusted: yes"}`, "no repository of apt"},
		{"apt", `mod_repo {"repo": "http://reader:word@a.example/ stable main"}`, "names a user"},
		{"apt", `mod_repo {"repo": "http://a.example/ stable main", "url": "http://b.example/"}`, "is not that of the repository"},
		{"apt", `mod_repo {"repo": "http://a.example/ stable main", "key": "x y"}`, "no absolute path"},
		{"dnf", `mod_repo {"repo": "none"}`, "there is no repository none: give its url"},
		{"dnf", `mod_repo {"repo": "main", "enabled": false}`, "main is no repository"},
		{"dnf", `del_repo {"repo": "../x"}`, "no name of a repository"},
		{"dnf", `mod_repo {"repo": "long", "url": "http://b.example/"}`, "x.repo:2: baseurl goes on"},
		{"pacman", `mod_repo {"repo": "options", "url": "http://a.example/"}`, "options is no repository"},
		{"pacman", `del_repo {"repo": "options"}`, "options is no repository"},
		{"pacman", `mod_repo {"repo": "none", "enabled": true}`, "pacman.conf: there is no repository none"},
		{"pacman", `mod_repo {"repo": "none", "key": "/x"}`, "key"},
		{"apk", `mod_repo {"repo": "-x"}`, "no repository of apk"},
		{"apk", `mod_repo {"repo": "http://reader:word@a.example/"}`, "names a user"},
		{"apk", `mod_repo {"repo": "http://a.example/ #"}`, "no repository of apk"},
	} {
		root := t.TempDir()
		before := tree{"/etc/apt/sources.list.d/.keep": "", "/etc/apk/.keep": "", "/etc/pacman.conf": pacmanText,
			"/etc/yum.repos.d/x.repo": "[long]\nbaseurl=http://a.example/\n http://c.example/\n"}
		before.write(t, root)
		_, err := callOn(t, onFiles(t, c.backend, root), c.call)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "word") {
			t.Errorf("%s %s: %v", c.backend, c.call, err)
		}
		if after := readTree(t, root); !maps.Equal(before, after) {
			t.Errorf("%s %s: now there is %q", c.backend, c.call, after)
		}
	}
}

// TestFindingF10ReposSwitchedOff: what is switched off is listed, too, and a password is not shown.
func TestFindingF10ReposSwitchedOff(t *testing.T) {
	root := t.TempDir()
	tree{
		"/etc/apt/sources.list":             "# deb http://reader:word@a.example/debian stable main\n# deb is a word\n",
		"/etc/apt/sources.list.d/x.sources": "# a comment\n\nTypes: deb\nURIs: http://b.example/\nSuites: stable/\nEnabled: off\n",
		"/etc/apk/repositories":             "http://reader:word@a.example/main\n#http://b.example/main\n",
		"/etc/pacman.conf":                  pacmanText,
	}.write(t, root)
	for backend, want := range map[string]string{
		"apt":    `{"http://a.example/debian/ stable main":{"enabled":false,"name":"http://a.example/debian/ stable main","url":"http://a.example/debian/"},"http://b.example/ stable/":{"enabled":false,"name":"http://b.example/ stable/","url":"http://b.example/"}}`,
		"apk":    `{"http://a.example/main":{"enabled":true,"name":"http://a.example/main","url":"http://a.example/main"},"http://b.example/main":{"enabled":false,"name":"http://b.example/main","url":"http://b.example/main"}}`,
		"pacman": `{"custom":{"enabled":false,"name":"custom","url":"file:///home/custompkgs"}}`,
	} {
		r, err := callOn(t, onFiles(t, backend, root), "list_repos")
		if err != nil {
			t.Fatal(backend, err)
		}
		if got, err := json.Marshal(r.Common); err != nil || string(got) != want {
			t.Errorf("%s lists\n%s, %v\nwant\n%s", backend, got, err, want)
		}
	}
}
