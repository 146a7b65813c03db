package hostname

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/bus"
	"github.com/reactivegraph/mgmt/engine/clock"
	_ "github.com/reactivegraph/mgmt/engine/host/msgbus" // the Host has buses
	"github.com/reactivegraph/mgmt/internal/unix"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/files"
	"github.com/reactivegraph/mgmt/resources/internal/systemd1"
	"github.com/reactivegraph/mgmt/resources/internal/textfile"
)

// nameSet are the names of a machine.
// A nil pretty means any name as a wish; lookNames always sets it. An empty static means that
// there is no file.
type nameSet struct {
	static, transient string
	pretty            *string
}

// lookNames returns the names that the machine has.
func lookNames() (h nameSet, err error) {
	if h.transient, err = kernelName(); err != nil {
		return h, err
	}
	text, err := textfile.Text(staticFile)
	if err != nil {
		return h, err
	}
	h.static = staticOf(text)
	if text, err = textfile.Text(prettyFile); err != nil {
		return h, err
	}
	h.pretty = new(prettyOf(text))
	return h, nil
}

// kernelName returns the name of the running kernel. The system call can't fail on Linux but for a
// bad pointer; its error is kept all the same, since an empty name would be taken for a
// difference.
func kernelName() (string, error) {
	var u unix.Utsname
	err := unix.Uname(&u)
	return unix.ByteSliceToString(u.Nodename[:]), err
}

// staticOf returns the name in a text as that of /etc/hostname: the first line that is not a
// comment.
func staticOf(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}

// prettyKey begins the line of the pretty name. No blank may stand before the sign, as in a shell.
const prettyKey = "PRETTY_HOSTNAME="

// prettyOf returns the name in a text as that of /etc/machine-info, which is written as
// a shell would read it. The last line counts.
func prettyOf(text string) (name string) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), prettyKey)
		if !ok {
			continue
		}
		// A line that a shell could not read gives no name: hostnamed reads it so, too.
		if words, err := command.Words(value); err == nil {
			name = strings.Join(words, " ")
		}
	}
	return name
}

// withPretty returns the text with that name, or without any if it is empty.
func withPretty(text, name string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), prettyKey) {
			b.WriteString(line)
		}
	}
	if name == "" {
		return b.String()
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	// These four characters have a meaning between double quotes in a shell.
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(name)
	return b.String() + prettyKey + `"` + quoted + "\"\n"
}

// step is one of the names, where it is not as wanted.
// It has all that is needed to alter the name, by hostnamed or by ourselves.
type step struct {
	field, from, to string
	method          string // of hostnamed
	set             func(r *Res, name string) error
}

// steps returns the names that differ from the wanted ones.
func (r *Res) steps() (steps []step, err error) {
	has, err := lookNames()
	if err != nil {
		return nil, err
	}
	want := r.wants()
	// One parameter may stand for two names. A change is told under the name of the parameter that
	// the user has written.
	main := func(own bool, field string) string {
		if own {
			return field
		}
		return "hostname"
	}
	if has.static != want.static {
		field := main(r.StaticHostname != nil || has.transient != want.transient, "static_hostname")
		steps = append(steps, step{field, has.static, want.static, "SetStaticHostname", setStatic})
	}
	if has.transient != want.transient {
		field := main(r.TransientHostname != "", "transient_hostname")
		steps = append(steps, step{field, has.transient, want.transient, "SetHostname", setTransient})
	}
	if want.pretty != nil && *has.pretty != *want.pretty {
		steps = append(steps, step{"pretty_hostname", *has.pretty, *want.pretty, "SetPrettyHostname", setPretty})
	}
	return steps, nil
}

// CheckApply gives the machine its names: by hostnamed where that is, and then by ourselves the
// missing ones.
func (r *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	steps, err := r.steps()
	if err != nil || len(steps) == 0 {
		return err == nil, err
	}
	// All changes are told before the first one is made, so that a plan and a run tell the same.
	for _, s := range steps {
		r.init.Change(engine.Change{Field: s.field, From: s.from, To: s.to})
	}
	if !apply {
		return false, nil
	}
	if systemd1.Running() {
		// An error of hostnamed decides nothing. Only the second look tells which names are still
		// wrong.
		r.ask(ctx, steps)
		left, err := r.steps()
		if err != nil {
			return false, err
		}
		// Changes of other programs meanwhile were not announced, and are the next run's.
		steps = slices.DeleteFunc(steps, func(s step) bool {
			return !slices.ContainsFunc(left, func(l step) bool { return l.method == s.method })
		})
	}
	for _, s := range steps {
		if err := s.set(r, s.to); err != nil {
			return false, fmt.Errorf("%s: %w", s.field, err)
		}
	}
	return false, nil
}

// patience is how long hostnamed may take, which has to be started first. A call while it
// ends, as it does when it is idle, may wait for ever.
const patience = 5 * time.Second

// ask has hostnamed set the names. The files show the result.
func (r *Res) ask(ctx context.Context, steps []step) {
	ctx, cancel := clock.WithTimeout(ctx, engine.ClockOf(r.init.Host), patience, nil)
	defer cancel()
	bus, err := r.init.Host.Bus(ctx, bus.System)
	for _, s := range steps {
		if err != nil {
			break
		}
		// The last argument forbids a question for a password: no person is there to answer it.
		_, err = bus.Call(ctx, "org.freedesktop.hostname1", "/org/freedesktop/hostname1", "org.freedesktop.hostname1."+s.method, s.to, false)
	}
	if err != nil {
		r.init.Log.Info("the name is set without hostnamed", "error", err)
	}
}

// setStatic writes the name for the next boot, or takes the file away.
func setStatic(r *Res, name string) error {
	if name == "" {
		err := os.Remove(staticFile)
		if files.IsMissing(err) {
			return nil
		}
		return err
	}
	return r.write(staticFile, func(string) string { return name + "\n" })
}

// setTransient tells the kernel. It needs the right CAP_SYS_ADMIN, and the error says so where
// that is missing.
func setTransient(_ *Res, name string) error { return unix.Sethostname([]byte(name)) }

// setPretty writes one line of /etc/machine-info, and leaves the other keys as they are.
func setPretty(r *Res, name string) error {
	return r.write(prettyFile, func(old string) string { return withPretty(old, name) })
}

// write edits a file under its lock, so that two resources of the graph never write it at once.
// The file is replaced as a whole, and the other resources hear that the write was ours.
func (r *Res) write(path string, change func(string) string) error {
	defer files.Of(r.init).Lock(path)()
	t, err := textfile.At(filepath.Clean(path), 0o644)
	if err != nil {
		return err
	}
	err = t.Edit(func(old string) (string, error) { return change(old), nil })
	files.Of(r.init).WroteAt(path, r.init)
	return err
}

// Read returns the names that the machine has. Names equal to the main one are left out, unless the
// resource has them.
func (r *Res) Read(ctx context.Context) (engine.Res, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	has, err := lookNames()
	if err != nil {
		return nil, err
	}
	got := &Res{Hostname: has.transient}
	got.SetKind(r.Kind())
	got.SetName(r.Name())
	// The main name is the static one where the resource itself tells both apart. So Read and the
	// resource compare field by field.
	if r.TransientHostname != "" && has.static != "" {
		got.Hostname, got.TransientHostname = has.static, has.transient
	}
	if r.StaticHostname != nil || has.static != got.Hostname {
		got.StaticHostname = new(has.static)
	}
	if r.PrettyHostname != nil || *has.pretty != "" {
		got.PrettyHostname = has.pretty
	}
	return got, nil
}

// List returns the one resource of the machine, under its name.
func (r *Res) List(ctx context.Context) iter.Seq2[engine.Res, error] {
	return func(yield func(engine.Res, error) bool) {
		got, err := r.Read(ctx)
		if err == nil {
			got.SetName(got.(*Res).Hostname)
		}
		yield(got, err)
	}
}

// Reversed returns the resource that gives the machine its former names.
func (r *Res) Reversed(before engine.Res) (engine.Res, error) {
	was, ok := before.(*Res)
	if !ok {
		return nil, fmt.Errorf("%s: what the name was is not known", r)
	}
	undo := &Res{Hostname: was.Hostname, StaticHostname: was.StaticHostname, TransientHostname: was.TransientHostname}
	undo.SetKind(r.Kind())
	undo.SetName(r.Name())
	// Only names that this resource has managed go back. An empty pretty name removes the line
	// that the resource had brought.
	if r.PrettyHostname != nil {
		undo.PrettyHostname = new("")
		if was.PrettyHostname != nil {
			undo.PrettyHostname = was.PrettyHostname
		}
	}
	return undo, nil
}
