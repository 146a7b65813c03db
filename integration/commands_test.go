package integration_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reactivegraph/mgmt/internal/await"
)

// commands are what scripts can do beside what testscript has.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":   cmdExits,
	"waitfor": cmdWaitFor,
	"until":   cmdUntil,
	"write":   cmdWrite,
	"replace": cmdReplace,
	"stops":   cmdStops,
	"signal":  cmdSignal,
	"process": cmdProcess,
	"spy":     cmdSpy,
	"leaks":   cmdLeaks,
	"empty":   cmdEmpty,

	"typescript": cmdTypescript,
}

func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

// cmdExits runs a program and looks at its exit code: exits CODE PROGRAM ARGS...
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 1, "exits CODE PROGRAM ARGS...")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("it ended with code %d, not %d", got, want)
	}
}

// cmdWaitFor waits until a file has what a pattern describes; with ! until it is
// gone: waitfor FILE [PATTERN]
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1 || len(args) == 2 && !neg, "[!] waitfor FILE [PATTERN]")
	pattern := regexp.MustCompile("")
	if len(args) == 2 {
		pattern = regexp.MustCompile("(?m)" + args[1])
	}
	path := ts.MkAbs(args[0])
	var last []byte
	ok := await.Eventually(func() bool {
		text, err := os.ReadFile(path)
		last = text
		return neg && errors.Is(err, fs.ErrNotExist) || !neg && err == nil && pattern.Match(text)
	})
	if !ok {
		ts.Fatalf("waited in vain; %s holds:\n%s", args[0], last)
	}
}

// cmdUntil runs a program again and again, until it prints what a pattern
// describes: until PATTERN PROGRAM ARGS...
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 1, "until PATTERN PROGRAM ARGS...")
	pattern := regexp.MustCompile("(?m)" + args[0])
	if !await.Eventually(func() bool {
		err := ts.Exec(args[1], args[2:]...)
		return err == nil && pattern.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("it never printed that")
	}
}

// cmdWrite gives a file another content, with escapes, in one step as editors
// do: write FILE TEXT
func cmdWrite(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "write FILE TEXT")
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	put(ts, args[0], text)
}

// cmdReplace replaces a text in a file by another: replace FILE OLD NEW
func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "replace FILE OLD NEW")
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not have %q", args[0], args[1])
	}
	put(ts, args[0], strings.Replace(text, args[1], args[2], 1))
}

func put(ts *testscript.TestScript, file, text string) {
	path := ts.MkAbs(file)
	ts.Check(os.WriteFile(path+"~", []byte(text), 0o644)) // open to all: of a closed file only digests are shown
	ts.Check(os.Rename(path+"~", path))
}

func newest(ts *testscript.TestScript) *exec.Cmd {
	list := ts.BackgroundCmds()
	if len(list) == 0 {
		ts.Fatalf("nothing runs in the background")
	}
	return list[len(list)-1]
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}

// cmdSignal sends a signal to the newest background command: signal NAME
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1 && signals[args[0]] != 0, "signal INT|TERM|KILL|HUP")
	ts.Check(newest(ts).Process.Signal(signals[args[0]]))
}

// cmdStops sends a signal to the newest background command, and waits until it is gone: stops NAME
func cmdStops(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1 && signals[args[0]] != 0, "stops INT|TERM|KILL|HUP")
	cmd := newest(ts)
	gone := func() bool { return errors.Is(cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone) }
	if err := cmd.Process.Signal(signals[args[0]]); !errors.Is(err, os.ErrProcessDone) { // else it is gone already
		ts.Check(err)
	}
	if !await.Eventually(gone) {
		ts.Fatalf("it still runs")
	}
}

// commandLines returns the arguments of all processes whose working folder is within
// dir. Another run of the suite beside this one has processes of the same names.
func commandLines(dir string) []string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var lines []string
	for _, path := range paths {
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(path), "cwd"))
		if !strings.HasPrefix(cwd, dir) {
			continue
		}
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			lines = append(lines, strings.TrimRight(strings.ReplaceAll(string(text), "\x00", " "), " "))
		}
	}
	return lines
}

// cmdProcess waits for a process of this script with a text in its arguments; with !
// until there is none: process TEXT
func cmdProcess(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 1, "[!] process TEXT")
	work := ts.Getenv("WORK")
	running := func() bool {
		return slices.ContainsFunc(commandLines(work), func(l string) bool { return strings.Contains(l, args[0]) })
	}
	if neg {
		if !await.Eventually(func() bool { return !running() }) {
			ts.Fatalf("a process has %q in its arguments", args[0])
		}
		return
	}
	if !await.Eventually(running) {
		ts.Fatalf("no process has %q in its arguments", args[0])
	}
}

// cmdSpy notes the arguments of all processes in a file until the script ends or
// leaks is called: spy FILE
func cmdSpy(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "spy FILE")
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer f.Close()
		seen := map[string]bool{}
		for {
			for _, line := range commandLines("") {
				if !seen[line] {
					seen[line] = true
					_, _ = f.WriteString(line + "\n")
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	ts.Defer(func() {
		close(stop)
		<-done
	})
}

// cmdLeaks looks for a secret in files and folders; with ! it must be in none:
// leaks SECRET|@FILE PATHS...
func cmdLeaks(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) > 1, "[!] leaks SECRET|@FILE PATHS...")
	secret := args[0]
	if file, ok := strings.CutPrefix(secret, "@"); ok {
		secret = strings.TrimSpace(ts.ReadFile(file))
	}
	if len(secret) < 8 {
		ts.Fatalf("%q is no secret", secret)
	}
	found := ""
	for _, root := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(secret)) {
				found = path
			}
			return err
		}))
	}
	switch {
	case neg && found != "":
		ts.Fatalf("%s has the secret:\n%s", found, ts.ReadFile(found))
	case !neg && found == "":
		ts.Fatalf("the secret is nowhere")
	}
}

// cmdEmpty looks that folders have nothing in them: empty FOLDER...
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	for _, dir := range args {
		entries, err := os.ReadDir(ts.MkAbs(dir))
		ts.Check(err)
		if (len(entries) == 0) == neg {
			ts.Fatalf("%s holds %v", dir, entries)
		}
	}
}
