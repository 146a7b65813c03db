package systemd1

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
)

// logLines is how much of its log is shown of a unit that failed, and maxLog how many bytes
// of it at most.
const (
	logLines = 10
	maxLog   = 2000
)

// why gives the reason why a unit is not in the wanted state.
func (m *Manager) why(ctx context.Context, u Unit, word string) error {
	service := func(key string) string { return m.property(ctx, u, "Service", key) }
	detail := u.String()
	if result := service("Result"); result != "" && result != "success" {
		detail += ", " + result
		if status := service("ExecMainStatus"); result == "exit-code" && status != "" && status != "0" {
			detail += " " + status
		}
	}
	switch {
	case u.Active == "inactive" && m.property(ctx, u, "Unit", "ConditionResult") == "false":
		detail += ": one of the conditions of its unit file does not hold"
	case u.Active == "inactive" && service("Type") == "oneshot":
		detail += ": it is of the type oneshot and has ended; only with RemainAfterExit=yes does it count as running then"
	}
	err := fmt.Errorf("%s %s: it is %s", word, u.Name, detail)
	if lines := m.log(ctx, u.Name); lines != "" {
		return fmt.Errorf("%w; its log ends with:\n%s", err, lines)
	}
	return err
}

// log returns the last lines that the unit has logged; none if they cannot be had.
func (m *Manager) log(ctx context.Context, unit string) string {
	of := "--unit="
	if m.session {
		of = "--user-unit="
	} else {
		// The unit's last lines may still be on their way into the journal.
		_, _ = m.host.Command(ctx, engine.Command{Argv: []string{"journalctl", "--quiet", "--sync"}})
	}
	r, err := m.host.Command(ctx, engine.Command{
		Argv:      []string{"journalctl", "--quiet", "--no-pager", "--boot", "--output=cat", "--lines=" + strconv.Itoa(logLines), of + unit},
		MaxOutput: 64 << 10,
	})
	if err != nil || r.ExitCode != 0 {
		return ""
	}
	lines := strings.TrimSpace(string(r.Stdout))
	if len(lines) > maxLog {
		lines = "..." + strings.ToValidUTF8(lines[len(lines)-maxLog:], "")
	}
	return lines
}
