package entries

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/provider"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
)

// sharedHost is a Host with what the files of a graph have in common.
type sharedHost struct {
	engine.Host
	files *files.Shared
}

func (h sharedHost) SharedOf(key string) engine.Shared {
	if key == "file" {
		return h.files
	}
	return nil
}

// putOpen makes a file with a mode; with acl, a user has an entry in its access list.
func putOpen(t *testing.T, path string, mode uint32, acl bool) {
	t.Helper()
	kindtest.Lay(t, path, "a\n[main]\nkey = old\n")
	kindtest.Must(t, unix.Chmod(path, mode))
	if !acl {
		return
	}
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 6, 12345}, {4, 0, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	if err := unix.Setxattr(path, "system.posix_acl_access", list, 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
		t.Fatal(err)
	}
}

// TestFindingA5SecretIntoAnOpenFile: a file that gets a secret is taken from other users if
// no mode is given, also when the text is there already, and keeps a mode that is given.
func TestFindingA5SecretIntoAnOpenFile(t *testing.T) {
	const canary = "canary-51f0"
	secret := func(f *enginetest.Fake, key string) {
		f.SetRecv(map[string]*engine.Send{key: {Key: "password", Secret: true}})
	}
	kinds := map[string]func(t *testing.T, path string, files *files.Shared) (engine.Res, *enginetest.Fake){
		"file": func(t *testing.T, path string, files *files.Shared) (engine.Res, *enginetest.Fake) {
			r := &file.Res{Path: path, Content: new(canary)}
			f := kindtest.Begin(t, "file", r, enginetest.WithShared(files))
			secret(f, "content")
			return r, f
		},
		"line": func(t *testing.T, path string, files *files.Shared) (engine.Res, *enginetest.Fake) {
			r := &Line{File: path, Content: canary, Create: true}
			f := kindtest.Begin(t, "line", r, enginetest.WithShared(files))
			secret(f, "content")
			return r, f
		},
		"ini secret": func(t *testing.T, path string, files *files.Shared) (engine.Res, *enginetest.Fake) {
			r := kindtest.Filled(t, iniKindHere(t), path+" [main] key", map[string]any{"secret": canary})
			return r, kindtest.Begin(t, "ini_setting", r, enginetest.WithHost(sharedHost{enginetest.NewHost(), files}))
		},
		"ini value": func(t *testing.T, path string, files *files.Shared) (engine.Res, *enginetest.Fake) {
			r := kindtest.Filled(t, iniKindHere(t), path+" [main] key", map[string]any{"value": canary})
			f := kindtest.Begin(t, "ini_setting", r, enginetest.WithHost(sharedHost{enginetest.NewHost(), files}))
			secret(f, "value")
			return r, f
		},
	}
	for name, make := range kinds {
		for _, old := range []string{"none", "0644", "0666", "0600", "acl"} {
			for _, said := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", old, " ", said), func(t *testing.T) {
					files := files.New(nil)
					defer func() { kindtest.Must(t, files.Close()) }()
					path := t.TempDir() + "/f"
					mode := uint32(0o600)
					if old != "none" {
						_, _ = fmt.Sscanf(strings.TrimPrefix(old, "acl"), "%o", &mode)
						putOpen(t, path, mode, old == "acl")
					}
					if said {
						if name == "file" || old == "none" {
							return // it says the mode itself, or has none to keep
						}
						files.SayMode(path, 1)
					} else {
						mode = 0o600
					}
					r, f := make(t, path, files)
					if got := kindtest.Verbs(t, f, r, true); got == "" || strings.Contains(got, "error") {
						t.Fatal(got)
					}
					st, err := os.Stat(path)
					kindtest.Must(t, err)
					if old == "acl" && said {
						return // what the list lets be is what the group shows
					}
					if uint32(st.Mode().Perm()) != mode {
						t.Errorf("it has the mode %s, and not %o", st.Mode(), mode)
					}
					if said {
						return
					}
					kindtest.Must(t, os.Chmod(path, 0o644))
					if got := kindtest.Verbs(t, f, r, true); got == "" || strings.Contains(got, canary) {
						t.Errorf("opened again, it said %q", got)
					}
					if st, err = os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
						t.Errorf("it was left open: %s", st.Mode())
					}
					if got := kindtest.Verbs(t, f, r, true); got != "" {
						t.Errorf("it does not rest: %s", got)
					}
				})
			}
		}
	}
}

// TestFindingA7CrontabOfAUser: what runs in a crontab of the crontab command, which no other user may
// read, is not shown, and when it runs is.
func TestFindingA7CrontabOfAUser(t *testing.T) {
	c := &crontabs{}
	for attribute, want := range map[string]bool{"command": true, "environment": true, "minute": false, "special": false} {
		if got := c.Confined(provider.Record{"target": ""}, attribute); got != want {
			t.Errorf("%s: %t", attribute, got)
		}
		if c.Confined(provider.Record{"target": "/t"}, attribute) {
			t.Errorf("%s of a file that has a mode of its own", attribute)
		}
	}
}

// TestFindingA7NotForAll: the text of a file that shuts other users out, by its mode before
// or after, is in no change.
func TestFindingA7NotForAll(t *testing.T) {
	const canary = kindtest.Canary
	for name, c := range map[string]struct {
		before string
		mode   uint32
		make   func(path string) engine.Res
		shown  bool
	}{
		"file, closed before":  {canary, 0o600, func(p string) engine.Res { return &file.Res{Path: p, Content: new("x"), Mode: "0644"} }, false},
		"file, closed after":   {canary, 0o644, func(p string) engine.Res { return &file.Res{Path: p, Content: new("x"), Mode: "0640"} }, false},
		"file, new and closed": {"", 0, func(p string) engine.Res { return &file.Res{Path: p, Content: new(canary), Mode: "0600"} }, false},
		"file, open":           {canary, 0o644, func(p string) engine.Res { return &file.Res{Path: p, Content: new("x")} }, true},
		"line, closed":         {"a=" + canary + "\n", 0o600, func(p string) engine.Res { return &Line{File: p, Content: "a=" + canary + "2", Match: "^a="} }, false},
		"line, open":           {"a=" + canary + "\n", 0o644, func(p string) engine.Res { return &Line{File: p, Content: "a=2", Match: "^a="} }, true},
		"ini, closed": {"[main]\nkey = " + canary + "\n", 0o600, func(p string) engine.Res {
			return kindtest.Filled(t, iniKindHere(t), p+" [main] key", map[string]any{"value": canary + "2"})
		}, false},
		"host, closed": {"192.0.2.1 one.example " + canary + "\n", 0o600, func(p string) engine.Res {
			k, _ := kindtest.KindOf(t, hostDefinition(), func() provider.Provider { return &hosts{file: p} })
			return kindtest.Filled(t, k, "one.example", map[string]any{"ip": "192.0.2.1", "host_aliases": []any{canary + "2"}})
		}, false},
		"crontab, closed": {"# mgmt name: job\n* * * * * true " + canary + "\n", 0o600, func(p string) engine.Res {
			k, _ := kindtest.KindOf(t, crontabDefinition(), func() provider.Provider { return &crontabs{self: func() string { return "me" }} })
			return kindtest.Filled(t, k, "job in "+p, map[string]any{"command": "false", "environment": []any{"T=" + canary}})
		}, false},
	} {
		kind, name, _ := strings.Cut(name, ", ")
		kind = strings.NewReplacer("ini", "ini_setting").Replace(kind)
		kindtest.NotForAll(t, kind, map[string]kindtest.Part{name: {Before: c.before, Mode: c.mode, Make: c.make, Shown: c.shown}})
	}
}
