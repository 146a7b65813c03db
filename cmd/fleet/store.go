package fleet

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/cmd/internal/cli"
	"github.com/reactivegraph/mgmt/cmd/internal/remote"
	"github.com/reactivegraph/mgmt/engine/control/store"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/engine/world/etcd"
)

// sharedStore is the store that the hosts share: that of the daemon, or with --world the store itself. It is opened at the first
// question, and closed at the end of the verb.
type sharedStore struct {
	app    *cli.App
	daemon remote.Daemon
	direct remote.Direct
}

// flags adds the flags that say which store it is.
func (s *sharedStore) flags(cmd *cobra.Command) {
	s.daemon.Reach(cmd)
	s.direct.Flags(cmd)
}

// world opens the store for reading and writing keys. The caller ends with closing, which closes it.
// A daemon serves the store on its socket to root, to its own user and to the group of
// api_write_group.
func (s *sharedStore) world(ctx context.Context) (world.World, error) {
	if s.direct.Given() {
		return s.etcd(ctx)
	}
	return &store.Client{HTTP: s.daemon.Client().Transport()}, nil
}

// etcd opens the store of --world with what etcd alone has, its users and their rights.
func (s *sharedStore) etcd(ctx context.Context) (*etcd.World, error) {
	return s.direct.Open(ctx, s.app)
}

// closing lets go of the store after a verb.
// The error of the verb counts more than an error of closing.
func (s *sharedStore) closing(err error) error { return cmp.Or(err, s.direct.Close()) }
