package exec

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/engine/planning"
	"github.com/reactivegraph/mgmt/engine/safepath"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/resources/internal/atomicfile"
	"github.com/reactivegraph/mgmt/resources/internal/received"
)

// runKeys are the parameters that make another run when a new value for them is
// received.
var runKeys = []string{"cmd", "args", "shell", "cwd", "env", "stdin", "user", "group"}

// CheckApply decides whether a run is due, and runs. The conditions are asked under
// noop too; they are the user's own checks. A run blocks until the command and
// donecmd have ended, for at most timeout each. The results are kept before they are
// sent, so a crash in between runs nothing twice. A condition is a command too, so a
// look can take as long. A command that only reads is a look, too: its run is no change,
// and without apply nothing is kept of it.
func (x *Res) CheckApply(ctx context.Context, apply bool) (bool, error) {
	if err := x.refuseSecrets(); err != nil {
		return false, err
	}
	last := x.loadLast()
	seen, stamp := x.run.events.Load(), x.stamp() // before all else: later events belong to another run
	mtimes, err := x.readMtimes()
	if err != nil {
		return false, err
	}
	verb, due, err := x.due(ctx, last, mtimes, stamp)
	if err != nil {
		return false, err
	}
	if !due {
		return true, x.send(last)
	}
	looks := x.Changes == never
	if looks {
		planning.Untold(x.init.Host)
	} else {
		x.init.Change(engine.Change{Verb: verb})
		if !apply {
			return false, nil
		}
	}
	now, err := x.apply(ctx)
	if err != nil {
		return false, err
	}
	if apply {
		now.Mtimes = mtimes
		x.keepLast(now)
		x.run.done, x.run.taken, x.run.stamp = true, seen, stamp
	}
	return looks, x.send(now)
}

// due says whether to run, and under which words a run is reported. The order of the
// questions is the law of the kind:
//
// - refreshonly without a notification ends it.
// - A newer file of mtimes runs the command, and no condition is asked.
// - Otherwise something has to want the run, or a notification has to be there, and
// then all conditions have to allow it.
//
// last is nil before the first run. mtimes and stamp were read before, so that a
// change during the run is due again.
func (x *Res) due(ctx context.Context, last *lastRun, mtimes map[string]time.Time, stamp string) (engine.Verb, bool, error) {
	refresh := x.init.Refresh()
	if x.RefreshOnly && !refresh {
		return "", false, nil
	}
	newer := len(x.Mtimes) > 0 && (last == nil || !maps.EqualFunc(last.Mtimes, mtimes, time.Time.Equal))
	if newer && !x.RefreshOnly {
		return engine.Ran, true, nil
	}
	verb := engine.Ran
	if x.RefreshOnly || !x.wanted(stamp) {
		if !refresh {
			return "", false, nil
		}
		verb = engine.Refreshed
	}
	ok, err := x.allowed(ctx)
	return verb, ok, err
}

// wanted reports whether a run is asked for by something else than a notification or
// an mtime. Conditions describe a state, and so ask each time; without any, it takes
// a first time or something that happened. An event counts until a successful run
// has answered it: taken is then the number that this run had seen at its start.
func (x *Res) wanted(stamp string) bool {
	switch {
	case x.Creates != "" || x.IfCmd != "" || x.NIfCmd != "":
		return true
	case x.run.events.Load() != x.run.taken, x.run.done && stamp != x.run.stamp:
		return true
	case !x.run.done && len(x.Mtimes) == 0:
		return true
	}
	for path, s := range x.init.Recv() {
		if s.Changed && slices.Contains(runKeys, received.RootKey(path)) {
			return true
		}
	}
	return false
}

// allowed asks the conditions, the cheapest first. All conditions have to allow it,
// so the first refusal ends the questions. An error means neither yes nor no, and
// fails the resource.
func (x *Res) allowed(ctx context.Context) (bool, error) {
	if x.Creates != "" {
		if there, err := x.exists(x.Creates); there || err != nil {
			return false, err
		}
	}
	if x.IfCmd != "" || x.NIfCmd != "" {
		planning.Untold(x.init.Host)
	}
	if x.IfCmd != "" {
		if ok, err := x.askIf(ctx); !ok || err != nil {
			return false, err
		}
	}
	if x.NIfCmd != "" {
		res, err := x.runCommand(ctx, x.nifCommand(), nil)
		if err != nil {
			return false, err
		}
		return res.ExitCode != 0, nil
	}
	return true, nil
}

// askIf asks ifcmd and compares its output. Each output is compared in whole, which
// the host has cut at outputMax; a longer one never equals.
func (x *Res) askIf(ctx context.Context) (bool, error) {
	res, err := x.runCommand(ctx, x.ifCommand(), nil)
	if err != nil || res.ExitCode != 0 {
		return false, err
	}
	if want := x.IfEquals; want != nil && (printed(res.Output, *want) || printed(res.Stdout, *want)) {
		return false, nil
	}
	if want := x.IfEqualsStdout; want != nil && printed(res.Stdout, *want) {
		return false, nil
	}
	return true, nil
}

// printed reports whether out is want, give or take one final newline.
func printed(out []byte, want string) bool {
	s := string(out)
	return s == want || strings.TrimSuffix(s, "\n") == want
}

// exists follows links, and takes a file where a folder should be for absence. A
// link to nowhere does not exist then. Other errors, such as a folder that may not
// be entered, are returned: they say nothing about the file.
func (x *Res) exists(path string) (bool, error) {
	switch _, err := safepath.Of(x.init.Host).Behind(path); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	default:
		return false, err
	}
}

// stamp tells whether watchfiles were changed, without a Watch. It can't replace
// events: the clock of a file system is coarse. It has device, inode, size and time
// of change of each path and of each entry of a folder. Two equal stamps mean that
// nothing was changed as far as the clock can tell. A missing path has its error for
// a stamp, so its coming is a change.
func (x *Res) stamp() string {
	var b strings.Builder
	w := safepath.Of(x.init.Host)
	for _, p := range x.WatchFiles {
		stampOf(&b, w, p)
		names, err := namesIn(w, p)
		if err != nil {
			continue // it is no folder, or stampOf has told
		}
		h := fnv.New64a()
		for _, name := range names {
			_, _ = io.WriteString(h, name+"\x00")
			stampOf(h, w, filepath.Join(p, name))
		}
		fmt.Fprintf(&b, "%x;", h.Sum64())
	}
	return b.String()
}

// namesIn returns the names in a folder, sorted.
func namesIn(w safepath.Walker, path string) (names []string, err error) {
	if !w.System() {
		return atomicfile.AtBy(w, path).Names()
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func stampOf(b io.Writer, w safepath.Walker, path string) {
	st, err := w.Behind(path)
	if err != nil {
		fmt.Fprintf(b, "%v;", err)
		return
	}
	fmt.Fprintf(b, "%d %d %d %d.%d;", st.Dev, st.Ino, st.Size, st.Ctim.Sec, st.Ctim.Nsec)
}

// readMtimes reads the modification times of the files of mtimes, links followed. A
// missing file is an error: the graph says that they exist.
func (x *Res) readMtimes() (map[string]time.Time, error) {
	times := make(map[string]time.Time, len(x.Mtimes))
	for _, p := range x.Mtimes {
		st, err := safepath.Of(x.init.Host).Behind(p)
		if err != nil {
			return nil, fmt.Errorf("mtimes: %w", err)
		}
		times[p] = time.Unix(0, st.Mtim.Nano())
	}
	return times, nil
}

// refuseSecrets fails a command that would show a secret in an argument list. Most
// of these were refused with the graph; this is for values that turn out to be
// secret when they are sent. It is asked before each run and before the watch. The
// error is permanent, since another try would not make the value less secret.
func (x *Res) refuseSecrets() error {
	if !received.TaintedAny(x.init) {
		return nil
	}
	t, err := schema.OfType(reflect.TypeFor[Res]())
	if err != nil {
		return err
	}
	for _, f := range t.Fields {
		if f.NoSecret && received.Tainted(x.init, f.Key, f.GoName) {
			return failure.Permanent(fmt.Errorf("%s is received from a secret, and everybody can see the arguments of a process; receive it into %s instead",
				f.Key, strings.Join(f.Instead, " or ")))
		}
	}
	return nil
}
