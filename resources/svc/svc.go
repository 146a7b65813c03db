package svc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/svc/backends"
	"github.com/reactivegraph/mgmt/traits"
)

// The states of a service, and whether it is started at boot.
const (
	Running  = "running"
	Stopped  = "stopped"
	Enabled  = "enabled"
	Disabled = "disabled"
	Masked   = "masked"
)

// What a notification does.
const (
	Reload  = "reload"
	Restart = "restart"
	try     = "try"
)

// stable is the default of the parameter.
const stable = 5 * time.Second

func init() {
	virtualkind.Register("svc", newRes)
}

func newRes(k *virtual.Kind) virtual.Resource { return &Res{Backed: virtualkind.Of(k)} }

var (
	_ virtual.Resource      = (*Res)(nil)
	_ engine.EdgeableRes    = (*Res)(nil)
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.RefreshableRes = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Res is a service: whether it runs, and whether it is started at boot. Its name is
// that of the service.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Refreshable
	traits.Reversible

	State     string        `yaml:"state" lang:"state" mgmt:"enum=running|stopped" doc:"Whether it runs; if nothing is said, it is left as it is."`
	Startup   string        `yaml:"startup" lang:"startup" mgmt:"enum=enabled|disabled|masked" doc:"Whether it is started at boot. A masked one cannot be started at all. If nothing is said, that is left as it is."`
	OnRefresh string        `yaml:"refresh" lang:"refresh" mgmt:"param,enum=reload|restart|try" doc:"The effect of a notification on a running service: try reloads it, or restarts it if it cannot reload; reload fails if it cannot; restart always restarts it. If nothing is said, it is try."`
	Stable    time.Duration `yaml:"stable" lang:"stable" mgmt:"param,unit=s" doc:"How long a service must have been up since its start until it counts as running; 0 for not at all. One that tells its manager that it serves (Type=notify of a unit) need not wait."`
	Session   bool          `yaml:"session" lang:"session" mgmt:"param" doc:"It is a service of the own session of the user that mgmt runs as, and not of the machine. Only systemd has those."`

	// Backed chooses the backend and keeps the handle.
	virtualkind.Backed
	// seen is what Watch and CheckApply know together. It is of one life of the resource.
	seen  *seen
	locks []pkglock.Lock // while another process holds one of them, nothing is done; nil for those of the machine
}

// WaitFor replaces the locks of the package managers of the machine, for a test on another one. It is called before Init.
func (r *Res) WaitFor(locks []pkglock.Lock) { r.locks = locks }

// Default returns a service of which nothing is said.
func (r *Res) Default() engine.Res {
	return &Res{Stable: stable, Backed: virtualkind.Of(r.VirtualKind()), locks: r.locks}
}

// Backends returns the names of the service managers that are known.
func (r *Res) Backends() []string { return r.BackendNames("svc") }

// Backend names the service manager that was asked for.
func (r *Res) Backend() string { return engine.MetaOf(r).Backend }

// Needs returns what has to be called for such a resource.
func (r *Res) Needs() []string {
	need := []string{backends.Describe.Name()}
	switch r.State {
	case Running:
		need = append(need, backends.Start.Name())
	case Stopped:
		need = append(need, backends.Stop.Name())
	}
	switch r.Startup {
	case Enabled:
		need = append(need, backends.Enable.Name())
	case Disabled:
		need = append(need, backends.Disable.Name())
	case Masked:
		need = append(need, backends.Mask.Name())
	}
	switch r.OnRefresh {
	// A backend that can reload has to say of a service whether that can.
	case Reload:
		need = append(need, backends.Reload.Name(), backends.CanReload.Name())
	case Restart:
		need = append(need, backends.Restart.Name())
	}
	if r.Session {
		need = append(need, backends.Describe.Param("session"))
	}
	return need
}

// Validate checks the name and the parameters.
func (r *Res) Validate() error {
	errs := []error{backends.CheckName(r.Name())}
	if !slices.Contains([]string{"", Running, Stopped}, r.State) {
		errs = append(errs, fmt.Errorf("state is %q, it must be running or stopped", r.State))
	}
	if !slices.Contains([]string{"", Enabled, Disabled, Masked}, r.Startup) {
		errs = append(errs, fmt.Errorf("startup is %q, it must be enabled, disabled or masked", r.Startup))
	}
	if !slices.Contains([]string{"", Reload, Restart, try}, r.OnRefresh) {
		errs = append(errs, fmt.Errorf("refresh is %q, it must be reload, restart or try", r.OnRefresh))
	}
	if r.Stable < 0 {
		errs = append(errs, fmt.Errorf("stable is %s, it must not be negative", r.Stable))
	}
	if r.State == Running && r.Startup == Masked {
		errs = append(errs, errors.New("startup is masked and state is running: a masked service cannot be started"))
	}
	return errors.Join(errs...)
}

// CheckMachine says what the backend of a machine can't do.
func (r *Res) CheckMachine(m engine.Machine) error { return r.Check("svc", r, m) }

// Init keeps the handle.
func (r *Res) Init(init *engine.Init) error {
	r.Keep(init)
	r.seen = newSvcSeen()
	if shared, ok := init.Shared.(*shared); ok {
		r.UseHost(host{init.Host, &shared.turn})
	}
	return nil
}

// Cmp compares the parameters, and the backends to choose from.
func (r *Res) Cmp(o engine.Res) error { return virtual.Cmp(r, o) }

// Args returns the arguments of the functions of a backend that are about this service.
func (r *Res) Args() backends.UnitArgs {
	return backends.UnitArgs{Name: r.Name(), Session: r.Session}
}

// look asks for the service; nil if it is not there.
func (r *Res) look(ctx context.Context, m *virtual.Module) (*backends.Info, error) {
	info, result, err := backends.Describe.Call(ctx, m, r.Args())
	if err != nil || !result.Found {
		return nil, err
	}
	return &info, nil
}

// Read returns the service as it is.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	m, err := r.Open(ctx, "svc", r.Backend())
	if err != nil {
		return nil, err
	}
	defer m.Close()
	info, err := r.look(ctx, m)
	if err != nil || info == nil {
		return nil, err
	}
	return r.as(r.Name(), info), nil
}

// as makes a resource of what is known of a service.
func (r *Res) as(name string, info *backends.Info) engine.Res {
	is := &Res{State: state(info), Stable: r.Stable, Session: r.Session, Backed: virtualkind.Of(r.VirtualKind()), locks: r.locks}
	is.SetKind(r.Kind())
	is.SetName(name)
	is.MetaParams().Backend = r.Backend()
	if now := startup(info); slices.Contains([]string{Enabled, Disabled, Masked}, now) {
		is.Startup = now // of anything else nothing can be said
	}
	return is
}

// state returns the state in the words of the parameter. An unknown service is a stopped one.
func state(info *backends.Info) string {
	if info != nil && info.Running {
		return Running
	}
	return Stopped
}

// A state until the next boot only can't be wanted.
const (
	untilBoot       = "enabled until the next boot"
	maskedUntilBoot = "masked until the next boot"
)

// startup returns the start at boot in the words of the parameter, or one of the two states that
// pass. A manager that knows no masking leaves Masked nil.
func startup(info *backends.Info) string {
	passing := info != nil && info.Passing != nil && *info.Passing
	switch {
	case passing && info.Masked != nil && *info.Masked:
		return maskedUntilBoot
	case passing:
		return untilBoot
	case info != nil && info.Masked != nil && *info.Masked:
		return Masked
	case info != nil && info.Enabled:
		return Enabled
	}
	return Disabled
}

// List yields all services of the machine, or of the session.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		m, err := r.Open(ctx, "svc", r.Backend())
		if err != nil {
			yield(nil, err)
			return
		}
		defer m.Close()
		names, _, err := backends.GetAll.Call(ctx, m, backends.AllArgs{Session: r.Session})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			info, result, err := backends.Describe.Call(ctx, m, backends.UnitArgs{Name: name, Session: r.Session})
			switch {
			case err != nil:
				if !yield(nil, err) {
					return
				}
			case result.Found && !yield(r.as(name, &info), nil):
				return
			}
		}
	}
}

// Reversed returns the resource that brings back the state before, as far as this resource manages
// it. A service that was not there is stopped, and not started at boot.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	undo := &Res{Session: r.Session, Stable: r.Stable, Backed: virtualkind.Of(r.VirtualKind()), locks: r.locks}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	undo.MetaParams().Backend = r.Backend()
	was, _ := before.(*Res)
	// There was no such service. It is not removed: that belongs to its package.
	if before == nil {
		was = &Res{State: Stopped, Startup: Disabled}
	}
	if was == nil {
		return nil, fmt.Errorf("%s can't go back to a %s", r, before.Kind())
	}
	if r.State != "" {
		undo.State = was.State
	}
	if r.Startup != "" {
		undo.Startup = was.Startup
	}
	if undo.State == Running && undo.Startup == Masked {
		undo.State = "" // it ran before it was masked, and cannot be started now
	}
	return undo, nil
}

// Doc describes the kind.
func (r *Res) Doc() string {
	return `Keeps a service running or stopped, and has it started at boot or not.

The service manager of the machine is found by itself: systemd, which is asked over D-Bus, OpenRC, runit, or the scripts in
` + "`/etc/init.d`" + `; the metaparameter ` + "`backend`" + ` names another one. The name is that of the service, such as ` + "`nginx`" + `; with systemd it may also be that of another unit,
such as ` + "`backup.timer`" + `. A feature that a manager does not have, such as masking without systemd, is an error when the graph is loaded.

A service that stops, fails or is disabled is put right at once with systemd and runit, which tell of it. OpenRC tells
of changes by its own tools; scripts tell of nothing, so they are asked every ten seconds.

A service is running when its manager says so, it is done with starting, and it has stayed up since for the time of
` + "`stable`" + `. Until then the resource is running or waiting, so the graph has not converged. A unit of ` + "`Type=notify`" + ` or ` + "`dbus`" + ` says itself that it serves, and one of ` + "`Type=oneshot`" + `
has done its work: they need not wait. A service that has lived for less than a minute must stay up twice as long the next time.

A service that does not come up is a failure. Its error has the exit status first, then the last five lines that the service itself
wrote to the journal; where there is no journal, the words of systemd.

A service that ends and that its manager starts again (` + "`Restart=`" + ` of a unit, runit) is left to the manager: mgmt does not start it, and its restarts are no changes of mgmt.
The resource is failed from the first crash until the service has stayed up, with ` + "`crashing, 3 times in 8s`" + ` and the reason. Once systemd has given up, or where it never restarts the unit,
mgmt starts it, with growing pauses. A notification restarts a crashing service at once, since what it reads is new.

A service that others stop or kill has not failed, however soon after its start that is: mgmt starts it again at once. systemd tells a stop from an end by itself, whatever the
exit status is. A signal (HUP, INT, KILL, TERM) may also come from the service itself, so one that a signal ends right after each of six starts in a row has failed.
One that is killed and that its manager starts again is left to the manager, as above.

A notification has a service that runs read its configuration again, or restarts it if it cannot reload. The parameter ` + "`refresh`" + ` chooses one of the two.
Log and ` + "`mgmt why`" + ` say which was done, and for which reason. A reload that fails is a failure: mgmt does not restart the service then, since a broken
configuration would end it. A service that does not run and need not run is left alone. A changed unit file is read anew before that.
systemd knows of each unit whether it can reload. OpenRC and scripts are asked for the word; runit sends a signal, so with it every service can.

mgmt does not disturb others. While systemd has a job for the service, or stops a unit that the service needs, mgmt does nothing with it. The same
holds while another process has the lock of a package manager: apt, dnf, zypper, pacman or apk stop and start services themselves. The resource is ` + "`waiting`" + `
then, and says for which job or process; if that hangs, the text says how to end it. mgmt looks again when it is over. So a restart
by hand does not count as drift, and a service that was stopped by hand is started again after the stop. A running service with
nothing to do waits for nothing. OpenRC says only that a service is starting or stopping; runit and scripts have no jobs, so with
them mgmt waits for package managers alone.

A service that is enabled or masked with --runtime, so until the next boot only, is neither enabled nor disabled nor masked. The
wanted state holds each time that the machine boots.

A service that is not there counts as stopped and disabled; that it should run or be enabled is a failure then.`
}

var _ virtual.UsingRes = (*Res)(nil)

// Uses says what a service needs.
func (r *Res) Uses() (all []virtual.Use) {
	for _, s := range []string{Running, Stopped} {
		all = append(all, virtualkind.Use("state: "+s, &Res{State: s}))
	}
	for _, s := range []string{Enabled, Disabled, Masked} {
		all = append(all, virtualkind.Use("startup: "+s, &Res{Startup: s}))
	}
	for _, s := range []string{Reload, Restart} {
		all = append(all, virtualkind.Use("refresh: "+s, &Res{OnRefresh: s}))
	}
	return append(all, virtualkind.Use("session: true", &Res{Session: true}))
}
