package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/inputs"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine/control"
	controlstore "github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/bolt"
)

// planStore says which store a plan reads: that of the daemon.
type planStore struct {
	world   store.Config
	trusted []string // files with the keys whose list of removed hosts counts
	socket  remote.Socket
}

// flags adds the settings of a daemon that say which store it has.
func (f *planStore) flags(cmd *cobra.Command) {
	f.world.Lease = store.DefaultLease
	cli.Bind(cmd, "world", &f.world.Place)
	cli.Bind(cmd, "accept", &f.world.Accept)
	cli.Bind(cmd, "trusted_keys", &f.trusted)
	inputs.AccessFlags(cmd, &f.world.Access)
	f.socket.Flag(cmd)
}

// open opens the store to be read. A store of this host alone is the daemon's, which is asked; without a daemon its file is. What
// can't be read is unknown in the plan, and a warning says why. The World is nil where there is no store yet. The caller calls
// closing in the end.
func (f *planStore) open(ctx context.Context, s state.Place, dir, host string, log *slog.Logger) (w world.World, closing func(), err error) {
	if err := f.world.Check(); err != nil {
		return nil, nil, err
	}
	scheme, rest, _ := strings.Cut(f.world.Place, ":")
	if scheme == store.Cluster {
		w, err = f.cluster(ctx, host, log)
	} else {
		w, err = f.local(ctx, s, scheme, rest, dir)
	}
	closing = func() {}
	if w != nil {
		opened := w
		closing = func() { _ = opened.Close() } // nothing of it counts any more
	}
	switch {
	case err != nil:
		log.Warn("the store can't be read: what depends on it is unknown, and conditions are decided as if this host were alone", "error", err)
		return &readOnly{refused: &world.UnreadError{What: "the store", Err: err}}, closing, nil
	case w == nil:
		return nil, closing, nil
	}
	return &readOnly{World: w}, closing, nil
}

// counting returns the store without what is of removed hosts, as the daemon has it: by the newer one of the lists that the store has now, and
// that the daemon has noted in the state folder dir. The World is nil where w is.
func (f *planStore) counting(ctx context.Context, a *cli.App, w world.World, dir, host string, log *slog.Logger) (world.World, error) {
	if w == nil {
		return nil, nil
	}
	by, err := trust.Guest(ctx, trust.Options{World: w, Host: host, Dir: dir, Files: f.trusted, From: a.Source(), Log: log})
	if by == nil {
		return w, err
	}
	if _, told := errors.AsType[*world.UnreadError](err); err != nil && !told {
		log.Warn("the record of the store does not count", "error", err)
	}
	return hosts.Without(w, by), nil
}

// cluster connects to a store in etcd.
func (f *planStore) cluster(ctx context.Context, host string, log *slog.Logger) (world.World, error) {
	w, err := f.world.Access.Connect(ctx, f.world.Place, host, log)
	switch {
	case w == nil:
		return nil, err
	case err != nil:
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// patience is how long a daemon may take to answer.
const patience = 5 * time.Second

// local asks the daemon, or reads the file that it has left.
func (f *planStore) local(ctx context.Context, s state.Place, scheme, rest, dir string) (world.World, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	daemon := &controlstore.Client{HTTP: (&remote.Daemon{State: inputs.StateFlags{Place: s}, Socket: f.socket}).Client().Transport()}
	_, err := daemon.List(ctx, hosts.Prefix, world.ListOptions{Limit: 1})
	none, absent := errors.AsType[*control.NoDaemonError](err)
	switch {
	case err == nil:
		return daemon, nil
	case !absent:
		return nil, fmt.Errorf("the daemon does not show it: %w", err)
	case !errors.Is(none, fs.ErrNotExist) && errors.Is(none, fs.ErrPermission):
		return nil, none
	case scheme != "bolt":
		return nil, nil // that of memory has ended with its daemon
	}
	path := rest
	if path == "" && dir != "" {
		path = filepath.Join(dir, store.File)
	}
	if path == "" {
		return nil, nil
	}
	w, err := bolt.OpenCopy(path, bolt.Options{Log: slog.New(slog.DiscardHandler)})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // nothing was stored yet
	case err != nil:
		return nil, fmt.Errorf("the store %s: %w", path, err)
	}
	return w, nil
}

// readOnly is the store of a plan: it is read once, and refuses all that would alter it.
type readOnly struct {
	world.World
	refused error // why nothing can be read; nil where it can
}

var errPlanning = fmt.Errorf("%w: a plan alters nothing", world.ErrRefused)

// Get implements world.World.
func (r *readOnly) Get(ctx context.Context, key string) (world.KV, error) {
	if r.refused != nil {
		return world.KV{}, r.refused
	}
	return r.World.Get(ctx, key)
}

// List implements world.World.
func (r *readOnly) List(ctx context.Context, prefix string, o world.ListOptions) (world.Page, error) {
	if r.refused != nil {
		return world.Page{}, r.refused
	}
	return r.World.List(ctx, prefix, o)
}

// Txn implements world.World.
func (r *readOnly) Txn(context.Context, []world.Compare, []world.Op) (int64, bool, error) {
	return 0, false, errPlanning
}

// Watch implements world.World. Nothing is followed: a plan is of one moment.
func (r *readOnly) Watch(ctx context.Context, _ string, _ int64) iter.Seq2[world.Batch, error] {
	return func(func(world.Batch, error) bool) { <-ctx.Done() }
}

// Lease implements world.World.
func (r *readOnly) Lease(context.Context, time.Duration) (world.Lease, error) {
	return nil, errPlanning
}

// Held implements world.World.
func (r *readOnly) Held(string) world.Lease { return nil }

// Limits implements world.World.
func (r *readOnly) Limits() world.Limits { return world.DefaultLimits() }

// Close does nothing: the opener closes the store.
func (r *readOnly) Close() error { return nil }
