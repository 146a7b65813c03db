package trust

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi"
)

// Operators are whom a host believes: the keys of its operators, and what these have signed about the store. Without a key it believes no record.
type Operators struct {
	world world.World
	host  string
	read  func() ([]deploy.Public, error) // reads the files of the keys
	keys  atomic.Pointer[[]deploy.Public] // as they were read last
	pin   *deploy.Pin                     // the store that the host has met
	log   *slog.Logger

	mu     sync.Mutex
	listed chan struct{} // closed, and made anew, when the list of the removed hosts may be another one
}

// Changed implements hosts.Removed.
func (t *Operators) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listed == nil {
		t.listed = make(chan struct{})
	}
	return t.listed
}

// Removed implements hosts.Removed.
func (t *Operators) Removed(host string) bool {
	list := t.pin.List()
	return list.Removed(host)
}

// RemovedHosts returns which hosts are removed, for the API of objects.
func (t *Operators) RemovedHosts(context.Context) func(host string) bool { return t.Removed }

// tellList says that the list may be another one.
func (t *Operators) tellList() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listed != nil {
		close(t.listed)
	}
	t.listed = nil
}

// OnList has f called whenever the list of the removed hosts may be another one, until the returned function is called.
func (t *Operators) OnList(f func()) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	changed, over := t.Changed(), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-changed:
				changed = t.Changed()
				f()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// Options say whom a host believes.
type Options struct {
	World world.World // which they have signed for
	Host  string      // its name
	// Dir is the state folder, in which it is noted which store the host has met; "" keeps nothing over a restart.
	Dir   string
	Files []string    // with public keys
	From  gapi.Source // opens them
	// Recipient returns that of this host.
	Recipient func() string
	Log       *slog.Logger
}

// Open reads the keys, and which store this host has met.
func Open(o Options) (*Operators, error) {
	t := &Operators{world: o.World, host: o.Host, log: o.Log, read: func() ([]deploy.Public, error) { return ReadKeys("trusted_keys", o.From, o.Files) }}
	if err := t.Renew(); err != nil {
		return nil, err
	}
	pin := deploy.PinOptions{Host: t.host, Trusted: t.Trusted, Recipient: o.Recipient}
	if o.Dir != "" {
		pin.Path = PinFile(o.Dir)
		had, _ := filepath.Glob(filepath.Join(filepath.Dir(pin.Path), "*.json"))
		pin.Old = len(slices.DeleteFunc(had, func(path string) bool { return path == pin.Path })) > 0
	}
	t.pin = deploy.OpenPin(pin)
	return t, nil
}

// Guest is what a plan believes, by what the daemon of this machine has noted and what the store has now. It notes nothing. The error says
// that the record of the store does not count; the Operators are those that the daemon has noted then.
func Guest(ctx context.Context, o Options) (*Operators, error) {
	t := &Operators{world: o.World, host: o.Host, log: o.Log}
	keys, err := ReadKeys("trusted_keys", o.From, o.Files)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	pin := deploy.PinOptions{Host: o.Host, Guest: true, Trusted: func() []deploy.Public { return keys }}
	if o.Dir != "" {
		pin.Path = PinFile(o.Dir)
	}
	t.pin = deploy.OpenPin(pin)
	return t, t.pin.Meet(ctx, o.World)
}

// Trusted returns the keys that count at this moment.
func (t *Operators) Trusted() []deploy.Public { return *t.keys.Load() }

// Renew reads the files of the keys again. With an error the keys stay as they were.
func (t *Operators) Renew() error {
	keys, err := t.read()
	if err == nil {
		t.keys.Store(&keys)
	}
	return err
}

// Readers returns the recipients of the hosts of a topic, as the operator has signed them. Without a key there are none.
func (t *Operators) Readers(ctx context.Context, topic string) ([]string, error) {
	if len(t.Trusted()) == 0 {
		return nil, nil
	}
	f, err := deploy.Store{World: t.world}.Fleet(ctx, t.Trusted())
	if err != nil {
		return nil, err
	}
	if id := t.pin.Store(); id != "" && f.Store != id || f.Number < t.pin.List().Number {
		return nil, fmt.Errorf("%w: the records of the hosts are those of %.60q with the number %d", deploy.ErrStore, f.Store, f.Number)
	}
	return f.Readers(topic), nil
}

// Admit refuses the certificates of removed hosts, for httpd.Server.
func (t *Operators) Admit(p httpd.Peer, _ *httpd.Route) error {
	if p.Cert == nil {
		return nil
	}
	list := t.pin.List()
	if err := list.RefuseCertificate(p.Cert.Subject.CommonName, p.Cert.SerialNumber.Text(16)); err != nil {
		return httpd.NewProblem(http.StatusForbidden, "%v", err)
	}
	return nil
}

// Start follows the record of the store while the engine runs, and says what is wrong with it, once for each reason. The returned function ends
// it and waits.
func (t *Operators) Start(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		// A store that nothing uses is not made by this look.
		select {
		case <-hosts.Used(t.world):
		case <-ctx.Done():
			return
		}
		t.follow(ctx)
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// older is the sentence about a store that no operator has signed for yet.
const older = "the store has no signed record, as an older mgmt leaves it: what hosts say of themselves gives them no right; run mgmt api migrate once, as the operator"

func (t *Operators) follow(ctx context.Context) {
	said := ""
	say := func(err error) {
		if err == nil || err.Error() == said {
			return
		}
		said = err.Error()
		t.log.Warn("the record of the store does not count", slog.Any("error", err))
	}
	s := hosts.Store{World: t.world, Clock: clock.System{}, Tell: func(err error) {
		if errors.Is(err, world.ErrRefused) { // rights of an older mgmt allow, too
			t.log.Warn("the store does not let this host read its signed record: run mgmt api migrate once, as the operator", slog.Any("error", err))
		}
	}}
	for change := range s.Follow(ctx, deploy.StoreKey()) {
		there := slices.ContainsFunc(change.Updates, func(u world.Update) bool { return u.Key == deploy.StoreKey() && !u.Deleted })
		switch {
		case there && len(t.Trusted()) > 0:
			err := t.pin.Meet(ctx, t.world)
			t.tellList()
			if ctx.Err() == nil {
				say(err)
			}
		case !there && t.pin.Store() != "":
			say(fmt.Errorf("%w: it is gone, and this host belongs to %q", deploy.ErrStore, t.pin.Store()))
		case !there && t.older(ctx):
			t.log.Warn(older)
		}
	}
}

// older reports whether hosts or deploys are in the store: then an older mgmt has used it, or the operator has still to sign for it.
func (t *Operators) older(ctx context.Context) bool {
	if _, shared := t.world.(*store.Clustered); shared {
		return true
	}
	for _, prefix := range []string{deploy.RolloutPrefix(), deploy.Reports()} {
		p, err := t.world.List(ctx, prefix, world.ListOptions{Limit: 2})
		for _, kv := range p.KVs {
			if err == nil && kv.Key != deploy.ReportKey(t.host) {
				return true
			}
		}
	}
	return false
}

// World returns the store that the operators have signed for.
func (t *Operators) World() world.World { return t.world }

// Host returns the name of this host in the store.
func (t *Operators) Host() string { return t.host }

// Pin returns what this host has noted of the store.
func (t *Operators) Pin() *deploy.Pin { return t.pin }
