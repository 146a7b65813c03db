package fleet

import (
	"bytes"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/render"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// TestFindingJ14Migrate: a takeover of a store in which somebody has written what he likes does not panic, deletes nothing, alters nothing that is not its own, and
// its output controls no terminal. A host that is right is taken over all the same, unless the record
// of the store itself is wrong, which is an error.
func TestFindingJ14Migrate(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "deploy.key")
	key, err := deploy.NewKey()
	if err == nil {
		err = deploy.WriteKey(keyFile, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"", ".", "..", "../../x", "a/b", "a\nb: roles none", "\x1b]0;x\a", "\u202e", "a b", "\xff", "%2e%2e", "%zz", "web1/../web2", strings.Repeat("n", 900)}
	records := []string{
		"", "null", "true", "[]", "{", "{}", "\x00\xff", `"x"`, "1e999999", strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000),
		`{"host": "other", "topics": ["group:\u001b[2J"], "recipient": "age1x", "deploys": {"all": {"number": 99999999999999999999}}}`,
		`{"host": "web1", "host": "web2", "topics": ["group:a", "group:a"], "topics": null}`,
		`{"Host": 1, "number": -1, "state": "\u202e", "schema": 99, "version": 99}`,
		`{"manifest": "e30=", "signatures": [{"key": "x", "sig": "eA=="}]}`, `{"host": "` + strings.Repeat("x", 1<<18) + `"}`,
	}
	good := deploy.Report{Host: "good", Topics: []string{"group:web"}}
	for i, record := range records {
		for _, c := range []struct{ dry, store bool }{{true, false}, {false, false}, {false, true}} {
			dry, w := c.dry, memory.New()
			put := func(key, value string) {
				t.Helper()
				if len(key) > w.Limits().Key {
					return
				}
				if _, _, err := w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: []byte(value)}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range names {
				for _, key := range []string{deploy.ReportKey(name), seal.Key(name), deploy.HostKey(name), deploy.RolloutKey(name), "deployed/" + name, "recipients/" + name, "fleet/" + name, "deploys/" + name, "deploys/all/record/" + name} {
					put(key, record)
				}
			}
			put("deploys/all/record/000000000001", record)
			put(deploy.ReportKey(good.Host), `{"host": "good", "topics": ["group:web"]}`)
			if c.store { // the id of the store is what he likes, too
				put(deploy.StoreKey(), record)
			}
			before := contentOf(t, w)
			var out bytes.Buffer
			to := NewTakeover(&cli.App{TrustOthers: true, Out: &out, Err: &out, In: &bytes.Reader{}})
			to.yes, to.dry, to.signing.Sign = true, dry, keyFile
			err := to.take(t.Context(), w, nil)
			after := contentOf(t, w)
			for k, v := range before {
				if got, there := after[k]; !there || got != v && !strings.HasPrefix(k, "fleet/") && !strings.HasPrefix(k, "deploys/all/record/") {
					t.Errorf("record %d, dry %t: %q is altered or gone", i, dry, k)
				}
			}
			if dry && !maps.Equal(before, after) {
				t.Errorf("record %d: a dry run has written", i)
			}
			text := out.String()
			if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }); at >= 0 {
				t.Errorf("record %d, dry %t: it writes %.60q", i, dry, text[at:])
			}
			if err != nil {
				var e bytes.Buffer
				render.PrintError(&e, "mgmt", "mgmt", err)
				if strings.ContainsFunc(strings.ReplaceAll(e.String(), "\n", ""), unicode.IsControl) || e.Len() > 1<<20 {
					t.Errorf("record %d, dry %t: the error is %.200q", i, dry, e.String())
				}
				if !c.store {
					t.Errorf("record %d, dry %t: %.200v", i, dry, err)
				}
			} else if !dry && !strings.Contains(text, "good: roles group:web") && !strings.Contains(text, "good: roles web") {
				t.Errorf("record %d: the host that is right is not taken over:\n%.2000s", i, text)
			}
			_ = w.Close()
		}
	}
}

// contentOf returns all keys of a store with their values.
func contentOf(t *testing.T, w world.World) map[string]string {
	t.Helper()
	p, err := w.List(t.Context(), "", world.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, kv := range p.KVs {
		all[kv.Key] = string(kv.Value)
	}
	return all
}
