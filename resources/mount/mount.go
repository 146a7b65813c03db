package mount

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/mounttab"
	"github.com/reactivegraph/mgmt/resources/internal/procfile"
	"github.com/reactivegraph/mgmt/resources/internal/received"
	"github.com/reactivegraph/mgmt/resources/internal/rules"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("mount", func() engine.Res { return &Res{} })
}

var (
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ planning.PartlyRooted = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// States of a mount.
const (
	// Exists is mounted now, and in the table where persist says so. It is the
	// default.
	Exists = "exists"
	// Unmounted is not mounted now, but in the table.
	Unmounted = "unmounted"
	// Listed is in the table; whether it is mounted now is left to others.
	Listed = "listed"
	// Absent is neither mounted nor in the table.
	Absent = "absent"
)

// fstab is the table of the mounts that systemd makes at boot.
const fstab = "/etc/fstab"

// Res is a file system at a folder: whether it is mounted there now, and whether it
// will be at the next boot. The reactor owns an instance, and calls CheckApply and
// Watch at the same time. They share init, which does not change, and the channel
// held.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	files.One

	Path   string `yaml:"path" lang:"path" mgmt:"identity" doc:"Absolute path of the mount point, which has to exist; the name if absent."`
	State  string `yaml:"state" lang:"state" mgmt:"enum=exists|unmounted|listed|absent" doc:"Whether it is mounted and in the table (exists, which is what nothing means), only in the table (unmounted), in the table whether it is mounted or not (listed), or neither (absent)."`
	Device string `yaml:"device" lang:"device" doc:"The mounted thing: a device, a file, UUID= or LABEL= and what follows, a server and its folder, a folder for bind, a word for file systems without a device."`
	Type   string `yaml:"type" lang:"type" doc:"Kind of file system, such as ext4, nfs or tmpfs; found out if absent."`

	Options []string `yaml:"options" lang:"options" mgmt:"nosecret" doc:"Options, one each; those of the kernel if absent. If only they differ, it is remounted."`
	Freq    int      `yaml:"freq" lang:"freq" mgmt:"min=0" doc:"Whether dump saves it."`
	PassNo  int      `yaml:"passno" lang:"passno" mgmt:"min=0" doc:"In which pass it is checked at boot: 1 for the root, 2 for others, 0 for never."`

	Persist bool   `yaml:"persist" lang:"persist" doc:"Keep a line in the table, so that it is mounted at boot too. Otherwise the table is left alone."`
	Fstab   string `yaml:"fstab" lang:"fstab" mgmt:"param" doc:"Absolute path of the table; /etc/fstab if absent."`
	Lazy    bool   `yaml:"lazy" lang:"lazy" mgmt:"param" doc:"A mount in use is taken away from the path at once, and unmounted when it is used no more. Otherwise that it is in use is an error."`

	onlyTable bool // it leaves alone what is mounted

	init *engine.Init
	held chan holding // from CheckApply to Watch: the mount that should go and is in use
}

// Default returns a mount that is kept over the next boot.
func (r *Res) Default() engine.Res { return &Res{Persist: true} }

// paths opens the files of the machine.
func (r *Res) paths() safepath.Walker { return safepath.Of(r.init.Host) }

// given is the path as it is written. Messages and checks use it, so that a person
// finds it again in the graph.
func (r *Res) given() string {
	if r.Path == "" {
		return r.Name()
	}
	return r.Path
}

// path is the mount point without dots and doubled slashes, by which resources are
// compared. Links in it are left alone: realPath follows them at the time of a look.
func (r *Res) path() string { return filepath.Clean(r.given()) }

func (r *Res) table() string {
	if r.Fstab == "" {
		return fstab
	}
	return r.Fstab
}

func (r *Res) state() string {
	if r.State == "" {
		return Exists
	}
	return r.State
}

// listed reports whether it has to be in the table.
func (r *Res) listed() bool { return r.Persist && r.state() != Absent }

// line is its line in the table. A type that is not given is written as
// auto, which has mount find it out; for a bind mount it is none, as fstab(5) asks.
// Options are written without words that only a command knows.
func (r *Res) line() mounttab.Line {
	kind := r.Type
	switch {
	case kind == "" && mounttab.Binds(r.Options):
		kind = "none"
	case kind == "":
		kind = "auto"
	}
	return mounttab.Line{
		Device: r.Device, Point: r.path(), Type: kind, Options: mounttab.Plain(r.Options), Freq: r.Freq, PassNo: r.PassNo,
	}
}

// Validate checks the parameters and how they go together. It reads no file and asks
// no kernel, so it gives the same answer on each machine. All faults are returned at
// once. A device or type that is received is not missing: it is checked when it has
// come.
func (r *Res) Validate() error {
	var errs []error
	errs = append(errs, checkPoint(r.given()))
	if r.Fstab != "" {
		errs = append(errs, files.PlainPath("fstab", r.Fstab))
	}
	if !slices.Contains([]string{Exists, Unmounted, Listed, Absent}, r.state()) {
		errs = append(errs, fmt.Errorf("state is %q, it must be exists, unmounted, listed or absent", r.State))
	}
	errs = append(errs, checkWord("device", r.Device), checkWord("type", r.Type))
	for _, o := range r.Options {
		errs = append(errs, checkOption(o))
	}
	needed := r.state() == Exists || r.listed()
	return errors.Join(append(errs, rules.Broken([]rules.Rule{
		{If: needed && r.Device == "" && r.Recv()["device"] == nil, Text: "device is missing"},
		{If: r.Device == "auto" || strings.HasPrefix(r.Device, "/") && filepath.Clean(r.Device) == r.path(), Text: "device is the mount point itself, or no device"},
		{If: r.Type == "swap", Text: "type is swap: that is not mounted at a folder, and is not for this kind"},
		{If: strings.ContainsAny(r.Type, ", /"), Text: "type has to be one word"},
		{If: slices.Contains(r.Options, "remount") || slices.Contains(r.Options, "move"), Text: "options say how it is mounted, and not what to do: remount and move are none"},
		{If: r.Freq < 0 || r.PassNo < 0, Text: "freq and passno must not be negative"},
		{If: mounttab.Binds(r.Options) && r.Device != "" && !filepath.IsAbs(r.Device), Text: "device has to be an absolute path, to bind it"},
		{If: r.state() == Unmounted && slices.Contains(r.Options, "x-systemd.automount"), Text: "state is unmounted, and x-systemd.automount mounts it when it is used"},
		{If: received.AnyTainted(r.Recv()), Text: "a secret is received: everyone can read the table and what is mounted. Some file systems take the name of a file that has it, as an option"},
		{If: r.state() == Listed && !r.Persist, Text: "state is listed, which is about the table alone, and persist is false"},
		{If: r.path() == "/" && r.state() != Exists && r.state() != Listed, Text: "path is /: the root can't be unmounted"},
	})...)...)
}

// checkPoint refuses a text that cannot name a folder. A control character is refused,
// although fstab(5) could write it: the kernel's list of mounts and systemd's units
// do not agree on such names.
func checkPoint(p string) error {
	if err := files.CheckPath("path", p); err != nil {
		return err
	}
	if strings.ContainsFunc(p, unicode.IsControl) {
		return fmt.Errorf("path %q has a control character in it", p)
	}
	return nil
}

// checkWord refuses a word that would be an option of the command, or break the table.
func checkWord(what, s string) error {
	switch {
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("%s %q begins with a dash", what, s)
	case strings.HasPrefix(s, "#"):
		return fmt.Errorf("%s %q begins with a number sign, as a comment", what, s)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s %q has a control character in it", what, s)
	}
	return nil
}

// checkOption refuses a text that is not one option in the table: an empty one, a
// list, or a quote without its end. A comma within quotes belongs to the option, as
// SELinux contexts have it.
func checkOption(o string) error {
	switch {
	case o == "":
		return errors.New("options has an empty one")
	case len(mounttab.SplitOptions(o)) != 1 || strings.HasSuffix(o, ",") || strings.HasPrefix(o, ","):
		return fmt.Errorf("options: %q is several; write each by itself", o)
	case strings.Count(o, `"`)%2 == 1:
		return fmt.Errorf("options: %q has a quote that is not closed", o)
	}
	return checkWord("options:", o)
}

// Init keeps the handle, and tells the files of the graph that the table is managed.
// held has room for one: CheckApply must not wait for Watch.
func (r *Res) Init(init *engine.Init) error {
	r.init, r.held = init, make(chan holding, 1)
	managed := ""
	if r.listed() {
		managed = r.table()
	}
	r.Manage(init, managed)
	return nil
}

// Watch waits for changes of the table, and of the mounts. No event tells that the last user of a
// mount has gone: while one has to be unmounted, it is looked at each second.
func (r *Res) Watch(ctx context.Context) error {
	c := engine.ClockOf(r.init.Host)
	f, err := procfile.Follow(c, mounttab.MountInfo)
	if err != nil {
		return err
	}
	defer f.Close()
	var listed <-chan struct{}
	if r.Persist {
		sub, err := r.init.Host.Watch(ctx, []string{r.table()}, events.Options{})
		if err != nil {
			return err
		}
		defer sub.Close()
		listed = sub.C()
	}
	r.init.Running()
	var held holding
	var look <-chan struct{} // while a mount is in use; else nil
	stop := func() bool { return false }
	defer func() { stop() }()
	for {
		select {
		case <-listed:
		case <-f.C():
		case held = <-r.held:
			stop()
			look, stop = clock.After(c, busyLook)
			continue
		case <-look:
			if look = nil; held.inUse() {
				look, stop = clock.After(c, busyLook)
				continue
			}
		case <-ctx.Done():
			return nil
		}
		r.init.Event()
	}
}

// Cmp compares the parameters. A change of any parameter makes a new instance, which
// looks at the mount and keeps it if all is right.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// realPath is the path as the kernel has it, without links above the mount point.
// The last element is not looked at: a server that does not answer may be mounted
// there. A missing folder is not an error: then nothing is mounted there, and the
// path is returned as it was.
func realPath(p string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(p))
	if files.IsMissing(err) {
		return p, nil
	}
	return filepath.Join(dir, filepath.Base(p)), err
}
