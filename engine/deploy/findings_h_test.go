package deploy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/memory"
)

// operator writes records, each one second after the one before.
type operator struct {
	t     *testing.T
	store deploy.Store
	key   deploy.Key
	more  []deploy.Public // that count, too
	now   time.Time
}

func newOperator(t *testing.T) *operator {
	return &operator{t: t, store: newStore(t), key: newKey(t), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (o *operator) tick() time.Time {
	o.now = o.now.Add(time.Second)
	return o.now
}

func (o *operator) fleet() *deploy.Fleet {
	o.t.Helper()
	f, err := o.store.Fleet(o.t.Context(), append(slices.Clone(o.more), o.key.Public()))
	must(o.t, err)
	return f
}

func (o *operator) allow(host, recipient string, roles ...string) {
	o.t.Helper()
	must(o.t, o.store.SetHost(o.t.Context(), o.key, o.fleet(), deploy.HostRecord{Host: host, Roles: roles, Recipient: recipient, Time: o.tick()}))
}

func (o *operator) remove(host string, serials ...string) {
	o.t.Helper()
	must(o.t, o.store.Remove(o.t.Context(), o.key, o.fleet(), host, serials, "me", o.tick()))
}

// value returns the value of a key, as a foe copies it.
func (o *operator) value(key string) []byte {
	o.t.Helper()
	kv, err := o.store.World.Get(o.t.Context(), key)
	must(o.t, err)
	return kv.Value
}

// put writes a key, as a foe with access to the store does; nil deletes it.
func (o *operator) put(key string, value []byte) {
	o.t.Helper()
	_, _, err := o.store.World.Txn(o.t.Context(), nil, []world.Op{{Key: key, Value: value, Delete: value == nil}})
	must(o.t, err)
}

// TestFindingH6RolesAreTheOperators: a host belongs to the groups of its signed record, whatever it says of itself, and no record of another
// host, store, key or time stands for it.
func TestFindingH6RolesAreTheOperators(t *testing.T) {
	o := newOperator(t)
	o.allow("db1", "", "db")
	o.allow("web1", "", "web")
	live := []string{"web1", "db1", "new"}
	reports := []deploy.Report{{Host: "db1", Topics: []string{"all"}}, {Host: "new", Topics: []string{"all", "group:db"}}, {Host: "web1", Topics: []string{"all", "group:db"}}}
	members := func(topic, want string) {
		t.Helper()
		if got := strings.Join(o.fleet().Members(topic, live, reports), " "); got != want {
			t.Errorf("%s has %q, want %q", topic, got, want)
		}
	}
	members("group:db", "db1")
	members("group:web", "web1")
	members("all", "db1 new web1")
	members("host:web1", "web1")

	web := o.value(deploy.HostKey("web1"))
	faulty := func(name string, value []byte, is error) {
		t.Helper()
		o.put(deploy.HostKey("web1"), value)
		if f := o.fleet(); !errors.Is(f.Faulty["web1"], is) || f.Has("web1", "group:db") {
			t.Errorf("%s: %v", name, f.Faulty["web1"])
		}
	}
	other := newOperator(t)
	other.allow("web1", "", "db")
	faulty("of another key", other.value(deploy.HostKey("web1")), deploy.ErrUntrusted)
	other.key, other.store = o.key, newStore(t)
	other.allow("web1", "", "db")
	faulty("of another store", other.value(deploy.HostKey("web1")), deploy.ErrStore)
	faulty("of another host", o.value(deploy.HostKey("db1")), deploy.ErrSignature)
	faulty("altered", []byte(strings.Replace(string(web), `web\"`, `db\"`, 1)), deploy.ErrSignature)
	faulty("of the store", o.value(deploy.StoreKey()), deploy.ErrSignature)
	faulty("no JSON", []byte("{"), deploy.ErrRecord)

	// A record that counted once does not come back, also where a foe took the last one away.
	o.put(deploy.HostKey("web1"), web)
	o.allow("web1", "", "web", "db")
	both := o.value(deploy.HostKey("web1"))
	members("group:db", "db1 web1")
	o.allow("web1", "", "web")
	faulty("of an earlier time", both, deploy.ErrReplay)
	o.allow("web1", "", "web", "db")
	both = o.value(deploy.HostKey("web1"))
	o.put(deploy.HostKey("web1"), nil)
	o.put(deploy.ReportKey("web1"), []byte(`{"host":"web1"}`))
	o.allow("web1", "", "web")
	faulty("of before it was missing", both, deploy.ErrReplay)
	o.allow("web1", "", "web")
	members("group:db", "db1")
}

// TestFindingH7ReadersAreTheOperators: secrets are encrypted to the recipients of signed records, and an earlier recipient does not come back.
func TestFindingH7ReadersAreTheOperators(t *testing.T) {
	o := newOperator(t)
	o.allow("db1", "age-db1", "db")
	o.allow("db2", "", "db") // was not admitted yet
	o.allow("web1", "age-web1", "web")
	readers := func(topic, want string) {
		t.Helper()
		if got := strings.Join(o.fleet().Readers(topic), " "); got != want {
			t.Errorf("%q is read by %q, want %q", topic, got, want)
		}
	}
	readers("group:db", "age-db1")
	readers("", "age-db1 age-web1")
	readers("host:web1", "age-web1")
	first := o.value(deploy.HostKey("db1"))
	o.allow("db1", "age-db1-new", "db")
	readers("group:db", "age-db1-new")
	o.put(deploy.HostKey("db1"), first)
	readers("group:db", "")
	o.allow("db1", "age-db1-new", "db")
	last := o.value(deploy.HostKey("db1"))
	o.remove("db1")
	readers("group:db", "")
	o.put(deploy.HostKey("db1"), last)
	readers("group:db", "")
}

// pinOf opens the pin of a host.
func (o *operator) pinOf(path, recipient string) *deploy.Pin {
	return deploy.OpenPin(deploy.PinOptions{
		Path: path, Host: "web1", Trusted: func() []deploy.Public { return append(slices.Clone(o.more), o.key.Public()) }, Recipient: func() string { return recipient },
	})
}

// TestFindingH9RemovedHosts: a removed host and its certificates are refused, and a host that has seen the list never takes an older one, also after a
// restart and without the store. A host that comes back needs a new certificate.
func TestFindingH9RemovedHosts(t *testing.T) {
	o := newOperator(t)
	o.allow("web1", "age-web1", "web")
	o.allow("web2", "", "web")
	before, path := o.value(deploy.StoreKey()), filepath.Join(t.TempDir(), "deploys", "store.json")
	p := o.pinOf(path, "age-web1")
	must(t, p.Meet(t.Context(), o.store.World))
	refused := func(name, serial string, want bool) {
		t.Helper()
		list := p.List()
		if err := list.RefuseCertificate(name, serial); (err != nil) != want {
			t.Errorf("%s %s: %v", name, serial, err)
		}
	}
	refused("web2", "a1", false)
	o.remove("web2", "b2", "a1", "b2")
	o.remove("web2") // again
	must(t, p.Meet(t.Context(), o.store.World))
	refused("web2", "a1", true)
	refused("web2", "ff", true)
	refused("web1", "a1", false)
	if f := o.fleet(); f.Has("web2", "all") || f.Has("web2", "host:web2") || len(f.Members("all", []string{"web2"}, []deploy.Report{{Host: "web2"}})) != 0 {
		t.Error("a removed host belongs to a topic")
	}

	o.put(deploy.StoreKey(), before)
	if err := p.Meet(t.Context(), o.store.World); !errors.Is(err, deploy.ErrReplay) {
		t.Errorf("an older list: %v", err)
	}
	p = o.pinOf(path, "age-web1") // a restart, while the store is away
	refused("web2", "a1", true)
	if err := p.Meet(t.Context(), o.store.World); !errors.Is(err, deploy.ErrReplay) {
		t.Errorf("an older list after a restart: %v", err)
	}
	refused("web2", "a1", true)

	o = newOperator(t)
	o.allow("web2", "")
	o.remove("web2", "a1")
	o.allow("web2", "")
	p = o.pinOf("", "")
	must(t, p.Meet(t.Context(), o.store.World))
	refused("web2", "a1", true)
	refused("web2", "c3", false)
	if !o.fleet().Has("web2", "all") {
		t.Error("a host that was allowed again belongs to no topic")
	}
}

// TestFindingH5Pin: what a host holds of its store decides about the deploys that it has not had.
func TestFindingH5Pin(t *testing.T) {
	o := newOperator(t)
	o.allow("web1", "age-web1")
	id := o.fleet().Store
	path := filepath.Join(t.TempDir(), "store.json")
	check := func(name string, p *deploy.Pin, m deploy.Manifest, want string) {
		t.Helper()
		if code := deploy.Code(p.Check(m, o.now)); code != want {
			t.Errorf("%s: %q, want %q: %v", name, code, want, p.Check(m, o.now))
		}
	}
	p := o.pinOf(path, "age-web1")
	check("before it has met a store", p, deploy.Manifest{Store: id}, "wrong_store")
	// A record of the same name that was made for another machine is not an admission.
	if err := o.pinOf("", "age-other").Meet(t.Context(), o.store.World); !errors.Is(err, deploy.ErrStore) || !strings.Contains(err.Error(), "another machine") {
		t.Errorf("the record of another machine: %v", err)
	}
	must(t, p.Meet(t.Context(), o.store.World))
	for range 2 {
		check("its store", p, deploy.Manifest{Store: id, Expires: o.now}, "")
		check("its store, too late", p, deploy.Manifest{Store: id, Expires: o.now.Add(-time.Second)}, "expired")
		check("another store", p, deploy.Manifest{Store: "x"}, "wrong_store")
		check("no store", p, deploy.Manifest{}, "wrong_store")
		p = o.pinOf(path, "age-web1")
	}
	o.remove("web1")
	must(t, p.Meet(t.Context(), o.store.World))
	check("removed", p, deploy.Manifest{Store: id}, "wrong_store")

	// The list of a key that is trusted no more counts no more: who has stolen it could else bar all later lists. The store stays.
	was := o.key
	o.key = newKey(t)
	o.more = []deploy.Public{was.Public()}
	must(t, o.store.Resign(t.Context(), o.key, o.fleet(), "me", o.tick()))
	o.more = nil
	p = o.pinOf(path, "age-web1")
	if list := p.List(); p.Store() != id || list.Number != 0 {
		t.Errorf("it holds %+v of %q", list, p.Store())
	}
	must(t, p.Meet(t.Context(), o.store.World))
	if list := p.List(); !list.Removed("web1") {
		t.Errorf("it holds %+v", list)
	}

	must(t, os.WriteFile(path, []byte("{"), 0o600))
	p = o.pinOf(path, "age-web1")
	check("damaged", p, deploy.Manifest{Store: id}, "wrong_store")
	if err := p.Meet(t.Context(), o.store.World); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}

// slowWorld lets another writer go first, once.
type slowWorld struct {
	*memory.World
	first func()
}

func (w *slowWorld) Txn(ctx context.Context, c []world.Compare, o []world.Op) (int64, bool, error) {
	if first := w.first; first != nil {
		w.first = nil
		first()
	}
	return w.World.Txn(ctx, c, o)
}

// TestFleetTwoOperators: of two operators who alter the records at once one wins, and the other is told to look again. Nothing is lost.
func TestFleetTwoOperators(t *testing.T) {
	w := &slowWorld{World: memory.New()}
	defer w.Close()
	o := newOperator(t)
	o.store = deploy.Store{World: w}
	o.allow("web1", "", "web", "db")
	fleet := o.fleet()
	w.first = func() { o.remove("web2", "a1") }
	h := deploy.HostRecord{Host: "web1", Roles: []string{"web"}, Time: o.tick()}
	if err := o.store.SetHost(t.Context(), o.key, fleet, h); !errors.Is(err, deploy.ErrChanged) {
		t.Fatalf("the slower one is told %v", err)
	}
	must(t, o.store.SetHost(t.Context(), o.key, o.fleet(), h))
	if f := o.fleet(); !f.Removed("web2") || f.Has("web1", "group:db") || f.Number != 3 {
		t.Errorf("the records are %+v", f.StoreRecord)
	}
}

// TestFoundByTwoOperators: of two operators who take one older store over at once, one is told of the other, and the store has the records of one of them.
func TestFoundByTwoOperators(t *testing.T) {
	s, m := meddled(t)
	o := newOperator(t)
	o.store = deploy.Store{World: m.World}
	list := func(role string) (list []deploy.HostRecord) {
		for _, host := range []string{"a", "b"} {
			list = append(list, deploy.HostRecord{Host: host, Roles: []string{role}, Time: o.tick()})
		}
		return list
	}
	found := func(s deploy.Store, id, role string) error {
		return s.Found(t.Context(), o.key, o.fleet(), id, "me", o.tick(), list(role)...)
	}
	errCut := errors.New("the program is killed")
	m.before = func(call int) error {
		if call < 5 { // a look for the report of a host, and its record, for each of them; the id comes last
			return nil
		}
		m.before = nil
		other := &meddler{World: m.World, before: func(call int) error {
			if call == 3 { // the records are there already
				return errCut
			}
			return nil
		}}
		if err := found(deploy.Store{World: other}, "s2", "others"); !errors.Is(err, errCut) {
			t.Errorf("the other one: %v", err)
		}
		return nil
	}
	if err := found(s, "s1", "mine"); !errors.Is(err, deploy.ErrChanged) {
		t.Errorf("the first one is told %v", err)
	}
	if f := o.fleet(); f.Store != "" || len(f.Hosts) > 0 {
		t.Errorf("something counts: %+v", f)
	}
	must(t, found(s, "s3", "mine"))
	if f := o.fleet(); f.Store != "s3" || !f.Has("a", "group:mine") || !f.Has("b", "group:mine") || len(f.Faulty) > 0 {
		t.Errorf("the records are %+v", f)
	}
}
