package backends

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine/events"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// runitBackend runs sv. A service is a folder; it is supervised if it is linked into the folder
// that runsvdir watches, and enabled if it has no file named down then. It has no jobs: each
// request holds at once, and a later one takes its place.
func runitBackend() *virtual.Backend {
	b := virtual.Native("runit", newRunit, runitMethods()...)
	b.Module, b.Doc, b.Watch = "svc", "runit, by sv.", virtual.WatchFiles
	b.When = virtual.Match{"init": {"runit"}}
	b.Needs = []string{"sv", "ls", "ln", "touch", "rm", "test"}
	return b
}

// runitMethods are the functions that runit can do. Masks are not among them, as
// runit has none.
func runitMethods() []virtual.Method[*runit] {
	return append(queryMethods[*runit](),
		deed("start", (*runit).start),
		deed("stop", (*runit).stop),
		deed("restart", (*runit).restart),
		deed("reload", (*runit).reload),
		virtual.Func("can_reload", (*runit).canReload),
		deed("enable", (*runit).enable),
		deed("disable", (*runit).disable))
}

// The folders are found out once, when the backend is made.
type runit struct {
	tool
	folders string // the folder of the services
	live    string // the folder that runsvdir watches
}

// runitLive are the places of the folder that runsvdir watches: those of Debian, and
// of others.
var runitLive = []string{"/etc/service", "/var/service", "/service"}

// The first folder of runitLive that is there is taken. If none is there, calls fail
// with the place of Debian in their errors.
func newRunit(ctx context.Context, env virtual.Env) (*runit, error) {
	r := &runit{tool{env.Host}, "/etc/sv", runitLive[0]}
	for _, dir := range runitLive {
		there, err := r.run(ctx, "test", "-d", dir)
		if err != nil {
			return nil, err
		}
		if there.code == 0 {
			r.live = dir
			break
		}
	}
	return r, nil
}

func (r *runit) asks() questions { return questions{r} }

func (r *runit) folder(name string) string { return path.Join(r.folders, name) }

func (r *runit) link(name string) string { return path.Join(r.live, name) }

func (r *runit) down(name string) string { return path.Join(r.folders, name, "down") }

// have reports whether a path is there. It asks by a program, as the whole backend does, so that a recorded host can answer in tests.
func (r *runit) have(ctx context.Context, p string) (bool, error) {
	said, err := r.run(ctx, "test", "-e", p)
	return err == nil && said.code == 0, err
}

// A service whose folder has no program run does not exist. The first word of sv's
// answer says whether it runs.
func (r *runit) look(ctx context.Context, name string) (Info, error) {
	there, err := r.have(ctx, r.folder(name)+"/run")
	if err != nil {
		return Info{}, err
	}
	if !there {
		return Info{}, virtual.ErrNotFound
	}
	linked, err := r.have(ctx, r.link(name))
	if err != nil {
		return Info{}, err
	}
	detail := "not supervised"
	if !linked {
		return Info{Detail: &detail}, nil
	}
	down, err := r.have(ctx, r.down(name))
	if err != nil {
		return Info{}, err
	}
	said, err := r.run(ctx, "sv", "status", r.link(name))
	if err != nil {
		return Info{}, err
	}
	detail = said.text
	running := strings.HasPrefix(said.text, "run:")
	own, _, _ := strings.Cut(said.text, ";") // the rest is of its log
	return Info{Running: running, Enabled: !down, Detail: &detail, Restarting: new(!running && strings.Contains(own, "want up"))}, nil
}

// lifeOf reads the seconds of a status such as "run: web: (pid 12) 45s".
func (r *runit) lifeOf(i Info) (l LifeInfo) {
	_, rest, _ := strings.Cut(*i.Detail, ") ")
	seconds, _, _ := strings.Cut(rest, "s")
	if n, err := strconv.Atoi(seconds); err == nil && i.Running {
		l.Up = new(time.Duration(n) * time.Second)
	}
	return l
}

// The order is that of the folder. It runs one program for each linked service.
func (r *runit) all(ctx context.Context) (names, enabled []string, err error) {
	if names, err = r.list(ctx, r.folders); err != nil {
		return nil, nil, err
	}
	linked, err := r.list(ctx, r.live)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if !slices.Contains(linked, name) {
			continue
		}
		down, err := r.have(ctx, r.down(name))
		if err != nil {
			return nil, nil, err
		}
		if !down {
			enabled = append(enabled, name)
		}
	}
	return names, enabled, nil
}

// list returns the entries of a folder that can be names of services.
func (r *runit) list(ctx context.Context, dir string) ([]string, error) {
	said, err := r.must(ctx, "ls", "-1", dir)
	names := strings.Fields(said.out)
	return slices.DeleteFunc(names, func(n string) bool { return CheckName(n) != nil }), err
}

// patience is how long sv waits for the requested state, in seconds. It is above the
// seven seconds of sv, in which many daemons do not end.
const patience = "30"

// sv does something with a service, and waits for it. A state that is not reached in
// time is an error with the words of sv.
func (r *runit) sv(ctx context.Context, word, name string) error {
	said, err := r.run(ctx, "sv", "-w", patience, word, r.link(name))
	if err == nil && said.code != 0 {
		err = said.failed()
	}
	return err
}

// start links a service that runsvdir does not watch yet, and starts it. That leaves
// the start at boot as it was.
func (r *runit) start(ctx context.Context, name string, now Info) error {
	if now.Running {
		return nil
	}
	if err := r.supervise(ctx, name); err != nil {
		return err
	}
	return r.sv(ctx, "start", name)
}

// supervise links a service that is not, with a file down: being supervised, it is not
// started yet, now or at boot.
func (r *runit) supervise(ctx context.Context, name string) error {
	linked, err := r.have(ctx, r.link(name))
	if err != nil || linked {
		return err
	}
	for _, argv := range [][]string{
		{"touch", r.down(name)},
		{"ln", "-s", r.folder(name), r.link(name)},
	} {
		if _, err := r.must(ctx, argv...); err != nil {
			return err
		}
	}
	return r.seen(ctx, name)
}

// seen waits until runsvdir has seen a new link, which it looks for every few
// seconds. Without a runsvdir it waits until ctx ends, and the error then asks for
// that.
func (r *runit) seen(ctx context.Context, name string) error {
	ready := r.folder(name) + "/supervise/ok"
	sub, err := r.host.Watch(ctx, []string{ready}, events.Options{})
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		if there, err := r.have(ctx, ready); err != nil || there {
			return err
		}
		select {
		case <-sub.C():
		case <-ctx.Done():
			return fmt.Errorf("%s is not supervised: does runsvdir watch %s? %w", name, r.live, context.Cause(ctx))
		}
	}
}

// stop ends the process; the supervisor stays, and does not start it again.
func (r *runit) stop(ctx context.Context, name string, now Info) error {
	if !now.Running {
		return nil
	}
	return r.sv(ctx, "stop", name)
}

// sv restart has the old process end and a new one start. It returns once there is a
// new process.
func (r *runit) restart(ctx context.Context, name string, now Info) error {
	if !now.Running {
		return r.start(ctx, name, now)
	}
	if err := r.sv(ctx, "restart", name); err != nil {
		return err
	}
	return r.up(ctx, name, process(*now.Detail))
}

// process returns the part of a status that names the process. A text without one,
// as of a service that is down, gives an empty name.
func process(status string) string {
	_, rest, _ := strings.Cut(status, "(pid ")
	pid, _, _ := strings.Cut(rest, ")")
	return pid
}

// up waits until a service runs that is wanted up, as a new process. sv does not
// wait for that where the old process was just started. A service that has run for
// less than a second is started again only after one. before is the number of the
// old process. The wait ends early if the service is not wanted up any more, and
// with ctx.
func (r *runit) up(ctx context.Context, name, before string) error {
	sub, err := r.host.Watch(ctx, []string{r.folder(name) + "/supervise/status"}, events.Options{})
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		said, err := r.run(ctx, "sv", "status", r.link(name))
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(said.text, "run:"):
			if process(said.text) != before {
				return nil
			}
		case !strings.Contains(said.text, "want up") && !strings.Contains(said.text, "normally up"):
			return said.failed()
		}
		select {
		case <-sub.C():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reload sends the signal HUP, by which most daemons read their configuration again.
func (r *runit) reload(ctx context.Context, name string, now Info) error {
	if !now.Running {
		return nil
	}
	return r.sv(ctx, "reload", name)
}

// canReload is true of every service: it is sent a signal, and the effect is its own affair.
func (r *runit) canReload(_ context.Context, args NameArgs) (bool, error) {
	_, err := checked(args.Name)
	return err == nil, err
}

// enable removes the file down. A service that was not linked is linked first, and
// not started by that.
func (r *runit) enable(ctx context.Context, name string, now Info) error {
	if now.Enabled {
		return nil
	}
	if err := r.supervise(ctx, name); err != nil {
		return err
	}
	_, err := r.must(ctx, "rm", "-f", r.down(name))
	return err
}

// disable leaves the service supervised, and as it is.
func (r *runit) disable(ctx context.Context, name string, now Info) error {
	if !now.Enabled {
		return nil
	}
	_, err := r.must(ctx, "touch", r.down(name))
	return err
}

// Watch implements virtual.Watcher: the supervisor writes the state of a service
// into a file. The files of a service that is not supervised yet are watched for as
// well.
func (r *runit) Watch(ctx context.Context, list []string) (events.Subscription, error) {
	names, session, err := watched(list)
	if err != nil {
		return nil, err
	}
	if session {
		return nil, errNoSession
	}
	if len(names) == 0 {
		return r.host.Watch(ctx, []string{r.folders, r.live}, events.Options{Recurse: true})
	}
	var files []string
	for _, name := range names {
		name = BaseName(name)
		files = append(files, r.folder(name)+"/supervise/status", r.folder(name)+"/run", r.down(name), r.link(name))
	}
	return r.host.Watch(ctx, files, events.Options{})
}

// A watch has no struct that could leave the session out, so it is refused here.
var errNoSession = fmt.Errorf("there are no services of a user's session: only systemd has them")
