package cmd

import (
	"cmp"
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
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/deploy"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/httpd"
)

// pinFile is the file of the folder of deploys with the store that this host belongs to. No topic has a file of that name.
const pinFile = "store.json"

// trust is whom a daemon believes: the keys of its operators, and what these have signed about the store. Without a key it believes no record.
type trust struct {
	world engine.World
	host  string
	read  func() ([]deploy.Public, error) // reads the files of the keys
	keys  atomic.Pointer[[]deploy.Public] // as they were read last
	pin   *deploy.Pin
	log   *slog.Logger

	mu     sync.Mutex
	listed chan struct{} // closed, and made anew, when the list of the removed hosts may be another one
}

// Changed implements hosts.Removed.
func (t *trust) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listed == nil {
		t.listed = make(chan struct{})
	}
	return t.listed
}

// Removed implements hosts.Removed.
func (t *trust) Removed(host string) bool {
	list := t.pin.List()
	return list.Removed(host)
}

// removed returns which hosts are removed, for the API of objects.
func (t *trust) removed(context.Context) func(host string) bool { return t.Removed }

// tellList says that the list may be another one.
func (t *trust) tellList() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listed != nil {
		close(t.listed)
	}
	t.listed = nil
}

// onList has f called whenever the list of the removed hosts may be another one, until the returned function is called.
func (t *trust) onList(f func()) (end func()) {
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

// openTrust reads the keys, and the store that this host has met. dir is the state folder; empty keeps nothing over a restart. recipient returns
// that of this host.
func openTrust(a *app, w engine.World, dir, host string, files []string, recipient func() string, log *slog.Logger) (*trust, error) {
	t := &trust{world: w, host: cmp.Or(host, hostname()), read: func() ([]deploy.Public, error) { return trustedKeys(a.source(), files) }, log: log}
	if err := t.renew(); err != nil {
		return nil, err
	}
	o := deploy.PinOptions{Host: t.host, Trusted: t.trusted, Recipient: recipient}
	if dir != "" {
		o.Path = filepath.Join(dir, deploysFolder, pinFile)
		had, _ := filepath.Glob(filepath.Join(dir, deploysFolder, "*.json"))
		o.Old = len(slices.DeleteFunc(had, func(path string) bool { return path == o.Path })) > 0
	}
	t.pin = deploy.OpenPin(o)
	return t, nil
}

// trusted returns the keys that count at this moment.
func (t *trust) trusted() []deploy.Public { return *t.keys.Load() }

// renew reads the files of the keys again. With an error the keys stay as they were.
func (t *trust) renew() error {
	keys, err := t.read()
	if err == nil {
		t.keys.Store(&keys)
	}
	return err
}

// readers returns the recipients of the hosts of a topic, as the operator has signed them. Without a key there are none.
func (t *trust) readers(ctx context.Context, topic string) ([]string, error) {
	if len(t.trusted()) == 0 {
		return nil, nil
	}
	f, err := deploy.Store{World: t.world}.Fleet(ctx, t.trusted())
	if err != nil {
		return nil, err
	}
	if id := t.pin.Store(); id != "" && f.Store != id || f.Number < t.pin.List().Number {
		return nil, fmt.Errorf("%w: the records of the hosts are those of %.60q with the number %d", deploy.ErrStore, f.Store, f.Number)
	}
	return f.Readers(topic), nil
}

// admit refuses the certificates of removed hosts, for httpd.Server.
func (t *trust) admit(p httpd.Peer, _ *httpd.Route) error {
	if p.Cert == nil {
		return nil
	}
	list := t.pin.List()
	if err := list.RefuseCertificate(p.Cert.Subject.CommonName, p.Cert.SerialNumber.Text(16)); err != nil {
		return httpd.NewProblem(http.StatusForbidden, "%v", err)
	}
	return nil
}

// start follows the record of the store while the engine runs, and says what is wrong with it, once for each reason. The returned function ends
// it and waits.
func (t *trust) start(ctx context.Context) (end func()) {
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

func (t *trust) follow(ctx context.Context) {
	said := ""
	say := func(err error) {
		if err == nil || err.Error() == said {
			return
		}
		said = err.Error()
		t.log.Warn("the record of the store does not count", slog.Any("error", err))
	}
	s := hosts.Store{World: t.world, Clock: engine.SystemClock{}, Tell: func(err error) {
		if errors.Is(err, engine.ErrRefused) { // rights of an older mgmt allow, too
			t.log.Warn("the store does not let this host read its signed record: run mgmt api migrate once, as the operator", slog.Any("error", err))
		}
	}}
	for change := range s.Follow(ctx, deploy.StoreKey()) {
		there := slices.ContainsFunc(change.Updates, func(u engine.Update) bool { return u.Key == deploy.StoreKey() && !u.Deleted })
		switch {
		case there && len(t.trusted()) > 0:
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
func (t *trust) older(ctx context.Context) bool {
	if _, shared := t.world.(*store.Clustered); shared {
		return true
	}
	for _, prefix := range []string{deploy.RolloutPrefix(), deploy.Reports()} {
		p, err := t.world.List(ctx, prefix, engine.ListOptions{Limit: 2})
		for _, kv := range p.KVs {
			if err == nil && kv.Key != deploy.ReportKey(t.host) {
				return true
			}
		}
	}
	return false
}
