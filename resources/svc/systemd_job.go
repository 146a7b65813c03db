package svc

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// logLines is how much of its log is shown of a unit that failed.
const logLines = 10

func (s *systemd) start(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, act{"start", "StartUnit", (*unit).running, (*unit).running})
}

func (s *systemd) stop(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, act{"stop", "StopUnit", (*unit).stopped, (*unit).stopped})
}

func (s *systemd) restart(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, act{"restart", "RestartUnit", never, (*unit).running})
}

// reload does nothing with a unit that does not run.
func (s *systemd) reload(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, act{"reload", "ReloadOrTryRestartUnit", (*unit).stopped, (*unit).running})
}

// act is something that is done with a unit.
type act struct {
	word, method string
	already      func(*unit) bool // there is nothing to do
	done         func(*unit) bool // it has succeeded
}

func never(*unit) bool { return false }

// stopped reports whether nothing of the unit is there any more.
func (u *unit) stopped() bool { return u.active == "inactive" || u.active == "failed" }

func (s *systemd) do(ctx context.Context, args UnitArgs, a act) (none virtual.Nothing, err error) {
	m, u, err := s.look(ctx, args)
	switch {
	case err != nil:
		return none, err
	case u.missing() && a.word != "stop":
		return none, notThere(args.Name, virtual.ErrNotFound)
	case u.job == "0" && a.already(&u):
		return none, nil
	case u.load == "masked" && a.word != "stop":
		return none, fmt.Errorf("%s is masked, so it cannot be started", u.name)
	}
	if a.word != "stop" && m.property(ctx, u, "Unit", "NeedDaemonReload") == "true" {
		if _, err := m.call(ctx, "Reload"); err != nil {
			return none, err
		}
	}
	after, err := m.job(ctx, u.name, a.method)
	if err != nil {
		return none, fmt.Errorf("%s %s: %w", a.word, u.name, err)
	}
	if !a.done(&after) || a.word == "reload" && m.property(ctx, after, "Service", "ReloadResult") == "exit-code" {
		return none, m.why(ctx, after, a.word)
	}
	return none, nil
}

// job has the manager do something, waits until it is done, and returns what has
// become of the unit. That the job has ended is seen by the unit, which has no such job any
// more: a signal only says when to look.
func (m *manager) job(ctx context.Context, name, method string) (u unit, err error) {
	sub, err := m.signals(ctx, signal("JobRemoved"))
	if err != nil {
		return u, err
	}
	defer sub.Close()
	body, err := m.call(ctx, method, name, "replace")
	if err != nil {
		return u, err
	}
	path := text(body, 0)
	number := path[strings.LastIndexByte(path, '/')+1:]
	if _, err := strconv.ParseUint(number, 10, 32); err != nil {
		return u, fmt.Errorf("systemd says %q where it should name a job", path)
	}
	for {
		u, err = m.unit(ctx, name)
		if err != nil || u.job != number {
			return u, err
		}
		select {
		case <-sub.C():
		case <-ctx.Done():
			return u, context.Cause(ctx)
		}
		if sub.Cause().Resync {
			if err := m.subscribe(ctx); err != nil {
				return u, err
			}
		}
	}
}

// why says why a unit is not what it was asked to be.
func (m *manager) why(ctx context.Context, u unit, word string) error {
	detail := u.active + " (" + u.sub + ")"
	if result := m.property(ctx, u, "Service", "Result"); result != "" && result != "success" {
		detail += ", " + result
	}
	switch {
	case u.active == "inactive" && m.property(ctx, u, "Unit", "ConditionResult") == "false":
		detail += ": one of the conditions of its unit file does not hold"
	case u.active == "inactive" && m.property(ctx, u, "Service", "Type") == "oneshot":
		detail += ": it is of the type oneshot and has ended; only with RemainAfterExit=yes does it count as running then"
	}
	err := fmt.Errorf("%s %s: it is %s", word, u.name, detail)
	if lines := m.log(ctx, u.name); lines != "" {
		return fmt.Errorf("%w; its log ends with:\n%s", err, lines)
	}
	return err
}

// log returns the last lines that the unit has logged; none if they cannot be had.
func (m *manager) log(ctx context.Context, name string) string {
	argv := []string{"journalctl", "--quiet", "--no-pager", "--output=cat", "--lines=" + strconv.Itoa(logLines)}
	if m.session {
		argv = append(argv, "--user-unit="+name)
	} else {
		argv = append(argv, "--unit="+name)
	}
	r, err := m.host.Command(ctx, engine.Command{Argv: argv, MaxOutput: 16 << 10})
	if err != nil || r.ExitCode != 0 {
		return ""
	}
	return strings.TrimSpace(string(r.Stdout))
}
