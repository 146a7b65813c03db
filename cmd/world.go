package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/lend"
)

// worldFlags say which store the resources share.
type worldFlags struct{ store.Config }

// flags adds the flags of the store.
func (f *worldFlags) flags(cmd *cobra.Command) {
	f.Lease = store.DefaultLease
	bind(cmd, "world", &f.Place)
	bind(cmd, "lease", (*seconds)(&f.Lease))
	bind(cmd, "accept", &f.Accept)
	accessFlags(cmd, &f.Access)
}

// accessFlags adds the flags that say who a daemon is for a store in etcd.
func accessFlags(cmd *cobra.Command, a *store.Access) {
	bind(cmd, "cert", (*place)(&a.Cert))
	bind(cmd, "key", (*place)(&a.Key))
	bind(cmd, "ca", (*place)(&a.CA))
	bind(cmd, "user", &a.User)
	bind(cmd, "password_file", (*place)(&a.PasswordFile))
}

// checkLease checks the value of the setting lease.
func checkLease(text string) error {
	var s seconds
	if err := s.Set(text); err != nil {
		return err
	}
	return store.CheckLease(time.Duration(s))
}

// checkAccept checks an item of the setting accept.
func checkAccept(item string) error {
	_, err := lend.Parse([]string{item})
	return err
}
