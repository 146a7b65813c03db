package nspawn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/declaration"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/file"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/names"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/virtualkind"
	"github.com/reactivegraph/mgmt/resources/svc"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("nspawn", func() engine.Res { return &Res{} })
}

var (
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ declaration.Stated    = (*Res)(nil)
	_ engine.RefreshableRes = (*Res)(nil)
	_ engine.SendableRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Absent is the state of a container without any trace. The others are those of a service.
const Absent = "absent"

// Res is a container of systemd-nspawn, as machinectl starts it: the instance of the unit
// systemd-nspawn@.service that has its name. The kinds svc and file do their parts, as its
// children.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Refreshable
	traits.Reversible
	traits.Sendable

	State    string  `yaml:"state" lang:"state" mgmt:"enum=running|stopped|absent" doc:"Whether it runs (which is what nothing means), or is not even there: neither settings nor an image."`
	Startup  string  `yaml:"startup" lang:"startup" mgmt:"enum=enabled|disabled|masked" doc:"Whether it is started at boot. A masked one cannot be started at all. If nothing is said, that is left as it is."`
	Settings *string `yaml:"settings" lang:"settings" doc:"The content of its .nspawn file: network, folders to bind, capabilities. If it changes, a container that runs is restarted. Empty for no such file; absent leaves the file alone."`
	Force    bool    `yaml:"force" lang:"force" mgmt:"param" doc:"With state absent: remove the image, with all that is in it."`

	init *engine.Init
	file files.Managed
	kids traits.Children
	held []engine.Res // what kids has
	seen *lastSeen

	kind *virtual.Kind // of the service; nil for that of the default registry
	// In tests, the machine is another one: root gives the folder that it is below, nil for none, and locks are those of its package managers.
	root  func(name string) string
	locks []pkglock.Lock
}

// Sends is what a container sends.
type Sends struct {
	Leader int `yaml:"leader" doc:"The number of its first process, as this machine counts; 0 if it does not run."`
}

// Default returns a container that runs.
func (r *Res) Default() engine.Res {
	return &Res{State: svc.Running, kind: r.kind, root: r.root, locks: r.locks}
}

// Sends says what is sent.
func (*Res) Sends() any { return &Sends{} }

func (r *Res) state() string {
	if r.State == "" {
		return svc.Running
	}
	return r.State
}

func (r *Res) absent() bool { return r.State == Absent }

// unit is the name of its unit. Machines have no letters that would be escaped.
func (r *Res) unit() string { return "systemd-nspawn@" + r.Name() + ".service" }

// DropForState takes out what only a machine that is there has.
func (r *Res) DropForState() {
	if r.absent() {
		r.Settings, r.Startup = nil, ""
	}
}

// settingsGiven reports whether it is said what its settings are.
func (r *Res) settingsGiven() bool { return r.Settings != nil || r.Recv()["settings"] != nil }

// hasSettings reports whether the file of its settings is managed.
func (r *Res) hasSettings() bool { return r.absent() || r.settingsGiven() }

// settings is what the file has to say; empty for no file.
func (r *Res) settings() string {
	if r.absent() || r.Settings == nil {
		return ""
	}
	return *r.Settings
}

// settingsFolder is where the settings of containers are.
const settingsFolder = "/etc/systemd/nspawn/"

func (r *Res) settingsPath() string { return r.at(settingsFolder + r.Name() + ".nspawn") }

// at is where a path is.
func (r *Res) at(path string) string {
	if r.root == nil {
		return path
	}
	return r.root(r.Name()) + path
}

// Validate checks the name and the parameters.
func (r *Res) Validate() error {
	errs := []error{names.CheckHost("the name", r.Name())}
	if !slices.Contains([]string{svc.Running, svc.Stopped, Absent}, r.state()) {
		errs = append(errs, fmt.Errorf("state is %q, it must be running, stopped or absent", r.State))
	}
	errs = append(append(errs, checkSettings(r.settings())), rules.Broken([]rules.Rule{
		{If: r.Force && !r.absent(), Text: "force is only for state absent"},
		{If: r.absent() && r.settingsGiven(), Text: "settings are given, and state is absent"},
		{If: r.absent() && r.Startup != "" && r.Startup != svc.Disabled, Text: "startup is " + r.Startup + ", and state is absent"},
	})...)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return traits.ValidateChildren(r.children()...)
}

// CheckMachine refuses a machine without a systemd for it.
func (r *Res) CheckMachine(m engine.Machine) error {
	return traits.CheckChildren(m, r.children()...)
}

// sections are those of the file of settings.
var sections = []string{"Exec", "Files", "Network"}

// checkSettings refuses what systemd-nspawn would leave out with no more than a warning.
func checkSettings(text string) error {
	section, joined := "", false
	for i, line := range strings.Split(text, "\n") {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("settings: line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		was := joined
		joined = strings.HasSuffix(line, `\`)
		line = strings.TrimSpace(line)
		_, _, assigns := strings.Cut(line, "=")
		switch {
		case strings.ContainsFunc(strings.ReplaceAll(line, "\t", " "), unicode.IsControl):
			return bad("there is a control character in it")
		case was || line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.TrimSuffix(line[1:], "]")
			if line[len(line)-1] != ']' || !slices.Contains(sections, section) && !strings.HasPrefix(section, "X-") {
				return bad("it is none of the sections [%s]", strings.Join(sections, "], ["))
			}
		case !assigns || line[0] == '=':
			return bad("it is neither a section nor KEY=VALUE")
		case section == "":
			return bad("it stands before the first section")
		}
	}
	return nil
}

// children are what it is made of: the file of its settings, and its unit, which comes
// last.
func (r *Res) children() (list []engine.Res) {
	if text := r.settings(); text != "" {
		mode := schema.Mode("0644")
		if received.AnyTainted(r.Recv()) {
			mode = "0600"
		}
		list = append(list, traits.Child("file", r.at(settingsFolder), &file.Res{}),
			traits.Child("file", r.settingsPath(), &file.Res{Content: &text, Mode: mode}))
	} else if r.hasSettings() {
		list = append(list, traits.Child("file", r.settingsPath(), &file.Res{State: file.Absent}))
	}
	return append(list, r.service())
}

// service is its unit.
func (r *Res) service() *svc.Res {
	s := &svc.Res{State: r.state(), Startup: r.Startup, Backed: virtualkind.Of(r.kind)}
	if r.absent() {
		s.State, s.Startup = svc.Stopped, svc.Disabled
	}
	s.WaitFor(r.locks)
	traits.Child("svc", r.unit(), s)
	return s
}

// Init initialises the children, and tells the files of the graph of the settings.
func (r *Res) Init(init *engine.Init) error {
	r.init, r.file, r.seen = init, files.Managed{}, newSeen()
	if err := r.begin(r.children()); err != nil {
		return err
	}
	if r.settings() != "" {
		r.file.Tell(files.Of(init), r.settingsPath())
	}
	return nil
}

// begin initialises children. A value received into settings is the content of the file.
func (r *Res) begin(list []engine.Res) error {
	if err := r.kids.Init(r.init, list...); err != nil {
		r.held = nil
		return err
	}
	r.held = list
	if len(list) < 3 {
		return nil
	}
	r.kids.Handle(1).Recv = func() map[string]*engine.Send {
		if s := r.init.Recv()["settings"]; s != nil {
			return map[string]*engine.Send{"content": s}
		}
		return nil
	}
	return nil
}

// follow puts others in the place of the children, if other values for them have been received
// since.
func (r *Res) follow() error {
	want := r.children()
	if slices.EqualFunc(r.held, want, func(a, b engine.Res) bool {
		return a.String() == b.String() && a.Cmp(b) == nil
	}) {
		return nil
	}
	if err := r.kids.Cleanup(); err != nil {
		return err
	}
	return r.begin(want)
}

// Cleanup cleans up the children.
func (r *Res) Cleanup() error {
	r.file.Tell(files.Of(r.init), "")
	return r.kids.Cleanup()
}

// Shared is what all files have in common.
func (*Res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return files.With()
}

// Cmp compares the parameters: the children follow from them.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }
