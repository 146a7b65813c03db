package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
	"github.com/reactivegraph/mgmt/internal/await"
)

// TestRenewTrustedKeys: a reload reads the files of the keys again. A file with a fault changes nothing, and is an error.
func TestRenewTrustedKeys(t *testing.T) {
	dir, w := t.TempDir(), memory.New()
	defer w.Close()
	path := filepath.Join(dir, "keys.pub")
	var keys []deploy.Public
	var texts []string
	for _, name := range []string{"a", "b"} {
		k, err := deploy.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		if err := deploy.WriteKey(filepath.Join(dir, name), k); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		keys, texts = append(keys, k.Public()), append(texts, string(text))
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(texts[0])
	log := slog.New(slog.DiscardHandler)
	by, err := trust.Open(trust.Options{World: w, Host: "h1", Files: []string{path}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	d := &deploysPart{}
	if err := d.Open(t.Context(), &Daemon{Host: "h1", World: w, Operators: by, Folder: &state.Folder{}, Config: Config{Log: log}}); err != nil {
		t.Fatal(err)
	}
	trusts := func(want ...deploy.Public) {
		t.Helper()
		got := by.Trusted()
		if len(got) != len(want) || got[len(got)-1].ID != want[len(want)-1].ID {
			t.Errorf("%v are trusted, not %v", got, want)
		}
	}
	trusts(keys[0])
	write(texts[0] + texts[1])
	if err := d.renew(); err != nil {
		t.Fatal(err)
	}
	trusts(keys...)
	write("no key")
	if err := d.renew(); err == nil {
		t.Error("a file without a key is taken")
	}
	trusts(keys...)
	write(texts[1])
	if err := d.renew(); err != nil {
		t.Fatal(err)
	}
	trusts(keys[1])
}

// TestDeploysFollowTheStore: the graph of a deploy sees the hosts and the schedules of the store, and wakes when they change.
func TestDeploysFollowTheStore(t *testing.T) {
	w := memory.New()
	defer w.Close()
	put := func(key, value string) {
		t.Helper()
		if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
	}
	put(hosts.MemberKey("w2"), `{"name":"w2","facts":{"cpus":2}}`)
	put(hosts.ScheduleKey("all", "b", "w2"), `{"strategy":"alpha","count":1}`)
	b := &deploy.Bundle{Graphs: []string{"g"}, Files: []deploy.File{{Name: "g", Data: []byte(
		`{comment: "${{ string(hosts['w2'].cpus) }} ${{ scheduled('b').join(',') }}", resources: {}}`)}}}
	o := yaml.Options{Facts: func() map[string]any { return map[string]any{"hostname": "w1"} }}
	v := View(t.Context(), w, o, gapi.Env{Hostname: "w1"})
	defer v.Close()
	// The first answers of the store wake, too, so a wake-up says nothing of its cause.
	ctx, cancel := context.WithTimeout(t.Context(), await.Left())
	defer cancel()
	says := func(want string) {
		t.Helper()
		for {
			d, err := v.Load(b).Result()
			if err == nil && d.Comment == want {
				return
			}
			select {
			case <-v.Wake:
			case <-ctx.Done():
				t.Fatalf("%+v, %v; want %q", d, err, want)
			}
		}
	}
	says("2 w2")
	put(hosts.MemberKey("w2"), `{"name":"w2","facts":{"cpus":4}}`)
	says("4 w2")
	put(hosts.ScheduleKey("all", "b", "w1"), `{"strategy":"alpha","count":1}`)
	says("4 w1")
}
