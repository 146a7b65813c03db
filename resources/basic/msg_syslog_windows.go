package basic

import "github.com/reactivegraph/mgmt/internal/unix"

// toSyslog sends nothing: there is no syslog.
func toSyslog(string, message) error { return unix.ErrNeedsLinux }
