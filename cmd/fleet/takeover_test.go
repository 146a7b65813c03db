package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/seal"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// killed is a store that is lost at a write, before it or right after it: so ends a program that is killed there.
type killed struct {
	world.World
	at     int // the number of the write, from 1; 0 for none
	after  bool
	writes int
}

var errCut = errors.New("the program is killed")

func (c *killed) Txn(ctx context.Context, compares []world.Compare, ops []world.Op) (rev int64, ok bool, err error) {
	if c.writes++; c.writes == c.at && !c.after {
		return 0, false, errCut
	}
	rev, ok, err = c.World.Txn(ctx, compares, ops)
	if c.writes == c.at {
		return 0, false, errCut
	}
	return rev, ok, err
}

// TestFindingH6MigrateKilled: a takeover of an older store that is killed before or after any of its writes, and begun again, comes to the same end: all hosts
// with their roles and keys, and all deploys with their numbers and files. Between the two the store is one of an older mgmt or has an id, the deploys are
// signed, and a host with an older deploy belongs to no other store at the end.
func TestFindingH6MigrateKilled(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "deploy.key")
	key, err := deploy.NewKey()
	if err == nil {
		err = deploy.WriteKey(keyFile, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	trusted := []deploy.Public{key.Public()}
	var claims []seal.Recipient
	for i := range 3 {
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, seal.Recipient{Host: fmt.Sprint("web", i), Recipient: identity.Recipient().String(), Topics: []string{"all", fmt.Sprint("group:g", i)}})
	}
	// older writes what an older mgmt leaves.
	older := func() *memory.World {
		w := memory.New()
		put := func(key string, v any) {
			t.Helper()
			text, err := json.Marshal(v)
			if err == nil {
				_, _, err = w.Txn(t.Context(), nil, []world.Op{{Key: key, Value: text}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range claims {
			put(seal.Key(c.Host), c)
			put(deploy.ReportKey(c.Host), deploy.Report{Host: c.Host, Topics: c.Topics, Deploys: map[string]deploy.Standing{"all": {Number: 2}}})
		}
		for number := range int64(3) {
			record, err := key.Sign(deploy.Manifest{Topic: "all", Number: number + 1, Digest: fmt.Sprint("sha256:", number), Size: 1, Parts: 1, Graphs: []string{"g"}})
			if err != nil {
				t.Fatal(err)
			}
			put(fmt.Sprintf("deploys/all/record/%012d", number+1), record)
		}
		put(deploy.RolloutKey("all"), deploy.Rollout{Number: 3, State: deploy.Done})
		return w
	}
	migrate := func(w world.World) error {
		to := NewTakeover(&cli.App{TrustOthers: true, Out: io.Discard, Err: io.Discard, In: &bytes.Reader{}})
		to.yes, to.signing.Sign = true, keyFile
		return to.take(t.Context(), w, nil)
	}
	// state says what is signed, with the id of the store in the place of which it says *.
	state := func(w world.World) (store, text string) {
		t.Helper()
		s := deploy.Store{World: w}
		fleet, err := s.Fleet(t.Context(), trusted)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(fleet.Hosts)) {
			h := fleet.Hosts[name]
			fmt.Fprintln(&out, name, h.Roles, h.Recipient, h.Store == fleet.Store)
		}
		history, err := s.History(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range history {
			m, err := d.Record.Verify(trusted, d.Topic, d.Number)
			fmt.Fprintln(&out, d.Number, m.Digest, m.Store == fleet.Store, err)
		}
		rollout, err := s.Rollout(t.Context(), "all")
		fmt.Fprintln(&out, rollout.Number, rollout.State, err, len(fleet.Faulty))
		return fleet.Store, out.String()
	}
	whole := &killed{World: older()}
	if err := migrate(whole); err != nil {
		t.Fatal(err)
	}
	_, want := state(whole)
	if n := strings.Count(want, "true"); n != 6 || whole.writes < 7 {
		t.Fatalf("%d of 6 are signed, by %d writes:\n%s", n, whole.writes, want)
	}
	for at := range whole.writes {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("killed at write %d, after it: %t", at+1, after)
			w := older()
			host := deploy.OpenPin(deploy.PinOptions{Host: "web1", Old: true, Trusted: func() []deploy.Public { return trusted }})
			if err := migrate(&killed{World: w, at: at + 1, after: after}); !errors.Is(err, errCut) {
				t.Fatalf("%s: %v", name, err)
			}
			if err := host.Meet(t.Context(), w); err != nil {
				t.Errorf("%s: a host meets the store: %v", name, err)
			}
			between, text := state(w)
			if strings.Count(text, "sha256:") != 3 || strings.Count(text, "<nil>") != 4 || between != host.Store() {
				t.Errorf("%s: the store %q has\n%s", name, between, text)
			}
			if err := migrate(w); err != nil {
				t.Errorf("%s: again: %v", name, err)
			}
			end, got := state(w)
			if got != want || between != "" && between != end {
				t.Errorf("%s: it was %q and is %q with\n%swant\n%s", name, between, end, got, want)
			}
			if err := host.Meet(t.Context(), w); err != nil || host.Store() != end {
				t.Errorf("%s: the host belongs to %q: %v", name, host.Store(), err)
			}
			if err := migrate(&killed{World: w, at: 1}); err != nil {
				t.Errorf("%s: there is something left to do: %v", name, err)
			}
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
		to := &Takeover{yes: c.yes}
		p := to.plan(&deploy.Fleet{StoreRecord: deploy.StoreRecord{Store: c.store, Number: 1}}, key, nil, claims, nil)
		if (len(p.hosts) == 1) != c.takes {
			t.Errorf("%+v: it takes over %v", c, p.hosts)
		}
		if left := strings.Join(p.left, "\n"); !c.takes && !strings.Contains(left, "foe is left out: it says its roles db itself; mgmt hosts allow foe --role db") {
			t.Errorf("%+v: it says %q", c, left)
		}
	}
}
