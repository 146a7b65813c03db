package writers_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// right is the content of every managed file.
const right = "right\n"

// writer is a program that alters a file.
type writer struct {
	name string
	// command returns what gives the file at path the text, with a line end. source has it already, in a
	// folder that nobody manages; round counts from 0.
	command func(w *work, path, source, text string, round int) *exec.Cmd
	needs   []string // programs
	edits   bool     // it fails by itself where there is no file
	runs    []string // the names of the programs whose process may write or close the file
	direct  bool     // the process that is started is the one that writes
	lives   bool     // it lives for 10 ms after its last write
	fault   string   // what it says beside every program that removes the name, whatever that one looks at before
	prepare func(w *work, name string, texts []string) error
}

// work is what a writer needs beside the file.
type work struct {
	dir  string // for itself
	data string // the folder of the managed names
}

func run(argv ...string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) }

func self(role string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

// writers are those of the table. Each gives the file the rights that it has in the graph: other ones
// would be put right, too, and not be in the content.
var writers = []writer{
	{name: "cp", needs: []string{"cp"}, runs: []string{"cp"}, direct: true,
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd { return run("cp", source, path) }},
	{name: "cp --remove-destination", needs: []string{"cp"}, runs: []string{"cp"}, direct: true,
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd {
			return run("cp", "--remove-destination", source, path)
		}},
	{name: "install", needs: []string{"install"}, runs: []string{"install"}, direct: true,
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd {
			return run("install", "-m", "644", source, path)
		}},
	// mv of coreutils 9.1 asks what is at a name that has refused a rename. Where nothing is there any more, it goes on with a stat that it
	// has not filled: 7 of 4,000 failed so beside a loop of creat and unlink.
	{name: "mv", needs: []string{"mv"}, runs: []string{"mv"}, direct: true, fault: "cannot overwrite directory",
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd { return run("mv", "-f", source, path) }},
	{name: ">", needs: []string{"sh", "cat"}, runs: []string{"sh", "dash", "bash", "busybox", "cat"},
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd {
			return run("sh", "-c", `cat "$0" > "$1"`, source, path)
		}},
	{name: "tee", needs: []string{"sh", "tee"}, runs: []string{"tee"},
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd {
			return run("sh", "-c", `tee "$1" < "$0" > /dev/null`, source, path)
		}},
	{name: "sed -i", needs: []string{"sed"}, runs: []string{"sed"}, direct: true, edits: true,
		command: func(_ *work, path, _, text string, _ int) *exec.Cmd {
			return run("sed", "-i", "s/.*/"+text+"/", path)
		}},
	// vim fails where a name goes away between its look and its swap file: 37 of 3,900 failed so beside an unlink at any moment, without mgmt.
	{name: "vim", needs: []string{"vim"}, runs: []string{"vim", "vim.basic", "vim.tiny", "vim.nox"}, direct: true, fault: "exit status 1",
		command: func(_ *work, path, _, text string, _ int) *exec.Cmd {
			return run("vim", "-u", "NONE", "-i", "NONE", "-es", "-c", `call setline(1, "`+text+`")`, "-c", "wq", path)
		}},
	{name: "rsync", needs: []string{"rsync"}, runs: []string{"rsync"},
		command: func(_ *work, path, source, _ string, _ int) *exec.Cmd {
			return run("rsync", "--ignore-times", source, path)
		}},
	{name: "git checkout", needs: []string{"git"}, runs: []string{"git"}, direct: true, prepare: commits,
		command: func(w *work, path, _, _ string, round int) *exec.Cmd {
			cmd := run("git", "checkout", "-q", "-f", fmt.Sprint("v", round), "--", filepath.Base(path))
			cmd.Dir = filepath.Dir(path)
			cmd.Env = append(os.Environ(), "GIT_DIR="+w.repository(path), "GIT_WORK_TREE="+cmd.Dir)
			return cmd
		}},
	{name: "twice", direct: true, lives: true, runs: []string{filepath.Base(os.Args[0])},
		command: func(_ *work, path, _, text string, _ int) *exec.Cmd { return self("twice", path, text+"\n") }},
}

// repository is where the versions of a managed name are.
func (w *work) repository(path string) string {
	return filepath.Join(w.dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "_")+".git")
}

// commits makes a version of a file for each text.
func commits(w *work, path string, texts []string) error {
	var in bytes.Buffer
	for i, text := range texts {
		fmt.Fprintf(&in, "commit refs/tags/v%d\ncommitter a <a> 1 +0000\ndata 0\nM 100644 inline %s\ndata %d\n%s\n\n",
			i, filepath.Base(path), len(text)+1, text)
	}
	if out, err := run("git", "init", "-q", "--bare", w.repository(path)).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	cmd := run("git", "--git-dir", w.repository(path), "fast-import", "--quiet")
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git fast-import: %w: %s", err, out)
	}
	return nil
}

// situation is what the graph says of a name that is written.
type situation struct {
	name   string
	graph  string // of the resource; NAME is the name
	file   string // what is written, below NAME
	exists bool   // it has to be there, with the content right
}

var situations = []situation{
	{name: "present", exists: true, file: "", graph: "  - {name: NAME, content: \"right\\n\", mode: \"0644\"}\n"},
	{name: "present in a purged folder", exists: true, file: "/f", graph: "  - {name: NAME/, purge: true, recurse: true}\n  - {name: NAME/f, content: \"right\\n\", mode: \"0644\"}\n"},
	{name: "absent", graph: "  - {name: NAME, state: absent}\n"},
	{name: "purged", file: "/f", graph: "  - {name: NAME/, purge: true, recurse: true}\n"},
}

// TestFindingK1K2Writers: each writer in each situation. Of three rounds the second does not wait for its repair: the
// third begins while that goes on.
func TestFindingK1K2Writers(t *testing.T) {
	if testing.Short() {
		*rounds = min(*rounds, 9)
	}
	asRoot := os.Geteuid() == 0
	var graph strings.Builder
	graph.WriteString("resources:\n  file:\n")
	for i := range writers {
		for j := range situations {
			graph.WriteString(strings.ReplaceAll(situations[j].graph, "NAME", "DIR/"+cell(i, j)))
		}
	}
	d := start(t, program(t), graph.String(), nil)
	for i := range writers {
		for j := range situations {
			t.Run(strings.ReplaceAll(writers[i].name, " ", "_")+"/"+situations[j].name, func(t *testing.T) {
				c := &column{t: t, d: d, w: &writers[i], s: &situations[j], asRoot: asRoot, path: d.data(cell(i, j)) + situations[j].file,
					work: &work{dir: t.TempDir(), data: d.data("")}}
				c.try()
			})
		}
	}
	if log := complaints(d.said()); log != "" {
		t.Errorf("the daemon says: %s", tail(log, 4000))
	}
}

func cell(writer, situation int) string { return fmt.Sprintf("w%ds%d", writer, situation) }

// column is one writer in one situation.
type column struct {
	t      *testing.T
	d      *daemon
	w      *writer
	s      *situation
	path   string
	work   *work
	asRoot bool
	alone  map[string]int // the texts of writers that were alone between two repairs, and their processes
	last   string         // of them

	told, named int // changes by such writers that the history has, and by the right process
}

func (c *column) try() {
	for _, program := range c.w.needs {
		need(c.t, program)
	}
	if c.w.edits && !c.s.exists {
		return // what it edits is not there
	}
	texts := make([]string, *rounds)
	for i := range texts {
		texts[i] = fmt.Sprintf("text %d of %s %s", i, strings.Trim(c.w.name, "-> "), strings.Repeat("x", i%7))
	}
	if c.w.prepare != nil {
		if err := c.w.prepare(c.work, c.path, texts); err != nil {
			c.t.Fatal(err)
		}
	}
	c.alone = map[string]int{}
	failed, faults := 0, 0
	for i, text := range texts {
		pid, err := c.write(text, i)
		switch {
		case err != nil && c.w.fault != "" && !c.s.exists && strings.Contains(err.Error(), c.w.fault):
			faults++
			c.t.Logf("round %d: a fault of %s: %v", i, c.w.name, err)
		case err != nil:
			failed++
			c.t.Logf("round %d: %v", i, err)
		case i%3 == 0:
			c.wrote(text, pid)
		}
		if i%3 != 1 {
			c.repaired()
		}
		if i%300 == 299 {
			c.look()
		}
	}
	c.repaired()
	c.look()
	if failed > 0 || faults > 1+len(texts)/20 {
		c.t.Errorf("%d of %d failed, and %d by a fault of their own", failed, len(texts), faults)
	}
}

// write runs the writer once.
func (c *column) write(text string, round int) (pid int, err error) {
	source := filepath.Join(c.work.dir, "source")
	if err := os.WriteFile(source, []byte(text+"\n"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := c.w.command(c.work, c.path, source, text, round)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, &out)
	}
	return cmd.Process.Pid, nil
}

// wrote notes a writer that was alone.
func (c *column) wrote(text string, pid int) {
	c.last = text + "\n"
	c.alone[c.last] = pid
}

// repaired waits until the name is as the graph says.
func (c *column) repaired() {
	c.t.Helper()
	c.d.until(c.path+" is repaired", func() bool {
		if !c.s.exists {
			_, err := os.Lstat(c.path)
			return errors.Is(err, os.ErrNotExist)
		}
		b, err := os.ReadFile(c.path)
		return err == nil && string(b) == right
	})
}

// look finds the writers in the history.
func (c *column) look() {
	if !c.s.exists {
		return // the history says that the name was there
	}
	var missing []string
	var events []event
	c.d.until("the history has "+c.last, func() bool { // a file is right before its run has ended
		events = c.d.history(c.d.named(strings.TrimPrefix(c.path, c.work.data)))
		return c.last == "" || slices.ContainsFunc(events, func(e event) bool { return e.text() == c.last })
	})
	for text, pid := range c.alone {
		i := slices.IndexFunc(events, func(e event) bool { return e.text() == text })
		if i < 0 {
			missing = append(missing, strings.TrimSpace(text))
			continue
		}
		c.told++
		c.blame(&events[i], pid)
	}
	clear(c.alone)
	c.last = ""
	if len(missing) > 0 {
		var texts []string
		for i := range events {
			texts = append(texts, fmt.Sprintf("%s %s %q", events[i].Outcome, events[i].Class, events[i].text()))
		}
		c.t.Errorf("the history lacks %q; it has:\n%s", missing, strings.Join(texts, "\n"))
	}
	if c.asRoot && c.told >= 100 {
		c.enough()
	}
}

// blame checks whom the history names for a change that a process made.
func (c *column) blame(e *event, pid int) {
	for _, tr := range e.Triggers {
		switch who := tr.Culprit; {
		case who == nil:
		case !c.asRoot:
			c.t.Errorf("without root the history names %+v", *who)
		case c.w.direct && who.PID != pid:
			c.t.Errorf("the history names process %d, and %d wrote %q", who.PID, pid, e.text())
		case who.Gone:
		case !slices.Contains(c.w.runs, filepath.Base(who.Program)):
			c.t.Errorf("the history names %s for %q", who.Program, e.text())
		default:
			c.named++
			return
		}
	}
}

// enough checks how many of the writers were named.
func (c *column) enough() {
	want := 0
	switch {
	case c.w.lives:
		want = 99
	case c.w.name == "cp":
		want = 90
	}
	c.t.Logf("%d of %d are named", c.named, c.told)
	if c.named*100 < c.told*want {
		c.t.Errorf("%d of %d are named, want %d %%", c.named, c.told, want)
	}
}

// need skips where a program of the machine is missing, and says so; in CI it fails.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("this needs %s", program)
	}
	t.Skipf("this needs %s", program)
}
