package pkg

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// A transcript is a text in testdata/BACKEND: calls of the functions of a backend, what
// commands each of them runs, what those print, and what comes back. Its lines begin
// with
//
//	# a comment
//	% a line of shell that prepares a machine; run only by -record
//	> a call: the name of the function and its arguments as JSON
//	$ a command that the call runs, its words parted by blanks, quoted where need be
//	| a line that it prints to the standard output
//	! one that it prints to the standard error
//	= its exit status, if it is not 0
//	< what the call returns, as JSON
//	? the error that it returns
//
// With -record ROOT all but comments, shell and calls are written anew, by running
// the commands below the root, which has the tools.
var record = flag.String("record", "", "a root folder, to record the transcripts of a backend in anew")

// backends are all, with the facts of a machine that they are for.
var backends = []struct {
	backend *virtual.Backend
	facts   virtual.Facts
}{
	{Apk, virtual.Facts{"os_family": "Alpine"}},
	{Apt, virtual.Facts{"os_family": "Debian", "osarch": "amd64"}},
	{Dnf, virtual.Facts{"os_family": "RedHat"}},
	{Pacman, virtual.Facts{"os_family": "Arch"}},
	{Zypper, virtual.Facts{"os_family": "Suse"}},
}

func TestTranscripts(t *testing.T) {
	for _, b := range backends {
		files, err := filepath.Glob(filepath.Join("testdata", b.backend.Name, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no transcripts (%v)", b.backend.Name, err)
		}
		for _, file := range files {
			t.Run(b.backend.Name+"/"+filepath.Base(file), func(t *testing.T) {
				if *record != "" {
					recordFile(t, b.backend, b.facts, file, *record)
					return
				}
				synctest.Test(t, func(t *testing.T) { replayFile(t, b.backend, b.facts, file) })
			})
		}
	}
}

// replayFile makes the calls of a transcript, with its commands.
func replayFile(t *testing.T, b *virtual.Backend, facts virtual.Facts, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, lines: strings.Split(strings.TrimRight(string(text), "\n"), "\n")}
	host := enginetest.NewHost()
	host.SetCommand(p.command)
	m := bind(t, b, facts, host)
	for p.next() {
		line := p.lines[p.at]
		if !strings.HasPrefix(line, "> ") {
			t.Fatalf("%s:%d: %q where a call should be", file, p.at+1, line)
		}
		p.at++
		got := call(t, m, line)
		if !p.next() || p.lines[p.at] != got {
			t.Fatalf("%s:%d: %s\ngave %s\nwant %s", file, p.at+1, line, got, p.lines[p.at])
		}
		p.at++
	}
}

func bind(t *testing.T, b *virtual.Backend, facts virtual.Facts, host engine.Host) *virtual.Module {
	t.Helper()
	m, err := virtual.Bind(t.Context(), Interface, b, virtual.Env{Host: host, Facts: facts})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// call makes the call of a line and returns the line of what comes back.
func call(t *testing.T, m *virtual.Module, line string) string {
	t.Helper()
	function, text, _ := strings.Cut(strings.TrimPrefix(line, "> "), " ")
	var args virtual.Args
	if text != "" {
		if err := json.Unmarshal([]byte(text), &args.Named); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	r, err := m.Call(t.Context(), function, args)
	if err != nil {
		return "? " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	out, err := json.Marshal(r.Common)
	if err != nil {
		t.Fatal(err)
	}
	return "< " + string(out)
}

// player plays the commands of a transcript.
type player struct {
	t     *testing.T
	lines []string
	at    int
}

// next goes on to the next line that is played, and reports whether there is one.
func (p *player) next() bool {
	for p.at < len(p.lines) && (p.lines[p.at] == "" || strings.ContainsAny(p.lines[p.at][:1], "#%")) {
		p.at++
	}
	return p.at < len(p.lines)
}

func (p *player) command(_ context.Context, c engine.Command) (*engine.Result, error) {
	if want, got := "", "$ "+words(c.Argv); !p.next() || p.lines[p.at] != got {
		if p.at < len(p.lines) {
			want = p.lines[p.at]
		}
		p.t.Errorf("line %d: it runs\n%s\nand should\n%s", p.at+1, got, want)
		return nil, fmt.Errorf("not in the transcript")
	}
	r := &engine.Result{}
	for p.at++; p.at < len(p.lines) && p.lines[p.at] != ""; p.at++ {
		switch line := p.lines[p.at]; line[0] {
		case '|':
			r.Stdout = append(r.Stdout, line[1:]+"\n"...)
		case '!':
			r.Stderr = append(r.Stderr, line[1:]+"\n"...)
		case '=':
			r.ExitCode, _ = strconv.Atoi(line[2:])
		default:
			return r, nil
		}
	}
	return r, nil
}

// words writes the words of a command on one line.
func words(argv []string) string {
	quoted := slices.Clone(argv)
	for i, w := range quoted {
		if w == "" || strings.ContainsAny(w, " \t\n\"\\'$|{}") {
			quoted[i] = strconv.Quote(w)
		}
	}
	return strings.Join(quoted, " ")
}

// recordFile writes a transcript anew.
func recordFile(t *testing.T, b *virtual.Backend, facts virtual.Facts, file, root string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	host := enginetest.NewHost()
	host.SetCommand(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		r, err := inRoot(ctx, root, c)
		if err == nil {
			r.Stdout = few(r.Stdout, string(text))
			note(&out, c, r)
		}
		return r, err
	})
	m := bind(t, b, facts, host)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			fmt.Fprintln(&out, line)
		case line[0] == '%':
			fmt.Fprintln(&out, line)
			if r, err := inRoot(t.Context(), root, engine.Command{Argv: []string{"sh", "-ec", line[1:]}, Env: baseEnv}); err != nil || r.ExitCode != 0 {
				t.Fatalf("%s: %v %s", line, err, r.Stderr)
			}
		case line[0] == '>':
			fmt.Fprintln(&out, line)
			fmt.Fprintln(&out, call(t, m, line))
		}
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

var quotedWord = regexp.MustCompile(`"[a-z][a-z-]+"`)

// few shortens a long list: to its first lines, and those that have to do with what
// the calls of a transcript are about.
func few(out []byte, transcript string) []byte {
	lines := slices.Collect(bytes.Lines(out))
	if len(lines) < 60 {
		return out
	}
	var keep []byte
	about := quotedWord.FindAllString(transcript, -1)
	for i, line := range lines {
		head := strings.Fields(string(line))
		head = head[:min(2, len(head))]
		if i < 3 || slices.ContainsFunc(about, func(w string) bool { return slices.Contains(head, strings.Trim(w, `"`)) }) {
			keep = append(keep, line...)
		}
	}
	return keep
}

// note writes a command and its result.
func note(out *bytes.Buffer, c engine.Command, r *engine.Result) {
	fmt.Fprintln(out, "$ "+words(c.Argv))
	for _, line := range linesOf(r.Stdout) {
		fmt.Fprintln(out, "|"+strings.TrimRight(line, "\r"))
	}
	for _, line := range linesOf(r.Stderr) {
		fmt.Fprintln(out, "!"+strings.TrimRight(line, "\r"))
	}
	if r.ExitCode != 0 {
		fmt.Fprintf(out, "= %d\n", r.ExitCode)
	}
}

// inRoot runs a command below a root.
func inRoot(ctx context.Context, root string, c engine.Command) (*engine.Result, error) {
	return runReal(ctx, exec.CommandContext(ctx, "chroot", append([]string{root}, c.Argv...)...), c.Env)
}

func runReal(_ context.Context, cmd *exec.Cmd, env []string) (*engine.Result, error) {
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, err
	}
	return &engine.Result{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}, nil
}
