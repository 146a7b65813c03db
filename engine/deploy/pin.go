package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt/engine/world"
)

// Pin is what a host holds of its store: the id that it has met first, and the newest list of what counts no more. Make it with OpenPin. Its
// methods are callable from any goroutine.
type Pin struct {
	o PinOptions

	mu     sync.Mutex
	fault  error // of the file
	store  string
	record Record // signed; the zero value before the first one
	list   StoreRecord
}

// PinOptions say whose Pin it is. All are needed but Path, Old, Guest and Recipient.
type PinOptions struct {
	Path      string          // of the file; empty keeps nothing over a restart
	Host      string          // the name of the host in the store
	Trusted   func() []Public // the keys that count at this moment
	Recipient func() string   // of this host; an admission with another one is of another machine
	// Guest only reads the file: it belongs to the daemon of the host. A file that the caller may not read counts as absent.
	Guest bool
	// Old says that the host has taken deploys of an older mgmt, and goes on with them until it has met a store with an id.
	Old bool
}

// pinned is the file of a Pin.
type pinned struct {
	Store  string `json:"store"`
	Record Record `json:"record"`
}

// OpenPin reads the Pin of a host. A file that cannot be read bars every new deploy, and no graph that runs.
func OpenPin(o PinOptions) *Pin {
	p := &Pin{o: o}
	if o.Path == "" {
		return p
	}
	text, err := os.ReadFile(o.Path)
	if errors.Is(err, fs.ErrNotExist) || o.Guest && errors.Is(err, fs.ErrPermission) {
		return p
	}
	var was pinned
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	if err == nil && was.Store == "" {
		err = errors.New("it names no store")
	}
	if err != nil {
		p.fault = fmt.Errorf("%w: the file %s cannot be read: restore it, or remove it to meet the store anew: %w", ErrStore, o.Path, err)
		return p
	}
	p.store, p.record = was.Store, was.Record
	// A list whose key is trusted no more counts no more: a foe may have signed it.
	if err := p.record.open(o.Trusted(), ofStore, &p.list); err != nil || p.list.Store != p.store {
		p.record, p.list = Record{}, StoreRecord{}
	}
	return p
}

// Store returns the id of the store that this host belongs to, empty before it has met one.
func (p *Pin) Store() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store
}

// List returns the newest list of what counts no more.
func (p *Pin) List() StoreRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list
}

// Meet reads the record of the store, and takes it over. A host without a store takes the one of its admission, or where it has none the one that it
// meets first. The error is of ErrStore where the store is another one, and of ErrReplay where its list is older than the one that this host
// has had; then the Pin stays as it was. A store without a record is no error.
func (p *Pin) Meet(ctx context.Context, w World) error {
	kv, err := w.Get(ctx, storeKey)
	if errors.Is(err, world.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	record, list, err := readStore(kv.Value, p.o.Trusted())
	if err != nil {
		return err
	}
	if p.Store() == "" {
		if err := p.admitted(ctx, w, list); err != nil {
			return err
		}
	}
	return p.take(record, list)
}

// admitted compares the admission of this host with the store.
func (p *Pin) admitted(ctx context.Context, w World, list StoreRecord) error {
	kv, err := w.Get(ctx, HostKey(p.o.Host))
	if errors.Is(err, world.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, h, err := readHost(kv.Value, p.o.Trusted(), p.o.Host)
	switch {
	case err != nil:
		return err
	case h.Store != list.Store:
		return fmt.Errorf("%w: this host was admitted to %.60q, and the store is %q", ErrStore, h.Store, list.Store)
	case h.Recipient != "" && p.o.Recipient != nil && p.o.Recipient() != h.Recipient:
		return fmt.Errorf("%w: the record of the host %s is that of another machine, with the key %.80s: mgmt hosts admit gives it to this one", ErrStore, p.o.Host, h.Recipient)
	}
	return nil
}

// take holds a record that was checked.
func (p *Pin) take(record Record, list StoreRecord) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := slices.ContainsFunc(p.o.Trusted(), func(k Public) bool { return k.ID == p.record.Key })
	switch {
	case p.fault != nil:
		return p.fault
	case p.store != "" && list.Store != p.store:
		return p.another(list.Store)
	case held && list.Number < p.list.Number:
		return fmt.Errorf("%w: the record of the store has the number %d, and this host has had %d", ErrReplay, list.Number, p.list.Number)
	case held && list.Number == p.list.Number:
		return nil
	}
	if p.o.Path != "" && !p.o.Guest {
		text, err := json.Marshal(pinned{list.Store, record})
		if err == nil {
			err = Replace(p.o.Path, text)
		}
		if err != nil {
			return fmt.Errorf("the store of this host cannot be noted: %w", err)
		}
	}
	p.store, p.record, p.list = list.Store, record, list
	return nil
}

// another is the error about a store that is not this host's.
func (p *Pin) another(id string) error {
	way := ""
	if p.o.Path != "" {
		way = "; to move this host, stop mgmt and remove " + p.o.Path
	}
	return fmt.Errorf("%w: %.60q, and this host belongs to %q%s", ErrStore, id, p.store, way)
}

// Check says why this host does not accept a deploy that it has not had: it is for another store, or it has expired.
func (p *Pin) Check(m Manifest, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.fault != nil:
		return p.fault
	case p.store == "" && !p.o.Old:
		return fmt.Errorf("%w: this host has not met a store with an id: run mgmt api migrate once, or mgmt hosts allow %s", ErrStore, p.o.Host)
	case p.store != "" && m.Store == "":
		return fmt.Errorf("%w: it names none, as an older mgmt signs it: deploy it again, or run mgmt api migrate", ErrStore)
	case p.store != "" && m.Store != p.store:
		return p.another(m.Store)
	case p.list.Removed(p.o.Host):
		return fmt.Errorf("%w: this host was removed from it: mgmt hosts allow %s brings it back", ErrStore, p.o.Host)
	case m.Expired(now):
		return fmt.Errorf("%w: at %s, and the clock of this host says %s; deploy it again", ErrExpired, m.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// Replace writes a file at one stroke, in a folder that it makes for its owner alone. A crash leaves the old file or the new one.
func Replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
