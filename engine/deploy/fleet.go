package deploy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/internal/sorted"
)

// The keys of the operator's records; see the package's documentation.
const (
	tableFleet = "fleet/"
	storeKey   = tableFleet + "store"
	hostPrefix = tableFleet + "hosts/"
)

// StoreKey is the key of the record of the store. It is the one key below the prefix of that name.
func StoreKey() string { return storeKey }

// HostKey is the key of the record of a host.
func HostKey(host string) string { return hostPrefix + url.PathEscape(host) }

// StoreRecord says which store this is, and what counts no more in it. All of it is signed.
type StoreRecord struct {
	Store   string       `json:"store"`             // the id, made once
	Number  int64        `json:"number"`            // from 1; each change takes the next one
	Revoked []Revocation `json:"revoked,omitempty"` // sorted by host
	By      string       `json:"by"`
	Time    time.Time    `json:"time"`
}

// Revocation takes trust away from a host.
type Revocation struct {
	Host         string   `json:"host"`
	Below        int64    `json:"below"`             // records of the host with a lower number count no more
	Removed      bool     `json:"removed,omitempty"` // the host belongs to no topic, and none of its certificates counts
	Certificates []string `json:"certificates,omitempty"`
}

// HostRecord says what a host is for. All of it is signed.
type HostRecord struct {
	Store     string    `json:"store"`
	Host      string    `json:"host"`
	Number    int64     `json:"number"` // grows with each change
	Roles     []string  `json:"roles"`
	Recipient string    `json:"recipient,omitempty"` // to whom secrets of objects are encrypted for this host; empty until it was admitted
	Sealed    string    `json:"sealed,omitempty"`    // the same for the files of deploys, where the host has another identity for them
	By        string    `json:"by"`
	Time      time.Time `json:"time"`
}

// Fleet is a store with its hosts as the operator has signed them, at one look.
type Fleet struct {
	StoreRecord                       // the zero value in a store without a record
	Hosts       map[string]HostRecord // the records that count
	Faulty      map[string]error      // the records that do not count, and why

	key      string            // the id of the key of the store's record
	keys     map[string]string // of the hosts' records that count
	revision int64             // of the store's record
	hosts    map[string]int64  // revisions of the hosts' records
	numbers  map[string]int64  // what the records that do not count say of their numbers
}

// ErrChanged tells that another operator was faster.
var ErrChanged = errors.New("another operator has altered the records of the hosts meanwhile: do it again")

// Fleet reads the records of the operator. A record of a host that does not count hides no other. The error is of ErrUntrusted,
// ErrSignature or ErrRecord where the record of the store does not count.
func (s Store) Fleet(ctx context.Context, trusted []Public) (*Fleet, error) {
	f := &Fleet{Hosts: map[string]HostRecord{}, Faulty: map[string]error{}, hosts: map[string]int64{}, numbers: map[string]int64{}, keys: map[string]string{}}
	kv, err := s.World.Get(ctx, storeKey)
	if err != nil && !errors.Is(err, world.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		f.revision = kv.Revision
		var r Record
		if r, f.StoreRecord, err = readStore(kv.Value, trusted); err != nil {
			return nil, err
		}
		f.key = r.Key
	}
	kvs, err := s.list(ctx, hostPrefix)
	if err != nil {
		return nil, err
	}
	for _, kv := range kvs {
		name, err := url.PathUnescape(strings.TrimPrefix(kv.Key, hostPrefix))
		if err != nil || HostKey(name) != kv.Key {
			continue
		}
		f.hosts[name] = kv.Revision
		r, h, err := readHost(kv.Value, trusted, name)
		if err == nil {
			err = f.counts(h)
		}
		if err != nil {
			f.Faulty[name], f.numbers[name] = err, claimed(kv.Value)
			continue
		}
		f.Hosts[name], f.keys[name] = h, r.Key
	}
	return f, nil
}

// Admitted returns the hosts that have a record of the operator. No signature is checked: the list is shown, and gives no right.
func (s Store) Admitted(ctx context.Context) (names []string, err error) {
	kvs, err := s.list(ctx, hostPrefix)
	for _, kv := range kvs {
		if name, err := url.PathUnescape(strings.TrimPrefix(kv.Key, hostPrefix)); err == nil && HostKey(name) == kv.Key {
			names = append(names, name)
		}
	}
	return names, err
}

// readStore reads the value of StoreKey, if one of the keys has signed it.
func readStore(value []byte, trusted []Public) (r Record, s StoreRecord, err error) {
	if err = json.Unmarshal(value, &r); err != nil {
		err = fmt.Errorf("%w: %w", ErrRecord, err)
	} else if err = r.open(trusted, ofStore, &s); err == nil && (s.Store == "" || s.Number < 1) {
		err = fmt.Errorf("%w: it names no store", ErrRecord)
	}
	if err != nil {
		return r, StoreRecord{}, fmt.Errorf("the record of the store: %w", err)
	}
	return r, s, nil
}

// readHost reads the value of HostKey, if one of the keys has signed it for this host.
func readHost(value []byte, trusted []Public, host string) (r Record, h HostRecord, err error) {
	if err = json.Unmarshal(value, &r); err != nil {
		err = fmt.Errorf("%w: %w", ErrRecord, err)
	} else if err = r.open(trusted, ofHost, &h); err == nil && h.Host != host {
		err = fmt.Errorf("%w: it was signed for the host %.60q", ErrSignature, h.Host)
	}
	if err != nil {
		return r, HostRecord{}, fmt.Errorf("the record of the host %.60q: %w", host, err)
	}
	return r, h, nil
}

// claimed returns the number of a record whose signature does not count. A foe who writes a number that cannot be uses none up.
func claimed(value []byte) int64 {
	var r Record
	var h HostRecord
	if json.Unmarshal(value, &r) != nil || json.Unmarshal([]byte(r.Manifest), &h) != nil || h.Number < 0 || h.Number > maxNumber*1000 {
		return 0
	}
	return h.Number
}

// Revocation returns what the operator has taken from a host.
func (s *StoreRecord) Revocation(host string) (v Revocation, found bool) {
	i := slices.IndexFunc(s.Revoked, func(v Revocation) bool { return v.Host == host })
	if i < 0 {
		return Revocation{}, false
	}
	return s.Revoked[i], true
}

// Removed reports whether the operator has removed a host.
func (s *StoreRecord) Removed(host string) bool {
	v, _ := s.Revocation(host)
	return v.Removed
}

// RefuseCertificate says why the holder of a certificate is refused, nil where it is not: its name is that of a removed host, or the certificate
// was revoked with its host, which has come back with another one.
func (s *StoreRecord) RefuseCertificate(name, serial string) error {
	v, _ := s.Revocation(name)
	switch {
	case v.Removed:
		return fmt.Errorf("the host %.60q was removed from the store: mgmt hosts allow brings it back, with a new certificate", name)
	case slices.Contains(v.Certificates, serial):
		return fmt.Errorf("the certificate %s of %.60q was revoked: it needs a new one", serial, name)
	}
	return nil
}

// counts says why a record that was signed counts no more.
func (s *StoreRecord) counts(h HostRecord) error {
	v, _ := s.Revocation(h.Host)
	switch {
	case s.Store == "" || h.Store != s.Store:
		return fmt.Errorf("%w: %.60q, and this one is %q", ErrStore, h.Store, s.Store)
	case v.Removed:
		return errors.New("the host was removed")
	case h.Number < max(v.Below, 1):
		return fmt.Errorf("%w: it has the number %d, and records below %d were revoked", ErrReplay, h.Number, v.Below)
	}
	return nil
}

// Has reports whether a host belongs to a topic. The operator's records alone say who has a role.
func (f *Fleet) Has(host, topic string) bool {
	if f.Removed(host) {
		return false
	}
	role, group := strings.CutPrefix(topic, "group:")
	if group {
		return slices.Contains(f.Hosts[host].Roles, role)
	}
	return topic == "all" || topic == "host:"+host
}

// Readers returns the recipients of the hosts of a topic, sorted; an empty topic is that of all hosts. A host that was not admitted reads nothing.
func (f *Fleet) Readers(topic string) (list []string) {
	for name, h := range f.Hosts {
		if h.Recipient != "" && f.Has(name, cmp.Or(topic, "all")) {
			list = append(list, h.Recipient)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Found writes the record of a store that has none, and before it those of hosts. An empty id is made anew. The id comes last, so a call that was cut leaves a
// store without one, in which no record counts: the next call begins again. The error is ErrChanged where another operator has begun, too.
func (s Store) Found(ctx context.Context, key Key, f *Fleet, id, by string, at time.Time, hosts ...HostRecord) error {
	next, err := f.founded(id)
	if err != nil || f.Store != "" {
		return err
	}
	var begun []world.Compare
	for _, h := range hosts {
		if err := s.numbered(ctx, f, &next, &h); err != nil {
			return err
		}
		if err := s.sign(ctx, key, f, nil, &h, nil); err != nil {
			return err
		}
		if len(begun) < s.World.Limits().Ops-1 {
			begun = append(begun, world.Compare{Key: HostKey(h.Host), Revision: f.hosts[h.Host]})
		}
	}
	next.Number, next.By, next.Time = f.Number+1, by, at.UTC()
	return s.sign(ctx, key, f, &next, nil, begun)
}

// SignedBy reports whether a key has signed the record of a host, or that of the store where host is empty. The records of a key that is to go are
// signed again by SetHost and Resign.
func (f *Fleet) SignedBy(k Public, host string) bool {
	if host == "" {
		return f.key == k.ID
	}
	return f.keys[host] == k.ID
}

// Resign signs the record of the store again, with the next number.
func (s Store) Resign(ctx context.Context, key Key, f *Fleet, by string, at time.Time) error {
	f.key = ""
	return s.record(ctx, key, f, f.StoreRecord, nil, by, at)
}

// Adopt signs a deploy that an older mgmt has signed for no store again, for this one. Number, files and rollout stay, so the hosts that have
// it do nothing. The rollout is written anew, so that hosts which refuse the deploy look at it again.
func (s Store) Adopt(ctx context.Context, key Key, trusted []Public, store string, d Stored, expires time.Time) error {
	m, err := d.Record.Verify(trusted, d.Topic, d.Number)
	if err != nil {
		return err
	}
	m.Store, m.Expires = store, expires.UTC()
	record, err := key.Sign(m)
	if err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	at := recordKey(d.Topic, d.Number)
	compares, ops := []world.Compare{{Key: at, Revision: d.Revision}}, []world.Op{{Key: at, Value: text}}
	kv, err := s.World.Get(ctx, RolloutKey(d.Topic))
	if err == nil {
		compares = append(compares, world.Compare{Key: kv.Key, Revision: kv.Revision})
		ops = append(ops, world.Op{Key: kv.Key, Value: kv.Value})
	} else if !errors.Is(err, world.ErrNotFound) {
		return err
	}
	if _, ok, err := s.World.Txn(ctx, compares, ops); err != nil || !ok {
		return cmp.Or(err, ErrBusy)
	}
	return nil
}

// founded returns the record of the store, which is a new one where there is none.
func (f *Fleet) founded(id string) (StoreRecord, error) {
	if f.Store != "" {
		return f.StoreRecord, nil
	}
	if id == "" {
		var random [16]byte
		if _, err := rand.Read(random[:]); err != nil {
			return StoreRecord{}, err
		}
		id = hex.EncodeToString(random[:])
	}
	return StoreRecord{Store: id}, nil
}

// SetHost writes the record of a host, with a higher number than it ever had. Where the host loses a role or a recipient, or its last record was taken
// away, the same transaction revokes all earlier ones: nobody can put one of them back. The record of a removed host brings it back.
func (s Store) SetHost(ctx context.Context, key Key, f *Fleet, h HostRecord) error {
	next, err := f.founded("")
	if err != nil {
		return err
	}
	if err := s.numbered(ctx, f, &next, &h); err != nil {
		return err
	}
	return s.record(ctx, key, f, next, &h, h.By, h.Time)
}

// numbered gives the record of a host its store and its number, and notes in the record of the store which earlier ones count no more.
func (s Store) numbered(ctx context.Context, f *Fleet, next *StoreRecord, h *HostRecord) error {
	slices.Sort(h.Roles)
	h.Roles = slices.Compact(h.Roles)
	was, had := f.Hosts[h.Host]
	v, _ := next.Revocation(h.Host)
	// The time is higher than any number of before, also where the last record is missing.
	h.Store, h.Number = next.Store, max(was.Number+1, f.numbers[h.Host]+1, v.Below, h.Time.UnixMilli())
	doubt := !had
	if doubt && f.Faulty[h.Host] == nil {
		_, err := s.World.Get(ctx, ReportKey(h.Host))
		if doubt = err == nil; !doubt && !errors.Is(err, world.ErrNotFound) {
			return err
		}
	}
	lost := slices.ContainsFunc(was.Roles, func(r string) bool { return !slices.Contains(h.Roles, r) }) ||
		was.Recipient != "" && was.Recipient != h.Recipient || was.Sealed != "" && was.Sealed != h.Sealed
	if lost || doubt || v.Removed {
		v.Host, v.Removed, v.Below = h.Host, false, h.Number
		next.set(v)
	}
	return nil
}

// Remove puts a host and its certificates on the list, and deletes its record.
func (s Store) Remove(ctx context.Context, key Key, f *Fleet, host string, certificates []string, by string, at time.Time) error {
	next, err := f.founded("")
	if err != nil {
		return err
	}
	v, _ := next.Revocation(host)
	v.Host, v.Removed, v.Below = host, true, max(v.Below, f.Hosts[host].Number+1, f.numbers[host]+1, at.UnixMilli())
	v.Certificates = append(slices.Clone(v.Certificates), certificates...)
	slices.Sort(v.Certificates)
	v.Certificates = slices.Compact(v.Certificates)
	next.set(v)
	return s.record(ctx, key, f, next, &HostRecord{Host: host}, by, at)
}

// set puts a revocation into its place. The slice of another value is not altered.
func (s *StoreRecord) set(v Revocation) {
	s.Revoked = slices.DeleteFunc(slices.Clone(s.Revoked), func(o Revocation) bool { return o.Host == v.Host })
	s.Revoked = append(s.Revoked, v)
	sorted.Func(s.Revoked, func(a, b Revocation) int { return cmp.Compare(a.Host, b.Host) })
}

// record writes the record of the store, if that is another one, and that of a host, in one transaction.
func (s Store) record(ctx context.Context, key Key, f *Fleet, next StoreRecord, h *HostRecord, by string, at time.Time) error {
	if f.key != "" && slices.EqualFunc(next.Revoked, f.Revoked, func(a, b Revocation) bool {
		return a.Host == b.Host && a.Below == b.Below && a.Removed == b.Removed && slices.Equal(a.Certificates, b.Certificates)
	}) {
		return s.sign(ctx, key, f, nil, h, nil)
	}
	next.Number, next.By, next.Time = f.Number+1, by, at.UTC()
	return s.sign(ctx, key, f, &next, h, nil)
}

// sign writes the record of the store and that of a host, in one transaction; nil for none. A host without a number is deleted. The fleet has the
// change afterwards. It is ErrChanged where the fleet is not as it was read, or one of the compares does not hold.
func (s Store) sign(ctx context.Context, key Key, f *Fleet, next *StoreRecord, h *HostRecord, compares []world.Compare) error {
	compares = append(compares, world.Compare{Key: storeKey, Revision: f.revision})
	var ops []world.Op
	put := func(key string, r Record, err error) error {
		if err != nil {
			return err
		}
		text, err := json.Marshal(r)
		ops = append(ops, world.Op{Key: key, Value: text})
		return err
	}
	if next != nil {
		r, err := key.sign(ofStore, next)
		if err := put(storeKey, r, err); err != nil {
			return err
		}
	}
	if h != nil {
		at := HostKey(h.Host)
		compares = append(compares, world.Compare{Key: at, Revision: f.hosts[h.Host]})
		if h.Number == 0 {
			ops = append(ops, world.Op{Key: at, Delete: true})
		} else {
			h.Time = h.Time.UTC()
			r, err := key.sign(ofHost, h)
			if err := put(at, r, err); err != nil {
				return err
			}
		}
	}
	revision, ok, err := s.World.Txn(ctx, compares, ops)
	if err != nil {
		return err
	}
	if !ok {
		return ErrChanged
	}
	if next != nil {
		f.StoreRecord, f.revision, f.key = *next, revision, key.Public().ID
	}
	if h != nil {
		delete(f.Faulty, h.Host)
		f.Hosts[h.Host], f.hosts[h.Host], f.keys[h.Host] = *h, revision, key.Public().ID
		if h.Number == 0 {
			delete(f.Hosts, h.Host)
			delete(f.hosts, h.Host)
		}
	}
	return nil
}
