package puppet_test

import (
	"context"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/traits"
)

// inert does nothing: these kinds are only declared.
type inert struct{}

func (inert) Validate() error                                { return nil }
func (inert) Init(*engine.Init) error                        { return nil }
func (inert) Cleanup() error                                 { return nil }
func (inert) Watch(context.Context) error                    { return nil }
func (inert) CheckApply(context.Context, bool) (bool, error) { return true, nil }
func (inert) Cmp(engine.Res) error                           { return nil }

// The kinds have the parameters of those that come with mgmt; integration holds
// that the table fits the real ones.

type fileRes struct {
	traits.Base
	traits.Recvable
	inert `yaml:"-"`

	Path        string      `yaml:"path" mgmt:"identity"`
	State       string      `yaml:"state"`
	Content     *string     `yaml:"content"`
	Source      string      `yaml:"source"`
	Fragments   []string    `yaml:"fragments"`
	Owner       string      `yaml:"owner"`
	Group       string      `yaml:"group"`
	Mode        schema.Mode `yaml:"mode"`
	Recurse     bool        `yaml:"recurse"`
	Force       bool        `yaml:"force"`
	Purge       bool        `yaml:"purge"`
	Symlink     bool        `yaml:"symlink"`
	ReplaceLink bool        `yaml:"replace_link"`
	CopyMode    string      `yaml:"copy_mode"`
	Keep        bool        `yaml:"keep"`
	ValidateCmd string      `yaml:"validate" mgmt:"param,nosecret"`
}

func (*fileRes) Default() engine.Res { return &fileRes{} }

type mountRes struct {
	traits.Base
	inert `yaml:"-"`

	Path    string   `yaml:"path" mgmt:"identity"`
	State   string   `yaml:"state"`
	Device  string   `yaml:"device"`
	Type    string   `yaml:"type"`
	Options []string `yaml:"options"`
	Freq    int      `yaml:"freq"`
	PassNo  int      `yaml:"passno"`
	Fstab   string   `yaml:"fstab" mgmt:"param"`
}

func (*mountRes) Default() engine.Res { return &mountRes{} }

type execRes struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	inert `yaml:"-"`

	Cmd         string            `yaml:"cmd" mgmt:"identity,nosecret=env|stdin"`
	Args        []string          `yaml:"args" mgmt:"param,nosecret=env|stdin"`
	Shell       string            `yaml:"shell"`
	Cwd         string            `yaml:"cwd"`
	Env         map[string]string `yaml:"env"`
	User        string            `yaml:"user"`
	Group       string            `yaml:"group"`
	Timeout     time.Duration     `yaml:"timeout" mgmt:"param,unit=s"`
	RefreshOnly bool              `yaml:"refreshonly"`
	Creates     string            `yaml:"creates"`
	IfCmd       string            `yaml:"ifcmd" mgmt:"param,nosecret=env"`
	IfCwd       string            `yaml:"ifcwd"`
	IfShell     string            `yaml:"ifshell"`
	NIfCmd      string            `yaml:"nifcmd" mgmt:"param,nosecret=env"`
	NIfCwd      string            `yaml:"nifcwd"`
	NIfShell    string            `yaml:"nifshell"`
}

func (*execRes) Default() engine.Res { return &execRes{} }

type msgRes struct {
	traits.Base
	traits.Recvable
	traits.Refreshable
	inert `yaml:"-"`

	Body     string `yaml:"body"`
	Priority string `yaml:"priority"`
}

func (*msgRes) Default() engine.Res { return &msgRes{} }

type noopRes struct {
	traits.Base
	traits.Refreshable
	inert `yaml:"-"`
}

func (*noopRes) Default() engine.Res { return &noopRes{} }

type valueRes struct {
	traits.Base
	traits.Sendable
	inert `yaml:"-"`

	Any any `yaml:"any"`
}

func (*valueRes) Default() engine.Res { return &valueRes{} }

func (*valueRes) Sends() any {
	return &struct {
		Any any `yaml:"any"`
	}{}
}

type userRes struct {
	traits.Base
	inert `yaml:"-"`

	State    string        `yaml:"state"`
	UID      *uint32       `yaml:"uid"`
	GID      *uint32       `yaml:"gid"`
	Group    string        `yaml:"group"`
	Groups   []string      `yaml:"groups"`
	HomeDir  string        `yaml:"homedir"`
	Shell    string        `yaml:"shell"`
	Comment  string        `yaml:"comment"`
	Password schema.Secret `yaml:"password"`
}

func (*userRes) Default() engine.Res { return &userRes{} }

type svcRes struct {
	traits.Base
	traits.Refreshable
	inert `yaml:"-"`

	State     string `yaml:"state"`
	Startup   string `yaml:"startup"`
	OnRefresh string `yaml:"refresh"`
}

func (*svcRes) Default() engine.Res { return &svcRes{} }
func (*svcRes) Backends() []string  { return []string{"runit", "systemd", "sysv"} }

type lineRes struct {
	traits.Base
	traits.Recvable
	inert `yaml:"-"`

	File       string `yaml:"file" mgmt:"identity"`
	State      string `yaml:"state"`
	Content    string `yaml:"content"`
	Match      string `yaml:"match"`
	Below      string `yaml:"below"`
	Create     bool   `yaml:"create"`
	AllMatches bool   `yaml:"all_matches"`
	OneMatch   bool   `yaml:"one_match"`
	IfMissing  bool   `yaml:"if_missing"`
	Keep       bool   `yaml:"keep"`
	NoAdd      bool   `yaml:"no_add"`
}

func (*lineRes) Default() engine.Res { return &lineRes{} }

type sysctlRes struct {
	traits.Base
	inert `yaml:"-"`

	Key     string `yaml:"key" mgmt:"identity"`
	State   string `yaml:"state"`
	Value   string `yaml:"value"`
	Path    string `yaml:"path"`
	Runtime bool   `yaml:"runtime"`
	Persist bool   `yaml:"persist"`
}

func (*sysctlRes) Default() engine.Res { return &sysctlRes{} }

// thingRes stands for a kind of some module.
type thingRes struct {
	traits.Base
	traits.Refreshable
	inert `yaml:"-"`

	Ensure string            `yaml:"ensure"`
	Size   int               `yaml:"size"`
	Parts  map[string]string `yaml:"parts"`
}

func (*thingRes) Default() engine.Res { return &thingRes{} }

// kinds has those kinds; nobody alters it.
var kinds = func() *engine.Registry {
	reg := engine.NewRegistry()
	for kind, make := range map[string]func() engine.Res{
		"file": (&fileRes{}).Default, "exec": (&execRes{}).Default, "msg": (&msgRes{}).Default,
		"noop": (&noopRes{}).Default, "value": (&valueRes{}).Default, "user": (&userRes{}).Default,
		"svc": (&svcRes{}).Default, "mount": (&mountRes{}).Default, "thing": (&thingRes{}).Default,
		"line": (&lineRes{}).Default, "sysctl": (&sysctlRes{}).Default,
	} {
		if err := reg.Register(kind, make); err != nil {
			panic(err)
		}
	}
	return reg
}()
