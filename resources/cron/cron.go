package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/names"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("cron", func() engine.Res { return &Res{} })
}

var (
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.RefreshableRes = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Whether a timer is started at boot.
const (
	// Enabled is started at each boot, by a link below timers.target.wants. It is
	// the default.
	Enabled = "enabled"
	// Disabled is not started at boot, though it runs now.
	Disabled = "disabled"
)

// triggers are what a timer can count from. systemd has triggers without a time too,
// such as OnClockChange; no parameter says these.
var triggers = []string{
	"OnCalendar", "OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec",
}

// States of a timer.
const (
	// Exists is a timer whose file is there, and which runs. It is the default.
	Exists = "exists"
	// Absent is a timer that does not run and has no file. A masked one passes for
	// absent.
	Absent = "absent"
)

// Res is a timer of systemd, that starts a unit at times. The reactor owns an
// instance. CheckApply and Watch run at the same time and share seen, which has a
// lock; all else is set before either begins.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Refreshable
	traits.Reversible

	// The fields up to Description are compared, by their text in the file; session
	// only says where the file is.
	State   string `yaml:"state" lang:"state" mgmt:"enum=exists|absent" doc:"Whether there is the timer, and runs; exists if nothing is said."`
	Unit    string `yaml:"unit" lang:"unit" doc:"The unit that it starts; if absent, the service of its own name."`
	Trigger string `yaml:"trigger" lang:"trigger" mgmt:"enum=OnCalendar|OnActiveSec|OnBootSec|OnStartupSec|OnUnitActiveSec|OnUnitInactiveSec" doc:"What time is about: dates and times of day, or how long after the timer, the machine, the manager or the unit has started, or the unit has stopped."`
	Time    string `yaml:"time" lang:"time" doc:"When: as in Mon..Fri 02:30 for OnCalendar, and 15min for the others."`
	Startup string `yaml:"startup" lang:"startup" mgmt:"enum=enabled|disabled" doc:"Whether it is started at boot; enabled if nothing is said."`
	Session bool   `yaml:"session" lang:"session" mgmt:"param" doc:"It is one of the user that the program runs as, and not of the machine."`

	Accuracy          time.Duration `yaml:"accuracysec" lang:"accuracysec" doc:"How much later it may come, to save power; a minute if absent."`
	RandomizedDelay   time.Duration `yaml:"randomizeddelaysec" lang:"randomizeddelaysec" doc:"How much later it comes at most, by chance."`
	Persistent        bool          `yaml:"persistent" lang:"persistent" doc:"A time that was missed while the machine was off is made up for at the next start. Only for OnCalendar."`
	WakeSystem        bool          `yaml:"wakesystem" lang:"wakesystem" doc:"Wake the machine up if it sleeps."`
	RemainAfterElapse bool          `yaml:"remainafterelapse" lang:"remainafterelapse" doc:"The timer stays loaded when its last time is over."`
	Description       string        `yaml:"description" lang:"description" doc:"Its purpose, in one line."`

	Others []string `yaml:"others" lang:"others" mgmt:"readonly" doc:"The other settings of the timer, such as a second time."`

	// These are the engine's handle and the two states that live from Init to
	// Cleanup.
	init *engine.Init
	file files.Managed
	seen *seen

	// root is the folder below which the files are, for tests; empty otherwise.
	root string
}

// Default returns a timer that stays.
func (r *Res) Default() engine.Res { return &Res{RemainAfterElapse: true} }

// absent reports whether the timer is to go. State may be empty, which means that it
// is to stay.
func (r *Res) absent() bool { return r.State == Absent }

// enabled reports the wish, and not the state of the machine: that is found.enabled.
func (r *Res) enabled() bool { return r.Startup != Disabled }

// timer is the name of the unit. The ending may be left out in the graph.
func (r *Res) timer() string { return strings.TrimSuffix(r.Name(), ".timer") + ".timer" }

// starts is the name of the unit that it starts. systemd has the same default. It is
// written all the same, so that the file says what it does.
func (r *Res) starts() string {
	if r.Unit != "" {
		return r.Unit
	}
	return strings.TrimSuffix(r.timer(), ".timer") + ".service"
}

// systemUnits is the folder of the unit files of the machine that are ours to write.
const systemUnits = "/etc/systemd/system"

// spaceSession is the space of the UIDs of timers of the session. The folder of their files is that of the user who runs the graph,
// so no UID has it.
const spaceSession = "timer of the session"

// dir is the folder of the unit files that are ours to write. It fails only for a
// timer of a session whose user has no home folder. A file there takes precedence
// over one of a package with the same name. It reads the environment, so it is for Init and what comes after it.
func (r *Res) dir() (string, error) {
	if !r.Session {
		return r.root + systemUnits, nil
	}
	config, err := os.UserConfigDir()
	return filepath.Join(r.root+config, "systemd/user"), err
}

// Validate checks the parameters and how they go together. It asks nothing of the
// machine, so a graph can be checked elsewhere, and returns all faults at once.
// Values that are received are not missing; they are checked when they have come.
func (r *Res) Validate() error {
	errs := []error{}
	if err := systemd1.CheckUnit(r.timer(), ".timer"); err != nil {
		errs = append(errs, fmt.Errorf("the name: %w", err))
	}
	if r.Unit != "" {
		if err := systemd1.CheckUnit(r.Unit); err != nil {
			errs = append(errs, fmt.Errorf("unit: %w", err))
		}
	}
	for _, e := range []struct {
		key, value string
		of         []string
	}{
		{"state", r.State, []string{"", Exists, Absent}},
		{"startup", r.Startup, []string{"", Enabled, Disabled}},
		{"trigger", r.Trigger, append([]string{""}, triggers...)},
	} {
		if !slices.Contains(e.of, e.value) {
			errs = append(errs, fmt.Errorf("%s is %q, it must be one of %s", e.key, e.value, strings.Join(e.of[1:], ", ")))
		}
	}
	errs = append(errs, checkLine("time", r.Time), checkLine("description", r.Description), checkTime(r.Trigger, r.Time))
	got := r.Recv()
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: !r.absent() && r.Trigger == "" && got["trigger"] == nil, Text: "trigger is missing"},
		{If: !r.absent() && r.Time == "" && got["time"] == nil, Text: "time is missing"},
		{If: r.Persistent && r.Trigger != "" && r.Trigger != "OnCalendar", Text: "persistent is only for OnCalendar"},
		{If: r.Accuracy < 0 || r.RandomizedDelay < 0, Text: "accuracysec and randomizeddelaysec must not be negative"},
		{If: r.starts() == r.timer(), Text: "unit is the timer itself"},
		{If: received.AnyTainted(got), Text: "a secret is received: everyone can read the file of a timer"},
	})...)...)
}

// checkLine refuses a text that would be more than a value in a unit file. A newline
// in a value would write another setting, such as a command that root runs.
func checkLine(what, s string) error {
	switch {
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s %q has a control character in it", what, s)
	case strings.HasSuffix(s, `\`):
		return fmt.Errorf("%s %q ends in a backslash, which would join it to the next line", what, s)
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("%s %q begins or ends with a blank", what, s)
	}
	return nil
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
// A timer that is to be absent manages no file, so a folder that is purged may
// remove it.
func (r *Res) Init(init *engine.Init) error {
	r.init, r.file, r.seen = init, files.Managed{}, newSeen()
	dir, err := r.dir()
	if err == nil && !r.absent() {
		r.file.Tell(files.Of(init), filepath.Join(dir, r.timer()))
	}
	return err
}

// Cleanup takes back what Init has told. The timer itself runs on: it belongs to
// systemd.
func (r *Res) Cleanup() error {
	r.file.Tell(files.Of(r.init), "")
	return nil
}

// Shared is what all files have in common. It is the registry of managed files and
// of the locks of files that several resources edit.
func (*Res) Shared() (string, func(context.Context, engine.Host) (engine.Shared, error)) {
	return files.With()
}

// Cmp compares the parameters. A changed parameter makes a new instance, which
// rewrites the file where the text differs.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// Leaving reports whether the timer is to be absent. Edges that were made by
// themselves are turned around then.
func (r *Res) Leaving() bool { return r.absent() }

// UIDs names the file of the timer. So a file resource of that path clashes with it,
// and a folder above comes first. A timer of the session clashes with timers only.
func (r *Res) UIDs() []autoedge.UID {
	if r.Session {
		return []autoedge.UID{&autoedge.KeyUID{BaseUID: autoedge.UIDOf(r), Space: spaceSession, Key: r.timer()}}
	}
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), filepath.Join(r.root+systemUnits, r.timer()))}
}

// AutoEdges wants the file of the unit that it starts, or else the nearest managed
// folder above it, and the package that has that file. A timer that is to go does so
// before its service is stopped. It only names things; the engine joins the names
// with the graph, and names without a resource make no edge. Packages put units
// below /lib or /usr/lib, by the distribution. A timer of the session wants only units that all users have.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	if r.absent() {
		base := w.Base()
		base.Reversed, base.FixedOrder = new(false), true
		w.Ask = append(w.Ask, traits.SvcUID(base, names.ServiceBase(r.starts()), r.Session))
	}
	if r.Session {
		w.Path("/etc/systemd/user/" + r.starts())
		w.Installed("/usr/lib/systemd/user/" + r.starts())
		return w, nil
	}
	w.Path(filepath.Join(r.root+systemUnits, r.starts()))
	w.Installed("/lib/systemd/system/" + r.starts())
	w.Installed("/usr/lib/systemd/system/" + r.starts())
	return w, nil
}

// Clashes says what two timers of one name want differently. Two that agree may
// stand in one graph. Where either receives a value, the comparison would be about
// an old value, and is left out.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	switch {
	case !ok:
		return files.Clash(r, other)
	case r.absent() != o.absent():
		return errors.New("one wants it there, the other one wants it gone")
	case r.absent() || len(r.Recv())+len(o.Recv()) > 0:
		return nil
	case !slices.Equal(r.settings(), o.settings()) || r.enabled() != o.enabled():
		return errors.New("they want different timers")
	}
	return nil
}

// Doc describes the kind. The reference page of the kind is made from it and from
// the doc tags of Res.
func (*Res) Doc() string {
	return `A timer of systemd: it starts a unit at times.

    cron:
    - name: backup
      trigger: OnCalendar
      time: Mon..Fri 02:30
      randomizeddelaysec: 10m
      persistent: true
    - name: cleanup
      unit: systemd-tmpfiles-clean.service
      trigger: OnUnitActiveSec
      time: 6h

It writes the file of the timer (/etc/systemd/system/backup.timer), has systemd read it, starts the timer, and has it started at boot unless
` + "`startup: disabled`" + ` says otherwise. It starts a unit that is there already, or is made by a ` + "`file`" + `, which then comes
first, as does the package that has it. The graph does not know the home of the user who runs it: a ` + "`session`" + ` timer names a
` + "`file`" + ` there by ` + "`depend`" + `. With ` + "`state: absent`" + ` the timer is stopped and its file removed; the unit that it started stays.

A file that says the same in other words is left as it is. A timer that was stopped or disabled, or whose file was edited, is put right
again. A link in the place of the file, as ` + "`systemctl link`" + ` makes it, is replaced or removed, and the target of the link is left alone. A notification
starts the timer anew, so that times that count from its start do so.

Two changes by others are not undone, and the timer fails until a person undoes them: a masked timer, and a file that adds to the file of the timer (/etc/systemd/system/backup.timer.d/override.conf, as ` + "`systemctl edit`" + ` makes it) that says something that a parameter says, such as a time. The
error names the file. Settings without a parameter may be in such a file. Files for all timers (timer.d) are not looked at.

With the metaparameter ` + "`reverse: true`" + ` the timer is removed when it leaves the graph, or is what it was before, as far as the parameters can say that.
Listed are the timers whose file is in the folder that is written, and not those that packages bring.

systemd has to be there: that it can't be reached is an error. For the jobs of the program cron there is the kind ` + "`crontab`" + `.`
}
