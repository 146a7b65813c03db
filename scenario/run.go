package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reactivegraph/mgmt"
	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/clock"
	"github.com/reactivegraph/mgmt/engine/policy"
	"github.com/reactivegraph/mgmt/engine/reactor"
	"github.com/reactivegraph/mgmt/engine/resgraph"
	"github.com/reactivegraph/mgmt/engine/schema"
	"github.com/reactivegraph/mgmt/engine/simulate"
	"github.com/reactivegraph/mgmt/engine/world/memory"
	"github.com/reactivegraph/mgmt/gapi"
	"github.com/reactivegraph/mgmt/gapi/yaml"
)

// Options say how tests are run.
type Options struct {
	Kinds  *engine.Registry // all kinds that graphs may have
	Policy *policy.Policy   // of all tests; nil for none
	YAML   yaml.Options     // how a graph is read; its facts and variables are those of the test

	// Program returns how the graph at a path is read if a program makes it, else nil. The variables of the test are
	// the inputs of the program. A nil Program knows no programs.
	Program func(path string, inputs map[string]any) gapi.Frontend
}

// Result is the outcome of one test.
type Result struct {
	File     string
	Name     string
	Pos      schema.Pos
	Failures []Failure     // none where the test has passed
	Duration time.Duration // of real time
}

// Failure is one difference from the expectations.
type Failure struct {
	Pos     schema.Pos // in the test file, or in the graph
	Message string
}

// own are the kinds that touch nothing but their engine.Init, so they run their own code on a simulated machine, too.
var own = []string{"kv", "noop", "password", "print", "schedule", "test", "timer", "value"}

// Run runs the tests of one file, one after the other. It blocks until the last one has ended. When the context ends, so does the
// present test, and no other one begins. cover may be nil.
func Run(ctx context.Context, path string, f *File, o Options, cover *Coverage) []Result {
	results := make([]Result, 0, len(f.Tests))
	for i := range f.Tests {
		if ctx.Err() != nil {
			break
		}
		t := &f.Tests[i]
		began := clock.System{}.Now()
		r := &run{test: t, opts: o, cover: cover, graph: f.Graph, loaded: make(chan struct{})}
		if o.Policy != nil {
			r.policy = &heard{Policy: o.Policy}
		}
		if !filepath.IsAbs(r.graph) {
			r.graph = filepath.Join(filepath.Dir(path), r.graph)
		}
		r.whole(ctx)
		results = append(results, Result{
			File: path, Name: t.Name, Pos: t.node.Pos, Failures: r.failures, Duration: clock.Since(clock.System{}, began),
		})
	}
	return results
}

// run is one test that runs.
type run struct {
	test   *Test // alone read
	opts   Options
	cover  *Coverage
	graph  string
	policy *heard // nil for none

	machine *simulate.Machine
	host    *simulate.Folder
	clock   *simulate.Clock
	kinds   *engine.Registry // simulated
	world   *store
	hosts   map[string]map[string]any // the other ones, with their facts
	engine  *mgmt.Engine

	once   sync.Once
	loaded chan struct{} // closed when the graph is in effect, or refused

	mu   sync.Mutex
	runs []reactor.Run // of the present step

	statuses []reactor.Status // at the last look

	failures []Failure
}

// failf adds a failure. The test goes on, so that all differences are told at once.
func (r *run) failf(pos schema.Pos, format string, args ...any) {
	r.failures = append(r.failures, Failure{pos, fmt.Sprintf(format, args...)})
}

// found adds findings, and reports whether one of them is an error.
func (r *run) found(ds schema.Diagnostics) bool {
	for _, d := range ds {
		if d.Severity == schema.Error {
			text := r.hinted(d.Message)
			if d.Suggestion != "" {
				text += fmt.Sprintf(" (did you mean %q?)", d.Suggestion)
			}
			r.failures = append(r.failures, Failure{r.placed(d.Pos), text})
		}
	}
	return ds.Err() != nil
}

// whole runs the test from beginning to end. It returns when the engine has ended, also where the test has failed.
func (r *run) whole(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	world := memory.New()
	defer world.Close()
	r.world = &store{World: world, pending: map[string]bool{}, last: map[string]int64{}, readers: map[*reader]bool{}}
	root, remove, err := folder()
	if err != nil {
		r.failf(r.test.node.Pos, "the machine can't have files: %v", err)
		return
	}
	defer remove()
	if !r.prepare(ctx, root) {
		return
	}
	defer r.host.Close()
	// The first step acts before the graph starts.
	if !r.act(ctx, &r.test.Steps[0]) {
		return
	}
	if err := r.start(ctx); err != nil {
		r.failf(r.test.node.Pos, "the graph can't be used: %v", err)
		return
	}
	if r.refused() {
		cancel()
		if err := r.engine.Wait(); r.onlyViolated(err) {
			r.violates()
		} else {
			r.report(err)
		}
		return
	}
	for i := range r.test.Steps {
		if i > 0 {
			r.forget()
			if !r.act(ctx, &r.test.Steps[i]) {
				break
			}
		}
		if err := r.step(ctx, &r.test.Steps[i]); err != nil {
			r.failf(r.test.Steps[i].node.Pos, "%v", err)
			break
		}
	}
	r.violates()
	cancel()
	if err := r.engine.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		r.report(err)
	}
}

// report adds the error of the engine, which most often has findings. Their places are in the graph, and not in the test.
func (r *run) report(err error) {
	ds, ok := errors.AsType[schema.Diagnostics](err)
	switch {
	case ok:
		r.found(ds)
	case err != nil:
		r.failf(r.test.node.Pos, "%v", err)
	}
}

// folder makes the folder that is the root of the machine, and returns how it is removed.
func folder() (path string, remove func(), err error) {
	path, err = os.MkdirTemp("", "mgmt-test-")
	return path, func() {
		if os.RemoveAll(path) == nil {
			return
		}
		// A graph may have shut a folder in it. The walk opens each folder before it reads it.
		_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(at, 0o700) // what stays is a temporary folder
			}
			return nil
		})
		_ = os.RemoveAll(path)
	}, err
}

// prepare makes the machine of the test, with its facts, its things and its clock. It reports whether the test could be read.
func (r *run) prepare(ctx context.Context, root string) (ok bool) {
	r.machine, r.clock = simulate.NewMachine(), simulate.NewClock()
	r.machine.Stand("download", r.downloaded)
	facts, ds := r.test.facts()
	bad := r.found(ds)
	bad = r.wrongInputs() || bad
	bad = r.unseen() || bad
	host, err := simulate.NewFolder(simulate.NewHost(), root)
	if err != nil {
		r.failf(r.test.node.Pos, "the machine can't have files: %v", err)
		return false
	}
	r.host = host
	defer func() {
		if !ok {
			_ = host.Close()
		}
	}()
	host.SetClock(r.clock)
	host.SetFacts(facts)
	host.SetCommand(r.command)
	r.machine.Use(host)
	kinds, err := r.machine.Kinds(r.opts.Kinds, own...)
	if err != nil {
		r.failf(r.test.node.Pos, "%v", err)
		return false
	}
	r.kinds = kinds
	others, ds := r.test.hosts()
	bad = r.found(ds) || bad
	r.hosts = others
	there, ds := things(kinds, r.test.node.Get("machine"))
	bad = r.found(ds) || bad
	for _, th := range there {
		r.put(ctx, th)
	}
	return !bad
}

// start starts the engine on the machine. The graph is read once: files of this machine are not followed.
func (r *run) start(ctx context.Context) error {
	loaded := func() { r.once.Do(func() { close(r.loaded) }) }
	options := mgmt.Options{
		Registry: r.kinds, World: mgmt.Share(r.world), Host: r.host, Hostname: r.host.Facts().Hostname, Roles: r.host.Facts().Roles,
		NoWatch: true, NoAutoGroup: true, Strict: true,
		Observer: mgmt.Observer{
			Ran: func(run reactor.Run) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.runs = append(r.runs, run)
			},
			Loaded: func(graph func() *resgraph.Graph) {
				r.cover.graph(graph())
				loaded()
			},
			Refused: func(error) { loaded() },
		},
	}
	if r.policy != nil {
		options.Policy = r.policy
	}
	o := r.opts.YAML
	o.Facts, o.Vars, o.VarFiles = nil, r.test.settings(), nil
	o.Branch = r.cover.branch
	o.Secret = func(name string) (string, bool) { text, ok := r.test.Secrets[name]; return text, ok }
	if r.test.Hosts != nil || r.test.Scheduled != nil { // else the store of the test is asked, which has this machine alone
		o.Hosts = func() map[string]map[string]any { return r.hosts }
		o.Scheduled = func(_, name string) ([]string, string) { return r.test.Scheduled[name], "" }
	}
	if r.ofModule() {
		text, err := r.useModule()
		if err != nil {
			return err
		}
		o.Overlay = func(path string) ([]byte, bool) { return text, path == r.graph }
	}
	var front gapi.Frontend = yaml.New(r.graph, o)
	if program := r.program(); program != nil {
		front = beside{program}
	}
	var err error
	r.engine, err = mgmt.Open(ctx, options, front)
	return err
}

// program returns the frontend of a graph that a program makes, nil for another graph.
func (r *run) program() gapi.Frontend {
	if r.opts.Program == nil {
		return nil
	}
	return r.opts.Program(r.graph, r.test.Vars)
}

// beside reads a graph without the simulated machine, on which no program runs.
type beside struct{ front gapi.Frontend }

// Graphs implements gapi.Frontend.
func (b beside) Graphs(ctx context.Context, env gapi.Env) iter.Seq2[*gapi.Declared, error] {
	env.Host = nil
	return b.front.Graphs(ctx, env)
}

// refused waits for the graph, and reports whether the engine did not take it. The reason is the error of Engine.Wait.
func (r *run) refused() bool {
	ended := make(chan struct{})
	go func() {
		_ = r.engine.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-r.loaded:
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
}

// command is the outcome of a command, by the script of the test. A line of a shell is compared without the shell, and a command with quotes as the
// graph has it. It is called by the engine on any goroutine.
func (r *run) command(ctx context.Context, c engine.Command) (*engine.Result, error) {
	line := strings.Join(c.Argv, " ")
	if len(c.Argv) > 2 && c.Argv[1] == "-c" && isShell(c.Argv[0]) {
		line = c.Argv[2]
	}
	for _, s := range r.test.Commands {
		if s.Cmd == line || unquoted(s.Cmd) == line {
			for _, path := range slices.Sorted(maps.Keys(s.Files)) {
				if err := r.machine.Place(ctx, schema.Ref{Kind: "file", Name: path}, map[string]any{"content": s.Files[path]}); err != nil {
					return nil, fmt.Errorf("the command %q of the test: %w", s.Cmd, err)
				}
			}
			for _, l := range strings.SplitAfter(s.Output, "\n") {
				if c.Stdout != nil && l != "" {
					c.Stdout([]byte(strings.TrimSuffix(l, "\n")))
				}
			}
			return &engine.Result{ExitCode: s.Exit, Stdout: []byte(s.Output), Stderr: []byte(s.Stderr), Output: []byte(s.Output + s.Stderr)}, nil
		}
	}
	return nil, fmt.Errorf("the test has no command %q: write it under commands, such as {cmd: %q, exit: 0}", line, line)
}

// isShell reports whether a program is a shell, whose option -c has a line.
func isShell(program string) bool {
	return slices.Contains([]string{"sh", "ash", "bash", "dash", "ksh", "zsh", "fish", "busybox"}, filepath.Base(program))
}

// unquoted returns a command with its quotes removed, as the words of an exec stand one after the other. The script of a test may copy the line
// of the graph.
func unquoted(cmd string) string {
	var b strings.Builder
	quote := rune(0)
	for _, c := range cmd {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// downloaded is the file in place of a download, by the script of the test. A file of the machine itself is copied. It is called by the
// engine on any goroutine.
func (r *run) downloaded(name string, all map[string]any) (kind string, set map[string]any, err error) {
	set = map[string]any{"path": name, "state": "exists", "mode": all["mode"]}
	if path, ok := all["path"].(string); ok && path != "" {
		set["path"] = path
	}
	address, _ := all["url"].(string)
	content, ok := r.test.Downloads[address]
	switch source, local := strings.CutPrefix(address, "file://"); {
	case local && content == "":
		set["source"] = strings.TrimPrefix(source, "localhost")
	case ok:
		set["content"] = content
	default:
		err = fmt.Errorf("the test has no download of %s: write its address and its content under downloads", address)
	}
	return "file", set, err
}

// forget begins a new list of runs.
func (r *run) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = nil
}

// act alters the machine as a step says. Outages come first: a thing that drifts during one is not repaired. It reports whether the
// step could be read.
func (r *run) act(ctx context.Context, s *Step) bool {
	drifts, ds := things(r.kinds, s.node.Get("drift"))
	if r.found(ds) {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(s.Fail)) {
		r.machine.Fail(id, s.Fail[id])
	}
	for _, th := range drifts {
		r.put(ctx, th)
	}
	return true
}

// step waits until the graph is at rest, and compares.
func (r *run) step(ctx context.Context, s *Step) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	if s.After > 0 {
		if err := r.pass(ctx, s.After); err != nil {
			return err
		}
	}
	if fail := s.node.Get("fail"); fail != nil {
		for _, p := range fail.Pairs {
			r.inGraph(p.Pos, p.Key)
		}
	}
	r.expect(ctx, s.node.Get("expect"))
	return nil
}

// pass lets virtual time pass, from timer to timer, since each may set the next one.
func (r *run) pass(ctx context.Context, d time.Duration) error {
	for end := r.clock.Now().Add(d); ; {
		at, ok := r.clock.Next()
		if !ok || at.After(end) {
			r.clock.Advance(end.Sub(r.clock.Now()))
			return r.settle(ctx)
		}
		r.clock.Advance(at.Sub(r.clock.Now()))
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
}

// Bounds of one wait for rest.
const (
	pause    = 100 * time.Microsecond // of real time, between two looks
	mostWait = 20 * time.Second       // of real time
	mostMove = time.Minute            // of virtual time at once
)

// settle waits until the graph is at rest. A graph that waits for a timer, as for the time of settle, gets it. While something
// works, the clock stands, however long that takes on a busy machine.
func (r *run) settle(ctx context.Context) error {
	c := clock.System{}
	began := c.Now()
	for {
		now, err := r.look(ctx)
		if err != nil || now == resting {
			return err
		}
		if clock.Since(c, began) > mostWait {
			dump, _ := r.engine.Dump(ctx)
			return fmt.Errorf("the graph does not come to rest:\n%s", dump)
		}
		if at, ok := r.clock.Next(); now == waiting && ok && at.Sub(r.clock.Now()) <= mostMove {
			r.clock.Advance(at.Sub(r.clock.Now()))
			continue
		}
		if err := clock.Sleep(ctx, c, pause); err != nil {
			return err
		}
	}
}

// activity is how a graph stands at one moment.
type activity int

const (
	resting activity = iota // nothing goes on without a step of the test, or a timer that is set
	waiting                 // a resource is not done, and only a timer makes it go on
	working                 // something goes on by itself
)

// look says how the graph stands. Work moves from one place to another: from a timer to its goroutine, on to a reader of events, into
// the engine, and from a run to further readers. So each place is empty, and none of them was filled between the first and the last look.
func (r *run) look(ctx context.Context) (activity, error) {
	if r.clock.Waking() > 0 { // none begins but by a move of the clock
		return working, nil
	}
	delivering, wakes := r.host.Delivering()
	writes := r.world.written()
	works, err := r.engine.Works(ctx, r.clock.Sleepers())
	if err != nil || works || delivering > 0 || r.world.delivering() {
		return working, err
	}
	now, err := r.engine.Snapshot(ctx)
	if err != nil {
		return working, err
	}
	if _, since := r.host.Delivering(); since != wakes || r.world.written() != writes || r.world.unread() && !idleReader(now.Statuses) {
		return working, nil
	}
	r.statuses = now.Statuses
	for _, st := range now.Statuses {
		if st.State == resgraph.StateStarting || st.State == resgraph.StateWaiting || st.State == resgraph.StateRunning {
			return waiting, nil
		}
	}
	return resting, r.engine.Told(ctx)
}
