package backends

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// openrcBackend runs the tools of OpenRC. A service is enabled if it is in a
// runlevel; enabling it puts it into the one named default. It takes itself out
// where systemd has booted, since the tools may be installed without being in use.
func openrcBackend() *virtual.Backend {
	b := virtual.Native("openrc", newOpenRC, append(queryMethods[*openrc](),
		deed("start", (*openrc).start),
		deed("stop", (*openrc).stop),
		deed("restart", (*openrc).restart),
		deed("reload", (*openrc).reload),
		virtual.Func("can_reload", (*openrc).canReload),
		deed("enable", (*openrc).enable),
		deed("disable", (*openrc).disable))...)
	b.Module, b.Doc, b.Watch = "svc", "OpenRC, by its tools.", virtual.WatchFiles
	b.When, b.Unless = virtual.Match{"init": {"openrc"}}, virtual.Match{"systemd_booted": {true}}
	b.Needs = []string{"rc-service", "rc-update"}
	return b
}

// It keeps no state: each call asks the tools.
type openrc struct{ tool }

func newOpenRC(_ context.Context, env virtual.Env) (*openrc, error) {
	return &openrc{tool{env.Host}}, nil
}

func (o *openrc) asks() questions { return questions{o} }

// The states of a service, by the exit code of its status.
var openrcStates = map[int]string{0: "started", 3: "stopped", 4: "stopping", 8: "starting", 16: "inactive", 32: "crashed"}

// It runs three programs. A service in start or stop has a job, so that the kind
// waits for it and does not interfere.
func (o *openrc) look(ctx context.Context, name string) (Info, error) {
	there, err := o.run(ctx, "rc-service", "--exists", name)
	if err != nil {
		return Info{}, err
	}
	if there.code != 0 {
		return Info{}, virtual.ErrNotFound
	}
	r, err := o.run(ctx, "rc-service", "--nocolor", name, "status")
	if err != nil {
		return Info{}, err
	}
	_, enabled, err := o.all(ctx)
	if err != nil {
		return Info{}, err
	}
	state, known := openrcStates[r.code]
	if !known { // a script with a status of its own says no more than that it does not run
		state = fmt.Sprintf("exit status %d", r.code)
	}
	i := Info{Running: r.code == 0, Enabled: slices.Contains(enabled, name), Failed: new(r.code == 32), Detail: &state}
	if r.code == 4 || r.code == 8 {
		i.Job = new(fmt.Sprintf("OpenRC, by which %s is %s (if it hangs: rc-service %s zap)", name, state, name))
	}
	return i, nil
}

// all reads lines such as "sshd | default boot". Without --verbose services in no
// runlevel would be missing. Other lines, such as warnings, are passed over.
func (o *openrc) all(ctx context.Context) (names, enabled []string, err error) {
	r, err := o.must(ctx, "rc-update", "--verbose", "show")
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(r.out) {
		name, levels, ok := strings.Cut(line, "|")
		if name = strings.TrimSpace(name); !ok || CheckName(name) != nil {
			continue
		}
		names = append(names, name)
		if strings.TrimSpace(levels) != "" {
			enabled = append(enabled, name)
		}
	}
	return names, enabled, nil
}

// act runs a word of a service's script. OpenRC itself waits until the script has
// ended.
func (o *openrc) act(ctx context.Context, name, word string) (reply, error) {
	return o.run(ctx, "rc-service", "--nocolor", name, word)
}

// start starts a service that does not run. It returns when the script has ended and
// the service is started.
func (o *openrc) start(ctx context.Context, name string, now Info) error {
	if now.Running {
		return nil
	}
	if *now.Failed { // a crashed service counts as started until it is forgotten
		if _, err := o.must(ctx, "rc-service", "--nocolor", name, "zap"); err != nil {
			return err
		}
	}
	return o.reach(ctx, name, "start")
}

// reach does something after which the service has to run. An exit code of 0 is not
// enough: a daemon can end right after its script. The error has the words of the
// script.
func (o *openrc) reach(ctx context.Context, name, word string) error {
	r, err := o.act(ctx, name, word)
	if err != nil {
		return err
	}
	if r.code != 0 {
		return r.failed()
	}
	after, err := o.look(ctx, name)
	if err == nil && !after.Running {
		err = fmt.Errorf("%s is %s after %s; it said:\n%s", name, *after.Detail, word, r.text)
	}
	return err
}

// stop stops a service, even a crashed one, so that its record of a start is gone.
func (o *openrc) stop(ctx context.Context, name string, now Info) error {
	if !now.Running && *now.Detail == "stopped" {
		return nil
	}
	r, err := o.act(ctx, name, "stop")
	if err == nil && r.code != 0 {
		err = r.failed()
	}
	return err
}

// restart also starts a service that does not run.
func (o *openrc) restart(ctx context.Context, name string, _ Info) error {
	return o.reach(ctx, name, "restart")
}

// reload restarts a service whose script has no function reload. Any other failure
// of a reload is an error, as the rules say, and the old configuration goes on.
func (o *openrc) reload(ctx context.Context, name string, now Info) error {
	if !now.Running {
		return nil
	}
	r, err := o.act(ctx, name, "reload")
	switch {
	case err != nil:
		return err
	case r.code == 0:
		return nil
	case strings.Contains(r.text, "unknown function"):
		return o.restart(ctx, name, now)
	}
	return r.failed()
}

// canReload asks which functions the script has besides the common ones: a line for each, as " * reload: no description".
func (o *openrc) canReload(ctx context.Context, args NameArgs) (bool, error) {
	name, err := checked(args.Name)
	if err != nil {
		return false, err
	}
	r, err := o.run(ctx, "rc-service", "--nocolor", name, "describe")
	if err != nil || r.code != 0 {
		return false, err
	}
	for line := range strings.Lines(r.text) {
		if strings.HasPrefix(strings.TrimLeft(line, " *\t"), "reload:") {
			return true, nil
		}
	}
	return false, nil
}

// enable leaves a service that is in any runlevel as it is, even if that is not the
// default one.
func (o *openrc) enable(ctx context.Context, name string, now Info) error {
	if now.Enabled {
		return nil
	}
	_, err := o.must(ctx, "rc-update", "add", name, "default")
	return err
}

// disable takes the service out of all runlevels, and not of the present one alone.
func (o *openrc) disable(ctx context.Context, name string, now Info) error {
	if !now.Enabled {
		return nil
	}
	// It fails for each runlevel in which the service was not.
	r, err := o.run(ctx, "rc-update", "--all", "del", name)
	if err != nil || r.code == 0 {
		return err
	}
	_, enabled, err := o.all(ctx)
	if err == nil && slices.Contains(enabled, name) {
		err = r.failed()
	}
	return err
}

// openrcFolders hold a link for each service in a state, and openrcLevels the runlevels.
var openrcFolders = []string{"/run/openrc/started", "/run/openrc/stopping", "/run/openrc/failed", "/run/openrc/inactive", "/run/openrc/daemons"}

const openrcLevels = "/etc/runlevels"

// Watch implements virtual.Watcher. That a process has died without being stopped is
// in no file: OpenRC does not know it before it is asked. The folders of the
// runlevels and of the states are watched, which OpenRC fills with links.
func (o *openrc) Watch(ctx context.Context, list []string) (events.Subscription, error) {
	names, session, err := watched(list)
	if err != nil {
		return nil, err
	}
	if session {
		return nil, errNoSession
	}
	paths := []string{openrcLevels + "/boot", openrcLevels + "/default", openrcLevels + "/sysinit"}
	if len(names) == 0 {
		return o.host.Watch(ctx, append(paths, openrcFolders...), events.Options{Contents: true})
	}
	var files []string
	for _, name := range names {
		for _, dir := range slices.Concat(paths, openrcFolders) {
			files = append(files, path.Join(dir, BaseName(name)))
		}
		files = append(files, "/etc/init.d/"+BaseName(name))
	}
	return o.host.Watch(ctx, files, events.Options{})
}
