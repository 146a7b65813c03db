// Package pkgtest plays transcripts of the tools of package managers: to a backend in the place of
// the tools, and to the tools themselves, to see that they still answer so.
//
// A transcript has calls of the functions of a backend, the commands that each of them runs, their
// output, and the results. Its lines begin with
//
//	# a comment
//	@ a line of shell that prints what the transcript was made with
//	% one that prepares the machine for what follows
//	> a call: the name of the function and its arguments as JSON
//	$ a command that the call runs, its words separated by blanks, quoted where need be
//	| a line that it prints to the standard output
//	! one that it prints to the standard error
//	= its exit status, if it is not 0
//	< what the call returns, as JSON
//	? the error that it returns
//
// Replay needs no tool, Check a machine that has them. An author writes the comments, shell and
// calls; Record writes the rest.
package pkgtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reactivegraph/mgmt/engine"
	"github.com/reactivegraph/mgmt/engine/enginetest"
	"github.com/reactivegraph/mgmt/engine/virtual"
)

// Bind returns the backend that a transcript is about, on a host.
type Bind func(engine.Host) *virtual.Module

// Command runs a command on a machine, as Host.Command does.
type Command func(context.Context, engine.Command) (*engine.Result, error)

// Replay makes the calls of a transcript. The backend must run the commands that stand there, gets
// their output from there, and must return the result that stands there.
func Replay(t *testing.T, file string, bind Bind) {
	t.Helper()
	p := &player{t: t, file: file, lines: read(t, file)}
	host := enginetest.NewHost()
	host.SetCommand(p.command)
	m := bind(host)
	for p.next() {
		line := p.lines[p.at]
		if !strings.HasPrefix(line, "> ") {
			t.Fatalf("%s:%d: %q where a call should be", file, p.at+1, line)
		}
		p.at++
		got := call(t, m, line)
		if !p.next() || p.lines[p.at] != got {
			t.Fatalf("%s:%d: %s\ngave %s\nwant %s", file, p.at+1, line, got, p.line())
		}
		p.at++
	}
}

// Check makes the calls of a transcript on a machine. The backend must return the result that
// stands there, whatever its tools print, and however long they took.
func Check(t *testing.T, file string, bind Bind, run Command) {
	t.Helper()
	m, asked := bind(onHost(run)), ""
	for i, line := range read(t, file) {
		if line == "" {
			continue
		}
		switch line[0] {
		case '%':
			shell(t, run, line)
		case '>':
			asked = line
		case '<', '?':
			if got := timeless(call(t, m, asked)); got != timeless(line) {
				t.Errorf("%s:%d: %s\ngave %s\nwant %s", file, i+1, asked, got, line)
			}
		}
	}
}

// Record writes a transcript anew, as it is on a machine.
func Record(t *testing.T, file string, bind Bind, run Command) {
	t.Helper()
	var out bytes.Buffer
	lines := read(t, file)
	m := bind(onHost(func(ctx context.Context, c engine.Command) (*engine.Result, error) {
		r, err := run(ctx, c)
		if err == nil {
			r.Stdout, r.Stderr = few(r.Stdout, strings.Join(lines, "\n")), []byte(timeless(string(r.Stderr)))
			note(&out, c, r)
		}
		return r, err
	}))
	for _, line := range lines {
		if line != "" && !strings.ContainsAny(line[:1], "#@%>") {
			continue
		}
		fmt.Fprintln(&out, line)
		switch {
		case line == "":
		case line[0] == '@':
			fmt.Fprint(&out, "|"+strings.ReplaceAll(strings.TrimRight(shell(t, run, line), "\n"), "\n", "\n|")+"\n")
		case line[0] == '%':
			shell(t, run, line)
		case line[0] == '>':
			fmt.Fprintln(&out, timeless(call(t, m, line)))
		}
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

var lasted = regexp.MustCompile(`after \d+ ms`)

// timeless returns a text in which curl does not say how long it has tried.
func timeless(text string) string {
	text = lasted.ReplaceAllString(text, "after 0 ms")
	said := func(next, one string) bool { return strings.HasSuffix(one, next) }
	return strings.Join(slices.CompactFunc(strings.Split(text, "; "), said), "; ") // a line that a program says once for each time
}

func read(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}

func onHost(run Command) engine.Host {
	host := enginetest.NewHost()
	host.SetCommand(run)
	return host
}

// shell runs the command behind the first character of a line, and returns its output.
func shell(t *testing.T, run Command, line string) string {
	t.Helper()
	r, err := run(t.Context(), engine.Command{Argv: []string{"sh", "-ec", line[1:]}, Env: []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if r.ExitCode != 0 {
		t.Fatalf("%s: exit status %d: %s%s", line, r.ExitCode, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// call makes the call of a line and returns the line of its result.
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
	file  string
	lines []string
	at    int
}

// next goes on to the next line that is played, and reports whether there is one.
func (p *player) next() bool {
	for made := false; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case line == "" || strings.ContainsAny(line[:1], "#%"):
			made = false
		case line[0] == '@':
			made = true
		case !made || line[0] != '|':
			return true
		}
	}
	return false
}

// line returns the line that is next, if there is one.
func (p *player) line() string {
	if p.at < len(p.lines) {
		return p.lines[p.at]
	}
	return "nothing more"
}

func (p *player) command(_ context.Context, c engine.Command) (*engine.Result, error) {
	if got := "$ " + words(c.Argv); !p.next() || p.lines[p.at] != got {
		p.t.Errorf("%s:%d: it runs\n%s\nand should\n%s", p.file, p.at+1, got, p.line())
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

var quotedWord = regexp.MustCompile(`"[a-z][a-z0-9+-]+"`)

// few shortens a long list: to its first lines, and the lines about the subjects of a transcript's
// calls.
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
	for _, o := range []struct {
		mark string
		text []byte
	}{{"|", r.Stdout}, {"!", r.Stderr}} {
		for line := range strings.Lines(string(o.text)) {
			fmt.Fprintln(out, o.mark+strings.TrimRight(line, "\r\n"))
		}
	}
	if r.ExitCode != 0 {
		fmt.Fprintf(out, "= %d\n", r.ExitCode)
	}
}
