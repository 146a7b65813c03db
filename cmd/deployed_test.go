package cmd

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
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
	d := openDeploys(&app{trustOthers: true}, by, "", func() yaml.Options { return yaml.Options{} }, nil, log)
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
		if _, _, err := w.Txn(t.Context(), nil, []engine.Op{{Key: key, Value: []byte(value)}}); err != nil {
			t.Fatal(err)
		}
	}
	put(hosts.MemberKey("w2"), `{"name":"w2","facts":{"cpus":2}}`)
	put(hosts.ScheduleKey("all", "b", "w2"), `{"strategy":"alpha","count":1}`)
	b := &deploy.Bundle{Graphs: []string{"g"}, Files: []deploy.File{{Name: "g", Data: []byte(
		`{comment: "${{ string(hosts['w2'].cpus) }} ${{ scheduled('b').join(',') }}", resources: {}}`)}}}
	o := yaml.Options{Facts: func() map[string]any { return map[string]any{"hostname": "w1"} }}
	v := openView(t.Context(), w, o, gapi.Env{Hostname: "w1"})
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

// TestDeploySeesTheStore: the check of a deploy sees the hosts that the store has, and refuses a host that it does not have.
func TestDeploySeesTheStore(t *testing.T) {
	w := memory.New()
	defer w.Close()
	if _, _, err := w.Txn(t.Context(), nil, []engine.Op{{Key: hosts.MemberKey("w2"), Value: []byte(`{"name":"w2","facts":{"cpus":2}}`)}}); err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"w2": true, "w3": false} {
		var out strings.Builder
		f := &deployFlags{signing: signing{app: &app{out: &out, err: &out}}}
		b := &deploy.Bundle{Graphs: []string{"g"}, Files: []deploy.File{{Name: "g", Data: []byte(`{comment: "${{ string(hosts['` + name + `'].cpus) }}", resources: {}}`)}}}
		if err := f.validate(t.Context(), w, b); (err == nil) != good {
			t.Errorf("%s: %v: %s", name, err, &out)
		}
	}
}

// TestFindingH6MigrateAgain: what a host says of itself is taken over where the operator has looked at it, or where the store is that of an older mgmt. A
// later migrate --yes, such as for another key, leaves it out and says how to give the host its roles.
func TestFindingH6MigrateAgain(t *testing.T) {
	key, err := deploy.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]claim{"foe": {Recipient: "age1foe", Topics: []string{"all", "group:db"}}}
	for _, c := range []struct {
		store string
		yes   bool
		takes bool
	}{{"", true, true}, {"", false, true}, {"s1", false, true}, {"s1", true, false}} {
		to := &takeover{yes: c.yes}
		p := to.plan(&deploy.Fleet{StoreRecord: deploy.StoreRecord{Store: c.store, Number: 1}}, key, nil, claims, nil)
		if (len(p.hosts) == 1) != c.takes {
			t.Errorf("%+v: it takes over %v", c, p.hosts)
		}
		if left := strings.Join(p.left, "\n"); !c.takes && !strings.Contains(left, "foe is left out: it says its roles db itself; mgmt hosts allow foe --role db") {
			t.Errorf("%+v: it says %q", c, left)
		}
	}
}
