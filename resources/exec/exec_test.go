package exec

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/failure"
	"github.com/reactivegraph/mgmt/resources/internal/command"
	"github.com/reactivegraph/mgmt/resources/internal/kindtest"
	"github.com/reactivegraph/mgmt/resources/internal/private"
	"github.com/reactivegraph/mgmt/resources/internal/received"
)

// shell stands for the machine's commands: a few words that it understands, in
// as many commands as a test likes.
type shell struct {
	status map[string]int // by the first word; 0 when absent
	ran    []string       // the command lines, in order
	said   string         // printed by every command
}

func (s *shell) run(_ context.Context, c engine.Command) (*engine.Result, error) {
	s.ran = append(s.ran, strings.Join(c.Argv, " "))
	switch c.Argv[0] {
	case "missing":
		return nil, errors.New(`"missing" was not found`)
	case "signal":
		return &engine.Result{ExitCode: -1, Signal: "killed"}, nil
	case "touch":
		if err := os.WriteFile(c.Argv[1], nil, 0o600); err != nil {
			return nil, err
		}
	}
	if s.said != "" && c.Stderr != nil {
		for line := range strings.Lines(s.said) {
			c.Stderr([]byte(strings.TrimSuffix(line, "\n")))
		}
	}
	out := []byte("out of " + c.Argv[0] + "\n")
	return &engine.Result{ExitCode: s.status[c.Argv[0]], Stdout: out, Output: append([]byte("noise\n"), out...)}, nil
}

// took returns what was run since the last call.
func (s *shell) took() string {
	ran := strings.Join(s.ran, ", ")
	s.ran = nil
	return ran
}

func newExec(t *testing.T, r *Res, o ...enginetest.Option) (*shell, *enginetest.Fake) {
	t.Helper()
	s := &shell{status: map[string]int{}}
	f := kindtest.Begin(t, "exec", r, o...)
	f.Host().SetCommand(s.run)
	return s, f
}

func expect(t *testing.T, s *shell, want string) {
	t.Helper()
	if got := s.took(); got != want {
		t.Errorf("ran %q, want %q", got, want)
	}
}

func TestExecRunsOnce(t *testing.T) {
	r := &Res{Cmd: "one"}
	s, f := newExec(t, r)
	kindtest.Want(t, f, r, "ran")
	expect(t, s, "one")
	for range 3 {
		kindtest.Want(t, f, r, "")
	}
	expect(t, s, "")
}

func TestExecRunsItsNameWithoutCmd(t *testing.T) {
	r := &Res{}
	r.SetName("make 'it so'")
	s, f := newExec(t, r)
	kindtest.Want(t, f, r, "ran")
	expect(t, s, "make it so")
}

func TestExecNewInstanceRunsAgain(t *testing.T) {
	for range 2 {
		r := &Res{Cmd: "one"}
		s, f := newExec(t, r, enginetest.WithVarDir(filepath.Join(t.TempDir(), "var")))
		kindtest.Want(t, f, r, "ran")
		expect(t, s, "one")
	}
}

func TestExecFailureIsDueAgain(t *testing.T) {
	r := &Res{Cmd: "one"}
	s, f := newExec(t, r)
	s.status["one"], s.said = 3, "first\nwhat went wrong\n"
	if got := kindtest.Verbs(t, f, r, true); got != "error: cmd ended with exit status 3: first; what went wrong" {
		t.Errorf("got %q", got)
	}
	s.status["one"] = 0
	s.took()
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	expect(t, s, "one")
}

func TestExecFailures(t *testing.T) {
	for cmd, want := range map[string]string{
		"missing": `error: cmd: "missing" was not found`,
		"signal":  "error: cmd was ended by the signal killed",
	} {
		r := &Res{Cmd: cmd}
		_, f := newExec(t, r)
		if got := kindtest.Verbs(t, f, r, true); got != want {
			t.Errorf("%s: got %q", cmd, got)
		}
	}
}

func TestExecFailureTellsStdoutWhereStderrIsEmpty(t *testing.T) {
	r := &Res{Cmd: "one"}
	s, f := newExec(t, r)
	s.status["one"] = 1
	if got := kindtest.Verbs(t, f, r, true); got != "error: cmd ended with exit status 1: out of one" {
		t.Errorf("got %q", got)
	}
}

func TestExecCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "touch " + path, Creates: path}
	s, f := newExec(t, r)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	expect(t, s, "touch "+path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	kindtest.Want(t, f, r, "ran")
	expect(t, s, "touch "+path)
}

// TestFindingQ17Reads: the run of a command that only reads is no change. It is run to look, too, and nothing is kept then.
func TestFindingQ17Reads(t *testing.T) {
	r := &Res{Cmd: "one", Changes: never}
	s, f := newExec(t, r)
	for range 2 {
		if got := kindtest.Verbs(t, f, r, false); got != "" {
			t.Errorf("a look: %s", got)
		}
		if ran := s.took(); !strings.Contains(ran, "one") {
			t.Error("a look did not run it")
		}
	}
	kindtest.Want(t, f, r, "")
	if ran := s.took(); !strings.Contains(ran, "one") {
		t.Error("it did not run")
	}
	kindtest.Want(t, f, r, "")
	expect(t, s, "")
	if sent := f.Sent(); sent == nil || sent.(*Sends).Stdout != "out of one\n" {
		t.Errorf("sent %v", sent)
	}
	r = &Res{Cmd: "one", Changes: never}
	s, f = newExec(t, r)
	s.status["one"] = 3
	if got := kindtest.Verbs(t, f, r, false); got != "error: cmd ended with exit status 3: out of one" {
		t.Error(got)
	}
}

func TestExecCreatesMustExistAfterwards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "one", Creates: path}
	_, f := newExec(t, r)
	if got := kindtest.Verbs(t, f, r, true); got != "error: cmd ended well, but "+path+" does not exist after it" {
		t.Errorf("got %q", got)
	}
}

// A file where a folder should be is absence, and not a failure to look.
func TestExecCreatesBelowAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Res{Cmd: "one", Creates: file + "/sub"}
	_, f := newExec(t, r)
	if got := kindtest.Verbs(t, f, r, false); got != "ran" {
		t.Errorf("got %q", got)
	}
}

func TestExecConditions(t *testing.T) {
	out := func(s string) *string { return &s }
	for _, tt := range []struct {
		name   string
		res    Res
		status map[string]int
		runs   bool
		asked  string
	}{
		{"ifcmd yes", Res{IfCmd: "if"}, nil, true, "if"},
		{"ifcmd no", Res{IfCmd: "if"}, map[string]int{"if": 1}, false, "if"},
		{"nifcmd yes", Res{NIfCmd: "nif"}, nil, false, "nif"},
		{"nifcmd no", Res{NIfCmd: "nif"}, map[string]int{"nif": 2}, true, "nif"},
		{"both", Res{IfCmd: "if", NIfCmd: "nif"}, map[string]int{"nif": 2}, true, "if, nif"},
		{"ifcmd forbids before nifcmd is asked", Res{IfCmd: "if", NIfCmd: "nif"}, map[string]int{"if": 1}, false, "if"},
		{"equal", Res{IfCmd: "if", IfEquals: out("out of if")}, nil, false, "if"},
		{"equal with newline", Res{IfCmd: "if", IfEquals: out("out of if\n")}, nil, false, "if"},
		{"not equal", Res{IfCmd: "if", IfEquals: out("")}, nil, true, "if"},
		{"equal but failed", Res{IfCmd: "if", IfEquals: out("out of if")}, map[string]int{"if": 1}, false, "if"},
		{"equal, both outputs", Res{IfCmd: "if", IfEquals: out("noise\nout of if")}, nil, false, "if"},
		{"stdout equal", Res{IfCmd: "if", IfEqualsStdout: out("out of if")}, nil, false, "if"},
		{"both outputs are not stdout", Res{IfCmd: "if", IfEqualsStdout: out("noise\nout of if")}, nil, true, "if"},
		{"stdout not equal", Res{IfCmd: "if", IfEqualsStdout: out("")}, nil, true, "if"},
		{"stdout equal but failed", Res{IfCmd: "if", IfEqualsStdout: out("out of if")}, map[string]int{"if": 1}, false, "if"},
		{"creates forbids before ifcmd is asked", Res{IfCmd: "if", Creates: "/"}, nil, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &tt.res
			r.Cmd = "one"
			s, f := newExec(t, r)
			maps.Copy(s.status, tt.status)
			what, ran := "", tt.asked
			if tt.runs {
				what, ran = "ran", tt.asked+", one"
			}
			if got := kindtest.Verbs(t, f, r, false); got != what {
				t.Errorf("looking: %q, want %q", got, what)
			}
			expect(t, s, tt.asked) // looking asks, and no more
			if got := kindtest.Verbs(t, f, r, true); got != what {
				t.Errorf("applying: %q, want %q", got, what)
			}
			expect(t, s, ran)
		})
	}
}

func TestExecConditionThatCannotBeAsked(t *testing.T) {
	for what, want := range map[string]string{
		"missing": `error: ifcmd: "missing" was not found`,
		"signal":  "error: ifcmd was ended by the signal killed",
	} {
		r := &Res{Cmd: "one", IfCmd: what}
		s, f := newExec(t, r)
		if got := kindtest.Verbs(t, f, r, true); got != want {
			t.Errorf("got %q", got)
		}
		expect(t, s, what)
	}
}

func TestExecDoneCmd(t *testing.T) {
	r := &Res{Cmd: "one", DoneCmd: "done"}
	s, f := newExec(t, r)
	s.status["done"] = 1
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: donecmd ended with exit status 1") {
		t.Errorf("got %q", got)
	}
	s.status["done"] = 0
	s.took()
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	expect(t, s, "one, done")
	if sent := f.Sent().(*Sends); sent.Stdout != "out of one\n" {
		t.Errorf("sent %+v", sent)
	}
}

func TestExecRefresh(t *testing.T) {
	r := &Res{Cmd: "one"}
	s, f := newExec(t, r)
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "ran") // due anyway
	kindtest.Want(t, f, r, "refreshed")
	expect(t, s, "one, one")
	f.SetRefresh(false)
	kindtest.Want(t, f, r, "")
}

func TestExecRefreshOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "one", RefreshOnly: true, WatchFiles: []string{path}}
	s, f := newExec(t, r)
	kindtest.Want(t, f, r, "")
	f.SetRecv(map[string]*engine.Send{"cmd": {Changed: true}})
	kindtest.Want(t, f, r, "")
	f.SetRefresh(true)
	kindtest.Want(t, f, r, "refreshed")
	f.SetRefresh(false)
	kindtest.Want(t, f, r, "")
	expect(t, s, "one")
}

// A notification asks for a run; the conditions decide.
func TestExecRefreshIsGuarded(t *testing.T) {
	for _, only := range []bool{false, true} {
		r := &Res{Cmd: "one", IfCmd: "if", RefreshOnly: only}
		s, f := newExec(t, r)
		f.SetRefresh(true)
		s.status["if"] = 1
		kindtest.Want(t, f, r, "")
		expect(t, s, "if, if")
	}
}

// With refreshonly an mtime asks for nothing, and overrules no condition.
func TestExecRefreshOnlyWithMtimes(t *testing.T) {
	r := &Res{Cmd: "one", IfCmd: "if", RefreshOnly: true, Mtimes: []string{"/"}}
	s, f := newExec(t, r)
	kindtest.Want(t, f, r, "")
	f.SetRefresh(true)
	s.status["if"] = 1
	kindtest.Want(t, f, r, "")
	s.status["if"] = 0
	kindtest.Want(t, f, r, "refreshed")
}

func TestExecReceivedValueRunsAgain(t *testing.T) {
	for key, due := range map[string]bool{
		"cmd": true, "args": true, "args[1]": true, "env.A": true, "stdin": true, "cwd": true, "user": true, "timeout": false, "donecmd": false,
	} {
		r := &Res{Cmd: "one"}
		_, f := newExec(t, r)
		kindtest.Want(t, f, r, "ran")
		f.SetRecv(map[string]*engine.Send{key: {Changed: true}})
		what := ""
		if due {
			what = "ran"
		}
		kindtest.Want(t, f, r, what)
		f.SetRecv(map[string]*engine.Send{key: {}})
		kindtest.Want(t, f, r, "")
	}
}

// An argument list is no place for a secret.
func TestExecRefusesSecretsInArguments(t *testing.T) {
	for _, key := range []string{"cmd", "args", "args[0]", "ifcmd", "shell", "watchcmd"} {
		r := &Res{Cmd: "one", IfCmd: "if"}
		s, f := newExec(t, r)
		f.SetRecv(map[string]*engine.Send{key: {Secret: true, Changed: true}})
		for _, apply := range []bool{false, true} {
			_, err := r.CheckApply(t.Context(), apply)
			if err == nil || !failure.IsPermanent(err) || !strings.Contains(err.Error(), received.RootKey(key)+" is received from a secret") {
				t.Errorf("%s: %v", key, err)
			}
		}
		expect(t, s, "")
	}
	r := &Res{Cmd: "one"}
	_, f := newExec(t, r)
	f.SetRecv(map[string]*engine.Send{"env.TOKEN": {Secret: true}, "stdin": {Secret: true}})
	kindtest.Want(t, f, r, "ran")
}

// Every parameter that takes no secret says truly where one goes, and only what
// ends up in an argument list is one of them.
func TestExecSaysWhereSecretsGo(t *testing.T) {
	k, err := engine.DefaultRegistry().Kind("exec")
	kindtest.Must(t, err)
	marks := map[string]string{} // by key: what to look for in argv
	r := &Res{}
	v := reflect.ValueOf(r).Elem()
	for _, f := range k.Type.Fields {
		mark := "mark-" + f.Key
		switch to := v.FieldByIndex(f.Index); {
		case to.Kind() == reflect.String:
			to.SetString(mark)
		case f.Key == "env":
			r.Env = map[string]string{"A": mark}
		case f.Key == "args":
			r.Args = []string{mark}
		default:
			continue
		}
		marks[f.Key] = mark
	}
	var argv []string
	for _, c := range r.commands() {
		words, err := c.argv()
		kindtest.Must(t, err)
		argv = append(argv, words...)
	}
	for key, mark := range marks {
		f := k.Type.Field(key)
		if seen := slices.Contains(argv, mark); seen != f.NoSecret {
			t.Errorf("%s: in an argument list is %t, takes no secret %t", key, seen, f.NoSecret)
		}
		for _, other := range f.Instead {
			if o := k.Type.Field(other); o == nil || o.NoSecret {
				t.Errorf("%s sends secrets to %s", key, other)
			}
		}
	}
}

// The command of a watch has arguments too.
func TestExecWatchRunsNoSecretArguments(t *testing.T) {
	for _, key := range []string{"watchcmd", "watchshell", "cmd"} {
		synctest.Test(t, func(t *testing.T) {
			r := &Res{Cmd: "one", WatchCmd: "watch canary"}
			s, f := newExec(t, r)
			f.SetRecv(map[string]*engine.Send{key: {Secret: true, Changed: true}})
			stop := kindtest.Watching(t, f, r)
			synctest.Wait() // whatever Watch starts has been started
			stop()
			expect(t, s, "")
		})
	}
}

// A part of a secret, or something made from it, is not known as one.
func TestExecShowsNoOutputOfSecrets(t *testing.T) {
	const hidden = "; what it printed is not shown, since a secret is received here"
	for _, r := range []*Res{{Cmd: "bad"}, {Cmd: "one", DoneCmd: "bad"}, {Cmd: "signal"}, {Cmd: "one", WatchCmd: "bad"}} {
		s, f := newExec(t, r)
		s.said, s.status["bad"] = "can\n", 3
		f.SetRecv(map[string]*engine.Send{"env.TOKEN": {Secret: true}})
		var err error
		if r.WatchCmd != "" {
			err = r.Watch(t.Context())
		} else {
			_, err = r.CheckApply(t.Context(), true)
		}
		if err == nil || strings.Contains(err.Error(), ": can") || r.Cmd != "signal" && !strings.HasSuffix(err.Error(), hidden) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestExecMtimes(t *testing.T) {
	dir, path := t.TempDir(), ""
	path = filepath.Join(dir, "src")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	varDir := enginetest.WithVarDir(filepath.Join(dir, "var"))
	r := &Res{Cmd: "one", Mtimes: []string{path}, IfCmd: "if"}
	s, f := newExec(t, r, varDir)
	s.status["if"] = 1 // an mtime asks no condition
	kindtest.Want(t, f, r, "ran")
	expect(t, s, "one")
	kindtest.Want(t, f, r, "")

	// It is remembered by the next instance.
	r = &Res{Cmd: "one", Mtimes: []string{path}}
	s, f = newExec(t, r, varDir)
	kindtest.Want(t, f, r, "")
	for _, step := range []time.Duration{time.Hour, -time.Hour} { // also a file from the past
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(step)); err != nil {
			t.Fatal(err)
		}
		kindtest.Want(t, f, r, "ran")
		kindtest.Want(t, f, r, "")
	}
	expect(t, s, "one, one")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := kindtest.Verbs(t, f, r, true); !strings.HasPrefix(got, "error: mtimes: stat "+path) {
		t.Errorf("got %q", got)
	}
}

func TestExecWatchFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "one", WatchFiles: []string{path}}
	s, f := newExec(t, r)
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")

	if n := f.Host().Touch(path); n != 1 {
		t.Fatalf("%d subscriptions", n)
	}
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	expect(t, s, "one, one")

	// After a resync the file itself tells.
	f.Host().Resync()
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Host().Resync()
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
}

// Of a folder, the entries are watched too; and seen also without a Watch.
//
// Seen failing with: exec/watch.go: Contents left out; exec/check.go: the entries
// left out of stamp.
func TestExecWatchFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "it")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Res{Cmd: "one", WatchFiles: []string{dir}}
	_, f := newExec(t, r)
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	if n := f.Host().Touch(path); n != 1 {
		t.Fatalf("%d subscriptions", n)
	}
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	if err := os.WriteFile(path, []byte("more"), 0o600); err != nil { // no event
		t.Fatal(err)
	}
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
}

// A new file in a folder alters the time of the folder.
func TestExecMtimesOfFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chtimes(dir, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	r := &Res{Cmd: "one", Mtimes: []string{dir}}
	_, f := newExec(t, r)
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	path := filepath.Join(dir, "new")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := f.Host().Touch(path); n != 1 {
		t.Fatalf("%d subscriptions", n)
	}
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
}

// Polled, and never watched, it sees the files all the same.
func TestExecWatchFilesPolled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "one", WatchFiles: []string{path}}
	_, f := newExec(t, r)
	kindtest.Want(t, f, r, "ran")
	for _, text := range []string{"a", "bb", ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kindtest.Want(t, f, r, "ran")
		kindtest.Want(t, f, r, "")
	}
}

// What happens during a run is another run's.
func TestExecEventDuringRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "one", WatchFiles: []string{path}}
	s, f := newExec(t, r)
	kindtest.Watching(t, f, r)
	f.Host().SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		f.Host().Touch(path)
		f.WaitEvent(t)
		return s.run(ctx, c)
	})
	kindtest.Want(t, f, r, "ran")
	f.Host().SetCommand(s.run)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
}

func TestExecStateIsWatchedAndDecidesItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Res{Cmd: "one", Mtimes: []string{path}}
	_, f := newExec(t, r)
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	f.Host().Touch(path) // an event without another mtime, such as chmod
	f.WaitEvent(t)
	kindtest.Want(t, f, r, "")
}

// lines is a watchcmd that a test speaks for.
type lines struct {
	say   chan string
	end   chan error
	alive chan struct{} // holds an element while the command runs
}

func newLines() *lines {
	return &lines{say: make(chan string), end: make(chan error), alive: make(chan struct{}, 1)}
}

func (l *lines) run(ctx context.Context, c engine.Command) (*engine.Result, error) {
	if c.Argv[0] != "watch" {
		return &engine.Result{}, nil
	}
	l.alive <- struct{}{}
	defer func() { <-l.alive }()
	for {
		select {
		case line := <-l.say:
			c.Stdout([]byte(line))
		case err := <-l.end:
			return &engine.Result{ExitCode: 4}, err
		case <-ctx.Done():
			time.Sleep(20 * time.Millisecond) // an end takes its time
			return nil, context.Cause(ctx)
		}
	}
}

func TestExecWatchCmd(t *testing.T) {
	r := &Res{Cmd: "one", WatchCmd: "watch --all", WatchCwd: "/tmp"}
	_, f := newExec(t, r)
	l := newLines()
	f.Host().SetCommand(l.run)
	stop := kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
	for range 3 {
		l.say <- "something"
		f.WaitEvent(t)
		kindtest.Want(t, f, r, "ran")
		kindtest.Want(t, f, r, "")
	}
	stop()
	if len(l.alive) != 0 {
		t.Error("Watch ended before its command did")
	}
	if !slices.ContainsFunc(f.Host().Commands(), func(c engine.Command) bool {
		return slices.Equal(c.Argv, []string{"watch", "--all"}) && c.Dir == "/tmp" &&
			c.MaxOutput == 1 // it may speak for years
	}) {
		t.Errorf("ran %+v", f.Host().Commands())
	}
}

func TestExecWatchCmdEnds(t *testing.T) {
	for what, want := range map[error]string{
		nil:                  "watchcmd ended with exit status 4, it must run for as long as it is to watch",
		errors.New("broken"): "watchcmd: broken",
	} {
		r := &Res{Cmd: "one", WatchCmd: "watch"}
		_, f := newExec(t, r)
		l := newLines()
		f.Host().SetCommand(l.run)
		done := make(chan error, 1)
		go func() { done <- r.Watch(t.Context()) }()
		f.WaitRunning(t)
		l.end <- what
		if err := <-done; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// While watchcmd did not run, something may have happened.
func TestExecWatchCmdRestartedRunsAgain(t *testing.T) {
	r := &Res{Cmd: "one", WatchCmd: "watch"}
	_, f := newExec(t, r)
	l := newLines()
	f.Host().SetCommand(l.run)
	stop := kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	stop()
	f.Restart()
	kindtest.Watching(t, f, r)
	kindtest.Want(t, f, r, "ran")
	kindtest.Want(t, f, r, "")
}

func TestExecWatchFails(t *testing.T) {
	for _, r := range []*Res{
		{Cmd: "one", WatchFiles: []string{"/a"}},
		{Cmd: "one", Creates: "/a"},
		{Cmd: "one", Mtimes: []string{"/a"}},
	} {
		_, f := newExec(t, r)
		f.Host().FailWatch(errors.New("no watches left"))
		if err := r.Watch(t.Context()); err == nil || err.Error() != "no watches left" {
			t.Errorf("got %v", err)
		}
		if f.RunningCount() != 0 {
			t.Error("it said that it was armed")
		}
	}
}

func TestExecTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Res{Cmd: "one", Timeout: 5 * time.Second}
		_, f := newExec(t, r)
		f.Host().SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
			c.Stderr([]byte("working on it"))
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		start := time.Now()
		got := kindtest.Verbs(t, f, r, true)
		if got != "error: cmd: still running after 5s (timeout), killed: working on it" || time.Since(start) != 5*time.Second {
			t.Errorf("after %s: %q", time.Since(start), got)
		}
	})
}

func TestExecSends(t *testing.T) {
	varDir := enginetest.WithVarDir(filepath.Join(t.TempDir(), "var"))
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "touch " + path, Creates: path}
	_, f := newExec(t, r, varDir)
	kindtest.Verbs(t, f, r, false)
	if f.Sent() != nil {
		t.Errorf("sent %v before it ran", f.Sent())
	}
	res := &engine.Result{Output: []byte("out\xff\nerr\n"), Stdout: []byte("out\xff\n"), Stderr: []byte("err\n")}
	f.Host().SetCommand(func(context.Context, engine.Command) (*engine.Result, error) {
		return res, os.WriteFile(path, nil, 0o600)
	})
	sent := &Sends{Output: "out\xff\nerr\n", Stdout: "out\xff\n", Stderr: "err\n"}
	kindtest.Verbs(t, f, r, true)
	if !reflect.DeepEqual(f.Sent(), sent) {
		t.Errorf("sent %+v", f.Sent())
	}

	// The next instance has nothing to run, and sends the same.
	r = &Res{Cmd: "touch " + path, Creates: path}
	_, f = newExec(t, r, varDir)
	for _, apply := range []bool{false, true} {
		if kindtest.Verbs(t, f, r, apply); !reflect.DeepEqual(f.Sent(), sent) {
			t.Errorf("apply %t: sent %+v", apply, f.Sent())
		}
	}
	if info, err := os.Stat(filepath.Join(f.VarDir(), lastFile)); err != nil || info.Mode() != private.Mode {
		t.Errorf("it is kept as %v, %v", info.Mode(), err)
	}
}

func TestExecNeverRunSendsNothing(t *testing.T) {
	r := &Res{Cmd: "one", Creates: "/"}
	_, f := newExec(t, r)
	kindtest.Want(t, f, r, "")
	if f.Sent() != nil {
		t.Errorf("sent %v", f.Sent())
	}
}

// What is given to be sent is sent until there was a run, and then no more.
func TestExecSendsWhatIsGiven(t *testing.T) {
	path := filepath.Join(t.TempDir(), "it")
	r := &Res{Cmd: "touch " + path, IfCmd: "if", SendOutput: new("all"), SendStderr: new("err")}
	s, f := newExec(t, r)
	s.status["if"] = 1
	given := &Sends{Output: "all", Stderr: "err"}
	for _, apply := range []bool{false, true} {
		if kindtest.Verbs(t, f, r, apply); !reflect.DeepEqual(f.Sent(), given) {
			t.Errorf("apply %t: sent %+v", apply, f.Sent())
		}
	}
	s.status["if"] = 0
	kindtest.Want(t, f, r, "ran")
	real := &Sends{Output: "noise\nout of touch\n", Stdout: "out of touch\n"}
	if !reflect.DeepEqual(f.Sent(), real) {
		t.Errorf("after a run: %+v", f.Sent())
	}
	s.status["if"] = 1
	kindtest.Want(t, f, r, "")
	if !reflect.DeepEqual(f.Sent(), real) {
		t.Errorf("afterwards: %+v", f.Sent())
	}

	// Of one that would run, nobody knows yet.
	r = &Res{Cmd: "one", SendOutput: new("all")}
	_, f = newExec(t, r)
	if kindtest.Verbs(t, f, r, false); f.Sent() != nil {
		t.Errorf("sent %v before it ran", f.Sent())
	}
}

func TestExecKeptIsDamaged(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null-ish"} {
		r := &Res{Cmd: "one"}
		_, f := newExec(t, r)
		if err := os.MkdirAll(f.VarDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.VarDir(), lastFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kindtest.Want(t, f, r, "ran")
		kindtest.Want(t, f, r, "")
	}
}

func TestExecLookingTouchesNothing(t *testing.T) {
	r := &Res{Cmd: "one"}
	_, f := newExec(t, r)
	if got := kindtest.Verbs(t, f, r, false); got != "ran" {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(f.VarDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestExecCommand(t *testing.T) {
	for _, tt := range []struct {
		res  Res
		want []string
	}{
		{Res{Cmd: `ls "a b" c`}, []string{"ls", "a b", "c"}},
		{Res{Cmd: "my prog", Args: []string{"a b", "'c'"}}, []string{"my prog", "a b", "'c'"}},
		{Res{Cmd: "echo $1 | cat", Shell: "/bin/sh"}, []string{"/bin/sh", "-c", "echo $1 | cat"}},
		{Res{Cmd: "echo $1", Shell: "/bin/sh", Args: []string{"x"}}, []string{"/bin/sh", "-c", "echo $1", "/bin/sh", "x"}},
	} {
		r := &tt.res
		r.Env, r.Cwd, r.User, r.Group, r.Grace = map[string]string{"B": "2", "A": "1"}, "/tmp", "u", "g", time.Second
		_, f := newExec(t, r)
		kindtest.Verbs(t, f, r, true)
		c := f.Host().Commands()[0]
		if !slices.Equal(c.Argv, tt.want) {
			t.Errorf("argv %q, want %q", c.Argv, tt.want)
		}
		if env := []string{"PATH=" + command.DefaultPath, "A=1", "B=2"}; !slices.Equal(c.Env, env) {
			t.Errorf("env %q", c.Env)
		}
		if c.Dir != "/tmp" || c.User != "u" || c.Group != "g" || c.Grace != time.Second {
			t.Errorf("ran %+v", c)
		}
	}
}

func TestExecOwnPath(t *testing.T) {
	r := &Res{Cmd: "one", Env: map[string]string{"PATH": "/opt/bin"}}
	_, f := newExec(t, r)
	kindtest.Verbs(t, f, r, true)
	if env := f.Host().Commands()[0].Env; !slices.Equal(env, []string{"PATH=/opt/bin"}) {
		t.Errorf("env %q", env)
	}
}

func TestExecValidate(t *testing.T) {
	empty := ""
	for want, r := range map[string]*Res{
		"":                              {Cmd: "ls", Cwd: "/", Creates: "/a"},
		`changes is "no", it must be`:   {Cmd: "a", Changes: "no"},
		"changes is never, and creates": {Cmd: "a", Changes: never, Creates: "/a"},
		"cmd: there is no command":      {Cmd: " "},
		"cmd: a quote is not closed":    {Cmd: "it's"},
		"ifcmd: it ends in":             {Cmd: "a", IfCmd: `b\`},
		"of donecmd is not an":          {Cmd: "a", DoneCmd: "b", DoneCwd: "c"},
		"creates: \"a\" is not an":      {Cmd: "a", Creates: "a"},
		"mtimes: \"b\" is not an":       {Cmd: "a", Mtimes: []string{"/a", "b"}},
		"watchfiles: \"\" is not an":    {Cmd: "a", WatchFiles: []string{""}},
		"env: \"A=B\" is no name":       {Cmd: "a", Env: map[string]string{"A=B": ""}},
		"env: \"\" is no name":          {Cmd: "a", Env: map[string]string{"": "x"}},
		"env.A holds a zero byte":       {Cmd: "a", Env: map[string]string{"A": "\x00"}},
		"timeout is -1s, it must":       {Cmd: "a", Timeout: -time.Second},
		"grace is -1s, it must":         {Cmd: "a", Grace: -time.Second},
		"ifequals needs an ifcmd":       {Cmd: "a", IfEquals: &empty},
		"ifequals_stdout needs an ifcm": {Cmd: "a", IfEqualsStdout: &empty},
		"the folder \"x\" of cmd is no": {Cmd: "a", Cwd: "x"},
	} {
		err := r.Validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	all := &Res{Cmd: "'", IfCmd: "'", Creates: "x", Timeout: -1}
	if err := all.Validate(); strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("not all at once: %v", err)
	}
}

// A run whose output can't be kept, as on a full disk, is not made again.
func TestExecKeepsInMemoryWhatCannotBeSaved(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(dir, "src")
	if err := os.WriteFile(src, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Res{Cmd: "one", Mtimes: []string{src}}
	s, f := newExec(t, r, enginetest.WithVarDir(filepath.Join(blocked, "var")))
	kindtest.Want(t, f, r, "ran")
	expect(t, s, "one")
	f.Reset()
	kindtest.Want(t, f, r, "")
	expect(t, s, "")
	if sent, ok := f.Sent().(*Sends); !ok || sent.Stdout != "out of one\n" {
		t.Errorf("sent %+v", f.Sent())
	}
}

// TestExecLint: each command that needs a shell and has none warns, at its own parameter. Arguments and quotes are meant as they are.
func TestExecLint(t *testing.T) {
	for _, tt := range []struct {
		res  Res
		want string
	}{
		{Res{Cmd: "date > x"}, `cmd: without a shell, ">" is an argument of the program; write shell: /bin/sh, or the word in quotes`},
		{Res{Cmd: "true", IfCmd: "a | b", IfShell: "/bin/sh", NIfCmd: "a && b"}, `nifcmd: without a shell, "&&" is an argument of the program; write nifshell: /bin/sh, or the word in quotes`},
		{Res{Cmd: "date > x", Shell: "/bin/sh"}, ""},
		{Res{Cmd: "/opt/a > b", Args: []string{"|"}}, ""},
		{Res{Cmd: "expr 3 '>' 2"}, ""},
	} {
		var got []string
		for _, d := range tt.res.Lint() {
			got = append(got, d.Message)
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("%+v:\n got %q\nwant %q", tt.res, got, tt.want)
		}
	}
}
