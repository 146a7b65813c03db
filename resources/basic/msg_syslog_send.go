//go:build !windows

package basic

import (
	"errors"
	"fmt"
	"log/syslog"
)

// toSyslog sends a message to the machine's syslog. Fields have no place there,
// so they follow the body.
func toSyslog(program string, m message) error {
	w, err := syslog.New(syslog.Priority(m.priority)|syslog.LOG_DAEMON, program)
	if err != nil {
		return fmt.Errorf("there is no syslog on this machine: %w", err)
	}
	_, err = w.Write([]byte(m.line()))
	return errors.Join(err, w.Close())
}
