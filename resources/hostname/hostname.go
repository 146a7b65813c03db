package hostname

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/autoedge"
	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/resources/internal/edges"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/names"
	"github.com/reactivegraph/mgmt/resources/internal/procfile"
	"github.com/reactivegraph/mgmt/traits"
)

func init() {
	engine.RegisterResource("hostname", func() engine.Res { return &Res{} })
}

var (
	_ engine.ClashingRes    = (*Res)(nil)
	_ engine.RecvableRes    = (*Res)(nil)
	_ engine.ReversibleRes  = (*Res)(nil)
	_ engine.Readable       = (*Res)(nil)
	_ engine.Listable       = (*Res)(nil)
	_ engine.SharedRes      = (*Res)(nil)
	_ engine.OverlappingRes = (*Res)(nil)
	_ engine.DescribedRes   = (*Res)(nil)
)

// Where the names are: of the next boot, for people, and of the running kernel.
const (
	staticFile = "/etc/hostname"
	prettyFile = "/etc/machine-info"
	kernelFile = "/proc/sys/kernel/hostname"
)

// Res is the name of the machine: now, at the next boot, and for people.
type Res struct {
	traits.Base
	traits.Edgeable
	traits.Overlapping
	traits.Recvable
	traits.Reversible
	files.One

	Hostname          string  `yaml:"hostname" lang:"hostname" mgmt:"identity" doc:"The name, now and at the next boot; the name of the resource if absent."`
	StaticHostname    *string `yaml:"static_hostname" lang:"static_hostname" doc:"Another name for the next boot; empty for none, so that the network may give one."`
	TransientHostname string  `yaml:"transient_hostname" lang:"transient_hostname" doc:"Another name for now."`
	PrettyHostname    *string `yaml:"pretty_hostname" lang:"pretty_hostname" doc:"A name for people, with all the letters they like; empty for none. If absent, it is left as it is."`

	// init is of one life of the resource, from Init to Cleanup.
	init *engine.Init
	// file tells the other files of the graph that /etc/hostname is managed, so that none of them
	// reverts it.
}

// Default returns an empty resource.
func (r *Res) Default() engine.Res { return &Res{} }

// hostname returns the name. Received output of a command ends with a newline, which no name has.
func (r *Res) hostname() string {
	if r.Hostname == "" {
		return r.Name()
	}
	return strings.TrimSuffix(r.Hostname, "\n")
}

// wants returns the names that the machine should have; pretty is nil for any.
func (r *Res) wants() nameSet {
	w := nameSet{static: r.hostname(), transient: r.hostname(), pretty: r.PrettyHostname}
	if r.StaticHostname != nil {
		w.static = *r.StaticHostname
	}
	if r.TransientHostname != "" {
		w.transient = r.TransientHostname
	}
	return w
}

// Validate checks the names.
func (r *Res) Validate() error {
	errs := []error{names.CheckHost("hostname", r.hostname())}
	if s := r.StaticHostname; s != nil && *s != "" {
		errs = append(errs, names.CheckHost("static_hostname", *s))
	}
	if r.TransientHostname != "" {
		errs = append(errs, names.CheckHost("transient_hostname", r.TransientHostname))
	}
	if p := r.PrettyHostname; p != nil {
		errs = append(errs, checkPretty(*p))
	}
	for key, s := range r.Recv() {
		if s != nil && s.Secret {
			errs = append(errs, fmt.Errorf("%s: a secret is received, and everyone can read the name of a machine", key))
		}
	}
	return errors.Join(errs...)
}

// checkPretty refuses a text that could not stand in one line of /etc/machine-info. The limit of
// 4,096 bytes is ours: the file has none.
func checkPretty(name string) error {
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("pretty_hostname %.100q has something in it that can't be printed", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("pretty_hostname %.100q begins or ends with a blank", name)
	case len(name) > 4096:
		return fmt.Errorf("pretty_hostname has %d bytes, more than 4096", len(name))
	}
	return nil
}

// Init keeps the handle, and tells the files of the graph that this one is managed.
func (r *Res) Init(init *engine.Init) error {
	r.init = init
	managed := ""
	if r.wants().static != "" {
		managed = staticFile
	}
	r.Manage(init, managed)
	return nil
}

// Watch waits for changes of the files, and of the name that the kernel has. Each
// way to alter a name, that of hostnamed too, alters one of them.
func (r *Res) Watch(ctx context.Context) error {
	// /etc/machine-info has other keys too. It is watched only where the resource has a wish about
	// its name, so that those keys wake nothing.
	paths := []string{staticFile}
	if r.PrettyHostname != nil {
		paths = append(paths, prettyFile)
	}
	sub, err := r.init.Host.Watch(ctx, paths, events.Options{})
	if err != nil {
		return err
	}
	defer sub.Close()
	// The kernel tells of another name by poll(2) on this file, see proc(5).
	f, err := procfile.Follow(engine.ClockOf(r.init.Host), kernelFile)
	if err != nil {
		return err
	}
	defer f.Close()
	r.init.Running()
	for {
		select {
		case <-sub.C():
		case <-f.C():
		case <-ctx.Done():
			return nil
		}
		r.init.Event()
	}
}

// Cmp compares the parameters.
func (r *Res) Cmp(o engine.Res) error { return engine.CmpFields(r, o) }

// Doc describes the kind.
func (*Res) Doc() string {
	return `The name of the machine: the present one, the one after the next boot, and a name for people.

    hostname:
    - name: web1.example.com
      pretty_hostname: The web server under the stairs

There are three names. The one of the running kernel (transient) is what ` + "`hostname`" + ` shows. The one in /etc/hostname
(static) becomes that of the kernel at the next boot. The one for people (pretty) is in /etc/machine-info. ` + "`hostname`" + ` is the
first two of them, unless ` + "`static_hostname` or `transient_hostname`" + ` says otherwise.

Where systemd runs the names are set by its service hostnamed, so that all who listen to it hear of them. It refuses some changes,
such as a transient name together with another static one, and may be absent, as may the bus. Then this program makes the change
itself: it writes the files and tells the kernel. mgmt looks at the files and the kernel themselves, so it sees a change by any
program.

No other file is altered: a line in /etc/hosts is of the kind ` + "`host`" + `.`
}

// UIDs names the file that holds the name.
func (r *Res) UIDs() []autoedge.UID {
	return []autoedge.UID{traits.FileUID(autoedge.UIDOf(r), staticFile)}
}

// AutoEdges wants the nearest managed folder above the file, and the mount there.
func (r *Res) AutoEdges() (autoedge.Needs, error) {
	w := edges.New(r)
	w.Above(staticFile)
	return w, nil
}

// Clashes says what two names want differently: a machine has one.
func (r *Res) Clashes(other engine.Res) error {
	o, ok := other.(*Res)
	if !ok {
		return files.Clash(r, other)
	}
	// A received name is known only when the graph runs, so two such resources can't be compared
	// here.
	if len(r.Recv())+len(o.Recv()) > 0 {
		return nil
	}
	a, b := r.wants(), o.wants()
	switch {
	case a.static != b.static || a.transient != b.transient:
		return errors.New("they want different names of the one machine")
	case a.pretty != nil && b.pretty != nil && *a.pretty != *b.pretty:
		return errors.New("they want different pretty names of the one machine")
	}
	return nil
}
