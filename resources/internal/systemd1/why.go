package systemd1

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
)

// logLines is how many of the last lines of a unit are shown, and maxLine how many bytes of each.
const (
	logLines = 5
	maxLine  = 400
)

// why gives the reason why a unit is not in the wanted state.
func (m *Manager) why(ctx context.Context, u Unit, word string) error {
	return fmt.Errorf("%s %s: %s", word, u.Name, m.Reason(ctx, u))
}

// Reason says why a unit does not run: how its process has ended, the state in the words of systemd, and the last lines that the
// unit wrote itself.
func (m *Manager) Reason(ctx context.Context, u Unit) string {
	service := func(key string) string { return m.property(ctx, u, "Service", key) }
	result := service("Result")
	text := "it is " + u.String()
	if result != "" && result != "success" {
		text += ", " + result
	}
	ended := m.ended(ctx, u, result)
	if ended != "" {
		text = ended + ": " + text
	}
	switch {
	case u.Active == "inactive" && m.property(ctx, u, "Unit", "ConditionResult") == "false" && m.property(ctx, u, "Unit", "ConditionTimestamp") != "0": // they were checked
		text += ": one of the conditions of its unit file does not hold"
	case u.Active != "inactive" || result != "" && result != "success":
	case service("Type") == "oneshot":
		text += ": it is of the type oneshot and has ended; only with RemainAfterExit=yes does it count as running then"
	default:
		other := m.lacking(ctx, u)
		switch {
		case ended == "" && other != "":
			text += ": " + other
		case service("Type") != "": // systemd may have forgotten how the process of an inactive unit has ended
			text += ": it has ended without an error, or was stopped; a program that goes on in the background needs Type=forking in its unit"
		}
	}
	if lines := m.log(ctx, u); lines != "" {
		text += "; the last lines that it wrote:\n" + lines
	}
	return text
}

// How a process has ended, as in the properties of a service.
const (
	exited = "1" // CLD_EXITED
	killed = "2" // CLD_KILLED
	dumped = "3" // CLD_DUMPED
)

// statuses are the exit statuses by which systemd says that it could not run a program, with the lines of the unit file to look at.
var statuses = map[string]string{
	"200": "CHDIR, see WorkingDirectory=", "203": "EXEC, its program could not be run", "216": "GROUP, see Group=", "217": "USER, see User=",
	"226": "NAMESPACE, a path of the unit file may be missing", "209": "STDOUT, see StandardOutput=", "243": "CREDENTIALS, see LoadCredential=",
}

// signals are the names of the signals by which processes end.
var signals = map[string]string{
	"1": "HUP", "2": "INT", "3": "QUIT", "4": "ILL", "6": "ABRT", "7": "BUS", "8": "FPE", "9": "KILL", "11": "SEGV", "13": "PIPE", "15": "TERM",
	"24": "XCPU", "25": "XFSZ", "31": "SYS",
}

// ended says how the process of a service has ended, in the words of a shell; empty for a unit without one. A command before or after the
// main one may be what has failed.
func (m *Manager) ended(ctx context.Context, u Unit, result string) string {
	code, status := m.property(ctx, u, "Service", "ExecMainCode"), m.property(ctx, u, "Service", "ExecMainStatus")
	if failed := slices.Contains([]string{"exit-code", "signal", "core-dump"}, result); failed && (code == "0" || code == exited && status == "0") {
		for _, key := range []string{"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost"} {
			for _, c := range m.commands(ctx, u, key) {
				if c.code != "0" && (c.code != exited || c.status != "0") {
					return fmt.Sprintf("%s of %s= (%s)", how(c.code, c.status), key, c.path)
				}
			}
		}
	}
	switch result {
	case "oom-kill":
		return "killed, since the memory was used up"
	case "timeout":
		return "no sign of its start in time (TimeoutStartSec=)"
	case "watchdog":
		return "no sign of life in time (WatchdogSec=)"
	case "resources":
		return "systemd lacks what the start takes"
	}
	return how(code, status)
}

// how says how a process has ended; empty if none has.
func how(code, status string) string {
	switch {
	case code == "" || code == "0":
		return ""
	case code == exited && statuses[status] != "":
		return fmt.Sprintf("exit status %s (%s)", status, statuses[status])
	case code == exited:
		return "exit status " + status
	}
	text := "ended by signal " + status
	if name := signals[status]; name != "" {
		text += " (" + name + ")"
	}
	if code == dumped {
		text += ", with a core dump"
	}
	return text
}

// command is a command of a unit file, and how its process has ended.
type command struct{ path, code, status string }

// commands returns the commands of a property such as ExecStartPre; none if it cannot be had.
func (m *Manager) commands(ctx context.Context, u Unit, key string) (all []command) {
	const path, code, status, fields = 0, 8, 9, 10
	body, err := m.bus.Call(ctx, name, u.Path, properties+".Get", name+".Service", key)
	if err != nil || len(body) != 1 {
		return nil
	}
	v, ok := body[0].(interface{ Value() any })
	if !ok {
		return nil
	}
	rows, _ := v.Value().([][]any)
	for _, row := range rows {
		if len(row) >= fields {
			all = append(all, command{fmt.Sprint(row[path]), fmt.Sprint(row[code]), fmt.Sprint(row[status])})
		}
	}
	return all
}

// lacking names a unit that this one needs and that is not there; empty for none.
func (m *Manager) lacking(ctx context.Context, u Unit) string {
	for _, key := range []string{"Requires", "Requisite", "BindsTo"} {
		units, err := m.list(ctx, u, key)
		if err != nil || len(units) == 0 {
			continue
		}
		all, err := m.units(ctx, units...)
		if err != nil {
			return ""
		}
		for _, other := range all {
			if !other.Running() && other.Active != "activating" {
				return fmt.Sprintf("it needs %s, which is %s (systemctl status %s)", other.Name, other.String(), other.Name)
			}
		}
	}
	return ""
}

// log returns the last lines that the processes of the unit wrote in its last life; none if they cannot be had.
func (m *Manager) log(ctx context.Context, u Unit) string {
	of := "_SYSTEMD_UNIT="
	if m.session {
		of = "_SYSTEMD_USER_UNIT="
	} else {
		// The unit's last lines may still be on their way into the journal.
		_, _ = m.host.Command(ctx, engine.Command{Argv: []string{"journalctl", "--quiet", "--sync"}})
	}
	argv := []string{"journalctl", "--quiet", "--no-pager", "--boot", "--output=cat", "--lines=" + strconv.Itoa(logLines), of + u.Name}
	if id := m.invocation(ctx, u); id != "" {
		argv = append(argv, "_SYSTEMD_INVOCATION_ID="+id)
	}
	r, err := m.host.Command(ctx, engine.Command{Argv: argv, MaxOutput: 64 << 10})
	if err != nil || r.ExitCode != 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(r.Stdout)), "\n")
	lines = lines[max(0, len(lines)-logLines):] // a message may have several
	for i, line := range lines {
		lines[i] = plain(line)
	}
	return strings.Join(lines, "\n")
}

// plain returns a line without what could act on a terminal, cut to maxLine.
func plain(line string) string {
	if len(line) > maxLine {
		line = line[:maxLine] + "..."
	}
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(strings.TrimRight(line, "\r"), "?") {
		if c == '\t' || unicode.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		quoted := strconv.QuoteRune(c)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// invocation returns the number of the unit's last life; empty if it is not known.
func (m *Manager) invocation(ctx context.Context, u Unit) string {
	body, err := m.bus.Call(ctx, name, u.Path, properties+".Get", name+".Unit", "InvocationID")
	if err != nil || len(body) != 1 {
		return ""
	}
	if v, ok := body[0].(interface{ Value() any }); ok {
		if id, ok := v.Value().([]byte); ok && len(id) > 0 {
			return fmt.Sprintf("%x", id)
		}
	}
	return ""
}
