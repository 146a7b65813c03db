package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/daemon/state"
	"github.com/reactivegraph/mgmt/daemon/store"
	"github.com/reactivegraph/mgmt/daemon/trust"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/control"
	"github.com/reactivegraph/mgmt/engine/httpd"
	"github.com/reactivegraph/mgmt/engine/model"
	"github.com/reactivegraph/mgmt/engine/selection"
	"github.com/reactivegraph/mgmt/gapi/native"
)

// socketFlag names the socket of the API.
// An empty path lets the program choose, see places.
type socketFlag struct{ path string }

// flag adds the flag for the socket of the daemon.
func (f *socketFlag) flag(cmd *cobra.Command) {
	bind(cmd, "socket", place{&f.path})
	_ = cmd.MarkFlagFilename("socket", "sock")
}

const (
	// systemRun is for the daemon of root, below which all users can look up the socket.
	// The name is the same in each folder, so a client need know only the folders.
	socketName = "mgmt.sock"
	systemRun  = "/run/mgmt"
)

// places returns where a daemon with this state folder has its socket, the first
// choice first. With a state folder of its own, the daemon has its socket there.
// systemd gives RUNTIME_DIRECTORY to a service, which may hold several folders with
// colons between them; the first one is ours. XDG_RUNTIME_DIR is the folder of a
// logged-in user.
// A client of the same user and environment computes the same list as the daemon.
func (f *socketFlag) places(s state.Place) []string {
	if f.path != "" {
		return []string{f.path}
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
		dirs[i] = filepath.Join(dir, socketName)
	}
	return dirs
}

// listen makes the socket in the first place where that is possible. Without one
// the run goes on, unless it was named, or a daemon answers there.
// Where the machine does not even let us write to the state folder, the last of the
// places, there is a warning about that already.
// A temporary state folder has no socket unless one is named: two such runs may be there
// at once.
// A full disk or a read-only file system thus costs the socket, and not the daemon.
func (f *socketFlag) listen(ctx context.Context, s state.Place, log *slog.Logger) (*control.Listener, error) {
	if s.Temporary && f.path == "" {
		return nil, nil // for a while, next to others
	}
	var last error
	for _, path := range f.places(s) {
		l, err := listenAt(ctx, path)
		if err == nil {
			return l, nil
		}
		// Two daemons on one machine would repair the same things against each other, so the second
		// one ends.
		if _, busy := errors.AsType[*control.BusyError](err); busy || f.path != "" {
			return nil, err
		}
		last = err
	}
	level := slog.LevelWarn
	// An ordinary user without a writable place knows that already, so a line of information will do.
	if state.Denied(last) {
		level = slog.LevelInfo
	}
	log.Log(ctx, level, "there is no socket: status, why, pause and the like cannot reach this daemon; name another place with --socket", "error", last)
	return nil, nil
}

// listenAt makes the folder of the socket and listens there. Below the system's folder all
// users may look for the socket; its own mode decides who may connect.
// The permission to connect is that of write on the socket, see unix(7).
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

// desk is where a daemon answers questions, and the sources of its answers. A nil
// desk does neither.
type desk struct {
	rec *control.Recorder
	// The desk owns both listeners until a server has taken them over. close may follow the server.
	listener *control.Listener // nil where there is no socket
	// The fields of the engine are filled in by background, since the engine is made later.
	opt     control.Options
	remote  *httpd.TLS // for other machines; nil for none
	to      *listenFlags
	trust   *trust.Operators             // refuses callers from other machines
	foreign *model.NB                    // the objects as clients of other machines may write them
	running *atomic.Pointer[mgmt.Engine] // nil before the run
}

// openDesk makes the socket, so that a socket in use is an error before
// anything is altered. Close it.
// It is called before the engine is made, and returns nil where no question can ever
// come.
func (f *runFlags) openDesk(ctx context.Context, folder *state.Folder, nb *model.NB, kinds func() *engine.Registry, running *atomic.Pointer[mgmt.Engine], log *slog.Logger) (*desk, error) {
	writers, err := writersOf(f.writers)
	if err != nil {
		return nil, err
	}
	l, err := f.socket.listen(ctx, f.state.Place, log)
	if err != nil {
		return nil, err
	}
	rules, err := f.world.Rules()
	var other *httpd.TLS
	if err == nil {
		other, err = f.remote.open(rules, log)
	}
	if err != nil {
		// The socket is closed where the second listener fails, or its file would stay behind.
		(&desk{listener: l}).close()
		return nil, err
	}
	if l == nil && other == nil && folder.Dir == "" {
		return nil, nil // no question could ever come
	}
	d := &desk{rec: control.NewRecorder(control.RecorderOptions{Version: version()}), listener: l, remote: other, to: &f.remote, running: running, foreign: nb.Guarded(native.AdmitRemote(kinds, rules))}
	d.opt = control.Options{
		Recorder: d.rec, Logger: log, Version: version(), StateDir: folder.Dir,
		Objects: nb, Shared: nb.World(), MayWrite: writers, Known: runs(running), Hosts: hostsOf(nb.World()),
	}
	d.opt.StateLost = stateLost(running)
	if c, ok := nb.World().(*store.Clustered); ok {
		d.opt.Lost = c.Lost
	}
	return d, nil
}

// stateLost returns what tells of the state folder of an engine that runs.
func stateLost(running *atomic.Pointer[mgmt.Engine]) func() *control.StateLost {
	return func() *control.StateLost {
		e := running.Load()
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
}

// close ends the listening; it is callable on nil.
func (d *desk) close() {
	if d != nil && d.listener != nil {
		_ = d.listener.Close() // the socket that could not be removed is replaced by the next
	}
	if d != nil && d.remote != nil {
		_ = d.remote.Close() // it is closed already where a server was on it
	}
}

// observe adds the recording to the events of the engine.
// The recorder never blocks and does no I/O here, so it holds no run of the engine up.
func (d *desk) observe(o mgmt.Observer) mgmt.Observer {
	if d == nil {
		return o
	}
	return o.With(mgmt.Observer{
		Swapped: d.rec.Swapped, Ran: d.rec.Ran, Converged: d.rec.Converged, Paused: d.rec.Paused, Held: d.rec.Held,
		Loaded: d.rec.Loaded, Refused: d.rec.Refused, Missed: d.rec.Missed,
	})
}

// background returns the server and the recorder of an engine.
// The engine runs the returned function in a goroutine, with a context that ends with the
// run. It blocks until the server has answered its last request.
func (d *desk) background(metrics httpd.Handler, graphs func(*mgmt.Engine) control.Graphs) func(context.Context, *mgmt.Engine) {
	if d == nil {
		return nil
	}
	return func(ctx context.Context, e *mgmt.Engine) {
		// From here on, a change of an object can be checked against the graph that runs.
		d.running.Store(e)
		d.opt.Engine, d.opt.History, d.opt.Metrics = e, e.History(), metrics
		d.opt.Graphs, d.opt.Folders = graphs(e), foldersOf(e)
		var wg sync.WaitGroup
		defer wg.Wait()
		// The recorder runs also without a listener: verbs read the history after the end of the
		// daemon.
		wg.Go(func() { d.rec.Run(ctx, d.opt.History) })
		if d.remote != nil {
			wg.Go(func() {
				if err := d.to.serveObjects(ctx, d.remote, d.foreign, d.opt.Known, d.trust, d.opt.Logger); err != nil {
					d.opt.Logger.Error("objects are no longer served", "error", err)
				}
			})
		}
		if d.listener == nil {
			return
		}
		s, err := control.NewServer(d.opt)
		if err == nil {
			d.opt.Logger.Debug("questions are answered", "socket", d.listener.Path())
			err = s.Serve(ctx, d.listener)
		}
		if err != nil {
			d.opt.Logger.Error("questions are no longer answered", "error", err)
		}
	}
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

// remote is how a verb reaches the daemon.
type remote struct {
	socket socketFlag
	// The state folder gives one place of the socket, and the history where no daemon answers.
	state  stateFlags
	output choice
}

// flags adds the flags of a verb that asks a daemon.
func (d *remote) flags(cmd *cobra.Command) {
	d.reach(cmd)
	choose(cmd, &d.output, "output", "o", "how to write it", "text", "json")
}

// reach adds the flags that say where the daemon is.
func (d *remote) reach(cmd *cobra.Command) {
	d.socket.flag(cmd)
	d.state.prefixFlag(cmd)
}

// client asks the daemon on the first socket that answers: where one of ours would
// have it, and where the machine's own has it.
// The client tries the places in order.
func (d *remote) client() *control.Client {
	places := d.socket.places(d.state.Place)
	// An ordinary user without a daemon means that of the machine. A named folder or socket means
	// just that.
	if system := filepath.Join(systemRun, socketName); len(places) > 0 && d.socket.path == "" && d.state.Prefix == "" && os.Getenv("MGMT_PREFIX") == "" && !slices.Contains(places, system) {
		places = append(places, system)
	}
	return control.NewClient(places...)
}

// answerer tells past events: it is a daemon, or the history that a daemon has left.
// Verbs such as log and why work with both, so an operator can ask after a crash.
type answerer interface {
	Log(context.Context, control.Query) (*control.Log, error)
	Why(ctx context.Context, resource string, n int) (*control.Why, error)
	// Choose returns the resources of a selection, at most limit.
	Choose(ctx context.Context, selection string, limit int) (*control.Names, error)
}

// ask asks the daemon, and where there is none, the history in the state folder. It says on
// standard error when the answer comes from there; past is true then. A call that names a
// socket asks that daemon only.
func (d *remote) ask(a *app, question func(answerer) error) (past bool, err error) {
	err = question(d.client())
	// A refused right shows that there is a daemon, whose answer is newer than the history on disk.
	if none, ok := errors.AsType[*control.NoDaemonError](err); !ok || d.socket.path != "" || errors.Is(none, fs.ErrPermission) {
		return false, err
	}
	dir, bad := d.state.Path()
	if bad != nil {
		return false, err
	}
	history, bad := mgmt.HistoryIn(dir)
	switch {
	case errors.Is(bad, fs.ErrNotExist):
		return false, err
	case bad != nil:
		return false, fmt.Errorf("%w, and the history that the last one has left cannot be read: %w", err, bad)
	}
	fmt.Fprintf(a.err, "%s: %v; this is the history that the last one has left in %s\n", a.program(), err, dir)
	return true, question(control.Past{History: history})
}

// explained adds the way out to an error where no daemon answers.
func explained(err error) error {
	none, ok := errors.AsType[*control.NoDaemonError](err)
	switch {
	case ok && errors.Is(none, fs.ErrPermission):
		return fmt.Errorf("%w; it answers root, the user that it runs as, and the group that its socket has", none)
	case ok:
		return fmt.Errorf("%w, start one with: mgmt run FILE; or name its socket with --socket", none)
	}
	return err
}

// completeResource completes a selection by asking the daemon: names, kinds, modules and labels, in each term.
// Without a daemon, or when it takes more than 300 ms, the shell gets no names and no
// error.
func (d *remote) completeResource(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionWait)
	defer cancel()
	names, err := d.client().Names(ctx, word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list := append(names.Resources, names.Terms...)
	before, last := selection.Last(word)
	if len(list) == 0 && before != "" {
		if names, err = d.client().Names(ctx, last); err == nil {
			for _, id := range names.Resources {
				list = append(list, before+selection.Exact(id).String())
			}
			for _, term := range names.Terms {
				list = append(list, before+term)
			}
		}
	}
	for _, state := range selection.States() {
		if term := "state:" + state; strings.HasPrefix(term, last) && last != "" {
			list = append(list, before+term)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
