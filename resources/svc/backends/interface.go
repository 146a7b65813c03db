// Package backends is the virtual module svc: the functions of a service manager, and the backends that
// do them. The package engine/virtual tells how to write a backend.
//
// # Rules for backends
//
//   - A call that changes a state returns when the state is reached, or with the reason for which
//     it is not: of a start that failed, the exit status first, with the last lines that the service
//     wrote if there are some.
//   - A state that is there already is done: to start a running service does nothing.
//   - Running and enabled are two things; no call changes both.
//   - A name that is not CheckName is refused before a tool is run.
//   - Watch takes the result of Watched.
package backends

import (
	"time"

	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/names"
)

// UnitArgs is one service. A backend without services of users has its own struct
// without the session. The name is without or with the suffix .service; both mean
// the same.
type UnitArgs struct {
	Name    string `yaml:"name" mgmt:"required" doc:"The name of the service."`
	Session bool   `yaml:"session" doc:"The service is one of the user's own session, and not of the machine."`
}

// BootArgs are those of the calls about what happens at boot. The kind svc sets
// later for all services of a batch, and calls Reread once behind them.
type BootArgs struct {
	UnitArgs `yaml:",inline"`
	Later    bool `yaml:"later" doc:"The manager need not know of it before reread, which serves many services at once."`
}

// AllArgs are those of the calls about all services.
type AllArgs struct {
	Session bool `yaml:"session" doc:"Those of the user's own session, and not of the machine."`
}

// Info is the record of a service, by one call. A nil field means that the manager
// knows no such thing, and not that it is false.
type Info struct {
	Name       string  `yaml:"name" doc:"The name of the service."`
	Running    bool    `yaml:"running" doc:"It runs. A service that ends by design and has run counts as running if the manager says so."`
	Enabled    bool    `yaml:"enabled" doc:"It is started at boot. A service that has no say in that counts as not enabled."`
	Masked     *bool   `yaml:"masked" doc:"It cannot be started at all."`
	Passing    *bool   `yaml:"passing" doc:"Its start at boot, or its mask, holds until the next boot only. A service that would be enabled then counts as not enabled."`
	Failed     *bool   `yaml:"failed" doc:"It does not run because it failed."`
	Detail     *string `yaml:"detail" doc:"Its state in the words of the manager."`
	PID        *int    `yaml:"pid" doc:"Its main process."`
	CanReload  *bool   `yaml:"can_reload" doc:"It can be told to read its configuration again."`
	Job        *string `yaml:"job" doc:"The present or next job of the manager for it, at the request of any program. Nothing else may be begun before. It fits behind 'waits for'."`
	Ending     *bool   `yaml:"ending" doc:"Its processes are about to end, and nobody has asked for that."`
	Restarting *bool   `yaml:"restarting" doc:"It has ended, and its manager is about to start it again by itself."`
}

// LifeInfo is how long a service has been up. A nil field means that the manager does not know.
type LifeInfo struct {
	Up       *time.Duration `yaml:"up" doc:"How long it has been up."`
	Ready    *bool          `yaml:"ready" doc:"It has told its manager that it serves, or needs no process for that. A service that is not ready may still end right after its start."`
	Restarts *int           `yaml:"restarts" doc:"How often its manager has started it again by itself since it was last started by request."`
	Down     *time.Duration `yaml:"down" doc:"How long ago its last life has ended. It is known as long as the manager keeps that in mind."`
	Stopped  *bool          `yaml:"stopped" doc:"That life has ended since the manager was asked to stop the service."`
	Killed   *bool          `yaml:"killed" doc:"That life was ended by a signal that others send (HUP, INT, KILL, TERM). The service may also have sent it to itself."`
}

// The functions. Those without an option are the core, which each backend has. An
// extra is asked for by the kinds that need it.
var (
	Describe = virtual.Declare[UnitArgs, Info]("info", "The record of a service, in one call.", virtual.OrNotFound(nil))
	Start    = virtual.Declare[UnitArgs, virtual.Nothing]("start", "Start a service.")
	Stop     = virtual.Declare[UnitArgs, virtual.Nothing]("stop", "Stop a service.")
	Restart  = virtual.Declare[UnitArgs, virtual.Nothing]("restart", "Stop a service if it runs, and start it.")
	Reload   = virtual.Declare[UnitArgs, virtual.Nothing]("reload", "Have a service that runs read its configuration again; restart it if it cannot. A reload that fails is an error, and no reason to restart.")
	Status   = virtual.Declare[UnitArgs, bool]("status", "Whether a service runs.")

	Enable   = virtual.Declare[BootArgs, virtual.Nothing]("enable", "Have a service started at boot.")
	Disable  = virtual.Declare[BootArgs, virtual.Nothing]("disable", "Have a service not started at boot.")
	Enabled  = virtual.Declare[UnitArgs, bool]("enabled", "Whether a service is started at boot.")
	Disabled = virtual.Declare[UnitArgs, bool]("disabled", "Whether a service that is there is not started at boot.")

	Available   = virtual.Declare[UnitArgs, bool]("available", "Whether a service is there.")
	Missing     = virtual.Declare[UnitArgs, bool]("missing", "Whether a service is not there.")
	GetAll      = virtual.Declare[AllArgs, []string]("get_all", "The names of all services, sorted.")
	GetEnabled  = virtual.Declare[AllArgs, []string]("get_enabled", "The names of the services that are started at boot, sorted.")
	GetDisabled = virtual.Declare[AllArgs, []string]("get_disabled", "The names of the services that are not started at boot, sorted.")

	Mask      = virtual.Declare[BootArgs, virtual.Nothing]("mask", "Have a service not be startable at all.", bySystemd)
	Unmask    = virtual.Declare[BootArgs, virtual.Nothing]("unmask", "End what mask began.", bySystemd)
	Masked    = virtual.Declare[UnitArgs, bool]("masked", "Whether a service cannot be started at all.", bySystemd)
	CanReload = virtual.Declare[UnitArgs, bool]("can_reload", "Whether a service that is there can read its configuration again while it runs.", virtual.AsExtra)

	Life   = virtual.Declare[UnitArgs, LifeInfo]("life", "How long a service has been up, and how often its manager has started it again.", virtual.AsExtra, virtual.OrNotFound(nil))
	Reason = virtual.Declare[UnitArgs, string]("reason", "Why a service does not run: the exit status first, then the last lines that it wrote itself.", virtual.AsExtra)

	Reread = virtual.Declare[AllArgs, virtual.Nothing]("reread", "Have the manager take note of changes later.", bySystemd)
)

// bySystemd marks a function that other service managers do not have.
func bySystemd(f *virtual.Function) { f.Supported = virtual.Match{"systemd_booted": {true}} }

// Interface is the module. All service managers have its core; the extras are those
// of one. Each call returns a new value, which the caller owns.
func Interface() *virtual.Interface {
	return &virtual.Interface{
		Module: "svc",
		Doc:    "Services of the machine.",
		Functions: []virtual.Function{
			Describe.Function(), Start.Function(), Stop.Function(), Restart.Function(), Reload.Function(), Status.Function(),
			Enable.Function(), Disable.Function(), Enabled.Function(), Disabled.Function(),
			Available.Function(), Missing.Function(), GetAll.Function(), GetEnabled.Function(), GetDisabled.Function(),
			Mask.Function(), Unmask.Function(), Masked.Function(), CanReload.Function(), Life.Function(), Reason.Function(), Reread.Function(),
		},
	}
}

// Backends returns a new one of each backend of this package. The order has no
// meaning: facts, priority and the programs of the machine decide.
func Backends() []*virtual.Backend {
	return []*virtual.Backend{systemdBackend(), openrcBackend(), sysvBackend(), runitBackend()}
}

func init() {
	virtual.Register("svc", func() (*virtual.Interface, []*virtual.Backend) { return Interface(), Backends() })
}

// CheckName refuses any text but the name of a service: a text that could be an
// option or a path, or has characters that no service manager allows, and a template
// without an instance. Each call of a backend asks it too, since the module has
// other callers than the kind.
func CheckName(name string) error { return names.CheckService(name) }
