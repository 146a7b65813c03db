package backends

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/reactivegraph/mgmt/engine/virtual"
)

// sysvBackend runs the scripts in /etc/init.d, as sysvinit does, and as a person
// does in a container without an init. No event tells when a service has ended, so
// it is polled. Scripts do not tell of other clients of a service, so there are no
// jobs. Its priority is below all others, since many systems have such scripts for
// old packages only.
func sysvBackend() *virtual.Backend {
	b := virtual.Native("sysv", newSysV, append(queryMethods[*sysv](),
		deed("start", (*sysv).start),
		deed("stop", (*sysv).stop),
		deed("restart", (*sysv).restart),
		deed("reload", (*sysv).reload),
		virtual.Func("can_reload", (*sysv).canReload),
		deed("enable", (*sysv).enable),
		deed("disable", (*sysv).disable))...)
	b.Module, b.Doc, b.Watch = "svc", "Scripts in /etc/init.d, by service, and update-rc.d or chkconfig.", virtual.WatchPoll
	b.Unless = virtual.Match{"init": {"systemd", "openrc", "runit", "s6"}}
	b.Needs, b.Priority = []string{"service", "update-rc.d|chkconfig", "ls"}, -10
	return b
}

type sysv struct{ tool }

func newSysV(_ context.Context, env virtual.Env) (*sysv, error) { return &sysv{tool{env.Host}}, nil }

func (s *sysv) asks() questions { return questions{s} }

// sysvFolders are where the scripts are, and the links to the scripts that are run
// at boot. The runlevels 0, 1 and 6 are not among them: they are those of a halt and
// a rescue.
var sysvFolders = []string{"/etc/init.d", "/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d", "/etc/rcS.d"}

// notScripts are files in the folder of the scripts that start no service.
var notScripts = []string{"README", "functions", "skeleton", "rc", "rcS", "halt", "reboot", "killall", "single"}

// all lists the folders. A link named S and two digits before a name says that it is enabled.
func (s *sysv) all(ctx context.Context) (names, enabled []string, err error) {
	r, err := s.run(ctx, append([]string{"ls", "-1"}, sysvFolders...)...) // not all of them have to be there
	if err != nil {
		return nil, nil, err
	}
	dir := ""
	for line := range strings.Lines(r.out) {
		line = strings.TrimSuffix(line, "\n")
		switch header, is := strings.CutSuffix(line, ":"); {
		case is:
			dir = header
		case dir == sysvFolders[0]:
			names = append(names, line)
		case len(line) > 3 && line[0] == 'S' && isDigit(line[1]) && isDigit(line[2]):
			enabled = append(enabled, line[3:])
		}
	}
	script := func(n string) bool { return CheckName(n) == nil && !slices.Contains(notScripts, n) }
	names = slices.DeleteFunc(names, func(n string) bool { return !script(n) })
	enabled = slices.DeleteFunc(enabled, func(n string) bool { return !slices.Contains(names, n) })
	return names, enabled, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// The exit codes of a status are those of the Linux Standard Base: 1 and 2 are a
// death without a stop. It lists all folders for each service.
func (s *sysv) look(ctx context.Context, name string) (Info, error) {
	names, enabled, err := s.all(ctx)
	if err != nil {
		return Info{}, err
	}
	if !slices.Contains(names, name) {
		return Info{}, virtual.ErrNotFound
	}
	r, err := s.run(ctx, "service", name, "status")
	if err != nil {
		return Info{}, err
	}
	detail := sysvState(r.code)
	return Info{Running: r.code == 0, Enabled: slices.Contains(enabled, name), Failed: new(r.code == 1 || r.code == 2), Detail: &detail}, nil
}

// sysvState says what the exit code of a status means.
func sysvState(code int) string {
	states := []string{"running", "dead, with a pid file", "dead, with a lock file", "not running", "unknown"}
	if code >= 0 && code < len(states) {
		return states[code]
	}
	return fmt.Sprintf("exit status %d", code)
}

// start runs the script with the word start, and looks at the result.
func (s *sysv) start(ctx context.Context, name string, now Info) error {
	if now.Running {
		return nil
	}
	return s.reach(ctx, name, "start")
}

// reach does something after which the service has to run. It looks again, for many
// scripts end with 0 whatever happened.
func (s *sysv) reach(ctx context.Context, name, word string) error {
	r, err := s.must(ctx, "service", name, word)
	if err != nil {
		return err
	}
	after, err := s.look(ctx, name)
	if err == nil && !after.Running {
		err = fmt.Errorf("%s is %s after %s; it said:\n%s", name, *after.Detail, word, r.text)
	}
	return err
}

// stop also stops a service that has died, so that its pid file is cleaned up.
func (s *sysv) stop(ctx context.Context, name string, now Info) error {
	if !now.Running && !*now.Failed {
		return nil
	}
	_, err := s.must(ctx, "service", name, "stop")
	return err
}

// restart runs the script with the word restart, which by custom starts a stopped
// service too.
func (s *sysv) restart(ctx context.Context, name string, _ Info) error {
	return s.reach(ctx, name, "restart")
}

// canReload looks whether the script knows the word reload. It reads the script for
// a branch of that name, since no call asks the script without running it.
func (s *sysv) canReload(ctx context.Context, args NameArgs) (bool, error) {
	name, err := checked(args.Name)
	if err != nil {
		return false, err
	}
	r, err := s.run(ctx, "grep", "-Eq", `(^|[[:space:]|"'(])reload["']?[[:space:]]*[|)]`, sysvFolders[0]+"/"+name)
	return err == nil && r.code == 0, err
}

// reload has the script reload the service, or restart it if the script does not know the word.
func (s *sysv) reload(ctx context.Context, name string, now Info) error {
	if !now.Running {
		return nil
	}
	r, err := s.run(ctx, "service", name, "reload")
	if err != nil || r.code == 0 {
		return err
	}
	const unknownWord = 3
	if r.code == unknownWord || strings.Contains(strings.ToLower(r.text), "usage:") {
		return s.restart(ctx, name, now)
	}
	return r.failed()
}

// enable makes the links by update-rc.d, or by chkconfig where that is missing. The
// word defaults makes links that are missing, enable turns existing ones on.
func (s *sysv) enable(ctx context.Context, name string, now Info) error {
	if now.Enabled {
		return nil
	}
	if _, err := s.must(ctx, "update-rc.d", name, "defaults"); !missingTool(err) {
		if err == nil {
			_, err = s.must(ctx, "update-rc.d", name, "enable")
		}
		return err
	}
	_, err := s.must(ctx, "chkconfig", name, "on")
	return err
}

// disable keeps the links as links that stop the service, so that the next upgrade
// of its package does not enable it again.
func (s *sysv) disable(ctx context.Context, name string, now Info) error {
	if !now.Enabled {
		return nil
	}
	_, err := s.must(ctx, "update-rc.d", name, "disable")
	if missingTool(err) {
		_, err = s.must(ctx, "chkconfig", name, "off")
	}
	return err
}

// missingTool reports whether a command could not be run because there is no such
// program.
func missingTool(err error) bool {
	return errors.Is(err, exec.ErrNotFound)
}
