package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/virtual"
	"github.com/reactivegraph/mgmt/resources/internal/pkglock"
)

const (
	// lockWait is how long another program that uses the package manager is waited for,
	// and lockPoll how often it is tried whether that has ended, where nothing tells of it.
	lockWait = 2 * time.Minute
	lockPoll = time.Second

	// lockLook is how often that is tried where the kernel tells of the end.
	lockLook = 5 * time.Second

	// maxOutput is how much of a tool's output is read: the lists of all files of a large machine.
	maxOutput = 64 << 20

	// grace is what a tool has to put its database in order when it must end.
	grace = 5 * time.Second
)

// baseEnv is the environment of all tools. By the last one a script of a package, such as mgmt's own, knows that it must
// not wait for the end of mgmt.
// Nothing of the daemon's own environment reaches a tool, so its locale and proxies do not either.
var baseEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/root", "MGMT_TRANSACTION=1"}

// tools runs the tools of one package manager.
// It is a value and has no state, so any number of goroutines may use it.
// The backends embed it. Its methods wait for locks and know the errors, so that a backend has
// only arguments and formats.
type tools struct {
	host engine.Host
	env  []string // added to baseEnv
	root string   // where the files of the machine are; empty for /

	// judge returns the meaning of a failed result: one of the errors of this package; nil for a
	// *ToolError with the text of complaint. A *LockedError is tried again until lockWait is over.
	judge func(*engine.Result) error

	lists []string // the command that fetches the lists of all repositories
}

// newTools returns the tools of a machine. The variables vars are added to baseEnv.
func newTools(env virtual.Env, judge func(*engine.Result) error, vars ...string) tools {
	return tools{host: env.Host, root: env.Root, env: vars, judge: judge}
}

// fetching returns the tools with the command that fetches the lists of all repositories. The command says
// by its status whether it has reached them.
func (t tools) fetching(argv ...string) tools {
	t.lists = argv
	return t
}

// refreshDB fetches the lists of all repositories. It blocks for the network, under the timeout of the caller.
// It may be cut, since a half list is fetched again.
func (t *tools) refreshDB(ctx context.Context, _ virtual.Nothing) (Refreshed, error) {
	err := t.change(ctx, nil, t.lists...)
	return Refreshed{Fetched: err == nil}, err
}

// refresh is refreshDB for callers whose parameter says whether the lists are wanted anew.
func (t *tools) refresh(ctx context.Context, want bool) error {
	if !want {
		return nil
	}
	_, err := t.refreshDB(ctx, virtual.Nothing{})
	return err
}

// clock is the clock of the machine.
func (t tools) clock() clock.Clock { return engine.ClockOf(t.host) }

// at returns where a file of the machine is.
// Only the files that mgmt reads itself are there; tools find theirs on their own.
func (t *tools) at(path string) string { return filepath.Join(t.root, path) }

// ask runs a tool that alters nothing, and returns its result whatever the exit
// status is.
// It blocks until the tool ends or ctx does. The error is that of a tool which could not be run.
func (t *tools) ask(ctx context.Context, argv ...string) (*engine.Result, error) {
	return t.command(ctx, "", argv)
}

// cost is what it costs to cut a tool that writes its database.
const cost = "a package manager that is killed leaves its database interrupted, and packages half installed; mgmt repairs that at its next start, and until then no other program can use it"

// command runs a tool with an end of its input and without a terminal. cost is empty for a tool that
// may be killed when ctx ends.
func (t *tools) command(ctx context.Context, cost string, argv []string) (*engine.Result, error) {
	r, err := t.host.Command(ctx, engine.Command{Argv: argv, Env: slices.Concat(baseEnv, t.env), MaxOutput: maxOutput, Grace: grace, Cost: cost, Newest: new(engine.Newest)})
	switch {
	case err != nil:
		return nil, err
	case r.Truncated:
		return nil, fmt.Errorf("%s printed more than %d bytes", argv[0], maxOutput)
	}
	return r, nil
}

// lines runs a tool that alters nothing, and returns the lines that it prints. ok are the further
// exit statuses that count as success.
// Empty lines at the end are left out.
func (t *tools) lines(ctx context.Context, ok []int, argv ...string) ([]string, error) {
	r, err := t.ask(ctx, argv...)
	if err != nil {
		return nil, err
	}
	if r.ExitCode != 0 && !slices.Contains(ok, r.ExitCode) {
		return nil, t.failure(argv[0], r)
	}
	return linesOf(r.Stdout), nil
}

// linesOf returns the lines of an output; none for an empty one.
func linesOf(out []byte) []string {
	text := strings.TrimRight(string(out), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// change runs a tool that may alter something, and waits for its locks. ok are the further exit
// statuses that count as success.
// It may be killed when ctx ends: it is for downloads and other work that can be cut.
func (t *tools) change(ctx context.Context, ok []int, argv ...string) error {
	return t.attempt(ctx, "", ok, argv)
}

// transact is change by a tool that is let finish once it has begun, whatever becomes of ctx. It must not wait for a
// lock by itself: that wait ends with ctx.
// It returns after the tool, perhaps long after the end of ctx, and then with the result of the tool.
func (t *tools) transact(ctx context.Context, ok []int, argv ...string) error {
	return t.attempt(ctx, cost, ok, argv)
}

// attempt runs a tool again as long as its lock is held, for lockWait at most. Between the runs it
// waits for the holder, and that wait ends with ctx.
// A LockedError is returned as it is when the time is over, with the holder that was seen last.
func (t *tools) attempt(ctx context.Context, cost string, ok []int, argv []string) error {
	c := engine.ClockOf(t.host)
	for since := c.Now(); ; {
		r, err := t.command(ctx, cost, argv)
		if err != nil || r.ExitCode == 0 || slices.Contains(ok, r.ExitCode) {
			return err
		}
		err = t.failure(argv[0], r)
		locked, is := errors.AsType[*LockedError](err)
		if !is || clock.Since(c, since) >= lockWait {
			return err
		}
		if err := t.freed(ctx, locked.Tool); err != nil {
			return err
		}
	}
}

// freed waits until the lock of a package manager may be free. If its holder is seen, the kernel
// tells of the end. Otherwise, as for a lock that is not in Locks, the caller tries again after
// lockPoll.
func (t *tools) freed(ctx context.Context, tool string) error {
	var locks []pkglock.Lock
	for _, l := range pkglock.Locks() {
		if l.Backend == tool {
			l.Path = t.at(l.Path)
			locks = append(locks, l)
		}
	}
	c := engine.ClockOf(t.host)
	h := pkglock.Held(locks)
	if h == nil {
		return clock.Sleep(ctx, c, lockPoll)
	}
	for until := c.Now().Add(lockLook); h != nil && c.Now().Before(until); h = pkglock.Held(locks) {
		if err := h.Await(ctx, c, until.Sub(c.Now())); err != nil {
			return err
		}
	}
	return nil
}

// failure is the error of a failed run: the meaning that judge finds, or else its last words.
// It goes by standard error and standard output, since the tools differ in where they complain.
func (t *tools) failure(tool string, r *engine.Result) error {
	if err := t.judge(r); err != nil {
		return err
	}
	if r.Signal != "" {
		return &ToolError{tool, r.ExitCode, "it was ended by " + r.Signal}
	}
	return &ToolError{tool, r.ExitCode, complaint(r, "E: ", "dpkg: error", "ERROR: ", "error: ", "Error: ", "Problem: ", " Problem: ", " - nothing provides ", " - package ", ":: unable to satisfy ", " : Depends: ", " : Conflicts: ", " exists in filesystem")}
}

// maxComplaint is how many lines of a tool an error has.
const maxComplaint = 6

// complaint returns the lines that begin with one of the words, as one line. A word that begins
// with a blank may stand anywhere in a line. Without such lines the last lines of standard error
// count, or else those of standard output. At most maxComplaint lines are in it, and no line
// twice.
func complaint(r *engine.Result, words ...string) string {
	var said []string
	for _, line := range linesOf(append(bytes.Clone(r.Stderr), r.Stdout...)) {
		if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(line, w) || w[0] == ' ' && strings.Contains(line, w) }) && !slices.Contains(said, line) {
			said = append(said, strings.TrimSpace(line))
		}
	}
	for _, out := range [][]byte{r.Stderr, r.Stdout} {
		if len(said) == 0 {
			said = linesOf(bytes.TrimSpace(out))
			said = said[max(0, len(said)-maxComplaint):]
		}
	}
	if rest := slices.DeleteFunc(slices.Clone(said), heading); len(rest) > 0 {
		said = rest
	}
	text := strings.ReplaceAll(strings.Join(said[:min(len(said), maxComplaint)], "; "), ":; ", ": ")
	return strings.ToValidUTF8(text, "?")
}

// heading reports whether a line says nothing but that others follow.
func heading(line string) bool {
	return line == "Error:" || strings.HasPrefix(line, "E: The following information ")
}

// has reports whether a tool has printed one of the texts.
func has(r *engine.Result, texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool {
		return bytes.Contains(r.Stderr, []byte(s)) || bytes.Contains(r.Stdout, []byte(s))
	})
}

// between returns the text between two texts on a line that a tool has printed, for each such
// line. If the second text is empty, it is the rest of the line. The result is sorted and has no
// text twice.
func between(r *engine.Result, before, after string) (found []string) {
	for _, line := range append(linesOf(r.Stderr), linesOf(r.Stdout)...) {
		if _, rest, ok := strings.Cut(line, before); ok {
			if after == "" {
				found = append(found, strings.TrimSpace(rest))
			} else if s, _, ok := strings.Cut(rest, after); ok {
				found = append(found, strings.TrimSpace(s))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// checkNames refuses any texts but names of packages.
// All faults come together.
func checkNames(names []string) error {
	var errs []error
	for _, n := range names {
		errs = append(errs, CheckName(n))
	}
	return errors.Join(errs...)
}

// checkVersions refuses any texts but versions of packages.
func checkVersions(pkgs map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(pkgs)) {
		if v := pkgs[name]; v != "" {
			errs = append(errs, CheckVersion(v))
		}
	}
	return errors.Join(errs...)
}

// with returns the names, each with its version behind a separator where one is wanted.
// The result is sorted, so the same wish is the same command.
func with(separator string, pkgs map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(pkgs)) {
		if v := pkgs[name]; v != "" {
			name += separator + v
		}
		out = append(out, name)
	}
	return out
}

// only returns the part of a table that is about the names; all of it if there are none.
// Names without an entry are left out.
func only[V any](all map[string]V, names []string) map[string]V {
	if len(names) == 0 {
		return all
	}
	out := map[string]V{}
	for _, n := range names {
		if v, ok := all[n]; ok {
			out[n] = v
		}
	}
	return out
}

// differences returns the changes between two looks at the installed packages.
// A package that stays as it is is not in the result.
func differences(before, after map[string]string) map[string]Change {
	out := map[string]Change{}
	for name, v := range after {
		if before[name] != v {
			out[name] = Change{Old: before[name], New: v}
		}
	}
	for name, v := range before {
		if _, still := after[name]; !still {
			out[name] = Change{Old: v}
		}
	}
	return out
}

// database reads the installed packages and their versions.
// Its answer is from the machine, not from an earlier look.
type database interface {
	installed(ctx context.Context) (map[string]string, error)
	clock() clock.Clock
}

// during runs do and returns the packages that have changed meanwhile.
// An error of do is returned without the changes: the caller looks again in its next run.
// Without the first look nothing is done. A change by another program meanwhile is in the result,
// too.
func during(ctx context.Context, db database, do func() error) (map[string]Change, error) {
	before, err := db.installed(ctx)
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	ctx, cancel := Afterwards(ctx, db.clock())
	defer cancel()
	after, err := db.installed(ctx)
	return differences(before, after), err
}

// lookTime is how long a look may take behind a transaction that no caller waits for any more.
const lookTime = time.Minute

// Afterwards returns a context for a look at the result of a transaction. It does not end with ctx,
// if that has ended while the transaction was let finish, but a minute later. cancel has to be
// called.
func Afterwards(ctx context.Context, c clock.Clock) (after context.Context, cancel context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return clock.WithTimeout(context.WithoutCancel(ctx), c, lookTime, nil)
}

// sortedKeys returns the keys of a map in a fixed order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// present refuses names of packages that are not installed, which a tool may read as something
// else: a pattern, a group, a package to install.
// It is asked before a transaction begins.
// No names mean all packages, and then there is nothing to refuse.
func present(ctx context.Context, list func(context.Context, NamesArgs) (map[string]string, error), names []string) error {
	if len(names) == 0 {
		return nil
	}
	have, err := list(ctx, NamesArgs{names})
	if err != nil {
		return err
	}
	absent := slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(n string) bool { return have[n] != "" })
	if len(absent) > 0 {
		return &AbsentError{slices.Compact(absent)}
	}
	return nil
}

// there returns those of the names that are installed, sorted.
// Missing ones are left out: to remove them is done already.
func (t *tools) there(ctx context.Context, db database, names []string) ([]string, error) {
	if err := checkNames(names); err != nil {
		return nil, err
	}
	all, err := db.installed(ctx)
	if err != nil {
		return nil, err
	}
	return sortedKeys(only(all, names)), nil
}
