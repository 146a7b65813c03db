package backends

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
)

// systemdBackend asks systemd over its bus: the manager of the machine, or that of
// the user's session. Its priority is above the others: where systemd has booted,
// the tools of others are wrappers of it.
func systemdBackend() *virtual.Backend {
	b := virtual.Native("systemd", newSystemd,
		virtual.Func("info", (*systemd).info),
		virtual.Func("start", (*systemd).start),
		virtual.Func("stop", (*systemd).stop),
		virtual.Func("restart", (*systemd).restart),
		virtual.Func("reload", (*systemd).reload),
		virtual.Func("status", (*systemd).status),
		virtual.Func("enable", (*systemd).enable),
		virtual.Func("disable", (*systemd).disable),
		virtual.Func("enabled", (*systemd).enabled),
		virtual.Func("disabled", (*systemd).disabled),
		virtual.Func("available", (*systemd).available),
		virtual.Func("missing", (*systemd).missing),
		virtual.Func("get_all", (*systemd).getAll),
		virtual.Func("get_enabled", (*systemd).getEnabled),
		virtual.Func("get_disabled", (*systemd).getDisabled),
		virtual.Func("mask", (*systemd).mask),
		virtual.Func("unmask", (*systemd).unmask),
		virtual.Func("masked", (*systemd).masked),
		virtual.Func("can_reload", (*systemd).canReload),
		virtual.Func("life", (*systemd).life),
		virtual.Func("reason", (*systemd).reason),
		virtual.Func("reread", (*systemd).reread))
	b.Module, b.Doc, b.Watch = "svc", "systemd, over D-Bus.", virtual.WatchSignal
	b.When, b.Priority = virtual.Match{"systemd_booted": {true}}, 10
	return b
}

// systemd keeps nothing but the way to the machine: the connection is that of all.
type systemd struct{ host engine.Host }

func newSystemd(_ context.Context, env virtual.Env) (*systemd, error) {
	return &systemd{env.Host}, nil
}

// manager connects to the manager of the machine or of the session. The connection
// is the host's own, and is not closed here.
func (s *systemd) manager(ctx context.Context, session bool) (*systemd1.Manager, error) {
	return systemd1.Open(ctx, s.host, session)
}

// unitInfo is Info, and three fields that only systemd has.
type unitInfo struct {
	Info `yaml:",inline"`
	Unit string `yaml:"unit" doc:"The name of the unit."`
	Load string `yaml:"load" doc:"Whether its file could be read."`
	File string `yaml:"file" doc:"The word of its file for the start at boot: enabled, disabled, static ..."`
}

// Unit and file are asked for at the same time, so that they rarely contradict each other.
func (s *systemd) info(ctx context.Context, args UnitArgs) (i unitInfo, err error) {
	m, err := s.managerOf(ctx, args)
	if err != nil {
		return i, err
	}
	u, file, err := m.UnitAndFile(ctx, UnitName(args.Name))
	if err != nil {
		return i, err
	}
	if u.Missing() {
		return i, virtual.ErrNotFound
	}
	i.Info = Info{
		Name: args.Name, Running: u.Running(), Enabled: startsAtBoot(file),
		Restarting: new(u.Restarts()), Masked: new(masks(file)), Passing: new(file == runtimeEnabled || file == runtimeMasked), Failed: new(u.Active == "failed"), Detail: new(u.String()),
	}
	if j := u.Job(); j != nil {
		i.Job = new(j.String())
	}
	i.Ending = new(i.Job == nil && u.Active == "deactivating") // systemd may start it again after that
	i.Unit, i.Load, i.File = u.Name, u.Load, file
	return i, nil
}

// managerOf connects to the manager of a unit, whose name it checks.
func (s *systemd) managerOf(ctx context.Context, args UnitArgs) (*systemd1.Manager, error) {
	if err := CheckName(args.Name); err != nil {
		return nil, err
	}
	return s.manager(ctx, args.Session)
}

// look connects to the manager and asks it for a unit.
func (s *systemd) look(ctx context.Context, args UnitArgs) (*systemd1.Manager, systemd1.Unit, error) {
	m, err := s.managerOf(ctx, args)
	if err != nil {
		return nil, systemd1.Unit{}, err
	}
	u, err := m.Unit(ctx, UnitName(args.Name))
	return m, u, err
}

func (s *systemd) status(ctx context.Context, args UnitArgs) (bool, error) {
	_, u, err := s.look(ctx, args)
	return u.Running(), err
}

func (s *systemd) available(ctx context.Context, args UnitArgs) (bool, error) {
	_, u, err := s.look(ctx, args)
	return err == nil && !u.Missing(), err
}

// missing is true of a unit without a file that is not loaded either.
func (s *systemd) missing(ctx context.Context, args UnitArgs) (bool, error) {
	_, u, err := s.look(ctx, args)
	return err == nil && u.Missing(), err
}

// enabled, disabled and masked are false of a missing service, which is not an
// error.
func (s *systemd) enabled(ctx context.Context, args UnitArgs) (bool, error) {
	i, err := s.info(ctx, args)
	return i.Enabled, absent(err)
}

func (s *systemd) disabled(ctx context.Context, args UnitArgs) (bool, error) {
	i, err := s.info(ctx, args)
	return err == nil && !i.Enabled, absent(err)
}

func (s *systemd) masked(ctx context.Context, args UnitArgs) (bool, error) {
	i, err := s.info(ctx, args)
	return i.Masked != nil && *i.Masked, absent(err)
}

// canReload is false of a missing service, which is not an error.
func (s *systemd) canReload(ctx context.Context, args UnitArgs) (bool, error) {
	m, u, err := s.look(ctx, args)
	if err != nil || u.Missing() {
		return false, err
	}
	return m.CanReload(ctx, u), nil
}

// life counts by the clock of the host.
func (s *systemd) life(ctx context.Context, args UnitArgs) (i LifeInfo, err error) {
	m, u, err := s.look(ctx, args)
	if err != nil || u.Missing() {
		return i, cmp.Or(err, virtual.ErrNotFound)
	}
	l := m.Life(ctx, u)
	i.Ready, i.Restarts = &l.Ready, &l.Restarts
	i.Stopped, i.Killed = &l.Stopped, &l.Killed
	// After the clock was set back it is not known.
	now := engine.ClockOf(s.host).Now()
	if up := now.Sub(l.Since); !l.Since.IsZero() && up >= 0 {
		i.Up = &up
	}
	if down := now.Sub(l.Left); !l.Left.IsZero() && down >= 0 {
		i.Down = &down
	}
	return i, nil
}

func (s *systemd) reason(ctx context.Context, args UnitArgs) (string, error) {
	m, u, err := s.look(ctx, args)
	if err != nil {
		return "", err
	}
	return m.Reason(ctx, u), nil
}

// absent leaves out the error about a missing service where the service may be missing.
func absent(err error) error {
	if errors.Is(err, virtual.ErrNotFound) {
		return nil
	}
	return err
}

// The words of a unit file for a state until the next boot.
const (
	runtimeEnabled = "enabled-runtime"
	runtimeMasked  = "masked-runtime"
)

// startsAtBoot reports whether the state of a unit file means that the unit is
// started at boot, each time. A static unit is not: it is started by others, if at
// all. A unit that is enabled until the next boot is not either, since the boot forgets it.
func startsAtBoot(file string) bool { return file == "enabled" || file == "alias" }

// masks reports whether the word stands for a mask, of either kind.
func masks(file string) bool { return file == "masked" || file == runtimeMasked }

func (s *systemd) getAll(ctx context.Context, args AllArgs) ([]string, error) {
	return s.list(ctx, args, func(string) bool { return true })
}

func (s *systemd) getEnabled(ctx context.Context, args AllArgs) ([]string, error) {
	return s.list(ctx, args, startsAtBoot)
}

func (s *systemd) getDisabled(ctx context.Context, args AllArgs) ([]string, error) {
	return s.list(ctx, args, func(file string) bool { return !startsAtBoot(file) })
}

// list returns the names of all services whose unit file is in a state. A template
// does not count. A service that only runs and has no file, as a transient one, is
// not among them.
func (s *systemd) list(ctx context.Context, args AllArgs, which func(string) bool) ([]string, error) {
	m, err := s.manager(ctx, args.Session)
	if err != nil {
		return nil, err
	}
	files, err := m.Files(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, f := range files {
		name, service := strings.CutSuffix(path.Base(f.Path), ".service")
		if service && !strings.HasSuffix(name, "@") && which(f.State) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// A unit without a section Install cannot be enabled, so that is an error which
// names the state. A masked one is not unmasked by this.
func (s *systemd) enable(ctx context.Context, args BootArgs) (virtual.Nothing, error) {
	i, err := s.info(ctx, args.UnitArgs)
	switch {
	case err != nil || i.Enabled:
		return virtual.Nothing{}, notThere(args.Name, err)
	case *i.Masked:
		return virtual.Nothing{}, fmt.Errorf("%s is masked", i.Unit)
	case slices.Contains([]string{"static", "generated", "transient", "indirect"}, i.File):
		return virtual.Nothing{}, fmt.Errorf("%s cannot be enabled: its unit file is %s, so it does not say when the unit is to be started", i.Unit, i.File)
	}
	return s.files(ctx, args, (*systemd1.Manager).Enable)
}

// disable ends the start at each boot and the one until the next boot. A service
// that is missing counts as disabled.
func (s *systemd) disable(ctx context.Context, args BootArgs) (virtual.Nothing, error) {
	i, err := s.info(ctx, args.UnitArgs)
	if err != nil || !i.Enabled && i.File != runtimeEnabled {
		return virtual.Nothing{}, absent(err)
	}
	return s.files(ctx, args, takeBack(i.File, runtimeEnabled, (*systemd1.Manager).Disable, (*systemd1.Manager).DisableRuntime))
}

// mask makes a link to /dev/null. A service that is missing can be masked too, so
// that no later package starts it.
func (s *systemd) mask(ctx context.Context, args BootArgs) (virtual.Nothing, error) {
	i, err := s.info(ctx, args.UnitArgs)
	if err = absent(err); err != nil || i.File == "masked" {
		return virtual.Nothing{}, err
	}
	return s.files(ctx, args, (*systemd1.Manager).Mask)
}

// unmask ends both masks. A service that is missing or not masked needs nothing.
func (s *systemd) unmask(ctx context.Context, args BootArgs) (virtual.Nothing, error) {
	i, err := s.info(ctx, args.UnitArgs)
	if err != nil || !*i.Masked {
		return virtual.Nothing{}, absent(err)
	}
	return s.files(ctx, args, takeBack(i.File, runtimeMasked, (*systemd1.Manager).Unmask, (*systemd1.Manager).UnmaskRuntime))
}

// alter is a method that alters links to the files of units.
type alter func(m *systemd1.Manager, ctx context.Context, units ...string) error

// takeBack takes back the permanent state, and the state until the next boot, as
// both may exist; passing is the word of the file if there is only that. Each of the
// two calls takes back only its own kind, and the word of the file tells one of
// them.
func takeBack(file, passing string, forever, tillBoot alter) alter {
	return func(m *systemd1.Manager, ctx context.Context, units ...string) error {
		if file != passing {
			if err := forever(m, ctx, units...); err != nil {
				return err
			}
			left, err := m.FileState(ctx, units[0])
			if err != nil || left != passing {
				return err
			}
		}
		return tillBoot(m, ctx, units...)
	}
}

// files alters links to a unit file, and has the manager read them again, if not
// later. The links are written when change returns. Only a running manager does not
// know of them before Reload.
func (s *systemd) files(ctx context.Context, args BootArgs, change alter) (none virtual.Nothing, err error) {
	m, err := s.manager(ctx, args.Session)
	if err != nil {
		return none, err
	}
	if err := change(m, ctx, UnitName(args.Name)); err != nil || args.Later {
		return none, err
	}
	return none, m.Reload(ctx)
}

// reread has the manager read all unit files again. It blocks until that is done,
// which takes long on a machine with many units.
func (s *systemd) reread(ctx context.Context, args AllArgs) (none virtual.Nothing, err error) {
	m, err := s.manager(ctx, args.Session)
	if err != nil {
		return none, err
	}
	return none, m.Reload(ctx)
}

func (s *systemd) start(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, (*systemd1.Manager).Start)
}

func (s *systemd) stop(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, (*systemd1.Manager).Stop)
}

// restart starts a service that does not run, too.
func (s *systemd) restart(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, (*systemd1.Manager).Restart)
}

// reload does nothing with a unit that does not run.
func (s *systemd) reload(ctx context.Context, args UnitArgs) (virtual.Nothing, error) {
	return s.do(ctx, args, (*systemd1.Manager).ReloadUnit)
}

// do has the manager do something with a unit. It returns when the job of systemd
// has ended. Jobs of others for that unit are the caller's affair.
func (s *systemd) do(ctx context.Context, args UnitArgs, act func(*systemd1.Manager, context.Context, string) error) (none virtual.Nothing, err error) {
	if err := CheckName(args.Name); err != nil {
		return none, err
	}
	m, err := s.manager(ctx, args.Session)
	if err != nil {
		return none, err
	}
	err = act(m, ctx, UnitName(args.Name))
	if errors.Is(err, systemd1.ErrMissing) {
		err = notThere(args.Name, virtual.ErrNotFound)
	}
	return none, err
}

// notThere says of a service that is not there that it is not.
func notThere(name string, err error) error {
	if errors.Is(err, virtual.ErrNotFound) {
		return fmt.Errorf("there is no service %s: %w", name, err)
	}
	return err
}

// Watch implements virtual.Watcher. After a Resync it has to be called again. An
// empty list stands for all units. The subscription belongs to the caller.
func (s *systemd) Watch(ctx context.Context, list []string) (events.Subscription, error) {
	names, session, err := watched(list)
	if err != nil {
		return nil, err
	}
	m, err := s.manager(ctx, session)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		names[i] = UnitName(name)
	}
	return m.Signals(ctx, names...)
}
