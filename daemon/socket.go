package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/engine/agents"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/hosts"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/world"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// Socket says where a daemon answers the verbs of mgmt. The zero value has it where these look for it; see Places.
type Socket struct {
	Path string // empty for the first place that can be had
	None bool   // there is none
	// Writers is the group whose members may change objects over it, besides root and the user of the daemon.
	Writers string
}

const (
	// SocketName is the name of a socket in each folder of Places.
	SocketName = "mgmt.sock"
	// systemRun is for the daemon of root, below which all users can look up the socket.
	systemRun = "/run/mgmt"
	// SystemSocket is that of the daemon of root.
	SystemSocket = systemRun + "/" + SocketName
)

// Places returns the candidates for the socket of a daemon with this state folder, the preferred one first: in a named state folder, or else in
// RUNTIME_DIRECTORY (the first of its folders), /run/mgmt for root, XDG_RUNTIME_DIR, and the default state folder. A client of the same user
// and environment gets the same list.
func (f Socket) Places(s state.Place) []string {
	if f.Path != "" {
		return []string{f.Path}
	}
	var dirs []string
	run, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":")
	user := os.Getenv("XDG_RUNTIME_DIR")
	switch {
	// Each state folder may have a daemon of its own, so they must not share one socket.
	case s.Prefix != "" || os.Getenv("MGMT_PREFIX") != "":
	case run != "":
		dirs = append(dirs, run)
	case os.Getenv("STATE_DIRECTORY") != "":
	case os.Geteuid() == 0:
		dirs = append(dirs, systemRun)
	// The variable must be absolute, as the XDG Base Directory Specification says.
	case filepath.IsAbs(user):
		dirs = append(dirs, filepath.Join(user, "mgmt"))
	}
	if dir, err := s.Path(); err == nil {
		dirs = append(dirs, dir)
	}
	for i, dir := range dirs {
		dirs[i] = filepath.Join(dir, SocketName)
	}
	return dirs
}

// listen makes the socket in the first of Places that can be had. A full disk or a read-only file system costs the socket and not the daemon:
// the listener is nil then, with a warning. The error is that of a named socket, or of one on which a daemon answers. A temporary state folder
// has no socket unless one is named, since several such runs may be there at once.
func (f Socket) listen(ctx context.Context, s state.Place, log *slog.Logger) (*control.Listener, error) {
	if f.None || s.Temporary && f.Path == "" {
		return nil, nil // for a while, next to others
	}
	var last error
	for _, path := range f.Places(s) {
		l, err := listenAt(ctx, path)
		if err == nil {
			return l, nil
		}
		// Two daemons on one machine would repair the same things against each other, so the second
		// one ends.
		if _, busy := errors.AsType[*control.BusyError](err); busy || f.Path != "" {
			return nil, err
		}
		last = err
	}
	level := slog.LevelWarn
	// An ordinary user without a writable place knows that already, so a line of information will do.
	if state.Denied(last) {
		level = slog.LevelInfo
	}
	log.Log(ctx, level, "there is no socket: status, why, pause and the like cannot reach this daemon; name another place for it", "error", last)
	return nil, nil
}

// listenAt makes the folder of the socket and listens there. Everybody may enter the system's folder; write permission on the socket itself
// decides who may connect, see unix(7).
func listenAt(ctx context.Context, path string) (*control.Listener, error) {
	mode := fs.FileMode(0o700)
	if filepath.Dir(path) == systemRun {
		mode = 0o755 // the socket itself says who may
	}
	if err := os.MkdirAll(filepath.Dir(path), mode); err != nil {
		return nil, fmt.Errorf("the socket %s: %w", path, err)
	}
	return control.Listen(ctx, path)
}

// socketPart answers questions on the socket, serves the objects to other machines, and records what happens. Without a socket the recorder
// runs all the same: verbs read the history after the end of the daemon.
type socketPart struct {
	d        *Daemon
	rec      *control.Recorder // nil where no question can ever come, and nobody is told of events
	listener *control.Listener // nil where there is no socket
	remote   *httpd.TLS        // for other machines; nil for none
	foreign  *model.NB         // the objects as clients of other machines may write them
	opt      control.Options
}

// Open implements Part.
func (p *socketPart) Open(ctx context.Context, d *Daemon) error {
	p.d = d
	writers, err := writersOf(d.Socket.Writers)
	if err != nil {
		return err
	}
	rules, err := d.Store.Rules()
	if err != nil {
		return err
	}
	if p.listener, err = d.Socket.listen(ctx, d.State, d.Log); err != nil {
		return err
	}
	if p.remote, err = d.Remote.Listen(rules, d.Log); err != nil {
		return err
	}
	if p.listener == nil && p.remote == nil && d.Folder.Dir == "" && len(d.Notify) == 0 && d.Config.Web.Address == "" && d.Reloading.Next == nil {
		return nil
	}
	p.rec = control.NewRecorder(control.RecorderOptions{Version: d.Version})
	p.foreign = d.Objects.Guarded(native.AdmitRemote(d.set.Load().Tables().Kinds, rules))
	p.opt = control.Options{
		Recorder: p.rec, Logger: d.Log, Version: d.Version, StateDir: d.Folder.Dir, StateLost: d.stateLost,
		Objects: d.Objects, Shared: d.World, MayWrite: writers, Known: d.runs, Hosts: hostsOf(d.World), Removed: d.Operators.RemovedHosts,
		MCP:       func(c *control.Client) http.Handler { return agents.Handler(c, d.Version, clock.System{}) },
		Providers: &providers{d.set.Load}, Metrics: d.exporter.counts.Handler(), Notices: d.notices.receivers,
	}
	if c, ok := d.World.(*store.Clustered); ok {
		p.opt.Lost = c.Lost
	}
	d.Options.Observer = d.Options.Observer.With(mgmt.Observer{
		Swapped: p.rec.Swapped, Ran: p.rec.Ran, Converged: p.rec.Converged, Paused: p.rec.Paused, Held: p.rec.Held,
		Loaded: p.rec.Loaded, Refused: p.rec.Refused, Missed: p.rec.Missed,
	})
	return nil
}

// Start implements Part. Questions are answered until the graph has come to its end.
func (p *socketPart) Start(_ context.Context, e *mgmt.Engine) error {
	if p.rec == nil {
		return nil
	}
	d := p.d
	p.opt.Engine, p.opt.History, p.opt.Folders = e, e.History(), foldersOf(e)
	graphs := newGraphInput(d.input.Load, e, d.rereading, d.waiting)
	p.opt.Graphs, p.opt.Kept = graphs, d.past.kept(graphs, p.rec)
	d.Go(func(ctx context.Context) { p.rec.Run(ctx, p.opt.History) })
	if p.remote != nil {
		d.Go(func(ctx context.Context) {
			if err := d.Remote.Serve(ctx, p.remote, p.foreign, d.runs, d.Operators, d.Log); err != nil {
				d.Log.Error("objects are no longer served", "error", err)
			}
		})
	}
	if p.listener == nil && d.web.listener == nil {
		return nil
	}
	if d.web.listener != nil {
		p.opt.Login = d.web.login
	}
	s, err := control.NewServer(p.opt)
	if err != nil {
		return err
	}
	if err := d.web.begin(e, s); err != nil || p.listener == nil {
		return err
	}
	d.Go(func(ctx context.Context) {
		d.Log.Debug("questions are answered", "socket", p.listener.Path())
		if err := s.Serve(ctx, p.listener); err != nil {
			d.Log.Error("questions are no longer answered", "error", err)
		}
	})
	return nil
}

// Close implements Part.
func (p *socketPart) Close() error {
	if p.listener != nil {
		_ = p.listener.Close() // the socket that could not be removed is replaced by the next
	}
	if p.remote != nil {
		_ = p.remote.Close() // a server that was on it has closed it already
	}
	return nil
}

// waiting returns the warnings about settings that wait for a restart.
func (d *Daemon) waiting() []string {
	if d.Reloading.Waiting == nil {
		return nil
	}
	return d.Reloading.Waiting()
}

// rereading tells that the graph is read again because somebody has asked for it.
func (d *Daemon) rereading(by string) {
	if d.Reloading.Requested != nil {
		d.Reloading.Requested(by)
		return
	}
	d.Log.Info("reloading", "by", by)
}

// stateLost tells of the state folder of an engine that runs.
func (d *Daemon) stateLost() *control.StateLost {
	e := d.engine.Load()
	if e == nil {
		return nil
	}
	l := e.StateLoss()
	if l == nil {
		return nil
	}
	out := &control.StateLost{Since: l.Since, Lost: l.Lost, Other: l.Other}
	if l.Err != nil {
		out.Error = l.Err.Error()
	}
	return out
}

// foldersOf tells what an engine watches.
func foldersOf(e *mgmt.Engine) func(context.Context) ([]control.Folder, error) {
	return func(ctx context.Context) (out []control.Folder, err error) {
		list, err := e.Folders(ctx)
		for _, f := range list {
			out = append(out, control.Folder(f))
		}
		return out, err
	}
}

// hostsOf reads the hosts of a store. A store that is made at its first use is not made for that: it has no hosts yet.
func hostsOf(w world.World) func(context.Context) (*control.Hosts, error) {
	return func(ctx context.Context) (*control.Hosts, error) {
		select {
		case <-hosts.Used(w):
			return control.ReadHosts(ctx, w)
		default: // a list of hosts would else make the file of a store that no resource needs
			return control.HostsOf(nil), nil
		}
	}
}
