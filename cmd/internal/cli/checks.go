package cli

import (
	"time"

	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/lend"
)

// checkLease checks the value of the setting lease.
func checkLease(text string) error {
	var s Seconds
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
