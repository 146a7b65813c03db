package engine_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
)

const sshKey = "AAAAC3NzaC1lZDI1NTE5AAAAIJmN2tB7PnFGmpcbwJbI4H1wVTZ2xVEr9fQDXL0kA4i1"

// planThenRun plans a graph below a root and runs it. Both have to change the same resources, with none failed and none unknown. It
// returns these without the root.
func planThenRun(t *testing.T, root, graph string) (change []string) {
	t.Helper()
	graph = strings.ReplaceAll(graph, "ROOT", root)
	short := func(id string) string { return strings.ReplaceAll(id, root+"/", "") }
	with, f := from(graph, mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if s.State == resgraph.StateWouldChange {
			change = append(change, short(s.Resource))
		} else if s.State != resgraph.StateOK {
			t.Errorf("%s is %s until %q: %v", short(s.Resource), s.State, s.Until, s.Err)
		}
	}
	var mu sync.Mutex
	changed := map[string]bool{}
	o := mgmt.Options{State: mgmt.StateIn(t.TempDir()), ConvergedExit: true, ConvergedTimeout: time.Millisecond}
	o.Observer.Ran = func(r reactor.Run) {
		mu.Lock()
		defer mu.Unlock()
		if r.Changed {
			changed[short(r.Resource)] = true
		}
	}
	with, f = from(graph, o)
	if _, err := mgmt.Run(t.Context(), with, f); err != nil {
		t.Fatal(err)
	}
	slices.Sort(change)
	if did := slices.Sorted(maps.Keys(changed)); !slices.Equal(did, change) {
		t.Errorf("the plan has %q\nthe run has changed %q", change, did)
	}
	return change
}

// TestFindingL1FilesOfOtherKinds: a kind that has a part of a file sees in a plan what resources above would write there, and those
// below see its part.
func TestFindingL1FilesOfOtherKinds(t *testing.T) {
	t.Parallel()
	keys, err := filepath.Abs("../../resources/internal/keyring/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, there, makes  string // the names of one that is right, and of one that makes its part
		rest, made, content string
	}{
		{kind: "sysctl", there: "kernel.sysrq", makes: "kernel.panic", rest: "path: FILE, value: 1, runtime: false", made: "kernel.sysrq = 1\n", content: "kernel.panic = 1\n"},
		{kind: "mount", there: "/mnt/a", makes: "/mnt/b", rest: "fstab: FILE, device: /dev/none, type: ext4, state: listed",
			made: "/dev/none /mnt/a ext4 defaults 0 0\n", content: "/dev/none /mnt/b ext4 defaults 0 0\n"},
		{kind: "crontab", there: "a in ROOT/made.conf", makes: "b in ROOT/new/it.conf", rest: "command: x, special: daily",
			made: "# mgmt name: a\n@daily x\n", content: "# mgmt name: b\n@daily x\n"},
		{kind: "ssh_authorized_key", there: "a in ROOT/made.conf", makes: "b in ROOT/new/it.conf", rest: "type: ssh-ed25519, key: " + sshKey,
			made: "ssh-ed25519 " + sshKey + " a\n", content: "ssh-ed25519 " + sshKey + " b\n"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(root+"/copy", []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			lines := func(name, file string) string {
				return fmt.Sprintf("  - {name: %q, %s, depend: [\"file[%s]\"]}\n", name, strings.ReplaceAll(c.rest, "FILE", file), file)
			}
			graph := fmt.Sprintf(`
graph: files
resources:
  file:
  - {name: ROOT/new/}
  - {name: ROOT/made.conf, content: %q, keep: true}
  - {name: ROOT/new/it.conf, content: "", mode: "0600", keep: true}
  - {name: ROOT/copy, source: ROOT/new/it.conf, depend: ["%s[%s]"]}
  %[2]s:
%[4]s`, c.made, c.kind, c.makes, lines(c.there, "ROOT/made.conf")+lines(c.makes, "ROOT/new/it.conf"))
			want := []string{c.kind + "[" + strings.ReplaceAll(c.makes, "ROOT/", "") + "]", "file[made.conf]", "file[new/]", "file[new/it.conf]"}
			slices.Sort(want)
			if got := planThenRun(t, root, graph); !slices.Equal(got, want) {
				t.Errorf("%q would change, want %q", got, want)
			}
		})
	}
	t.Run("apt_key", func(t *testing.T) {
		enginetest.Need(t, "gpg", "gnupg")
		root := t.TempDir()
		got := planThenRun(t, root, strings.ReplaceAll(`
graph: keys
resources:
  file:
  - {name: ROOT/new/}
  - {name: ROOT/a.asc, source: KEYS/a.asc}
  - {name: ROOT/ab.gpg, source: KEYS/ab.gpg}
  - {name: ROOT/copy, source: ROOT/new/a.gpg, depend: ["apt_key[9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3 in ROOT/new/a.gpg]"]}
  apt_key:
  - {name: 9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3 in ROOT/ab.gpg, source: ROOT/a.asc, depend: ["file[ROOT/ab.gpg]"]}
  - {name: 9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3 in ROOT/new/a.gpg, source: ROOT/a.asc}
  - {name: 6BF72A2ADC8D83237D5833F8925A69BA112EC624 in ROOT/new/a.gpg, state: absent, depend: ["file[ROOT/new/]"]}
`, "KEYS", keys))
		want := []string{"apt_key[9E694A0A6AB6DA43DA678CA6C01A8E626F088CD3 in new/a.gpg]", "file[a.asc]", "file[ab.gpg]", "file[copy]", "file[new/]"}
		if !slices.Equal(got, want) {
			t.Errorf("%q would change, want %q", got, want)
		}
	})
}

// TestFindingL1PrivateInAPlan: a plan shows what stands in a file that a resource above shuts other users out of as a run would.
func TestFindingL1PrivateInAPlan(t *testing.T) {
	t.Parallel()
	graph := strings.ReplaceAll(`
graph: private
resources:
  file:
  - {name: ROOT/app.ini, content: "[main]\nuser = confined-one\n", mode: "0600", keep: true}
  ini_setting:
  - {name: "ROOT/app.ini [main] user", value: confined-two}
`, "ROOT", t.TempDir())
	with, f := from(graph, mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if strings.HasPrefix(s.Resource, "ini_setting[") && (len(s.Changes) != 1 || strings.Contains(s.Changes[0].String(), "confined-")) {
			t.Errorf("%s: %s", s.Resource, s.Changes)
		}
	}
}

// TestFindingL1Downloads: who looks at what a download would bring waits for it, unless it comes from a file of the machine.
func TestFindingL1Downloads(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "new\n") }))
	t.Cleanup(web.Close)
	for name, text := range map[string]string{"fetched": "old\n", "copy": "old\n", "local copy": "new\n"} {
		if err := os.WriteFile(root+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	graph := strings.NewReplacer("ROOT", root, "URL", web.URL).Replace(`
graph: downloads
resources:
  download:
  - {name: ROOT/fetched, url: URL}
  - {name: ROOT/local, url: "file://ROOT/source", depend: ["file[ROOT/source]"]}
  file:
  - {name: ROOT/source, content: "new\n"}
  - {name: ROOT/copy, source: ROOT/fetched, depend: ["download[ROOT/fetched]"]}
  - {name: ROOT/local copy, source: ROOT/local, depend: ["download[ROOT/local]"]}
`)
	with, f := from(graph, mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		want, until := resgraph.StateWouldChange, ""
		switch strings.ReplaceAll(s.Resource, root+"/", "") {
		case "file[copy]":
			want, until = resgraph.StateUnknown, "download["+root+"/fetched]"
		case "file[local copy]":
			want = resgraph.StateOK
		}
		if s.State != want || s.Until != until {
			t.Errorf("%s is %s until %q: %v", s.Resource, s.State, s.Until, s.Err)
		}
	}
}

// TestFindingL1TimersAndHomes: a timer that a cleared folder takes away is gone in a plan, and a home that another resource makes is there.
func TestFindingL1TimersAndHomes(t *testing.T) {
	root := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", root+"/config")
	for name, text := range map[string]string{
		"config/systemd/user/job.timer": "[Timer]\nOnCalendar=daily\n", "image/etc/group": "bot:x:900:\n",
		"image/etc/passwd": "bot:x:900:900::/home/bot:/bin/false\n", "image/etc/shadow": "bot:!:19000::::::\n",
	} {
		if err := os.MkdirAll(filepath.Dir(root+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with, f := from(strings.ReplaceAll(`
graph: homes
resources:
  file:
  - {name: ROOT/config/systemd/, state: absent, recurse: true, force: true}
  - {name: ROOT/image/home/bot/, recurse: true}
  cron: [{name: job, session: true, state: absent, depend: ["file[ROOT/config/systemd/]"]}]
  user: [{name: bot, root: ROOT/image, managehome: true, depend: ["file[ROOT/image/home/bot/]"]}]
`, "ROOT", root), mgmt.Options{State: mgmt.StateIn(t.TempDir())})
	plan, err := mgmt.Plan(t.Context(), with, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range plan.Steps {
		if want := strings.HasPrefix(s.Resource, "file["); want != (s.State == resgraph.StateWouldChange) {
			t.Errorf("%s is %s: %s, %v", s.Resource, s.State, s.Changes, s.Err)
		}
	}
}
